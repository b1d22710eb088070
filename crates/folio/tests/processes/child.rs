//! The work of a process until it is killed: one change after another, each acknowledged on
//! standard output after the library has reported it durable.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use folio::import::{ImportOptions, Source, import};
use folio::{
    Collection, CollectionOptions, Database, ErrorCode, IndexOptions, Layout, OpenOptions,
};
use serde_json::{Value, json};

/// Ids in use: few, so that documents are replaced and deleted all the time.
const ID_COUNT: u64 = 60;

/// Bytes that make a batch worth a part of columns.
const PAD: usize = 40_000;

/// How changes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// One document, then a flush.
    Puts,
    /// Many changes in one batch.
    Batches,
    /// As `Puts`, and a compaction at every fifth.
    Compaction,
    /// As `Puts`, and the index built again at every third.
    Reindexing,
    /// As `Batches`, of documents so large that each batch becomes a part of columns.
    Columns,
}

impl Work {
    pub(crate) const ALL: [Self; 5] =
        [Self::Puts, Self::Batches, Self::Compaction, Self::Reindexing, Self::Columns];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// Change `number`: ids, with the new value of each.
    pub(crate) fn changes(self, number: u64) -> Vec<(String, Option<u64>)> {
        let count = if self.is_in_batches() { 40 } else { 1 };
        let change = |step: u64| {
            let mixed = (number * 41 + step).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            let is_delete = mixed.is_multiple_of(5);
            (format!("d{}", mixed % ID_COUNT), (!is_delete).then_some(number))
        };
        (0..count).map(change).collect()
    }

    fn is_in_batches(self) -> bool {
        matches!(self, Self::Batches | Self::Columns)
    }

    fn document(self, value: u64) -> Value {
        match self {
            Self::Columns => json!({"n": value, "pad": "p".repeat(PAD)}),
            _ => json!({"n": value}),
        }
    }

    fn perform(self, collection: &Collection, number: u64) -> folio::Result<()> {
        let changes = self.changes(number);
        if self.is_in_batches() {
            let mut batch = collection.batch()?;
            for (id, change) in changes {
                match change {
                    Some(value) => batch.put(&id, &self.document(value))?,
                    None => batch.delete(&id)?,
                }
            }
            batch.commit()?;
            return Ok(());
        }
        for (id, change) in changes {
            match change {
                Some(value) => {
                    collection.put(&id, &self.document(value))?;
                }
                None => {
                    collection.delete(&id)?;
                }
            }
        }
        collection.flush()?;
        if self == Self::Compaction && number.is_multiple_of(5) {
            collection.compact(&mut |_, _| true)?;
        }
        if self == Self::Reindexing && number.is_multiple_of(3) {
            collection.reindex(&mut |_, _| true)?;
        }
        Ok(())
    }
}

pub(crate) fn open(path: &Path, layout: Layout) -> (Database, Collection) {
    // The previous process was killed, so wait long enough for the lock.
    let options = OpenOptions { lock_timeout: Duration::from_secs(60), ..OpenOptions::default() };
    let database = Database::open_with(path, &options).unwrap();
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    let collection = database.collection_with("docs", &options).unwrap();
    (database, collection)
}

fn acknowledge(number: u64) {
    let mut out = std::io::stdout().lock();
    // If the reader is gone, this process is about to be killed.
    let _ = writeln!(out, "acknowledged {number}").and_then(|()| out.flush());
}

/// Continues with change `first`, until killed or a minute is over.
pub(crate) fn work(path: &Path, layout: Layout, work: Work, first: u64) {
    let (_database, collection) = open(path, layout);
    if work == Work::Columns && collection.indexes().unwrap().is_empty() {
        let options = IndexOptions::default().using("columns").unwrap();
        collection.create_index::<&str>(&[], &options, &mut |_, _| true).unwrap();
    }
    let started = Instant::now();
    for number in first.. {
        work.perform(&collection, number).unwrap();
        acknowledge(number);
        if started.elapsed() > Duration::from_secs(60) {
            return;
        }
    }
}

/// Puts its own documents while another process does the same.
pub(crate) fn write_own(path: &Path, name: &str, count: u64) {
    let (database, collection) = open(path, Layout::Lines);
    for number in 0..count {
        collection.put(&format!("{name}-{number}"), &json!({"n": number})).unwrap();
        if number % 25 == 24 {
            collection.flush().unwrap();
        }
    }
    database.close().unwrap();
}

/// Threads of [`count`].
pub(crate) const THREADS: u64 = 3;

/// Counts in one document by statements of several threads while another process does the same, and
/// inserts documents that the other inserts too. Prints how many of them it inserted.
pub(crate) fn count(path: &Path, layout: Layout, times: u64) {
    const CHANGES: [&str; THREADS as usize] = [
        "update docs set n = n + 1 where _id = 'a'",
        "update docs set n = n + 1 where n >= 0 and _id < 'b'",
        "insert into docs (_id, n) values ('a', 0) on conflict (_id) do update set n = docs.n + 1",
    ];
    let (database, collection) = open(path, layout);
    let inserted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (thread, change) in CHANGES.iter().enumerate() {
            let (database, collection, inserted) = (&database, &collection, &inserted);
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                for number in 0..times {
                    let answer = session.execute(change, &[]).unwrap();
                    assert_eq!(answer.count, Some(1), "{change}");
                    if number % CHANGES.len() as u64 == thread as u64 {
                        let insert = format!("insert into docs (_id, n) values ('i{number}', 1)");
                        match session.execute(&insert, &[]) {
                            Ok(_) => drop(inserted.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error}"),
                        }
                    }
                    collection.flush().unwrap();
                }
            });
        }
    });
    database.close().unwrap();
    acknowledge(inserted.into_inner());
}

/// Tries to write while another process does, and prints the result.
pub(crate) fn write_in_vain(path: &Path) {
    let options = OpenOptions { lock_timeout: Duration::from_millis(50), ..OpenOptions::default() };
    let database = Database::open_with(path, &options).unwrap();
    let written = database.collection("docs").and_then(|docs| {
        docs.put("x", &json!({}))?;
        docs.flush()
    });
    let error = written.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Locked);
    println!("{error}");
}

/// Imports a file in small batches.
pub(crate) fn import_file(path: &Path, file: &Path) {
    let (database, collection) = open(path, Layout::Lines);
    let options = ImportOptions { batch_size: 50_000, ..ImportOptions::default() };
    let report =
        import(&collection, Source::file(file).unwrap(), &options, &mut |_, _| true).unwrap();
    database.close().unwrap();
    acknowledge(report.inserted + report.replaced);
}
