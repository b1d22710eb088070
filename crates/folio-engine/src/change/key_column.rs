//! A column of keys under construction: the keys that an ADD has written, or targets of links. Most
//! are UUIDs, stored contiguously as in the final column.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use folio_compute::Result;
use folio_compute::array::to_array;
use folio_types::{ColumnType, Value, ValueRef};

/// Bytes of a UUID.
const UUID_SIZE: usize = 16;

/// Keys in order of insertion.
pub(super) enum KeyColumn {
    Uuids(Vec<u8>),
    Others(Vec<Value>, ColumnType),
}

impl KeyColumn {
    /// An empty column of this type.
    pub(super) fn new(ty: &ColumnType) -> Self {
        match ty {
            ColumnType::Uuid => Self::Uuids(Vec::new()),
            other => Self::Others(Vec::new(), other.clone()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Uuids(bytes) => bytes.len() / UUID_SIZE,
            Self::Others(keys, _) => keys.len(),
        }
    }

    /// Reserves room for `count` more keys.
    pub(super) fn reserve(&mut self, count: usize) {
        match self {
            Self::Uuids(bytes) => bytes.reserve(count * UUID_SIZE),
            Self::Others(keys, _) => keys.reserve(count),
        }
    }

    /// Appends a key of the column's type, not null.
    #[inline]
    pub(super) fn push(&mut self, key: ValueRef<'_>) {
        match (self, key) {
            (Self::Uuids(bytes), ValueRef::Uuid(uuid)) => bytes.extend_from_slice(&uuid),
            (Self::Others(keys, _), key) => keys.push(key.to_value()),
            (Self::Uuids(_), other) => unreachable!("a key of UUIDs has no {}", other.kind()),
        }
    }

    /// The position of a key.
    pub(super) fn position(&self, key: &Value) -> Option<usize> {
        match (self, key) {
            (Self::Uuids(bytes), Value::Uuid(uuid)) => {
                bytes.chunks(UUID_SIZE).position(|found| found == uuid)
            }
            (Self::Uuids(_), _) => None,
            (Self::Others(keys, _), key) => keys.iter().position(|found| found == key),
        }
    }

    /// Converts to an array.
    ///
    /// # Errors
    /// None for keys that fit their column.
    pub(super) fn into_array(self) -> Result<ArrayRef> {
        match self {
            Self::Uuids(bytes) => {
                let (size, bytes) = (UUID_SIZE as i32, Buffer::from_vec(bytes));
                Ok(Arc::new(FixedSizeBinaryArray::try_new(size, bytes, None)?))
            }
            Self::Others(keys, ty) => to_array(keys.iter(), &ty),
        }
    }
}
