//! The content of a disk after a power failure.
//!
//! A [`CrashPlan`] decides, from a seed, which unsynced changes reached the disk. For content the
//! model is the page cache: each change dirties sectors of 512 bytes in memory. Later, in any
//! order, or never, the system writes a dirty sector in its current state. So a write can be lost,
//! durable, torn between sectors, or overtaken by a later one, but a sector is never half new. The
//! size is separate metadata. It may be newer than the data, which then reads as zeros, or older.
//!
//! Names survive as a prefix of the journal, as on common file systems, or as any subset in which
//! no file skips one of its own steps.

use std::collections::HashSet;

use super::content::Content;
use super::names::{Journal, NameChange};
use super::node::{Change, ChangeKind, FileNode, SECTOR_SIZE, Times};
use super::random::Random;

/// The effect of a power cut. The same plan on the same tree gives the same disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashPlan {
    /// Decides everything that the plan leaves open.
    pub seed: u64,
    /// What happens to unsynced content.
    pub data: DataLoss,
    /// What happens to unsynced names.
    pub names: NameLoss,
}

/// What happens to the content written since a file's last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataLoss {
    /// All of it reached the disk.
    Nothing,
    /// None of it did.
    Everything,
    /// The first changes did. The next one may be torn between sectors.
    Prefix,
    /// Any of the changes did, possibly later ones without earlier ones.
    Subset,
    /// Any of the sectors did, at any time since they were first written.
    Sectors,
    /// Each file draws one of the above.
    Mixed,
}

/// What happens to unsynced creations, renames and removals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLoss {
    /// All of them are durable.
    Nothing,
    /// None of them is.
    Everything,
    /// The first ones are: the file system journals names in order.
    Prefix,
    /// Any of them are, but for each file only a prefix of its changes.
    Subset,
    /// One of the above, drawn for the whole tree.
    Mixed,
}

impl CrashPlan {
    /// Decides everything by the seed. The plan for model tests.
    pub fn new(seed: u64) -> Self {
        Self { seed, data: DataLoss::Mixed, names: NameLoss::Mixed }
    }

    /// Only synced changes survive.
    pub fn lose_everything() -> Self {
        Self { seed: 0, data: DataLoss::Everything, names: NameLoss::Everything }
    }

    /// All changes survive, synced or not.
    pub fn lose_nothing() -> Self {
        Self { seed: 0, data: DataLoss::Nothing, names: NameLoss::Nothing }
    }
}

impl NameLoss {
    fn drawn(self, random: &mut Random) -> Self {
        match self {
            Self::Mixed => match random.below(6) {
                0 => Self::Nothing,
                1 => Self::Everything,
                2 | 3 => Self::Prefix,
                _ => Self::Subset,
            },
            chosen => chosen,
        }
    }
}

impl DataLoss {
    fn drawn(self, random: &mut Random) -> Self {
        match self {
            Self::Mixed => match random.below(8) {
                0 => Self::Nothing,
                1 => Self::Everything,
                2..=4 => Self::Prefix,
                5 => Self::Subset,
                _ => Self::Sectors,
            },
            chosen => chosen,
        }
    }
}

/// The content and times of a file after the crash.
pub(super) fn surviving_file(file: &FileNode, loss: DataLoss, random: &mut Random) -> FileNode {
    let content = surviving_content(file, loss, random);
    // Times are independent: they may be lost although the data survives.
    let times: Times = match loss {
        DataLoss::Nothing => file.times,
        DataLoss::Everything => file.durable_times,
        _ if random.coin() => file.times,
        _ => file.durable_times,
    };
    FileNode::durable(content, times)
}

/// The content of a file after the crash.
pub(super) fn surviving_content(file: &FileNode, loss: DataLoss, random: &mut Random) -> Content {
    let count = file.pending.len();
    let loss = loss.drawn(random);
    match loss {
        _ if count == 0 => file.durable.clone(),
        DataLoss::Everything => file.durable.clone(),
        DataLoss::Nothing if !file.diverged => file.cache.clone(),
        DataLoss::Nothing => written_back(file, count, |_| true),
        DataLoss::Prefix => {
            let torn = index_below(random, count + 1);
            let size_count = (torn + usize::from(random.coin())).min(count);
            written_back(file, size_count, |change| {
                change < torn || (change == torn && random.coin())
            })
        }
        DataLoss::Subset => {
            let kept: Vec<bool> = (0..count).map(|_| random.coin()).collect();
            let size_count = drawn_size_count(random, count);
            written_back(file, size_count, |change| kept[change])
        }
        DataLoss::Sectors | DataLoss::Mixed => {
            // Some crashes catch nearly all sectors, some hardly any.
            let chance = random.below(256);
            let size_count = drawn_size_count(random, count);
            written_back(file, size_count, |_| random.below(256) < chance)
        }
    }
}

/// For how many changes the size is durable: often for all.
fn drawn_size_count(random: &mut Random, count: usize) -> usize {
    if random.coin() { count } else { index_below(random, count + 1) }
}

fn index_below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("below a usize")
}

/// Replays the pending changes. After each change, `is_written(change index)` decides for every
/// sector that it dirtied whether the sector is written to the disk. The sizes set by the first
/// `size_count` changes also reach the disk.
fn written_back(
    file: &FileNode,
    size_count: usize,
    mut is_written: impl FnMut(usize) -> bool,
) -> Content {
    let mut cache = file.base.clone();
    let mut disk = file.durable.clone();
    let mut size = disk.size();
    for (index, change) in file.pending.iter().enumerate() {
        change.apply(&mut cache);
        if index < size_count {
            size = change.size_after;
            free_truncated(change, &mut disk);
        }
        for sector in change.sectors() {
            if is_written(index) {
                disk.copy_from(&cache, sector * SECTOR_SIZE, (sector + 1) * SECTOR_SIZE);
            }
        }
    }
    disk.resize(size);
    disk
}

/// A durable truncation frees the sectors after the new size.
fn free_truncated(change: &Change, disk: &mut Content) {
    if let ChangeKind::Truncate = change.kind
        && change.size_after < disk.size()
    {
        disk.resize(change.size_after);
    }
}

/// The name changes that survive, in order.
pub(super) fn surviving_names<'a>(
    journal: &'a Journal,
    loss: NameLoss,
    random: &mut Random,
) -> Vec<&'a NameChange> {
    let changes = journal.changes();
    match loss.drawn(random) {
        NameLoss::Nothing => changes.iter().collect(),
        NameLoss::Everything => Vec::new(),
        NameLoss::Prefix => {
            let certain = changes.iter().rposition(|change| change.durable_in_order);
            let certain = certain.map_or(0, |last| last + 1);
            let kept = certain + index_below(random, changes.len() - certain + 1);
            changes[..kept].iter().collect()
        }
        NameLoss::Subset | NameLoss::Mixed => {
            let mut ended = HashSet::new();
            let survives = |change: &&NameChange| {
                let kept = !ended.contains(&change.inode) && random.coin();
                if !kept {
                    ended.insert(change.inode);
                }
                kept
            };
            changes.iter().filter(survives).collect()
        }
    }
}
