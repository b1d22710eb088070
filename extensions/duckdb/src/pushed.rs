//! What filters leave of a call's rows, as far as that is known before any is read.
//!
//! `WHERE filename = …` spares whole files, and `WHERE _id = …` leaves the documents of some ids, which
//! are looked up. DuckDB tells filters through one of its interfaces only; the option `id` does the
//! same for both.

use std::collections::HashSet;

/// Rows that need not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pushed {
    /// Whether a file, by its place, has none that are wanted; files behind the last are wanted.
    pub(crate) spared: Vec<bool>,
    /// The ids of the documents that are wanted; `None` for all.
    pub(crate) ids: Option<Vec<String>>,
}

impl Pushed {
    /// Leaves of the documents those that have one of these ids.
    pub(crate) fn keep(&mut self, ids: &[String]) {
        let mut wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        match &mut self.ids {
            Some(known) => known.retain(|id| wanted.contains(id.as_str())),
            // Each once, in the order that was asked for. What can be no id has no document.
            None => {
                let new = ids.iter().filter(|id| wanted.remove(id.as_str()));
                let sound = new.filter(|id| folio::check_document_id(id).is_ok());
                self.ids = Some(sound.cloned().collect());
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
