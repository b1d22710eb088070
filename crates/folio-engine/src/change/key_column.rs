//! Keys on their way into a column: what an ADD has added, what links lead to. UUIDs, which
//! most are, stand one behind the other as the column has them.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use folio_types::{ColumnType, Value, ValueRef};

use crate::array::to_array;
use crate::error::Result;

/// Bytes of a UUID.
const UUID_SIZE: usize = 16;

/// Keys in the order they came.
pub(super) enum KeyColumn {
    Uuids(Vec<u8>),
    Others(Vec<Value>, ColumnType),
}

impl KeyColumn {
    /// None yet, of a column of this type.
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

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, count: usize) {
        match self {
            Self::Uuids(bytes) => bytes.reserve(count * UUID_SIZE),
            Self::Others(keys, _) => keys.reserve(count),
        }
    }

    /// Another one, which fits the column and is not null.
    #[inline]
    pub(super) fn push(&mut self, key: ValueRef<'_>) {
        match (self, key) {
            (Self::Uuids(bytes), ValueRef::Uuid(uuid)) => bytes.extend_from_slice(&uuid),
            (Self::Others(keys, _), key) => keys.push(key.to_value()),
            (Self::Uuids(_), other) => unreachable!("a key of UUIDs has no {}", other.kind()),
        }
    }

    /// Where a key stands.
    pub(super) fn position(&self, key: &Value) -> Option<usize> {
        match (self, key) {
            (Self::Uuids(bytes), Value::Uuid(uuid)) => {
                bytes.chunks(UUID_SIZE).position(|found| found == uuid)
            }
            (Self::Uuids(_), _) => None,
            (Self::Others(keys, _), key) => keys.iter().position(|found| found == key),
        }
    }

    /// All of them as a column.
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
