//! Many keys at once: what joins and links fetch by.

use std::sync::Arc;

use arrow_array::RecordBatch;
use folio_types::ValueRef;

use super::entries::EntryReader;
use super::range::{encode_entry_prefix, successor};
use super::{append, project};
use crate::btree::Cursor;
use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::page::node::Node;
use crate::read::{self, Near};
use crate::reader::Reader;
use crate::row::BatchBuilder;

/// Rows found for a list of keys.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The rows, in the order of the keys that led to them.
    pub rows: RecordBatch,
    /// For each row, the position of its key in the list.
    pub positions: Vec<u32>,
}

/// The rows with these keys, of the table itself or of an index; the first columns
/// are enough. Where the entries of an index have all that is asked for, the rows are
/// not looked at.
pub(crate) fn lookup<'v>(
    reader: &Reader<'v>,
    table: &Arc<Table>,
    index: Option<&Index>,
    keys: &[&[ValueRef<'_>]],
    projection: &[usize],
) -> Result<Lookup> {
    let schema = project(table, projection)?;
    let entries = index.map(|index| EntryReader::new(table, index, projection)).transpose()?;
    let mut builder = match &entries {
        Some(entries) if entries.is_covering => {
            BatchBuilder::of_entries(Arc::clone(table), &entries.index, projection, schema)
        }
        _ => BatchBuilder::new(Arc::clone(table), projection, schema),
    };
    let mut positions = Vec::with_capacity(keys.len());
    let mut near = Near::default();
    for (position, key) in keys.iter().enumerate() {
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        let count = match &entries {
            None if key.len() >= table.layout.key.len() => {
                let key = read::encode_key(table, key)?;
                usize::from(read::append_row(reader, table, &key, &mut near, &mut builder)?)
            }
            None => {
                let prefix = read::encode_key_prefix(table, key)?;
                append_prefixed(reader, table, &entries, &prefix, &mut near, &mut builder)?
            }
            Some(own) => {
                let prefix = encode_entry_prefix(table, &own.index, key)?;
                append_prefixed(reader, table, &entries, &prefix, &mut near, &mut builder)?
            }
        };
        positions.extend(std::iter::repeat_n(position, count));
    }
    Ok(Lookup { rows: builder.finish()?, positions })
}

/// Appends the rows whose keys, or whose entries of an index, begin so; returns how
/// many.
fn append_prefixed<'v>(
    reader: &Reader<'v>,
    table: &Arc<Table>,
    entries: &Option<EntryReader>,
    prefix: &[u8],
    near: &mut Near<'v>,
    builder: &mut BatchBuilder,
) -> Result<usize> {
    if let Some(leaf) = near.leaf_from(prefix) {
        let node = Node::new(leaf);
        let first = node.search(prefix).unwrap_or_else(|at| at);
        let is_in = |cell: &usize| node.key(*cell).starts_with(prefix);
        let end = (first..node.len()).take_while(is_in).count() + first;
        let cells: Vec<(&[u8], &[u8])> = node.entries(first..end).collect();
        // Where the leaf goes on behind them, there are no more.
        if first + cells.len() < node.len() {
            append(entries, reader, table, builder, node.prefix(), &cells)?;
            return Ok(cells.len());
        }
    }
    let tree = entries.as_ref().map_or(table.tree(), |entries| entries.index.tree());
    let mut cursor = Cursor::forward(tree, reader, Some(prefix))?;
    let behind = successor(prefix.to_vec());
    let mut count = 0;
    while let Some(leaf) = cursor.next_leaf(reader)? {
        let node = Node::new(&leaf);
        let first = node.search(prefix).unwrap_or_else(|at| at);
        let end = match &behind {
            Some(behind) => node.search(behind).unwrap_or_else(|at| at),
            None => node.len(),
        };
        let cells: Vec<(&[u8], &[u8])> = node.entries(first..end).collect();
        append(entries, reader, table, builder, node.prefix(), &cells)?;
        count += cells.len();
        if first + cells.len() < node.len() {
            near.keep(leaf);
            break;
        }
    }
    Ok(count)
}
