//! Truncated files, flipped bits, and files that are missing, emptied or exchanged.
//!
//! Every read is right or an error with a position. Nothing panics or hangs. Missing data is
//! reported if a header, a checkpoint or a later record shows that it existed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use folio_file::MemoryFileSystem;
use folio_table::{Error, Options, Result, TableStore};
use folio_types::ValueRef;

use crate::files::{Files, START};
use crate::model::{Tables, reported};
use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::store::{
    DATA, LOG, PAGE_SIZE, create_things, new_disk, open, put, read_rows, small_options,
};
use crate::work::random_transaction;

/// A store at rest: a checkpoint's pages, and a log with later commits.
pub(crate) struct Subject {
    pub(crate) options: Options,
    pub(crate) files: Files,
    /// As of the checkpoint, and after each commit in the log.
    pub(crate) states: Vec<Tables>,
    /// The end of each of them in the log.
    pub(crate) ends: Vec<usize>,
}

impl Subject {
    /// Checkpoints only on request; commits synced one by one.
    pub(crate) fn new(seed: u64, options: &Options) -> Self {
        let options = Options { checkpoint_size: 1 << 30, ..options.clone() };
        let disk = new_disk(seed);
        let mut random = Random::new(seed);
        let mut tables = Tables::new();
        let store = open(&disk, &options).unwrap();
        for _ in 0..8 {
            let transaction = random_transaction(&store, &mut tables, &mut random).unwrap();
            transaction.commit().unwrap();
        }
        assert!(store.checkpoint().unwrap());
        let (mut states, mut ends) = (vec![tables.clone()], vec![START]);
        for _ in 0..4 {
            let transaction = random_transaction(&store, &mut tables, &mut random).unwrap();
            transaction.commit().unwrap();
            states.push(tables.clone());
            ends.push(START + store.log_size() as usize);
        }
        drop(store);
        Self { options, files: Files::of(&disk), states, ends }
    }

    /// Opens damaged files and reads everything. The state must be at least `least`, the first
    /// allowed state; errors must have a position.
    fn examine(&self, files: &Files, least: usize) -> Result<Option<Error>, String> {
        let disk = new_disk(0);
        files.write_to(&disk);
        self.examine_disk(&disk, least)
    }

    fn examine_disk(&self, disk: &MemoryFileSystem, least: usize) -> Result<Option<Error>, String> {
        let looked = catch_unwind(AssertUnwindSafe(|| -> Result<Tables> {
            let store = open(disk, &self.options)?;
            let report = store.snapshot().check()?;
            let read = read_rows(&store.snapshot());
            if read.is_err() {
                assert!(!report.problems.is_empty(), "a check finds what a read meets");
            }
            read
        }));
        match looked {
            Err(_) => Err("it panics".to_owned()),
            Ok(Ok(found)) if self.states[least..].contains(&found) => Ok(None),
            Ok(Ok(found)) => {
                let state = self.states.iter().position(|state| *state == found);
                Err(format!("found state {state:?}, at least {least} is due: {}", reported(&found)))
            }
            Ok(Err(error)) => match error {
                Error::Corrupted { .. } | Error::CorruptedPage { .. } => Ok(Some(error)),
                other => Err(format!("the error does not say where: {other}")),
            },
        }
    }

    /// The first allowed state when the log is damaged at a byte: a later record may show that the
    /// log was durable there.
    fn least_with_log_damaged_at(&self, byte: usize) -> usize {
        let complete = self.ends.iter().rposition(|&end| end <= byte).unwrap_or(0);
        let records = self.files.records();
        let is_claimed = records
            .iter()
            .any(|record| record.offset > byte && record.durable_offset > byte && byte >= START);
        // Anything but the newest state is then a loss that must be reported.
        if is_claimed { self.states.len() - 1 } else { complete }
    }
}

/// Flips one bit of the data file. Returns whether it was detected.
pub(crate) fn flip_in_data(subject: &Subject, bit: usize) -> Result<bool, String> {
    let mut files = subject.files.clone();
    files.data[bit / 8] ^= 1 << (bit % 8);
    let newest = subject.states.len() - 1;
    let reported = |text| format!("bit {} of byte {} of the data file: {text}", bit % 8, bit / 8);
    match subject.examine(&files, newest).map_err(reported)? {
        None => Ok(false),
        Some(Error::Corrupted { file, offset, .. }) => {
            let page_start = (bit / 8).saturating_sub(START) / PAGE_SIZE * PAGE_SIZE + START;
            let is_right = if bit / 8 < START { true } else { offset == page_start as u64 };
            if file == "tables.folio" && is_right {
                return Ok(true);
            }
            Err(reported(format!("the error points to byte {offset} of {file}")))
        }
        Some(error) => Err(reported(format!("the error does not point to the page: {error}"))),
    }
}

