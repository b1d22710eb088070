//! The walk over a line: a tree of the names that lead to wanted paths.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::condition::Check;
use super::place::{Form, Place};
use crate::column::Result;
use crate::keys::{Guess, Keys};
use crate::token::{Kind, Tokens};

/// A path that is wanted or leads to such paths. It can be both.
#[derive(Debug)]
pub(super) struct Node {
    keys: Keys,
    /// The nodes below, by the positions of their keys.
    children: Vec<Node>,
    /// Where to note the place of the value, if it is wanted.
    slot: Option<usize>,
    /// The conditions of the value.
    checks: Vec<usize>,
    /// The slots of the value and of everything below.
    slots: Range<usize>,
    /// The child that came last in the last object, if others than children were before it: if
    /// nothing else is missing, its key can be searched for.
    far: Option<usize>,
    /// How many more searches may fail. Where brackets are before the key, all do.
    tries: u8,
}

/// Strangers before a key from which on searching for it is faster than walking to it.
const FAR: usize = 2;

/// See [`Node::tries`].
const TRIES: u8 = 8;

/// Gives each wanted path a slot, so that a node and everything below have slots in a row.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The slots of paths, by position: the fields, then the conditions.
    pub(super) slots: Vec<usize>,
    pub(super) slot_count: usize,
    field_count: usize,
}

impl Layout {
    pub(super) fn new(field_count: usize, condition_count: usize) -> Self {
        Self { slots: vec![0; field_count + condition_count], slot_count: 0, field_count }
    }

    /// The node at which `wanted` begin: what is left of each path, with its position.
    pub(super) fn node(&mut self, wanted: &[(usize, &[String])]) -> Node {
        let start = self.slot_count;
        let mut names: Vec<&str> = Vec::new();
        let mut below: Vec<Vec<(usize, &[String])>> = Vec::new();
        let mut by_name: HashMap<&str, usize, RandomState> = HashMap::default();
        let (mut slot, mut checks) = (None, Vec::new());
        for (position, path) in wanted {
            let Some((name, rest)) = path.split_first() else {
                self.slot_count = start + 1;
                self.slots[*position] = *slot.insert(start);
                checks.extend(position.checked_sub(self.field_count));
                continue;
            };
            let place = *by_name.entry(name).or_insert(names.len());
            if place == names.len() {
                names.push(name);
                below.push(Vec::new());
            }
            below[place].push((*position, rest));
        }
        let children = below.iter().map(|wanted| self.node(wanted)).collect();
        let keys = Keys::new(names.into_iter());
        Node {
            keys,
            children,
            slot,
            checks,
            slots: start..self.slot_count,
            far: None,
            tries: TRIES,
        }
    }
}

/// The state of the walk over one line.
pub(super) struct Walk<'l, 'c> {
    pub(super) line: &'l [u8],
    pub(super) tokens: Tokens<'l>,
    pub(super) places: &'c mut [Place],
    pub(super) checks: &'c [(usize, Check)],
    pub(super) keys_are_distinct: bool,
}

impl Node {
    /// Walks the next value; `false` if a condition rejects the line. If `is_last`, nothing is
    /// wanted after the value.
    #[inline]
    pub(super) fn value(&mut self, walk: &mut Walk<'_, '_>, is_last: bool) -> Result<bool> {
        if !walk.keys_are_distinct && !self.children.is_empty() {
            walk.places[self.slots.clone()].fill(Place::default());
        }
        let kind = walk.tokens.peek()?;
        let start = walk.tokens.at();
        let form = match kind {
            Kind::Text => {
                let (_, has_escapes) = walk.tokens.text()?;
                if has_escapes { Form::Escaped } else { Form::Plain }
            }
            Kind::Null => {
                walk.tokens.word()?;
                Form::Absent
            }
            Kind::Object if !self.children.is_empty() => {
                if !self.object(walk, is_last && self.slot.is_none())? {
                    return Ok(false);
                }
                Form::Other
            }
            // Whoever decodes it finds its end.
            _ if is_last && self.checks.is_empty() => {
                if let Some(slot) = self.slot {
                    walk.places[slot] = Place::new(start, walk.line.len(), Form::Open);
                }
                return Ok(true);
            }
            _ => {
                walk.tokens.skip()?;
                Form::Other
            }
        };
        let Some(slot) = self.slot else { return Ok(true) };
        let place = Place::new(start, walk.tokens.at(), form);
        walk.places[slot] = place;
        if walk.keys_are_distinct {
            for check in &self.checks {
                if !walk.checks[*check].1.holds(&place, walk.line)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Walks an object, whose brace comes next. If `is_last`, it need not be walked to its end.
    fn object(&mut self, walk: &mut Walk<'_, '_>, is_last: bool) -> Result<bool> {
        let mut missing_count = self.children.len();
        let mut stranger_count = 0;
        let mut guess = self.keys.start();
        let mut next = match self.leap(walk, missing_count, &mut guess) {
            None => self.keys.first(&mut walk.tokens, &mut guess)?,
            found => found,
        };
        while let Some(key) = next {
            if let Some(child) = self.children.get_mut(key) {
                missing_count = missing_count.saturating_sub(1);
                let was_last = walk.keys_are_distinct && missing_count == 0;
                if !child.value(walk, is_last && was_last)? {
                    return Ok(false);
                }
                if was_last {
                    if stranger_count >= FAR && self.tries > 0 && self.keys.can_leap(key) {
                        self.far = Some(key);
                    }
                    if !is_last && walk.tokens.more()? {
                        walk.tokens.leave()?;
                    }
                    return Ok(true);
                }
                stranger_count = 0;
                next = self.leap(walk, missing_count, &mut guess);
                if next.is_some() {
                    continue;
                }
            } else {
                walk.tokens.skip()?;
                stranger_count += 1;
            }
            next = self.keys.next(&mut walk.tokens, &mut guess)?;
        }
        Ok(true)
    }

    /// Finds the only child that is missing without a walk over what is before it.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn leap(
        &mut self,
        walk: &mut Walk<'_, '_>,
        missing_count: usize,
        guess: &mut Guess,
    ) -> Option<usize> {
        let far = self.far.filter(|_| missing_count == 1 && walk.keys_are_distinct)?;
        let found = self.keys.leap(far, &mut walk.tokens, guess);
        self.tries = match found {
            Some(_) => TRIES,
            None => self.tries.saturating_sub(1),
        };
        self.far = found;
        found
    }
}
