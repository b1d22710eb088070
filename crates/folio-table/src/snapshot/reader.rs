//! Reads definitions and rows by key, in snapshots and transactions alike. For scans, see `scan`.

use std::sync::Arc;

use folio_types::ValueRef;

use super::SnapshotPages;
use crate::btree::Cursor;
use crate::buffer::PageGuard;
use crate::catalog::{Catalog, CatalogCache, Index, Table, ViewDefinition};
use crate::edit::Seen;
use crate::error::Result;
use crate::ids::PageId;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::row::{Row, encode_key};
use crate::state::State;
use crate::statistics::{identities, row_count};

/// A reader of the database as of a snapshot, or as changed by a transaction. It is small
/// and `Copy`, and borrows from its origin.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'v> {
    source: Source<'v>,
    catalogs: &'v CatalogCache,
}

#[derive(Debug, Clone, Copy)]
enum Source<'v> {
    Snapshot(SnapshotPages<'v>),
    Transaction(Seen<'v, 'v>, Option<&'v Arc<Catalog>>),
}

impl<'v> Reader<'v> {
    pub(super) fn of_snapshot(pages: SnapshotPages<'v>, catalogs: &'v CatalogCache) -> Self {
        Self { source: Source::Snapshot(pages), catalogs }
    }

    pub(crate) fn of_transaction(
        pages: Seen<'v, 'v>,
        catalogs: &'v CatalogCache,
        own: Option<&'v Arc<Catalog>>,
    ) -> Self {
        Self { source: Source::Transaction(pages, own), catalogs }
    }

    fn state(&self) -> &State {
        match &self.source {
            Source::Snapshot(pages) => &pages.commit.state,
            Source::Transaction(pages, _) => &pages.edit.state,
        }
    }

    /// The number of changes by the transaction; constant in a snapshot.
    pub(crate) fn changes(&self) -> u64 {
        match &self.source {
            Source::Snapshot(_) => 0,
            Source::Transaction(pages, _) => pages.edit.changes,
        }
    }

    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        match &self.source {
            Source::Transaction(_, Some(own)) => Ok(Arc::clone(own)),
            _ => self.catalogs.get(self, self.state()),
        }
    }

    /// A number that changes with every change of a definition. Anything derived from definitions
    /// is valid while it stays the same. Numbers are never reused.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.state().catalog_version
    }

    /// A table by name, case-insensitive.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name; errors of the pages.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.catalog()?.table(name)
    }

    /// All tables, by name.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn tables(&self) -> Result<Vec<Arc<Table>>> {
        Ok(self.catalog()?.tables().cloned().collect())
    }

    /// All views, by name: names and texts, which the caller interprets.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn views(&self) -> Result<Vec<Arc<ViewDefinition>>> {
        Ok(self.catalog()?.views().cloned().collect())
    }

    /// A view by name, if there is one.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn view(&self, name: &str) -> Result<Option<Arc<ViewDefinition>>> {
        Ok(self.catalog()?.view(name))
    }

    /// The current version of a table, which may be from before a change of its definition.
    pub(crate) fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>> {
        if table.version == self.state().catalog_version {
            return Ok(Arc::clone(table));
        }
        self.catalog()?.current(table)
    }

    /// The number of pages of the rows of a table, without those of long values.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn row_pages(&self, table: &Arc<Table>) -> Result<u64> {
        self.current(table)?.tree().page_count(self)
    }

    /// The number of pages of a secondary index.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn index_pages(&self, index: &Index) -> Result<u64> {
        index.tree().page_count(self)
    }

    /// The row with this key: the values of the primary key's columns, or the row number if the
    /// table has no key.
    ///
    /// # Errors
    /// [`Error::ValueCount`](crate::Error::ValueCount) and
    /// [`Error::TypeMismatch`](crate::Error::TypeMismatch) for the key; errors of the pages.
    pub fn get(&self, table: &Arc<Table>, key: &[ValueRef<'_>]) -> Result<Option<Row<'v>>> {
        let table = self.current(table)?;
        let key = encode_key(&table, key)?;
        let found = table.tree().get(self, &key)?;
        found.map(|place| Row::load(self, table, key, place)).transpose()
    }

    /// The first row in key order, or the last if `reverse`.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn first(&self, table: &Arc<Table>, reverse: bool) -> Result<Option<Row<'v>>> {
        let table = self.current(table)?;
        let mut cursor = match reverse {
            false => Cursor::forward(table.tree(), self, None)?,
            true => Cursor::backward(table.tree(), self, None)?,
        };
        while let Some(leaf) = cursor.upcoming() {
            let page = cursor.page_again(self, leaf)?;
            let node = Node::new(&page);
            if let Some(last) = node.len().checked_sub(1) {
                let cell = if reverse { last } else { 0 };
                let (key, range) = (node.key(cell).to_vec(), node.value_range(cell));
                return Row::load(self, table, key, (page, range)).map(Some);
            }
            cursor.next_page(self)?;
        }
        Ok(None)
    }

    /// The identity columns of a table that have numbered rows, with their next numbers.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn identities(&self, table: &Table) -> Result<Vec<(usize, i64)>> {
        identities(self, self.state(), table.id, table.schema.columns.len())
    }

    /// The exact number of rows of a table, without a scan.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn row_count(&self, table: &Table) -> Result<u64> {
        let before = row_count(self, self.state(), table.id)?;
        let change = match &self.source {
            Source::Snapshot(_) => 0,
            Source::Transaction(pages, _) => {
                pages.edit.row_counts.get(&table.id).copied().unwrap_or(0)
            }
        };
        Ok(before.saturating_add_signed(change))
    }
}

impl<'v> Pages<'v> for Reader<'v> {
    #[inline]
    fn pin(&self, page: PageId) -> Result<PageGuard<'v>> {
        match &self.source {
            Source::Snapshot(pages) => pages.pin(page),
            Source::Transaction(pages, _) => pages.pin(page),
        }
    }

    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'v>> {
        match &self.source {
            Source::Snapshot(pages) => pages.pin_for_scan(page),
            Source::Transaction(pages, _) => pages.pin_for_scan(page),
        }
    }

    fn address(&self, page: PageId) -> Option<usize> {
        match &self.source {
            // A damaged node may lead anywhere.
            Source::Snapshot(pages) if page.0 <= self.page_count() => pages.address(page),
            _ => None,
        }
    }

    fn page_count(&self) -> u32 {
        self.state().page_count
    }
}
