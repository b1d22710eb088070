//! Copies, inspection of pages, salvage of files damaged at any page, and vacuum.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem, OpenMode};
use folio_table::tools::{self, SalvageReport};
use folio_table::{Error, IndexDefinition, Options, PageId, ScanOptions, TableStore};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};

const PAGE_SIZE: usize = 4096;
const ROWS: i64 = 2000;

fn options() -> Options {
    Options { page_size: PAGE_SIZE, pool_size: 1 << 20, ..Options::default() }
}

fn row(id: i64) -> Vec<Value> {
    let note = "x".repeat(if id % 300 == 0 { 9000 } else { 30 });
    vec![Value::Integer(id), Value::Text(format!("name {}", id * 7 % ROWS)), Value::Text(note)]
}

fn directory(files: &Arc<dyn FileSystem>, name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    files.create_directory(&path).expect("a directory can be made");
    path
}

/// A store with a keyed table, an index, a table without a key, a view, a counter,
/// and changes that are in the log only.
fn fill(files: &Arc<dyn FileSystem>, path: &Path) -> TableStore {
    let store = TableStore::open(files, path, options()).expect("a new store opens");
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("name", ColumnType::Text),
        Column::required("note", ColumnType::Text),
    ];
    let people = TableSchema::new("people", columns.clone(), vec![0]);
    let people = transaction.create_table(&people).expect("the table can be made");
    let log = TableSchema::new("log", columns, vec![]);
    let log = transaction.create_table(&log).expect("the table can be made");
    for id in 0..ROWS {
        transaction.insert(&people, &borrowed(&row(id))).expect("the row fits");
    }
    let by_name =
        IndexDefinition { name: "by_name".into(), columns: vec![(1, false)], unique: true };
    transaction.create_index("people", &by_name).expect("the index can be made");
    transaction.create_view("names", "select name from people", false).expect("the view");
    transaction.take_identities(&people, 0, 41).expect("numbers");
    transaction.commit().expect("the commit succeeds");
    assert!(store.checkpoint().expect("the checkpoint succeeds"));
    let mut transaction = store.begin().expect("a writer begins");
    for id in 0..50 {
        transaction.insert(&log, &borrowed(&row(id))).expect("the row fits");
        transaction.delete(&people, &[ValueRef::Integer(id)]).expect("the delete succeeds");
    }
    transaction.commit().expect("the commit succeeds");
    store
}

/// All rows of a table by their first column.
fn rows(store: &TableStore, table: &str) -> BTreeMap<i64, Vec<Value>> {
    let snapshot = store.snapshot();
    let table = snapshot.table(table).expect("the table");
    let mut found = BTreeMap::new();
    let keys = snapshot.scan(&table, &ScanOptions::default()).expect("the scan begins");
    for batch in keys {
        let batch = batch.expect("a batch");
        let ids: &arrow_array::Int64Array =
            batch.column(0).as_any().downcast_ref().expect("bigints");
        for &id in ids.values() {
            found.insert(id, row(id));
        }
    }
    found
}

fn assert_whole(store: &TableStore) {
    let report = store.snapshot().check().expect("the check runs");
    assert_eq!(report.problems, []);
    assert_eq!(
        rows(store, "people").keys().copied().collect::<Vec<_>>(),
        (50..ROWS).collect::<Vec<_>>()
    );
    assert_eq!(rows(store, "log").len(), 50);
    let snapshot = store.snapshot();
    let people = snapshot.table("people").expect("the table");
    for id in [50, 300, ROWS - 1] {
        let found = snapshot.get(&people, &[ValueRef::Integer(id)]).expect("the read succeeds");
        assert_eq!(found.expect("the row").values().expect("it is whole"), row(id));
    }
    let view = snapshot.reader().view("names").expect("a look").expect("the view");
    assert_eq!(view.text, "select name from people");
    let mut transaction = store.begin().expect("a writer begins");
    assert_eq!(transaction.take_identities(&people, 0, 1).expect("a number"), 42);
}

#[test]
fn a_backup_is_the_store_as_it_was_while_writers_went_on() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let (source, target) = (directory(&files, "source"), directory(&files, "target"));
    let store = fill(&files, &source);
    let snapshot = store.snapshot();
    let mut transaction = store.begin().expect("a writer begins");
    transaction.truncate_table("people").expect("it is emptied");
    transaction.commit().expect("the commit succeeds");
    let mut last = (0, 1);
    let mut progress = |done, total| {
        last = (done, total);
        true
    };
    snapshot.backup(&*files, &target, &mut progress).expect("the backup succeeds");
    assert_eq!(last.0, last.1, "progress ends");
    let refused = snapshot.backup(&*files, &target, &mut |_, _| true);
    assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
    assert_whole(&TableStore::open(&files, &target, options()).expect("the copy opens"));
}

