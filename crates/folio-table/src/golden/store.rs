//! A store controlled by commands: changes rows, shows its tree and its log, damages its files, and
//! opens it again.

use std::path::Path;
use std::sync::Arc;

use folio_file::{CrashPlan, FileSystem, MemoryFileSystem};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};

use super::{World, numbers};
use crate::btree::Tree;
use crate::error::{Error, Result};
use crate::header_slot::{Header, SLOT_SPACING, newest};
use crate::ids::{Lsn, PageId};
use crate::options::{Options, Synchronous};
use crate::page;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::scan::ScanOptions;
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::store::TableStore;
use crate::transaction::{Savepoint, Transaction};
use crate::wal::LOG_NAME;
use crate::wal::record::{Content, RECORD_HEADER_SIZE, Record};
use crate::wal::{LOG_START, LogHeader};

const DIRECTORY: &str = "/db";
const TABLE: &str = "t";

pub(super) struct StoreWorld {
    files: MemoryFileSystem,
    options: Options,
    store: Option<TableStore>,
    transaction: Option<Transaction>,
    savepoints: Vec<Savepoint>,
    snapshot: Option<Snapshot>,
}

impl Default for StoreWorld {
    fn default() -> Self {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new(DIRECTORY)).expect("it is made");
        files.make_durable();
        let options = Options { page_size: 4096, pool_size: 6 * 4096, ..Options::default() };
        Self {
            files,
            options,
            store: None,
            transaction: None,
            savepoints: Vec::new(),
            snapshot: None,
        }
    }
}

fn text(size: &str) -> String {
    "x".repeat(size.parse().expect("a size in bytes"))
}

impl World for StoreWorld {
    fn run(&mut self, words: &[&str]) -> std::result::Result<String, String> {
        let done = match words {
            ["open", options @ ..] => self.open(options),
            ["begin" | "commit" | "rollback" | "savepoint" | "back" | "release"] => {
                self.step(words[0])
            }
            ["insert" | "update", keys, size] => self.write(words[0], keys, &text(size)),
            ["delete", keys] => self.write("delete", keys, ""),
            ["tree"] => self.tree(),
            ["shape"] => self.shape(),
            ["rows"] => self.rows(),
            ["check"] => self.check(),
            ["log"] => Ok(self.log()),
            ["commits"] => Ok(self.commits()),
            ["checkpoint"] => {
                self.store().and_then(TableStore::checkpoint).map(|is_made| match is_made {
                    true => String::new(),
                    false => "a snapshot is in the way".to_owned(),
                })
            }
            ["snapshot"] => {
                self.snapshot = self.store.as_ref().map(TableStore::snapshot);
                Ok(String::new())
            }
            ["flip", "record", from_last] => {
                self.flip_record(from_last.parse().expect("a number")).map(|()| String::new())
            }
            ["end"] => {
                self.snapshot = None;
                Ok(String::new())
            }
            _ => self.damage(words).map(|()| String::new()),
        };
        done.map_err(|error| error.to_string())
    }
}

impl StoreWorld {
    fn store(&self) -> Result<&TableStore> {
        let what = "nothing is open".to_owned();
        self.store.as_ref().ok_or(Error::InvalidInput { what })
    }

    fn close(&mut self) {
        (self.transaction, self.snapshot, self.store) = (None, None, None);
        self.savepoints.clear();
    }

    /// Opens the store, like another process; creates the table if it is missing.
    fn open(&mut self, options: &[&str]) -> Result<String> {
        self.close();
        for option in options {
            match option.split_once('=').expect("an option and its value") {
                ("sync", "normal") => self.options.synchronous = Synchronous::Normal,
                ("sync", "full") => self.options.synchronous = Synchronous::Full,
                ("frames", frames) => {
                    self.options.pool_size = 4096 * frames.parse::<usize>().expect("frames");
                }
                other => panic!("no such option: {other:?}"),
            }
        }
        let files: Arc<dyn FileSystem> = Arc::new(self.files.clone());
        let store = TableStore::open(&files, Path::new(DIRECTORY), self.options.clone())?;
        self.store = Some(store.clone());
        let state = store.snapshot().commit.state;
        if state.transaction > 0 {
            return Ok(format!("transaction {}, {} pages", state.transaction, state.page_count));
        }
        let columns = vec![
            Column::required("id", ColumnType::Int64),
            Column::required("text", ColumnType::Text),
        ];
        let mut transaction = store.begin()?;
        transaction.create_table(&TableSchema::new(TABLE, columns, vec![0]))?;
        transaction.commit()?;
        Ok("made".to_owned())
    }

