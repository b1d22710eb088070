//! The free list: pages that hold the numbers of free pages.
//!
//! Each holds up to a page's worth of numbers (u32). The header has their count, and the link is
//! the next list page, or 0. A list page whose numbers are used up is itself the next free page.

use super::{HEADER_SIZE, PageKind, count, get_u32, initialise, put_u16, put_u32, set_link};
use crate::ids::{PageId, TreeId};

fn entries_max(page_size: usize) -> usize {
    (page_size - HEADER_SIZE) / 4
}

/// Initialises an empty list page.
pub(crate) fn start(page: &mut [u8], id: PageId, next: PageId) {
    initialise(page, id, PageKind::FreeList, 0, TreeId(0));
    set_link(page, next);
}

/// Adds a number; `false` when the page is full.
pub(crate) fn push(page: &mut [u8], free: PageId) -> bool {
    let len = count(page);
    if len == entries_max(page.len()) {
        return false;
    }
    put_u32(page, HEADER_SIZE + 4 * len, free.0);
    put_u16(page, 22, (len + 1) as u16);
    true
}

/// Removes the number added last.
pub(crate) fn pop(page: &mut [u8]) -> Option<PageId> {
    let last = count(page).checked_sub(1)?;
    let free = get_u32(page, HEADER_SIZE + 4 * last);
    put_u16(page, 22, last as u16);
    Some(PageId(free))
}

/// The numbers in a list page.
pub(crate) fn entries(page: &[u8]) -> impl Iterator<Item = PageId> + '_ {
    (0..count(page)).map(|index| PageId(get_u32(page, HEADER_SIZE + 4 * index)))
}

pub(super) fn check_layout(page: &[u8]) -> Result<(), String> {
    if count(page) > entries_max(page.len()) {
        return Err(format!("{} free pages are more than a list page holds", count(page)));
    }
    Ok(())
}
