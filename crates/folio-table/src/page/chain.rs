//! Overflow pages: hold a value that is too long for its leaf, in pieces.
//!
//! Each page holds up to a page's worth of bytes. The header has their count, and the link is the
//! next page, or 0.

use super::{HEADER_SIZE, PageKind, count, initialise, put_u16, set_link};
use crate::ids::{PageId, TreeId};

/// Bytes of a value that one page holds.
pub(crate) fn piece_size_max(page_size: usize) -> usize {
    page_size - HEADER_SIZE
}

/// Writes one piece into a page.
pub(crate) fn write_piece(page: &mut [u8], id: PageId, tree: TreeId, piece: &[u8], next: PageId) {
    initialise(page, id, PageKind::Overflow, 0, tree);
    put_u16(page, 22, u16::try_from(piece.len()).expect("a piece is shorter than a page"));
    set_link(page, next);
    page[HEADER_SIZE..HEADER_SIZE + piece.len()].copy_from_slice(piece);
}

/// The piece a page holds.
pub(crate) fn piece(page: &[u8]) -> &[u8] {
    &page[HEADER_SIZE..HEADER_SIZE + count(page)]
}

pub(super) fn check_layout(page: &[u8]) -> Result<(), String> {
    if count(page) > piece_size_max(page.len()) {
        return Err(format!("{} bytes of overflow are more than a page", count(page)));
    }
    Ok(())
}