/// Flips one bit of the log. Returns whether it was detected.
pub(crate) fn flip_in_log(subject: &Subject, bit: usize) -> Result<bool, String> {
    let mut files = subject.files.clone();
    files.log[bit / 8] ^= 1 << (bit % 8);
    let least = subject.least_with_log_damaged_at(bit / 8);
    let reported = |text| format!("bit {} of byte {} of the log: {text}", bit % 8, bit / 8);
    match subject.examine(&files, least).map_err(reported)? {
        None => Ok(false),
        Some(Error::Corrupted { file, offset, .. }) if file == "tables.folio-wal" => {
            let is_near = bit / 8 < START
                || subject.files.records().iter().any(|record| {
                    record.offset as u64 == offset
                        && (record.offset..record.offset + record.size).contains(&(bit / 8))
                });
            if is_near { Ok(true) } else { Err(reported(format!("the error points to {offset}"))) }
        }
        // Without its newest header the log is one that the data file is ahead of.
        Some(_) if bit / 8 < START => Ok(true),
        Some(error) => Err(reported(format!("the error points elsewhere: {error}"))),
    }
}

fn cut(subject: &Subject, which: &str, size: usize) -> Result<bool, String> {
    let mut files = subject.files.clone();
    let least = if which == DATA {
        files.data.truncate(size);
        subject.states.len() - 1
    } else {
        files.log.truncate(size);
        // A truncated log has no later record that could show the loss.
        subject.ends.iter().rposition(|&end| end <= size).unwrap_or(0)
    };
    let reported = |text| format!("{which} cut to {size} bytes: {text}");
    let is_noticed = subject.examine(&files, least).map_err(reported)?.is_some();
    if which == LOG && size < START && !is_noticed {
        return Err(reported(
            "the log has lost a part of its headers, and nothing is said of it".into(),
        ));
    }
    Ok(is_noticed)
}

fn is_deep() -> bool {
    std::env::var_os("FOLIO_DEEP").is_some()
}

/// Positions to damage: all of them in deep runs, otherwise a random sample.
fn positions(count: usize, sample: usize, random: &mut Random) -> Vec<usize> {
    if is_deep() {
        return (0..count).collect();
    }
    (0..sample).map(|_| random.below(count)).collect()
}

fn for_subjects(count: u64, run: impl Fn(&Subject, &mut Random) -> Result<u64, String> + Sync) {
    let total = run_seeds(seeds(count), |seed| {
        run(&Subject::new(seed, &small_options()), &mut Random::new(!seed))
    })
    .unwrap_or_else(|text| panic!("{text}"));
    println!("{total} damaged stores");
    assert!(total > 0);
}

#[test]
fn files_cut_anywhere_are_right_or_refused() {
    for_subjects(4, |subject, random| {
        let mut count = 0;
        for (which, size) in [(DATA, subject.files.data.len()), (LOG, subject.files.log.len())] {
            for size in positions(size, 300, random) {
                cut(subject, which, size)?;
                count += 1;
            }
        }
        for size in positions(START, 60, random).into_iter().chain([56, 4096, 4152, START - 1]) {
            cut(subject, LOG, size)?;
            count += 1;
        }
        // Cuts at the boundaries of records and pages, and next to them.
        let borders = subject.files.records().into_iter().map(|record| (LOG, record.offset));
        let pages = (0..subject.files.page_count()).map(|page| (DATA, START + page * PAGE_SIZE));
        for (which, border) in borders.chain(pages) {
            for size in [border - 1, border, border + 1] {
                cut(subject, which, size)?;
                count += 1;
            }
        }
        Ok(count)
    });
}

#[test]
fn flipped_bits_are_noticed_or_do_not_matter() {
    for_subjects(4, |subject, random| {
        let mut noticed = 0;
        let data_bits = positions(8 * subject.files.data.len(), 400, random);
        let headers = (0..2 * 100).map(|byte| 8 * (byte / 100 * 4096 + byte % 100));
        for bit in data_bits.iter().copied().chain(headers.clone()) {
            noticed += u64::from(flip_in_data(subject, bit)?);
        }
        let end = *subject.ends.last().unwrap();
        for bit in positions(8 * end, 400, random).into_iter().chain(headers) {
            noticed += u64::from(flip_in_log(subject, bit)?);
        }
        let count = data_bits.len() as u64;
        assert!(noticed > count / 4, "{noticed} flips noticed of {count} in pages alone");
        Ok(2 * count + 400)
    });
}

/// A page of one place written to another, or an older version of the same page.
#[test]
fn pages_in_the_wrong_place_are_noticed() {
    for_subjects(4, |subject, random| {
        let pages = subject.files.page_count();
        let mut count = 0;
        for _ in 0..60 {
            let (from, to) = (random.below(pages), random.below(pages));
            let mut files = subject.files.clone();
            let source = START + from * PAGE_SIZE;
            files.data.copy_within(source..source + PAGE_SIZE, START + to * PAGE_SIZE);
            let newest = subject.states.len() - 1;
            subject
                .examine(&files, newest)
                .map_err(|text| format!("page {} over page {}: {text}", from + 1, to + 1))?;
            count += 1;
        }
        Ok(count)
    });
}

