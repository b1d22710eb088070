//! The one interface through which every system is measured.
//!
//! A system implements [`Store`] the way its own documentation advises for the
//! job at hand; the comment on each implementation says what was chosen and
//! why. Everything the suites call is a provided method over it ([`Handle`]),
//! so that parsing, tallying and buffering are the same code for everybody and
//! compile into the system's own loop.

mod fjall;
#[cfg(feature = "folio")]
mod folio;
mod lmdb;
mod redb;
mod roster;
mod sled;
mod sqlite;

use std::hint::black_box;
use std::path::Path;

use sonic_rs::{JsonContainerTrait, JsonValueTrait};

use crate::Result;
use crate::record::Record;

pub use roster::{System, find, roster};

/// What a system must be able to do. One method is one public operation of the
/// system, bulk where it offers bulk.
pub trait Store: Sized + 'static {
    /// Creates an empty store in a directory that exists and is empty.
    fn create(directory: &Path) -> Result<Self>;

    /// Opens a store that was closed properly, for reading.
    fn open(directory: &Path) -> Result<Self>;

    /// Stores records that are new and sorted, as one bulk load.
    fn write(&mut self, records: &[Record], form: Form) -> Result<()>;

    /// Returns when everything written before survives a power cut.
    fn sync(&mut self) -> Result<()>;

    /// Shows every document's bytes, in the system's own order, by its cheapest public way.
    fn scan(&self, visit: impl FnMut(&[u8])) -> Result<()>;

    /// Shows the bytes of each of these documents. A missing one is an error.
    fn get_each(&self, ids: &[String], visit: impl FnMut(&[u8])) -> Result<()>;

    /// The same through the system's own lookup of many ids in one call, if it has one.
    fn get_together(&self, _ids: &[String], _visit: impl FnMut(&[u8])) -> Option<Result<()>> {
        None
    }

    /// Scans on every core by the division into parts that the system itself offers, if
    /// it does: what `visit` says of each document's bytes is added up.
    fn scan_in_parts(
        &self,
        _visit: impl Fn(&[u8], &mut Tally) -> Result<()> + Sync,
    ) -> Option<Result<Tally>> {
        None
    }

    /// Scans to documents by the parsed interface the system itself offers, if it has one.
    fn scan_native(&self) -> Option<Result<Tally>> {
        None
    }
}

/// The form in which a bulk load is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `serde_json::Value`s, which the store serializes.
    Values,
    /// Lines of JSON.
    Lines,
    /// Lines of JSON that need no validation. To a peer, which validates
    /// nothing in any case, the same as [`Form::Lines`].
    TrustedLines,
}

/// The bytes a peer stores for a record: its line, or its value serialized into the buffer.
fn serialize<'a>(record: &'a Record, form: Form, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    if form != Form::Values {
        return Ok(record.line.as_bytes());
    }
    buffer.clear();
    serde_json::to_writer(&mut *buffer, &record.value)?;
    Ok(buffer)
}

/// A store on which every put is durable when it returns, shared by its writers.
pub trait DurableStore: Sync {
    /// What one writer (one thread) needs: a connection, a handle, nothing.
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>>;
}

/// One writer of a [`DurableStore`].
pub trait DurableWriter {
    /// Stores one document; it survives a power cut once this returns.
    fn put(&mut self, record: &Record) -> Result<()>;
}

/// What a reader saw. Two systems did the same work only if these are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Documents.
    pub count: u64,
    /// Bytes of all documents.
    pub size: u64,
    /// First and last byte of each document, added up: the bytes were touched.
    pub edges: u64,
}

impl Tally {
    /// Counts one document.
    #[inline]
    pub fn add(&mut self, document: &[u8]) {
        self.count += 1;
        self.size += document.len() as u64;
        if let (Some(first), Some(last)) = (document.first(), document.last()) {
            self.edges += u64::from(*first) + (u64::from(*last) << 8);
        }
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.size += other.size;
        self.edges += other.edges;
    }

    /// What reading all these records must give.
    #[must_use]
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut tally = Self::default();
        lines.into_iter().for_each(|line| tally.add(line));
        tally
    }
}

