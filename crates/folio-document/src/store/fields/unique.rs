//! Unique indexes: a put or a batch is refused if another document has its values.
//!
//! A put is compared with the files, the lines in memory and the pending lines. A batch is compared
//! before it counts, as a whole: what matters are the documents that it leaves. Values that are
//! missing or null are never the same.

use std::collections::HashMap;
use std::sync::Arc;

use super::FieldIndex;
use crate::error::{Error, Result};
use crate::field_index::{
    Collected, Cursor, Direction, Extractor, FieldFault, IndexDefinition, KeyRange, values_text,
};
use crate::index::{Entry, LineSource, Resolved, id_hash, read_id};
use crate::line::{LineReader, id_of_valid_line};
use crate::store::view::View;
use crate::store::{LineStore, Writer};
use folio_file::File;

/// Keys of a batch that are compared with an index while the view is held.
const CHECKED_AT_ONCE: usize = 1024;

/// The keys of pending documents in the unique indexes.
#[derive(Debug, Default)]
pub(in crate::store) struct PendingKeys {
    /// For each index, the last document put with a key.
    keys: Vec<HashMap<Vec<u8>, String>>,
    /// How many of the pending lines are among them.
    line_count: usize,
    definitions: Vec<IndexDefinition>,
}

impl PendingKeys {
    /// Adds the lines that are pending since the last call.
    fn follow(&mut self, view: &View, indexes: &[Arc<FieldIndex>]) {
        let entries = view.pending.delta.entries();
        let definitions = indexes.iter().map(|index| &index.definition);
        if entries.len() < self.line_count || !self.definitions.iter().eq(definitions.clone()) {
            *self = Self {
                keys: vec![HashMap::new(); indexes.len()],
                line_count: 0,
                definitions: definitions.cloned().collect(),
            };
        }
        if entries.len() == self.line_count {
            return;
        }
        let mut extractor = Extractor::new(&self.definitions);
        for entry in entries[self.line_count..].iter().filter(|entry| !entry.is_tombstone()) {
            let line = view.pending.line(*entry);
            let Some(id) = id_of_valid_line(line) else { continue };
            extractor.keys(line, |number, key, _| {
                self.keys[number].insert(key.to_vec(), id.clone().into_owned());
            });
        }
        self.line_count = entries.len();
    }

    /// The pending document that has a key, unless it is this one.
    fn holder(
        &self,
        view: &View,
        number: usize,
        extractor: &mut Extractor,
        key: &[u8],
        id: &str,
    ) -> Option<String> {
        let holder = self.keys[number].get(key).filter(|holder| *holder != id)?;
        // It may have been replaced or deleted since.
        let mut line = Vec::new();
        let is_there = view.is_pending(holder, &mut line) && !line.is_empty();
        (is_there && extractor.has_key(&line, key)).then(|| holder.clone())
    }
}

impl LineStore {
    /// Refuses a document whose values another document has.
    #[inline]
    pub(in crate::store) fn check_unique(
        &self,
        writer: &mut Writer,
        id: &str,
        line: &[u8],
    ) -> Result<()> {
        if self.fields.has_unique() { self.check_put(writer, id, line) } else { Ok(()) }
    }

    fn unique_indexes(&self) -> Vec<Arc<FieldIndex>> {
        self.fields.all().iter().filter(|index| index.definition.unique).cloned().collect()
    }

    fn check_put(&self, writer: &mut Writer, id: &str, line: &[u8]) -> Result<()> {
        let indexes = self.unique_indexes();
        writer.pending_keys.follow(&self.read_view(), &indexes);
        for (number, index) in indexes.iter().enumerate() {
            let mut extractor = Extractor::new([&index.definition]);
            let mut keys = Vec::new();
            extractor.keys(line, |_, key, has_absent| {
                if !has_absent {
                    keys.push(key.to_vec());
                }
            });
            for key in &keys {
                let pending = &writer.pending_keys;
                let holder = pending.holder(&self.read_view(), number, &mut extractor, key, id);
                let holder = match holder {
                    Some(holder) => Some(holder),
                    None => self.holder_in_file(writer, index, key, id)?,
                };
                if let Some(holder) = holder {
                    return Err(self.duplicate_error(index, holder, line, key));
                }
            }
            if !keys.is_empty() {
                self.publish_if_large(writer, index)?;
            }
        }
        Ok(())
    }

    /// Another document that has a key in the file, and has no pending line.
    fn holder_in_file(
        &self,
        writer: &mut Writer,
        index: &FieldIndex,
        key: &[u8],
        id: &str,
    ) -> Result<Option<String>> {
        let counts =
            |found: &str, view: &View| Ok(found != id && !view.is_pending(found, &mut Vec::new()));
        self.cover(Some(writer), index)?;
        self.repairing_field(Some(writer), index, |view| {
            self.cover_or_fail(view, index)?;
            holder_in(view, index, &mut cursor_of(index), key, &counts)
        })
    }

