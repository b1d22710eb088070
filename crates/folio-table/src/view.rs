//! What snapshots and transactions both offer: rows by key, and scans.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use folio_types::ValueRef;

use crate::catalog::{Catalog, Table};
use crate::error::Result;
use crate::read;
use crate::row::Row;
use crate::scan::{Scan, ScanOptions};
use crate::snapshot::{Snapshot, SnapshotPages};
use crate::transaction::Transaction;
use crate::transaction::edit::Seen;
use crate::transaction::row_count;

impl Snapshot {
    /// A table by name.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); what the pages say.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.catalog()?.table(name)
    }

    /// All tables, by name.
    ///
    /// # Errors
    /// What the pages say.
    pub fn tables(&self) -> Result<Vec<Arc<Table>>> {
        Ok(self.catalog()?.tables().cloned().collect())
    }

    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        Catalog::cached(&self.shared, &self.pages(), &self.commit.state)
    }

    fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>> {
        if table.version == self.commit.state.catalog_version {
            return Ok(Arc::clone(table));
        }
        self.catalog()?.current(table)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`Error::ValueCount`](crate::Error::ValueCount) and
    /// [`Error::TypeMismatch`](crate::Error::TypeMismatch) for the key; what the pages say.
    pub fn get(&self, table: &Arc<Table>, key: &[ValueRef<'_>]) -> Result<Option<Row<'_>>> {
        read::get(&self.pages(), &self.current(table)?, key)
    }

    /// How many rows a table has.
    ///
    /// # Errors
    /// What the pages say.
    pub fn row_count(&self, table: &Table) -> Result<u64> {
        row_count(&self.pages(), &self.commit.state, table.id)
    }

    /// Rows in key order, as record batches.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) for columns that do not
    /// exist; what the pages say.
    pub fn scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Batches<'_>> {
        let pages = self.pages();
        let scan = Scan::begin(&pages, &self.current(table)?, options)?;
        Ok(Batches { view: View::Snapshot(pages), scan })
    }
}

impl Transaction {
    /// Rows in key order, as record batches, this transaction's changes included.
    ///
    /// # Errors
    /// As [`Snapshot::scan`].
    pub fn scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Batches<'_>> {
        let pages = self.seen();
        let scan = Scan::begin(&pages, &self.current(table)?, options)?;
        Ok(Batches { view: View::Transaction(pages), scan })
    }
}

#[derive(Debug)]
enum View<'v> {
    Snapshot(SnapshotPages<'v>),
    Transaction(Seen<'v, 'v>),
}

/// The record batches of a scan. Dropping it ends the scan.
#[derive(Debug)]
pub struct Batches<'v> {
    view: View<'v>,
    scan: Scan,
}

impl Batches<'_> {
    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.scan.schema()
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match &self.view {
            View::Snapshot(pages) => self.scan.next_batch(pages),
            View::Transaction(pages) => self.scan.next_batch(pages),
        }
        .transpose()
    }
}
