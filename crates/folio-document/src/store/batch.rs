//! Atomic batches in the lines layout.
//!
//! Lines go to the end of the data file as they come, in large writes. Before the first of them,
//! the batch record marks the batch as open, so its lines do not count yet. At commit the file is
//! synced, and the record is closed and synced. Only then do readers see the batch.
//!
//! The file may be edited during the batch. If nothing of the batch is written yet, it starts again
//! after the edit. Otherwise the batch succeeds if all its lines are still in the file, in order;
//! if not, it fails and the file stays as it is.

mod commit;

use std::mem;
use std::sync::Arc;
use std::thread;

use folio_file::File;

use super::append::{AppendError, AppendThread, Appender, Names, Piece};
use super::line_chunk::stand_in;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{Delta, Entry, id_hash, line_sum};
use crate::line;

/// Lines are written in pieces. Few large writes give the file few extents, and large folios in the
/// page cache. A piece is an eighth of the batch so far, between these bounds. The record is synced
/// before each piece, so a long batch uses large pieces. The upper bound limits the last piece,
/// during whose write nothing else can be done.
const PIECE_SIZES: (usize, usize) = (1 << 20, 8 << 20);

/// Room for the line that fills a piece.
const LAST_LINE_SIZE: usize = 16 << 10;

/// An open batch.
#[derive(Debug)]
pub(crate) struct LineBatch {
    store: Arc<LineStore>,
    data: Arc<dyn File>,
    /// `None` while a piece is being written.
    appender: Option<Box<Appender>>,
    thread: Option<AppendThread>,
    /// The expected offset of the piece being written.
    under_way_at: u64,
    /// The offset of the batch's first line.
    start: u64,
    /// The expected offset of the lines in `piece`.
    sent: u64,
    piece: Piece,
    /// The size at which `piece` is full.
    piece_size: usize,
    /// The second buffer: filled while the first is being written.
    spare: Option<Piece>,
    /// Entries of the lines, with offsets in the file. The last lines are still in `piece`.
    entries: Delta,
    /// Lines of others are between those of the batch, so the appender's sums are wrong.
    is_mixed: bool,
    /// A write failed. The batch can only be undone.
    has_failed: bool,
    import: Option<(u64, u64)>,
    stage: Stage,
}

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It does not count yet.
    Open,
    /// It counts, but is not in the index yet.
    Durable,
    /// Others may write again.
    Over,
}

impl LineBatch {
    pub(crate) fn begin(store: &Arc<LineStore>) -> Result<Self> {
        store.handle.check_writable()?;
        let mut writer = store.idle_writer()?;
        store.take_lock(&mut writer)?;
        store.follow_others(&mut writer)?;
        store.append_pending(&mut writer)?;
        let data = store.prepare_to_append(&mut writer)?;
        let start = store.read_view().index.state.data_end;
        let appender = Self::appender(store, &mut writer, &data, start)?;
        writer.batch_owner = Some(thread::current().id());
        Ok(Self {
            store: Arc::clone(store),
            appender: Some(appender),
            data,
            thread: None,
            under_way_at: start,
            start,
            sent: start,
            piece: Piece::with_capacity(0),
            piece_size: PIECE_SIZES.0,
            spare: None,
            entries: Delta::default(),
            is_mixed: false,
            has_failed: false,
            import: None,
            stage: Stage::Open,
        })
    }

    fn appender(
        store: &LineStore,
        writer: &mut Writer,
        data: &Arc<dyn File>,
        start: u64,
    ) -> Result<Box<Appender>> {
        let record = store.open_record(writer)?;
        let names = Names::new(&store.files, store.unsynced_directories(writer));
        let (sums, known) = (writer.sums.take().expect("prepared to append"), writer.known);
        let (data, syncs) = (Arc::clone(data), store.syncs_batch_record());
        Ok(Box::new(Appender::new(data, record, start, syncs, names, sums, known)))
    }

