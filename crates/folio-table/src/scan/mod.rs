//! Scans: rows in key order, as Arrow record batches.
//!
//! A scan walks the table's own tree, or one of its indexes. Through an index it fetches the rows
//! one by one, or none if the entries have all wanted columns. It pins no page between batches, so
//! any number of scans may be open.
//!
//! Late reading: a filter that few rows pass needs few columns at first.
//! [`Scan::columns`] fetches more columns of the last batch, for some of its rows; only the pages
//! of those rows are read again.

mod ahead;
mod condition;
mod count;
mod entries;
mod lookup;
mod near;
mod parts;
mod range;
mod reading;
mod row_range;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use crate::btree::{Cursor, Direction};
use crate::catalog::{Index, Table};
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::layout::ROW_NUMBER;
use crate::overflow;
use crate::page::key::Key;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::row::BatchBuilder;
use crate::snapshot::Reader;
use ahead::Ahead;
pub use condition::Condition;
use condition::{RowTest, all_hold};
use entries::EntryReader;
pub use lookup::Lookup;
use lookup::lookup;
pub(crate) use lookup::lookup_encoded;
pub(crate) use parts::estimate;
pub use range::Bound;
pub(crate) use range::KeyRange;
pub use reading::Batches;
pub(crate) use reading::read_through_reader;
pub use row_range::RowRange;

/// Options of a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanOptions<'v> {
    /// The wanted columns, in order; `None` for all. [`ROW_NUMBER`] is also allowed.
    pub projection: Option<&'v [usize]>,
    /// The index to walk; `None` for the table in key order.
    pub index: Option<&'v Index>,
    /// The start: values of the first columns of the key or the index.
    pub from: Bound<'v>,
    /// The end.
    pub to: Bound<'v>,
    /// A range of rows that is narrower still; not for an index.
    pub within: Option<&'v RowRange>,
    /// The maximum number of rows per batch.
    pub batch_size: usize,
    /// The maximum number of rows in total.
    pub limit: Option<usize>,
    /// Whether to walk in descending key order.
    pub reverse: bool,
    /// Conditions that all returned rows satisfy. Cheaper than a filter on batches, because rows
    /// that fail are not decoded.
    pub conditions: &'v [Condition<'v>],
}

impl Default for ScanOptions<'_> {
    fn default() -> Self {
        Self {
            projection: None,
            index: None,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            within: None,
            batch_size: 4096,
            limit: None,
            reverse: false,
            conditions: &[],
        }
    }
}

/// A batch ends after this many bytes of rows, however few the rows are.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// A running scan, positioned between two batches.
#[derive(Debug)]
pub struct Scan {
    table: Arc<Table>,
    builder: BatchBuilder,
    /// `None` when scanning the rows themselves.
    entries: Option<EntryReader>,
    tests: Vec<RowTest>,
    cursor: Cursor,
    range: KeyRange,
    direction: Direction,
    batch_size: usize,
    /// The number of rows still allowed.
    left: usize,
    /// The current leaf, and how many of its cells in the range are done.
    rest: Option<(PageId, usize)>,
    /// The last key read, to find the position again after a change of the tree.
    last: Vec<u8>,
    /// The transaction's change count when the cursor was positioned.
    changes: u64,
    /// The locations of the last batch's rows.
    batch: Vec<Piece>,
    is_done: bool,
}

/// The rows of the last batch from one leaf.
#[derive(Debug, Clone, Copy)]
struct Piece {
    leaf: PageId,
    /// The position of the first one, in walk order.
    first: usize,
    count: usize,
}

impl Scan {
    pub(crate) fn begin(
        reader: &Reader<'_>,
        table: &Arc<Table>,
        options: &ScanOptions<'_>,
    ) -> Result<Self> {
        let range = match options.index {
            None => Self::range_of_rows(table, options)?,
            Some(index) => KeyRange::of_entries(table, index, options.from, options.to)?,
        };
        Self::over(reader, table, options, range)
    }

    fn range_of_rows(table: &Table, options: &ScanOptions<'_>) -> Result<KeyRange> {
        let range = KeyRange::of_rows(table, options.from, options.to)?;
        Ok(match options.within {
            Some(within) => within.narrow(range),
            None => range,
        })
    }

