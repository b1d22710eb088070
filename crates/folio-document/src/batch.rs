//! The public handle of an atomic batch.

use std::ops::RangeInclusive;

use folio_types::check_document_id;
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use serde_json::Value;

use crate::Document;
use crate::error::{Error, Result};
use crate::layout::AnyBatch;
use crate::line::{self, EncodedLine, Line, Record};
use crate::report::BatchCounts;
use crate::rules::CheckedStore;

/// How many documents [`Batch::put_many`] encodes together, and in how many shares. Their text
/// should fit in the cache, and be worth waking other cores for.
const GROUP_SIZE: usize = 1 << 20;
const GROUP_COUNTS: RangeInclusive<usize> = 64..=4_096;
const SHARES: usize = 16;

/// Some documents of a group as lines.
struct Share {
    text: Vec<u8>,
    /// Where each line ends in `text`.
    ends: Vec<usize>,
}

impl Share {
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

fn encode_share(documents: &[(&str, &Value)]) -> Result<Share> {
    let mut share = Share { text: Vec::new(), ends: Vec::with_capacity(documents.len()) };
    for (id, document) in documents {
        check_document_id(id)?;
        line::encode_value(id, document, &mut share.text)?;
        share.ends.push(share.text.len());
    }
    Ok(share)
}

/// An open batch. Nothing of it is visible before [`Batch::commit`]; dropping it undoes it. Only
/// one batch or other write runs at a time. Readers are not blocked.
///
/// The first document creates a missing collection, so an empty batch creates none. Until then, a
/// batch on a missing collection keeps no other writer out.
#[derive(Debug)]
pub struct Batch {
    /// `None` while the collection is missing and nothing was added.
    changes: Option<AnyBatch>,
    checked: CheckedStore,
    /// The line being encoded; reused for its memory.
    line: Vec<u8>,
}

impl Batch {
    pub(crate) fn begin(checked: &CheckedStore) -> Result<Self> {
        let store = &checked.store;
        store.check_writable()?;
        // A collection with pending documents only has no file yet.
        let is_there = store.is_created() || store.count()? > 0;
        let changes = is_there.then(|| AnyBatch::begin(store)).transpose()?;
        Ok(Self { changes, checked: checked.clone(), line: Vec::new() })
    }

