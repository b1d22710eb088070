//! What filters leave of a call's rows, as far as that is known before any is read.
//!
//! `WHERE filename = …` spares whole files, and `WHERE _id = …` leaves the documents of some ids, which
//! are looked up, as are the rows of a table by their keys. DuckDB tells filters through one of its interfaces only; the option `id` does the
//! same for both.

use std::collections::HashSet;

/// Rows that need not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pushed {
    /// Whether a file, by its place, has none that are wanted; files behind the last are wanted.
    pub(crate) spared: Vec<bool>,
    /// The ids of the documents that are wanted, or the keys of rows as text; `None` for all.
    pub(crate) ids: Option<Vec<String>>,
}

impl Pushed {
    /// Leaves of the documents or rows those that have one of these ids.
    pub(crate) fn keep(&mut self, ids: &[String]) {
        let mut wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        match &mut self.ids {
            Some(known) => known.retain(|id| wanted.contains(id.as_str())),
            // Each once, in the order that was asked for.
            None => {
                let new = ids.iter().filter(|id| wanted.remove(id.as_str()));
                self.ids = Some(new.cloned().collect());
            }
        }
    }

    /// Leaves what these filters leave, too.
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
