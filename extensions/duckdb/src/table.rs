//! Rows of a FolioDB table, for `read_folio`.
//!
//! A table's columns have types, so nothing is inferred. All threads read one commit, despite
//! concurrent writers. The table is split into parts, in key order, and each thread takes the next
//! one. Rows wanted by key are looked up instead. Batches are Arrow arrays of the wanted columns;
//! no other column is decoded.

use crate::bind::Call;
use crate::emit_arrow::emit;
use crate::host::{Vector, vector_size};
use crate::host_type::{HostType, make_distinct};
use crate::options::Options;
use crate::profile::{Phase, Profile};
use crate::pushed::Pushed;
use arrow_array::RecordBatch;
use folio::{ColumnType, TableScan, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// The approximate number of rows of a part.
const PART_ROWS: u64 = 32 << 10;

/// The maximum number of parts of a scan.
const PARTS_MAX: u64 = 512;

/// The options for tables.
const NAMES: [&str; 2] = ["profile", "id"];

/// A table, and its result columns.
pub(crate) struct Bound {
    table: folio::Table,
    /// Its database and its name, for errors.
    place: String,
    columns: Vec<(String, HostType)>,
    profile: bool,
    /// The keys of the rows to read, as text; `None` for all.
    ids: Option<Vec<String>>,
}

impl Bound {
    /// Binds a call that names a table.
    pub(crate) fn of(call: &Call, table: folio::Table, place: String) -> Result<Bound, String> {
        let options = Options::of(&call.named)?;
        if let Some((name, _)) = call.named.iter().find(|(name, _)| !NAMES.contains(name)) {
            return Err(format!(
                "option '{name}' is for collections; \"{place}\" is a table, whose columns have types"
            ));
        }
        let mut columns = Vec::new();
        for column in table.columns() {
            let column_type = HostType::of_column(&column.column_type).ok_or_else(|| {
                format!(
                    "column \"{}\" of \"{place}\" has a type that this release does not know",
                    column.name
                )
            })?;
            columns.push((column.name.clone(), column_type));
        }
        make_distinct(columns.iter_mut().map(|(name, _)| name));
        let bound = Bound { table, place, columns, profile: options.profile, ids: options.ids };
        if bound.ids.is_some() && bound.key().is_none() {
            return Err(format!(
                "option 'id' is for tables whose key is one column of integers or text; \"{}\" has none",
                bound.place
            ));
        }
        Ok(bound)
    }

    /// The position of the key column, if the key is one column whose values have a text form.
    pub(crate) fn key(&self) -> Option<usize> {
        let key = self.table.key_column()?;
        let key_type = &self.table.columns()[key].column_type;
        let known = matches!(
            key_type,
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 | ColumnType::Text
        );
        known.then_some(key)
    }

    /// The keys with these texts, without invalid ones.
    fn keys(&self, ids: &[String]) -> Vec<Value> {
        let Some(key) = self.key() else { return Vec::new() };
        let key_type = &self.table.columns()[key].column_type;
        let value = |id: &String| match key_type {
            ColumnType::Text => Some(Value::Text(id.clone())),
            ColumnType::Int16 => id.parse::<i16>().ok().map(|key| Value::Integer(key.into())),
            ColumnType::Int32 => id.parse::<i32>().ok().map(|key| Value::Integer(key.into())),
            _ => id.parse().ok().map(Value::Integer),
        };
        ids.iter().filter_map(value).collect()
    }

    /// The result columns, in order.
    pub(crate) fn columns(&self) -> Vec<(String, HostType)> {
        self.columns.clone()
    }

    /// The number of rows when the call was bound, or the number of requested keys.
    pub(crate) fn row_count(&self) -> u64 {
        let all = self.table.row_count();
        self.ids.as_ref().map_or(all, |ids| all.min(ids.len() as u64))
    }

    /// The number of parts, as the number of threads.
    pub(crate) fn threads(&self) -> u64 {
        (self.row_count() / PART_ROWS + 1).min(PARTS_MAX)
    }
}

/// The state shared by the threads of one scan.
pub(crate) struct Scan {
    place: String,
    /// For each vector of a chunk, its column in the batches.
    outputs: Vec<Option<usize>>,
    /// Parts that no thread has taken yet, with their numbers.
    parts: Mutex<std::iter::Enumerate<std::vec::IntoIter<TableScan>>>,
    profile: Profile,
}

/// The state of a thread between calls.
#[derive(Default)]
pub(crate) struct Worker {
    part: Option<TableScan>,
    /// The position of the part in the scan.
    number: u64,
    batch: Option<RecordBatch>,
}

impl Worker {
    /// Puts the rows of all threads in order. It never decreases.
    #[cfg(feature = "pinned")]
    pub(crate) fn batch_number(&self) -> u64 {
        self.number
    }
}

impl Scan {
    /// A scan of the columns at the positions `wanted`, with the rows that filters leave, as of
    /// now.
    pub(crate) fn new(
        bound: &Arc<Bound>,
        wanted: &[u64],
        mut pushed: Pushed,
    ) -> Result<Scan, String> {
        if let Some(ids) = &bound.ids {
            pushed.keep(ids);
        }
        let mut columns = Vec::new();
        let mut outputs = Vec::new();
        for index in wanted {
            // DuckDB requests a column that does not exist for a query without columns.
            let column = usize::try_from(*index).ok().filter(|at| *at < bound.columns.len());
            outputs.push(column.map(|_| columns.len()));
            columns.extend(column);
        }
        let count = bound.threads() as usize;
        let parts = match pushed.ids {
            Some(ids) => bound.table.scan_keys(&columns, vector_size(), &bound.keys(&ids)),
            None => bound.table.scan_parts(&columns, vector_size(), count),
        };
        let parts = parts.map_err(|error| format!("\"{}\": {error}", bound.place))?;
        Ok(Scan {
            place: bound.place.clone(),
            outputs,
            parts: Mutex::new(parts.into_iter().enumerate()),
            profile: Profile::new(bound.profile),
        })
    }

    /// Gives the worker the next rows. Returns their number, zero at the end.
    pub(crate) fn next(&self, worker: &mut Worker) -> Result<usize, String> {
        loop {
            let Some(part) = &mut worker.part else {
                let next = self.parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, part)) = next else { return Ok(0) };
                worker.number = number as u64;
                worker.part = Some(part);
                continue;
            };
            let batch = self.profile.time(Phase::Parse, || part.next());
            let batch =
                batch.transpose().map_err(|error| format!("\"{}\": {error}", self.place))?;
            worker.batch = batch;
            match &worker.batch {
                Some(batch) if batch.num_rows() > 0 => {
                    self.profile.block(batch.get_array_memory_size(), batch.num_rows() as u64);
                    return Ok(batch.num_rows());
                }
                Some(_) => {}
                None => worker.part = None,
            }
        }
    }

    /// Copies the worker's rows into the vectors of the outputs.
    ///
    /// # Safety
    ///
    /// `vector` gives a flat vector for each of the scan's outputs, of the type it was bound with and
    /// with room for the rows that [`Scan::next`] has just read.
    pub(crate) unsafe fn emit_rows(
        &self,
        worker: &Worker,
        vector: impl Fn(usize) -> Vector,
    ) -> Result<(), String> {
        let Some(batch) = &worker.batch else { return Ok(()) };
        self.profile.time(Phase::Emit, || {
            let wanted = self.outputs.iter().enumerate();
            for (index, column) in wanted.filter_map(|(index, column)| Some((index, (*column)?))) {
                // SAFETY: the caller's promise; a table's arrays have the types that it was bound with.
                unsafe { emit(&**batch.column(column), vector(index))? }
            }
            Ok(())
        })
    }
}
