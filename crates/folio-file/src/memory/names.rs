//! Directories: which names exist, and which of them are durable.
//!
//! A change of names is visible at once, and durable when a directory of the change is synced.
//! Changes that are not yet durable wait in a journal, in their order. Syncing a file does not make
//! its name durable.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::node::Times;

/// The number of a file or directory.
pub(super) type Inode = u64;

/// A directory.
#[derive(Debug, Clone)]
pub(super) struct DirectoryNode {
    pub(super) names: Arc<BTreeMap<String, Inode>>,
    pub(super) durable_names: Arc<BTreeMap<String, Inode>>,
    pub(super) times: Times,
}

impl DirectoryNode {
    pub(super) fn new(times: Times) -> Self {
        Self { names: Arc::default(), durable_names: Arc::default(), times }
    }
}

/// One name in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: Inode,
    pub(super) name: String,
}

/// One change of names: `inode` leaves one place, arrives at one, or both.
#[derive(Debug, Clone)]
pub(super) struct NameChange {
    pub(super) inode: Inode,
    pub(super) from: Option<Place>,
    pub(super) to: Option<Place>,
    /// A later change is durable, so on a file system that journals in order this one is too.
    pub(super) durable_in_order: bool,
}

impl NameChange {
    pub(super) fn creation(inode: Inode, to: Place) -> Self {
        Self { inode, from: None, to: Some(to), durable_in_order: false }
    }

    pub(super) fn removal(inode: Inode, from: Place) -> Self {
        Self { inode, from: Some(from), to: None, durable_in_order: false }
    }

    pub(super) fn renaming(inode: Inode, from: Place, to: Place) -> Self {
        Self { inode, from: Some(from), to: Some(to), durable_in_order: false }
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.from.iter().chain(&self.to)
    }

    /// Every node in the change.
    pub(super) fn inodes(&self) -> impl Iterator<Item = Inode> {
        self.places().map(|place| place.directory).chain([self.inode])
    }

    /// Applies the change to the maps that `names_of` returns for a directory.
    pub(super) fn apply(&self, mut names_of: impl FnMut(Inode, NameEdit<'_>)) {
        if let Some(from) = &self.from {
            names_of(from.directory, NameEdit::Remove(&from.name, self.inode));
        }
        if let Some(to) = &self.to {
            names_of(to.directory, NameEdit::Insert(&to.name, self.inode));
        }
    }
}

/// A change in a single directory.
#[derive(Debug, Clone, Copy)]
pub(super) enum NameEdit<'a> {
    Insert(&'a str, Inode),
    Remove(&'a str, Inode),
}

impl NameEdit<'_> {
    pub(super) fn apply(self, names: &mut Arc<BTreeMap<String, Inode>>) {
        match self {
            Self::Insert(name, inode) => {
                Arc::make_mut(names).insert(name.to_owned(), inode);
            }
            Self::Remove(name, inode) => {
                let removed = Arc::make_mut(names).remove(name);
                assert_eq!(removed, Some(inode), "a file leaves {name:?} only if it stands there");
            }
        }
    }
}

/// The name changes that no sync has made durable yet, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal(Arc<Vec<NameChange>>);

impl Journal {
    pub(super) fn push(&mut self, change: NameChange) {
        Arc::make_mut(&mut self.0).push(change);
    }

    pub(super) fn changes(&self) -> &[NameChange] {
        &self.0
    }

    /// Removes and returns, in order, what a sync of one directory makes durable: the changes in
    /// it, and earlier ones that they depend on.
    pub(super) fn sync(&mut self, directory: Inode) -> Vec<NameChange> {
        let mut directories = HashSet::from([directory]);
        let mut is_synced = vec![false; self.0.len()];
        for (change, synced) in self.0.iter().zip(&mut is_synced).rev() {
            // Two moves of one file share the directory it was in between them.
            if change.places().any(|place| directories.contains(&place.directory)) {
                *synced = true;
                directories.extend(change.places().map(|place| place.directory));
            }
        }
        let last_synced = is_synced.iter().rposition(|&synced| synced);
        let mut durable = Vec::new();
        let mut waiting = Vec::new();
        for (index, (change, synced)) in self.0.iter().zip(is_synced).enumerate() {
            let mut change = change.clone();
            if synced {
                durable.push(change);
            } else {
                change.durable_in_order |= last_synced.is_some_and(|last| index < last);
                waiting.push(change);
            }
        }
        self.0 = Arc::new(waiting);
        durable
    }

    pub(super) fn clear(&mut self) {
        self.0 = Arc::default();
    }
}
