//! The rows of one b-tree, in order.
//!
//! Tables have rows in leaves only; indexes, and tables without row numbers, on every level. No
//! page is read twice in one pass over a file: a page that is referenced twice is damage, and a
//! pass ends after at most as many pages as the file has.

use folio_types::ErrorCode;

use crate::bytes::be32;
use crate::error::{Error, Result};
use crate::page::{Cell, Page};
use crate::pages::Pages;

/// The maximum depth of a tree in an SQLite file.
const MAX_DEPTH: usize = 20;

/// The maximum size of a row in any build of SQLite.
const MAX_ROW_SIZE: usize = 0x7fff_ffff;

/// The pages read in a pass.
#[derive(Debug)]
pub struct Seen {
    bits: Vec<u64>,
}

impl Seen {
    /// Starts a pass.
    #[must_use]
    pub fn new(pages: &Pages) -> Self {
        Self { bits: vec![0; pages.page_count as usize / 64 + 1] }
    }

    /// Records a page. Returns whether it is new.
    fn note(&mut self, number: u32) -> bool {
        let Some(word) = self.bits.get_mut(number as usize / 64) else { return true };
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// A cursor over the rows of a tree.
pub(crate) struct Cursor<'p> {
    pages: &'p Pages,
    seen: &'p mut Seen,
    /// The name of the tree, for messages.
    name: &'p str,
    is_table: bool,
    levels: Vec<Level>,
    row_number: i64,
    payload: Vec<u8>,
    /// Buffers of finished pages, for reuse.
    spare: Vec<Vec<u8>>,
}

struct Level {
    page: Page,
    /// The next step. In leaves, a cell; in inner pages, children at even numbers and the cells
    /// between them at odd ones.
    step: usize,
}

impl<'p> Cursor<'p> {
    /// Starts before the first row.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub(crate) fn open(
        pages: &'p Pages,
        seen: &'p mut Seen,
        name: &'p str,
        root: u32,
        is_table: bool,
    ) -> Result<Self> {
        let mut cursor = Self {
            pages,
            seen,
            name,
            is_table,
            levels: Vec::new(),
            row_number: 0,
            payload: Vec::new(),
            spare: Vec::new(),
        };
        cursor.enter(root)?;
        Ok(cursor)
    }

    /// Moves to the next row; `false` after the last.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        while let Some(level) = self.levels.last_mut() {
            let (step, page) = (level.step, &mut level.page);
            level.step += 1;
            let number = page.number;
            let cell_count = page.cell_count();
            if page.kind.is_leaf() {
                if step < cell_count {
                    let cell = page.cell(step).map_err(|reason| self.damage(number, reason))?;
                    return self.take(&cell).map(|()| true);
                }
            } else if step % 2 == 1 && step / 2 < cell_count {
                if !self.is_table {
                    let cell = page.cell(step / 2).map_err(|reason| self.damage(number, reason))?;
                    return self.take(&cell).map(|()| true);
                }
                continue;
            } else if step % 2 == 0 && step / 2 <= cell_count {
                let child = page.child(step / 2).map_err(|reason| self.damage(number, reason))?;
                self.enter(child)?;
                continue;
            }
            self.spare.extend(self.levels.pop().map(|level| level.page.into_bytes()));
        }
        Ok(false)
    }

    /// The number of the row.
    pub(crate) fn row_number(&self) -> i64 {
        self.row_number
    }

    /// The record of the row.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The error for an invalid row.
    pub(crate) fn damaged_row(&self, reason: &str) -> Error {
        let page = self.levels.last().map_or(0, |level| level.page.number);
        self.damage(page, reason)
    }

    fn enter(&mut self, number: u32) -> Result<()> {
        if self.levels.len() >= MAX_DEPTH {
            return Err(self.damage(number, "the tree is too deep"));
        }
        let bytes = self.read(number)?;
        let page = Page::new(number, bytes, self.pages.usable_size)
            .map_err(|reason| self.damage(number, reason))?;
        if page.kind.is_of_table() != self.is_table {
            return Err(self.damage(number, "it belongs to a tree of another kind"));
        }
        self.levels.push(Level { page, step: 0 });
        Ok(())
    }

    /// Reads a page of the tree, which must be new in this pass.
    fn read(&mut self, number: u32) -> Result<Vec<u8>> {
        if !self.seen.note(number) {
            return Err(self.damage(number, "two pages point to it"));
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        if !self.pages.read(number, &mut bytes)? {
            let count = self.pages.page_count;
            return Err(self.damage(number, &format!("there are {count} pages")));
        }
        Ok(bytes)
    }

    /// Collects the payload of a cell, including its overflow pages.
    fn take(&mut self, cell: &Cell) -> Result<()> {
        self.row_number = cell.row_number;
        self.payload.clear();
        let Some(level) = self.levels.last() else { return Ok(()) };
        self.payload.extend_from_slice(level.page.local(cell));
        let is_possible = cell.size <= MAX_ROW_SIZE && cell.size as u64 <= self.pages.size();
        if !is_possible {
            return Err(self.damaged_row("a row is longer than the file"));
        }
        let mut next = cell.overflow;
        while self.payload.len() < cell.size {
            let page = self.read(next)?;
            let size = (cell.size - self.payload.len()).min(self.pages.usable_size - 4);
            self.payload.extend_from_slice(&page[4..4 + size]);
            next = be32(&page, 0);
            self.spare.push(page);
        }
        Ok(())
    }

    fn damage(&self, page: u32, reason: &str) -> Error {
        Error::File {
            path: self.pages.path.clone(),
            place: format!(", table {:?}, page {page}", self.name),
            reason: reason.to_owned(),
            code: ErrorCode::Corrupted,
        }
    }
}
