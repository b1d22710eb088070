//! What snapshots and transactions both offer: definitions, rows by key, and scans.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use folio_types::ValueRef;

use crate::buffer::PageGuard;
use crate::catalog::{Catalog, Index, Table, ViewDefinition};
use crate::error::Result;
use crate::ids::PageId;
use crate::read;
use crate::row::Row;
use crate::scan::{Bound, KeyRange, Lookup, Scan, ScanOptions, distinct, estimate, lookup};
use crate::shared::Pages;
use crate::snapshot::{Snapshot, SnapshotPages};
use crate::state::State;
use crate::transaction::edit::Seen;
use crate::transaction::{Transaction, row_count};

/// A reader of the database as of a [`Snapshot`], or as a [`Transaction`] has
/// changed it. It is small, copied freely, and borrows from where it came.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'v> {
    source: Source<'v>,
}

#[derive(Debug, Clone, Copy)]
enum Source<'v> {
    Snapshot(SnapshotPages<'v>),
    Transaction(Seen<'v, 'v>, Option<&'v Arc<Catalog>>),
}

impl<'v> Reader<'v> {
    pub(crate) fn of_snapshot(pages: SnapshotPages<'v>) -> Self {
        Self { source: Source::Snapshot(pages) }
    }

    pub(crate) fn of_transaction(pages: Seen<'v, 'v>, own: Option<&'v Arc<Catalog>>) -> Self {
        Self { source: Source::Transaction(pages, own) }
    }

    fn state(&self) -> &State {
        match &self.source {
            Source::Snapshot(pages) => &pages.commit.state,
            Source::Transaction(pages, _) => &pages.edit.state,
        }
    }

    /// How often the transaction has changed something. Snapshots never do.
    pub(crate) fn changes(&self) -> u64 {
        match &self.source {
            Source::Snapshot(_) => 0,
            Source::Transaction(pages, _) => pages.edit.changes,
        }
    }

    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        match &self.source {
            Source::Snapshot(pages) => Catalog::cached(pages.shared, self, self.state()),
            Source::Transaction(_, Some(own)) => Ok(Arc::clone(own)),
            Source::Transaction(pages, None) => Catalog::cached(pages.shared, self, self.state()),
        }
    }

    /// A number that changes with every change of a definition: whatever was
    /// derived from definitions holds while it stays. Numbers are never used twice.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.state().catalog_version
    }

    /// A table by name; letters match in either case.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name; what the
    /// pages say.
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

    /// All views, by name: names and texts, whose meaning is the caller's.
    ///
    /// # Errors
    /// What the pages say.
    pub fn views(&self) -> Result<Vec<Arc<ViewDefinition>>> {
        Ok(self.catalog()?.views().cloned().collect())
    }

    /// A view by name, if there is one.
    ///
    /// # Errors
    /// What the pages say.
    pub fn view(&self, name: &str) -> Result<Option<Arc<ViewDefinition>>> {
        Ok(self.catalog()?.view(name))
    }

    /// The table as it is now: the one given may be from before a change of its definition.
    pub(crate) fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>> {
        if table.version == self.state().catalog_version {
            return Ok(Arc::clone(table));
        }
        self.catalog()?.current(table)
    }

    /// The row with this key: the values of the primary key's columns, or the row
    /// number where the table has none.
    ///
    /// # Errors
    /// [`Error::ValueCount`](crate::Error::ValueCount) and
    /// [`Error::TypeMismatch`](crate::Error::TypeMismatch) for the key; what the pages say.
    pub fn get(&self, table: &Arc<Table>, key: &[ValueRef<'_>]) -> Result<Option<Row<'v>>> {
        let table = self.current(table)?;
        match &self.source {
            Source::Snapshot(pages) => read::get(pages, &table, key),
            Source::Transaction(pages, _) => read::get(pages, &table, key),
        }
    }

    /// The first row in the order of the key, or the last.
    ///
    /// # Errors
    /// What the pages say.
    pub fn first(&self, table: &Arc<Table>, reverse: bool) -> Result<Option<Row<'v>>> {
        let table = self.current(table)?;
        match &self.source {
            Source::Snapshot(pages) => read::first(pages, &table, reverse),
            Source::Transaction(pages, _) => read::first(pages, &table, reverse),
        }
    }

    /// The rows with many keys, in the order of the keys. A key may be the values of
    /// the first columns alone, of the primary key or of the index, and then finds any
    /// number of rows.
    ///
    /// # Errors
    /// As [`Reader::get`]; [`Error::InvalidInput`](crate::Error::InvalidInput) for
    /// columns that do not exist.
    pub fn lookup(
        &self,
        table: &Arc<Table>,
        index: Option<&Index>,
        keys: &[&[ValueRef<'_>]],
        projection: &[usize],
    ) -> Result<Lookup> {
        lookup(self, &self.current(table)?, index, keys, projection)
    }

    /// Rows in the order of the key, or of an index, as record batches.
    ///
    /// # Errors
    /// As [`Reader::lookup`].
    pub fn scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Batches<'v>> {
        Ok(Batches { reader: *self, scan: self.begin_scan(table, options)? })
    }

    /// The same for whoever keeps the scan apart from what it reads.
    ///
    /// # Errors
    /// As [`Reader::scan`].
    pub fn begin_scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Scan> {
        Scan::begin(self, &self.current(table)?, options)
    }

    /// The same in at most `count` parts of about the same size, which threads may
    /// read at the same time. One behind the other they are the scan; a limit holds
    /// for each part.
    ///
    /// # Errors
    /// As [`Reader::scan`].
    pub fn begin_parts(
        &self,
        table: &Arc<Table>,
        options: &ScanOptions<'_>,
        count: usize,
    ) -> Result<Vec<Scan>> {
        Scan::parts(self, &self.current(table)?, options, count)
    }

    /// How many rows a table has. Exact, and costs no scan.
    ///
    /// # Errors
    /// What the pages say.
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

    /// About how many rows are in a range of keys, of the table or of an index:
    /// what a planner wants to know. Costs two descents.
    ///
    /// # Errors
    /// As [`Reader::scan`].
    pub fn estimate(
        &self,
        table: &Arc<Table>,
        index: Option<&Index>,
        from: Bound<'_>,
        to: Bound<'_>,
    ) -> Result<u64> {
        let table = self.current(table)?;
        let (tree, range) = match index {
            None => (table.tree(), KeyRange::of_rows(&table, from, to)?),
            Some(index) => {
                let index = table.current_index(index)?;
                (index.tree(), KeyRange::of_entries(&table, index, from, to)?)
            }
        };
        estimate(self, tree, &range, self.row_count(&table)?)
    }

    /// About how many different values the first `columns` columns of an index
    /// have, from a few of its leaves.
    ///
    /// # Errors
    /// What the pages say.
    pub fn estimate_distinct(
        &self,
        table: &Arc<Table>,
        index: &Index,
        columns: usize,
    ) -> Result<u64> {
        let table = self.current(table)?;
        distinct(self, table.current_index(index)?, columns, self.row_count(&table)?)
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
        // A damaged node may lead anywhere.
        if page.0 > self.page_count() {
            return None;
        }
        match &self.source {
            Source::Snapshot(pages) => pages.address(page),
            Source::Transaction(pages, _) => pages.address(page),
        }
    }

    fn page_count(&self) -> u32 {
        self.state().page_count
    }
}

/// The same reading, for a snapshot and a transaction without asking for the reader.
macro_rules! read_through_reader {
    ($owner:ty) => {
        impl $owner {
            /// See [`Reader::table`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn table(&self, name: &str) -> Result<Arc<Table>> {
                self.reader().table(name)
            }

            /// See [`Reader::tables`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn tables(&self) -> Result<Vec<Arc<Table>>> {
                self.reader().tables()
            }

            /// See [`Reader::get`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn get(&self, table: &Arc<Table>, key: &[ValueRef<'_>]) -> Result<Option<Row<'_>>> {
                self.reader().get(table, key)
            }

            /// See [`Reader::row_count`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn row_count(&self, table: &Table) -> Result<u64> {
                self.reader().row_count(table)
            }

            /// See [`Reader::scan`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn scan(
                &self,
                table: &Arc<Table>,
                options: &ScanOptions<'_>,
            ) -> Result<Batches<'_>> {
                self.reader().scan(table, options)
            }
        }
    };
}

read_through_reader!(Snapshot);
read_through_reader!(Transaction);

/// The record batches of a scan. Dropping it ends the scan.
#[derive(Debug)]
pub struct Batches<'v> {
    reader: Reader<'v>,
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
        self.scan.next_batch(&self.reader).transpose()
    }
}
