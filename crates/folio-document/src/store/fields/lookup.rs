//! Documents by the keys of an index, in their order.
//!
//! The places of the first documents are collected while the view is held, so what a lookup returns
//! is the state of one moment. A longer scan goes on with the files, the lines in memory and the
//! dead lines of that moment. A lookup of one document reads its line at once, too, so that it can
//! be cached as one that was read by its id.

use std::collections::VecDeque;
use std::sync::Arc;

use super::FieldIndex;
use super::build::collect;
use crate::error::Result;
use crate::field_index::{
    Cursor, Direction, Extractor, FieldFault, IndexDefinition, KEY_SIZE_MAX, KeyRange,
};
use crate::index::{DeadLines, Entry, IndexFault, LineSource};
use crate::segment::Segment;
use crate::store::LineStore;
use crate::store::view::View;

/// Places collected at first, and then at a time.
const FIRST: usize = 256;
const LATER: usize = 4096;

/// Of so few documents, the first is read while the view is held, so that its line can be cached.
const FEW: u64 = 2;

/// The documents of a range of keys.
#[derive(Debug)]
pub(crate) struct FieldScan {
    store: Arc<LineStore>,
    index: Arc<FieldIndex>,
    range: KeyRange,
    direction: Direction,
    /// Maximum number of documents.
    limit: u64,
    found: Found,
    text: Vec<u8>,
    /// Whether keys are asked for, not lines.
    by_key: bool,
    /// The place whose key was returned last.
    last: Option<Place>,
    given: u64,
    restarts: u32,
}

/// Where a document is, and its key if that is asked for.
#[derive(Debug)]
struct Place {
    entry: Entry,
    key: Box<[u8]>,
}

/// Places to read, and where to find more.
#[derive(Debug, Default)]
struct Found {
    segment: Option<Arc<Segment>>,
    places: VecDeque<Place>,
    /// The line of the first place was read when that was found.
    has_line: bool,
    rest: Option<Box<Rest>>,
}

/// What is left of a long scan.
#[derive(Debug)]
struct Rest {
    cursor: Cursor,
    dead: DeadLines,
}

impl FieldScan {
    pub(crate) fn new(
        store: &Arc<LineStore>,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
        by_key: bool,
    ) -> Result<Self> {
        store.handle.check_open()?;
        let index = store.field_index(index)?;
        let direction = if reverse { Direction::Backward } else { Direction::Forward };
        let limit = limit.unwrap_or(u64::MAX);
        let store = Arc::clone(store);
        let (found, text, last) = (Found::default(), Vec::new(), None);
        let (given, restarts) = (0, 0);
        let mut scan = Self {
            store,
            index,
            range,
            direction,
            limit,
            found,
            text,
            by_key,
            last,
            given,
            restarts,
        };
        scan.begin()?;
        Ok(scan)
    }

    fn begin(&mut self) -> Result<()> {
        let Self { index, range, direction, limit, text, by_key, .. } = self;
        let wanted = (*direction, *limit, *by_key);
        self.found = self.store.find_places(index, range, wanted, text)?;
        Ok(())
    }

    /// The key of the next document.
    pub(crate) fn next_key(&mut self) -> Result<Option<&[u8]>> {
        if self.given >= self.limit {
            return Ok(None);
        }
        while let Err(fault) = self.refill() {
            self.recover(fault)?;
        }
        let Some(place) = self.found.places.pop_front() else { return Ok(None) };
        self.given += 1;
        Ok(Some(&self.last.insert(place).key))
    }

    /// The line of the document whose key was returned last.
    pub(crate) fn line(&mut self) -> Result<&[u8]> {
        let segment = self.found.segment.as_deref().expect("places are in a file");
        let last = self.last.as_ref().expect("a key was returned");
        if let Err(fault) = segment.read(last.entry, &mut self.text) {
            self.recover(fault.into())?; // an error, as a key was returned
        }
        Ok(&self.text)
    }