    /// Makes sure that an index covers the data. The caller is the writer, or a batch.
    fn cover(&self, mut writer: Option<&mut Writer>, index: &FieldIndex) -> Result<()> {
        let is_covered =
            self.repairing_field(writer.as_deref_mut(), index, |view| self.catch_up(view, index))?;
        if is_covered {
            return Ok(());
        }
        if let Some(writer) = writer.as_deref_mut() {
            self.prepare_to_append(writer)?; // which ends the last line
        }
        self.build(writer, index, &mut |_, _| true)
    }

    /// For the writer, who has just made sure that the index covers the data.
    fn cover_or_fail(&self, view: &View, index: &FieldIndex) -> Result<(), FieldFault> {
        if self.catch_up(view, index)? {
            return Ok(());
        }
        let text = format!("index {:?} cannot be brought up to date", index.definition.name);
        Err(std::io::Error::other(text).into())
    }

    /// The error for a line with a key that the document `id` has.
    pub(super) fn duplicate_error(
        &self,
        index: &FieldIndex,
        id: String,
        line: &[u8],
        key: &[u8],
    ) -> Error {
        let definition = &index.definition;
        Error::Duplicate {
            collection: self.handle.collection().to_owned(),
            index: definition.name.clone(),
            values: format!(
                "{} = {}",
                definition.field_names().join(", "),
                values_text(&definition.fields, line, key)
            ),
            id,
        }
    }

    /// Refuses a batch that would leave two documents with the same values. Its lines are in the
    /// file from `start` to `end`; `resolved` has what it leaves.
    pub(in crate::store) fn check_unique_batch(
        &self,
        data: &dyn File,
        (start, end): (u64, u64),
        resolved: &Resolved,
    ) -> Result<()> {
        if !self.fields.has_unique() {
            return Ok(());
        }
        let indexes = self.unique_indexes();
        let mut newest: Vec<Entry> =
            resolved.entries.iter().filter(|entry| !entry.is_tombstone()).copied().collect();
        newest.sort_unstable_by_key(|entry| entry.offset());
        let io = |error| Error::io("read", &self.paths.data)(error);
        let mut collected: Vec<Collected> = indexes.iter().map(|_| Collected::default()).collect();
        let mut extractor = Extractor::new(indexes.iter().map(|index| &index.definition));
        let mut reader = LineReader::new(data, start, end);
        let mut next = newest.iter().peekable();
        while let Some(raw) = reader.next().map_err(io)? {
            while next.peek().is_some_and(|entry| entry.offset() < raw.offset) {
                next.next();
            }
            let Some(&entry) = next.peek().copied().filter(|entry| entry.offset() == raw.offset)
            else {
                continue;
            };
            extractor.keys(raw.text, |number, key, has_absent| {
                if !has_absent {
                    collected[number].push(key, entry);
                }
            });
        }
        for (index, mut keys) in indexes.iter().zip(collected) {
            keys.sort();
            self.check_keys(index, &keys, data, resolved)?;
        }
        Ok(())
    }

