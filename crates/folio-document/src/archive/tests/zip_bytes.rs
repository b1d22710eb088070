//! ZIP archives assembled by hand, for cases that no writer produces (APPNOTE 6.3.10, sections
//! 4.3.7, 4.3.12 and 4.3.16).

/// One member of the archive.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    /// The name in the local header, if it differs.
    pub(super) local_name: Option<Vec<u8>>,
    pub(super) data: Vec<u8>,
    /// 0: stored, 8: deflated.
    pub(super) method: u16,
    pub(super) flags: u16,
    pub(super) size: u32,
    pub(super) packed_size: u32,
    pub(super) checksum: u32,
    /// The Unix mode.
    pub(super) mode: u32,
    /// A false offset of the local header.
    pub(super) header_start: Option<u32>,
}

impl Entry {
    pub(super) fn stored(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref().to_vec();
        Self {
            name: name.as_ref().to_vec(),
            local_name: None,
            method: 0,
            flags: 0,
            size: data.len() as u32,
            packed_size: data.len() as u32,
            checksum: crc32(&data),
            mode: 0o100_644,
            header_start: None,
            data,
        }
    }

    /// A member of `size` times `byte`, deflated by the `zip` crate.
    pub(super) fn deflated(name: &str, byte: u8, size: usize) -> Self {
        use std::io::{Cursor, Write};
        use zip::write::SimpleFileOptions;
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options =
            SimpleFileOptions::DEFAULT.compression_method(zip::CompressionMethod::Deflated);
        writer.start_file("x", options).unwrap();
        writer.write_all(&vec![byte; size]).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes.clone())).unwrap();
        let entry = archive.by_index(0).unwrap();
        let start = entry.data_start().unwrap() as usize;
        let packed_size = entry.compressed_size() as u32;
        Self {
            method: 8,
            size: size as u32,
            packed_size,
            checksum: entry.crc32(),
            ..Self::stored(name, &bytes[start..start + packed_size as usize])
        }
    }
}

/// An archive of these members.
pub(super) fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let start = entry.header_start.unwrap_or(out.len() as u32);
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        // Entries that share the bytes of another one have no bytes.
        if entry.header_start.is_none() {
            out.extend(b"PK\x03\x04");
            header(&mut out, entry, local_name.len());
            out.extend(local_name);
            out.extend(&entry.data);
        }
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 3]); // made by version 2.0 on Unix
        header(&mut directory, entry, entry.name.len());
        directory.extend([0; 6]); // no comment, first disk, no internal attributes
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(&entry.name);
    }
    let start = out.len() as u32;
    let count = (entries.len() as u16).to_le_bytes();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count);
    out.extend(count);
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// The common part of local and central headers.
fn header(out: &mut Vec<u8>, entry: &Entry, name_size: usize) {
    out.extend(20u16.to_le_bytes());
    out.extend(entry.flags.to_le_bytes());
    out.extend(entry.method.to_le_bytes());
    out.extend([0, 0, 0x21, 0]); // 1980-01-01
    out.extend(entry.checksum.to_le_bytes());
    out.extend(entry.packed_size.to_le_bytes());
    out.extend(entry.size.to_le_bytes());
    out.extend((name_size as u16).to_le_bytes());
    out.extend([0, 0]); // no extra field
}

/// CRC-32 as in ISO 3309, bit by bit.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}
