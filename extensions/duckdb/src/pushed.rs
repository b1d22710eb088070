//! The rows of a call that filters leave, as far as that is known before reading.
//!
//! `WHERE filename = …` skips whole files. `WHERE _id = …` selects documents, which are looked up
//! by id, or rows of a table, which are looked up by key. DuckDB passes filters through only one of
//! its interfaces; the option `id` does the same for both.

use std::collections::HashSet;

/// The rows that need not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pushed {
    /// Whether a file, by index, has no wanted rows; files beyond the end are wanted.
    pub(crate) spared: Vec<bool>,
    /// The ids of the wanted documents, or the keys of rows as text; `None` for all.
    pub(crate) ids: Option<Vec<String>>,
}

impl Pushed {
    /// Restricts the documents or rows to those with one of these ids.
    pub(crate) fn keep(&mut self, ids: &[String]) {
        let mut wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        match &mut self.ids {
            Some(known) => known.retain(|id| wanted.contains(id.as_str())),
            // Each once, in the requested order.
            None => {
                let new = ids.iter().filter(|id| wanted.remove(id.as_str()));
                self.ids = Some(new.cloned().collect());
            }
        }
    }

    /// Widens the result to include what these filters leave.
    #[cfg(feature = "pinned")]
    pub(crate) fn widen(&mut self, other: Pushed) {
        let both = self.spared.iter().zip(&other.spared).map(|(one, other)| *one && *other);
        self.spared = both.collect();
        self.ids = match (self.ids.take(), other.ids) {
            (Some(ids), Some(others)) => {
                let all: Vec<String> = ids.into_iter().chain(others).collect();
                let mut pushed = Pushed::default();
                pushed.keep(&all);
                pushed.ids
            }
            _ => None,
        };
    }
}
