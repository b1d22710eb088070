//! Scans: rows in key order, as Arrow record batches.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use folio_types::ValueRef;

use crate::btree::{Cursor, Direction};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::page::node::Node;
use crate::read;
use crate::row::{BatchBuilder, chained};
use crate::shared::Pages;

/// One end of a range of keys: the values of the first key columns, as many as
/// are known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Bound<'v> {
    /// No end.
    #[default]
    Unbounded,
    /// Keys that begin with these values are in the range.
    Included(&'v [ValueRef<'v>]),
    /// Keys that begin with these values are not.
    Excluded(&'v [ValueRef<'v>]),
}

/// What of a table is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanOptions<'v> {
    /// The columns, in the order wanted; `None` for all.
    pub projection: Option<&'v [usize]>,
    /// Where the keys begin.
    pub from: Bound<'v>,
    /// Where they end.
    pub to: Bound<'v>,
    /// Rows per batch, at most.
    pub batch_size: usize,
    /// Whether the greatest key comes first.
    pub reverse: bool,
}

impl Default for ScanOptions<'_> {
    fn default() -> Self {
        Self {
            projection: None,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            batch_size: 4096,
            reverse: false,
        }
    }
}

/// Bytes of rows after which a batch ends, however few the rows are.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// A scan under way. It holds no pages between batches.
#[derive(Debug)]
pub(crate) struct Scan {
    table: Arc<Table>,
    builder: BatchBuilder,
    schema: SchemaRef,
    cursor: Cursor,
    /// First key of the range, and the first behind it.
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    direction: Direction,
    batch_size: usize,
    /// The leaf being read and how many of its rows have been.
    rest: Option<(Vec<u8>, usize)>,
    is_done: bool,
}

impl Scan {
    pub(crate) fn begin<'s>(
        pages: &impl Pages<'s>,
        table: &Arc<Table>,
        options: &ScanOptions<'_>,
    ) -> Result<Self> {
        let all: Vec<usize> = (0..table.schema.columns.len()).collect();
        let projection = options.projection.unwrap_or(&all);
        let schema = table.arrow.project(projection).map_err(|_| Error::InvalidInput {
            what: format!("table {:?} has no such columns: {projection:?}", table.schema.name),
        })?;
        let schema = Arc::new(schema);
        let (from, to) = key_range(table, options)?;
        let (cursor, direction) = if options.reverse {
            (Cursor::backward(table.tree(), pages, to.as_deref())?, Direction::Backward)
        } else {
            (Cursor::forward(table.tree(), pages, from.as_deref())?, Direction::Forward)
        };
        Ok(Self {
            table: Arc::clone(table),
            builder: BatchBuilder::new(Arc::clone(table), projection, Arc::clone(&schema)),
            schema,
            cursor,
            from,
            to,
            direction,
            batch_size: options.batch_size.max(1),
            rest: None,
            is_done: false,
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next_batch<'s>(&mut self, pages: &impl Pages<'s>) -> Result<Option<RecordBatch>> {
        while !self.is_done
            && self.builder.row_count() < self.batch_size
            && self.builder.byte_count() < BATCH_BYTES_MAX
        {
            if let Some((leaf, done)) = self.rest.take() {
                self.read_leaf(pages, &leaf, done)?;
            } else if let Some(leaf) = self.cursor.next_leaf(pages)? {
                self.read_leaf(pages, &leaf, 0)?;
            } else {
                self.is_done = true;
            }
        }
        if self.builder.row_count() == 0 {
            return Ok(None);
        }
        self.builder.finish().map(Some)
    }

    /// Appends rows of a leaf, from the `done`-th of the range on.
    fn read_leaf<'s>(&mut self, pages: &impl Pages<'s>, leaf: &[u8], done: usize) -> Result<()> {
        let node = Node::new(leaf);
        let position = |key: &Option<Vec<u8>>, otherwise| {
            key.as_ref().map_or(otherwise, |key| node.search(key).unwrap_or_else(|at| at))
        };
        let (first, last) = (position(&self.from, 0), position(&self.to, node.len()));
        let is_outside = match self.direction {
            Direction::Forward => last < node.len(),
            Direction::Backward => first > 0,
        };
        let count = last.saturating_sub(first);
        let room = self.batch_size - self.builder.row_count();
        let taken = room.min(count - done.min(count));
        let rows = (done..done + taken).map(|index| match self.direction {
            Direction::Forward => node.entry(first + index),
            Direction::Backward => node.entry(last - 1 - index),
        });
        let rows: Vec<(&[u8], &[u8])> = rows.collect();
        if rows.iter().any(|(_, value)| chained::is_reference(value)) {
            self.append_chained(pages, &rows)?;
        } else {
            self.builder.append(&rows)?;
        }
        if done + taken < count {
            self.rest = Some((leaf.to_vec(), done + taken));
        } else if is_outside {
            self.is_done = true;
        }
        Ok(())
    }

    fn append_chained<'s>(
        &mut self,
        pages: &impl Pages<'s>,
        rows: &[(&[u8], &[u8])],
    ) -> Result<()> {
        for (key, value) in rows {
            let whole = chained::load(pages, self.table.tree(), value)?;
            self.builder.append(&[(key, whole.as_deref().unwrap_or(value))])?;
        }
        Ok(())
    }
}

/// A range of encoded keys: the first, and the first behind the last.
type KeyRange = (Option<Vec<u8>>, Option<Vec<u8>>);

fn key_range(table: &Table, options: &ScanOptions<'_>) -> Result<KeyRange> {
    let encode = |values: &[ValueRef<'_>]| read::encode_key_prefix(table, values);
    let from = match options.from {
        Bound::Unbounded => None,
        Bound::Included(values) => Some(encode(values)?),
        // Behind everything: a key of 255s is behind every key there is.
        Bound::Excluded(values) => Some(successor(encode(values)?).unwrap_or(vec![255; 64])),
    };
    let to = match options.to {
        Bound::Unbounded => None,
        Bound::Included(values) => successor(encode(values)?),
        Bound::Excluded(values) => Some(encode(values)?),
    };
    Ok((from, to))
}

/// The first bytes behind all that begin with these.
pub(crate) fn successor(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 255 {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}
