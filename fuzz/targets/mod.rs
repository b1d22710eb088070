//! What the fuzzers run: each target takes any bytes and panics only where the library
//! has a fault. The fuzzers in `fuzz_targets/` and the test that runs the kept inputs
//! (`crates/folio/tests/inputs.rs`) share these functions.
//!
//! Bytes with checksums are where a plain fuzzer gets no further than the first check,
//! so those targets take patches to a sound file and put the checksums right again:
//! what is left to stop them is the check of every offset and every count. A target that
//! hangs has failed too: the fuzzer's timeout, or a person, notices.

#![allow(clippy::unwrap_used)] // a target that panics has found something, or is wrong itself

mod collection;
mod hostile;
mod patch;
mod sqlite;
mod statement;
mod table;

use std::path::Path;
use std::sync::Arc;

use folio::{Database, OpenOptions};
use folio_file::MemoryFileSystem;

/// A target: a name, and what it does with any bytes.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All of them.
pub(crate) const TARGETS: [Target; 10] = [
    ("json_line", collection::json_line),
    ("index", collection::index),
    ("archive", collection::archive),
    ("import", collection::import),
    ("sqlite", sqlite::sqlite),
    ("pages", table::pages),
    ("log", table::log),
    ("sql", statement::sql),
    ("ziql", statement::ziql),
    ("hostile", hostile::hostile),
];

/// Runs the target of a name.
pub(crate) fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    target(bytes);
}

const DATABASE: &str = "/db";

fn options(files: &MemoryFileSystem) -> OpenOptions {
    OpenOptions {
        file_system: Some(Arc::new(files.clone())),
        pool_size: 1 << 20,
        cache_size: 1 << 16,
        ..OpenOptions::default()
    }
}

fn open(files: &MemoryFileSystem) -> folio::Result<Database> {
    Database::open_with(Path::new(DATABASE), &options(files))
}
