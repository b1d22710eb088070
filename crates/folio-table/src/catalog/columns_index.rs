//! The definition of a columns index. What it says of rows is in `row_parts`.

use super::Table;
use crate::btree::Tree;
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};

/// An index that is a copy of rows in columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnsIndex {
    pub(crate) id: TreeId,
    pub(crate) root: PageId,
    /// Its name.
    pub name: String,
    /// Positions of the columns that it has besides the key; all if there are none.
    pub columns: Vec<usize>,
}

impl ColumnsIndex {
    pub(crate) fn tree(&self) -> Tree {
        Tree { id: self.id, root: self.root }
    }

    /// Whether it has any of these columns.
    pub(crate) fn has_any(&self, columns: &[usize]) -> bool {
        self.columns.is_empty() || columns.iter().any(|column| self.columns.contains(column))
    }
}

impl Table {
    /// The columns indexes.
    #[must_use]
    pub fn columns_indexes(&self) -> &[ColumnsIndex] {
        &self.columns_indexes
    }

    /// The names of all indexes.
    pub fn index_names(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns_indexes.iter().map(|index| &*index.name);
        self.indexes.iter().map(|index| &*index.name).chain(columns)
    }

    /// The current version of a columns index, which may be from before a change.
    pub(crate) fn current_columns_index(&self, index: &ColumnsIndex) -> Result<&ColumnsIndex> {
        let found = self.columns_indexes.iter().find(|other| other.id == index.id);
        found.ok_or_else(|| Error::NotFound { kind: "index", name: index.name.clone(), near: None })
    }
}
