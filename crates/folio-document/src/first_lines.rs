//! The documents at the start of a data file, read without its index: for whoever shows a file that
//! is not opened yet, which takes time if the index has to be built.
//!
//! They are documents of the file, but not all of them need be live: a line further on may have
//! superseded one. Among themselves the lines are resolved: the last line of an id counts, where it
//! stands, and a tombstone removes its document.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use folio_file::{FileSystem, OpenMode};
use folio_types::check_collection_name;

use crate::error::{Error, Result};
use crate::line::{self, Line, LineReader};
use crate::store::{Paths, parts_that_count};

/// No more of the file is read.
const SIZE_MAX: u64 = 4 << 20;

/// The first documents of a collection, at most `count` lines, in file order. `None` if it has no data
/// file, or one that does not begin with a document of a usual size.
///
/// # Errors
/// [`Error::Name`], [`Error::Io`].
pub fn first_lines(
    files: &dyn FileSystem,
    database: &Path,
    name: &str,
    count: usize,
) -> Result<Option<Vec<Vec<u8>>>> {
    check_collection_name(name)?;
    let paths = Paths::new(database, name);
    let path = &paths.data;
    let file = match files.open(path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Error::io("open", path))?,
    };
    let stat = file.stat().map_err(Error::io("read", path))?;
    let parts = parts_that_count(files, &paths, &*file, &stat);
    let front = &parts.map_err(Error::io("read", &paths.batch))?[0];
    let mut reader = LineReader::new(&*file, 0, front.end.min(SIZE_MAX));
    let (mut lines, mut places) = (Vec::new(), HashMap::new());
    while lines.len() < count
        && let Some(raw) = reader.next().map_err(Error::io("read", path))?
    {
        // A line without an end may be longer, or on its way.
        if !raw.terminated {
            break;
        }
        let older = match line::examine(raw.text) {
            Ok(Line::Document { id, .. }) => {
                lines.push(Some(raw.text.to_vec()));
                places.insert(id.into_owned(), lines.len() - 1)
            }
            Ok(Line::Tombstone(id)) => places.remove(id),
            Ok(Line::Blank) | Err(_) => None,
        };
        if let Some(place) = older {
            lines[place] = None;
        }
    }
    let lines: Vec<Vec<u8>> = lines.into_iter().flatten().collect();
    Ok((!lines.is_empty()).then_some(lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::MemoryFileSystem;

    fn first(content: &str, count: usize) -> Option<Vec<String>> {
        let files = MemoryFileSystem::new();
        let path = Paths::new(Path::new("/db"), "c").data;
        for folder in ["/db", "/db/collections", "/db/collections/c", "/db/collections/c/meta"] {
            files.create_directory(Path::new(folder)).expect("a folder");
        }
        let file = files.open(&path, OpenMode::CreateNew).expect("a file");
        file.write_at(content.as_bytes(), 0).expect("written");
        let lines = first_lines(&files, Path::new("/db"), "c", count).expect("read");
        lines.map(|lines| {
            lines.into_iter().map(|line| String::from_utf8(line).expect("UTF-8")).collect()
        })
    }

    #[test]
    fn the_last_line_of_an_id_counts_where_it_stands() {
        let (a, b, c) = (r#"{"_id":"a"}"#, r#"{"_id":"b"}"#, r#"{"n":1,"_id":"c"}"#);
        let newer = r#"{"_id":"a","n":2}"#;
        let gone = r#"{"_tombstone":"b"}"#;
        for (content, count, expected) in [
            (format!("{a}\n{b}\n{c}\n"), 9, vec![a, b, c]),
            (format!("{a}\n{b}\n{c}\n"), 2, vec![a, b]),
            (format!("{a}\r\n\nnonsense\n{c}\n"), 9, vec![a, c]),
            (format!("{a}\n{c}\n{newer}\n"), 9, vec![c, newer]),
            (format!("{a}\n{b}\n{gone}\n"), 9, vec![a]),
            (format!("{b}\n{gone}\n{b}\n"), 9, vec![b]),
            (format!("{a}\n{c}"), 9, vec![a]),
        ] {
            assert_eq!(first(&content, count).expect("some"), expected, "{content}");
        }
        let long = format!("{{\"_id\":\"a\",\"t\":\"{}\"}}\n", "x".repeat(5 << 20));
        for content in ["", "\n", "nonsense\n", gone, &long] {
            assert_eq!(first(content, 9), None);
        }
    }

    #[test]
    fn a_collection_without_a_file_has_none() {
        let files = MemoryFileSystem::new();
        assert!(matches!(first_lines(&files, Path::new("/db"), "c", 1), Ok(None)));
        assert!(first_lines(&files, Path::new("/db"), "../c", 1).is_err());
    }
}
