//! A second implementation of the two file formats, to the byte, so that tests can locate damage
//! and correct checksums over it.

use folio_file::MemoryFileSystem;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::store::{DATA, LOG, PAGE_SIZE};

/// Where pages and records begin.
pub(crate) const START: usize = 8192;
const SLOTS: [usize; 2] = [0, 4096];
const DATA_CHECKSUM: usize = 80;
const LOG_CHECKSUM: usize = 48;

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap())
}

/// The bytes of both files.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) data: Vec<u8>,
    pub(crate) log: Vec<u8>,
}

/// A record of the log: its position, and the durable position before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    /// As an offset in the file.
    pub(crate) durable_offset: usize,
    pub(crate) is_commit: bool,
}

impl Files {
    pub(crate) fn of(files: &MemoryFileSystem) -> Self {
        Self { data: files.read(DATA).unwrap(), log: files.read(LOG).unwrap() }
    }

    /// Writes them to an otherwise empty file system.
    pub(crate) fn write_to(&self, files: &MemoryFileSystem) {
        files.write(DATA, &self.data).unwrap();
        files.write(LOG, &self.log).unwrap();
        files.make_durable();
    }

    /// Offset of the valid header slot.
    pub(crate) fn newest_slot(bytes: &[u8], checksum: usize) -> usize {
        let is_whole = |slot: &usize| {
            xxh3_64(&bytes[*slot..slot + checksum]) == u64_at(bytes, slot + checksum)
        };
        SLOTS.into_iter().filter(is_whole).max_by_key(|slot| u64_at(bytes, slot + 24)).unwrap()
    }

    fn database(&self) -> u64 {
        u64_at(&self.data, Self::newest_slot(&self.data, DATA_CHECKSUM) + 16)
    }

    /// Offset of the valid log header.
    pub(crate) fn log_slot(&self) -> usize {
        Self::newest_slot(&self.log, LOG_CHECKSUM)
    }

    /// Offset of the valid data header.
    pub(crate) fn data_slot(&self) -> usize {
        Self::newest_slot(&self.data, DATA_CHECKSUM)
    }

    /// The records of the log, up to the first incomplete one.
    pub(crate) fn records(&self) -> Vec<Record> {
        let slot = self.log_slot();
        let (salt, base) = (u64_at(&self.log, slot + 32), u64_at(&self.log, slot + 40));
        let mut records = Vec::new();
        let mut offset = START;
        while offset + 48 <= self.log.len() {
            let size = u32_at(&self.log, offset + 32) as usize;
            let is_whole = (48..=self.log.len() - offset).contains(&size)
                && xxh3_64_with_seed(&self.log[offset + 8..offset + size], salt)
                    == u64_at(&self.log, offset);
            if !is_whole {
                break;
            }
            let durable = u64_at(&self.log, offset + 24) - base;
            let is_commit = self.log[offset + 40] == 2;
            let durable_offset = START + durable as usize;
            records.push(Record { offset, size, durable_offset, is_commit });
            offset += size.next_multiple_of(8);
        }
        records
    }

    /// Corrects a page's checksum.
    pub(crate) fn seal_page(&mut self, page: usize) {
        let database = self.database();
        let start = START + (page - 1) * PAGE_SIZE;
        let bytes = &mut self.data[start..start + PAGE_SIZE];
        let checksum = xxh3_64_with_seed(&bytes[8..], database);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Corrects the checksums of these records, and the chain through them.
    pub(crate) fn seal_records(&mut self, records: &[Record], salt: u64) {
        let mut previous = salt;
        for record in records {
            let bytes = &mut self.log[record.offset..record.offset + record.size];
            bytes[16..24].copy_from_slice(&previous.to_le_bytes());
            previous = xxh3_64_with_seed(&bytes[8..], salt);
            bytes[..8].copy_from_slice(&previous.to_le_bytes());
        }
    }

    pub(crate) fn salt(&self) -> u64 {
        u64_at(&self.log, self.log_slot() + 32)
    }

    /// Corrects the checksums of both headers.
    pub(crate) fn seal_headers(&mut self, data_slot: usize, log_slot: usize) {
        for (bytes, slot, size) in
            [(&mut self.data, data_slot, DATA_CHECKSUM), (&mut self.log, log_slot, LOG_CHECKSUM)]
        {
            let checksum = xxh3_64(&bytes[slot..slot + size]);
            bytes[slot + size..slot + size + 8].copy_from_slice(&checksum.to_le_bytes());
        }
    }

    pub(crate) fn page_count(&self) -> usize {
        (self.data.len() - START) / PAGE_SIZE
    }
}
