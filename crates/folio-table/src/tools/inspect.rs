//! Shows one page of the data file, as it is on the device.
//!
//! Nothing is opened, so even a page of a store that cannot be opened is shown. A newer version of
//! the page in the log is ignored.

use std::fmt;
use std::path::Path;

use folio_file::FileSystem;

use super::damaged_files;
use crate::data_header::page_offset;
use crate::error::Result;
use crate::ids::{Lsn, PageId, TreeId};
use crate::page::node::Node;
use crate::page::{self, PageKind, chain, free_list};

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageInspection {
    /// Its number.
    pub page: PageId,
    /// Its offset in the data file, in bytes.
    pub offset: u64,
    /// `leaf`, `inner node`, `overflow`, `free list` or `unknown`.
    pub kind: &'static str,
    /// The tree it belongs to, 0 for none.
    pub tree: TreeId,
    /// Its level, 0 for a leaf.
    pub level: u8,
    /// The log record that wrote it.
    pub lsn: Lsn,
    /// Cells, bytes of overflow, or free pages.
    pub count: usize,
    /// The first child, the next page, or 0.
    pub link: PageId,
    /// Bytes in use, without the header.
    pub used_size: usize,
    /// What is wrong with it, if anything.
    pub problem: Option<String>,
    /// Of nodes: the keys with the sizes of their values, or their children. Empty for a page with
    /// a problem.
    pub cells: Vec<(Vec<u8>, CellContent)>,
    /// The page's bytes.
    pub bytes: Vec<u8>,
}

/// What follows a key in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellContent {
    /// A value of this many bytes.
    Value(usize),
    /// The child with the keys from this one on.
    Child(PageId),
}

/// Reads one page of the data file in a directory.
///
/// # Errors
/// [`Error::InvalidInput`](crate::Error::InvalidInput) when there is no such page;
/// [`Error::Corrupted`](crate::Error::Corrupted) when neither file has a valid header; errors of
/// the operating system.
pub fn inspect(files: &dyn FileSystem, directory: &Path, page: PageId) -> Result<PageInspection> {
    let damaged_files::Identity { page_size, database } =
        damaged_files::identify(files, directory)?;
    let bytes = damaged_files::raw_page(files, directory, page, page_size)?;
    let problem = page::verify(&bytes, page, database).err();
    let kind = match (PageKind::of(&bytes), page::level(&bytes)) {
        (Some(PageKind::Node), 0) => "leaf",
        (Some(PageKind::Node), _) => "inner node",
        (Some(PageKind::Overflow), _) => "overflow",
        (Some(PageKind::FreeList), _) => "free list",
        (None, _) => "unknown",
    };
    let is_sound = page::check_layout(&bytes).is_ok();
    let (used_size, cells) = if is_sound { content(&bytes) } else { (0, Vec::new()) };
    Ok(PageInspection {
        page,
        offset: page_offset(page, page_size),
        kind,
        tree: page::tree(&bytes),
        level: page::level(&bytes),
        lsn: page::lsn(&bytes),
        count: page::count(&bytes),
        link: page::link(&bytes),
        used_size,
        problem,
        cells,
        bytes,
    })
}

/// The bytes in use, and the cells of a node. The layout must have been checked.
fn content(bytes: &[u8]) -> (usize, Vec<(Vec<u8>, CellContent)>) {
    match PageKind::of(bytes) {
        Some(PageKind::Node) => {
            let node = Node::new(bytes);
            let cell = |index: usize| {
                let content = if node.is_leaf() {
                    CellContent::Value(node.value(index).len())
                } else {
                    CellContent::Child(node.child(index + 1))
                };
                (node.key(index).to_vec(), content)
            };
            (node.used_size(), (0..node.len()).map(cell).collect())
        }
        Some(PageKind::Overflow) => (chain::piece(bytes).len(), Vec::new()),
        Some(PageKind::FreeList) => (4 * free_list::entries(bytes).count(), Vec::new()),
        None => (0, Vec::new()),
    }
}

impl fmt::Display for PageInspection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "page        {} at byte {}, {} bytes",
            self.page,
            self.offset,
            self.bytes.len()
        )?;
        writeln!(out, "kind        {}, level {}", self.kind, self.level)?;
        writeln!(out, "tree        {}", self.tree)?;
        writeln!(out, "log record  {}", self.lsn)?;
        writeln!(out, "count       {}, {} bytes in use", self.count, self.used_size)?;
        writeln!(out, "link        {}", self.link)?;
        writeln!(out, "verdict     {}", self.problem.as_deref().unwrap_or("sound"))?;
        for (index, (key, content)) in self.cells.iter().enumerate() {
            write!(out, "cell {index:<6} ")?;
            key.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
            match content {
                CellContent::Value(size) => writeln!(out, "  {size} bytes")?,
                CellContent::Child(child) => writeln!(out, "  child {child}")?,
            }
        }
        Ok(())
    }
}
