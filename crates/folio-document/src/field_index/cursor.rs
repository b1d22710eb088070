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
    direction: Direction,
    /// The source of the current entry.
    current: Option<usize>,
    /// The current entry was returned.
    is_passed: bool,
    /// Keys from here on, or before here, end the sequence.
    limit: Option<Vec<u8>>,
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
        Self { sources, direction, current: None, is_passed: false, limit: None }
    }

    /// Goes before the first entry of a range.
    pub(crate) fn seek(&mut self, range: &KeyRange) -> Result<(), FieldFault> {
        (self.current, self.is_passed) = (None, false);
        for source in &mut self.sources {
            match self.direction {
                Direction::Forward => source.seek(cut(&range.from))?,
                Direction::Backward => source.seek_back(upper(range).as_deref())?,
            }
        }
        self.limit = match self.direction {
            Direction::Forward => upper(range),
            Direction::Backward => Some(cut(&range.from).to_vec()),
        };
        Ok(())
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
            self.sources[current].advance(self.direction)?;
        }
        if self.current.is_none() {
            self.current = self.best();
        }
        let Some(current) = self.current else { return Ok(None) };
        let source = &self.sources[current];
        let is_past = match (&self.limit, self.direction) {
            (None, _) => false,
            (Some(limit), Direction::Forward) => source.key >= *limit,
            (Some(limit), Direction::Backward) => source.key < *limit,
        };
        if is_past {
            return Ok(None);
        }
        Ok(source.entry.map(|entry| (&source.key[..], source.is_cut, entry)))
    }

    fn best(&self) -> Option<usize> {
        let mut best: Option<(usize, (&[u8], u64))> = None;
        for (number, source) in self.sources.iter().enumerate() {
            let Some(entry) = source.entry else { continue };
            let own = (&source.key[..], entry.offset());
            let wanted = match self.direction {
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
    fn seek(&mut self, key: &[u8]) -> Result<(), FieldFault> {
        match &mut self.kind {
            Kind::File(file, position) => *position = file.seek(key)?,
            Kind::Recent(recent) => {
                let found = recent.next(key, None);
                set(&mut self.key, &mut self.is_cut, &mut self.entry, found);
                return Ok(());
            }
        }
        self.load()
    }

    /// Goes to the last entry before a key.
    fn seek_back(&mut self, key: Option<&[u8]>) -> Result<(), FieldFault> {
        match &mut self.kind {
            Kind::File(file, position) => {
                let after = match key {
                    Some(key) => file.seek(key)?,
                    None => Position { page: file.header.leaf_count + 1, slot: 0 },
                };
                *position = file.before(after)?;
            }
            Kind::Recent(recent) => {
                let found = recent.previous(key, 0);
                set(&mut self.key, &mut self.is_cut, &mut self.entry, found);
                return Ok(());
            }
        }
        self.load()
    }

    fn advance(&mut self, direction: Direction) -> Result<(), FieldFault> {
        let Some(entry) = self.entry else { return Ok(()) };
        match &mut self.kind {
            Kind::File(file, position) => {
                *position = match direction {
                    Direction::Forward => file.after(*position)?,
                    Direction::Backward => file.before(*position)?,
                };
            }
            Kind::Recent(recent) => {
                let key = std::mem::take(&mut self.key);
                let found = match direction {
                    Direction::Forward => recent.next(&key, Some(entry.offset())),
                    Direction::Backward => recent.previous(Some(&key), entry.offset()),
                };
                set(&mut self.key, &mut self.is_cut, &mut self.entry, found);
                return Ok(());
            }
        }
        self.load()
    }

    fn load(&mut self) -> Result<(), FieldFault> {
        let Kind::File(file, position) = &self.kind else { return Ok(()) };
        let found = file.entry(*position)?;
        set(&mut self.key, &mut self.is_cut, &mut self.entry, found);
        Ok(())
    }
}

fn set(key: &mut Vec<u8>, is_cut: &mut bool, entry: &mut Option<Entry>, found: Option<Keyed<'_>>) {
    *entry = None;
    if let Some((own, own_is_cut, own_entry)) = found {
        key.clear();
        key.extend_from_slice(own);
        (*is_cut, *entry) = (own_is_cut, Some(own_entry));
    }
}
