//! Reads a table as Arrow record batches, for programs with their own query engine. SQL reads
//! tables through a [`Session`](crate::Session).

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use folio_table::{Bound, Scan, ScanOptions, Snapshot};
use folio_types::{Column, ErrorCode, TableSchema, Value};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::tables::Tables;

/// A table of an open database, with the columns it had when the handle was made. Each scan reads
/// the newest commit.
#[derive(Debug, Clone)]
pub struct Table {
    handle: Arc<Handle>,
    name: String,
    columns: Vec<Column>,
    /// The position of the column that is the whole primary key, if one column is.
    key: Option<usize>,
    row_count: u64,
}

/// An iterator over record batches, as of one commit. Memory does not grow with the table, and
/// writers are not blocked.
#[derive(Debug)]
pub struct TableScan {
    snapshot: Arc<Snapshot>,
    scan: Scan,
    batch_size: usize,
    /// Rows counted but not yet returned, when no columns are wanted.
    counted: Option<usize>,
}

impl Table {
    /// The table's name, as written when it was created.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The position of the column that is the whole primary key, if one column is.
    #[must_use]
    pub fn key_column(&self) -> Option<usize> {
        self.key
    }

    /// The number of rows when the handle was made.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Reads the columns at these positions in key order, in batches of at most `batch_size` rows.
    /// Other columns are not decoded. Without columns, batches have only a row count.
    ///
    /// # Errors
    /// `invalid_input` for positions that do not exist, and when one of the columns has changed
    /// since the handle was made; `not_found` when the table was dropped; `corrupted`, `io`.
    pub fn scan(&self, columns: &[usize], batch_size: usize) -> Result<TableScan> {
        let mut parts = self.scan_parts(columns, batch_size, 1)?;
        parts.pop().ok_or_else(|| Error::Invalid("a scan has one part at least".to_owned()))
    }

    /// The same in at most `count` parts of similar size, for threads to read in parallel. All see
    /// one commit; concatenated in order, they equal the scan.
    ///
    /// # Errors
    /// As [`Table::scan`].
    pub fn scan_parts(
        &self,
        columns: &[usize],
        batch_size: usize,
        count: usize,
    ) -> Result<Vec<TableScan>> {
        let snapshot = Arc::new(snapshot(&self.handle)?);
        let table = snapshot.table(&self.name)?;
        let projection = self.places(columns, &table)?;
        let batch_size = batch_size.max(1);
        let options =
            ScanOptions { projection: Some(&projection), batch_size, ..ScanOptions::default() };
        let reader = snapshot.reader();
        let scans = match count {
            0 | 1 => vec![reader.begin_scan(&table, &options)?],
            _ => reader.begin_parts(&table, &options, count)?,
        };
        let counted = columns.is_empty().then_some(0);
        let part = |scan| TableScan { snapshot: Arc::clone(&snapshot), scan, batch_size, counted };
        Ok(scans.into_iter().map(part).collect())
    }

    /// Reads the rows with these keys: one scan per key, in order, all of one commit. Nothing else
    /// is read. A key without a row makes an empty scan.
    ///
    /// # Errors
    /// As [`Table::scan`]; `invalid_input` also when the key is not a single column;
    /// `type_mismatch` for a key that its column cannot hold.
    pub fn scan_keys(
        &self,
        columns: &[usize],
        batch_size: usize,
        keys: &[Value],
    ) -> Result<Vec<TableScan>> {
        let snapshot = Arc::new(snapshot(&self.handle)?);
        let table = snapshot.table(&self.name)?;
        let projection = self.places(columns, &table)?;
        let key = self.key.map(|key| self.place(key, &table)).transpose()?;
        if key.is_none_or(|key| table.schema().primary_key != [key]) {
            let what = format!("table {:?} has no single-column key; scan it", self.name);
            return Err(Error::Invalid(what));
        }
        let (reader, batch_size) = (snapshot.reader(), batch_size.max(1));
        let scan = |key: &Value| {
            let key = [key.as_ref()];
            let (from, to) = (Bound::Included(&key), Bound::Included(&key));
            let projection = Some(&projection[..]);
            reader.begin_scan(
                &table,
                &ScanOptions { projection, batch_size, from, to, ..ScanOptions::default() },
            )
        };
        let scans = keys.iter().map(scan).collect::<folio_table::Result<Vec<_>>>()?;
        let counted = columns.is_empty().then_some(0);
        let part = |scan| TableScan { snapshot: Arc::clone(&snapshot), scan, batch_size, counted };
        Ok(scans.into_iter().map(part).collect())
    }

    /// The current positions of columns.
    fn places(&self, columns: &[usize], table: &folio_table::Table) -> Result<Vec<usize>> {
        columns.iter().map(|&column| self.place(column, table)).collect()
    }

    /// The current position of a column.
    fn place(&self, column: usize, table: &folio_table::Table) -> Result<usize> {
        let Some(known) = self.columns.get(column) else {
            let what = format!("table {:?} has no column at position {column}", self.name);
            return Err(Error::Invalid(what));
        };
        let schema = table.schema();
        let place = schema.column_index(&known.name);
        place.filter(|&at| schema.columns[at].column_type == known.column_type).ok_or_else(|| {
            Error::Invalid(format!(
                "column {:?} of table {:?} has changed; look the table up again",
                known.name, self.name
            ))
        })
    }
}

impl TableScan {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let reader = self.snapshot.reader();
        let Some(counted) = &mut self.counted else {
            return Ok(self.scan.next_batch(&reader)?);
        };
        while *counted < self.batch_size
            && let Some(count) = self.scan.next_count(&reader)?
        {
            *counted += count;
        }
        let row_count = self.batch_size.min(*counted);
        if row_count == 0 {
            return Ok(None);
        }
        *counted -= row_count;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(self.scan.schema(), Vec::new(), &options)
            .map(Some)
            .map_err(|error| Error::Invalid(format!("cannot build a batch: {error}")))
    }
}

impl Iterator for TableScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Tables {
    /// A table by name, to read as Arrow record batches. The name is case-insensitive.
    ///
    /// # Errors
    /// `not_found`, with the nearest existing name; `invalid_input` for a view, which is a query;
    /// `corrupted`, `io`.
    pub fn table(&self, name: &str) -> Result<Table> {
        let snapshot = snapshot(self.handle())?;
        match snapshot.table(name) {
            Ok(table) => {
                let row_count = snapshot.row_count(&table)?;
                let TableSchema { name, columns, primary_key, .. } = table.schema().clone();
                let key = if let [key] = primary_key[..] { Some(key) } else { None };
                Ok(Table { handle: Arc::clone(self.handle()), name, columns, key, row_count })
            }
            Err(error) => match snapshot.reader().view(name)? {
                Some(view) => Err(Error::Invalid(format!(
                    "{:?} is a view, which is a query; name the tables and collections it reads",
                    view.name
                ))),
                None => Err(error.into()),
            },
        }
    }

    /// A table by name, if it exists.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Table>> {
        match self.table(name) {
            Ok(table) => Ok(Some(table)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The tables as of their newest commit.
fn snapshot(handle: &Handle) -> Result<Snapshot> {
    handle.check_open()?;
    let none = || Error::NoTables { path: handle.path.clone() };
    Ok(handle.store.tables()?.ok_or_else(none)?.snapshot())
}
