//! Tests the reader with files made by SQLite, intact, damaged and truncated.
//!
//! `conformance/sqlite/make.py` makes the files, with SQLite's own dump of their content.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;
#[path = "../../../conformance/seeds.rs"]
mod seeds;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use folio_file::{DiskFileSystem, FileSystem, MemoryFileSystem, OpenMode};
use folio_types::ErrorCode;
use tempfile::TempDir;

use crate::catalog::Catalog;
use crate::declared::Intent;
use crate::error::Result;
use crate::observe::Facts;
use crate::pages::Pages;
use crate::plan::TablePlan;
use crate::record::{Encoding, Stored};
use crate::rows::{Rows, Shape};
use crate::tree::Seen;
use random::Random;
use seeds::{run_seeds, seeds};

/// Damaged files in a run of the suite.
const COUNT: u64 = 2_000;
const DEEP_COUNT: u64 = 200_000;

static MADE: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sqlite/make.py");
    let made = Command::new("python3").arg(script).arg(folder.path()).status();
    assert!(made.expect("python3 makes the files").success());
    folder
});

/// The files that were made, by name.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(MADE.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_file = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "sqlite");
    let mut paths: Vec<PathBuf> = entries.filter(is_file).collect();
    paths.sort();
    paths
}

/// All tables of a file, in the form of `make.py`. Also checks everything read before a table:
/// types, keys, defaults.
fn content(files: &dyn FileSystem, path: &Path) -> Result<String> {
    let pages = Pages::open(files, path)?;
    let catalog = Catalog::read(&pages)?;
    catalog.sequences(&pages)?;
    let (mut text, mut notes) = (String::new(), Vec::new());
    let mut seen = Seen::new(&pages);
    for table in &catalog.tables {
        let Some(definition) = &table.definition else { continue };
        let shape = Shape::new(definition, &pages);
        let intent = |position: usize| Intent::of(&definition.columns[position]);
        let mut facts: Vec<Facts> =
            shape.columns.iter().map(|column| Facts::new(intent(column.position))).collect();
        writeln!(text, "= {}", table.name).unwrap();
        let mut rows = Rows::open(&pages, &mut seen, table, &shape)?;
        while let Some(row) = rows.next()? {
            let values = row.iter().zip(&mut facts).map(|(stored, facts)| {
                facts.observe(*stored, pages.encoding);
                written(*stored, pages.encoding)
            });
            writeln!(text, "{}", values.collect::<Vec<_>>().join(" ")).unwrap();
        }
        let encoding = pages.encoding;
        let plan = TablePlan::new(table, definition, shape, &facts, &catalog, encoding, &mut notes);
        assert!(plan.statement(|_| true, |_| true).starts_with("CREATE TABLE"));
    }
    pages.check_unchanged(files)?;
    Ok(text)
}

fn written(stored: Stored<'_>, encoding: Encoding) -> String {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match stored {
        Stored::Null => "n".to_owned(),
        Stored::Integer(number) => format!("i{number}"),
        Stored::Real(number) => format!("r{}", digits(&number.to_be_bytes())),
        Stored::Text(bytes) => format!("t{}", digits(encoding.decode(bytes).0.as_bytes())),
        Stored::Blob(bytes) => format!("b{}", digits(bytes)),
    }
}

#[test]
fn every_row_is_what_sqlite_says() {
    assert!(files().len() >= 16);
    for path in files() {
        let text = content(&DiskFileSystem, &path).unwrap();
        let expected = fs::read_to_string(path.with_extension("rows")).unwrap();
        let differing = text.lines().zip(expected.lines()).find(|(own, other)| own != other);
        assert_eq!(differing, None, "{}", path.display());
        assert_eq!(text.len(), expected.len(), "{}", path.display());
    }
}

