//! `echo '{"_id":"x"}' >> data.jsonl` between any two calls of a writer.
//!
//! Each story runs once per file system call that it makes, with the line appended just before that
//! call. At every moment, the line stays and is found, and so is everything that was reported to
//! the writer as stored.
//!
//! One moment cannot be covered by any program, and is left out: a line that arrives after the last
//! check and before the `truncate` that removes the rest of a killed writer.
//! `truncate`, where the remains of a killed writer are cut off. It is left out.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use folio_document::{Collection, CollectionOptions, Error};
use folio_file::{
    DirectoryEntry, File, FileSystem, Map, MemoryFileSystem, OpenMode, Stat, WriterLock,
};
use serde_json::json;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";
const LINE: &[u8] = b"{\"_id\":\"x\"}\n";

/// The counter of calls, and at which call to append.
#[derive(Debug)]
struct Calls {
    files: MemoryFileSystem,
    made: AtomicU64,
    at: u64,
}

impl Calls {
    fn next(&self) {
        if self.made.fetch_add(1, Ordering::SeqCst) == self.at
            && self.files.stat(DATA.as_ref()).is_ok()
        {
            self.files.append(DATA, LINE).unwrap();
        }
    }
}

#[derive(Debug)]
struct Busy(Arc<Calls>);

#[derive(Debug)]
struct BusyFile(Arc<dyn File>, Arc<Calls>);

impl FileSystem for Busy {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.0.next();
        Ok(Arc::new(BusyFile(self.0.files.open(path, mode)?, Arc::clone(&self.0))))
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.0.next();
        self.0.files.stat(path)
    }
    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        self.0.files.stat_link(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.0.files.create_directory(path)
    }
    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.0.files.read_directory(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.next();
        self.0.files.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.next();
        self.0.files.remove_file(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.0.files.remove_directory(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.next();
        self.0.files.sync_directory(path)
    }
    fn is_network(&self, path: &Path) -> bool {
        self.0.files.is_network(path)
    }
    fn now(&self) -> SystemTime {
        self.0.files.now()
    }
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.files.canonical(path)
    }
}

impl File for BusyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.1.next();
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.1.next();
        self.0.write_at(bytes, offset)
    }
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.1.next();
        self.0.append(bytes)
    }
    fn truncate(&self, size: u64) -> io::Result<()> {
        self.0.truncate(size) // see above
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.next();
        self.0.sync_data()
    }
    fn start_writeback(&self, offset: u64, size: u64) {
        self.0.start_writeback(offset, size);
    }
    fn stat(&self) -> io::Result<Stat> {
        self.1.next();
        self.0.stat()
    }
    fn epoch(&self) -> Option<u64> {
        self.0.epoch()
    }
    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.1.next();
        self.0.set_modified(time)
    }
    fn map(&self) -> io::Result<Map> {
        self.0.map()
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.0.try_lock()
    }
    fn try_lock_shared(&self) -> io::Result<bool> {
        self.0.try_lock_shared()
    }
    fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }
}

