//! The relation read by a table function: values of files or of a collection, or rows of a table.
//!
//! Each kind converts a call to columns, and columns to vectors, in its own way. Both interfaces to
//! DuckDB use this common type.

use crate::bind::{Bound, Call};
use crate::host::{HostValue, Vector};
use crate::host_type::HostType;
use crate::pushed::Pushed;
use crate::{scan, table};
use folio::{Database, OpenOptions};
use std::sync::Arc;

/// A bound call.
pub(crate) enum Relation {
    Values(Arc<Bound>),
    Table(Arc<table::Bound>),
}

/// A run of the call, shared by threads.
pub(crate) enum Scan {
    Values(Arc<Bound>, Box<scan::Scan>),
    Table(table::Scan),
}

/// The state of one thread.
#[derive(Default)]
pub(crate) struct Worker {
    values: scan::Worker,
    table: table::Worker,
}

impl Relation {
    /// Binds a call of `read_ion`.
    pub(crate) fn of_files(call: Call) -> Result<Relation, String> {
        Ok(Relation::Values(Arc::new(Bound::of(call)?)))
    }

    /// Binds a call of `read_folio`.
    pub(crate) fn of_database(call: Call) -> Result<Relation, String> {
        let text = |value: &HostValue| if value.is_null() { None } else { value.text() };
        let texts: Vec<_> = call.positional.iter().map(text).collect();
        let [Some(path), Some(name)] = &texts[..] else {
            return Err(
                "read_folio takes a database and a collection or table; neither may be NULL"
                    .to_owned(),
            );
        };
        let database = Database::open_with(path, &OpenOptions::read_only());
        let relation = database.and_then(|database| database.relation(name));
        let place = format!("{path}/{name}");
        match relation.map_err(|error| error.to_string())? {
            folio::Relation::Collection(collection) => {
                let bound = Bound::of_collection(&call, collection, place)?;
                Ok(Relation::Values(Arc::new(bound)))
            }
            folio::Relation::Table(table) => {
                Ok(Relation::Table(Arc::new(table::Bound::of(&call, table, place)?)))
            }
        }
    }

    /// The result columns, in order.
    pub(crate) fn columns(&self) -> Vec<(String, HostType)> {
        match self {
            Relation::Values(bound) => bound.columns(),
            Relation::Table(bound) => bound.columns(),
        }
    }

    /// The number of rows, if known.
    pub(crate) fn row_count(&self) -> Option<u64> {
        match self {
            Relation::Values(bound) => bound.options.ids.as_ref().map(|ids| ids.len() as u64),
            Relation::Table(bound) => Some(bound.row_count()),
        }
    }

    /// The number of threads that have work.
    pub(crate) fn threads(&self) -> u64 {
        match self {
            Relation::Values(bound) => scan::threads(bound),
            Relation::Table(bound) => bound.threads(),
        }
    }

    /// A scan of the columns at the positions `wanted`, with the rows that filters leave.
    pub(crate) fn scan(&self, wanted: &[u64], pushed: Pushed) -> Result<Scan, String> {
        Ok(match self {
            Relation::Values(bound) => {
                let scan = scan::Scan::new(bound, wanted, pushed);
                Scan::Values(Arc::clone(bound), Box::new(scan))
            }
            Relation::Table(bound) => Scan::Table(table::Scan::new(bound, wanted, pushed)?),
        })
    }
}

impl Scan {
    /// Gives the worker the next rows. Returns their number, zero at the end.
    pub(crate) fn next(&self, worker: &mut Worker) -> Result<usize, String> {
        match self {
            Scan::Values(bound, scan) => scan.next(bound, &mut worker.values),
            Scan::Table(scan) => scan.next(&mut worker.table),
        }
    }

    /// Copies the worker's rows into the vectors of the outputs.
    ///
    /// # Safety
    ///
    /// `vector` gives a flat vector for each of the scan's outputs, of the type it was bound with and
    /// with room for `count` rows, which [`Scan::next`] has just read.
    pub(crate) unsafe fn emit_rows(
        &self,
        worker: &Worker,
        count: usize,
        vector: impl Fn(usize) -> Vector,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Scan::Values(bound, scan) => scan.emit_rows(bound, &worker.values, count, vector),
                Scan::Table(scan) => scan.emit_rows(&worker.table, vector),
            }
        }
    }

    /// The position of the worker's rows in the scan, to put the rows of all threads in order. It
    /// never decreases.
    #[cfg(feature = "pinned")]
    pub(crate) fn batch_number(&self, worker: &Worker) -> u64 {
        match self {
            Scan::Values(..) => worker.values.batch_number(),
            Scan::Table(_) => worker.table.batch_number(),
        }
    }
}
