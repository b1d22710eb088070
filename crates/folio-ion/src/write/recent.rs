//! What is known of the names that rows use.
//!
//! The same names come in the same order row after row. So what a writer has worked out for a name is
//! kept in a ring, in the order of first use, behind a cursor that expects the next one.

use std::sync::Arc;

/// Names kept; rows with more of them, or with other names in each row, find the rest elsewhere.
const CAPACITY: usize = 128;

/// A ring of names with what is known of each.
#[derive(Debug, Clone)]
pub(super) struct Recent<T> {
    names: Vec<(Arc<str>, T)>,
    /// Where the next name is expected.
    at: usize,
}

impl<T> Recent<T> {
    pub(super) fn new() -> Recent<T> {
        Recent { names: Vec::new(), at: 0 }
    }

    /// What is known of `name`, if it is the one expected.
    #[inline]
    pub(super) fn expect(&mut self, name: &Arc<str>) -> Option<&T> {
        let (expected, known) = self.names.get(self.at)?;
        if !(Arc::ptr_eq(expected, name) || expected == name) {
            return None;
        }
        self.at = if self.at + 1 == self.names.len() { 0 } else { self.at + 1 };
        Some(known)
    }

    /// Expects what follows `name`, which was not expected, from here on; takes it in if it is new
    /// and there is room.
    pub(super) fn resume_behind(&mut self, name: &Arc<str>, known: impl FnOnce() -> T) {
        match self.names.iter().position(|(recent, _)| recent == name) {
            Some(place) => self.at = (place + 1) % self.names.len(),
            None if self.names.len() < CAPACITY => {
                self.names.push((name.clone(), known()));
                self.at = 0;
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_expected_in_the_order_of_the_first_row() {
        let mut recent = Recent::new();
        let names: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        for (number, name) in names.iter().enumerate() {
            assert_eq!(recent.expect(name), None);
            recent.resume_behind(name, || number);
        }
        for _ in 0..2 {
            for (number, name) in names.iter().enumerate() {
                // Told by its text, wherever that lies.
                assert_eq!(recent.expect(&Arc::from(&**name)), Some(&number));
            }
        }
        assert_eq!(recent.expect(&names[1]), None, "`a` is expected");
        recent.resume_behind(&names[1], || unreachable!("it is known"));
        assert_eq!(recent.expect(&names[2]), Some(&2));
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let mut recent = Recent::new();
        for number in 0..2 * CAPACITY {
            recent.resume_behind(&Arc::from(number.to_string()), || number);
        }
        assert_eq!(recent.names.len(), CAPACITY);
        assert_eq!(recent.expect(&Arc::from("0")), Some(&0));
    }
}