fn open(files: Arc<dyn FileSystem>) -> Collection {
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// What a writer does on the files that `prepare` left. It records the ids that were reported as
/// stored. It may fail with an error.
struct Story {
    name: &'static str,
    prepare: fn(&MemoryFileSystem),
    /// The file ends inside a line, and the appended line becomes part of it until the writer ends
    /// it. Then it is enough that no byte is lost.
    is_open: bool,
    write: fn(&Collection, &mut Vec<&'static str>) -> Result<(), Error>,
}

fn three_documents(files: &MemoryFileSystem) {
    let docs = open(Arc::new(files.clone()));
    for id in ["a", "b", "c"] {
        docs.put(id, &json!({"n": 1})).unwrap();
    }
    docs.close().unwrap();
}

fn put_twice(docs: &Collection, stored: &mut Vec<&'static str>) -> Result<(), Error> {
    for id in ["d", "e"] {
        docs.put(id, &json!({"n": 2}))?;
        docs.flush()?;
        stored.push(id);
    }
    docs.close()
}

fn put_many(docs: &Collection, stored: &mut Vec<&'static str>) -> Result<(), Error> {
    let mut batch = docs.batch()?;
    batch.put("d", &json!({"n": 2}))?;
    batch.put("e", &json!({"n": 2}))?;
    batch.commit()?;
    stored.extend(["d", "e"]);
    docs.close()
}

const STORIES: [Story; 6] = [
    Story {
        name: "put, flush, put, flush",
        prepare: three_documents,
        is_open: false,
        write: put_twice,
    },
    Story { name: "a batch", prepare: three_documents, is_open: false, write: put_many },
    Story {
        name: "put behind the torn end of a killed writer",
        prepare: |files| {
            three_documents(files);
            files.append(DATA, b"{\"_id\":\"torn\",\"n").unwrap();
        },
        is_open: true,
        write: put_twice,
    },
    Story {
        name: "put behind a line without an end",
        prepare: |files| {
            three_documents(files);
            files.append(DATA, b"{\"_id\":\"y\"}").unwrap();
        },
        is_open: true,
        write: put_twice,
    },
    Story {
        name: "put behind an interrupted batch",
        prepare: |files| {
            three_documents(files);
            let docs = open(Arc::new(files.clone()));
            let mut batch = docs.batch().unwrap();
            for n in 0..12 {
                batch.put(&format!("w{n}"), &json!({"filler": "w".repeat(100_000)})).unwrap();
            }
            while !String::from_utf8(files.read(DATA).unwrap()).unwrap().contains("\"w1\"") {
                std::thread::yield_now();
            }
            std::mem::forget(batch); // killed: it is not undone
        },
        is_open: false,
        write: put_twice,
    },
    Story {
        name: "compact",
        prepare: |files| {
            three_documents(files);
            three_documents(files);
        },
        is_open: false,
        write: |docs, stored| {
            docs.compact(&mut |_, _| true)?;
            put_twice(docs, stored)
        },
    },
];

#[test]
fn a_line_appended_between_any_two_calls_stays_and_so_does_what_is_acknowledged() {
    for story in &STORIES {
        let prepared = MemoryFileSystem::new();
        (story.prepare)(&prepared);
        let mut at = 0;
        while play(story, &survivor(&prepared), at) {
            at += 1;
        }
        assert!(at > 20, "{}: {at} calls", story.name);
    }
}

/// Runs a story with the line appended before call number `at`; `false` if the story makes fewer
/// calls.
fn play(story: &Story, files: &MemoryFileSystem, at: u64) -> bool {
    let context = format!("{}, call {at}", story.name);
    let calls = Arc::new(Calls { files: files.clone(), made: AtomicU64::new(0), at });
    let mut stored = vec!["a", "b", "c"];
    let docs = open(Arc::new(Busy(Arc::clone(&calls))));
    let done = (story.write)(&docs, &mut stored);
    drop(docs);
    let is_over = calls.made.load(Ordering::SeqCst) <= at;
    let reader = open(Arc::new(files.clone()));
    let everything = everything(files);
    if story.is_open {
        assert!(is_over || everything.contains(r#"{"_id":"x"}"#), "{context}\n{everything}");
    } else if !is_over {
        stored.push("x");
    }
    for id in stored {
        let is_there = reader.get(id).unwrap().is_some();
        assert!(is_there, "{context}: {id} is gone; {done:?}\n{everything:.500}");
    }
    assert!(!is_over || done.is_ok(), "{context}: {done:?}");
    let report = reader.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{context}: {report:?}");
    assert!(report.invalid_count == 0 || story.is_open, "{context}: {report:?}");
    !is_over
}

/// The text of all files that hold lines.
fn everything(files: &MemoryFileSystem) -> String {
    let is_lines = |path: &PathBuf| path.extension().is_some_and(|found| found == "jsonl");
    let paths = files.paths().into_iter().filter(is_lines);
    paths.map(|path| String::from_utf8_lossy(&files.read(path).unwrap()).into_owned()).collect()
}

/// The files as another process finds them, without the locks of the killed one.
fn survivor(files: &MemoryFileSystem) -> MemoryFileSystem {
    let copy = MemoryFileSystem::new();
    for path in files.paths() {
        copy.write(&path, &files.read(&path).unwrap()).unwrap();
    }
    copy
}