#[test]
fn files_that_are_gone_empty_or_exchanged_are_refused() {
    for_subjects(6, |subject, _| {
        let other = Subject::new(1000, &small_options());
        let disk = |damage: &dyn Fn(&mut Files)| {
            let mut files = subject.files.clone();
            damage(&mut files);
            files
        };
        let cases: [(&str, Files); 6] = [
            ("an empty data file", disk(&|files| files.data.clear())),
            ("an empty log", disk(&|files| files.log.clear())),
            ("another data file", disk(&|files| files.data.clone_from(&other.files.data))),
            ("another log", disk(&|files| files.log.clone_from(&other.files.log))),
            ("files exchanged", disk(&|files| std::mem::swap(&mut files.data, &mut files.log))),
            ("zeros", disk(&|files| files.data.fill(0))),
        ];
        for (what, files) in &cases {
            let error = subject.examine(files, 0).map_err(|text| format!("{what}: {text}"))?;
            error.ok_or_else(|| format!("{what} is not refused"))?;
        }
        for gone in [DATA, LOG] {
            let disk = new_disk(0);
            subject.files.write_to(&disk);
            folio_file::FileSystem::remove_file(&disk, gone.as_ref()).unwrap();
            let error = subject.examine_disk(&disk, 0);
            let error = error.map_err(|text| format!("without {gone}: {text}"))?;
            error.ok_or_else(|| format!("it opens without {gone}"))?;
            assert!(disk.read(gone).is_none(), "{gone} is not made anew");
        }
        Ok(8)
    });
}

/// Performs every user operation on a store with forged bytes.
fn use_it(store: &TableStore) {
    let _ = store.snapshot().check();
    let _ = read_rows(&store.snapshot());
    let _ = write_to(store);
    let _ = store.checkpoint();
    let _ = put(store, 7, "after all");
}

fn write_to(store: &TableStore) -> Result<()> {
    let mut transaction = store.begin()?;
    let table = match transaction.table(crate::model::THINGS) {
        Ok(table) => table,
        Err(_) => create_things(&mut transaction)?,
    };
    let mut random = Random::new(3);
    for key in 0..60 {
        let row = crate::work::random_row(&mut random, key);
        let savepoint = transaction.savepoint();
        let changed = if key % 3 == 0 {
            transaction.delete(&table, &[ValueRef::Integer(key)]).map(|_| ())
        } else {
            transaction.insert(&table, &folio_types::borrowed(&row)).map(|_| ())
        };
        if changed.is_err() {
            transaction.rollback_to(savepoint)?;
        }
    }
    transaction.drop_index("by_name")?;
    transaction.commit()
}

fn survives_being_made_up(files: &Files, options: &Options) -> Result<(), String> {
    let disk = new_disk(0);
    files.write_to(&disk);
    let used = catch_unwind(AssertUnwindSafe(|| {
        if let Ok(store) = open(&disk, options) {
            use_it(&store);
        }
    }));
    used.map_err(|_| "it panics".to_owned())
}

/// Bytes to put in place of others: bits flipped, extremes, noise.
fn forge(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(4)).min(bytes.len());
    match random.below(4) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at..end].fill(0xff),
        2 => bytes[at..end].fill(0),
        _ => bytes[at..end].iter_mut().for_each(|byte| *byte = random.draw() as u8),
    }
}

/// Pages whose content is forged and whose checksums are right.
#[test]
fn forged_pages_never_panic() {
    let rounds = if is_deep() { 20_000 } else { 300 };
    for_subjects(4, |subject, random| {
        for round in 0..rounds {
            let mut files = subject.files.clone();
            for _ in 0..1 + random.below(3) {
                let page = 1 + random.below(files.page_count());
                let start = START + (page - 1) * PAGE_SIZE;
                // Headers and slots matter more than rows.
                let size = if random.once_in(2) { 80 } else { PAGE_SIZE };
                forge(&mut files.data[start + 8..start + size], random);
                files.seal_page(page);
            }
            survives_being_made_up(&files, &subject.options)
                .map_err(|text| format!("round {round}: {text}"))?;
        }
        Ok(rounds)
    });
}

/// The same for the log's records and for both headers.
#[test]
fn forged_logs_and_headers_never_panic() {
    let rounds = if is_deep() { 20_000 } else { 300 };
    for_subjects(4, |subject, random| {
        let (records, salt) = (subject.files.records(), subject.files.salt());
        let (data_slot, log_slot) = (subject.files.data_slot(), subject.files.log_slot());
        for round in 0..rounds {
            let mut files = subject.files.clone();
            match random.below(3) {
                0 => forge(&mut files.data[data_slot + 8..data_slot + 80], random),
                1 => forge(&mut files.log[log_slot + 8..log_slot + 48], random),
                _ => {
                    let record = random.one_of(&records);
                    let size = if record.is_commit { record.size } else { 140 };
                    let end = record.offset + size.min(record.size);
                    // The size is unchanged: the records after it must be found to be intact.
                    let (from, to) = if random.once_in(2) {
                        (record.offset + 36, end)
                    } else {
                        (record.offset + 24, record.offset + 32)
                    };
                    forge(&mut files.log[from..to], random);
                    files.seal_records(&records, salt);
                }
            }
            files.seal_headers(data_slot, log_slot);
            survives_being_made_up(&files, &subject.options)
                .map_err(|text| format!("round {round}: {text}"))?;
        }
        Ok(rounds)
    });
}