    fn step(&mut self, what: &str) -> Result<String> {
        if what == "begin" {
            self.transaction = Some(self.store()?.begin()?);
            return Ok(String::new());
        }
        let transaction = self.transaction.as_mut().expect("`begin` comes first");
        match what {
            "savepoint" => self.savepoints.push(transaction.savepoint()),
            "back" => {
                transaction.rollback_to(*self.savepoints.last().expect("a savepoint"))?;
            }
            "release" => transaction.release(self.savepoints.pop().expect("a savepoint"))?,
            _ => {
                self.savepoints.clear();
                let transaction = self.transaction.take().expect("`begin` comes first");
                if what == "commit" {
                    transaction.commit()?;
                }
            }
        }
        Ok(String::new())
    }

    /// Changes rows in the open transaction, or in one of their own.
    fn write(&mut self, what: &str, keys: &str, text: &str) -> Result<String> {
        let is_open = self.transaction.is_some();
        if !is_open {
            self.transaction = Some(self.store()?.begin()?);
        }
        let transaction = self.transaction.as_mut().expect("one was begun");
        let table = transaction.reader().table(TABLE)?;
        for key in numbers(keys) {
            let row = [ValueRef::Integer(key), ValueRef::Text(text)];
            let is_found = match what {
                "insert" => transaction.insert(&table, &row).map(|_| true),
                "update" => transaction.update(&table, &row[..1], &row),
                _ => transaction.delete(&table, &row[..1]),
            };
            match is_found {
                Ok(true) => {}
                Ok(false) => return Ok(format!("there is no row {key}")),
                Err(error) => {
                    if !is_open {
                        self.transaction = None;
                    }
                    return Err(error);
                }
            }
        }
        if is_open { Ok(String::new()) } else { self.step("commit") }
    }

    /// The table's tree as the newest snapshot sees it, one line per node.
    fn tree(&self) -> Result<String> {
        let snapshot = self.store()?.snapshot();
        let table = snapshot.reader().table(TABLE)?;
        let mut lines = String::new();
        let mut left = vec![table.tree().root];
        while let Some(page) = left.pop() {
            let guard = snapshot.pages().pin(page)?;
            let node = Node::new(&guard);
            let (level, percent) = (page::level(&guard), 100 * node.used_size() / node.capacity());
            let indent = " ".repeat(2 * (4 - usize::from(level).min(4)));
            if node.is_leaf() {
                let keys = keys_of(&snapshot, table.tree(), page)?;
                lines += &format!("{indent}leaf {page}: {keys}, {percent} %\n");
            } else {
                let count = node.child_count();
                lines += &format!("{indent}node {page}: {count} children, {percent} %\n");
                left.extend((0..count).rev().map(|child| node.child(child)));
            }
        }
        Ok(lines)
    }

    /// The number of pages on each level, and their average fill.
    fn shape(&self) -> Result<String> {
        let snapshot = self.store()?.snapshot();
        let tree = snapshot.reader().table(TABLE)?.tree();
        let (mut pages, mut lines) = (vec![tree.root], String::new());
        while !pages.is_empty() {
            let (mut used, mut capacity, mut below) = (0, 0, Vec::new());
            for &page in &pages {
                let guard = tree.node(&snapshot.pages(), page, None)?;
                let node = Node::new(&guard);
                (used, capacity) = (used + node.used_size(), capacity + node.capacity());
                if !node.is_leaf() {
                    below.extend((0..node.child_count()).map(|child| node.child(child)));
                }
            }
            lines += &format!("{} pages, {} %\n", pages.len(), 100 * used / capacity);
            pages = below;
        }
        Ok(lines)
    }

    fn rows(&self) -> Result<String> {
        let newest = self.store()?.snapshot();
        let reader = match (&self.transaction, &self.snapshot) {
            (Some(transaction), _) => transaction.reader(),
            (None, snapshot) => snapshot.as_ref().unwrap_or(&newest).reader(),
        };
        let table = reader.table(TABLE)?;
        let mut keys = Vec::new();
        for batch in reader.scan(&table, &ScanOptions::default())? {
            let batch = batch?;
            let ids = batch.column(0).as_any().downcast_ref::<arrow_array::Int64Array>();
            keys.extend(ids.expect("ids are bigints").values().iter().copied());
        }
        assert_eq!(reader.row_count(&table)?, keys.len() as u64, "the count of rows");
        Ok(ranges(&keys))
    }

    fn check(&self) -> Result<String> {
        let report = self.store()?.snapshot().check()?;
        let mut lines =
            format!("{} pages, {} free, {} rows\n", report.pages, report.free_pages, report.rows);
        for problem in report.problems {
            lines += &format!("page {}: {}\n", problem.page, problem.text);
        }
        Ok(lines)
    }

    fn log_bytes(&self) -> Vec<u8> {
        self.files.read(Path::new(DIRECTORY).join(LOG_NAME)).expect("the log is there")
    }

    /// The newest header and all records up to the first incomplete one.
    fn log(&self) -> String {
        let bytes = self.log_bytes();
        let header = newest_header(&bytes);
        let records = records(&bytes, header).into_iter().map(record_text);
        let lines: String = records.collect();
        format!("generation {} from {}\n{lines}", header.generation, header.base)
    }

