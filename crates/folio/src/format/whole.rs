//! A file with random access, for the formats that need it. A compressed file, or one from a pipe,
//! is first written to a temporary file.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::{File, FileSystem, OpenMode};
use folio_stream::{decompress, is_compressed};

use super::source::{FileReader, Source};
use crate::error::{Error, Result};
use crate::temporary::TemporaryFile;

/// A compressed file may inflate to this many times its size, or to [`SMALL_SIZE`] if that is more.
/// Real columnar files stay far below; anything beyond is a decompression bomb.
const MAX_RATIO: u64 = 200;
const SMALL_SIZE: u64 = 64 << 20;
const COPY_SIZE: usize = 1 << 20;

/// The number of first bytes that show whether a file is compressed.
const MAGIC_SIZE: usize = 4;

#[derive(Clone)]
pub(crate) struct Whole {
    file: Arc<dyn File>,
    size: u64,
    /// Counts the bytes read from the file that the user named.
    read_size: Arc<AtomicU64>,
    /// The last clone removes the temporary file.
    _temporary: Option<Arc<TemporaryFile>>,
}

impl Whole {
    /// # Errors
    /// `not_found`, `io`; `syntax` when compressed data inflates beyond the limit.
    pub(crate) fn open(files: &dyn FileSystem, path: &str) -> Result<Self> {
        let path = Path::new(path);
        let file = files.open(path, OpenMode::Read).map_err(Error::io("read", path))?;
        let size = file.stat().map_err(Error::io("read", path))?.size;
        let reader = FileReader { file: Arc::clone(&file), offset: 0 };
        Self::new(&path.display().to_string(), Some((file, size)), Box::new(reader), Arc::default())
    }

    /// From the source of an import.
    pub(crate) fn of(source: Source) -> Result<Self> {
        let Source { name, reader, file, read_size, .. } = source;
        Self::new(&name, file, reader, read_size)
    }

    fn new(
        name: &str,
        file: Option<(Arc<dyn File>, u64)>,
        reader: Box<dyn Read + Send>,
        read_size: Arc<AtomicU64>,
    ) -> Result<Self> {
        let io = |error| Error::io("read", name.as_ref())(error);
        if let Some((file, size)) = file {
            let mut head = [0; MAGIC_SIZE];
            let count = file.read_at(&mut head, 0).map_err(io)?;
            if !is_compressed(&head[..count]) {
                return Ok(Self { file, size, read_size, _temporary: None });
            }
            let limit = size.saturating_mul(MAX_RATIO).max(SMALL_SIZE);
            return Self::spool(name, &mut *decompress(reader).map_err(io)?, limit);
        }
        Self::spool(name, &mut *decompress(reader).map_err(io)?, u64::MAX)
    }

    /// Copies a stream to a temporary file.
    pub(crate) fn spool(name: &str, reader: &mut dyn Read, limit: u64) -> Result<Self> {
        let temporary = TemporaryFile::create()?;
        let mut buffer = vec![0; COPY_SIZE];
        let mut size = 0;
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io("read", name.as_ref())(error)),
            };
            let path = temporary.path();
            let written = temporary.file().write_at(&buffer[..count], size);
            written.map_err(Error::io("write", path))?;
            size += count as u64;
            if size > limit {
                let reason = format!(
                    "its compressed data inflates to more than {limit} bytes; decompress it \
                     first, if that is right"
                );
                return Err(Error::Source { source_name: name.to_owned(), line: 1, reason });
            }
        }
        Ok(Self {
            file: Arc::clone(temporary.file()),
            size,
            read_size: Arc::default(),
            _temporary: Some(Arc::new(temporary)),
        })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes read so far, at most the file's size.
    pub(crate) fn read_size(&self) -> u64 {
        self.read_size.load(Ordering::Relaxed).min(self.size)
    }

    /// A reader that starts at an offset.
    pub(crate) fn reader(&self, offset: u64) -> WholeReader {
        WholeReader { whole: self.clone(), offset }
    }
}

pub(crate) struct WholeReader {
    whole: Whole,
    offset: u64,
}

impl Read for WholeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.whole.file.read_at(buffer, self.offset)?;
        self.offset += size as u64;
        self.whole.read_size.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }
}
