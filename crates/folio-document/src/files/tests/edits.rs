//! Edits of the files by hand.

use std::io;

use folio_file::{
    DirectoryEntry, DiskFileSystem, Fault, FaultKind, File, OpenMode, Operation, Stat,
};

use super::*;
use crate::Error;

#[test]
fn every_form_of_a_document_is_read() {
    let expected = r#"{"_id":"a","z":1.50,"b":[1,{"c":"x y"}]}"#;
    let forms = [
        r#"{"_id":"a","z":1.50,"b":[1,{"c":"x y"}]}"#,
        r#"{"z":1.50,"b":[1,{"c":"x y"}]}"#,
        r#"{"z":1.50,"_id":"a","b":[1,{"c":"x y"}]}"#,
        "\u{feff}{\r\n\t\"z\" : 1.50 ,\r\n \"b\":[ 1,\n{\"c\": \"x y\"} ] }\r\n\r\n",
    ];
    for form in forms {
        let files = MemoryFileSystem::new();
        files.write(at("docs/a.json"), form.as_bytes()).unwrap();
        let store = open(&files);
        assert_eq!(get(&store, "a").unwrap(), expected, "{form}");
        assert_eq!(scan(&store), [expected]);
        assert!(store.check(None, &mut |_, _| true).unwrap().is_clean());
        // Files written by people stay unchanged.
        assert_eq!(files.read(at("docs/a.json")).unwrap(), form.as_bytes());
    }
}

#[test]
fn edits_are_read_at_once_and_listed_after_a_refresh() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    assert_eq!(ids(&store), ["a"]);
    files.replace(at("docs/a.json"), b"{\"n\": 1}").unwrap();
    assert_eq!(get(&store, "a").unwrap(), r#"{"_id":"a","n":1}"#);
    files.write(at("docs/b.json"), b"{\"n\": 2}").unwrap();
    assert_eq!(get(&store, "b").unwrap(), r#"{"_id":"b","n":2}"#);
    for _ in 0..2 {
        store.refresh().unwrap();
        assert_eq!(ids(&store), ["a", "b"]);
        files.advance(std::time::Duration::from_secs(10));
    }
    // Nothing has changed for a while, so the listing is reused.
    store.refresh().unwrap();
    store.count().unwrap();
    let before = files.call_count(Operation::Metadata);
    store.refresh().unwrap();
    store.count().unwrap();
    assert!(files.call_count(Operation::Metadata) - before <= 4);
    files.write(at("docs/c.json"), b"{}").unwrap();
    store.refresh().unwrap();
    assert_eq!(store.count().unwrap(), 3);
}

#[test]
fn what_is_no_document_is_told_by_file_and_line() {
    let files = MemoryFileSystem::new();
    let cases: [(&str, &[u8], u64, &str); 7] = [
        ("bad", b"{\n  \"a\": 1,\n  \"b\": oops\n}\n", 3, "value expected"),
        ("empty", b"", 1, "\"{\" expected"),
        ("latin", b"{\"a\":\n\"\xe9\"}", 2, "UTF-8"),
        ("list", b"[1]", 1, "\"{\" expected"),
        ("other", b"{\"_id\": \"elsewhere\"}", 1, "elsewhere"),
        ("tail", b"{}\n{}\n", 2, "after the end"),
        ("twice", b"{\"_id\": \"twice\",\n\"_id\": \"twice\"}", 1, "twice"),
    ];
    for (id, bytes, ..) in cases {
        files.write(at(&format!("docs/{id}.json")), bytes).unwrap();
    }
    files.write(at("docs/good.json"), b"{}").unwrap();
    let store = open(&files);
    assert_eq!(scan(&store), [r#"{"_id":"good"}"#]);
    assert_eq!(store.handle.take_notices().len(), 6, "five by name and a count of the rest");

    let report = store.check(None, &mut |_, _| true).unwrap();
    assert_eq!((report.document_count, report.invalid_count), (1, 7));
    for ((id, _, line, reason), invalid) in cases.iter().zip(&report.invalid) {
        assert_eq!(invalid.path, at(&format!("docs/{id}.json")));
        assert_eq!(invalid.line, *line, "{id}: {invalid}");
        assert!(invalid.reason.contains(reason), "{id}: {invalid}");
        match store.get(id, &mut Vec::new()) {
            Err(Error::Corrupted { path, .. }) => assert_eq!(path, invalid.path),
            other => panic!("{id}: {other:?}"),
        }
        // Nothing is deleted silently; an explicit put or delete works.
        assert!(files.read(&invalid.path).is_some());
    }
    put(&store, "bad", r#"{"mended":true}"#).unwrap();
    assert!(store.delete("empty").unwrap());
    assert_eq!(store.check(None, &mut |_, _| true).unwrap().invalid_count, 5);
    assert!(matches!(store.check(None, &mut |_, _| false), Err(Error::Cancelled)));
}

#[test]
fn names_that_are_no_ids_are_told_and_left_alone() {
    let files = MemoryFileSystem::new();
    for name in ["a.json", "read me.json", "notes.txt", ".gitkeep"] {
        files.write(at("docs").join(name), b"{}").unwrap();
    }
    let store = open(&files);
    assert_eq!(ids(&store), ["a"]);
    let notices = store.handle.take_notices();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].0.contains("read me.json") && notices[0].0.contains("notes.txt"));
    let report = store.check(None, &mut |_, _| true).unwrap();
    assert_eq!((report.problems.len(), report.is_clean()), (2, false));
    put(&store, "b", "{}").unwrap();
    store.flush().unwrap();
    assert!(files.read(at("docs/read me.json")).is_some());
    assert!(files.read(at("meta/order.ids")).is_none(), "found by name, kept by name");
    assert_eq!(ids(&store), ["a", "b"]);
}

#[test]
fn an_edited_list_changes_the_order_and_nothing_else() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    for id in ["a", "b", "c"] {
        put(&store, id, "{}").unwrap();
    }
    store.flush().unwrap();
    files.write(at("meta/order.ids"), b"c\nb").unwrap();
    put(&store, "d", "{}").unwrap();
    assert_eq!(ids(&store), ["c", "b", "d", "a"]);
    store.flush().unwrap();
    files.write(at("meta/order.ids"), b"\xff\xfe\0\0\nb\nb\n../../etc/passwd\n").unwrap();
    store.refresh().unwrap();
    assert_eq!(ids(&store), ["b", "a", "c", "d"]);
    let report = store.check(None, &mut |_, _| true).unwrap();
    assert!(report.is_clean() && report.superseded_count == 1, "{report:?}");
    store.compact(&mut |_, _| true).unwrap();
    assert_eq!(store.check(None, &mut |_, _| true).unwrap().superseded_count, 0);
    assert_eq!(files.read(at("meta/order.ids")).unwrap(), b"b\na\nc\nd\n");
}

#[test]
fn a_document_put_again_after_its_delete_is_no_problem() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    store.flush().unwrap();
    store.delete("a").unwrap();
    put(&store, "a", "{}").unwrap();
    store.flush().unwrap();
    assert!(store.check(None, &mut |_, _| true).unwrap().is_clean());
}

