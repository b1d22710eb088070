//! The keys of several files and of memory as one sorted sequence.
//!
//! Keys may be cut. So the sequence has all entries that may be in the range, and the caller looks
//! at the documents of those with a cut key.

use std::cmp::Ordering;
use std::sync::Arc;

use super::covered::Recent;
use super::file::{FieldFault, FieldFile, KEY_SIZE_MAX, Keyed, Position};
use super::range::KeyRange;
use crate::index::Entry;

/// The order of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// A position in the merged sequence.
#[derive(Debug)]
pub(crate) struct Cursor {
    sources: Vec<Source>,
    /// The source of the current entry.
    current: Option<usize>,
    /// The current entry was returned.
    is_passed: bool,
    end: End,
}

/// What ends a sequence: keys from here on, or keys before here.
#[derive(Debug)]
struct End {
    key: Option<Vec<u8>>,
    direction: Direction,
}

impl End {
    fn is_past(&self, key: &[u8]) -> bool {
        match (&self.key, self.direction) {
            (None, _) => false,
            (Some(end), Direction::Forward) => key >= &end[..],
            (Some(end), Direction::Backward) => key < &end[..],
        }
    }
}

#[derive(Debug)]
struct Source {
    kind: Kind,
    /// The key of the next entry.
    key: Vec<u8>,
    is_cut: bool,
    /// `None` at the end.
    entry: Option<Entry>,
}

#[derive(Debug)]
enum Kind {
    File(Arc<FieldFile>, Position),
    Recent(Arc<Recent>),
}

impl Cursor {
    /// Before the first entry of a range.
    pub(crate) fn new(
        files: &[Arc<FieldFile>],
        recent: &Arc<Recent>,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Self, FieldFault> {
        let mut cursor = Self::unplaced(files, recent, direction);
        cursor.seek(range)?;
        Ok(cursor)
    }

    /// Nowhere yet: [`Cursor::seek`] goes to a range.
    pub(crate) fn unplaced(
        files: &[Arc<FieldFile>],
        recent: &Arc<Recent>,
        direction: Direction,
    ) -> Self {
        let kinds = files
            .iter()
            .map(|file| Kind::File(Arc::clone(file), Position { page: 0, slot: 0 }))
            .chain((recent.len() > 0).then(|| Kind::Recent(Arc::clone(recent))));
        let source = |kind| Source { kind, key: Vec::new(), is_cut: false, entry: None };
        let mut sources = Vec::with_capacity(files.len() + 1);
        sources.extend(kinds.map(source));
        let end = End { key: None, direction };
        Self { sources, current: None, is_passed: false, end }
    }

    /// Goes before the first entry of a range.
    pub(crate) fn seek(&mut self, range: &KeyRange) -> Result<(), FieldFault> {
        (self.current, self.is_passed) = (None, false);
        let (from, to) = (cut(&range.from), upper(range));
        match self.end.direction {
            Direction::Forward => {
                self.end.key = to;
                self.sources.iter_mut().try_for_each(|source| source.seek(from, &self.end))
            }
            Direction::Backward => {
                self.end.key = Some(from.to_vec());
                let to = to.as_deref();
                self.sources.iter_mut().try_for_each(|source| source.seek_back(to, &self.end))
            }
        }
    }

    /// The next entry: its key, whether that is cut, and the entry.
    pub(crate) fn next(&mut self) -> Result<Option<Keyed<'_>>, FieldFault> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        self.is_passed = true;
        let source = &self.sources[self.current.expect("peek has found it")];
        Ok(source.entry.map(|entry| (&source.key[..], source.is_cut, entry)))
    }

    /// The next entry, which the next call of [`Cursor::next`] returns too.
    pub(crate) fn peek(&mut self) -> Result<Option<Keyed<'_>>, FieldFault> {
        if std::mem::take(&mut self.is_passed)
            && let Some(current) = self.current.take()
        {
            self.sources[current].advance(&self.end)?;
        }
        if self.current.is_none() {
            self.current = self.best();
        }
        let Some(current) = self.current else { return Ok(None) };
        let source = &self.sources[current];
        Ok(source.entry.map(|entry| (&source.key[..], source.is_cut, entry)))
    }

    fn best(&self) -> Option<usize> {
        let mut best: Option<(usize, (&[u8], u64))> = None;
        for (number, source) in self.sources.iter().enumerate() {
            let Some(entry) = source.entry else { continue };
            let own = (&source.key[..], entry.offset());
            let wanted = match self.end.direction {
                Direction::Forward => Ordering::Less,
                Direction::Backward => Ordering::Greater,
            };
            if best.as_ref().is_none_or(|(_, known)| own.cmp(known) == wanted) {
                best = Some((number, own));
            }
        }
        best.map(|(number, _)| number)
    }
}

fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_SIZE_MAX)]
}

/// The least key after all stored keys of a range.
fn upper(range: &KeyRange) -> Option<Vec<u8>> {
    let to = range.to.as_ref()?;
    if to.len() <= KEY_SIZE_MAX {
        return Some(to.clone());
    }
    KeyRange::beginning_with(cut(to)).to
}

impl Source {
    fn seek(&mut self, key: &[u8], end: &End) -> Result<(), FieldFault> {
        let found = match &mut self.kind {
            Kind::File(file, position) => {
                *position = file.seek(key)?;
                file.entry(*position)?
            }
            Kind::Recent(recent) => recent.next(key, None),
        };
        set(&mut self.key, &mut self.is_cut, &mut self.entry, found, end);
        Ok(())
    }

    /// Goes to the last entry before a key.
    fn seek_back(&mut self, key: Option<&[u8]>, end: &End) -> Result<(), FieldFault> {
        let found = match &mut self.kind {
            Kind::File(file, position) => {
                let after = match key {
                    Some(key) => file.seek(key)?,
                    None => Position { page: file.header.leaf_count + 1, slot: 0 },
                };
                *position = file.before(after)?;
                file.entry(*position)?
            }
            Kind::Recent(recent) => recent.previous(key, 0),
        };
        set(&mut self.key, &mut self.is_cut, &mut self.entry, found, end);
        Ok(())
    }

    fn advance(&mut self, end: &End) -> Result<(), FieldFault> {
        let Some(entry) = self.entry else { return Ok(()) };
        let found = match &mut self.kind {
            Kind::File(file, position) => match end.direction {
                Direction::Forward => file.advance(position)?,
                Direction::Backward => {
                    *position = file.before(*position)?;
                    file.entry(*position)?
                }
            },
            Kind::Recent(recent) => match end.direction {
                Direction::Forward => recent.next(&self.key, Some(entry.offset())),
                Direction::Backward => recent.previous(Some(&self.key), entry.offset()),
            },
        };
        set(&mut self.key, &mut self.is_cut, &mut self.entry, found, end);
        Ok(())
    }
}

/// Sets the next entry of a source. There is none if it is after the end.
fn set(
    key: &mut Vec<u8>,
    is_cut: &mut bool,
    entry: &mut Option<Entry>,
    found: Option<Keyed<'_>>,
    end: &End,
) {
    *entry = None;
    if let Some((own, own_is_cut, own_entry)) = found.filter(|(own, ..)| !end.is_past(own)) {
        key.clear();
        key.extend_from_slice(own);
        (*is_cut, *entry) = (own_is_cut, Some(own_entry));
    }
}
