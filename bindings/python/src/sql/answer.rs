//! The result of a statement: the number of changed rows, and rows to be read.
//!
//! A batch of columns is read without the interpreter's lock; each `next` makes one row of it.
//! Memory does not grow with the result.

use std::sync::{Arc, Mutex, MutexGuard};

use folio::{ColumnBatch, ColumnType, ErrorCode, Rows, Value, type_name};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString, PyTuple};

use super::stream::{Batches, schema};
use super::value::Converter;
use crate::arrow;
use crate::count::Count;
use crate::decode::PausedCollector;
use crate::error::{invalid, is_invalid, with_code};
use crate::fork::Owned;
use crate::watcher::Watcher;

/// What a row becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Tuple,
    Dict,
}

/// The result of a statement: an iterator over its rows.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct Answer {
    count: Option<u64>,
    names: Vec<String>,
    types: Vec<ColumnType>,
    keys: Vec<Py<PyString>>,
    form: Form,
    watcher: Arc<Watcher>,
    state: Mutex<State>,
}

struct State {
    rows: Option<Owned<Rows>>,
    batch: Option<ColumnBatch>,
    /// The next row of the batch.
    next: usize,
    /// The only row, if there are no columns.
    row: Option<Vec<Value>>,
    /// An error of a preview of the first rows, raised when they are taken.
    failed: Option<PyErr>,
    converter: Converter,
}

impl Answer {
    pub(super) fn new(answer: folio::Answer, form: Form, watcher: Arc<Watcher>) -> Self {
        let (mut names, mut types, mut row) = (Vec::new(), Vec::new(), None);
        let rows = answer.rows.map(|mut rows| {
            (names, types) = (rows.names().to_vec(), rows.types().to_vec());
            if form == Form::Tuple {
                row = rows.take_row();
            }
            Owned::new(rows)
        });
        let keys = match form {
            Form::Tuple => Vec::new(),
            Form::Dict => Python::attach(|py| keys(py, &names)),
        };
        let state =
            State { rows, batch: None, next: 0, row, failed: None, converter: Converter::new() };
        let count = answer.count;
        Self { count, names, types, keys, form, watcher, state: Mutex::new(state) }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| {
            PyValueError::new_err(
                "the answer is in use by another thread; use one answer per thread",
            )
        })
    }

    /// The next row; `None` at the end.
    fn next<'py>(
        &self,
        py: Python<'py>,
        state: &mut State,
        form: Form,
        keys: &[Py<PyString>],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(row) = state.row.take() {
            state.rows = None;
            let converter = &mut state.converter;
            let values = row.iter().zip(&self.types).zip(&self.names);
            let values = values.map(|((value, ty), name)| {
                converter.value(py, value, ty).map_err(|error| in_column(py, error, name))
            });
            return Self::shape(py, values, form, keys).map(Some);
        }
        if !self.fill(py, state)? {
            return Ok(None);
        }
        let State { batch, next, converter, .. } = state;
        let Some(batch) = batch else { return Ok(None) };
        let row = *next;
        *next += 1;
        let columns = batch.columns.iter().zip(&self.types).zip(&self.names);
        let values = columns.map(|((array, ty), name)| {
            converter.cell(py, array, row, ty).map_err(|error| in_column(py, error, name))
        });
        Self::shape(py, values, form, keys).map(Some)
    }

    fn shape<'py>(
        py: Python<'py>,
        values: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
        form: Form,
        keys: &[Py<PyString>],
    ) -> PyResult<Bound<'py, PyAny>> {
        match form {
            Form::Tuple => {
                let values = values.collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, values)?.into_any())
            }
            Form::Dict => {
                let dict = PyDict::new(py);
                for (key, value) in keys.iter().zip(values) {
                    dict.set_item(key, value?)?;
                }
                Ok(dict.into_any())
            }
        }
    }

    fn take<'py>(
        &self,
        py: Python<'py>,
        count: Option<usize>,
        form: Form,
    ) -> PyResult<Bound<'py, PyList>> {
        let own = if form == Form::Dict { keys(py, &self.names) } else { Vec::new() };
        let mut state = self.lock()?;
        let _paused = PausedCollector::new(py);
        let list = PyList::empty(py);
        while count.is_none_or(|count| list.len() < count)
            && let Some(row) = self.next(py, &mut state, form, &own)?
        {
            list.append(row)?;
        }
        Ok(list)
    }

    /// Ensures that the batch has a row; `false` at the end.
    fn fill(&self, py: Python<'_>, state: &mut State) -> PyResult<bool> {
        while state.left() == 0 {
            state.failed.take().map_or(Ok(()), Err)?;
            state.batch = None;
            (state.batch, state.next) = (self.read(py, state)?, 0);
            if state.batch.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the next batch, without the interpreter's lock; `None` at the end.
    fn read(&self, py: Python<'_>, state: &mut State) -> PyResult<Option<ColumnBatch>> {
        let Some(owned) = &mut state.rows else { return Ok(None) };
        let Some(rows) = owned.get_mut() else {
            let text = "the answer was created before the fork; run the statement again";
            return Err(with_code(ErrorCode::Closed, text));
        };
        let batch = self.watcher.run(py, || Ok(rows.next_batch()?))?;
        if batch.is_none() {
            state.rows = None;
        }
        Ok(batch)
    }

    /// Ensures that the batch has this many rows, or all that are left.
    fn fill_up(&self, py: Python<'_>, state: &mut State, count: usize) -> PyResult<()> {
        while state.left() < count
            && let Some(more) = self.read(py, state)?
        {
            let (next, batch) = (state.next, state.batch.take());
            let begun = batch.map(|batch| batch.slice(next, batch.row_count - next));
            let parts: Vec<_> = begun.into_iter().chain([more]).collect();
            let whole = ColumnBatch::concat(&parts);
            let whole = whole.map_err(|error| with_code(error.code(), error))?;
            (state.batch, state.next) = (Some(whole), 0);
        }
        Ok(())
    }
}

impl State {
    /// The number of rows of the batch not taken yet.
    fn left(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.row_count - self.next)
    }
}

