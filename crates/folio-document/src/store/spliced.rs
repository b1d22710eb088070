//! A data file without the lines of an interrupted batch.
//!
//! A killed writer leaves lines of its batch at the end of the file, and others may have appended
//! theirs since. The next writer takes the batch's lines out. Until then, readers see the file as
//! it will be: some of its parts, one after another.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use folio_file::{File, Map, Stat};

/// Parts of a file, read as one. Its size and times are those of the whole file.
#[derive(Debug)]
pub(super) struct Spliced {
    file: Arc<dyn File>,
    /// The parts, in order, with the offsets at which they are read here.
    parts: Vec<(u64, Range<u64>)>,
}

impl Spliced {
    pub(super) fn new(file: Arc<dyn File>, parts: Vec<Range<u64>>) -> Self {
        let mut end = 0;
        let place = |part: Range<u64>| {
            let start = end;
            end += part.end - part.start;
            (start, part)
        };
        Self { file, parts: parts.into_iter().map(place).collect() }
    }
}

impl File for Spliced {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let first =
            self.parts.partition_point(|(start, part)| start + part.end - part.start <= offset);
        let mut filled = 0;
        for (start, part) in &self.parts[first..] {
            let from = part.start + (offset + filled as u64 - start);
            let wanted = (part.end - from).min((buffer.len() - filled) as u64) as usize;
            let read = self.file.read_at(&mut buffer[filled..filled + wanted], from)?;
            filled += read;
            if read < wanted || filled == buffer.len() {
                break;
            }
        }
        Ok(filled)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn append(&self, _bytes: &[u8]) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn truncate(&self, _size: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn start_writeback(&self, _offset: u64, _size: u64) {}

    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }

    fn set_modified(&self, _time: SystemTime) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn map(&self) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    fn verify(&self) -> io::Result<()> {
        self.file.verify()
    }

    fn try_lock(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unlock(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Copies parts of a file to the start of another, one after another. Returns their size.
pub(super) fn copy_parts(from: &dyn File, parts: &[Range<u64>], to: &dyn File) -> io::Result<u64> {
    const SIZE: u64 = 4 << 20;
    let (mut buffer, mut size) = (Vec::new(), 0);
    for part in parts {
        let mut at = part.start;
        while at < part.end {
            buffer.resize((part.end - at).min(SIZE) as usize, 0);
            let read = from.read_at(&mut buffer, at)?;
            if read == 0 {
                break; // somebody cuts it short in place
            }
            to.write_at(&buffer[..read], size)?;
            at += read as u64;
            size += read as u64;
        }
    }
    Ok(size)
}