    /// The line of the next document.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            if self.given >= self.limit {
                return Ok(None);
            }
            match self.read_next() {
                Ok(true) => {
                    self.given += 1;
                    return Ok(Some(&self.text));
                }
                Ok(false) => return Ok(None),
                Err(fault) => self.recover(fault)?,
            }
        }
    }

    /// The number of the next documents, which are not read; `None` at the end.
    pub(crate) fn next_count(&mut self) -> Result<Option<u64>> {
        while let Err(fault) = self.refill() {
            self.recover(fault)?;
        }
        let count = self.found.places.len() as u64;
        self.found.places.clear();
        self.found.has_line = false;
        self.given += count;
        Ok((count > 0).then_some(count))
    }

    /// Collects places if none are left.
    fn refill(&mut self) -> Result<(), FieldFault> {
        let found = &mut self.found;
        if found.places.is_empty()
            && let Some(rest) = &mut found.rest
        {
            let segment = found.segment.as_deref().expect("places are in a file");
            let dead = &rest.dead;
            let mut take = Take {
                definition: &self.index.definition,
                range: &self.range,
                direction: self.direction,
                segment,
                by_key: self.by_key,
                is_live: |entry: Entry, _: &mut Vec<u8>| Ok(!dead.contains(entry.offset())?),
            };
            if take.places(&mut rest.cursor, LATER, &mut found.places)? {
                found.rest = None;
            }
        }
        Ok(())
    }

    fn read_next(&mut self) -> Result<bool, FieldFault> {
        self.refill()?;
        let found = &mut self.found;
        let Some(place) = found.places.pop_front() else { return Ok(false) };
        if !std::mem::take(&mut found.has_line) {
            let segment = found.segment.as_deref().expect("places are in a file");
            segment.read(place.entry, &mut self.text)?;
        }
        Ok(true)
    }

    /// Starts again if nothing was yielded yet.
    #[cold]
    fn recover(&mut self, fault: FieldFault) -> Result<()> {
        match &fault {
            FieldFault::File { file, inode } => self.store.discard(&self.index, file, *inode),
            FieldFault::Index(IndexFault::Io(_)) | FieldFault::Cancelled => {
                return Err(self.store.field_error(fault));
            }
            FieldFault::Index(fault) => self.store.repair(fault)?,
        }
        self.store.count_restart(self.given, &mut self.restarts)?;
        self.begin()
    }
}

/// What a lookup of one document has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// No document.
    None,
    /// One.
    One,
    /// Several, or nobody knows without a scan.
    Unclear,
}

impl LineStore {
    /// Reads the line of the only document whose key in an index begins with these bytes. Makes no
    /// cursor and collects no places, so it takes a fraction of what a scan takes.
    pub(crate) fn find_only(&self, index: &str, key: &[u8], text: &mut Vec<u8>) -> Result<Only> {
        self.handle.check_open()?;
        if key.len() > KEY_SIZE_MAX {
            return Ok(Only::Unclear);
        }
        let index = self.field_index(index)?;
        let found = self.when_covered(&index, |view| only(view, &index, key, text))?;
        Ok(found.unwrap_or(Only::Unclear))
    }

    /// About how many keys of an index are in a range; `None` if it does not cover all data.
    pub(crate) fn key_count(&self, index: &str, range: &KeyRange) -> Result<Option<u64>> {
        self.handle.check_open()?;
        let index = self.field_index(index)?;
        self.when_covered(&index, |_| index.read().key_count(range))
    }

    fn find_places(
        &self,
        index: &FieldIndex,
        range: &KeyRange,
        wanted: Wanted,
        text: &mut Vec<u8>,
    ) -> Result<Found> {
        let (_, limit, by_key) = wanted;
        let found = self.when_covered(index, |view| {
            let mut found = places(view, index, range, wanted)?;
            if limit <= FEW
                && !by_key
                && let (Some(segment), Some(place)) = (&found.segment, found.places.front())
            {
                view.read_newest_in_file(place.entry, segment, text)?;
                found.has_line = true;
            }
            Ok(found)
        })?;
        match found {
            Some(found) => Ok(found),
            None => {
                let by_scan = |view: &View| places_by_scan(view, index, range, wanted);
                self.repairing_field(None, index, by_scan)
            }
        }
    }

    /// Reads an index that covers all data of the file, which may take building it; `None` if it
    /// does not.
    fn when_covered<T>(
        &self,
        index: &FieldIndex,
        mut read: impl FnMut(&View) -> Result<T, FieldFault>,
    ) -> Result<Option<T>> {
        self.append_if_pending()?;
        self.verify()?;
        for may_build in [true, false] {
            let found = self.repairing_field(None, index, |view| {
                self.catch_up(view, index)?.then(|| read(view)).transpose()
            })?;
            match found {
                None if may_build && self.build_now(index)? => {}
                found => return Ok(found),
            }
        }
        Ok(None)
    }
}

fn only(
    view: &View,
    index: &FieldIndex,
    key: &[u8],
    text: &mut Vec<u8>,
) -> Result<Only, FieldFault> {
    let Some(segment) = &view.segment else { return Ok(Only::None) };
    let (mut only, mut is_clear) = (None, true);
    index.read().each_with(key, |(_, is_cut, entry)| {
        // Both are far away, and needed one after the other.
        if view.index.has_dead_lines() {
            view.index.prefetch_entry(entry.hash);
        }
        segment.prefetch(entry);
        if is_cut || view.is_newest_in_file(entry, text)? {
            is_clear &= !is_cut && only.is_none();
            only = Some(entry);
        }
        Ok(is_clear)
    })?;
    match only {
        None => Ok(Only::None),
        Some(_) if !is_clear => Ok(Only::Unclear),
        Some(entry) => {
            view.read_newest_in_file(entry, segment, text)?;
            Ok(Only::One)
        }
    }
}

/// The order, how many documents at most, and whether their keys.
type Wanted = (Direction, u64, bool);