#[test]
fn an_edit_that_an_interrupted_batch_overtakes_is_kept() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    put(&store, "b", "{}").unwrap();
    store.flush().unwrap();
    files.inject(Fault::next(Operation::Rename, FaultKind::Eio).on("docs"));
    commit(&store, &[("a", Some(r#"{"n":1}"#)), ("b", Some(r#"{"n":1}"#))]).unwrap();
    let files = files.kill();
    files.replace(at("docs/a.json"), b"{\"edited\": true}").unwrap();

    let store = open(&files);
    assert_eq!(get(&store, "a").unwrap(), r#"{"_id":"a","n":1}"#);
    put(&store, "c", "{}").unwrap();
    assert_eq!(scan(&store)[..2], [r#"{"_id":"a","n":1}"#, r#"{"_id":"b","n":1}"#]);
    let rejected: Vec<_> = files
        .paths()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("rejected"))
        .collect();
    assert_eq!(rejected.len(), 1);
    assert_eq!(files.read(&rejected[0]).unwrap(), b"{\"_id\":\"a\",\"edited\":true}\n");
    assert_eq!(store.handle.take_notices().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_link_is_no_document() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let docs = root.join("collections/c/docs");
    std::fs::create_dir_all(&docs).unwrap();
    std::fs::write(root.join("secret"), r#"{"_id":"evil","key":1}"#).unwrap();
    std::os::unix::fs::symlink(root.join("secret"), docs.join("evil.json")).unwrap();
    let lock = Arc::new(WriterLock::new(Arc::new(DiskFileSystem), root.join("folio.lock")));
    let store = FileStore::open(
        Arc::new(DiskFileSystem),
        FilePaths::new(root, "c"),
        "c",
        &CollectionOptions::default(),
        lock,
        Manifest::fallback(),
    )
    .unwrap();
    assert_eq!(store.count().unwrap(), 0);
    assert!(store.handle.take_notices()[0].0.contains("a link"));
    assert!(matches!(store.get("evil", &mut Vec::new()), Err(Error::Corrupted { .. })));
    assert!(!store.delete("evil").unwrap());
    // A put replaces the link, not its target.
    put(&store, "evil", "{}").unwrap();
    assert_eq!(std::fs::read_to_string(root.join("secret")).unwrap(), r#"{"_id":"evil","key":1}"#);
    assert_eq!(get(&store, "evil").unwrap(), r#"{"_id":"evil"}"#);
}

/// A file system that ignores the case of names and stores them in lower case.
#[derive(Debug)]
struct FoldsCase(MemoryFileSystem);

fn folded(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

impl FileSystem for FoldsCase {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.0.open(&folded(path), mode)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.0.stat(&folded(path))
    }
    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        self.0.stat_link(&folded(path))
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.0.create_directory(&folded(path))
    }
    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.0.read_directory(&folded(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(&folded(from), &folded(to))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(&folded(path))
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.0.remove_directory(&folded(path))
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.sync_directory(&folded(path))
    }
    fn is_network(&self, path: &Path) -> bool {
        self.0.is_network(path)
    }
    fn now(&self) -> std::time::SystemTime {
        FileSystem::now(&self.0)
    }
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.canonical(&folded(path))
    }
}

impl Files for FoldsCase {
    fn shared(&self) -> Arc<dyn FileSystem> {
        Arc::new(FoldsCase(self.0.clone()))
    }
}

#[test]
fn ids_that_differ_by_case_do_not_overwrite_each_other() {
    let files = FoldsCase(MemoryFileSystem::new());
    let store = open(&files);
    put(&store, "abc", r#"{"n":1}"#).unwrap();
    put(&store, "abc", r#"{"n":2}"#).unwrap();
    let error = put(&store, "ABC", "{}").unwrap_err();
    assert!(error.to_string().contains("case"), "{error}");
    assert!(commit(&store, &[("Abc", Some("{}"))]).is_err());
    assert!(!store.delete("ABC").unwrap());
    assert_eq!(get(&store, "ABC"), None);
    assert_eq!(get(&store, "abc").unwrap(), r#"{"_id":"abc","n":2}"#);

    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "abc", "{}").unwrap();
    put(&store, "ABC", "{}").unwrap();
    assert_eq!(store.count().unwrap(), 2);
}
