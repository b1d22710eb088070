//! The source of an import's bytes.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::{File, FileKind, FileSystem, OpenMode, Stat};
use folio_stream::{Flow, FlowReader};
use xxhash_rust::xxh3::Xxh3;

use super::source_list::Place;
use crate::error::{Error, Result};
use crate::location;
use crate::options::OpenOptions;
use crate::write::admitted;

/// Bytes at the start of a file that its fingerprint covers.
const FINGERPRINT_SIZE: usize = 64 << 10;

/// A file or any other reader to import from.
pub struct Source {
    /// The name in messages.
    pub(crate) name: String,
    pub(crate) reader: Box<dyn Read + Send>,
    /// The identity of a file, used to resume an interrupted import.
    pub(crate) fingerprint: Option<u64>,
    /// Its place among the sources of one import.
    pub(crate) place: Option<Place>,
    /// Bytes read so far.
    pub(crate) read_size: Arc<AtomicU64>,
    /// What the file system says of a file.
    pub(crate) stat: Option<Stat>,
    /// The file and its size, for formats that are read at any offset.
    pub(crate) file: Option<(Arc<dyn File>, u64)>,
    /// For a pipe, stops its reader.
    pub(crate) flow: Option<Flow>,
}

impl Source {
    /// A file on disk, or at a URL (`file:`, `https://`, `s3://`, `gs://`, `az://`, `hf://`).
    ///
    /// # Errors
    /// `not_found`, `io`; `unsupported` for a URL that is not read.
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        Self::on_host(&*location::host(&OpenOptions::default()), path.as_ref())
    }

    /// A file on disk, or at a URL, of a file system that opens them.
    ///
    /// # Errors
    /// As [`Source::file`].
    pub(crate) fn on_host(host: &dyn FileSystem, path: &Path) -> Result<Self> {
        Self::file_in(host, &admitted(host, path, "read")?)
    }

    /// A file of a file system.
    ///
    /// # Errors
    /// As [`Source::file`].
    pub fn file_in(files: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = files.open(path, OpenMode::Read).map_err(Error::io("read", path))?;
        let stat = file.stat().map_err(Error::io("read", path))?;
        if stat.kind == FileKind::Directory {
            let text = format!("{path:?} is a directory; name the file to import");
            return Err(Error::Invalid(text));
        }
        let mut head = vec![0; FINGERPRINT_SIZE];
        let head_size = file.read_at(&mut head, 0).map_err(Error::io("read", path))?;
        let canonical = files.canonical(path).unwrap_or_else(|_| path.to_owned());
        let mut hash = Xxh3::new();
        hash.update(canonical.as_os_str().as_encoded_bytes());
        hash.update(&stat.size.to_le_bytes());
        hash.update(&stat.modified_ns.to_le_bytes());
        hash.update(&head[..head_size]);
        let reader = FileReader { file: Arc::clone(&file), offset: 0 };
        let mut source = Self::reader(path.display().to_string(), reader);
        source.file = Some((file, stat.size));
        source.stat = Some(stat);
        source.fingerprint = Some(hash.digest());
        Ok(source)
    }

    /// The name in messages: of a URL, without its secrets.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The total size in bytes; zero if it is unknown.
    pub(crate) fn size(&self) -> u64 {
        self.stat.map_or(0, |stat| stat.size)
    }

    /// Any reader. The name is used in messages, and its extension gives the format.
    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        let read_size = Arc::new(AtomicU64::new(0));
        let counted = Counted { reader, count: Arc::clone(&read_size) };
        Self {
            name: name.into(),
            reader: Box::new(counted),
            fingerprint: None,
            place: None,
            read_size,
            stat: None,
            file: None,
            flow: None,
        }
    }

    /// A pipe or a terminal, whose reads may block for long. A thread reads it. An import commits
    /// at least once a second what has arrived, and can be stopped while nothing arrives.
    pub fn pipe(name: impl Into<String>, pipe: impl Read + Send + 'static) -> Self {
        let (reader, flow) = FlowReader::new(pipe);
        Self { flow: Some(flow), ..Self::reader(name, reader) }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Source")
            .field("name", &self.name)
            .field("size", &self.size())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Reads a file starting at an offset.
pub(crate) struct FileReader {
    pub(crate) file: Arc<dyn File>,
    pub(crate) offset: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.file.read_at(buffer, self.offset)?;
        self.offset += size as u64;
        Ok(size)
    }
}

/// Counts the bytes read, for the progress bar.
struct Counted<R> {
    reader: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.reader.read(buffer)?;
        self.count.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }
}
