//! Follows changes that others made to the files, and repairs a damaged index.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::TryLockError;

use super::batch_record::BatchSlot;
use super::load::{Loader, forget_file};
use super::publish::fault_error;
use super::verify::{has_only_grown, is_unchanged_from, is_unchanged_within};
use super::view::{Pending, View};
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, Head, IndexFault, RunName, id_hash};
use crate::line::{self, LineReader};
use crate::options::{Access, Progress};
use crate::report::Notice;
use crate::segment::Segment;
use crate::version::new_generation;

/// How often to look again at a file that keeps changing.
const ATTEMPTS: usize = 3;

/// How often a read that has yielded nothing starts again on a changed file.
pub(super) const RESTARTS: u32 = 3;

impl LineStore {
    /// Lets a read whose fault is repaired start again on the file as it is now. Not if it has
    /// yielded lines of the file as it was, or has started again often enough.
    pub(in crate::store) fn count_restart(&self, given: u64, restarts: &mut u32) -> Result<()> {
        *restarts += 1;
        if given == 0 && *restarts <= RESTARTS {
            return Ok(());
        }
        Err(Error::Edited { collection: self.handle.collection().to_owned() })
    }

    /// Runs a read. If it finds a line or page that is not as indexed, rebuilds the index and
    /// repeats the read.
    pub(super) fn repairing<T>(
        &self,
        mut read: impl FnMut(&View) -> Result<T, IndexFault>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let fault = match read(&*self.open_view()?) {
                Ok(answer) => return Ok(answer),
                Err(IndexFault::Io(error)) => {
                    return Err(Error::io("read", &self.paths.data)(error));
                }
                Err(fault) => fault,
            };
            self.repair(&fault)?;
        }
        read(&*self.open_view()?).map_err(|fault| fault_error(fault, &self.paths))
    }

    /// Rebuilds the index because of a fault.
    pub(super) fn repair(&self, fault: &IndexFault) -> Result<()> {
        self.repair_for_scan(fault).map(drop)
    }

    /// The same for a read that may go on where it is.
    pub(super) fn repair_for_scan(&self, fault: &IndexFault) -> Result<Repair> {
        let mut writer = self.any_writer();
        self.handle.check_open()?;
        self.do_repair(&mut writer, fault)
    }

    pub(super) fn repair_as(&self, writer: &mut Writer, fault: &IndexFault) -> Result<()> {
        self.do_repair(writer, fault).map(drop)
    }

    fn do_repair(&self, writer: &mut Writer, fault: &IndexFault) -> Result<Repair> {
        match self.damage_of(fault)? {
            Damage::Lasts(error) => return Err(error),
            Damage::Passed => return Ok(Repair::None),
            Damage::None => {}
        }
        // A system error occurs again and is then returned, or it has passed.
        if !matches!(fault, IndexFault::Io(_)) {
            self.handle.notice([Notice(format!("{}: {fault}", self.paths.data.display()))]);
        }
        self.reload(writer, true, &mut |_, _| true)?;
        Ok(Repair::Index)
    }

    /// Whether a fault is one that no change of the file explains: a reader sees one version of a file
    /// on another machine, and its index belonged to that version when it was opened. The bytes are
    /// damaged there, or were on their way: they are asked for again.
    fn damage_of(&self, fault: &IndexFault) -> Result<Damage> {
        let view = self.read_view();
        let Some(segment) = view.fixed_segment() else { return Ok(Damage::None) };
        let error = |path: PathBuf, offset, reason| Error::Corrupted {
            path,
            offset,
            reason,
            repair: "open it again, and if the damage remains, send an undamaged copy there"
                .to_owned(),
        };
        match *fault {
            IndexFault::Io(_) => Ok(Damage::None),
            IndexFault::Line { offset } => {
                let found = || {
                    let found = line_at(&view, segment, offset);
                    let (id, end) = found.map_err(Error::io("read", &self.paths.data))?;
                    let range = offset..end;
                    let is_good = is_unchanged_within(segment, &view.index, range.clone());
                    Ok::<_, Error>((id, range, is_good.unwrap_or(false)))
                };
                let (_, Range { start, end }, is_good) = found()?;
                if is_good {
                    return Ok(Damage::None); // another thread has repaired it meanwhile
                }
                let start = start - start % BLOCK_SIZE;
                segment.file.forget(start, end.next_multiple_of(BLOCK_SIZE) - start);
                let (id, _, is_good) = found()?;
                if is_good {
                    return Ok(Damage::Passed);
                }
                let reason = match id {
                    Some(id) => format!("document {id:?} is not the one that was indexed"),
                    None => "a line from here on is not the one that was indexed".to_owned(),
                };
                Ok(Damage::Lasts(error(self.paths.data.clone(), offset, reason)))
            }
            IndexFault::Page { run, .. } | IndexFault::Run { run } => {
                let mut runs = view.index.runs.iter().filter(|known| known.number == run);
                let is_damaged = runs.any(|run| run.check_all().is_err());
                if !is_damaged {
                    return Ok(Damage::None);
                }
                // The run is in memory: who opens the collection next asks for it again.
                let path = self.paths.meta.join(RunName::file_name(run));
                forget_file(&*self.files, &path);
                Ok(Damage::Lasts(error(path, 0, fault.to_string())))
            }
        }
    }

    /// Reads what others have written since. Our pending lines stay on top.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.refresh_as(&mut self.any_writer())
    }

    /// The same, unless this process is writing. Never waits.
    pub(crate) fn try_refresh(&self) -> Result<()> {
        match self.writer.try_lock() {
            Ok(mut writer) => self.refresh_as(&mut writer),
            Err(TryLockError::Poisoned(writer)) => self.refresh_as(&mut writer.into_inner()),
            Err(TryLockError::WouldBlock) => self.handle.check_open(),
        }
    }

    fn refresh_as(&self, writer: &mut Writer) -> Result<()> {
        self.handle.check_open()?;
        if writer.batch_owner.is_some() {
            return Ok(()); // our own batch is open, so no one else is writing
        }
        if writer.known.is_some()
            && self.files.stat(&self.paths.data).ok() == writer.known
            && !self.head_has_moved(writer)
            && (self.is_covered(writer) || self.has_same_batch(writer))
        {
            return Ok(());
        }
        self.reload(writer, false, &mut |_, _| true)
    }

    fn is_covered(&self, writer: &Writer) -> bool {
        writer.known.is_some_and(|known| known.size == self.read_view().index.state.data_end)
    }

    /// Whether no batch was committed, or taken out, since the file was read: its lines are the part
    /// that is not indexed.
    fn has_same_batch(&self, writer: &Writer) -> bool {
        let slot = BatchSlot::read(&*self.files, &self.paths.batch, None);
        slot.is_ok_and(|slot| slot.map(|slot| slot.sequence) == writer.batch_sequence)
    }

    /// Reads what others have written to the data file until now, and verifies it. An index that is
    /// damaged stays as it is.
    pub(super) fn follow_data(&self, writer: &mut Writer) -> Result<()> {
        if self.stat_data()? != writer.known {
            self.reload(writer, false, &mut |_, _| true)?;
        }
        self.verify_as(writer)
    }

    /// Verifies what was not compared with the index yet, so that a miss can be trusted.
    pub(super) fn verify(&self) -> Result<()> {
        if self.read_view().doubtful_from.is_none() {
            return Ok(());
        }
        self.verify_as(&mut self.any_writer())
    }

    fn verify_as(&self, writer: &mut Writer) -> Result<()> {
        let unchanged = {
            let view = self.read_view();
            match &view.segment {
                Some(segment) if let Some(from) = view.doubtful_from => {
                    is_unchanged_from(segment, &view.index, from)
                }
                _ => return Ok(()),
            }
        };
        match unchanged {
            Ok(true) => {
                self.write_view().doubtful_from = None;
                Ok(())
            }
            Err(IndexFault::Io(error)) => Err(Error::io("read", &self.paths.data)(error)),
            Ok(false) | Err(_) => self.reload(writer, true, &mut |_, _| true),
        }
    }

    /// Opens the files again. With the writer's lock, or if no one else holds it, a rebuilt index
    /// is published; otherwise it stays in memory.
    pub(super) fn reload(
        &self,
        writer: &mut Writer,
        rebuild: bool,
        progress: Progress<'_>,
    ) -> Result<()> {
        let held = writer.guard.is_some();
        let taken = Cell::new(None);
        let take_lock = || {
            taken.set(self.lock.try_acquire().ok());
            let guard = taken.take();
            let is_taken = guard.is_some();
            taken.set(guard);
            is_taken
        };
        let may_take = !held && self.options.access == Access::ReadWrite;
        let mut loader = Loader {
            files: &self.files,
            paths: &self.paths,
            cache_size: self.options.cache_size,
            may_write: held,
            take_lock: if may_take { Some(&take_lock) } else { None },
            rebuild,
            failpoints: self.options.failpoints(),
        };
        let loaded = loader.load(progress)?;
        self.install(writer, loaded)?;
        if self.options.access == Access::Read {
            // Without the definitions, documents are found by reading all.
            let _ = self.follow_definitions(writer);
        }
        let taken = taken.take();
        if held || taken.is_some() {
            self.publish_quietly(writer);
        }
        drop(taken); // only after the index is published
        Ok(())
    }

    /// Makes the loaded files the view, and adds our pending lines on top again.
    fn install(&self, writer: &mut Writer, loaded: super::load::Loaded) -> Result<()> {
        self.handle.notice(loaded.notices);
        writer.index = loaded.writer;
        writer.data = None;
        writer.batch_record = None;
        writer.sums = None;
        writer.unpublished |= loaded.is_new;
        writer.index_is_damaged = loaded.is_damaged;
        writer.known = loaded.stat;
        writer.batch_sequence = loaded.batch_sequence;
        writer.synced_end = loaded.index.state.synced_end;
        writer.suspect = writer.synced_end..loaded.index.state.data_end;
        writer.found_unsynced = !loaded.has_durable_name || !writer.suspect.is_empty();
        let mut view = self.write_view();
        let pending = std::mem::take(&mut view.pending);
        let has_grown = match (&view.segment, &loaded.segment) {
            (Some(_), Some(segment)) => {
                has_only_grown(&view.index, &loaded.index, segment).unwrap_or(false)
            }
            _ => false,
        };
        let generation = if has_grown { view.generation } else { new_generation() };
        *view = View {
            segment: loaded.segment,
            index: loaded.index,
            pending: Pending::default(),
            doubtful_from: loaded.doubtful_from,
            generation,
        };
        let replayed = replay(&mut view, pending.lines());
        if replayed.is_err() {
            view.pending = pending; // accepted lines survive a change of the file
        }
        replayed.map_err(|fault| fault_error(fault, &self.paths))
    }

    /// Publishes a rebuilt index. This only saves work for others, who would build it themselves,
    /// so a failure is not reported to the caller.
    fn publish_quietly(&self, writer: &mut Writer) {
        if !writer.unpublished {
            return;
        }
        let mut view = self.write_view();
        let Some(segment) = view.segment.clone() else { return };
        if writer.index.publish(&mut view.index, &*segment).is_ok() {
            writer.unpublished = false;
            writer.index_is_damaged = false;
        }
    }

    /// Rebuilds all indexes from the data file.
    pub(crate) fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.take_lock(&mut writer)?;
        self.reload(&mut writer, true, progress)?;
        self.discard_fields();
        self.look_again_at_columns();
        self.flush_as(&mut writer)
    }

    /// Whether another process has published since the head was read.
    pub(super) fn head_has_moved(&self, writer: &Writer) -> bool {
        let generation = Head::generation(&*self.files, &self.paths.head);
        generation.ok() != Some(writer.index.generation())
    }
}

