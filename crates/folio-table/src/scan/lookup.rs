//! Many keys at once: what joins and links fetch by.

use std::sync::Arc;

use arrow_array::RecordBatch;
use folio_types::ValueRef;

use super::entries::row_key;
use super::project;
use super::range::{encode_entry_prefix, successor};
use crate::btree::Cursor;
use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::page::node::Node;
use crate::read;
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

/// The rows with these keys: of the table itself, whole ones, or of an index,
/// where the first columns are enough.
pub(crate) fn lookup(
    reader: &Reader<'_>,
    table: &Arc<Table>,
    index: Option<&Index>,
    keys: &[&[ValueRef<'_>]],
    projection: &[usize],
) -> Result<Lookup> {
    let schema = project(table, projection)?;
    let index = index.map(|index| table.current_index(index)).transpose()?;
    let mut builder = BatchBuilder::new(Arc::clone(table), projection, schema);
    let mut positions = Vec::with_capacity(keys.len());
    for (position, key) in keys.iter().enumerate() {
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        match index {
            None => {
                let key = read::encode_key(table, key)?;
                if read::append_row(reader, table, &key, &mut builder)? {
                    positions.push(position);
                }
            }
            Some(index) => {
                let prefix = encode_entry_prefix(table, index, key)?;
                let count = append_matches(reader, table, index, &prefix, &mut builder)?;
                positions.extend(std::iter::repeat_n(position, count));
            }
        }
    }
    Ok(Lookup { rows: builder.finish()?, positions })
}

/// Appends the rows of all entries with a prefix; returns how many.
fn append_matches(
    reader: &Reader<'_>,
    table: &Arc<Table>,
    index: &Index,
    prefix: &[u8],
    builder: &mut BatchBuilder,
) -> Result<usize> {
    let mut cursor = Cursor::forward(index.tree(), reader, Some(prefix))?;
    let behind = successor(prefix.to_vec());
    let mut count = 0;
    while let Some(leaf) = cursor.next_leaf(reader)? {
        let node = Node::new(&leaf);
        let first = node.search(prefix).unwrap_or_else(|at| at);
        for position in first..node.len() {
            let entry = node.key(position);
            if behind.as_ref().is_some_and(|behind| entry >= &behind[..]) {
                return Ok(count);
            }
            count += usize::from(read::append_row(reader, table, row_key(index, entry)?, builder)?);
        }
    }
    Ok(count)
}
