//! Guards that hold a page pinned until they are dropped.

use std::ops::{Deref, DerefMut};

use super::frame::{Owned, Pinned};

/// A page to read. A page may have any number of these guards, even in one thread.
#[derive(Debug)]
#[must_use = "the page is unpinned when the guard is dropped"]
pub struct PageGuard<'p> {
    pinned: Pinned<'p>,
}

impl<'p> PageGuard<'p> {
    #[inline]
    pub(super) fn new(pinned: Pinned<'p>) -> Self {
        Self { pinned }
    }
}

impl Deref for PageGuard<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.pinned.bytes()
    }
}

/// A page to change, exclusively held.
#[derive(Debug)]
#[must_use = "the page is let go of when the guard is dropped"]
pub struct PageGuardMut<'p> {
    owned: Owned<'p>,
}

impl<'p> PageGuardMut<'p> {
    pub(super) fn new(owned: Owned<'p>) -> Self {
        Self { owned }
    }

    /// Notes that the storage has these bytes now.
    pub(crate) fn mark_clean(&mut self) {
        self.owned.set_dirty(false);
    }
}

impl Deref for PageGuardMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.owned.bytes()
    }
}

impl DerefMut for PageGuardMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.owned.bytes_mut()
    }
}