    /// A scan of a range of encoded keys.
    fn over(
        reader: &Reader<'_>,
        table: &Arc<Table>,
        options: &ScanOptions<'_>,
        range: KeyRange,
    ) -> Result<Self> {
        let all: Vec<usize> = (0..table.schema.columns.len()).collect();
        let projection = options.projection.unwrap_or(&all);
        let schema = project(table, projection)?;
        let entries =
            options.index.map(|index| EntryReader::new(table, index, projection)).transpose()?;
        let tests = options.conditions.iter().map(|condition| RowTest::new(table, condition));
        let tests = tests.collect::<Result<_>>()?;
        let builder = match &entries {
            Some(entries) if entries.is_covering => {
                BatchBuilder::of_entries(Arc::clone(table), &entries.index, projection, schema)
            }
            _ => BatchBuilder::new(Arc::clone(table), projection, schema),
        };
        let tree = entries.as_ref().map_or(table.tree(), |entries| entries.index.tree());
        let direction = if options.reverse { Direction::Backward } else { Direction::Forward };
        let cursor = match direction {
            Direction::Forward => Cursor::forward(tree, reader, range.from.as_deref())?,
            Direction::Backward => Cursor::backward(tree, reader, range.to.as_deref())?,
        };
        Ok(Self {
            table: Arc::clone(table),
            builder,
            entries,
            tests,
            cursor,
            direction,
            batch_size: options.batch_size.max(1),
            left: options.limit.unwrap_or(usize::MAX),
            rest: None,
            last: Vec::new(),
            changes: reader.changes(),
            batch: Vec::new(),
            is_done: range.is_empty,
            range,
        })
    }

    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }

    /// The next batch; `None` at the end. `reader` must be the one the scan began with. Changes of
    /// the transaction between batches are seen if they lie ahead.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn next_batch(&mut self, reader: &Reader<'_>) -> Result<Option<RecordBatch>> {
        self.find_place_again(reader)?;
        self.batch.clear();
        while !self.is_done
            && self.left > 0
            && self.builder.row_count() < self.batch_size
            && self.builder.byte_count() < BATCH_BYTES_MAX
        {
            match self.next_leaf(reader)? {
                Some((leaf, done)) => self.read_leaf(reader, leaf, done)?,
                None => self.is_done = true,
            }
        }
        if self.builder.row_count() == 0 {
            self.is_done = true;
            return Ok(None);
        }
        self.builder.finish(self.is_done || self.left == 0).map(Some)
    }

    /// Fetches more columns for the rows of the last batch at the ascending positions `rows`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for columns or rows that do not exist, or when the transaction has
    /// changed something since the batch; errors of the pages.
    pub fn columns(
        &self,
        reader: &Reader<'_>,
        projection: &[usize],
        rows: &[u32],
    ) -> Result<RecordBatch> {
        if reader.changes() != self.changes {
            let what = "the rows of a batch cannot be found again after a change; fetch all \
                        columns with the batch";
            return Err(Error::InvalidInput { what: what.to_owned() });
        }
        let schema = project(&self.table, projection)?;
        let mut builder = BatchBuilder::new(Arc::clone(&self.table), projection, schema);
        let mut wanted = rows.iter().map(|&row| row as usize).peekable();
        let mut start = 0;
        for piece in &self.batch {
            let end = start + piece.count;
            if wanted.peek().is_some_and(|&row| row < end) {
                let leaf = self.cursor.page_again(reader, piece.leaf)?;
                let node = Node::new(&leaf);
                let mut cells = Vec::new();
                while let Some(row) = wanted.next_if(|&row| (start..end).contains(&row)) {
                    cells.push(self.cell(node, piece.first + row - start));
                }
                let prefix = node.prefix();
                append(&self.entries, reader, &self.table, &mut builder, prefix, &cells)?;
            }
            start = end;
        }
        if wanted.next().is_some() {
            let what =
                format!("the batch has {start} rows; ask for positions below that, ascending");
            return Err(Error::InvalidInput { what });
        }
        builder.finish(true)
    }

    /// Finds the position again, because a change may have invalidated the cursor.
    fn find_place_again(&mut self, reader: &Reader<'_>) -> Result<()> {
        if reader.changes() == self.changes {
            return Ok(());
        }
        self.changes = reader.changes();
        let is_started = !self.last.is_empty();
        match self.direction {
            Direction::Forward if is_started => {
                self.last.push(0);
                self.range.from = Some(std::mem::take(&mut self.last));
            }
            Direction::Backward if is_started => {
                self.range.to = Some(std::mem::take(&mut self.last));
            }
            _ => {}
        }
        self.rest = None;
        let tree = self.cursor.tree();
        self.cursor = match self.direction {
            Direction::Forward => Cursor::forward(tree, reader, self.range.from.as_deref())?,
            Direction::Backward => Cursor::backward(tree, reader, self.range.to.as_deref())?,
        };
        Ok(())
    }

    /// The leaf to go on with, and how many of its cells in the range are done.
    fn next_leaf(&mut self, reader: &Reader<'_>) -> Result<Option<(PageId, usize)>> {
        match self.rest.take() {
            Some(rest) => Ok(Some(rest)),
            None => Ok(self.cursor.next_page(reader)?.map(|leaf| (leaf, 0))),
        }
    }

    /// Notes that a part of a leaf is done, from its `done`-th cell on.
    fn go_on_after(&mut self, leaf: PageId, done: usize, part: &Part) {
        if done + part.taken < part.count {
            self.rest = Some((leaf, done + part.taken));
        } else if part.is_last_leaf {
            self.is_done = true;
        }
    }

    /// The cells of a leaf to read: those in the range from the `done`-th on, at most `room`.
    fn part(&self, node: Node<'_>, done: usize, room: usize) -> Part {
        let position = |key: &Option<Vec<u8>>, otherwise| {
            key.as_ref().map_or(otherwise, |key| node.search(key).unwrap_or_else(|at| at))
        };
        let (first, last) = (position(&self.range.from, 0), position(&self.range.to, node.len()));
        let count = last.saturating_sub(first);
        let (start, is_last_leaf) = match self.direction {
            Direction::Forward => (first + done, last < node.len()),
            Direction::Backward => (node.len() - last + done, first > 0),
        };
        Part { start, taken: room.min(count - done.min(count)), count, is_last_leaf }
    }

    /// The cells of a part, in node order.
    fn cells_of(&self, node: Node<'_>, part: &Part) -> Range<usize> {
        match self.direction {
            Direction::Forward => part.start..part.start + part.taken,
            Direction::Backward => {
                let end = node.len() - part.start;
                end - part.taken..end
            }
        }
    }

    /// Appends rows of a leaf, from the `done`-th of the range on.
    fn read_leaf(&mut self, reader: &Reader<'_>, page: PageId, done: usize) -> Result<()> {
        let leaf = self.cursor.page_again(reader, page)?;
        let node = Node::new(&leaf);
        let room = (self.batch_size - self.builder.row_count()).min(self.left);
        let part = self.part(node, done, room);
        let ahead = Ahead::of(reader, self.cursor.upcoming(), leaf.len(), part.taken);
        let entries = node.entries(self.cells_of(node, &part));
        let at = (page, part.start);
        let cells = match self.direction {
            Direction::Forward => self.gather(reader, node, at, entries, ahead)?,
            Direction::Backward => self.gather(reader, node, at, entries.rev(), ahead)?,
        };
        append(&self.entries, reader, &self.table, &mut self.builder, node.prefix(), &cells)?;
        self.left -= cells.len();
        self.go_on_after(page, done, &part);
        Ok(())
    }

    /// The cells of a leaf whose rows satisfy the conditions; records their locations.
    #[inline]
    fn gather<'c>(
        &mut self,
        reader: &Reader<'_>,
        node: Node<'c>,
        (leaf, first): (PageId, usize),
        cells: impl ExactSizeIterator<Item = (&'c [u8], &'c [u8])>,
        mut ahead: Ahead,
    ) -> Result<Vec<(&'c [u8], &'c [u8])>> {
        let is_every = self.tests.is_empty();
        let count = cells.len();
        let mut kept = Vec::with_capacity(if is_every { count } else { 0 });
        let (prefix, mut last) = (node.prefix(), &[][..]);
        let mut whole = Vec::new();
        for (position, (rest, value)) in cells.enumerate() {
            ahead.step();
            last = rest;
            if is_every {
                kept.push((rest, value));
            } else if self.fulfils(reader, Key { prefix, rest }, value, &mut whole)? {
                kept.push((rest, value));
                self.batch.push(Piece { leaf, first: first + position, count: 1 });
            }
        }
        if count > 0 {
            Key { prefix, rest: last }.copy_to(&mut self.last);
        }
        if is_every && count > 0 {
            self.batch.push(Piece { leaf, first, count });
        }
        Ok(kept)
    }

    /// Whether the row of a cell satisfies the conditions. Keys are assembled in `whole`.
    #[inline]
    fn fulfils(
        &self,
        reader: &Reader<'_>,
        key: Key<'_>,
        value: &[u8],
        whole: &mut Vec<u8>,
    ) -> Result<bool> {
        match &self.entries {
            None if !overflow::is_reference(value) => {
                all_hold(&self.tests, &self.table, key, value, whole)
            }
            None => self.row_fulfils(reader, key.bytes(whole)),
            Some(entries) => {
                let mut buffer = Vec::new();
                self.row_fulfils(reader, entries.row_key(key.bytes(whole), &mut buffer)?)
            }
        }
    }

    /// Whether the row with this key satisfies the conditions.
    fn row_fulfils(&self, reader: &Reader<'_>, key: &[u8]) -> Result<bool> {
        let tree = self.table.tree();
        let Some((page, range)) = tree.get(reader, key)? else { return Ok(false) };
        let whole = overflow::load(reader, tree.id, &page[range.clone()])?;
        let value = whole.as_deref().unwrap_or(&page[range]);
        all_hold(&self.tests, &self.table, Key::whole(key), value, &mut Vec::new())
    }

    /// The cell at a position in walk order.
    fn cell<'p>(&self, node: Node<'p>, position: usize) -> (&'p [u8], &'p [u8]) {
        match self.direction {
            Direction::Forward => node.entry(position),
            Direction::Backward => node.entry(node.len() - 1 - position),
        }
    }
}

