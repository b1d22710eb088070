//! Appends a batch's lines to the data file in large pieces. If there are several, a separate
//! thread writes them: while it writes one piece, the next is filled.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use folio_file::{File, FileSystem, Stat};

use super::batch_record::BatchRecord;
use crate::index::BlockSums;

/// Up to this size, a batch gets no more memory than it needs.
const SMALL: usize = 64 << 10;

/// Lines that go to the file in one write.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: Vec<u8>,
    /// Checksums of the lines.
    pub(super) sums: Vec<u64>,
}

impl Piece {
    pub(super) fn with_capacity(size: usize) -> Self {
        Self { text: Vec::with_capacity(size), sums: Vec::new() }
    }

    /// Makes room for a line. Once the piece exceeds a small batch, reserves `size` bytes at once:
    /// doubling the memory copies the text, and touches new memory, each time.
    #[inline]
    pub(super) fn make_room(&mut self, line_size: usize, size: usize) {
        if self.text.capacity() - self.text.len() < line_size {
            self.grow(line_size, size);
        }
    }

    #[cold]
    fn grow(&mut self, line_size: usize, size: usize) {
        if self.text.len() < SMALL {
            self.text.reserve(line_size);
            return;
        }
        self.text.reserve(size.saturating_sub(self.text.len()).max(line_size));
        self.sums.reserve(self.sums.len() * (size / self.text.len()));
    }

    /// This piece, or a new one if it has room for less than `size` bytes. Memory that is never
    /// written to costs nothing.
    pub(super) fn with_room(self, size: usize) -> Self {
        if self.text.capacity() < size { Self::with_capacity(size) } else { self }
    }

    /// Empties the piece but reuses its memory.
    fn cleared(mut self) -> Self {
        self.text.clear();
        self.sums.clear();
        self
    }
}

/// A failed append, by the file that failed.
#[derive(Debug)]
pub(super) enum AppendError {
    Name(PathBuf, io::Error),
    Record(io::Error),
    RecordSync(io::Error),
    Data(io::Error),
}

/// Directory entries that must be on the device before the first line of a batch is.
#[derive(Debug)]
pub(super) struct Names {
    files: Arc<dyn FileSystem>,
    directories: Vec<PathBuf>,
    /// There were entries to sync, and now they are durable.
    pub(super) are_synced: bool,
}

impl Names {
    pub(super) fn new(files: &Arc<dyn FileSystem>, directories: Vec<PathBuf>) -> Self {
        Self { files: Arc::clone(files), directories, are_synced: false }
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        for directory in std::mem::take(&mut self.directories) {
            if let Err(error) = self.files.sync_directory(&directory) {
                return Err(AppendError::Name(directory, error));
            }
            self.are_synced = true;
        }
        Ok(())
    }
}

/// Writes pieces to the end of the data file.
#[derive(Debug)]
pub(super) struct Appender {
    data: Arc<dyn File>,
    pub(super) record: BatchRecord,
    /// The offset of the batch, until it is written to the record.
    start: Option<u64>,
    /// The record of some lines is synced before the lines are written.
    syncs_record: bool,
    /// Synced before the first line.
    pub(super) names: Names,
    /// Block sums up to the end of the file, valid while no one else appends to it.
    pub(super) sums: BlockSums,
    /// Sums of the blocks completed since the batch began.
    pub(super) blocks: Vec<u64>,
    /// The data file as this appender left it.
    pub(super) known: Option<Stat>,
    /// Someone else wrote to the file since the batch began.
    pub(super) is_disturbed: bool,
}

impl Appender {
    pub(super) fn new(
        data: Arc<dyn File>,
        record: BatchRecord,
        start: u64,
        syncs_record: bool,
        names: Names,
        sums: BlockSums,
        known: Option<Stat>,
    ) -> Self {
        Self {
            data,
            record,
            start: Some(start),
            syncs_record,
            names,
            sums,
            blocks: Vec::new(),
            known,
            is_disturbed: false,
        }
    }

    /// Announces a piece in the record, then appends it. Returns its offset.
    pub(super) fn append(&mut self, piece: &Piece) -> Result<u64, AppendError> {
        self.names.sync()?;
        self.announce(&piece.sums)?;
        self.look().map_err(AppendError::Data)?;
        let size = piece.text.len() as u64;
        let appended = self.data.append(&piece.text);
        // If the file does not have the size that our writes explain, someone else wrote too. An
        // edit between these two calls that keeps the size looks like our append.
        let expected = self.known.map_or(0, |before| before.size) + size;
        let found = self.data.stat();
        self.known = found.as_ref().ok().copied();
        let end = appended.map_err(AppendError::Data)?;
        self.is_disturbed |= found.map_err(AppendError::Data)?.size != expected;
        let start = end - size;
        self.data.start_writeback(start, end - start);
        self.sums.update(&piece.text, &mut self.blocks);
        Ok(start)
    }

    /// Writes the coming lines to the record. If a power cut lost this but not the lines, they
    /// would count as lines of someone else.
    fn announce(&mut self, sums: &[u64]) -> Result<(), AppendError> {
        let inode = self.known.map_or(0, |known| known.inode);
        let start = self.start.take();
        let announced = match start {
            Some(start) => self.record.begin(start, inode, sums),
            None => self.record.announce(sums),
        };
        announced.map_err(AppendError::Record)?;
        if self.syncs_record && (start.is_some() || self.record.needs_sync_of_list()) {
            self.record.file.sync_data().map_err(AppendError::RecordSync)?;
        }
        Ok(())
    }

    /// Notes whether the file is still as this appender left it.
    ///
    /// # Errors
    /// Fails, from now on, if that cannot be determined.
    pub(super) fn look(&mut self) -> io::Result<()> {
        let Some(known) = self.known else {
            return Err(io::Error::other("a write failed, and its result could not be read back"));
        };
        let found = self.data.stat()?;
        self.is_disturbed |= found != known;
        self.known = Some(found);
        Ok(())
    }
}

/// The result of writing a piece.
#[derive(Debug)]
pub(super) struct WrittenPiece {
    pub(super) appender: Box<Appender>,
    /// Empty, ready to be filled again.
    pub(super) piece: Piece,
    /// The offset of the piece.
    pub(super) start: Result<u64, AppendError>,
}

/// A thread that appends one piece at a time. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct AppendThread {
    pieces: Sender<(Box<Appender>, Piece)>,
    written: Receiver<WrittenPiece>,
}

impl AppendThread {
    /// # Errors
    /// The system's error if no thread can be started.
    pub(super) fn start() -> io::Result<Self> {
        let (pieces, next) = mpsc::channel::<(Box<Appender>, Piece)>();
        let (done, written) = mpsc::channel();
        thread::Builder::new().name("folio-append".to_owned()).spawn(move || {
            for (mut appender, piece) in next {
                let start = appender.append(&piece);
                if done.send(WrittenPiece { appender, piece: piece.cleared(), start }).is_err() {
                    return; // the batch was dropped, so no one needs the result
                }
            }
        })?;
        Ok(Self { pieces, written })
    }

    /// Starts appending a piece. [`AppendThread::wait`] returns the appender.
    pub(super) fn append(&self, appender: Box<Appender>, piece: Piece) {
        self.pieces.send((appender, piece)).expect("the thread listens until this is dropped");
    }

    /// Waits for the piece being written.
    pub(super) fn wait(&self) -> WrittenPiece {
        self.written.recv().expect("the thread answers every piece")
    }
}