/// What was done about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// Nothing: bytes were damaged on their way here, and have come again. The read may go on.
    None,
    /// The index was built again.
    Index,
}

/// Whether bytes of another machine are damaged.
enum Damage {
    /// They are not.
    None,
    /// They were; those that were sent again are not.
    Passed,
    /// They are, also when they are sent again.
    Lasts(Error),
}

/// The id of the line at an offset, if the index has the line, and where the next line starts.
fn line_at(view: &View, segment: &Segment, offset: u64) -> io::Result<(Option<String>, u64)> {
    let mut reader = LineReader::new(&*segment.file, offset, view.index.state.data_end);
    let Some(raw) = reader.next()? else { return Ok((None, offset + 1)) };
    let newest = |id: &str| view.index.newest(id_hash(id)).ok().flatten();
    let id = line::id_of_stored_line(raw.text)
        .filter(|id| newest(id).is_some_and(|entry| entry.offset() == offset));
    Ok((id.map(str::to_owned), raw.next))
}

/// Adds pending lines to a new view, so that its count includes them.
pub(super) fn replay<'a>(
    view: &mut View,
    lines: impl Iterator<Item = (&'a [u8], bool)>,
) -> Result<(), IndexFault> {
    let mut older = Vec::new();
    for (text, is_tombstone) in lines {
        let id = line::id_of_stored_line(text).expect("pending lines begin with their id");
        let existed = view.find(id, &mut older)?.document().is_some();
        view.push_pending(id, text, is_tombstone);
        view.pending.live_change += i64::from(!is_tombstone) - i64::from(existed);
    }
    Ok(())
}
