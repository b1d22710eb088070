//! What a statement answered, batch by batch as JSON text.

use std::sync::{Arc, Mutex};

use folio::{ColumnBatch, ColumnType, Result, Rows, type_name};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::function::lock;
use crate::task::{Work, promise};
use crate::text::Text;
use crate::value::RowWriter;

/// Rows of one text, at most: what is asked for at once is parsed at once.
const ROWS_MAX: usize = 4096;

/// An answer. Its rows are taken one batch after another, from any thread.
#[napi]
pub struct NativeAnswer {
    count: Option<u64>,
    names: Vec<String>,
    types: Vec<ColumnType>,
    state: Arc<Mutex<State>>,
}

struct State {
    rows: Option<Rows>,
    /// What was pulled and not yet taken.
    batch: Option<ColumnBatch>,
    writer: RowWriter,
}

impl NativeAnswer {
    pub(crate) fn new(answer: folio::Answer) -> Self {
        let rows = answer.rows;
        let names = rows.as_ref().map(|rows| rows.names().to_vec()).unwrap_or_default();
        let types = rows.as_ref().map(|rows| rows.types().to_vec()).unwrap_or_default();
        let writer = RowWriter::new(&names, &types);
        let state = Arc::new(Mutex::new(State { rows, batch: None, writer }));
        Self { count: answer.count, names, types, state }
    }
}

#[napi]
impl NativeAnswer {
    /// How many rows were changed; null for statements that change none.
    #[napi(getter)]
    #[allow(clippy::cast_precision_loss)] // fewer rows than 2^53
    pub fn count(&self) -> Option<f64> {
        self.count.map(|count| count as f64)
    }

    /// The names of the columns.
    #[napi(getter)]
    pub fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The types of the columns, as SQL calls them.
    #[napi(getter)]
    pub fn types(&self) -> Vec<String> {
        self.types.iter().map(type_name).collect()
    }

    /// The next rows, at most `count`, as a JSON array of objects; null at the end.
    #[napi]
    pub fn next_rows(&self, count: u32) -> napi::Result<Option<Text>> {
        next_rows(&self.state, count as usize).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_rows_async(&self, count: u32) -> AsyncTask<Work<Option<Text>>> {
        let state = Arc::clone(&self.state);
        promise(move || next_rows(&state, count as usize))
    }
}

fn next_rows(state: &Mutex<State>, count: usize) -> Result<Option<Text>> {
    let mut state = lock(state)?;
    let State { rows, batch, writer } = &mut *state;
    let count = count.clamp(1, ROWS_MAX);
    while batch.as_ref().is_none_or(|batch| batch.row_count == 0) {
        let Some(pulled) = rows.as_mut().map(Rows::next_batch).transpose()?.flatten() else {
            *rows = None;
            return Ok(None);
        };
        *batch = Some(pulled);
    }
    let Some(whole) = batch.take() else { return Ok(None) };
    let taken = count.min(whole.row_count);
    let text = writer.write(&whole.slice(0, taken));
    if taken < whole.row_count {
        *batch = Some(whole.slice(taken, whole.row_count - taken));
    }
    Ok(Some(Text::of(text)))
}