/// A JSON parser that makes a whole document from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// `serde_json::Value`, what most Rust programs use.
    SerdeJson,
    /// `sonic_rs::Value`, a SIMD parser into an arena.
    SonicRs,
}

impl Parser {
    /// Parses a document, and reads one field of it so that the work is used.
    #[inline]
    fn parse(self, document: &[u8]) -> Result<()> {
        let age = match self {
            Self::SerdeJson => {
                let value: serde_json::Value = serde_json::from_slice(document)?;
                let age = value["age"].as_u64();
                black_box(value);
                age
            }
            Self::SonicRs => {
                let value: sonic_rs::Value = sonic_rs::from_slice(document)?;
                let age = value.as_object().and_then(|object| object.get(&"age")).as_u64();
                black_box(value);
                age
            }
        };
        if age.is_none() {
            return Err("a document came back without its age".into());
        }
        Ok(())
    }
}

/// What the suites call, for any system.
pub trait Handle {
    /// See [`Store::write`].
    fn write(&mut self, records: &[Record], form: Form) -> Result<()>;
    /// See [`Store::sync`].
    fn sync(&mut self) -> Result<()>;
    /// Scans to raw bytes.
    fn scan_raw(&self) -> Result<Tally>;
    /// Scans and parses every document.
    fn scan_parsed(&self, parser: Parser) -> Result<Tally>;
    /// See [`Store::scan_in_parts`]; parses every document.
    fn scan_parsed_in_parts(&self, parser: Parser) -> Option<Result<Tally>>;
    /// See [`Store::scan_native`].
    fn scan_native(&self) -> Option<Result<Tally>>;
    /// Gets documents as raw bytes.
    fn get_raw(&self, ids: &[String]) -> Result<Tally>;
    /// See [`Store::get_together`]; raw bytes.
    fn get_raw_together(&self, ids: &[String]) -> Option<Result<Tally>>;
    /// Gets documents and parses each.
    fn get_parsed(&self, ids: &[String], parser: Parser) -> Result<Tally>;
}

impl<S: Store> Handle for S {
    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        Store::write(self, records, form)
    }

    fn sync(&mut self) -> Result<()> {
        Store::sync(self)
    }

    fn scan_raw(&self) -> Result<Tally> {
        let mut tally = Tally::default();
        self.scan(|document| tally.add(document))?;
        Ok(tally)
    }

    fn scan_parsed(&self, parser: Parser) -> Result<Tally> {
        let (mut tally, mut failure) = (Tally::default(), None);
        self.scan(|document| {
            tally.add(document);
            failure = failure.take().or(parser.parse(document).err());
        })?;
        failure.map_or(Ok(tally), Err)
    }

    fn scan_parsed_in_parts(&self, parser: Parser) -> Option<Result<Tally>> {
        self.scan_in_parts(|document, tally| {
            tally.add(document);
            parser.parse(document)
        })
    }

    fn scan_native(&self) -> Option<Result<Tally>> {
        Store::scan_native(self)
    }

    fn get_raw(&self, ids: &[String]) -> Result<Tally> {
        let mut tally = Tally::default();
        self.get_each(ids, |document| tally.add(document))?;
        Ok(tally)
    }

    fn get_raw_together(&self, ids: &[String]) -> Option<Result<Tally>> {
        let mut tally = Tally::default();
        let seen = self.get_together(ids, |document| tally.add(document))?;
        Some(seen.map(|()| tally))
    }

    fn get_parsed(&self, ids: &[String], parser: Parser) -> Result<Tally> {
        let (mut tally, mut failure) = (Tally::default(), None);
        self.get_each(ids, |document| {
            tally.add(document);
            failure = failure.take().or(parser.parse(document).err());
        })?;
        failure.map_or(Ok(tally), Err)
    }
}

/// The error for a document that is not there and must be.
fn missing(system: &str, id: &str) -> Box<dyn std::error::Error + Send + Sync> {
    format!("{system} has no document {id:?}").into()
}
