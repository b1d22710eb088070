//! Planning ranges costs the same whatever the documents are: it reads the sums of the blocks and the
//! dead lines, and of the data a block or two at each boundary.
//!
//! The index is synthetic, written from `docs/formats/document-store.md`: that of equal lines of 1 KiB.
//! The file of lines has only the blocks that planning may read, and the entries of the index are a
//! hole in its file. Whoever read either would find an index that does not belong to the data.
//!
//! The long test is of 10 TB: `cargo test -p folio-document --release --test planning -- --ignored --nocapture`.
#![cfg(target_os = "linux")] // files with holes
#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use folio_document::{Collection, CollectionOptions};
use folio_file::{DiskFileSystem, FileSystem, WriterLock};
use tempfile::TempDir;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const PAGE: usize = 4096;
const BLOCK: u64 = 65_536;
const LINE: u64 = 1024;
/// One line in so many is dead.
const DEAD: u64 = 1000;
const PARTS: u64 = 200;

#[test]
fn planning_reads_neither_documents_nor_entries() {
    plan_and_check(10_000_000_000);
}

#[test]
#[ignore = "writes 1.3 GB, into files of 10 TB"]
fn ten_terabytes_are_planned_in_two_seconds() {
    let took = plan_and_check(10_000_000_000_000);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Plans a collection of this size. The processor time without opening it, which other programs change
/// less than they change the time on the clock.
fn plan_and_check(size: u64) -> Duration {
    let folder = TempDir::new().unwrap();
    let blocks = size / BLOCK;
    write_collection(&folder.path().join("collections/docs/meta"), blocks);

    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), folder.path().join("folio.lock")));
    let started = Instant::now();
    let options = CollectionOptions::default();
    let docs = Collection::open(files, folder.path(), "docs", &options, lock).unwrap();
    let (opened, started, used) = (started.elapsed(), Instant::now(), processor_time());
    let ranges = docs.ranges(PARTS as usize).unwrap();
    let (elapsed, took) = (started.elapsed(), processor_time() - used);
    println!(
        "{size} bytes: opened in {opened:.2?}, {} ranges in {elapsed:.2?}, of which {took:.2?} on a \
         processor",
        ranges.len()
    );

    assert_eq!(ranges.len() as u64, PARTS);
    let lines = blocks * BLOCK / LINE;
    let count: u64 = ranges.iter().map(|range| range.document_count).sum();
    assert_eq!(count, lines - lines.div_ceil(DEAD));
    let share = count / PARTS;
    let is_even = |count: u64| count.abs_diff(share) <= BLOCK / LINE;
    assert!(ranges.iter().all(|range| is_even(range.document_count)));
    took
}

/// What this thread has used so far.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn write_collection(meta: &Path, blocks: u64) {
    fs::create_dir_all(meta).unwrap();
    let block = block();
    let sum = ((xxh3_64(&block) >> 17) << 17) | (BLOCK / LINE);
    let empty = (xxh3_64(b"") >> 17) << 17;
    let data = File::create(meta.join("data.jsonl")).unwrap();
    data.set_len(blocks * BLOCK).unwrap();
    for part in 0..=PARTS {
        let bound = blocks * part / PARTS;
        for number in bound.saturating_sub(1)..(bound + 4).min(blocks) {
            data.write_all_at(&block, number * BLOCK).unwrap();
        }
    }
    let run = write_run(&meta.join("folio.run-1.idx"), blocks, sum);
    let stat = data.metadata().unwrap();
    let nanoseconds = |seconds: i64, rest: i64| (seconds * 1_000_000_000 + rest) as u64;
    let (size, lines) = (blocks * BLOCK, blocks * BLOCK / LINE);
    let live = lines - lines.div_ceil(DEAD);
    let mut state = vec![size, live, live * LINE, lines - live, 0, empty, 0, stat.ino(), size];
    state.push(nanoseconds(stat.mtime(), stat.mtime_nsec()));
    state.push(nanoseconds(stat.ctime(), stat.ctime_nsec()));
    let mut head = b"FOLIOIDX".to_vec();
    [2, 1, 1, 1].into_iter().for_each(|word| push(&mut head, word));
    state.iter().chain(&[0]).chain(&run).for_each(|&word| push(&mut head, word));
    let checksum = xxh3_64(&head);
    push(&mut head, checksum);
    // A record says that all is on the device.
    let mut record = b"FLDR".to_vec();
    record.extend([128_u32, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
    state.iter().chain(&[size]).for_each(|&word| push(&mut record, word));
    let checksum = xxh3_64(&record);
    push(&mut record, checksum);
    head.extend(record);
    fs::write(meta.join("folio.idx"), head).unwrap();
}

/// Lines of one block. That all ids are equal is seen by nobody who does not read them.
fn block() -> Vec<u8> {
    let text = "x".repeat(LINE as usize - r#"{"_id":"a","n":1,"text":""}"#.len() - 1);
    format!("{{\"_id\":\"a\",\"n\":1,\"text\":\"{text}\"}}\n")
        .repeat((BLOCK / LINE) as usize)
        .into()
}

/// Its number, size and checksum.
fn write_run(path: &Path, blocks: u64, block_sum: u64) -> [u64; 3] {
    let entries = blocks * BLOCK / LINE;
    let slots = entries * 5 / 4;
    let mut page = 1 + slots.div_ceil(170);
    let mut out = BufWriter::new(File::create(path).unwrap());
    out.seek(SeekFrom::Start(page * PAGE as u64)).unwrap(); // the entries are a hole
    let dead_count = entries.div_ceil(DEAD);
    let dead = (0..dead_count).map(|number| number * DEAD * LINE);
    write_numbers(&mut out, &mut page, dead);
    write_numbers(&mut out, &mut page, (0..blocks).map(|_| block_sum));
    let words = [2, slots, slots, entries, dead_count, 0, blocks, blocks * BLOCK];
    let mut header = b"FOLIORUN".to_vec();
    words.into_iter().for_each(|word| push(&mut header, word));
    let checksum = xxh3_64(&header);
    push(&mut header, checksum);
    out.seek(SeekFrom::Start(0)).unwrap();
    out.write_all(&header).unwrap();
    out.flush().unwrap();
    [1, page * PAGE as u64, checksum]
}

/// Writes a section of numbers, whose first page is `page`.
fn write_numbers(out: &mut impl Write, page: &mut u64, mut numbers: impl Iterator<Item = u64>) {
    loop {
        let mut bytes = Vec::with_capacity(PAGE);
        numbers.by_ref().take(511).for_each(|number| push(&mut bytes, number));
        if bytes.is_empty() {
            return;
        }
        bytes.resize(PAGE - 8, 0xff);
        let checksum = xxh3_64_with_seed(&bytes, *page);
        push(&mut bytes, checksum);
        out.write_all(&bytes).unwrap();
        *page += 1;
    }
}

fn push(bytes: &mut Vec<u8>, word: u64) {
    bytes.extend(word.to_le_bytes());
}