    /// Checks the keys of a batch, sorted, against each other and against the index.
    fn check_keys(
        &self,
        index: &FieldIndex,
        keys: &Collected,
        data: &dyn File,
        resolved: &Resolved,
    ) -> Result<()> {
        self.cover(None, index)?;
        let io = |error| Error::io("read", &self.paths.data)(error);
        let read = |entry: Entry| {
            let mut line = vec![0; entry.size() as usize];
            data.read_at(&mut line, entry.offset()).map(|_| line).map_err(io)
        };
        let mut extractor = Extractor::new([&index.definition]);
        let mut text = Vec::new();
        // The lines with the last stored key, by whole key.
        let (mut last, mut same): (&[u8], HashMap<Vec<u8>, Entry>) = (&[], HashMap::new());
        for (key, is_cut, entry) in keys.iter() {
            if key != last {
                (last, same) = (key, HashMap::new());
            }
            let wholes = match is_cut {
                true => extractor.keys_from(&read(entry)?, key),
                false => vec![key.to_vec()],
            };
            for whole in wholes {
                let Some(other) = same.insert(whole.clone(), entry) else { continue };
                if other.offset() != entry.offset() {
                    let one = read(other)?;
                    let id = id_of_valid_line(&one).unwrap_or_default().into_owned();
                    return Err(self.duplicate_error(index, id, &read(entry)?, &whole));
                }
            }
        }
        let is_changed = |id: &str, view: &View| -> Result<bool, FieldFault> {
            let hash = id_hash(id);
            let first = resolved.entries.partition_point(|entry| entry.hash < hash);
            let same = resolved.entries[first..].iter().take_while(|entry| entry.hash == hash);
            let segment = view.segment.as_deref().expect("there is data");
            for entry in same {
                if read_id(*entry, segment, &mut Vec::new())? == id {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let counts = |id: &str, view: &View| is_changed(id, view).map(|is_changed| !is_changed);
        let mut rest = keys.iter();
        loop {
            let part = rest.clone().take(CHECKED_AT_ONCE);
            let holder = self.repairing_field(None, index, |view| {
                self.cover_or_fail(view, index)?;
                let mut cursor = cursor_of(index);
                for (key, is_cut, entry) in part.clone() {
                    let wholes = match is_cut {
                        true => {
                            let segment = view.segment.as_deref().expect("there is data");
                            segment.read(entry, &mut text)?;
                            extractor.keys_from(&text, key)
                        }
                        false => vec![key.to_vec()],
                    };
                    for whole in wholes {
                        if let Some(id) = holder_in(view, index, &mut cursor, &whole, &counts)? {
                            return Ok(Some((id, entry, whole)));
                        }
                    }
                }
                Ok(None)
            })?;
            if let Some((holder, entry, whole)) = holder {
                return Err(self.duplicate_error(index, holder, &read(entry)?, &whole));
            }
            if rest.nth(CHECKED_AT_ONCE - 1).is_none() {
                return Ok(());
            }
        }
    }

    /// Pairs of documents with the same values in a unique index, up to a limit.
    pub(super) fn duplicates(
        &self,
        view: &View,
        index: &FieldIndex,
        limit: usize,
    ) -> Result<Vec<Twins>, FieldFault> {
        self.cover_or_fail(view, index)?;
        let Some(segment) = view.segment.as_deref() else { return Ok(Vec::new()) };
        let mut cursor = {
            let covered = index.read();
            Cursor::new(&covered.files, &covered.recent, &KeyRange::all(), Direction::Forward)?
        };
        let mut extractor = Extractor::new([&index.definition]);
        let mut found = Vec::new();
        let mut text = Vec::new();
        // The last stored key with its first line, and the lines with it by whole key, which are read
        // when there are two. `None` if its values are missing or null.
        let mut last: Option<(Vec<u8>, Entry)> = None;
        let mut same: Option<HashMap<Vec<u8>, Entry>> = None;
        while let Some((key, _, entry)) = cursor.next()? {
            let is_same = last.as_ref().is_some_and(|(known, _)| known == key);
            if is_same && same.is_none() {
                continue;
            }
            let key = key.to_vec();
            if !view.is_newest_in_file(entry, &mut text)? {
                continue;
            }
            let Some((_, first)) = last.as_ref().filter(|_| is_same) else {
                (last, same) = (Some((key, entry)), Some(HashMap::new()));
                continue;
            };
            let Some(lines) = &mut same else { continue };
            if lines.is_empty() {
                segment.read(*first, &mut text)?;
                let mut has_absent = false;
                extractor.keys(&text, |_, whole, absent| {
                    has_absent |= absent;
                    if whole.starts_with(&key) {
                        lines.insert(whole.to_vec(), *first);
                    }
                });
                if has_absent {
                    same = None;
                    continue;
                }
            }
            segment.read(entry, &mut text)?;
            for whole in extractor.keys_from(&text, &key) {
                let Some(other) = lines.insert(whole.clone(), entry) else { continue };
                if other.offset() == entry.offset() {
                    continue;
                }
                let mut before = Vec::new();
                segment.read(other, &mut before)?;
                let id = id_of_valid_line(&before).unwrap_or_default().into_owned();
                found.push(Twins { id, line: text.clone(), key: whole });
                if found.len() >= limit {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

/// Two documents with the same values.
pub(super) struct Twins {
    /// The id of one of them.
    pub(super) id: String,
    /// The line of the other.
    pub(super) line: Vec<u8>,
    /// The key of both.
    pub(super) key: Vec<u8>,
}

/// A cursor that goes to one key after another.
fn cursor_of(index: &FieldIndex) -> Cursor {
    let covered = index.read();
    Cursor::unplaced(&covered.files, &covered.recent, Direction::Forward)
}

fn holder_in(
    view: &View,
    index: &FieldIndex,
    cursor: &mut Cursor,
    key: &[u8],
    counts: &dyn Fn(&str, &View) -> Result<bool, FieldFault>,
) -> Result<Option<String>, FieldFault> {
    let Some(segment) = view.segment.as_deref() else { return Ok(None) };
    cursor.seek(&KeyRange::beginning_with(key))?;
    let mut text = Vec::new();
    while let Some((_, is_cut, entry)) = cursor.next()? {
        if !view.is_newest_in_file(entry, &mut text)? {
            continue;
        }
        segment.read(entry, &mut text)?;
        if is_cut && !Extractor::new([&index.definition]).has_key(&text, key) {
            continue;
        }
        let Some(id) = id_of_valid_line(&text) else { continue };
        if counts(&id, view)? {
            return Ok(Some(id.into_owned()));
        }
    }
    Ok(None)
}