#[test]
fn a_vacuum_gives_the_space_of_dropped_rows_back() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    let store = fill(&files, &path);
    let mut transaction = store.begin().expect("a writer begins");
    let schema = store.snapshot().table("people").expect("the table").schema().clone();
    let other = TableSchema { name: "other".into(), ..schema };
    let other = transaction.create_table(&other).expect("the table can be made");
    for id in 0..ROWS {
        transaction.insert(&other, &borrowed(&row(id))).expect("the row fits");
    }
    transaction.commit().expect("the commit succeeds");
    let mut transaction = store.begin().expect("a writer begins");
    transaction.drop_table("other").expect("it is dropped");
    transaction.commit().expect("the commit succeeds");
    drop(store);
    let report = tools::vacuum(&files, &path, &options()).expect("the vacuum succeeds");
    assert!(report.size_after < report.size_before * 2 / 3, "{report:?}");
    let size = files.stat(&path.join("tables.folio")).expect("the file").size;
    assert_eq!(size, report.size_after);
    let reader = Options { read_only: true, ..options() };
    let reader = TableStore::open(&files, &path, reader).expect("the store opens to read");
    assert_eq!(reader.snapshot().check().expect("the check runs").problems, []);
    assert_eq!(rows(&reader, "people").len(), 1950);
    for _ in 0..2 {
        let store = TableStore::open(&files, &path, options()).expect("the store opens");
        assert_whole(&store);
        let mut transaction = store.begin().expect("a writer begins");
        let people = transaction.table("people").expect("the table");
        transaction.insert(&people, &borrowed(&row(0))).expect("the row fits");
        transaction.delete(&people, &[ValueRef::Integer(0)]).expect("the delete succeeds");
        transaction.commit().expect("the commit succeeds");
    }
}

#[test]
fn a_vacuum_that_has_no_space_leaves_nothing() {
    let memory = Arc::new(MemoryFileSystem::new());
    let files: Arc<dyn FileSystem> = Arc::<MemoryFileSystem>::clone(&memory);
    let path = directory(&files, "db");
    let store = fill(&files, &path);
    assert!(store.checkpoint().expect("the checkpoint succeeds"));
    drop(store);
    let names = || {
        let entries = files.read_directory(&path).expect("the directory").into_iter();
        entries.map(|entry| entry.name).collect::<Vec<_>>()
    };
    let before = names();
    let size = files.stat(&path.join("tables.folio")).expect("the file").size;
    // There is space for nothing, for half of the second store, for it and half of the new file.
    for free in [0, size / 2, size * 3 / 2] {
        let sizes = memory.paths().into_iter().filter_map(|path| memory.read(path));
        let used: usize = sizes.map(|bytes| bytes.len()).sum();
        memory.set_capacity(Some(used as u64 + free));
        let refused = tools::vacuum(&files, &path, &options());
        assert!(matches!(refused, Err(Error::Io { .. })), "{free} bytes: {refused:?}");
        memory.set_capacity(None);
        assert_eq!(names(), before, "{free} bytes");
        assert_whole(&TableStore::open(&files, &path, options()).expect("the store opens"));
    }
}

#[test]
fn an_error_of_a_full_disk_names_the_file_and_the_next_step() {
    let memory = Arc::new(MemoryFileSystem::new());
    let files: Arc<dyn FileSystem> = Arc::<MemoryFileSystem>::clone(&memory);
    let path = directory(&files, "db");
    let store = fill(&files, &path);
    memory.set_capacity(Some(0));
    let write = || -> Result<(), Error> {
        let mut transaction = store.begin()?;
        let log = transaction.table("log")?;
        for id in 0..ROWS {
            transaction.insert(&log, &borrowed(&row(id)))?;
        }
        transaction.commit().map(drop)
    };
    let refused = (0..50).find_map(|_| write().err()).expect("there is no space").to_string();
    assert!(refused.contains(" \"db/tables.folio-wal\": "), "{refused}");
    assert!(refused.ends_with("; free some space, then try again"), "{refused}");
}

/// A process that was killed in a vacuum leaves its files to the next writer.
#[test]
fn a_writer_removes_what_a_killed_vacuum_left() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    drop(fill(&files, &path));
    drop(fill(&files, &directory(&files, "db/tables.folio-vacuum")));
    files.open(&path.join("tables.folio.new"), OpenMode::CreateNew).expect("a file");
    let reader = Options { read_only: true, ..options() };
    drop(TableStore::open(&files, &path, reader).expect("the store opens to read"));
    assert!(files.stat(&path.join("tables.folio.new")).is_ok(), "readers remove nothing");
    assert_whole(&TableStore::open(&files, &path, options()).expect("the store opens"));
    for name in ["tables.folio.new", "tables.folio-vacuum"] {
        assert!(files.stat(&path.join(name)).is_err(), "{name}");
    }
}

