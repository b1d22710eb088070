//! One file of an index on fields: the sorted keys of a range of lines.
//!
//! ```text
//! page 0    header
//! pages     leaves: entries in order of key, then of place
//! pages     levels of separators, the root last
//! ```
//!
//! A page has the number of its entries, the offset of each, then the entries. An entry is the size
//! of its key, the key, and the entry of the id index; on a level above, the number of a page. All
//! keys of a page are at or after its separator, and all keys of pages before it are at or before
//! it.

use std::fmt;
use std::io;
use std::path::Path;

use folio_file::{FileSystem, Map, OpenMode};
use thiserror::Error;

use super::range::KeyRange;
use crate::frame::{self, Header as _};
use crate::index::{CheckedPages, Entry, IndexFault, PAGE_SIZE, PAYLOAD_SIZE};

/// A stored key, whether it is cut, and its entry.
pub(crate) type Keyed<'k> = (&'k [u8], bool, Entry);

/// Longer keys are cut.
pub(crate) const KEY_SIZE_MAX: usize = 512;

/// In the size of a key: the key is cut.
pub(super) const CUT: u16 = 1 << 15;

/// More levels than any file has.
const LEVELS_MAX: usize = 32;

/// Why a lookup in an index on fields failed.
#[derive(Debug, Error)]
pub(crate) enum FieldFault {
    /// The file is not what was written. It is removed, and the index built again.
    #[error("{file} is damaged")]
    File { file: String, inode: u64 },
    #[error(transparent)]
    Index(#[from] IndexFault),
    /// Whoever waits for a build has stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl From<io::Error> for FieldFault {
    fn from(error: io::Error) -> Self {
        Self::Index(error.into())
    }
}

/// What a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    /// That of the definition.
    pub(crate) fingerprint: u64,
    /// The lines that start in `start..end` have entries.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Lines that were dead in the data up to here are left out.
    pub(crate) horizon: u64,
    /// The stamp of the data up to `horizon`: the sum of the sums of its whole blocks, and the sum
    /// of the bytes after them.
    pub(crate) stamp: (u64, u64),
    pub(crate) entry_count: u64,
    pub(crate) leaf_count: u64,
    /// The page of the root; 0 without entries.
    pub(crate) root: u64,
    pub(crate) page_count: u64,
}

impl frame::Header<10> for Header {
    const MAGIC: &'static [u8; 8] = b"FOLIOFLD";
    const VERSION: u64 = 1;

    fn words(&mut self) -> [&mut u64; 10] {
        [
            &mut self.fingerprint,
            &mut self.start,
            &mut self.end,
            &mut self.horizon,
            &mut self.stamp.0,
            &mut self.stamp.1,
            &mut self.entry_count,
            &mut self.leaf_count,
            &mut self.root,
            &mut self.page_count,
        ]
    }
}

/// The name under `meta/` of a file of an index.
pub(crate) fn file_name(index: &str, number: u64) -> String {
    format!("folio.field-{index}-{number}.idx")
}

/// Whether a name under `meta/` belongs to any index on fields.
pub(crate) fn is_field_file(name: &str) -> bool {
    name.starts_with("folio.field-") && (name.ends_with(".idx") || name.ends_with(".idx.new"))
}

/// The number of a file of this index; `None` for other names.
pub(crate) fn file_number(index: &str, name: &str) -> Option<u64> {
    let (of, number) = name.strip_prefix("folio.field-")?.strip_suffix(".idx")?.rsplit_once('-')?;
    (of == index).then(|| number.parse().ok()).flatten()
}

/// An open file.
pub(crate) struct FieldFile {
    pub(crate) name: String,
    /// Tells files of one name apart.
    pub(crate) inode: u64,
    pub(crate) header: Header,
    pages: CheckedPages,
}

/// The place of an entry: a page of leaves and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) page: u64,
    pub(crate) slot: usize,
}

impl FieldFile {
    /// Opens a file; `None` if it is not one or is damaged.
    pub(crate) fn open(
        files: &dyn FileSystem,
        meta: &Path,
        name: String,
    ) -> io::Result<Option<Self>> {
        let file = files.open(&meta.join(&name), OpenMode::Read)?;
        let stat = file.stat_at_open()?;
        if stat.size < PAGE_SIZE as u64 {
            return Ok(None);
        }
        let opened = Self::from_map(file.map()?, name, stat.inode);
        if opened.is_none() {
            file.forget(0, stat.size);
        }
        Ok(opened)
    }

    pub(super) fn from_map(map: Map, name: String, inode: u64) -> Option<Self> {
        let header = Header::from_bytes(&map)?;
        let is_whole = header.page_count.checked_mul(PAGE_SIZE as u64) == Some(map.len() as u64)
            && header.leaf_count < header.page_count
            && header.root < header.page_count
            && header.start <= header.end
            && header.end <= header.horizon
            && (header.leaf_count == 0) == (header.root == 0);
        is_whole.then(|| Self { name, inode, header, pages: CheckedPages::new(map) })
    }

    pub(crate) fn size(&self) -> u64 {
        self.pages.bytes().len() as u64
    }

    pub(super) fn fault(&self) -> FieldFault {
        FieldFault::File { file: self.name.clone(), inode: self.inode }
    }

    /// Checks all pages.
    pub(crate) fn check_all(&self) -> Result<(), FieldFault> {
        match (1..self.pages.page_count()).all(|page| self.pages.is_intact(page)) {
            true => Ok(()),
            false => Err(self.fault()),
        }
    }

