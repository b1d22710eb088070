//! State that each writer hands to the next.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::RandomState;

use crate::ids::{BlockId, Lsn, PageId};
use crate::pager::{NO_SLOT, Pager};
use crate::state::State;
use crate::wal::record::LogPosition;

/// The writer's state. Its holder, a transaction or a checkpoint, is the only writer.
#[derive(Debug)]
pub(crate) struct Writer {
    /// As of the last commit, durable or not.
    pub(crate) state: State,
    /// The end of the last commit.
    pub(crate) position: LogPosition,
    /// Pages with versions in the log, which a checkpoint copies.
    pub(crate) logged: HashSet<PageId, RandomState>,
    /// Versions replaced by newer ones, oldest first.
    superseded: VecDeque<Superseded>,
    /// Released slots, each with the number of the first snapshot that cannot still be reading it.
    retired: VecDeque<(u64, u32)>,
    free_slots: Vec<u32>,
    next_slot: u32,
    /// The highest catalog version so far, committed or not.
    pub(crate) catalog_version_max: u64,
    /// The log's size at which to try the next checkpoint.
    pub(crate) checkpoint_at: u64,
}

/// A version that is not needed once all readers are at `end` or later.
#[derive(Debug, Clone, Copy)]
struct Superseded {
    end: Lsn,
    page: PageId,
    /// [`NO_SLOT`] for the version in the data file.
    slot: u32,
    by: u32,
}

impl Writer {
    pub(crate) fn new(state: State, position: LogPosition, checkpoint_at: u64) -> Self {
        Self {
            state,
            position,
            logged: HashSet::default(),
            superseded: VecDeque::new(),
            retired: VecDeque::new(),
            free_slots: Vec::new(),
            next_slot: NO_SLOT + 1,
            catalog_version_max: state.catalog_version,
            checkpoint_at,
        }
    }

    /// Takes over the result of recovery: a later state, and used slots.
    pub(crate) fn recovered(&mut self, state: State, next_slot: u32) {
        self.state = state;
        self.catalog_version_max = state.catalog_version;
        self.next_slot = next_slot;
    }

    /// Takes a slot for a version of a page.
    pub(crate) fn take_slot(&mut self, pager: &Pager, page: PageId) -> u32 {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.next_slot += 1;
            self.next_slot - 1
        });
        pager.blocks.versions.begin(slot, page);
        slot
    }

    /// Releases the slot of a version that was never committed.
    pub(crate) fn drop_private(&mut self, pager: &Pager, slot: u32) {
        if pager.pool.discard(BlockId::version(slot)) {
            self.free_slots.push(slot);
        } else {
            self.retired.push_back((0, slot));
        }
    }

    /// Makes a version its page's newest; its image is in the log before `end`.
    pub(crate) fn publish(&mut self, pager: &Pager, page: PageId, slot: u32, end: Lsn) {
        let older = pager.blocks.versions.publish(page, slot);
        self.logged.insert(page);
        self.superseded.push_back(Superseded { end, page, slot: older, by: slot });
    }

    /// Releases versions that no reader can need any more.
    ///
    /// A version is needed by snapshots from before the commit that replaced it. The queue is in
    /// commit order, so a page's oldest version always comes first, and cutting it off its
    /// successor leaves a valid chain.
    pub(crate) fn collect(&mut self, pager: &Pager) {
        if !self.superseded.is_empty() {
            let horizon = pager.snapshots.horizon();
            while let Some(old) = self.superseded.front().copied() {
                if old.end > horizon {
                    break;
                }
                self.superseded.pop_front();
                self.drop_superseded(pager, old);
            }
        }
        while let Some(&(number, slot)) = self.retired.front() {
            if !pager.snapshots.have_ended_before(number)
                || !pager.pool.discard(BlockId::version(slot))
            {
                break;
            }
            self.retired.pop_front();
            self.free_slots.push(slot);
        }
    }

    fn drop_superseded(&mut self, pager: &Pager, old: Superseded) {
        if old.slot == NO_SLOT {
            // Free its frame for other pages; the data file still has it.
            pager.pool.let_go(BlockId::page(old.page));
        } else {
            pager.blocks.versions.cut_older(old.by);
            self.drop_private(pager, old.slot);
        }
    }

    /// Releases all versions, because the data file has all pages now.
    ///
    /// A snapshot as of the checkpoint may just have found a slot and not yet its bytes. Such a
    /// slot leads to the data file, whose page is the same, and is reused only after that snapshot
    /// has ended. The snapshot may have begun during this call, so snapshots are counted at the
    /// end.
    pub(crate) fn retire_all(&mut self, pager: &Pager) {
        for old in std::mem::take(&mut self.superseded) {
            if old.slot != NO_SLOT {
                self.drop_private(pager, old.slot);
            }
        }
        let mut retired = Vec::with_capacity(self.logged.len());
        for page in std::mem::take(&mut self.logged) {
            pager.pool.detach(BlockId::page(page));
            let slot = pager.blocks.versions.move_to_data_file(page);
            if slot != NO_SLOT {
                pager.pool.rename(BlockId::version(slot), BlockId::page(page));
                retired.push(slot);
            }
        }
        let number = pager.snapshots.next_number();
        self.retired.extend(retired.into_iter().map(|slot| (number, slot)));
    }
}
