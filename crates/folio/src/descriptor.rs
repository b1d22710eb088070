//! `folio.json`, the file that marks a directory as a database.
//!
//! ```json
//! {
//!   "format": "foliodb",
//!   "format_version": 1,
//!   "created_at": "2026-01-31T12:00:00Z",
//!   "options": {}
//! }
//! ```
//!
//! The first write creates it, under a temporary name, and renames it. A directory without it but
//! with `collections/` was written by the original ZDS and opens all the same. `options` is for
//! settings that every handle must follow. There are none yet. Members unknown to this release are
//! ignored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::FileSystem;
use folio_types::ErrorCode;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::write::{AtomicFile, read_small};

/// The file's name.
pub(crate) const FILE_NAME: &str = "folio.json";

/// The newest format version this release reads and the one it writes.
pub const FORMAT_VERSION: u64 = 1;

/// A size far above that of any valid file.
const SIZE_LIMIT: u64 = 1 << 20;

/// The content of `folio.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) format_version: u64,
    pub(crate) created_at: Option<String>,
}

/// Reads the descriptor of a database; `None` when it has none.
///
/// # Errors
/// `corrupted` when its content is invalid, `unsupported` when a newer release wrote it.
pub(crate) fn read(files: &dyn FileSystem, database: &Path) -> Result<Option<Descriptor>> {
    let path = database.join(FILE_NAME);
    match read_small(files, &path, SIZE_LIMIT) {
        Ok(bytes) => parse(&bytes, &path).map(Some),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(bytes: &[u8], path: &Path) -> Result<Descriptor> {
    let damaged = |offset: usize, reason: &str| {
        Error::Collection(folio_document::Error::Corrupted {
            path: path.to_owned(),
            offset: offset as u64,
            reason: reason.to_owned(),
            repair: "restore it, or delete it: it is written again at the next write".to_owned(),
        })
    };
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| damaged(error.column().saturating_sub(1), "not valid JSON"))?;
    let format_version = value
        .get("format_version")
        .and_then(Value::as_u64)
        .ok_or_else(|| damaged(0, "no \"format_version\" number"))?;
    if format_version > FORMAT_VERSION {
        return Err(Error::Collection(folio_document::Error::Version {
            path: path.to_owned(),
            found: format_version,
            known: FORMAT_VERSION,
        }));
    }
    let created_at = value.get("created_at").and_then(Value::as_str).map(str::to_owned);
    Ok(Descriptor { format_version, created_at })
}

/// Writes the descriptor of a new database into its directory.
///
/// # Errors
/// `io`.
pub(crate) fn write(files: &Arc<dyn FileSystem>, database: &Path) -> Result<()> {
    let path: PathBuf = database.join(FILE_NAME);
    let created_at = jiff::Timestamp::try_from(files.now())
        .map_or_else(|_| String::new(), |time| format!("{time:.0}"));
    let value = json!({
        "format": "foliodb",
        "format_version": FORMAT_VERSION,
        "created_at": created_at,
        "options": {},
    });
    AtomicFile::write_whole(files, &path, format!("{value:#}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_types::ErrorCode;

    fn code(text: &str) -> ErrorCode {
        parse(text.as_bytes(), Path::new("folio.json")).unwrap_err().code()
    }

    #[test]
    fn unknown_members_are_left_alone() {
        let text = r#"{"format":"foliodb","format_version":1,"later":[1]}"#;
        let descriptor = parse(text.as_bytes(), Path::new("folio.json")).unwrap();
        assert_eq!(descriptor, Descriptor { format_version: 1, created_at: None });
    }

    #[test]
    fn newer_and_damaged_files_are_refused() {
        assert_eq!(code(r#"{"format_version":2}"#), ErrorCode::Unsupported);
        for text in
            ["", "{", "[]", "{}", r#"{"format_version":"1"}"#, r#"{"format_version":-1}"#, "\0\0"]
        {
            assert_eq!(code(text), ErrorCode::Corrupted, "{text:?}");
        }
    }
}
