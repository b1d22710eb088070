//! The common part of all pages.
//!
//! ```text
//!  0  checksum      u64  XXH3 of the rest, seeded with the database's number
//!  8  lsn           u64  the log record that wrote this version
//! 16  page          u32  its own number
//! 20  kind          u8   1 node, 2 overflow, 3 free list
//! 21  level         u8   nodes: 0 for a leaf
//! 22  count         u16  nodes: slots; overflow: bytes used; free list: pages
//! 24  tree          u32  nodes and overflow: the tree it belongs to
//! 28  cell start    u32  nodes: the lowest byte used by cells
//! 32  dead size     u16  nodes: bytes of cells that were removed
//! 34  prefix size   u8   nodes: bytes that all keys begin with, at the page's end
//! 35  key size      u8   nodes: of the keys after the prefix, see `prefix_header`
//! 36  link          u32  inner nodes: first child; overflow, free list: next page
//! 40  …                  what the kind says
//! ```
//!
//! Numbers are little endian. The checksum is computed when a page is written to the data file and
//! verified when it is read; in the log the record has a checksum. It covers the page's number and
//! is seeded with the database's number, so it detects a page written to the wrong place or the
//! wrong file as well as a torn one.

pub(crate) mod chain;
pub(crate) mod free_list;
pub(crate) mod key;
pub(crate) mod node;
mod prefix_header;
mod slot;

pub(crate) use prefix_header::common_size;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::ids::{Lsn, PageId, TreeId};

/// Bytes before the part that depends on the kind.
pub(crate) const HEADER_SIZE: usize = 40;

/// The sizes a page may have.
pub const PAGE_SIZES: [usize; 5] = [4096, 8192, 16_384, 32_768, 65_536];

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Node,
    Overflow,
    FreeList,
}

impl PageKind {
    pub(crate) fn of(page: &[u8]) -> Option<Self> {
        match page[20] {
            1 => Some(Self::Node),
            2 => Some(Self::Overflow),
            3 => Some(Self::FreeList),
            _ => None,
        }
    }
}

#[inline]
pub(crate) fn get_u16(page: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(get(page, offset))
}

#[inline]
pub(crate) fn get_u32(page: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(get(page, offset))
}

#[inline]
pub(crate) fn get_u64(page: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(get(page, offset))
}

#[inline]
pub(crate) fn put_u16(page: &mut [u8], offset: usize, value: u16) {
    put(page, offset, value.to_le_bytes());
}

#[inline]
pub(crate) fn put_u32(page: &mut [u8], offset: usize, value: u32) {
    put(page, offset, value.to_le_bytes());
}

#[inline]
pub(crate) fn put_u64(page: &mut [u8], offset: usize, value: u64) {
    put(page, offset, value.to_le_bytes());
}

#[inline]
fn get<const N: usize>(page: &[u8], offset: usize) -> [u8; N] {
    *page[offset..].first_chunk().expect("the field is within the page")
}

/// Sets a few bytes. Copying a slice would be a call for each.
#[inline]
pub(crate) fn put<const N: usize>(page: &mut [u8], offset: usize, bytes: [u8; N]) {
    *page[offset..].first_chunk_mut().expect("the field is within the page") = bytes;
}

/// Initialises a page, whatever its old content.
pub(crate) fn initialise(page: &mut [u8], id: PageId, kind: PageKind, level: u8, tree: TreeId) {
    page.fill(0);
    put_u32(page, 16, id.0);
    page[20] = match kind {
        PageKind::Node => 1,
        PageKind::Overflow => 2,
        PageKind::FreeList => 3,
    };
    page[21] = level;
    put_u32(page, 24, tree.0);
    put_u32(page, 28, u32::try_from(page.len()).expect("pages are at most 64 KiB"));
}

pub(crate) fn page_id(page: &[u8]) -> PageId {
    PageId(get_u32(page, 16))
}

pub(crate) fn lsn(page: &[u8]) -> Lsn {
    Lsn(get_u64(page, 8))
}

pub(crate) fn set_lsn(page: &mut [u8], lsn: Lsn) {
    put_u64(page, 8, lsn.0);
}

pub(crate) fn level(page: &[u8]) -> u8 {
    page[21]
}

pub(crate) fn count(page: &[u8]) -> usize {
    usize::from(get_u16(page, 22))
}

pub(crate) fn tree(page: &[u8]) -> TreeId {
    TreeId(get_u32(page, 24))
}

pub(crate) fn link(page: &[u8]) -> PageId {
    PageId(get_u32(page, 36))
}

pub(crate) fn set_link(page: &mut [u8], link: PageId) {
    put_u32(page, 36, link.0);
}

/// The bytes of a node not used by a slot or cell, which need not be logged.
pub(crate) fn hole(page: &[u8]) -> std::ops::Range<usize> {
    if PageKind::of(page) != Some(PageKind::Node) {
        return 0..0;
    }
    let start = slot::range(page.len(), 0..count(page)).end;
    let end = get_u32(page, 28) as usize;
    if start <= end && end <= page.len() { start..end } else { 0..0 }
}

/// Writes the checksum of a page that goes to the data file.
pub(crate) fn seal(page: &mut [u8], database: u64) {
    let checksum = xxh3_64_with_seed(&page[8..], database);
    put_u64(page, 0, checksum);
}

/// Checks that the page is unchanged since it was sealed, and is the requested one.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn verify(page: &[u8], id: PageId, database: u64) -> Result<(), String> {
    let expected = xxh3_64_with_seed(&page[8..], database);
    let found = get_u64(page, 0);
    if found != expected {
        return Err(format!(
            "checksum {found:016x} of page {id} should be {expected:016x} for its content"
        ));
    }
    if page_id(page) != id {
        return Err(format!("page {} is in the place of page {id}", page_id(page)));
    }
    check_layout(page)
}

/// Checks that offsets and counts stay within the page, so that reading it is safe whatever its
/// bytes are.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn check_layout(page: &[u8]) -> Result<(), String> {
    match PageKind::of(page) {
        Some(PageKind::Node) => node::check_layout(page),
        Some(PageKind::Overflow) => chain::check_layout(page),
        Some(PageKind::FreeList) => free_list::check_layout(page),
        None => Err(format!("unknown page kind {}", page[20])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_shows() {
        let mut page = vec![0; 4096];
        initialise(&mut page, PageId(3), PageKind::Node, 0, TreeId(20));
        seal(&mut page, 77);
        assert_eq!(verify(&page, PageId(3), 77), Ok(()));
        assert!(verify(&page, PageId(4), 77).is_err(), "misplaced");
        assert!(verify(&page, PageId(3), 78).is_err(), "from another database");
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&page, PageId(3), 77).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut page: Vec<u8> = (0..4096)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            page[20] = 1 + (state >> 40) as u8 % 3;
            page[23] = 0;
            if check_layout(&page).is_ok() && PageKind::of(&page) == Some(PageKind::Node) {
                let node = node::Node::new(&page);
                for index in 0..node.len() {
                    let _ = (node.key(index).to_vec(), node.value_range(index));
                }
            }
        }
    }
}
