//! The result of a query: rows that are pulled.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use folio_compute::array::value_at;
use folio_compute::{Batch, JsonRows, Result, Span};
use folio_types::{ColumnType, Value};

use crate::context::Context;
use crate::execute::Running;
use crate::limits::Held;

/// Makes column names unique: a second `count` becomes `count_1`. Without this, rows read by
/// name would lose one of them. Names that are already unique do not change.
pub fn make_unique(names: &mut [String]) {
    let mut seen: HashSet<String> = HashSet::with_capacity(names.len());
    let repeats: Vec<usize> =
        (0..names.len()).filter(|index| !seen.insert(names[*index].clone())).collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for index in repeats {
        let count = counts.entry(names[index].clone()).or_default();
        let unique = loop {
            *count += 1;
            let name = format!("{}_{count}", names[index]);
            if seen.insert(name.clone()) {
                break name;
            }
        };
        names[index] = unique;
    }
}

/// The columns of a result. All runs of a statement share them.
#[derive(Default)]
pub(crate) struct Header {
    names: Vec<String>,
    types: Vec<ColumnType>,
    /// Writes the rows as JSON; made on first use.
    json: OnceLock<JsonRows>,
}

impl Header {
    pub(crate) fn new(names: Vec<String>, types: Vec<ColumnType>) -> Arc<Self> {
        Arc::new(Self { names, types, json: OnceLock::new() })
    }
}

/// The result of a query, pulled batch by batch.
pub struct Rows {
    pub(crate) header: Arc<Header>,
    pub(crate) state: State,
    pub(crate) text: Arc<str>,
    /// Where the statement begins in its text; ZiQL only.
    pub(crate) place: Option<Span>,
}

/// Where the rows come from.
pub(crate) enum State {
    /// Operators, and what they share.
    Running(Running, Context),
    /// Batches.
    Batches(std::vec::IntoIter<Batch>),
    /// One row without arrays, or none.
    Row(Option<Vec<Value>>),
}

impl State {
    pub(crate) fn running(running: Running, context: &Context) -> Self {
        Self::Running(running, context.clone())
    }
}

impl Rows {
    /// The rows of one batch, which no statement has made.
    #[must_use]
    pub fn of(names: Vec<String>, types: Vec<ColumnType>, batch: Batch) -> Self {
        let (header, state) = (Header::new(names, types), State::Batches(vec![batch].into_iter()));
        Self { header, state, text: "".into(), place: None }
    }

    /// The unique names of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.header.names
    }

    /// The types of the columns.
    #[must_use]
    pub fn types(&self) -> &[ColumnType] {
        &self.header.types
    }

    /// The next rows as columns; `None` after the last.
    ///
    /// # Errors
    /// Errors of the query; `cancelled`.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        match &mut self.state {
            State::Running(running, context) => {
                context.check()?;
                let next = context.limits().over(|| running.next(context));
                next.map_err(|error| match self.place {
                    Some(place) => error.in_ziql(place, &self.text),
                    None => error.in_text(&self.text),
                })
            }
            State::Batches(batches) => Ok(batches.next()),
            State::Row(row) => match row.take() {
                None => Ok(None),
                Some(row) => Batch::of_row(&row, self.types()).map(Some),
            },
        }
    }

    /// The row of a query that answers one row without arrays. `None` for all other queries, and
    /// once the row is taken.
    pub fn take_row(&mut self) -> Option<Vec<Value>> {
        match &mut self.state {
            State::Row(row) => row.take(),
            _ => None,
        }
    }

    /// Runs the query to its end and buffers the rows.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn gather(&mut self) -> Result<()> {
        let State::Running(_, context) = &self.state else { return Ok(()) };
        let limits = context.limits().clone();
        let (mut batches, mut held) = (Vec::new(), Held::default());
        while let Some(batch) = self.next_batch()? {
            held.charge(&limits, held.size() + batch.size())?;
            batches.push(batch);
        }
        self.state = State::Batches(batches.into_iter());
        Ok(())
    }

    /// All remaining rows.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn collect_rows(&mut self) -> Result<Vec<Vec<Value>>> {
        if let Some(row) = self.take_row() {
            return Ok(vec![row]);
        }
        let mut rows = Vec::new();
        while let Some(batch) = self.next_batch()? {
            for row in 0..batch.row_count {
                let values = batch.columns.iter().zip(&self.header.types);
                rows.push(values.map(|(array, ty)| value_at(array, row, ty)).collect());
            }
        }
        Ok(rows)
    }

    /// Appends the next rows as JSON objects, as UTF-8, with `between` before each but the first.
    /// `is_first` is true until a row is written. Returns the number of rows, or `None` after the
    /// last.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn next_json(
        &mut self,
        between: &str,
        is_first: &mut bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>> {
        let header = Arc::clone(&self.header);
        let writer = header.json.get_or_init(|| JsonRows::new(&header.names, &header.types));
        if let Some(row) = self.take_row() {
            if !std::mem::take(is_first) {
                out.extend_from_slice(between.as_bytes());
            }
            writer.write_row(&row, out);
            return Ok(Some(1));
        }
        let Some(batch) = self.next_batch()? else { return Ok(None) };
        writer.write(&batch, between, is_first, out);
        Ok(Some(batch.row_count))
    }

    /// All remaining rows as one JSON array of objects.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn to_json(&mut self) -> Result<String> {
        let (mut out, mut is_first) = (Vec::from(b"["), true);
        while self.next_json(",", &mut is_first, &mut out)?.is_some() {}
        out.push(b']');
        Ok(String::from_utf8(out).expect("names, texts and numbers are UTF-8"))
    }
}
