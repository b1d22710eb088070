//! Scans: rows in the order of a key, as Arrow record batches.
//!
//! A scan walks the table's own tree, or one of its indexes. Through an index it
//! reads the rows it needs one by one, or none where the entries have all the
//! columns asked for. It holds no page between batches, so any number may be open.
//!
//! Reading late: a filter that few rows pass needs few of their columns at first.
//! [`Scan::columns`] fetches more columns of the batch that came last, for some of
//! its rows; only pages with such rows are looked at again.

mod condition;
mod entries;
mod lookup;
mod near;
mod parts;
mod pass;
mod range;
mod reading;

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
pub use condition::Condition;
use condition::{RowTest, all_hold};
use entries::EntryReader;
pub use lookup::Lookup;
use lookup::lookup;
use parts::{distinct, estimate};
pub use range::Bound;
pub(crate) use range::KeyRange;
pub use reading::Batches;
pub(crate) use reading::read_through_reader;

/// What of a table is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanOptions<'v> {
    /// The columns, in the order wanted; `None` for all. [`ROW_NUMBER`] is one too.
    pub projection: Option<&'v [usize]>,
    /// The index to walk; `None` for the table in the order of its key.
    pub index: Option<&'v Index>,
    /// Where the keys begin: values of the first columns of the key or the index.
    pub from: Bound<'v>,
    /// Where they end.
    pub to: Bound<'v>,
    /// Rows per batch, at most.
    pub batch_size: usize,
    /// Rows in all, at most.
    pub limit: Option<usize>,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// What rows must fulfil, all of it, to come at all: cheaper than a filter on
    /// batches, because rows that fail are not decoded.
    pub conditions: &'v [Condition<'v>],
}

impl Default for ScanOptions<'_> {
    fn default() -> Self {
        Self {
            projection: None,
            index: None,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            batch_size: 4096,
            limit: None,
            reverse: false,
            conditions: &[],
        }
    }
}

/// Bytes of rows after which a batch ends, however few the rows are.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// A scan under way, at a place between two batches.
#[derive(Debug)]
pub struct Scan {
    table: Arc<Table>,
    builder: BatchBuilder,
    /// `None` when the rows themselves are walked.
    entries: Option<EntryReader>,
    tests: Vec<RowTest>,
    cursor: Cursor,
    range: KeyRange,
    direction: Direction,
    batch_size: usize,
    /// Rows that may still come.
    left: usize,
    /// The leaf being read and how many of its cells in the range have been.
    rest: Option<(PageId, usize)>,
    /// The key read last: where to go on when the tree has changed.
    last: Vec<u8>,
    /// How often the transaction had changed something when the cursor was placed.
    changes: u64,
    /// Where the rows of the last batch stand.
    batch: Vec<Piece>,
    is_done: bool,
}

/// Rows of one leaf that are in the last batch.
#[derive(Debug, Clone, Copy)]
struct Piece {
    leaf: PageId,
    /// Position of the first one, in the order of the walk.
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
            None => KeyRange::of_rows(table, options.from, options.to)?,
            Some(index) => KeyRange::of_entries(table, index, options.from, options.to)?,
        };
        Self::over(reader, table, options, range)
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

    /// The next batch; `None` at the end. The reader is the one the scan began in.
    /// What a transaction changes between batches is seen if it lies ahead.
    ///
    /// # Errors
    /// What the pages say.
    pub fn next_batch(&mut self, reader: &Reader<'_>) -> Result<Option<RecordBatch>> {
        self.find_place_again(reader)?;
        self.batch.clear();
        while !self.is_done
            && self.left > 0
            && self.builder.row_count() < self.batch_size
            && self.builder.byte_count() < BATCH_BYTES_MAX
        {
            let (leaf, done) = match self.rest.take() {
                Some(rest) => rest,
                None => match self.cursor.next_page(reader)? {
                    Some(leaf) => (leaf, 0),
                    None => {
                        self.is_done = true;
                        break;
                    }
                },
            };
            self.read_leaf(reader, leaf, done)?;
        }
        if self.builder.row_count() == 0 {
            self.is_done = true;
            return Ok(None);
        }
        self.builder.finish(self.is_done || self.left == 0).map(Some)
    }

    /// More columns of the rows of the last batch: those at the positions `rows`,
    /// which ascend.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for columns or rows that do not exist, or when the
    /// transaction has changed something since the batch; what the pages say.
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

    /// After a change the cursor's way may be none any more.
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

    /// Which cells of a leaf to look at: those in the range from the `done`-th on, `room`
    /// of them at most.
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

    /// The cells of a part in the order of the node.
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
        let entries = node.entries(self.cells_of(node, &part));
        let at = (page, part.start);
        let cells = match self.direction {
            Direction::Forward => self.gather(reader, node, at, entries)?,
            Direction::Backward => self.gather(reader, node, at, entries.rev())?,
        };
        append(&self.entries, reader, &self.table, &mut self.builder, node.prefix(), &cells)?;
        self.left -= cells.len();
        if done + part.taken < part.count {
            self.rest = Some((page, done + part.taken));
        } else if part.is_last_leaf {
            self.is_done = true;
        }
        Ok(())
    }

    /// Those of a leaf's cells whose rows fulfil the conditions; notes where they
    /// stand.
    #[inline]
    fn gather<'c>(
        &mut self,
        reader: &Reader<'_>,
        node: Node<'c>,
        (leaf, first): (PageId, usize),
        cells: impl ExactSizeIterator<Item = (&'c [u8], &'c [u8])>,
    ) -> Result<Vec<(&'c [u8], &'c [u8])>> {
        let is_every = self.tests.is_empty();
        let count = cells.len();
        let mut kept = Vec::with_capacity(if is_every { count } else { 0 });
        let (prefix, mut last) = (node.prefix(), &[][..]);
        let mut whole = Vec::new();
        for (position, (rest, value)) in cells.enumerate() {
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

    /// Whether the row that a cell is, or leads to, fulfils the conditions. Keys are
    /// put together in `whole`.
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

    /// Whether the row with this key does.
    fn row_fulfils(&self, reader: &Reader<'_>, key: &[u8]) -> Result<bool> {
        let tree = self.table.tree();
        let Some((page, range)) = tree.get(reader, key)? else { return Ok(false) };
        let whole = overflow::load(reader, tree.id, &page[range.clone()])?;
        let value = whole.as_deref().unwrap_or(&page[range]);
        all_hold(&self.tests, &self.table, Key::whole(key), value, &mut Vec::new())
    }

    /// The cell at a position in the order of the walk.
    fn cell<'p>(&self, node: Node<'p>, position: usize) -> (&'p [u8], &'p [u8]) {
        match self.direction {
            Direction::Forward => node.entry(position),
            Direction::Backward => node.entry(node.len() - 1 - position),
        }
    }
}

/// What of a leaf is looked at.
struct Part {
    /// The first cell, in the order of the walk.
    start: usize,
    /// How many cells.
    taken: usize,
    /// How many of the leaf's cells are in the range.
    count: usize,
    /// Whether the range ends in this leaf.
    is_last_leaf: bool,
}

/// Appends the rows that cells are, or lead to, whose keys begin with a prefix.
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

/// Appends rows, fetching what stands in chains.
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
