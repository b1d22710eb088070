//! A small store, crashed ten thousand times, intact and with failpoints.
//!
//! The store appends numbered lines, acknowledges a line after its sync, and sometimes rewrites its
//! file by writing a new one and renaming it. Intact, it must survive every crash, also a crash
//! during the recovery. With any one step left out, the test must fail: a model that catches no bug
//! proves nothing about the stores tested on it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{CrashPlan, File, FileSystem, MemoryFileSystem, OpenMode, Recording};

const LINES: usize = 40;
const LINES_PER_REWRITE: usize = 7;

/// The step that the store omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    AcknowledgeBeforeSync,
    ForgetTheNameOfTheFile,
    RenameBeforeSync,
    ForgetTheRename,
    BelieveTornLines,
    KeepTheTornTail,
    WriteInPlace,
}

/// The store: one file of lines, with their numbers in memory.
struct Store {
    files: MemoryFileSystem,
    file: Arc<dyn File>,
    lines: Vec<usize>,
    bug: Bug,
}

const PATH: &str = "/store/lines";
const TEMPORARY: &str = "/store/lines.new";

impl Store {
    fn open(files: &MemoryFileSystem, bug: Bug) -> io::Result<Self> {
        files.create_directory(Path::new("/store"))?;
        let file = files.open(Path::new(PATH), OpenMode::Append)?;
        if bug != Bug::ForgetTheNameOfTheFile {
            files.sync_directory(Path::new("/store"))?;
            files.sync_directory(Path::new("/"))?;
        }
        let mut store = Self { files: files.clone(), file, lines: Vec::new(), bug };
        store.recover()?;
        Ok(store)
    }

    /// Reads the whole lines, and truncates what a crash left after them.
    fn recover(&mut self) -> io::Result<()> {
        let bytes = self.file.map()?;
        let mut end = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let Some(number) = decode(line, self.bug) else { break };
            self.lines.push(number);
            end += line.len();
        }
        if end < bytes.len() && self.bug != Bug::KeepTheTornTail {
            self.file.truncate(end as u64)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Durable when it returns.
    fn put(&mut self, number: usize) -> io::Result<()> {
        self.file.append(&encode(number))?;
        self.lines.push(number);
        if self.bug != Bug::AcknowledgeBeforeSync {
            self.file.sync_data()?;
        }
        if number % LINES_PER_REWRITE == LINES_PER_REWRITE - 1 {
            self.rewrite()?;
        }
        Ok(())
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let bytes: Vec<u8> = self.lines.iter().flat_map(|&number| encode(number)).collect();
        if self.bug == Bug::WriteInPlace {
            self.file.truncate(0)?;
            self.file.append(&bytes)?;
            return self.file.sync_data();
        }
        let file = self.files.open(Path::new(TEMPORARY), OpenMode::Append)?;
        file.truncate(0)?;
        file.append(&bytes)?;
        if self.bug != Bug::RenameBeforeSync {
            file.sync_data()?;
        }
        self.files.rename(Path::new(TEMPORARY), Path::new(PATH))?;
        if self.bug != Bug::ForgetTheRename {
            self.files.sync_directory(Path::new("/store"))?;
        }
        self.file = file;
        Ok(())
    }
}

/// A line that spans sectors: number, check digits, padding.
fn encode(number: usize) -> Vec<u8> {
    let padding = ".".repeat(number * 37 % 700);
    let check = number * 7919 % 10_007;
    format!("{number} {check} {padding}|\n").into_bytes()
}

fn decode(line: &[u8], bug: Bug) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?;
    let number = text.split(' ').next()?.trim_matches('\0').parse().ok()?;
    (bug == Bug::BelieveTornLines || line == encode(number)).then_some(number)
}

/// Runs the workload once, crashes at points of it until there were `wanted` crashes, and returns
/// the first failure.
fn first_failure(bug: Bug, wanted: u64) -> Option<String> {
    let files = MemoryFileSystem::new();
    files.record_crash_points(Recording::Changes);
    let mut store = Store::open(&files, bug).expect("no fault was asked for");
    let mut promised_from = Vec::new();
    for number in 0..LINES {
        store.put(number).expect("no fault was asked for");
        promised_from.push(files.crash_point_count());
    }
    let points = files.crash_points();
    for seed in 0..wanted {
        let index = usize::try_from(seed).expect("a small number") % points.len();
        let promised = promised_from.partition_point(|&from| from <= index);
        let disk = points[index].image.crash(CrashPlan::new(seed));
        if let Err(problem) = check(&disk, promised, seed, bug) {
            return Some(format!("seed {seed}, point {index}: {problem}"));
        }
    }
    None
}

/// Opens the files after a crash, continues to work, and crashes again.
fn check(disk: &MemoryFileSystem, promised: usize, seed: u64, bug: Bug) -> Result<(), String> {
    let failed = |error: io::Error| format!("it does not open: {error}");
    let mut store = Store::open(disk, bug).map_err(failed)?;
    let found = store.lines.len();
    if store.lines != (0..found).collect::<Vec<_>>() || found < promised {
        return Err(format!("{promised} lines were promised, found {:?}", store.lines));
    }
    store.put(found).map_err(failed)?;
    let again = disk.crash(CrashPlan::new(!seed));
    let store = Store::open(&again, bug).map_err(failed)?;
    if store.lines != (0..=found).collect::<Vec<_>>() {
        return Err(format!("after the second crash: {:?}", store.lines));
    }
    Ok(())
}

#[test]
fn a_careful_store_survives_ten_thousand_crashes() {
    assert_eq!(first_failure(Bug::None, 10_000), None);
}

#[test]
fn every_failpoint_is_caught() {
    for bug in [
        Bug::AcknowledgeBeforeSync,
        Bug::ForgetTheNameOfTheFile,
        Bug::RenameBeforeSync,
        Bug::ForgetTheRename,
        Bug::BelieveTornLines,
        Bug::KeepTheTornTail,
        Bug::WriteInPlace,
    ] {
        let failure = first_failure(bug, 10_000);
        assert!(failure.is_some(), "{bug:?} was not caught");
        println!("{bug:?}: {}", failure.expect("it was caught"));
    }
}
