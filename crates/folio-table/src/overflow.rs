//! Stores values that do not fit a leaf in a chain of overflow pages.
//!
//! The leaf then has 9 bytes: 255, the size (u32), and the first page (u32). The chain has the
//! value as it would be in the leaf.

use std::borrow::Cow;

use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::page::node::{cell_cost, cell_cost_max};
use crate::page::{self, PageKind, chain};
use crate::pager::Pages;

/// The first byte of a reference to a chain of overflow pages.
const CHAINED: u8 = 255;

const REFERENCE_SIZE: usize = 9;

/// Whether a value fits in the leaf itself.
pub(crate) fn fits_leaf(page_size: usize, key_size: usize, value: &[u8]) -> bool {
    cell_cost(key_size, value.len()) <= cell_cost_max(page_size)
}

/// The bytes to store in the leaf: the value, or a reference to a new chain with it.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn store<'v>(
    editor: &mut Editor<'_, '_>,
    tree: TreeId,
    key_size: usize,
    value: &'v [u8],
) -> Result<Cow<'v, [u8]>> {
    if fits_leaf(editor.pager.page_size, key_size, value) {
        return Ok(Cow::Borrowed(value));
    }
    // From the end, so that each page can refer to the next.
    let piece_size = chain::piece_size_max(editor.pager.page_size);
    let mut next = PageId::NONE;
    for piece in value.chunks(piece_size).rev() {
        let (id, mut guard) = editor.allocate(PageKind::Overflow, 0, tree)?;
        chain::write_piece(&mut guard, id, tree, piece, next);
        next = id;
    }
    let mut reference = vec![CHAINED];
    reference.extend_from_slice(&(value.len() as u32).to_le_bytes());
    reference.extend_from_slice(&next.0.to_le_bytes());
    Ok(Cow::Owned(reference))
}

/// Size and first page of a chain, if the value in the leaf refers to one.
fn reference(value: &[u8]) -> Option<(usize, PageId)> {
    let is_reference = value.first() == Some(&CHAINED) && value.len() == REFERENCE_SIZE;
    is_reference.then(|| (page::get_u32(value, 1) as usize, PageId(page::get_u32(value, 5))))
}

/// Whether the value in the leaf is a reference to a chain.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    reference(value).is_some()
}

/// Loads the value of a chain, if the leaf has a reference to one.
///
/// # Errors
/// [`Error::CorruptedPage`] when the chain does not match the reference.
pub(crate) fn load<'s>(
    pages: &impl Pages<'s>,
    tree: TreeId,
    value: &[u8],
) -> Result<Option<Vec<u8>>> {
    let Some((size, first)) = reference(value) else { return Ok(None) };
    let mut whole = Vec::new();
    visit(pages, tree, size, first, |_, piece| whole.extend_from_slice(piece))?;
    Ok(Some(whole))
}

/// The pages of a value's chain.
///
/// # Errors
/// As [`load`].
pub(crate) fn pages_of<'s>(
    pages: &impl Pages<'s>,
    tree: TreeId,
    value: &[u8],
) -> Result<Vec<PageId>> {
    let Some((size, first)) = reference(value) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    visit(pages, tree, size, first, |page, _| found.push(page))?;
    Ok(found)
}

/// Adds the pages of a value's chain, if it has one, to the free list.
///
/// # Errors
/// As [`load`].
pub(crate) fn release(editor: &mut Editor<'_, '_>, tree: TreeId, value: &[u8]) -> Result<()> {
    pages_of(editor, tree, value)?.into_iter().try_for_each(|page| editor.free(page))
}

fn visit<'s>(
    pages: &impl Pages<'s>,
    tree: TreeId,
    size: usize,
    first: PageId,
    mut see: impl FnMut(PageId, &[u8]),
) -> Result<()> {
    let mut left = size;
    let mut next = first;
    while left > 0 {
        if !next.is_some() || next.0 > pages.page_count() {
            return Err(Error::page(next, format!("a chain of {size} bytes points to it")));
        }
        let guard = pages.pin_for_scan(next)?;
        let fits = PageKind::of(&guard) == Some(PageKind::Overflow) && page::tree(&guard) == tree;
        let piece: &[u8] = if fits { chain::piece(&guard) } else { &[] };
        // Pieces are not empty, so the loop ends.
        if piece.is_empty() || piece.len() > left {
            return Err(Error::page(next, format!("it is not part of a chain of tree {}", tree)));
        }
        see(next, piece);
        left -= piece.len();
        next = page::link(&guard);
    }
    Ok(())
}
