//! A reading and a writing process, both real, on this machine's disk. The test runs itself again
//! as the reader.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use arrow_array::Int64Array;
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Error, Options, Result, ScanOptions, Snapshot, TableStore};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

const DIRECTORY_VARIABLE: &str = "FOLIO_READER_DIRECTORY";
const ROWS: i64 = 400;

fn open(directory: &Path, read_only: bool, log_size_max: u64) -> Result<TableStore> {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let options = Options {
        page_size: 4096,
        pool_size: 8 * 4096,
        checkpoint_size: 64 << 10,
        log_size_max,
        read_only,
        ..Options::default()
    };
    TableStore::open(&files, directory, options)
}

/// Gives every row the same number.
fn set_all(store: &TableStore, number: i64) {
    let mut transaction = store.begin().expect("a writer begins");
    let table = transaction.table("t").unwrap_or_else(|_| {
        let columns = vec![
            Column::required("id", ColumnType::Int64),
            Column::required("number", ColumnType::Int64),
        ];
        let schema = TableSchema::new("t", columns, vec![0]);
        transaction.create_table(&schema).expect("the table can be made")
    });
    for id in 0..ROWS {
        let row = [ValueRef::Integer(id), ValueRef::Integer(number)];
        if !transaction.update(&table, &row[..1], &row).expect("the update succeeds") {
            transaction.insert(&table, &row).expect("the row fits");
        }
    }
    transaction.commit().expect("the commit succeeds");
}

/// The one number that all rows have.
fn number_of(snapshot: &Snapshot) -> Result<i64> {
    let table = snapshot.table("t")?;
    let mut numbers = Vec::new();
    for batch in snapshot.scan(&table, &ScanOptions::default())? {
        let batch = batch?;
        let column: &Int64Array = batch.column(1).as_any().downcast_ref().expect("bigints");
        numbers.extend_from_slice(column.values());
    }
    assert_eq!(numbers.len() as i64, ROWS);
    assert!(numbers.iter().all(|number| *number == numbers[0]), "two moments in one scan");
    Ok(numbers[0])
}

/// The reader: for each line it receives it reads through its snapshot and prints the result.
/// Without a directory the test does nothing.
#[test]
fn reader() {
    let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) else { return };
    let store = open(Path::new(&directory), true, 1 << 30).expect("the store opens");
    let mut snapshot = Some(store.snapshot());
    println!("\nopen");
    for line in std::io::stdin().lines() {
        match (line.expect("a line").as_str(), &snapshot) {
            ("read", Some(snapshot)) => match number_of(snapshot) {
                Ok(number) => println!("saw {number}"),
                Err(Error::SnapshotTooOld) => println!("too old"),
                Err(error) => println!("error: {error}"),
            },
            _ => {
                snapshot = None;
                println!("ended");
            }
        }
    }
}

struct Reader {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reader {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["reader", "--exact", "--nocapture"])
            .env(DIRECTORY_VARIABLE, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reader starts");
        let asks = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut reader = Self { child, asks, answers };
        while reader.line() != "open" {}
        reader
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.answers.read_line(&mut line).expect("it answers") > 0, "it has ended");
        line.trim().to_owned()
    }

    fn ask(&mut self, what: &str) -> String {
        writeln!(self.asks, "{what}").expect("it listens");
        self.line()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_checkpoint_leaves_readers_of_other_processes_what_they_need() {
    let directory = tempfile::tempdir().expect("a directory");
    let writer = open(directory.path(), false, 1 << 30).expect("the store opens");
    set_all(&writer, 0);
    let mut reader = Reader::start(directory.path());
    assert_eq!(reader.ask("read"), "saw 0");
    for number in 1..60 {
        set_all(&writer, number);
        if number % 10 == 0 {
            assert_eq!(reader.ask("read"), "saw 0", "after {number} commits");
        }
    }
    assert!(writer.log_size() > 128 << 10, "{} bytes of log", writer.log_size());
    assert!(!writer.checkpoint().expect("it is tried"), "the reader stands in the way");

    // An ended snapshot does not, whether the process continues or not.
    assert_eq!(reader.ask("end"), "ended");
    assert!(writer.checkpoint().expect("it succeeds"));
    assert_eq!(writer.log_size(), 0);
    set_all(&writer, 60);
    let mut reader = Reader::start(directory.path());
    assert_eq!(reader.ask("read"), "saw 60");
    set_all(&writer, 61);
    assert!(!writer.checkpoint().expect("it is tried"), "the new reader stands in the way");
    drop(reader); // killed
    assert!(writer.checkpoint().expect("it succeeds"));
}

#[test]
fn a_reader_of_the_newest_commit_goes_on_after_a_checkpoint() {
    let directory = tempfile::tempdir().expect("a directory");
    let writer = open(directory.path(), false, 1 << 30).expect("the store opens");
    set_all(&writer, 7);
    let mut reader = Reader::start(directory.path());
    // It has read nothing yet: its pages were in the log, and no longer are.
    assert!(writer.checkpoint().expect("it succeeds"), "such a reader is not in the way");
    assert_eq!(reader.ask("read"), "saw 7");
    set_all(&writer, 8);
    assert_eq!(reader.ask("read"), "saw 7");
}

#[test]
fn a_reader_is_not_waited_for_when_the_log_has_outgrown_its_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let writer = open(directory.path(), false, 128 << 10).expect("the store opens");
    set_all(&writer, 0);
    let mut reader = Reader::start(directory.path());
    for number in 1..60 {
        set_all(&writer, number);
    }
    assert!(writer.log_size() < 512 << 10, "{} bytes of log", writer.log_size());
    assert_eq!(reader.ask("read"), "too old");
}