    /// Checks the leaves that a scan of a range reads.
    pub(crate) fn check_range(&self, range: &KeyRange) -> Result<(), FieldFault> {
        let first = self.seek(cut(&range.from))?.page;
        let last = match range.to.as_ref().filter(|to| to.len() <= KEY_SIZE_MAX) {
            Some(to) => self.seek(to)?.page,
            None => self.header.leaf_count,
        };
        match (first..=last.min(self.header.leaf_count)).all(|page| self.pages.is_intact(page)) {
            true => Ok(()),
            false => Err(self.fault()),
        }
    }

    /// About how many keys are in a range: exact within a page, otherwise as if all pages had as
    /// many.
    pub(super) fn key_count(&self, range: &KeyRange) -> Result<u64, FieldFault> {
        let first = self.seek(cut(&range.from))?;
        let last = match &range.to {
            Some(to) => self.seek(cut(to))?,
            None => Position { page: self.header.leaf_count + 1, slot: 0 },
        };
        if first.page == last.page {
            return Ok(last.slot.saturating_sub(first.slot) as u64);
        }
        let per_page = self.header.entry_count / self.header.leaf_count.max(1);
        let pages = last.page.saturating_sub(first.page);
        Ok((per_page * pages + last.slot as u64).saturating_sub(first.slot as u64))
    }

    /// The first entry whose key is this or after it; after the last page if there is none.
    pub(super) fn seek(&self, key: &[u8]) -> Result<Position, FieldFault> {
        let end = Position { page: self.header.leaf_count + 1, slot: 0 };
        if self.header.root == 0 {
            return Ok(end);
        }
        let mut page = self.header.root;
        for _ in 0..LEVELS_MAX {
            let node = self.node(page)?;
            if page <= self.header.leaf_count {
                let slot = node.partition_point(|own| own < key).ok_or_else(|| self.fault())?;
                return Ok(match slot < node.count {
                    true => Position { page, slot },
                    false if page < self.header.leaf_count => Position { page: page + 1, slot: 0 },
                    false => end,
                });
            }
            let after = node.partition_point(|own| own < key).ok_or_else(|| self.fault())?;
            let (_, child) = node.entry(after.saturating_sub(1)).ok_or_else(|| self.fault())?;
            let child = child.get(..8).ok_or_else(|| self.fault())?;
            let child = u64::from_le_bytes(child.try_into().expect("eight bytes"));
            if child == 0 || child >= page {
                return Err(self.fault());
            }
            page = child;
        }
        Err(self.fault())
    }

    /// The entry at a position, and whether its key is cut; `None` after the last.
    pub(super) fn entry(&self, position: Position) -> Result<Option<Keyed<'_>>, FieldFault> {
        if position.page == 0 || position.page > self.header.leaf_count {
            return Ok(None);
        }
        let node = self.node(position.page)?;
        node.keyed(position.slot).map(Some).ok_or_else(|| self.fault())
    }

    /// Goes to the next entry of a page, or to the first of the next page.
    pub(super) fn advance(&self, position: &mut Position) -> Result<Option<Keyed<'_>>, FieldFault> {
        let node = self.node(position.page)?;
        position.slot += 1;
        if position.slot < node.count {
            return node.keyed(position.slot).map(Some).ok_or_else(|| self.fault());
        }
        *position = Position { page: position.page + 1, slot: 0 };
        self.entry(*position)
    }

    /// The position before this one; page 0 before the first.
    pub(super) fn before(&self, position: Position) -> Result<Position, FieldFault> {
        if position.slot > 0 {
            return Ok(Position { slot: position.slot - 1, ..position });
        }
        let page = position.page - 1;
        let slot = if page == 0 { 0 } else { self.node(page)?.count.saturating_sub(1) };
        Ok(Position { page, slot })
    }

    fn node(&self, page: u64) -> Result<Node<'_>, FieldFault> {
        if page == 0 || page >= self.pages.page_count() || !self.pages.is_intact(page) {
            return Err(self.fault());
        }
        let at = page as usize * PAGE_SIZE;
        let bytes = &self.pages.bytes()[at..at + PAYLOAD_SIZE];
        let count = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        if 2 + 2 * count > bytes.len() || count == 0 {
            return Err(self.fault());
        }
        Ok(Node { bytes, count })
    }
}

/// A key as far as it is stored.
fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_SIZE_MAX)]
}

/// A page of entries.
struct Node<'p> {
    bytes: &'p [u8],
    count: usize,
}

impl<'p> Node<'p> {
    /// The key of an entry, and the bytes from after it.
    #[inline]
    fn entry(&self, slot: usize) -> Option<(&'p [u8], &'p [u8])> {
        let (size, rest) = self.sized(slot)?;
        rest.split_at_checked(usize::from(size & !CUT))
    }

    /// An entry of a leaf.
    #[inline]
    fn keyed(&self, slot: usize) -> Option<Keyed<'p>> {
        let (size, rest) = self.sized(slot)?;
        let (key, rest) = rest.split_at_checked(usize::from(size & !CUT))?;
        Some((key, size & CUT != 0, Entry::from_bytes(rest.first_chunk()?)))
    }

    /// The size of a key as it is stored, and the bytes from its begin.
    #[inline]
    fn sized(&self, slot: usize) -> Option<(u16, &'p [u8])> {
        let at = usize::from(self.half(2 + 2 * slot)?);
        Some((self.half(at)?, self.bytes.get(at + 2..)?))
    }

    #[inline]
    fn half(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes.get(at..at + 2)?.try_into().ok()?))
    }

    /// The number of entries at the front whose keys satisfy a condition.
    #[inline]
    fn partition_point(&self, is_in: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_in(self.entry(middle)?.0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

impl fmt::Debug for FieldFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "FieldFile({:?}, {:?})", self.name, self.header)
    }
}
