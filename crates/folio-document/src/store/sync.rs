//! Makes written data durable: one sync at a flush, or one sync for all threads that wait.
//!
//! After a failed sync, other processes cannot know of it: the lines can be read, and a further
//! sync would succeed without writing them. So the next writer writes again everything that the
//! index does not know to be on the device, before it promises anything.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use folio_file::OpenMode;

use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::options::Durability;

/// At most this much is written again because its sync may have failed.
const SUSPECT_LIMIT: u64 = 64 << 20;

/// Writers that wait for a common sync.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    state: Mutex<CommitState>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct CommitState {
    synced: u64,
    /// The writes whose lines could not be appended, until their threads return the error.
    failed: HashMap<u64, io::ErrorKind>,
    is_syncing: bool,
    /// Threads that have asked for a sync since the last one began.
    joined: usize,
    /// How many threads the last sync served, and how long it took.
    last_group: usize,
    last_duration: Duration,
}

/// The fraction of a sync's duration that the next sync waits for the threads that the last one
/// served. They are about to write again, and together they cost one sync.
const PATIENCE: u32 = 4;

impl GroupCommit {
    /// Notes that the lines of `count` writes, the last of them `newest`, were dropped.
    pub(super) fn fail(&self, newest: u64, count: u64, error: &Error) {
        let kind = match error {
            Error::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.extend((newest - count..newest).map(|before| (before + 1, kind)));
    }

    /// Waits until as many threads have joined as the last sync served, unless they take too long.
    /// A single writer never waits.
    fn wait_for_company(&self) {
        let start = Instant::now();
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let is_late = start.elapsed() >= state.last_duration / PATIENCE;
            if state.joined >= state.last_group || is_late {
                state.last_group = std::mem::take(&mut state.joined);
                return;
            }
            drop(state);
            thread::yield_now();
        }
    }
}

impl LineStore {
    /// Writes again what a failed sync may have dropped. Linux marks such pages as clean, so the
    /// next sync writes them only if they are written again. A tail too long to come from one flush
    /// is only synced.
    pub(super) fn write_suspect_again(&self, writer: &mut Writer) -> Result<()> {
        let suspect = std::mem::take(&mut writer.suspect);
        if suspect.is_empty() || suspect.end - suspect.start > SUSPECT_LIMIT {
            return Ok(());
        }
        let io = |action| Error::io(action, &self.paths.data);
        let file = self.files.open(&self.paths.data, OpenMode::Write).map_err(io("open"))?;
        let is_known = Some(file.stat().map_err(io("read"))?) == writer.known;
        let mut buffer = vec![0; (suspect.end - suspect.start).min(1 << 20) as usize];
        let mut at = suspect.start;
        while at < suspect.end {
            let wanted = (suspect.end - at).min(buffer.len() as u64) as usize;
            let read = file.read_at(&mut buffer[..wanted], at).map_err(io("read"))?;
            if read == 0 {
                break;
            }
            file.write_at(&buffer[..read], at).map_err(io("write"))?;
            at += read as u64;
        }
        writer.data_unsynced = true;
        let stat = file.stat().map_err(io("read"))?;
        // Writing in place changes times but not the size. A different size means that someone else
        // wrote.
        let is_ours = is_known && writer.known.is_some_and(|known| known.size == stat.size);
        writer.known = is_ours.then_some(stat); // otherwise an edit must still be read
        Ok(())
    }

    /// Makes the file durable, and the first time also its name.
    pub(super) fn sync(&self, writer: &mut Writer) -> Result<()> {
        if self.options.durability == Durability::None {
            return Ok(());
        }
        if writer.data_unsynced && self.is_created() {
            let data = self.open_data(writer)?;
            if !self.options.failpoints().skip_data_sync() {
                data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))?;
            }
            writer.data_unsynced = false;
            writer.synced_end = self.read_view().index.state.data_end;
            writer.unpublished = true;
        }
        self.sync_names(writer)
    }

    /// Whether names must be made durable before anything is promised.
    pub(super) fn syncs_names(&self, writer: &Writer) -> bool {
        let is_wanted = self.options.durability != Durability::None && self.is_created();
        writer.names_unsynced && is_wanted && !self.options.failpoints().forget_directory_sync()
    }

    pub(super) fn sync_names(&self, writer: &mut Writer) -> Result<()> {
        if self.syncs_names(writer) {
            for directory in self.paths.directories() {
                self.files
                    .sync_directory(&directory)
                    .map_err(|error| self.handle.poison(&directory, error))?;
            }
            writer.names_unsynced = false;
        }
        Ok(())
    }

    /// Waits until the write with this number is durable. One of the waiting threads syncs for all
    /// that have written so far.
    pub(super) fn sync_up_to(&self, sequence: u64) -> Result<()> {
        if self.options.failpoints().acknowledge_before_sync() {
            return Ok(());
        }
        let mut state = self.commit.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.joined += 1;
        let failure = |kind: io::ErrorKind| Error::io("append to", &self.paths.data)(kind.into());
        loop {
            if let Some(kind) = state.failed.remove(&sequence) {
                return Err(failure(kind));
            }
            if state.synced >= sequence {
                return Ok(());
            }
            self.handle.check_writable()?; // a failed sync of another thread fails us all
            if !state.is_syncing {
                break;
            }
            state = self.commit.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_syncing = true;
        drop(state);
        self.commit.wait_for_company();
        let start = Instant::now();
        let synced = self.sync_for_all();
        let mut state = self.commit.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_syncing = false;
        let failed = state.failed.remove(&sequence);
        state.last_duration = start.elapsed();
        if let Ok(synced) = synced {
            state.synced = state.synced.max(synced);
        }
        drop(state);
        self.commit.done.notify_all();
        synced?;
        failed.map_or(Ok(()), |kind| Err(failure(kind)))
    }

    /// Appends what is pending, syncs without blocking other writers, and publishes. Returns the
    /// number of the last write that this made durable.
    fn sync_for_all(&self) -> Result<u64> {
        let (data, segment, end, sequence) = {
            let mut writer = self.idle_writer()?;
            self.append_or_take_back(&mut writer)?;
            self.sync_names(&mut writer)?;
            let data = self.open_data(&mut writer)?;
            let view = self.read_view();
            (data, view.segment.clone(), view.index.state.data_end, writer.sequence)
        };
        data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))?;
        let mut writer = match self.idle_writer() {
            Err(Error::Closed { .. }) => return Ok(sequence), // closing published it
            writer => writer?,
        };
        let is_same_file = {
            let now = self.read_view();
            matches!((&segment, &now.segment), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
        };
        if is_same_file {
            writer.synced_end = writer.synced_end.max(end);
            // Not earlier: a flush of another thread must not rely on our sync.
            writer.data_unsynced &= writer.sequence != sequence;
        }
        self.compact_if_worthwhile(&mut writer)?;
        match self.publish(&mut writer) {
            Err(error) if self.handle.is_poisoned() => Err(error),
            // The lines are durable. The next sync publishes them, or the close reports why not.
            _ => Ok(sequence),
        }
    }
}
