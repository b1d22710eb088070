//! The keys of the objects at one path, and a guess which comes next.
//!
//! Lines written by one program usually have their keys in one order. So after each key, the key
//! that followed it last is expected next, and a comparison of a few bytes confirms it. The
//! expected key may be a stranger: one that nobody asked for, whose value is skipped.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::pattern::Pattern;
use crate::text::Malformed;
use crate::token::Tokens;

/// How many strangers are remembered. Others are looked up each time.
const STRANGERS_MAX: usize = 1_000;

/// The position of a key without one.
const NOWHERE: usize = usize::MAX;

/// Keys by position: those asked for in their order, then strangers.
#[derive(Debug)]
pub(crate) struct Keys {
    all: Vec<Key>,
    by_name: HashMap<Box<str>, usize, RandomState>,
    /// How many keys were asked for.
    wanted_count: usize,
    /// The first key of the last object.
    first: usize,
}

#[derive(Debug)]
struct Key {
    /// The key as it usually appears in the text: as the first of an object, and after another.
    first: Pattern,
    after: Pattern,
    /// The key that followed it last.
    next: usize,
}

impl Key {
    fn new(name: &str, next: usize) -> Self {
        let first = Pattern::of_name(name);
        Self { after: first.after_comma(), first, next }
    }
}

/// Where a walk over the keys of one object is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guess {
    expected: usize,
    last: usize,
}

impl Keys {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let key = |(index, name)| Key::new(name, index + 1);
        let all: Vec<_> = names.clone().enumerate().map(key).collect();
        let by_name = names.enumerate().map(|(index, name)| (name.into(), index)).collect();
        Self { wanted_count: all.len(), all, by_name, first: 0 }
    }

    /// Whether [`Self::leap`] can find a key.
    pub(crate) fn can_leap(&self, place: usize) -> bool {
        self.all.get(place).is_some_and(|key| key.after.is_found_as_key())
    }

    /// Skips to a key and over those before it, if the text has it in usual form and no value
    /// between has brackets.
    #[inline(never)]
    pub(crate) fn leap(
        &self,
        place: usize,
        tokens: &mut Tokens<'_>,
        guess: &mut Guess,
    ) -> Option<usize> {
        let is_found = self.all.get(place).is_some_and(|key| tokens.leap(&key.after));
        is_found.then(|| self.met(place, guess))
    }

    /// At the beginning of an object.
    #[inline]
    pub(crate) fn start(&self) -> Guess {
        Guess { expected: self.first, last: NOWHERE }
    }

    /// Enters an object and reads its first key. Returns the key's position, which is that of a
    /// name asked for or lies beyond all of them; `None` if the object is empty.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn first(
        &mut self,
        tokens: &mut Tokens<'_>,
        guess: &mut Guess,
    ) -> Result<Option<usize>, Malformed> {
        if !tokens.enter()? {
            return Ok(None);
        }
        match self.all.get(guess.expected) {
            Some(key) if tokens.take(&key.first) => Ok(Some(self.met(guess.expected, guess))),
            _ => self.unexpected(tokens, guess).map(Some),
        }
    }

    /// After a member: reads the next key, as [`Self::first`] does; `None` after the last.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn next(
        &mut self,
        tokens: &mut Tokens<'_>,
        guess: &mut Guess,
    ) -> Result<Option<usize>, Malformed> {
        match self.all.get(guess.expected) {
            Some(key) if tokens.take_at_once(&key.after) => {
                Ok(Some(self.met(guess.expected, guess)))
            }
            _ if tokens.more()? => self.unexpected(tokens, guess).map(Some),
            _ => Ok(None),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn met(&self, place: usize, guess: &mut Guess) -> usize {
        if let Some(key) = self.all.get(place) {
            *guess = Guess { expected: key.next, last: place };
        }
        place
    }

    #[inline(never)]
    fn unexpected(
        &mut self,
        tokens: &mut Tokens<'_>,
        guess: &mut Guess,
    ) -> Result<usize, Malformed> {
        let place = self.place(&tokens.key()?, guess.last);
        Ok(self.met(place, guess))
    }

    /// The position of a key that was not expected after the one at `last`; [`NOWHERE`] if it is
    /// not worth remembering.
    fn place(&mut self, name: &str, last: usize) -> usize {
        let place = match self.by_name.get(name) {
            Some(place) => *place,
            None if self.all.len() - self.wanted_count >= STRANGERS_MAX => return NOWHERE,
            None => {
                let place = self.all.len();
                self.all.push(Key::new(name, place + 1));
                self.by_name.insert(name.into(), place);
                place
            }
        };
        match self.all.get_mut(last) {
            Some(last) => last.next = place,
            None => self.first = place,
        }
        place
    }
}
