//! Files as the streams that the `zip` crate reads and writes.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use folio_file::{File, Upload};

/// Bytes per read for small reads: headers follow each other.
const READ_SIZE: usize = 16 << 10;

/// A read position in a file. Clones share only the file.
#[derive(Debug)]
pub(super) struct FileStream {
    file: Arc<dyn File>,
    position: u64,
    size: u64,
    /// Bytes of the file from `buffered_from` on.
    buffer: Vec<u8>,
    buffered_from: u64,
}

impl FileStream {
    /// Starts at the beginning of a file of this size.
    pub(super) fn new(file: Arc<dyn File>, size: u64) -> Self {
        Self { file, position: 0, size, buffer: Vec::new(), buffered_from: 0 }
    }

    /// The buffered bytes at the position.
    fn buffered(&self) -> &[u8] {
        let start = self.position.checked_sub(self.buffered_from);
        start.and_then(|start| self.buffer.get(usize::try_from(start).ok()?..)).unwrap_or_default()
    }
}

impl Clone for FileStream {
    fn clone(&self) -> Self {
        Self { position: self.position, ..Self::new(Arc::clone(&self.file), self.size) }
    }
}

impl Read for FileStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() {
            if out.len() >= READ_SIZE {
                let read = self.file.read_at(out, self.position)?;
                self.position += read as u64;
                return Ok(read);
            }
            self.buffer.resize(READ_SIZE, 0);
            let read = self.file.read_at(&mut self.buffer, self.position)?;
            self.buffer.truncate(read);
            self.buffered_from = self.position;
        }
        let buffered = self.buffered();
        let read = buffered.len().min(out.len());
        out[..read].copy_from_slice(&buffered[..read]);
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for FileStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = moved(self.position, self.size, to)?;
        Ok(self.position)
    }
}

/// What an archive is written to.
#[derive(Debug, Clone)]
pub(super) enum Output {
    File(Arc<dyn File>),
    Upload(Arc<dyn Upload>),
}

impl Output {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_at(bytes, offset),
            Self::Upload(upload) => upload.write_at(bytes, offset),
        }
    }
}

/// A write position in an output.
///
/// After an error, a ZIP writer that is dropped still tries to finish its archive, and prints a
/// message if it cannot. So the sink hides errors from it: after the first error nothing more is
/// written, and [`SinkState::check`] returns the error.
#[derive(Debug)]
pub(super) struct Sink {
    output: Output,
    position: u64,
    size: u64,
    state: SinkState,
}

/// What became of a sink, which a ZIP writer owns. Clones refer to the same sink.
#[derive(Debug, Clone, Default)]
pub(super) struct SinkState {
    has_failed: Arc<AtomicBool>,
    error: Arc<Mutex<Option<io::Error>>>,
    size: Arc<AtomicU64>,
}

impl SinkState {
    /// # Errors
    /// The first error, once; after that, an error that says there was one.
    pub(super) fn check(&self) -> io::Result<()> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(error.unwrap_or_else(|| io::Error::other("an earlier write has failed")))
    }

    /// Bytes written so far.
    pub(super) fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    fn note(&self, error: io::Error) {
        self.has_failed.store(true, Ordering::Relaxed);
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Sink {
    /// Starts at the beginning of an empty output.
    pub(super) fn new(output: Output, state: SinkState) -> Self {
        Self { output, position: 0, size: 0, state }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.state.has_failed.load(Ordering::Relaxed)
            && let Err(error) = self.output.write_at(bytes, self.position)
        {
            self.state.note(error);
        }
        self.position += bytes.len() as u64;
        self.size = self.size.max(self.position);
        self.state.size.store(self.size, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = moved(self.position, self.size, to)?;
        Ok(self.position)
    }
}

fn moved(position: u64, size: u64, to: SeekFrom) -> io::Result<u64> {
    let moved = match to {
        SeekFrom::Start(offset) => Some(offset),
        SeekFrom::End(distance) => size.checked_add_signed(distance),
        SeekFrom::Current(distance) => position.checked_add_signed(distance),
    };
    moved.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