#[test]
fn a_page_can_be_looked_at_whole_or_broken() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    drop(fill(&files, &path));
    let pages = pages_in_file(&files, &path);
    let mut kinds = BTreeMap::new();
    for page in (1..=pages).map(PageId) {
        let seen = tools::inspect(&*files, &path, page).expect("the page is there");
        assert_eq!(seen.problem, None, "{seen}");
        assert_eq!(seen.bytes.len(), PAGE_SIZE);
        *kinds.entry(seen.kind).or_insert(0) += 1;
    }
    assert!(kinds["leaf"] > 20 && kinds["inner node"] >= 2 && kinds["overflow"] >= 12, "{kinds:?}");
    damage(&files, &path, 3);
    let seen = tools::inspect(&*files, &path, PageId(3)).expect("the page is there");
    assert!(seen.to_string().contains("verdict     checksum"), "{seen}");
    for page in [0, pages + 1, u32::MAX] {
        let refused = tools::inspect(&*files, &path, PageId(page)).expect_err("there is none");
        assert!(refused.to_string().contains("does not exist"), "{refused}");
    }
}

/// Pages of the data file: the newest may be in the log only.
fn pages_in_file(files: &Arc<dyn FileSystem>, path: &Path) -> u32 {
    let size = files.stat(&path.join("tables.folio")).expect("the file").size;
    ((size - 8192) / PAGE_SIZE as u64) as u32
}

/// Inverts a byte in the middle of a page.
fn damage(files: &Arc<dyn FileSystem>, path: &Path, page: u32) {
    let data = files.open(&path.join("tables.folio"), OpenMode::Write).expect("the file opens");
    let offset = 8192 + u64::from(page - 1) * PAGE_SIZE as u64 + 2000;
    let mut byte = [0];
    data.read_at(&mut byte, offset).expect("the read succeeds");
    data.write_at(&[!byte[0]], offset).expect("the write succeeds");
}

fn salvage(files: &Arc<dyn FileSystem>, from: &Path, name: &str) -> (SalvageReport, TableStore) {
    let target = directory(files, name);
    let report = tools::salvage(files, from, &target, &options()).expect("the salvage succeeds");
    (report, TableStore::open(files, &target, options()).expect("the new store opens"))
}

#[test]
fn salvage_of_sound_files_saves_everything() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    drop(fill(&files, &path));
    let (report, store) = salvage(&files, &path, "saved");
    assert_eq!((report.damaged_pages, report.views), (0, 1));
    assert_eq!(report.problems, Vec::<String>::new());
    let counts: Vec<_> =
        report.tables.iter().map(|t| (&*t.name, t.rows, t.expected, t.broken)).collect();
    assert_eq!(counts, [("log", 50, Some(50), 0), ("people", 1950, Some(1950), 0)]);
    assert_whole(&store);
}

/// Where a log is cut within its headers, its transactions are gone, though one header is intact.
#[test]
fn salvage_reports_a_log_that_was_cut() {
    for size in [8191, 4096, 100] {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let path = directory(&files, "db");
        drop(fill(&files, &path));
        let log = files.open(&path.join("tables.folio-wal"), OpenMode::Write).expect("it opens");
        log.truncate(size).expect("it is cut");
        let (report, _) = salvage(&files, &path, "saved");
        let names_log = |problem: &String| problem.contains("tables.folio-wal");
        assert!(report.problems.iter().any(names_log), "{size} bytes: {report:?}");
    }
}

#[test]
fn salvage_loses_no_more_than_the_damaged_page() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    drop(fill(&files, &path));
    let pages = pages_in_file(&files, &path);
    for page in 1..=pages {
        damage(&files, &path, page);
        let kind = tools::inspect(&*files, &path, PageId(page)).expect("the page is there").kind;
        let (report, store) = salvage(&files, &path, &format!("saved-{page}"));
        assert_eq!(store.snapshot().check().expect("the check runs").problems, []);
        let people = report.tables.iter().find(|table| table.name == "people");
        let saved = people.map_or(0, |table| table.rows);
        // A leaf of this size has fewer than 120 rows; inner nodes lose nothing.
        let least = if kind == "leaf" { 1950 - 120 } else { 1949 };
        let is_catalog =
            tools::inspect(&*files, &path, PageId(page)).expect("it is there").tree.0 == 1;
        assert!(saved >= least || is_catalog, "page {page}, a {kind}: {saved} rows, {report:?}");
        if saved > 0 {
            for (id, row) in rows(&store, "people") {
                assert!((50..ROWS).contains(&id), "page {page} brought row {id} back");
                assert_eq!(row[0], Value::Integer(id));
            }
        }
        damage(&files, &path, page); // undone
    }
}

#[test]
fn salvage_needs_one_header_of_four() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = directory(&files, "db");
    drop(fill(&files, &path));
    let data = files.open(&path.join("tables.folio"), OpenMode::Write).expect("the file opens");
    data.write_at(&[0; 8192], 0).expect("the write succeeds");
    assert!(TableStore::open(&files, &path, options()).is_err());
    let (report, store) = salvage(&files, &path, "saved");
    assert_eq!(report.problems, ["tables.folio has no intact header"]);
    assert_whole(&store);
    let log = files.open(&path.join("tables.folio-wal"), OpenMode::Write).expect("the file opens");
    log.write_at(&[0; 8192], 0).expect("the write succeeds");
    let target = directory(&files, "nothing");
    let refused = tools::salvage(&files, &path, &target, &options());
    assert!(matches!(refused, Err(Error::Corrupted { .. })), "{refused:?}");
}
