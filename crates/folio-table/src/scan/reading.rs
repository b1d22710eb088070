//! The scan methods of a reader: many keys, ranges, parts, and estimates.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use folio_types::ValueRef;

use super::{Bound, KeyRange, Lookup, Scan, ScanOptions, estimate, lookup};
use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::snapshot::{Reader, Snapshot};

impl<'v> Reader<'v> {
    /// The rows with many keys, in the order of the keys. A key may be a prefix: the values of the
    /// first columns of the primary key or of the index. It then finds any number of rows.
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

    /// Rows in the order of the key or of an index, as record batches.
    ///
    /// # Errors
    /// As [`Reader::lookup`].
    pub fn scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Batches<'v>> {
        Ok(Batches { reader: *self, scan: self.begin_scan(table, options)? })
    }

    /// The same, for callers that hold the scan separately from the reader.
    ///
    /// # Errors
    /// As [`Reader::scan`].
    pub fn begin_scan(&self, table: &Arc<Table>, options: &ScanOptions<'_>) -> Result<Scan> {
        Scan::begin(self, &self.current(table)?, options)
    }

    /// The same in at most `count` parts of similar size, for threads to read in parallel.
    /// Concatenated in order they equal the scan. A limit applies to each part.
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

    /// Estimates the number of rows in a key range of the table or an index, for a query planner.
    /// Costs two descents.
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
}

/// The read methods of a snapshot and a transaction, without going through the reader.
macro_rules! read_through_reader {
    ($owner:ty) => {
        impl $owner {
            /// See [`Reader::table`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn table(&self, name: &str) -> $crate::Result<std::sync::Arc<$crate::Table>> {
                self.reader().table(name)
            }

            /// See [`Reader::tables`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn tables(&self) -> $crate::Result<Vec<std::sync::Arc<$crate::Table>>> {
                self.reader().tables()
            }

            /// See [`Reader::get`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn get(
                &self,
                table: &std::sync::Arc<$crate::Table>,
                key: &[folio_types::ValueRef<'_>],
            ) -> $crate::Result<Option<$crate::Row<'_>>> {
                self.reader().get(table, key)
            }

            /// See [`Reader::row_count`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn row_count(&self, table: &$crate::Table) -> $crate::Result<u64> {
                self.reader().row_count(table)
            }

            /// See [`Reader::scan`].
            ///
            /// # Errors
            /// Those of the reader.
            pub fn scan(
                &self,
                table: &std::sync::Arc<$crate::Table>,
                options: &$crate::ScanOptions<'_>,
            ) -> $crate::Result<$crate::Batches<'_>> {
                self.reader().scan(table, options)
            }
        }
    };
}

pub(crate) use read_through_reader;

read_through_reader!(Snapshot);

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
