//! The documents of a collection, in order.
//!
//! `order.ids` holds one id per line. It is only a preference: the files are the documents. Ids
//! without a file are skipped, the last line of an id counts, and documents that are not in the
//! list follow by file name. So a lost, stale or torn list changes only the order of documents.
//!
//! A collection found without `order.ids` orders its documents by file name, and stays so. One that
//! starts empty gets a list, and so the order of insertion. An update or an edit by hand leaves a
//! document in its place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use folio_file::{FileKind, FileSystem};
use folio_types::check_document_id;

use super::paths::{EXTENSION, FilePaths};
use crate::error::{Error, Result};
use crate::{Notice, whole_file};

/// Every reader loads the list, so a list of this size is treated as an attack.
const SIZE_LIMIT: usize = 8 << 30;

/// How many names one notice lists.
const REPORTED_MAX: usize = 5;

/// The ids of a collection, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    places: HashMap<Arc<str>, u64>,
    ids: BTreeMap<u64, Arc<str>>,
}

impl Order {
    /// Adds an id at the end, or leaves it in its place.
    pub(super) fn insert(&mut self, id: &str) {
        if self.places.contains_key(id) {
            return;
        }
        let id: Arc<str> = id.into();
        let place = self.ids.last_key_value().map_or(0, |(&last, _)| last + 1);
        self.places.insert(Arc::clone(&id), place);
        self.ids.insert(place, id);
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some(place) = self.places.remove(id) {
            self.ids.remove(&place);
        }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    pub(super) fn count(&self) -> u64 {
        self.ids.len() as u64
    }

    /// All ids, in order.
    pub(super) fn to_vec(&self) -> Vec<Arc<str>> {
        self.ids.values().cloned().collect()
    }

    /// The content of `order.ids`.
    pub(super) fn to_text(&self) -> String {
        self.ids.values().flat_map(|id| [&**id, "\n"]).collect()
    }
}

/// The result of reading `docs/` and `order.ids`.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) order: Order,
    /// Names in `docs/` that are not documents, and why.
    pub(super) ignored: Vec<String>,
    /// Lines of `order.ids` that name no document.
    pub(super) stale_count: u64,
    /// Lines of `order.ids` whose id occurs again later.
    pub(super) repeated_count: u64,
}

impl Listing {
    /// Lists the documents of a collection, which may be empty.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn read(files: &dyn FileSystem, paths: &FilePaths) -> Result<Self> {
        let (mut present, ignored) = list_documents(files, paths)?;
        let listed = match find_list(files, paths)? {
            Some(path) => read_list(files, &path)?,
            None => Vec::new(),
        };
        let mut listing =
            Self { order: Order::default(), ignored, stale_count: 0, repeated_count: 0 };
        // Backwards, so that the last line of an id is the one that counts.
        let mut seen = HashSet::new();
        let mut ids = Vec::with_capacity(present.len());
        for id in listed.iter().rev() {
            if let Some(id) = present.take(id.as_str()) {
                seen.insert(id.clone());
                ids.push(id);
            } else if seen.contains(id) {
                listing.repeated_count += 1;
            } else {
                listing.stale_count += 1;
            }
        }
        ids.reverse();
        let mut unlisted: Vec<String> = present.into_iter().collect();
        unlisted.sort_by(|left, right| {
            left.bytes().chain(EXTENSION.bytes()).cmp(right.bytes().chain(EXTENSION.bytes()))
        });
        for id in ids.iter().chain(&unlisted) {
            listing.order.insert(id);
        }
        Ok(listing)
    }

    /// A notice for the user, if there is something to report.
    pub(super) fn notice(&self, paths: &FilePaths) -> Option<Notice> {
        if self.ignored.is_empty() {
            return None;
        }
        let reported = self
            .ignored
            .iter()
            .take(REPORTED_MAX)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; ");
        let more = match self.ignored.len().saturating_sub(REPORTED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Some(Notice(format!("{}: not read as documents: {reported}{more}", paths.docs.display())))
    }
}

