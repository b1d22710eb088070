//! Key ranges, given by values of the first key columns.

use folio_types::ValueRef;
use folio_types::key::{self, KeyColumn};

use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::row::{self, mismatch};

/// One end of a key range, with borrowed values.
pub type Bound<'v> = folio_types::Bound<&'v [ValueRef<'v>]>;

/// A range of encoded keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KeyRange {
    /// The first key.
    pub(crate) from: Option<Vec<u8>>,
    /// The end, exclusive.
    pub(crate) to: Option<Vec<u8>>,
    /// Whether the range is certainly empty.
    pub(crate) is_empty: bool,
}

impl KeyRange {
    /// From two bounds, encoded by `encode`.
    ///
    /// # Errors
    /// Those of `encode`.
    pub(crate) fn new(
        from: Bound<'_>,
        to: Bound<'_>,
        encode: impl Fn(&[ValueRef<'_>]) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let mut range = Self::default();
        match from {
            Bound::Unbounded => {}
            Bound::Included(values) => range.from = Some(encode(values)?),
            Bound::Excluded(values) => {
                range.from = successor(encode(values)?);
                range.is_empty = range.from.is_none();
            }
        }
        match to {
            Bound::Unbounded => {}
            Bound::Included(values) => range.to = successor(encode(values)?),
            Bound::Excluded(values) => range.to = Some(encode(values)?),
        }
        if let (Some(from), Some(to)) = (&range.from, &range.to) {
            range.is_empty |= from >= to;
        }
        Ok(range)
    }

    /// A range of row keys of a table.
    ///
    /// # Errors
    /// [`Error::ValueCount`](crate::Error::ValueCount) for more values than the key
    /// has columns, [`Error::TypeMismatch`](crate::Error::TypeMismatch).
    pub(crate) fn of_rows(table: &Table, from: Bound<'_>, to: Bound<'_>) -> Result<Self> {
        Self::new(from, to, |values| row::encode_key_prefix(table, values))
    }

    /// A range of entry keys of an index.
    ///
    /// # Errors
    /// As [`KeyRange::of_rows`].
    pub(crate) fn of_entries(
        table: &Table,
        index: &Index,
        from: Bound<'_>,
        to: Bound<'_>,
    ) -> Result<Self> {
        Self::new(from, to, |values| {
            let mut bytes = Vec::with_capacity(24);
            encode_entry_prefix(table, index, values, &mut bytes)?;
            Ok(bytes)
        })
    }
}

/// Appends the encoded first columns of an index entry.
///
/// # Errors
/// As [`KeyRange::of_rows`].
pub(crate) fn encode_entry_prefix(
    table: &Table,
    index: &Index,
    values: &[ValueRef<'_>],
    bytes: &mut Vec<u8>,
) -> Result<()> {
    if values.len() > index.key.len() {
        return Err(crate::Error::ValueCount {
            what: format!("a key of index {:?}", index.name),
            expected: index.key.len(),
            found: values.len(),
        });
    }
    for ((column, &(position, _)), &value) in index.key.iter().zip(&index.columns).zip(values) {
        if !accepts(column, value) {
            let name = &table.schema.columns[position].name;
            return Err(mismatch(name, &column.column_type, value));
        }
        key::encode(column, value, bytes);
    }
    Ok(())
}

fn accepts(column: &KeyColumn, value: ValueRef<'_>) -> bool {
    column.column_type.accepts(value) && (column.nullable || !value.is_null())
}

/// The smallest bytes after everything with this prefix.
pub(crate) fn successor(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 255 {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_come_after_everything_with_the_prefix() {
        assert_eq!(successor(vec![1, 2]), Some(vec![1, 3]));
        assert_eq!(successor(vec![1, 255]), Some(vec![2]));
        assert_eq!(successor(vec![255, 255]), None);
        assert_eq!(successor(vec![]), None);
    }

    #[test]
    fn a_range_from_after_everything_is_empty() {
        let encode = |_: &[ValueRef<'_>]| Ok(vec![255, 255]);
        let range = KeyRange::new(Bound::Excluded(&[]), Bound::Unbounded, encode).expect("encodes");
        assert!(range.is_empty);
    }
}
