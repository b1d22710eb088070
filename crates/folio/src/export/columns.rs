//! Documents as rows of columns, for formats without nesting.
//!
//! The columns are the requested fields, or every top-level field that occurs, in the order of
//! first appearance; `_id` comes first. A cell is the exact JSON text of the value, or empty if the
//! document lacks the field.

use std::borrow::Cow;
use std::collections::HashMap;

use folio_document::{Error as CollectionError, Progress};
use folio_json::{Fault, Tree, find, members};

use super::ExportOptions;
use super::lines::types_of;
use crate::collection::Collection;
use crate::documents::Documents;
use crate::error::Result;

/// The columns of an export, and the documents that fill them.
#[derive(Debug)]
pub struct Columns {
    names: Vec<String>,
    /// The position of each top-level name; empty when fields were requested.
    places: HashMap<String, usize>,
    documents: Documents,
    line: String,
}

/// One document: the JSON text under each column.
pub type Row<'a> = Vec<Option<&'a str>>;

impl Columns {
    /// Determines the columns. Without requested fields this takes a first pass over the documents;
    /// both passes see the same snapshot.
    ///
    /// # Errors
    /// Errors of the scan; `cancelled` when `progress` answers `false`.
    pub fn of(
        collection: &Collection,
        options: &ExportOptions,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let documents = options.scan(collection, false)?;
        let mut columns = Self {
            names: vec!["_id".to_owned()],
            places: HashMap::new(),
            documents,
            line: String::new(),
        };
        if options.fields.is_empty() {
            columns.places.insert("_id".to_owned(), 0);
            columns.add(&*types_of(collection, options, progress)?);
        } else {
            columns.names.extend(options.fields.iter().filter(|field| *field != "_id").cloned());
        }
        Ok(columns)
    }

    /// Adds a column for each new member.
    fn add(&mut self, types: &Tree) {
        for (name, _) in types.members() {
            if !self.places.contains_key(name) {
                self.places.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
            }
        }
    }

    /// The columns' names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Bytes of the collection processed, and in total.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.documents.progress()
    }

    /// The next document, `None` after the last.
    ///
    /// # Errors
    /// Errors of the scan.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        let Some(line) = self.documents.next_line()? else { return Ok(None) };
        self.line.clear();
        self.line.push_str(text(line)?);
        let mut row = vec![None; self.names.len()];
        let members = members(&self.line).map_err(not_json)?;
        if self.places.is_empty() {
            for (cell, name) in row.iter_mut().zip(&self.names) {
                *cell = at_path(&members, name)?;
            }
        } else {
            let mut expected = 0;
            for (key, value) in members {
                if let Some(place) = place_of(&key, expected, &self.names, &self.places) {
                    row[place] = Some(value);
                    expected = place + 1;
                }
            }
        }
        Ok(Some(row))
    }
}

/// The column of a key: usually the one after the previous key's.
fn place_of(
    key: &str,
    expected: usize,
    names: &[String],
    places: &HashMap<String, usize>,
) -> Option<usize> {
    if names.get(expected).is_some_and(|name| name == key) {
        return Some(expected);
    }
    places.get(key).copied()
}

/// The value at a dotted path. A member whose name is the whole path takes precedence.
fn at_path<'a>(members: &[(Cow<'a, str>, &'a str)], path: &str) -> Result<Option<&'a str>> {
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|&(_, value)| value);
    match (member(path), path.split_once('.')) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some((first, rest))) => match member(first) {
            Some(inner) if inner.starts_with('{') => {
                find(inner, rest).map_err(|fault| not_json(fault).into())
            }
            _ => Ok(None),
        },
        (None, None) => Ok(None),
    }
}

/// Reports progress; the first of two passes counts half.
pub(crate) fn report_progress(progress: Progress<'_>, done: u64, total: u64) -> Result<()> {
    if progress(done, total) { Ok(()) } else { Err(CollectionError::Cancelled.into()) }
}

/// The next line as text, `None` after the last.
pub(super) fn next_text(documents: &mut Documents) -> Result<Option<&str>> {
    Ok(documents.next_line()?.map(text).transpose()?)
}

fn text(line: &[u8]) -> Result<&str, CollectionError> {
    std::str::from_utf8(line)
        .map_err(|error| CollectionError::Json { offset: error.valid_up_to(), reason: "not UTF-8" })
}

fn not_json(fault: Fault) -> CollectionError {
    CollectionError::Json { offset: fault.offset, reason: fault.reason }
}
