//! Durable puts: each survives a power cut once it has returned.
//!
//! - `put_1`: one writer, one document after the other.
//! - `put_8`: eight writers at once, each in a thread. A store that lets waiting
//!   writers share one sync (group commit) gains here.
//!
//! Beside the systems stands the floor, a bare loop of `write` and `fdatasync`:
//! at the end of a file, as for a log people can read, and into one that has its
//! size already, as for a log allocated ahead, which spares the file system a
//! change of metadata.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{Record, records};
use folio_bench::results::Sample;
use folio_bench::scratch::sync_disks;
use folio_bench::store::{DurableStore, DurableWriter, roster};
use folio_bench::suite::{Suite, Workload};

/// The names of the floors in the tables.
const FLOOR: &str = "write + fdatasync";
const ALLOCATED_FLOOR: &str = "the same, allocated ahead";

/// Bytes allocated ahead: more than a row of samples writes.
const ALLOCATED_SIZE: usize = 64 << 20;

/// Puts per sample.
const PUTS: usize = 400;

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    let records = records((PUTS * (suite.arguments.repetitions + 1)) as u64);
    puts(suite, "put_1", 1, &records)?;
    puts(suite, "put_8", 8, &records)
}

fn puts(suite: &mut Suite, name: &str, writers: usize, records: &[Record]) -> Result<()> {
    let documents = records.len() as u64;
    let mut stores: Vec<(&str, &str, Box<dyn DurableStore>)> = Vec::new();
    for system in roster() {
        // The page cache makes no difference to a write; one SQLite is enough.
        if system.name != "SQLite (64 MiB cache)" && suite.wants(name, system.name, documents) {
            let store = (system.create_durable)(&suite.scratch.directory()?)?;
            stores.push((system.name, system.put_durability, store));
        }
    }
    if writers == 1 {
        let durability = "fdatasync after each write";
        for (name, size) in [(FLOOR, 0), (ALLOCATED_FLOOR, ALLOCATED_SIZE)] {
            let floor = Floor::create(&suite.scratch.directory()?, size)?;
            stores.push((name, durability, Box::new(floor)));
        }
    }
    let entrants = stores.iter().map(|(system, durability, store)| {
        let mut chunks = records.chunks_exact(PUTS);
        Entrant::writes(*system, durability, move || {
            let records = chunks.next().ok_or("no record is left")?;
            sync_disks();
            put_all(&**store, writers, records)
        })
    });
    let workload = Workload { name, mode: "", documents, operations: PUTS as u64 };
    suite.contest(workload, entrants.collect())
}

/// Puts all records through so many writers, which share them out evenly.
fn put_all(store: &dyn DurableStore, writers: usize, records: &[Record]) -> Result<Sample> {
    let failure = Mutex::new(None);
    let shares = records.chunks_exact(records.len() / writers);
    let mut watch = Stopwatch::start();
    thread::scope(|scope| {
        for share in shares {
            let failure = &failure;
            scope.spawn(move || {
                let put_share = || -> Result<()> {
                    let mut writer = store.writer()?;
                    share.iter().try_for_each(|record| writer.put(record))
                };
                if let (Err(error), Ok(mut first)) = (put_share(), failure.lock()) {
                    first.get_or_insert(error);
                }
            });
        }
    });
    watch.lap("put");
    match failure.into_inner().map_err(|_| "a writer panicked")? {
        Some(error) => Err(error),
        None => Ok(watch.stop()),
    }
}

/// The floor: no store at all.
struct Floor(File);

impl Floor {
    /// A file of this size, written through from its start.
    fn create(directory: &Path, size: usize) -> Result<Self> {
        let mut file = File::create(directory.join("lines"))?;
        file.write_all(&vec![b' '; size])?;
        file.sync_all()?;
        file.rewind()?;
        Ok(Self(file))
    }
}

impl DurableStore for Floor {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Appender(&self.0)))
    }
}

struct Appender<'f>(&'f File);

impl DurableWriter for Appender<'_> {
    fn put(&mut self, record: &Record) -> Result<()> {
        self.0.write_all(format!("{}\n", record.line).as_bytes())?;
        self.0.sync_data()?;
        Ok(())
    }
}
