//! Documents as lines whose members are columns, and the types of the columns.

use std::sync::Arc;

use folio_document::{Error as CollectionError, Progress};
#[cfg(feature = "sql")]
use folio_json::Field;
use folio_json::{Tree, push_object};

use super::ExportOptions;
use super::columns::{Columns, report_progress};
use crate::collection::Collection;
use crate::documents::Documents;
use crate::error::Result;

/// Lines between two calls of `progress`.
const PROGRESS_STEP: u64 = 4_096;

/// The types of what is exported: those of the collection, or else those that a pass over the
/// documents finds.
///
/// # Errors
/// Errors of the scan; `cancelled` when `progress` answers `false`.
pub(super) fn types_of(
    collection: &Collection,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<Arc<Tree>> {
    if options.is_whole() && options.fields.is_empty() {
        return collection.types();
    }
    let mut lines = FlatLines::of(collection, options)?;
    let (mut types, mut count) = (Tree::default(), 0);
    while let Some(line) = lines.next()? {
        let reason = "not a JSON object";
        let observed = types.observe(line.as_bytes());
        observed.map_err(|_| CollectionError::Json { offset: 0, reason })?;
        count += 1;
        if count % PROGRESS_STEP == 0 {
            let (done, total) = lines.progress();
            report_progress(progress, done / 2, total)?;
        }
    }
    Ok(Arc::new(types))
}

/// Fields that can hold the values of all documents, with nested objects and lists. A field without
/// values is JSON text, since not every format has a type for that.
///
/// # Errors
/// As [`types_of`].
#[cfg(feature = "sql")]
pub(super) fn fields_of(
    collection: &Collection,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<Vec<Field>> {
    let fields = types_of(collection, options, progress)?.fields().into_iter();
    Ok(fields
        .map(|Field { name, field_type }| Field::new(name, field_type.without_null()))
        .collect())
}

/// The documents, or objects of the requested fields, each under its dotted path.
pub(super) struct FlatLines {
    documents: Lines,
    line: String,
}

enum Lines {
    Whole(Documents),
    Fields(Columns),
}

impl FlatLines {
    pub(super) fn of(collection: &Collection, options: &ExportOptions) -> Result<Self> {
        let documents = match options.fields.is_empty() {
            true => Lines::Whole(options.scan(collection, false)?),
            false => Lines::Fields(Columns::of(collection, options, &mut |_, _| true)?),
        };
        Ok(Self { documents, line: String::new() })
    }

    /// The next line, `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        let columns = match &mut self.documents {
            Lines::Whole(documents) => return super::columns::next_text(documents),
            Lines::Fields(columns) => columns,
        };
        self.line.clear();
        let names = columns.names().to_vec();
        let Some(row) = columns.next_row()? else { return Ok(None) };
        let members = names.iter().zip(row).filter_map(|(name, value)| Some((name, value?)));
        push_object(members, &mut self.line);
        Ok(Some(&self.line))
    }

    /// Bytes of the collection processed, and in total.
    pub(super) fn progress(&self) -> (u64, u64) {
        match &self.documents {
            Lines::Whole(documents) => documents.progress(),
            Lines::Fields(columns) => columns.progress(),
        }
    }
}
