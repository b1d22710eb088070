//! Caches data about the names that rows use.
//!
//! The same names come in the same order in each row. So a ring stores what a writer has computed
//! for each name, in the order of a row, with a cursor at the expected next name. Rows may leave
//! names out. Names in no fixed order cost a few comparisons and are then looked up elsewhere.

use std::sync::Arc;

/// Maximum number of cached names.
const CAPACITY: usize = 128;

/// How many names in sequence a row may leave out.
const LEFT_OUT_MAX: usize = 3;

/// A ring of names with the cached data of each.
#[derive(Debug, Clone)]
pub(super) struct Recent<T> {
    names: Vec<(Arc<str>, T)>,
    /// The position of the expected name; at the end it is the first one.
    at: usize,
}

impl<T> Recent<T> {
    pub(super) fn new() -> Recent<T> {
        Recent { names: Vec::new(), at: 0 }
    }

    /// The cached data of `name`, if it is the expected name or follows soon.
    #[inline]
    pub(super) fn find(&mut self, name: &Arc<str>) -> Option<&T> {
        let next = if self.at < self.names.len() { self.at } else { 0 };
        let place = match self.names.get(next)?.0 {
            ref expected if Arc::ptr_eq(expected, name) || expected == name => next,
            _ => self.find_after(next, name)?,
        };
        self.at = place + 1;
        Some(&self.names[place].1)
    }

    fn find_after(&self, next: usize, name: &Arc<str>) -> Option<usize> {
        let places = (next + 1..self.names.len()).chain(0..next);
        places.take(LEFT_OUT_MAX).find(|place| self.names[*place].0 == *name)
    }

    /// Caches the data of `name`, which was not found, at its position, if there is room.
    pub(super) fn keep(&mut self, name: &Arc<str>, known: impl FnOnce() -> T) {
        if self.names.len() < CAPACITY {
            self.names.insert(self.at, (name.clone(), known()));
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a row's names are found. The others are cached.
    fn found(recent: &mut Recent<String>, row: &[&str]) -> usize {
        let mut found = 0;
        for name in row {
            // Names are compared by text, not by address.
            let name: Arc<str> = Arc::from(*name);
            match recent.find(&name) {
                Some(known) => {
                    assert_eq!(**known, *name);
                    found += 1;
                }
                None => recent.keep(&name, || name.to_string()),
            }
        }
        found
    }

    #[test]
    fn names_are_expected_in_the_order_of_rows() {
        let mut recent = Recent::new();
        assert_eq!(found(&mut recent, &["a", "b", "c"]), 0);
        assert_eq!(found(&mut recent, &["a", "b", "c"]), 3);
        assert_eq!(found(&mut recent, &["a", "c"]), 2, "one is left out");
        assert_eq!(found(&mut recent, &["b"]), 1, "the first is left out");
        assert_eq!(found(&mut recent, &["a", "new", "b", "c"]), 3);
        let order: Vec<&str> = recent.names.iter().map(|(name, _)| &**name).collect();
        assert_eq!(order, ["a", "new", "b", "c"]);
        assert_eq!(found(&mut recent, &["a", "new", "b", "c"]), 4);
        assert_eq!(found(&mut recent, &["c", "b", "a"]), 3, "another order");
    }

    #[test]
    fn a_name_is_not_looked_for_everywhere() {
        let mut recent = Recent::new();
        let names: Vec<String> = (0..3 * CAPACITY).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(found(&mut recent, &names), 0);
        assert_eq!(recent.names.len(), CAPACITY);
        assert_eq!(found(&mut recent, &names[..CAPACITY]), CAPACITY);
        assert_eq!(found(&mut recent, &names[LEFT_OUT_MAX..CAPACITY]), CAPACITY - LEFT_OUT_MAX);
        assert_eq!(found(&mut recent, &names[LEFT_OUT_MAX + 1..=LEFT_OUT_MAX + 1]), 0, "too far");
    }
}
