//! Which names in an archive belong to a database, and which are rejected.

use std::path::{Path, PathBuf};

use folio_types::{check_collection_name, check_document_id};

use crate::index::is_line_index_file;
use crate::store::TYPES_NAME;

/// The longest name of a member. All names of a database are shorter.
const MAX_NAME_SIZE: usize = 1024;

/// Files on the top level.
const ROOT_FILES: [&str; 2] = ["folio.json", "zds.json"];

/// Files in a collection's `meta/` that hold data.
const META_FILES: [&str; 3] = ["data.jsonl", "manifest.json", "order.ids"];

/// Whether the name of a part is one of an index or of types: read in place, and derived again
/// where the archive is unpacked.
pub(super) fn is_derived(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    is_line_index_file(file) || file == TYPES_NAME
}

/// Whether a name, relative to the database's folder, is part of a database.
pub(super) fn is_part(name: &str) -> bool {
    let steps: Vec<&str> = name.split('/').collect();
    match steps[..] {
        [file] => ROOT_FILES.contains(&file),
        ["collections", collection, folder, file] => {
            let is_file = match folder {
                "meta" => META_FILES.contains(&file) || is_derived(file),
                "docs" => {
                    file == "order.ids"
                        || file
                            .strip_suffix(".json")
                            .is_some_and(|id| check_document_id(id).is_ok())
                }
                _ => false,
            };
            is_file && check_collection_name(collection).is_ok()
        }
        _ => false,
    }
}

/// The top-level files of a database.
pub(super) fn root_files() -> &'static [&'static str] {
    &ROOT_FILES
}

/// The name of a file of a collection.
pub(super) fn member_name(collection: &str, folder: &str, file: &str) -> String {
    format!("collections/{collection}/{folder}/{file}")
}

/// Checks that a member's name stays inside the target, on every system.
///
/// # Errors
/// What is wrong with the name.
pub(super) fn check_name(raw: &[u8]) -> Result<&str, &'static str> {
    let name = std::str::from_utf8(raw).map_err(|_| "its name is not UTF-8")?;
    if name.is_empty() || name.len() > MAX_NAME_SIZE {
        return Err("its name is empty or too long");
    }
    if name.chars().any(|character| character.is_control() || matches!(character, '\\' | ':')) {
        return Err("its name has a backslash, a colon or a control character");
    }
    if name.starts_with('/') {
        return Err("its name is absolute");
    }
    // The name of a folder ends with a slash.
    let name = name.strip_suffix('/').unwrap_or(name);
    if name.split('/').any(|step| matches!(step, "" | "." | "..")) {
        return Err("its name leads out of its folder");
    }
    Ok(name)
}

/// The folder of the database in an archive with these names: empty for the top level, otherwise a
/// name followed by a slash. `None` if there are several.
pub(super) fn root_of<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut found: Option<&str> = None;
    for name in names {
        if is_part(name) {
            return Some(String::new());
        }
        let Some((folder, rest)) = name.split_once('/') else { continue };
        if !is_part(rest) || found == Some(folder) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(folder);
    }
    Some(found.map(|folder| format!("{folder}/")).unwrap_or_default())
}

/// The path in a directory for a member whose name was checked.
pub(super) fn path_in(directory: &Path, name: &str) -> PathBuf {
    name.split('/').fold(directory.to_owned(), |path, step| path.join(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_database_are_known() {
        for name in [
            "folio.json",
            "zds.json",
            "collections/a/meta/data.jsonl",
            "collections/größe/meta/manifest.json",
            "collections/a/meta/order.ids",
            "collections/a/docs/order.ids",
            "collections/a/meta/folio.idx",
            "collections/a/meta/folio.types",
            "collections/a/meta/folio.run-12.idx",
            "collections/a/docs/x.y.json",
        ] {
            assert!(is_part(name) && check_name(name.as_bytes()) == Ok(name), "{name}");
        }
        for name in [
            "",
            "readme.md",
            "folio.lock",
            "collections",
            "collections/a",
            "collections/a/meta",
            "collections/a/meta/index.bin",
            "collections/a/meta/folio.index",
            "collections/a/meta/folio.run-x.idx",
            "collections/a/meta/folio.idx.new",
            "collections/a/docs/folio.idx",
            "collections/a/meta/data.jsonl/x",
            "collections/.a/meta/data.jsonl",
            "collections/../meta/data.jsonl",
            "collections/a/docs/.json",
            "collections/a/docs/.folio.tmp",
            "collections/a/docs/a b.json",
            "collections/a/docs/a..b.json",
            "collections//meta/data.jsonl",
            "/collections/a/meta/data.jsonl",
            "Collections/a/meta/data.jsonl",
        ] {
            assert!(!is_part(name), "{name}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            &b""[..],
            b"/",
            b"/etc/passwd",
            b"..",
            b"../x",
            b"a/../x",
            b"a/./x",
            b"a//x",
            b"./x",
            b"a/..",
            b"C:/x",
            b"C:\\x",
            b"..\\x",
            b"a\\x",
            b"a\0b",
            b"a\nb",
            b"\xff",
            b"//x",
            b"x:stream",
            b"a/b//",
            b"a/\x7f",
        ] {
            assert!(check_name(name).is_err(), "{:?}", String::from_utf8_lossy(name));
        }
        assert!(check_name(&[b'a'; 1025]).is_err());
        assert_eq!(check_name(b"a/b/"), Ok("a/b"));
    }

    #[test]
    fn a_folder_around_the_database_is_found() {
        let root = |names: &[&str]| root_of(names.iter().copied());
        assert_eq!(root(&[]), Some(String::new()));
        assert_eq!(root(&["x", "y/z"]), Some(String::new()));
        assert_eq!(root(&["collections/a/meta/data.jsonl"]), Some(String::new()));
        let inner = ["d/x", "d/collections/a/meta/data.jsonl", "d/folio.json"];
        assert_eq!(root(&inner), Some("d/".to_owned()));
        assert_eq!(root(&["d/zds.json", "folio.json"]), Some(String::new()));
        assert_eq!(root(&["d/zds.json", "e/zds.json"]), None);
    }
}