    /// Where changes go. Creates the collection if it is missing.
    #[inline]
    fn changes<'b>(
        changes: &'b mut Option<AnyBatch>,
        checked: &CheckedStore,
    ) -> Result<&'b mut AnyBatch> {
        match changes {
            Some(begun) => Ok(begun),
            missing => Ok(missing.insert(AnyBatch::begin(&checked.store)?)),
        }
    }

    /// Adds a document. Whether it inserts or replaces is counted at commit.
    ///
    /// # Errors
    /// As [`crate::Collection::put`]. The batch is then unchanged and can continue.
    pub fn put(&mut self, id: &str, document: &Value) -> Result<()> {
        check_document_id(id)?;
        self.checked.check(id, || Ok(document.clone()))?;
        self.line.clear();
        line::encode_value(id, document, &mut self.line)?;
        Self::changes(&mut self.changes, &self.checked)?.put(EncodedLine::new(id, &self.line)?)
    }

    /// Adds many documents and encodes them on all cores. Faster than one `put` each.
    ///
    /// # Errors
    /// As [`Batch::put`], for the first document that cannot be stored. Documents before it may
    /// then be in the batch.
    pub fn put_many<'a>(
        &mut self,
        documents: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<()> {
        let mut documents = documents.into_iter();
        let (mut group, mut group_count) = (Vec::new(), *GROUP_COUNTS.start());
        loop {
            group.clear();
            group.extend(documents.by_ref().take(group_count));
            if group.len() < group_count || self.checked.is_strict() {
                group.iter().try_for_each(|(id, document)| self.put(id, document))?;
            } else {
                let size_before = self.size();
                self.put_group(&group)?;
                let average = (self.size() - size_before) as usize / group.len();
                let fitting = GROUP_SIZE / average.max(1);
                group_count = fitting.clamp(*GROUP_COUNTS.start(), *GROUP_COUNTS.end());
            }
            if group.is_empty() {
                return Ok(());
            }
        }
    }

    fn put_group(&mut self, group: &[(&str, &Value)]) -> Result<()> {
        let shares = group.par_chunks(group.len().div_ceil(SHARES));
        let encoded: Vec<Share> = shares.map(encode_share).collect::<Result<_>>()?;
        let lines = encoded.iter().flat_map(Share::lines);
        for ((id, _), line) in group.iter().zip(lines) {
            Self::changes(&mut self.changes, &self.checked)?.put(EncodedLine::new(id, line)?)?;
        }
        Ok(())
    }

    /// Adds JSON text under an id, or under its own `_id`.
    ///
    /// # Errors
    /// As [`crate::Collection::put_raw`], and [`Error::NoId`].
    pub fn put_raw(&mut self, id: Option<&str>, json: &str) -> Result<()> {
        let (id, line) = line::normalize(id, json)?;
        self.put_encoded(EncodedLine::new(&id, &line)?)
    }

    /// Adds an encoded line: one JSON object with its `_id`, without a line end. It is validated
    /// and stored unchanged, except that `_id` is moved to the front if it is elsewhere.
    ///
    /// # Errors
    /// [`Error::Json`] and [`Error::NoId`] for the line, otherwise as [`crate::Collection::put`].
    #[inline]
    pub fn put_line(&mut self, line: &[u8]) -> Result<()> {
        let examined = line::examine(line)
            .map_err(|fault| Error::Json { offset: fault.offset, reason: fault.reason })?;
        match examined {
            Line::Document { id, id_first: true } if memchr::memchr(b'\n', line).is_none() => {
                self.put_encoded(EncodedLine::new(&id, line)?)
            }
            Line::Document { .. } => {
                let text = std::str::from_utf8(line).expect("examined lines are UTF-8");
                self.put_raw(None, text)
            }
            Line::Blank | Line::Tombstone(_) => Err(Error::NoId),
        }
    }

    /// Adds an object that [`crate::Records`] has validated, under an id or under its own `_id`.
    /// Its text is stored unchanged after the `_id`.
    ///
    /// # Errors
    /// As [`Batch::put_raw`].
    #[inline]
    pub fn put_record(&mut self, id: Option<&str>, record: &Record<'_>) -> Result<()> {
        let carried = record.leading_id();
        let (id, line) = match (id, carried, record.rest()) {
            (None, Some(id), _) => (id, record.text().as_bytes()),
            (Some(id), Some(carried), _) if id == carried => (id, record.text().as_bytes()),
            (Some(id), None, Some(rest)) => {
                line::join_id(id, rest, &mut self.line);
                (id, self.line.as_slice())
            }
            _ => return self.put_raw(id, record.text()),
        };
        check_document_id(id)?;
        let line = EncodedLine::new(id, line)?;
        self.checked.check_line(&line)?;
        Self::changes(&mut self.changes, &self.checked)?.put(line)
    }

    /// Adds a line that an encoder has written.
    ///
    /// # Errors
    /// As [`crate::Collection::put`].
    #[inline]
    pub fn put_encoded(&mut self, line: EncodedLine<'_>) -> Result<()> {
        self.checked.check_line(&line)?;
        Self::changes(&mut self.changes, &self.checked)?.put(line)
    }

    /// Does some of the work of [`Batch::commit`] now. For callers that wait for their next
    /// document; call it every few thousand documents.
    pub fn work_ahead(&mut self) {
        if let Some(changes) = &mut self.changes {
            changes.work_ahead();
        }
    }

    /// Deletes a document, whether it was added in this batch or earlier.
    ///
    /// # Errors
    /// As [`crate::Collection::delete`].
    pub fn delete(&mut self, id: &str) -> Result<()> {
        check_document_id(id)?;
        if self.changes.is_none() {
            self.checked.store.refresh()?; // another process may have created the collection
            if !self.checked.store.is_created() {
                return Ok(());
            }
        }
        Self::changes(&mut self.changes, &self.checked)?.delete(id)
    }

    /// Whether the id has a document, in this batch or in the collection.
    ///
    /// # Errors
    /// As [`crate::Collection::get`].
    pub fn exists(&mut self, id: &str) -> Result<bool> {
        Self::changes(&mut self.changes, &self.checked)?.exists(id)
    }

    /// The document with this id, from this batch or from the collection.
    ///
    /// # Errors
    /// As [`crate::Collection::get`].
    pub fn get(&mut self, id: &str) -> Result<Option<Document>> {
        let mut line = Vec::new();
        let changes = Self::changes(&mut self.changes, &self.checked)?;
        changes.find(id, &mut line)?.then(|| Document::of_line(line)).transpose()
    }

    /// Bytes of the lines added so far, line ends included.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.changes.as_ref().map_or(0, AnyBatch::size)
    }

    /// Stores with the commit how far an import of a source (given by its fingerprint) has come;
    /// see [`crate::Collection::import_position`].
    pub fn set_import_position(&mut self, source: u64, position: u64) {
        if let Some(changes) = &mut self.changes {
            changes.set_import_position(source, position);
        }
    }

    /// Makes the batch durable, unless durability is `None`, and visible.
    ///
    /// # Errors
    /// As [`crate::Collection::put`]. Nothing of the batch is then stored.
    pub fn commit(self) -> Result<BatchCounts> {
        self.changes.map_or_else(|| Ok(BatchCounts::default()), AnyBatch::commit)
    }
}