    /// The commits of the log, and the number of records before each.
    fn commits(&self) -> String {
        let bytes = self.log_bytes();
        let records = records(&bytes, newest_header(&bytes));
        let commits = records.iter().filter_map(|record| match record.content() {
            Some(Content::Commit(commit)) => Some(commit),
            _ => None,
        });
        let reported = commits.map(|commit| {
            let whose = if commit.listed.is_empty() { "its own" } else { "its own and earlier" };
            let State { transaction, page_count, .. } = commit.state;
            format!("commit {transaction} of {page_count} pages, {whose} images\n")
        });
        reported.collect()
    }

    /// Flips a bit in the middle of a record, counted from the last.
    fn flip_record(&mut self, from_last: usize) -> Result<()> {
        let bytes = self.log_bytes();
        let header = newest_header(&bytes);
        let records = records(&bytes, header);
        let record = records[records.len() - 1 - from_last];
        let middle = (record.lsn().0 + record.end().0) / 2;
        self.damage(&["flip", "log", &(LOG_START + middle - header.base.0).to_string()])
    }

    /// Changes the files from outside: `kill`, `power-cut all`, `flip log 9000`.
    fn damage(&mut self, words: &[&str]) -> Result<()> {
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let path = |name: &str| match name {
            "data" => Path::new(DIRECTORY).join(crate::data_header::DATA_NAME),
            _ => Path::new(DIRECTORY).join(LOG_NAME),
        };
        self.close();
        match words {
            ["kill"] => self.files = self.files.kill(),
            ["power-cut", "all"] => self.files = self.files.crash(CrashPlan::lose_everything()),
            ["power-cut", "nothing"] => self.files = self.files.crash(CrashPlan::lose_nothing()),
            ["flip", name, byte] => {
                self.files
                    .flip_bit(path(name), 8 * number(byte))
                    .map_err(Error::io("flip a bit of", &path(name)))?;
            }
            ["cut", name, size] => {
                self.files.truncate_silently(path(name), number(size)).expect("it is there");
            }
            ["remove", name] => self.files.remove_file(&path(name)).expect("it is there"),
            _ => panic!("no such command: {words:?}"),
        }
        Ok(())
    }
}

fn newest_header(bytes: &[u8]) -> LogHeader {
    let slot = |at: u64| LogHeader::from_bytes(&bytes[at as usize..]);
    newest([slot(0), slot(SLOT_SPACING)]).expect("a header is whole")
}

fn records(bytes: &[u8], header: LogHeader) -> Vec<Record<'_>> {
    let (mut lsn, mut chain, mut found) = (header.base, header.salt, Vec::new());
    let record_at = |lsn: Lsn| {
        let offset = (LOG_START + lsn.0 - header.base.0) as usize;
        Record::parse(bytes.get(offset..)?, lsn, header.salt)
    };
    while let Some(record) = record_at(lsn).filter(|record| record.previous() == chain) {
        found.push(record);
        (lsn, chain) = (record.end(), record.checksum());
    }
    found
}

fn record_text(record: Record<'_>) -> String {
    let size = record.end().0 - record.lsn().0;
    let what = match record.content() {
        Some(Content::Image(page)) => format!("image of page {page}"),
        Some(Content::Commit(commit)) => format!(
            "commit {} of {} pages, images from {}, {} listed",
            commit.state.transaction,
            commit.state.page_count,
            commit.images_from,
            commit.listed.len()
        ),
        None => "nothing known".to_owned(),
    };
    assert!(size >= RECORD_HEADER_SIZE as u64, "records have headers");
    format!("{}: {what}, {size} bytes, durable {}\n", record.lsn(), record.durable())
}

fn keys_of(snapshot: &Snapshot, tree: Tree, page: PageId) -> Result<String> {
    let guard = tree.node(&snapshot.pages(), page, Some(0))?;
    let node = Node::new(&guard);
    let table = snapshot.reader().table(TABLE)?;
    let key = |index: usize| {
        let key =
            folio_types::key::decode(&table.layout.key[0], &mut &node.key(index).to_vec()[..]);
        match key {
            Some(Value::Integer(key)) => Ok(key),
            _ => Err(Error::page(page, "a key is no integer")),
        }
    };
    Ok(ranges(&(0..node.len()).map(key).collect::<Result<Vec<_>>>()?))
}

/// Ascending numbers in few words: `1..9 12`.
fn ranges(numbers: &[i64]) -> String {
    if numbers.is_empty() {
        return "nothing".to_owned();
    }
    let parts = numbers.chunk_by(|left, right| left + 1 == *right).map(|part| match part {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}..{last}"),
        [] => unreachable!("chunks have elements"),
    });
    parts.collect::<Vec<_>>().join(" ")
}
