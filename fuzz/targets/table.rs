//! The page file and its log as untrusted bytes: patched, with the sums put right, so
//! that nothing but the checks of each number stands in the way.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::{Options, PageId, ScanOptions, TableStore, tools};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{DATABASE, open, patch};

const DATA: &str = "/db/tables.folio";
const LOG: &str = "/db/tables.folio-wal";
/// Where pages begin in the data file, and records in the log.
const CONTENT: usize = 8192;
const SLOT_SIZE: usize = 4096;

/// Tables with keys, an index, overflow, free pages, and changes in the log only.
fn tables() -> &'static MemoryFileSystem {
    static FILES: OnceLock<MemoryFileSystem> = OnceLock::new();
    FILES.get_or_init(|| {
        let files = MemoryFileSystem::new();
        let database = open(&files).unwrap();
        let mut session = database.session().unwrap();
        let mut run = |text: &str| session.execute(text, &[]).map(drop).unwrap();
        run("create table people (id int primary key, name text not null, note text)");
        run("create unique index by_name on people (name)");
        run("create table numbers (a numeric(12, 2), b double precision[], c timestamp)");
        run("insert into people select n, 'name ' || n, repeat('x', n % 7 * 900) \
             from generate_series(1, 400) as t(n)");
        run("insert into numbers select n, [n, n + 1], timestamp '2026-01-01' \
             from generate_series(1, 50) as t(n)");
        run("delete from people where id % 5 = 0");
        database.tables().unwrap().checkpoint().unwrap();
        run("insert into people select n, 'late ' || n, null from generate_series(1000, 1020) as t(n)");
        run("update people set note = repeat('y', 3000) where id < 20");
        files.kill()
    })
}

/// Patches to the data file.
pub(super) fn pages(bytes: &[u8]) {
    let files = tables().kill();
    let mut data = files.read(DATA).unwrap();
    let offsets = patch::apply(bytes, &mut data);
    let page_size =
        u32::from_le_bytes(tables().read(DATA).unwrap()[12..16].try_into().unwrap()) as usize;
    let number = u64::from_le_bytes(data[16..24].try_into().unwrap());
    for offset in offsets {
        if offset < CONTENT {
            let slot = &mut data[offset / SLOT_SIZE * SLOT_SIZE..][..SLOT_SIZE];
            let sum = xxh3_64(&slot[..80]);
            slot[80..88].copy_from_slice(&sum.to_le_bytes());
            continue;
        }
        let start = CONTENT + (offset - CONTENT) / page_size * page_size;
        let Some(page) = data.get_mut(start..start + page_size) else { continue };
        let sum = xxh3_64_with_seed(&page[8..], number);
        page[..8].copy_from_slice(&sum.to_le_bytes());
    }
    files.write(DATA, &data).unwrap();
    read_everything(&files);
}

/// Patches to the log, whose records are chained by their sums: all behind the first
/// patch are put right.
pub(super) fn log(bytes: &[u8]) {
    let files = tables().kill();
    let mut log = files.read(LOG).unwrap();
    patch::apply(bytes, &mut log);
    for slot in [0, SLOT_SIZE] {
        if log[slot..].starts_with(b"FolioLog") {
            let sum = xxh3_64(&log[slot..slot + 48]);
            log[slot + 48..slot + 56].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let generation =
        |slot: usize| u64::from_le_bytes(log[slot + 24..slot + 32].try_into().unwrap());
    let slot = if generation(0) > generation(SLOT_SIZE) { 0 } else { SLOT_SIZE };
    let salt = u64::from_le_bytes(log[slot + 32..slot + 40].try_into().unwrap());
    let (mut at, mut before) = (CONTENT, salt);
    while let Some(head) = log.get(at..at + 48) {
        let size = u32::from_le_bytes(head[32..36].try_into().unwrap()) as usize;
        if size < 48 || at + size > log.len() {
            break;
        }
        log[at + 16..at + 24].copy_from_slice(&before.to_le_bytes());
        before = xxh3_64_with_seed(&log[at + 8..at + size], salt);
        log[at..at + 8].copy_from_slice(&before.to_le_bytes());
        at += size.next_multiple_of(8);
    }
    files.write(LOG, &log).unwrap();
    read_everything(&files);
}

/// Every way of reading ends, with rows or an error.
fn read_everything(files: &MemoryFileSystem) {
    let shared: Arc<dyn FileSystem> = Arc::new(files.clone());
    let directory = Path::new(DATABASE);
    let options = Options { pool_size: 1 << 20, ..Options::default() };
    if let Ok(store) = TableStore::open(&shared, directory, options.clone()) {
        let snapshot = store.snapshot();
        let _ = snapshot.check();
        for table in snapshot.tables().unwrap_or_default() {
            if let Ok(batches) = snapshot.scan(&table, &ScanOptions::default()) {
                batches.take_while(Result::is_ok).for_each(drop);
            }
        }
        drop(snapshot);
        if let Ok(mut transaction) = store.begin() {
            let _ = transaction.truncate_table("people");
            let _ = transaction.commit();
        }
        let _ = store.checkpoint();
    }
    for page in 1..40 {
        let _ = tools::inspect(&*shared, directory, PageId(page));
    }
    let _ = tools::salvage(&shared, directory, Path::new("/salvaged"), &options);
}