/// A file and its log in memory.
fn in_memory(file: &[u8], log: &[u8]) -> MemoryFileSystem {
    let memory = MemoryFileSystem::new();
    for (name, bytes) in [("/f", file), ("/f-wal", log)] {
        if !bytes.is_empty() {
            memory.open(Path::new(name), OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
        }
    }
    memory
}

/// The content of a made file and of its log.
fn made(name: &str) -> [Vec<u8>; 2] {
    let path = MADE.path().join(format!("{name}.sqlite"));
    let log = fs::read(MADE.path().join(format!("{name}.sqlite-wal")));
    [fs::read(path).unwrap(), log.unwrap_or_default()]
}

#[test]
fn damaged_files_end_in_errors() {
    let names = ["small", "small_utf16", "altered", "log_nothing", "log_checkpoint"];
    let files: Vec<_> = names.map(made).into();
    let count = if std::env::var_os("FOLIO_DEEP").is_some() { DEEP_COUNT } else { COUNT };
    let run = |seed: u64| {
        let mut random = Random::new(seed);
        let [mut file, mut log] = random.one_of(&files).clone();
        let is_cut = random.once_in(8);
        let target = if log.is_empty() || random.once_in(2) { &mut file } else { &mut log };
        for _ in 0..=random.below(8) {
            damage(target, &mut random);
        }
        if is_cut {
            target.truncate(random.below(target.len()));
        }
        let outcome = content(&in_memory(&file, &log), Path::new("/f"));
        Ok(u64::from(outcome.is_err()))
    };
    let refused = run_seeds(seeds(count), run).unwrap();
    println!("{refused} of {count} were refused");
}

/// Changes a few bytes: anywhere, or in the header of a page.
fn damage(bytes: &mut [u8], random: &mut Random) {
    let page = random.below(bytes.len()) / 512 * 512;
    let start = match random.below(4) {
        0 => 0,
        1 => random.below(bytes.len()),
        _ => page,
    };
    let within = if start == page { 16 } else { 120 };
    let at = (start + random.below(within)).min(bytes.len() - 1);
    let new = match random.below(4) {
        0 => 0,
        1 => 0xff,
        2 => bytes[at] ^ (1 << random.below(8)),
        _ => u8::try_from(random.below(256)).unwrap(),
    };
    bytes[at] = new;
}

#[test]
fn cut_files_end_in_errors() {
    for name in ["small", "altered", "log_checkpoint"] {
        let [file, log] = made(name);
        let sizes = (0..file.len()).step_by(512).chain((0..700).map(|size| size % file.len()));
        for size in sizes {
            let outcome = content(&in_memory(&file[..size], &log), Path::new("/f"));
            assert!(outcome.is_err() || !log.is_empty(), "{name} cut to {size} bytes");
        }
        // A truncated log has fewer commits, or none.
        for size in (0..log.len()).step_by(2_003) {
            content(&in_memory(&file, &log[..size]), Path::new("/f")).unwrap();
        }
    }
}

#[test]
fn damage_is_told_with_its_place() {
    let [file, _] = made("small");
    let reported = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = file.clone();
        change(&mut file);
        let error = content(&in_memory(&file, &[]), Path::new("/f")).unwrap_err();
        (error.code(), error.to_string())
    };
    // Page 3 is the root of the first table: an automatic vacuum keeps the second.
    for (change, code, text) in [
        (
            &(|file: &mut Vec<u8>| file.truncate(50)) as &dyn Fn(&mut Vec<u8>),
            ErrorCode::Corrupted,
            "SQLite file \"/f\": it ends within its header",
        ),
        (
            &|file: &mut Vec<u8>| file[0] = b'X',
            ErrorCode::Corrupted,
            "SQLite file \"/f\": it does not start like an SQLite file",
        ),
        (
            &|file: &mut Vec<u8>| file[16..18].copy_from_slice(&[1, 1]),
            ErrorCode::Corrupted,
            "SQLite file \"/f\": a page size of 257 bytes is invalid",
        ),
        (
            &|file: &mut Vec<u8>| file[18..20].copy_from_slice(&[3, 3]),
            ErrorCode::Unsupported,
            "SQLite file \"/f\": a newer version of SQLite wrote it in another format; dump it \
             with that version and read the dump into a new file",
        ),
        (
            &|file: &mut Vec<u8>| file.truncate(file.len() - 512),
            ErrorCode::Corrupted,
            "SQLite file \"/f\": it is truncated: 167 pages are left of 168",
        ),
        (
            &|file: &mut Vec<u8>| file[2 * 512] = 7,
            ErrorCode::Corrupted,
            "SQLite file \"/f\", table \"plain\", page 3: it is not a page of a table or an index",
        ),
        (
            &|file: &mut Vec<u8>| file[2 * 512] = 10,
            ErrorCode::Corrupted,
            "SQLite file \"/f\", table \"plain\", page 3: it belongs to a tree of another kind",
        ),
        (
            // The rightmost child is the root itself.
            &|file: &mut Vec<u8>| file[2 * 512 + 8..2 * 512 + 12].copy_from_slice(&[0, 0, 0, 3]),
            ErrorCode::Corrupted,
            "SQLite file \"/f\", table \"plain\", page 3: two pages point to it",
        ),
        (
            &|file: &mut Vec<u8>| file[2 * 512 + 8..2 * 512 + 12].copy_from_slice(&[9, 0, 0, 0]),
            ErrorCode::Corrupted,
            "SQLite file \"/f\", table \"plain\", page 150994944: there are 168 pages",
        ),
    ] {
        assert_eq!(reported(change), (code, text.to_owned()));
    }
}

#[test]
fn a_journal_is_told() {
    let [file, _] = made("small");
    let memory = in_memory(&file, &[]);
    let journal = memory.open(Path::new("/f-journal"), OpenMode::CreateNew).unwrap();
    // One of zeros is what a commit leaves in the mode `persist`.
    journal.write_at(&[0; 512], 0).unwrap();
    assert!(content(&memory, Path::new("/f")).is_ok());
    journal.write_at(&[0xd9, 0xd5, 0x05, 0xf9], 0).unwrap();
    let error = content(&memory, Path::new("/f")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Locked);
    assert!(error.to_string().contains("there is a journal beside it"), "{error}");
}

#[test]
fn a_change_meanwhile_is_noticed() {
    let [file, log] = made("log_checkpoint");
    for (name, offset) in [("/f", 24), ("/f-wal", 16)] {
        let memory = in_memory(&file, &log);
        let pages = Pages::open(&memory, Path::new("/f")).unwrap();
        pages.check_unchanged(&memory).unwrap();
        let changed = memory.open(Path::new(name), OpenMode::Write).unwrap();
        changed.write_at(b"new", offset).unwrap();
        let error = pages.check_unchanged(&memory).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict, "{name}");
    }
}
