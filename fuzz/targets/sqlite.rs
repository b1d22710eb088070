//! A file of SQLite with patches to it, whose tables are brought over.

use std::path::Path;

use folio::sqlite::{self, SqliteOptions};
use folio_file::{FileSystem, MemoryFileSystem, OpenMode};

use super::{open, patch};

/// Tables of both kinds, an index, a view, a row longer than a page; pages of 512 bytes.
const SOUND: &[u8] = include_bytes!("sound.sqlite");

/// Patches to the file: it is imported whole, or nothing is.
pub(super) fn sqlite(bytes: &[u8]) {
    let mut file = SOUND.to_vec();
    patch::apply(bytes, &mut file);
    let files = MemoryFileSystem::new();
    let path = Path::new("/app.sqlite");
    files.open(path, OpenMode::CreateNew).unwrap().write_at(&file, 0).unwrap();
    let database = open(&files).unwrap();
    let outcome = sqlite::import(&database, path, &SqliteOptions::default(), &mut |_, _| true);
    let tables = database.tables().unwrap();
    let found = tables.list().unwrap();
    match outcome {
        Ok(report) => assert_eq!(found.len(), report.tables.len()),
        Err(_) => assert!(found.is_empty()),
    }
    assert!(tables.check().unwrap().is_none_or(|report| report.problems.is_empty()));
}
