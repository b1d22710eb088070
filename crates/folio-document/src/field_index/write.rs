//! Writes a file of an index on fields in one pass, from its first leaf to its root.

use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem};

use super::file::{CUT, FieldFault, FieldFile, Header};
use crate::frame::Header as _;
use crate::index::{Entry, PAGE_SIZE, PAYLOAD_SIZE, PageWriter};
use crate::whole_file::create_derived;

/// Finished pages are written in pieces of about this size.
const WRITE_SIZE: usize = 256 << 10;

/// Writes entries, which ascend by key and place, as a new file, and opens it. The header's counts
/// are filled in. The file appears under its name when it is complete.
pub(crate) fn write_file(
    files: &dyn FileSystem,
    meta: &Path,
    name: String,
    header: Header,
    fill: impl FnOnce(&mut FileWriter) -> Result<(), FieldFault>,
) -> Result<FieldFile, FieldFault> {
    let staged = meta.join(format!("{name}.new"));
    let file = create_derived(files, &staged)?;
    let mut writer = FileWriter::new(Arc::clone(&file));
    let written = fill(&mut writer).and_then(|()| Ok(writer.finish(header)?)).and_then(|()| {
        files.rename(&staged, &meta.join(&name))?;
        let inode = file.stat()?.inode;
        let fault = FieldFault::File { file: name.clone(), inode };
        FieldFile::from_map(file.map()?, name, inode).ok_or(fault)
    });
    if written.is_err() {
        let _ = files.remove_file(&staged);
    }
    written
}

/// A file on its way.
pub(crate) struct FileWriter {
    file: Arc<dyn File>,
    pages: PageWriter,
    written: u64,
    page_count: u64,
    leaf: NodeWriter,
    entry_count: u64,
    /// The last key that was added.
    last: Vec<u8>,
    /// Separator and number of each finished leaf.
    separators: Vec<(Vec<u8>, u64)>,
}

impl FileWriter {
    fn new(file: Arc<dyn File>) -> Self {
        Self {
            file,
            pages: PageWriter::new(1, WRITE_SIZE),
            written: PAGE_SIZE as u64,
            page_count: 1,
            leaf: NodeWriter::default(),
            entry_count: 0,
            last: Vec::new(),
            separators: Vec::new(),
        }
    }

    /// Adds the next entry.
    pub(crate) fn push(&mut self, key: &[u8], is_cut: bool, entry: Entry) -> io::Result<()> {
        let bytes = entry.to_bytes();
        if !self.leaf.has_room(key.len() + bytes.len()) {
            self.finish_leaf()?;
        }
        if self.leaf.is_empty() {
            let separator = separator(&self.last, key).to_vec();
            self.separators.push((separator, self.page_count));
        }
        self.leaf.push(key, is_cut, &bytes);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.entry_count += 1;
        Ok(())
    }

    fn finish_leaf(&mut self) -> io::Result<()> {
        self.leaf.finish(&mut self.pages);
        self.page_count += 1;
        self.drain(WRITE_SIZE)
    }

    fn drain(&mut self, enough: usize) -> io::Result<()> {
        if self.pages.finished < enough {
            return Ok(());
        }
        self.file.write_at(&self.pages.bytes[..self.pages.finished], self.written)?;
        self.written += self.pages.finished as u64;
        self.pages.bytes.drain(..self.pages.finished);
        self.pages.finished = 0;
        Ok(())
    }

    fn finish(mut self, header: Header) -> io::Result<()> {
        if !self.leaf.is_empty() {
            self.finish_leaf()?;
        }
        let leaf_count = self.page_count - 1;
        let mut level = std::mem::take(&mut self.separators);
        while level.len() > 1 {
            level = self.write_level(&level)?;
        }
        let root = level.first().map_or(0, |(_, page)| *page);
        self.drain(1)?;
        let header = Header {
            entry_count: self.entry_count,
            leaf_count,
            root,
            page_count: self.page_count,
            ..header
        };
        let mut page = header.to_bytes();
        page.resize(PAGE_SIZE, 0);
        self.file.write_at(&page, 0)
    }

    /// Writes the pages above these pages. Returns their separators.
    fn write_level(&mut self, below: &[(Vec<u8>, u64)]) -> io::Result<Vec<(Vec<u8>, u64)>> {
        let mut level = Vec::new();
        let mut node = NodeWriter::default();
        for (separator, page) in below {
            if !node.has_room(separator.len() + 8) {
                node.finish(&mut self.pages);
                self.page_count += 1;
                self.drain(WRITE_SIZE)?;
            }
            if node.is_empty() {
                level.push((separator.clone(), self.page_count));
            }
            node.push(separator, false, &page.to_le_bytes());
        }
        node.finish(&mut self.pages);
        self.page_count += 1;
        Ok(level)
    }
}

/// The shortest key that is not before `last` and not after `first`, the key that follows it.
fn separator<'k>(last: &[u8], first: &'k [u8]) -> &'k [u8] {
    let same = last.iter().zip(first).take_while(|(one, other)| one == other).count();
    &first[..(same + 1).min(first.len())]
}

/// A page on its way.
#[derive(Default)]
struct NodeWriter {
    slots: Vec<u16>,
    entries: Vec<u8>,
}

impl NodeWriter {
    fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn has_room(&self, size: usize) -> bool {
        2 + 2 * (self.slots.len() + 1) + self.entries.len() + 2 + size <= PAYLOAD_SIZE
    }

    fn push(&mut self, key: &[u8], is_cut: bool, value: &[u8]) {
        self.slots.push(self.entries.len() as u16);
        let size = key.len() as u16 | if is_cut { CUT } else { 0 };
        self.entries.extend_from_slice(&size.to_le_bytes());
        self.entries.extend_from_slice(key);
        self.entries.extend_from_slice(value);
    }

    fn finish(&mut self, pages: &mut PageWriter) {
        let start = 2 + 2 * self.slots.len() as u16;
        let mut page = Vec::with_capacity(PAYLOAD_SIZE);
        page.extend_from_slice(&(self.slots.len() as u16).to_le_bytes());
        self.slots.iter().for_each(|at| page.extend_from_slice(&(start + at).to_le_bytes()));
        page.extend_from_slice(&self.entries);
        pages.push_page(&page);
        self.slots.clear();
        self.entries.clear();
    }
}