    /// Adds a line whose id is known.
    #[inline]
    pub(crate) fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) -> Result<()> {
        let offset = self.sent + self.piece.text.len() as u64;
        let (hash, sum) = (id_hash(id), line_sum(text));
        self.entries.push(if is_tombstone {
            Entry::tombstone(hash, offset, sum)
        } else {
            Entry::document(hash, offset, text.len() as u32, sum)
        });
        self.piece.sums.push(sum);
        self.piece.make_room(text.len() + 1, PIECE_SIZES.0 + LAST_LINE_SIZE);
        self.piece.text.extend_from_slice(text);
        self.piece.text.push(b'\n');
        if self.piece.text.len() >= self.piece_size { self.send_piece() } else { Ok(()) }
    }

    /// Whether the id has a document, in this batch or in the collection.
    pub(crate) fn exists(&mut self, id: &str) -> Result<bool> {
        self.find(id, &mut Vec::new())
    }

    /// The line of a document, from this batch or the collection; `false` if there is none.
    pub(crate) fn find(&mut self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        let hash = id_hash(id);
        let is_under_way = |entry: Entry| (entry.offset() >= self.under_way_at).then_some(());
        if self.appender.is_none() && self.entries.find(hash, is_under_way).is_some() {
            self.wait()?; // its line may have to be read
        }
        let in_batch = self.entries.find(hash, |entry| match self.is_of(entry, id, text) {
            Ok(true) => Some(Ok(!entry.is_tombstone())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        });
        match in_batch {
            Some(answer) => answer.map_err(Error::io("read", &self.store.paths.data)),
            None => self.store.repairing(|view| Ok(view.find(id, text)?.document().is_some())),
        }
    }

    /// Whether an entry belongs to an id. If so, `text` holds the line of its document.
    fn is_of(&self, entry: Entry, id: &str, text: &mut Vec<u8>) -> std::io::Result<bool> {
        if entry.is_tombstone() {
            return Ok(line_sum(&line::tombstone(id)) == entry.sum());
        }
        if entry.offset() >= self.sent {
            let start = (entry.offset() - self.sent) as usize;
            let line = &self.piece.text[start..start + entry.size() as usize];
            let is_of = line::has_id(line, id) == Some(true);
            if is_of {
                text.clear();
                text.extend_from_slice(line);
            }
            return Ok(is_of);
        }
        text.resize(entry.size() as usize, 0);
        let read = self.data.read_at(text, entry.offset())?;
        Ok(read == text.len() && line::has_id(text, id) == Some(true))
    }

    /// Does a part of the work of [`LineBatch::commit`].
    pub(crate) fn work_ahead(&mut self) {
        self.entries.sort_ahead();
    }

    /// Bytes of the lines so far, line ends included.
    pub(crate) fn size(&self) -> u64 {
        self.sent - self.start + self.piece.text.len() as u64
    }

    pub(crate) fn set_import_position(&mut self, source: u64, position: u64) {
        self.import = Some((source, position));
    }

    /// Sends the full piece to be written, and continues with an empty one.
    #[cold]
    fn send_piece(&mut self) -> Result<()> {
        self.wait()?;
        self.follow_edits()?;
        if self.thread.is_none() {
            let path = &self.store.paths.data;
            let started = AppendThread::start();
            self.thread = Some(started.map_err(Error::io("start a thread to write", path))?);
        }
        self.piece_size = (self.size() as usize / 8).clamp(PIECE_SIZES.0, PIECE_SIZES.1);
        let spare = self.spare.take().unwrap_or_else(|| Piece::with_capacity(0));
        let room = if self.piece_size == PIECE_SIZES.0 { PIECE_SIZES.0 } else { PIECE_SIZES.1 };
        let spare = spare.with_room(room + LAST_LINE_SIZE);
        let piece = mem::replace(&mut self.piece, spare);
        self.under_way_at = self.sent;
        self.sent += piece.text.len() as u64;
        let appender = self.appender.take().expect("no piece is on its way");
        self.thread.as_ref().expect("started above").append(appender, piece);
        Ok(())
    }

    /// Waits for the piece being written, if there is one.
    fn wait(&mut self) -> Result<()> {
        if self.appender.is_none() && self.stage == Stage::Open {
            let written = self.thread.as_ref().expect("a piece is on its way").wait();
            self.appender = Some(written.appender);
            self.spare = Some(written.piece);
            self.note_landing(written.start)?;
        }
        if self.has_failed {
            let reason = "a write of this batch failed; drop the batch and start it again";
            return Err(Error::Invalid(reason.to_owned()));
        }
        Ok(())
    }

    /// Writes the remaining lines.
    fn write_rest(&mut self) -> Result<()> {
        self.wait()?;
        self.follow_edits()?;
        if self.piece.text.is_empty() {
            return Ok(());
        }
        let appender = self.appender.as_mut().expect("no piece is on its way");
        let start = appender.append(&self.piece);
        self.under_way_at = self.sent;
        self.sent += self.piece.text.len() as u64;
        self.piece.text.clear();
        self.note_landing(start)
    }

    /// Starts the batch again at the end of the file, if the file was edited and nothing of the
    /// batch is written yet.
    fn follow_edits(&mut self) -> Result<()> {
        let store = Arc::clone(&self.store);
        let appender = self.appender.as_ref().expect("no piece is on its way");
        let found = store.files.stat(&store.paths.data).ok();
        if self.sent != self.start || found == appender.known {
            return Ok(());
        }
        let mut writer = store.any_writer();
        store.follow_others(&mut writer)?;
        let data = store.prepare_to_append(&mut writer)?;
        let start = store.read_view().index.state.data_end;
        self.appender = Some(Self::appender(&store, &mut writer, &data, start)?);
        self.entries.move_by(self.start, start.wrapping_sub(self.start));
        (self.data, self.start, self.sent, self.under_way_at) = (data, start, start, start);
        Ok(())
    }

    /// Runs before a batch counts. If someone else wrote to the file since the batch began, checks
    /// that all lines of the batch are still there, in the file at this path. [`Error::Invalid`] if
    /// not.
    fn check_disturbance(&mut self) -> Result<()> {
        let path = &self.store.paths.data;
        let appender = self.appender.as_mut().expect("no piece is on its way");
        appender.look().map_err(Error::io("read", path))?;
        let named = self.store.stat_data()?;
        self.is_mixed |= appender.is_disturbed || named != appender.known;
        if !self.is_mixed {
            return Ok(());
        }
        // From here on, undoing the batch does not truncate the file: others have lines in it.
        appender.is_disturbed = true;
        let is_named = named
            .zip(appender.known)
            .is_some_and(|(named, known)| named.identity() == known.identity());
        if is_named
            && stand_in(&*self.data, self.entries.entries()).map_err(Error::io("read", path))?
        {
            return Ok(());
        }
        Err(self.disturbed())
    }

    fn disturbed(&self) -> Error {
        Error::Invalid(format!(
            "{} was edited while a batch was written to it; the edit is preserved and the batch \
             discarded; start the batch again",
            self.store.paths.data.display()
        ))
    }

    /// Handles the three results of a write: the piece is where it was expected, it is elsewhere
    /// because someone else wrote in between, or the write failed.
    fn note_landing(&mut self, start: std::result::Result<u64, AppendError>) -> Result<()> {
        let paths = &self.store.paths;
        match start {
            Ok(start) if start == self.under_way_at => Ok(()),
            Ok(start) => {
                let distance = start.wrapping_sub(self.under_way_at);
                self.entries.move_by(self.under_way_at, distance);
                self.sent = self.sent.wrapping_add(distance);
                self.is_mixed = true;
                Ok(())
            }
            Err(error) => {
                self.has_failed = true;
                Err(match error {
                    AppendError::Name(path, error) => self.store.handle.poison(&path, error),
                    AppendError::Record(error) => Error::io("write", &paths.batch)(error),
                    AppendError::RecordSync(error) => self.store.handle.poison(&paths.batch, error),
                    AppendError::Data(error) => Error::io("append to", &paths.data)(error),
                })
            }
        }
    }

    /// Lets others write again.
    fn release(&mut self, writer: &mut Writer) {
        self.stage = Stage::Over;
        writer.batch_owner = None;
        self.store.batch_ended.notify_all();
    }

    /// Removes what was written, durably. Otherwise a power cut could bring the lines back after
    /// the record says that the batch has ended.
    fn abort(&mut self, writer: &mut Writer) -> Result<()> {
        let appender = self.appender.as_mut().expect("no piece is on its way");
        if self.sent == self.start {
            self.keep_record(writer); // which has no mark of this batch
            return Ok(());
        }
        appender.look().map_err(Error::io("read", &self.store.paths.data))?;
        let size = appender.known.map_or(0, |known| known.size);
        let is_ours = !appender.is_disturbed && !self.is_mixed;
        if size > self.start && !(is_ours && self.store.cut_off(&*self.data, self.start, size)?) {
            return Err(self.disturbed()); // the next write takes the lines of the batch out
        }
        self.close_record(self.start, None)?;
        self.keep_record(writer);
        Ok(())
    }

    /// Stores the record for the next batch.
    fn keep_record(&mut self, writer: &mut Writer) {
        writer.batch_record = self.appender.take().map(|appender| appender.record);
    }
}

impl Drop for LineBatch {
    /// Undoes a batch that was not committed. If that fails, the record stays open and the next
    /// writer does it.
    fn drop(&mut self) {
        if self.stage == Stage::Over {
            return;
        }
        let _ = self.wait();
        let store = Arc::clone(&self.store);
        let mut writer = store.any_writer();
        if self.stage == Stage::Open {
            let is_undone = !store.handle.is_poisoned() && self.abort(&mut writer).is_ok();
            writer.has_open_record = !is_undone;
        }
        writer.known = None; // look before the next write
        writer.data = None;
        writer.sums = None;
        if !writer.data_unsynced {
            writer.guard = None;
        }
        self.release(&mut writer);
    }
}