/// The ids that have a file, and the other names.
fn list_documents(
    files: &dyn FileSystem,
    paths: &FilePaths,
) -> Result<(HashSet<String>, Vec<String>)> {
    let entries = match files.read_directory(&paths.docs) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(Error::io("list", &paths.docs))?,
    };
    let mut ids = HashSet::with_capacity(entries.len());
    let mut ignored = Vec::new();
    for entry in entries {
        // Hidden files belong to other programs or are temporary: .gitkeep, .DS_Store, our
        // .folio.tmp.
        if entry.name.starts_with('.') || entry.name == "order.ids" {
            continue;
        }
        let fault = match entry.name.strip_suffix(EXTENSION) {
            None => Some("its name does not end in .json"),
            Some(_) if entry.kind == FileKind::Link => Some("a link, which could lead anywhere"),
            Some(_) if entry.kind != FileKind::File => Some("not a file"),
            Some(id) if check_document_id(id).is_err() => Some("its name is not a valid id"),
            Some(id) => {
                ids.insert(id.to_owned());
                None
            }
        };
        ignored.extend(fault.map(|fault| format!("{:?} ({fault})", entry.name)));
    }
    ignored.sort_unstable();
    Ok((ids, ignored))
}

/// The path of the list, if there is one.
pub(super) fn find_list(files: &dyn FileSystem, paths: &FilePaths) -> Result<Option<PathBuf>> {
    for path in paths.order_places() {
        match files.stat(&path) {
            Ok(_) => return Ok(Some(path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("look at", &path)(error)),
        }
    }
    Ok(None)
}

/// The lines of the list. A line that is not an id matches no file.
pub(super) fn read_list(files: &dyn FileSystem, path: &std::path::Path) -> Result<Vec<String>> {
    let bytes = whole_file::read(files, path, SIZE_LIMIT)?.unwrap_or_default();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let ids = lines.filter(|line| !line.is_empty());
    Ok(ids.map(|line| String::from_utf8_lossy(line).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::MemoryFileSystem;
    use std::path::Path;

    fn check(contents: &[(&str, &str)], expected: &[&str], stale: u64, repeated: u64) {
        let files = MemoryFileSystem::new();
        for (name, text) in contents {
            files.write(Path::new("/db/collections/c").join(name), text.as_bytes()).unwrap();
        }
        let paths = FilePaths::new(Path::new("/db"), "c");
        let listing = Listing::read(&files, &paths).unwrap();
        let ids: Vec<_> = listing.order.to_vec();
        assert_eq!(ids.iter().map(|id| &**id).collect::<Vec<_>>(), expected, "{contents:?}");
        assert_eq!((listing.stale_count, listing.repeated_count), (stale, repeated));
    }

    #[test]
    fn the_list_comes_first_and_then_the_names() {
        let docs = [("docs/b.json", ""), ("docs/a.json", ""), ("docs/a-b.json", "")];
        let with = |list: (&'static str, &'static str)| [docs.as_slice(), &[list]].concat();
        check(&[], &[], 0, 0);
        check(&docs, &["a-b", "a", "b"], 0, 0);
        check(&with(("meta/order.ids", "b\na\na-b\n")), &["b", "a", "a-b"], 0, 0);
        check(&with(("docs/order.ids", "b\na\na-b\n")), &["b", "a", "a-b"], 0, 0);
        check(&with(("meta/order.ids", "b\n")), &["b", "a-b", "a"], 0, 0);
        check(&with(("meta/order.ids", "")), &["a-b", "a", "b"], 0, 0);
        check(&with(("meta/order.ids", "gone\r\nb\r\n\r\n../x\n")), &["b", "a-b", "a"], 2, 0);
        check(&with(("meta/order.ids", "b\na\nb")), &["a", "b", "a-b"], 0, 1);
        check(&with(("meta/order.ids", "\u{feff}b\na")), &["b", "a", "a-b"], 0, 0);
    }

    #[test]
    fn what_is_no_document_is_named() {
        let files = MemoryFileSystem::new();
        for name in ["a.json", "b.txt", "..c.json", ".git", "d e.json", "f.json/x", "order.ids"] {
            files.write(Path::new("/db/collections/c/docs").join(name), b"{}").unwrap();
        }
        let paths = FilePaths::new(Path::new("/db"), "c");
        let listing = Listing::read(&files, &paths).unwrap();
        assert_eq!(listing.order.to_text(), "a\n");
        assert_eq!(
            listing.ignored,
            [
                "\"b.txt\" (its name does not end in .json)",
                "\"d e.json\" (its name is not a valid id)",
                "\"f.json\" (not a file)",
            ]
        );
        assert!(listing.notice(&paths).unwrap().0.contains("b.txt"));
    }

    #[test]
    fn an_id_keeps_its_place_until_it_is_removed() {
        let mut order = Order::default();
        for id in ["a", "b", "c", "a"] {
            order.insert(id);
        }
        assert_eq!(order.to_text(), "a\nb\nc\n");
        order.remove("a");
        order.remove("none");
        order.insert("a");
        assert_eq!((order.to_text().as_str(), order.count()), ("b\nc\na\n", 3));
    }
}
