//! Fetches many keys at once, for joins and links.

use std::sync::Arc;

use arrow_array::RecordBatch;
use folio_types::ValueRef;

use super::entries::EntryReader;
use super::near::Near;
use super::range::encode_entry_prefix;
use super::{append, project};
use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::row::{self, BatchBuilder};
use crate::snapshot::Reader;

/// Rows found for a list of keys.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The rows, in the order of their keys.
    pub rows: RecordBatch,
    /// For each row, the position of its key in the list.
    pub positions: Vec<u32>,
}

/// The rows with these keys of the table or of an index; prefixes of keys are allowed. If the index
/// entries have all wanted columns, the rows are not read.
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
    builder.reserve(keys.len());
    let tree = entries.as_ref().map_or(table.tree(), |entries| entries.index.tree());
    let mut near = Near::new(tree);
    let mut take = |prefix: &[u8], cells: &[(&[u8], &[u8])]| {
        append(&entries, reader, table, &mut builder, prefix, cells)
    };
    let mut positions = Vec::with_capacity(keys.len());
    let mut bytes = Vec::with_capacity(24);
    for (position, key) in keys.iter().enumerate() {
        bytes.clear();
        match &entries {
            None => row::encode_key_prefix_to(table, key, &mut bytes)?,
            Some(own) => encode_entry_prefix(table, &own.index, key, &mut bytes)?,
        }
        let is_whole = entries.is_none() && key.len() == table.layout.key.len();
        let count = match is_whole {
            true => usize::from(near.find(reader, &bytes, &mut take)?),
            false => near.find_prefixed(reader, &bytes, &mut take)?,
        };
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        positions.extend(std::iter::repeat_n(position, count));
    }
    near.leave(&mut take)?;
    Ok(Lookup { rows: builder.finish(true)?, positions })
}

/// The rows with these encoded keys, in their order.
pub(crate) fn lookup_encoded(
    reader: &Reader<'_>,
    table: &Arc<Table>,
    keys: &[Vec<u8>],
    projection: &[usize],
) -> Result<Lookup> {
    let schema = project(table, projection)?;
    let mut builder = BatchBuilder::new(Arc::clone(table), projection, schema);
    builder.reserve(keys.len());
    let mut near = Near::new(table.tree());
    let mut take = |prefix: &[u8], cells: &[(&[u8], &[u8])]| {
        append(&None, reader, table, &mut builder, prefix, cells)
    };
    let mut positions = Vec::with_capacity(keys.len());
    for (key, position) in keys.iter().zip(0..) {
        if near.find(reader, key, &mut take)? {
            positions.push(position);
        }
    }
    near.leave(&mut take)?;
    Ok(Lookup { rows: builder.finish(true)?, positions })
}