/// The error of a value that Python has no object for, with the name of its column.
#[cold]
fn in_column(py: Python<'_>, error: PyErr, name: &str) -> PyErr {
    match is_invalid(py, &error) {
        true => invalid(format!("column {name:?}: {}", error.value(py))),
        false => error,
    }
}

fn keys(py: Python<'_>, names: &[String]) -> Vec<Py<PyString>> {
    names.iter().map(|name| PyString::intern(py, name).unbind()).collect()
}

#[pymethods]
impl Answer {
    /// The number of rows inserted, changed or deleted; `None` for other statements.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.count
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The SQL types of the columns.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.types.iter().map(type_name).collect()
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.next(py, &mut *self.lock()?, self.form, &self.keys)
    }

    /// The next row, or `None`.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.__next__(py)
    }

    /// The next rows, at most `size`, in a list.
    #[pyo3(signature = (size=Count(1)), text_signature = "($self, size=1)")]
    fn fetchmany<'py>(&self, py: Python<'py>, size: Count) -> PyResult<Bound<'py, PyList>> {
        self.take(py, Some(size.size()), self.form)
    }

    /// All remaining rows, in a list.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.take(py, None, self.form)
    }

    /// All remaining rows as dicts; of columns with the same name the last.
    fn dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.take(py, None, Form::Dict)
    }

    /// All remaining rows as tuples.
    fn tuples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.take(py, None, Form::Tuple)
    }

    /// The remaining rows as a pyarrow table (needs pyarrow).
    fn arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// The remaining rows as a pandas frame (needs pandas and pyarrow).
    fn df<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::arrow(slf)?.call_method0("to_pandas")
    }

    /// The remaining rows as a polars frame (needs polars, and pyarrow for intervals, which become
    /// text).
    fn pl<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foliodb.frames")?.call_method1("polars_frame", (slf,))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foliodb.table")?.call_method1("answer_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foliodb.table")?.call_method1("answer_html", (slf,))
    }

    /// The next rows as tuples without consuming them, the number of further rows read, and
    /// whether these are all. An error is raised when the rows are consumed.
    fn _peek<'py>(
        &self,
        py: Python<'py>,
        count: usize,
    ) -> PyResult<(Bound<'py, PyList>, usize, bool)> {
        let mut state = self.lock()?;
        let list = PyList::empty(py);
        if let Some(row) = state.row.clone() {
            let rows = state.rows.take();
            list.append(self.next(py, &mut state, Form::Tuple, &[])?)?;
            (state.row, state.rows) = (Some(row), rows);
            return Ok((list, 0, true));
        }
        if state.failed.is_none()
            && let Err(error) = self.fill_up(py, &mut state, count)
        {
            state.failed = Some(error);
        }
        let (begun, left) = (state.next, state.left());
        if left == 0
            && let Some(error) = &state.failed
        {
            return Err(error.clone_ref(py));
        }
        for _ in 0..left.min(count) {
            list.append(self.next(py, &mut state, Form::Tuple, &[])?)?;
        }
        state.next = begun;
        let is_all = state.rows.is_none() && state.failed.is_none();
        Ok((list, left - left.min(count), is_all))
    }

    /// The remaining rows as a stream of Arrow record batches, which consumes them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // By the protocol a request is optional; consumers cast what they get.
        drop(requested_schema);
        let mut state = self.lock()?;
        state.failed.take().map_or(Ok(()), Err)?;
        let begun = match state.row.take() {
            Some(row) => Some(
                ColumnBatch::of_row(&row, &self.types)
                    .map_err(|error| with_code(error.code(), error))?,
            ),
            None => {
                let next = state.next;
                state.batch.take().map(|batch| batch.slice(next, batch.row_count - next))
            }
        };
        let rows = state.rows.take();
        arrow::capsule(py, Batches::new(schema(&self.names, &self.types), begun, rows))
    }

    /// The columns of that stream.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_capsule(py, &schema(&self.names, &self.types))
    }
}