/// The part of a leaf to read.
struct Part {
    /// The first cell, in walk order.
    start: usize,
    /// How many cells.
    taken: usize,
    /// How many of the leaf's cells are in the range.
    count: usize,
    /// Whether the range ends in this leaf.
    is_last_leaf: bool,
}

/// Appends the rows of cells whose keys share a prefix.
fn append(
    entries: &Option<EntryReader>,
    reader: &Reader<'_>,
    table: &Arc<Table>,
    builder: &mut BatchBuilder,
    prefix: &[u8],
    cells: &[(&[u8], &[u8])],
) -> Result<()> {
    match entries {
        Some(entries) => entries.append(reader, table, builder, prefix, cells),
        None => append_rows(reader, table, builder, prefix, cells),
    }
}

/// Appends rows, loading values from overflow chains.
fn append_rows<'s>(
    pages: &impl Pages<'s>,
    table: &Table,
    builder: &mut BatchBuilder,
    prefix: &[u8],
    rows: &[(&[u8], &[u8])],
) -> Result<()> {
    if !rows.iter().any(|(_, value)| overflow::is_reference(value)) {
        return builder.append(prefix, rows);
    }
    for (key, value) in rows {
        let whole = overflow::load(pages, table.id, value)?;
        builder.append(prefix, &[(key, whole.as_deref().unwrap_or(value))])?;
    }
    Ok(())
}

/// The Arrow schema of some columns of a table.
///
/// # Errors
/// [`Error::InvalidInput`] for columns that do not exist.
fn project(table: &Table, projection: &[usize]) -> Result<SchemaRef> {
    let fields = projection.iter().map(|&column| match table.arrow.fields.get(column) {
        Some(field) => Ok(Arc::clone(field)),
        None if column == ROW_NUMBER && table.layout.has_row_number => {
            Ok(Arc::clone(&table.row_number_field))
        }
        None => Err(Error::InvalidInput {
            what: format!("table {:?} has no such columns: {projection:?}", table.schema.name),
        }),
    });
    let fields: Vec<_> = fields.collect::<Result<_>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, table.arrow.metadata.clone())))
}
