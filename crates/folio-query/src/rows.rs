//! The answer of a query: rows that are pulled.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use folio_types::{ColumnType, Value};

use crate::batch::Batch;
use crate::error::Result;
use crate::execute::Running;
use crate::execute::context::Context;
use crate::expression::value::value_at;
use crate::json_rows::JsonRows;
use crate::limits::Held;
use crate::span::Span;

/// Gives columns of one name names of their own, `count` and `count_1`: who reads rows by
/// their keys would miss one of them. A name that is there stays whose it is.
pub(crate) fn make_unique(names: &mut [String]) {
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

/// The answer of a query, pulled batch by batch.
pub struct Rows {
    pub(crate) names: Arc<[String]>,
    pub(crate) types: Arc<[ColumnType]>,
    pub(crate) state: State,
    pub(crate) context: Context,
    pub(crate) text: Arc<str>,
    /// Where the statement stands in its text, if that is ZiQL.
    pub(crate) place: Option<Span>,
    /// What writes them as JSON, once anybody has asked.
    pub(crate) json: Arc<OnceLock<JsonRows>>,
}

/// Where the rows come from.
pub(crate) enum State {
    /// Operators.
    Running(Running),
    /// One batch.
    Batch(Option<Batch>),
    /// Several.
    Batches(std::vec::IntoIter<Batch>),
    /// One row that needs no arrays; none where there is no row.
    Row(Option<Vec<Value>>),
}

impl Rows {
    /// The names of the columns, each another.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The types of the columns.
    #[must_use]
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// The next rows as columns; `None` after the last.
    ///
    /// # Errors
    /// What the query says; `cancelled`.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        match &mut self.state {
            State::Running(running) => {
                self.context.check()?;
                running.next(&self.context).map_err(|error| match self.place {
                    Some(place) => error.in_ziql(place, &self.text),
                    None => error.in_text(&self.text),
                })
            }
            State::Batch(batch) => Ok(batch.take()),
            State::Batches(batches) => Ok(batches.next()),
            State::Row(row) => match row.take() {
                None => Ok(None),
                Some(row) => Batch::of_row(&row, &self.types).map(Some),
            },
        }
    }

    /// The only row of a short query, without arrays in between; `None` for all
    /// other queries, and when it has been taken.
    pub fn take_row(&mut self) -> Option<Vec<Value>> {
        match &mut self.state {
            State::Row(row) => row.take(),
            _ => None,
        }
    }

    /// Runs the query to its end and keeps the rows.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn gather(&mut self) -> Result<()> {
        let (mut batches, mut held) = (Vec::new(), Held::default());
        while let Some(batch) = self.next_batch()? {
            held.grow_in(self.context.limits(), batch.size())?;
            batches.push(batch);
        }
        self.state = State::Batches(batches.into_iter());
        Ok(())
    }

    /// All rows that are left.
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
                let values = batch.columns.iter().zip(&*self.types);
                rows.push(values.map(|(array, ty)| value_at(array, row, ty)).collect());
            }
        }
        Ok(rows)
    }
}
