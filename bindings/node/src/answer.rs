//! The result of a statement, batch by batch as JSON text.

use std::sync::{Arc, Mutex};

use folio::{ColumnBatch, ColumnType, Error, Result, Rows, type_name};
use napi::bindgen_prelude::{AsyncTask, Buffer, Either};
use napi_derive::napi;

use crate::error::thrown;
use crate::function::lock;
use crate::glance::within;
use crate::task::{Work, promise};
use crate::text::Text;
use crate::value::RowWriter;

/// The maximum number of rows of one text, which is parsed at once.
const ROWS_MAX: usize = 4096;

/// An answer. Its rows are taken one batch after another, from any thread.
#[napi]
pub struct NativeAnswer {
    count: Option<u64>,
    names: Vec<String>,
    types: Vec<ColumnType>,
    state: Arc<Mutex<State>>,
}

/// Rows as a JSON array of objects; see [`crate::value`].
type RowsText = Either<Text, TextBesideBytes>;

/// The text of rows, and the bytes that it refers to.
#[napi(object, object_from_js = false)]
pub struct TextBesideBytes {
    /// A JSON array.
    pub text: Text,
    /// Those of all values, one after another.
    pub bytes: Buffer,
}

struct State {
    rows: Option<Rows>,
    /// Rows pulled but not yet taken.
    batch: Option<ColumnBatch>,
    /// Why the next rows cannot be pulled; reported when they are taken.
    fault: Option<Error>,
    writer: RowWriter,
}

impl NativeAnswer {
    pub(crate) fn new(answer: folio::Answer) -> Self {
        let rows = answer.rows;
        let names = rows.as_ref().map(|rows| rows.names().to_vec()).unwrap_or_default();
        let types = rows.as_ref().map(|rows| rows.types().to_vec()).unwrap_or_default();
        let writer = RowWriter::new(&names, &types);
        let state = Arc::new(Mutex::new(State { rows, batch: None, fault: None, writer }));
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

    /// The next rows, at most `count`; null at the end.
    #[napi]
    pub fn next_rows(&self, count: u32) -> napi::Result<Option<RowsText>> {
        next_rows(&self.state, count as usize).map_err(thrown)
    }

    /// The same, if it takes no longer than this; else an empty text, and the rows are
    /// there for the next call.
    #[napi]
    pub fn next_rows_within(&self, count: u32, wait_ms: u32) -> napi::Result<Option<RowsText>> {
        let state = Arc::clone(&self.state);
        match within(wait_ms, move || next_rows_ready(&state)) {
            Some(ready) => ready.map_err(thrown).and_then(|()| self.next_rows(count)),
            None => Ok(Some(Either::A(Text::default()))),
        }
    }

    /// Lets go of what the rows hold, those that are left included.
    #[napi]
    pub fn end(&self) -> napi::Result<()> {
        let mut state = lock(&self.state).map_err(thrown)?;
        (state.rows, state.batch, state.fault) = (None, None, None);
        Ok(())
    }

    /// `next_rows` on another thread.
    #[napi]
    pub fn next_rows_async(&self, count: u32) -> AsyncTask<Work<Option<RowsText>>> {
        let state = Arc::clone(&self.state);
        promise(move || next_rows(&state, count as usize))
    }
}

fn next_rows_ready(state: &Mutex<State>) -> Result<()> {
    lock(state).map(|mut state| state.pull())
}

fn next_rows(state: &Mutex<State>, count: usize) -> Result<Option<RowsText>> {
    let mut state = lock(state)?;
    state.pull();
    if let Some(fault) = state.fault.take() {
        return Err(fault);
    }
    let Some(whole) = state.batch.take() else { return Ok(None) };
    let taken = count.clamp(1, ROWS_MAX).min(whole.row_count);
    let (text, bytes) = state.writer.write(&whole.slice(0, taken));
    if taken < whole.row_count {
        state.batch = Some(whole.slice(taken, whole.row_count - taken));
    }
    let text = Text::of(text);
    Ok(Some(match bytes.is_empty() {
        true => Either::A(text),
        false => Either::B(TextBesideBytes { text, bytes: bytes.into() }),
    }))
}

impl State {
    /// Pulls rows if none are left. Afterwards there is a batch or an error, or neither at the end.
    fn pull(&mut self) {
        while self.fault.is_none() && self.batch.as_ref().is_none_or(|batch| batch.row_count == 0) {
            match self.rows.as_mut().map(Rows::next_batch).transpose() {
                Ok(Some(Some(pulled))) => self.batch = Some(pulled),
                Ok(_) => {
                    (self.rows, self.batch) = (None, None);
                    return;
                }
                Err(fault) => self.fault = Some(fault.into()),
            }
        }
    }
}