fn places(
    view: &View,
    index: &FieldIndex,
    range: &KeyRange,
    (direction, limit, by_key): Wanted,
) -> Result<Found, FieldFault> {
    let Some(segment) = &view.segment else {
        return Ok(Found::default());
    };
    let mut cursor = {
        let covered = index.read();
        Cursor::new(&covered.files, &covered.recent, range, direction)?
    };
    let mut take = Take {
        definition: &index.definition,
        range,
        direction,
        segment,
        by_key,
        is_live: |entry: Entry, text: &mut Vec<u8>| view.is_newest_in_file(entry, text),
    };
    let mut places = VecDeque::new();
    let first = if limit <= LATER as u64 { limit as usize } else { FIRST };
    let is_done = take.places(&mut cursor, first, &mut places)?;
    let is_long = !is_done && limit > first as u64;
    if is_long {
        // A fault in the middle of a scan could not be repaired.
        index.read().files.iter().try_for_each(|file| file.check_range(range))?;
        view.index.check_for_scan()?;
    }
    let rest = is_long.then(|| {
        let dead = DeadLines::new(&view.index.runs, view.index.delta.skips.clone());
        Box::new(Rest { cursor, dead })
    });
    Ok(Found { segment: Some(Arc::clone(segment)), places, has_line: false, rest })
}

/// Without the index: reads all documents.
fn places_by_scan(
    view: &View,
    index: &FieldIndex,
    range: &KeyRange,
    (direction, _, by_key): Wanted,
) -> Result<Found, FieldFault> {
    let mut found = Found { segment: view.segment.clone(), ..Found::default() };
    let Some(segment) = view.segment.as_deref() else { return Ok(found) };
    view.index.check_for_scan()?;
    let definition = &index.definition;
    let (mut keys, mut text) = (Vec::new(), Vec::new());
    let mut extractor = Extractor::new([definition]);
    for part in collect(view, definition, 0, view.index.state.data_end, &mut |_| true)? {
        for (key, is_cut, entry) in part.iter() {
            let mut wholes = match is_cut {
                true => {
                    segment.read(entry, &mut text)?;
                    extractor.keys_from(&text, key)
                }
                false if range.contains(key) => vec![key.to_vec()],
                false => continue,
            };
            wholes.retain(|key| range.contains(key));
            keys.extend(wholes.into_iter().map(|key| (key, entry)));
        }
    }
    sort(&mut keys, direction);
    found.places = keys.into_iter().map(|(key, entry)| placed(entry, &key, by_key)).collect();
    Ok(found)
}

fn placed(entry: Entry, key: &[u8], by_key: bool) -> Place {
    Place { entry, key: if by_key { key.into() } else { Box::default() } }
}

fn sort(keys: &mut [(Vec<u8>, Entry)], direction: Direction) {
    keys.sort_unstable_by(|one, other| {
        let order = (&one.0, one.1.offset()).cmp(&(&other.0, other.1.offset()));
        if direction == Direction::Forward { order } else { order.reverse() }
    });
}

/// Takes live entries of a range from a cursor.
pub(super) struct Take<'a, L> {
    pub(super) definition: &'a IndexDefinition,
    pub(super) range: &'a KeyRange,
    pub(super) direction: Direction,
    pub(super) segment: &'a Segment,
    pub(super) by_key: bool,
    /// Whether an entry is live; may use the buffer.
    pub(super) is_live: L,
}

impl<L> Take<'_, L>
where
    L: FnMut(Entry, &mut Vec<u8>) -> Result<bool, IndexFault>,
{
    /// Takes at least `count` entries if there are that many. Returns whether there are no more.
    fn places(
        &mut self,
        cursor: &mut Cursor,
        count: usize,
        places: &mut VecDeque<Place>,
    ) -> Result<bool, FieldFault> {
        let mut text = Vec::new();
        while places.len() < count {
            let Some((key, is_cut, entry)) = cursor.next()? else { return Ok(true) };
            if is_cut {
                let key = key.to_vec();
                self.group(cursor, &key, entry, places)?;
            } else if (self.is_live)(entry, &mut text)? {
                places.push_back(placed(entry, key, self.by_key));
            }
        }
        Ok(cursor.peek()?.is_none())
    }

    /// Takes all entries with the same cut key, in the order of their whole keys.
    fn group(
        &mut self,
        cursor: &mut Cursor,
        cut: &[u8],
        first: Entry,
        places: &mut VecDeque<Place>,
    ) -> Result<(), FieldFault> {
        let (mut keys, mut text) = (Vec::new(), Vec::new());
        let mut extractor = Extractor::new([self.definition]);
        let mut next = Some(first);
        while let Some(entry) = next.take() {
            if (self.is_live)(entry, &mut text)? {
                self.segment.read(entry, &mut text)?;
                let mut wholes = extractor.keys_from(&text, cut);
                wholes.retain(|key| self.range.contains(key));
                keys.extend(wholes.into_iter().map(|key| (key, entry)));
            }
            if cursor.peek()?.is_some_and(|(key, is_cut, _)| is_cut && key == cut) {
                next = cursor.next()?.map(|(.., entry)| entry);
            }
        }
        sort(&mut keys, self.direction);
        let by_key = self.by_key;
        places.extend(keys.into_iter().map(|(key, entry)| placed(entry, &key, by_key)));
        Ok(())
    }
}
