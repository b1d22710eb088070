//! The compression of files, and their decompressed bytes.

pub(crate) use crate::host::{File, FileSystem};

use std::io::{self, Read};

impl File {
    /// Reads at `offset` until `buffer` is full or the file ends.
    pub(crate) fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek(offset)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }
}

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Determined by the file extension.
    Auto,
    /// Uncompressed.
    None,
    /// Gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The compression with this name in options.
    pub(crate) fn parse(name: &str) -> Result<Compression, String> {
        match name.to_ascii_lowercase().as_str() {
            "auto" | "auto_detect" => Ok(Compression::Auto),
            "none" | "uncompressed" => Ok(Compression::None),
            "gzip" | "gz" => Ok(Compression::Gzip),
            "zstd" | "zst" => Ok(Compression::Zstd),
            _ => Err(format!("compression '{name}' is not known; use auto, none, gzip or zstd")),
        }
    }

    /// The effective compression of the file at `path`.
    pub(crate) fn of(self, path: &str) -> Compression {
        let path = path.to_ascii_lowercase();
        match self {
            Compression::Auto if path.ends_with(".gz") => Compression::Gzip,
            Compression::Auto if path.ends_with(".zst") || path.ends_with(".zstd") => {
                Compression::Zstd
            }
            Compression::Auto => Compression::None,
            given => given,
        }
    }
}

/// The bytes of `file` at `path`, decompressed.
pub(crate) fn decompressed(
    file: File,
    path: &str,
    compression: Compression,
) -> Result<Box<dyn Read + Send>, String> {
    match compression.of(path) {
        Compression::Gzip => {
            let decoder = flate2::read::MultiGzDecoder::new(Buffered::new(file));
            Ok(Box::new(Decoded { decoder, format: "gzip" }))
        }
        Compression::Zstd => match zstd::Decoder::new(file) {
            Ok(decoder) => Ok(Box::new(Decoded { decoder, format: "zstd" })),
            Err(error) => Err(format!("cannot read \"{path}\" as zstd: {error}")),
        },
        _ => Ok(Box::new(file)),
    }
}

/// The output of a decompressor; its errors name the assumed format.
struct Decoded<D> {
    decoder: D,
    format: &'static str,
}

impl<D: Read> Read for Decoded<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let said = format!("cannot be read as {}: {error}", self.format);
            io::Error::new(error.kind(), said)
        })
    }
}

/// Reads a file in larger pieces than a decompressor asks for.
struct Buffered(io::BufReader<File>);

impl Buffered {
    fn new(file: File) -> Buffered {
        Buffered(io::BufReader::with_capacity(256 << 10, file))
    }
}

impl Read for Buffered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}
