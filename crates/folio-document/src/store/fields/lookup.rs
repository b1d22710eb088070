//! Documents by the keys of an index, in their order.
//!
//! The places of the first documents are collected while the view is held, so what a lookup returns
//! is the state of one moment. A longer scan goes on with the files, the lines in memory and the
//! dead lines of that moment.

use std::collections::VecDeque;
use std::sync::Arc;

use super::FieldIndex;
use super::build::collect;
use crate::error::Result;
use crate::field_index::{Cursor, Direction, Extractor, FieldFault, IndexDefinition, KeyRange};
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
    given: u64,
    restarts: u32,
}

/// Places to read, and where to find more.
#[derive(Debug, Default)]
struct Found {
    segment: Option<Arc<Segment>>,
    places: VecDeque<Entry>,
    /// The line of the first place was read when that was found.
    has_line: bool,
    rest: Option<Rest>,
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
    ) -> Result<Self> {
        store.handle.check_open()?;
        let index = store.field_index(index)?;
        let direction = if reverse { Direction::Backward } else { Direction::Forward };
        let limit = limit.unwrap_or(u64::MAX);
        let mut text = Vec::new();
        let found = store.find_places(&index, &range, direction, limit, &mut text)?;
        let store = Arc::clone(store);
        let (given, restarts) = (0, 0);
        Ok(Self { store, index, range, direction, limit, found, text, given, restarts })
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
        let Some(entry) = found.places.pop_front() else { return Ok(false) };
        if !std::mem::take(&mut found.has_line) {
            let segment = found.segment.as_deref().expect("places are in a file");
            segment.read(entry, &mut self.text)?;
        }
        Ok(true)
    }

    /// Starts again if nothing was yielded yet.
    #[cold]
    fn recover(&mut self, fault: FieldFault) -> Result<()> {
        match &fault {
            FieldFault::File { file, inode } => self.store.discard(&self.index, file, *inode),
            FieldFault::Index(IndexFault::Io(_)) => return Err(self.store.field_error(fault)),
            FieldFault::Index(fault) => self.store.repair(fault)?,
        }
        self.store.count_restart(self.given, &mut self.restarts, 0)?;
        let Self { index, range, direction, limit, text, .. } = self;
        self.found = self.store.find_places(index, range, *direction, *limit, text)?;
        Ok(())
    }
}

impl LineStore {
    fn find_places(
        &self,
        index: &FieldIndex,
        range: &KeyRange,
        direction: Direction,
        limit: u64,
        text: &mut Vec<u8>,
    ) -> Result<Found> {
        self.append_if_pending()?;
        if self.read_view().is_doubtful {
            self.verify()?;
        }
        for may_build in [true, false] {
            let found = self.repairing_field(None, index, |view| {
                if !self.catch_up(view, index)? {
                    return Ok(None);
                }
                let mut found = places(view, index, range, direction, limit)?;
                if limit <= FEW
                    && let (Some(segment), Some(entry)) = (&found.segment, found.places.front())
                {
                    view.read_newest_in_file(*entry, segment, text)?;
                    found.has_line = true;
                }
                Ok(Some(found))
            })?;
            match found {
                Some(found) => return Ok(found),
                None if may_build && self.build_now(index)? => {}
                None => break,
            }
        }
        self.repairing_field(None, index, |view| places_by_scan(view, index, range, direction))
    }
}

fn places(
    view: &View,
    index: &FieldIndex,
    range: &KeyRange,
    direction: Direction,
    limit: u64,
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
        Rest { cursor, dead }
    });
    Ok(Found { segment: Some(Arc::clone(segment)), places, has_line: false, rest })
}

/// Without the index: reads all documents.
fn places_by_scan(
    view: &View,
    index: &FieldIndex,
    range: &KeyRange,
    direction: Direction,
) -> Result<Found, FieldFault> {
    let mut found = Found { segment: view.segment.clone(), ..Found::default() };
    let Some(segment) = view.segment.as_deref() else { return Ok(found) };
    view.index.check_for_scan()?;
    let definition = &index.definition;
    let (mut keys, mut text) = (Vec::new(), Vec::new());
    let mut extractor = Extractor::new([definition]);
    for part in collect(view, definition, 0, view.index.state.data_end)? {
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
    found.places = keys.into_iter().map(|(_, entry)| entry).collect();
    Ok(found)
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
        places: &mut VecDeque<Entry>,
    ) -> Result<bool, FieldFault> {
        let mut text = Vec::new();
        while places.len() < count {
            let Some((key, is_cut, entry)) = cursor.next()? else { return Ok(true) };
            if is_cut {
                let key = key.to_vec();
                self.group(cursor, &key, entry, places)?;
            } else if (self.is_live)(entry, &mut text)? {
                places.push_back(entry);
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
        places: &mut VecDeque<Entry>,
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
        places.extend(keys.into_iter().map(|(_, entry)| entry));
        Ok(())
    }
}
