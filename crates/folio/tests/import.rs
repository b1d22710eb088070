//! The promises of an import: every good record once, and none lost by a kill.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use folio::import::{Format, ImportOptions, ImportReport, OnConflict, Source, SourceList, import};
use folio::{Collection, Database, Error, ErrorCode, OpenOptions, Result, Scan};
use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation};
use proptest::prelude::*;

fn open(files: &MemoryFileSystem) -> Collection {
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    Database::open_with("/data", &options).unwrap().collection("t").unwrap()
}

fn run(collection: &Collection, text: &[u8], options: &ImportOptions) -> Result<ImportReport> {
    let source = Source::reader("x", Cursor::new(text.to_vec()));
    import(collection, source, options, &mut |_, _| true)
}

fn lines(collection: &Collection) -> Vec<String> {
    let documents = collection.scan(Scan::new()).unwrap();
    documents.map(|document| document.unwrap().into_raw()).collect()
}

#[test]
fn conflicts_are_settled_as_asked() {
    let files = MemoryFileSystem::new();
    let t = open(&files);
    let options = |on_conflict| ImportOptions { on_conflict, ..ImportOptions::default() };
    let first = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"a\",\"n\":2}\n";
    let report = run(&t, first, &options(OnConflict::Replace)).unwrap();
    assert_eq!((report.inserted, report.replaced, report.superseded), (1, 0, 1));
    let second = b"{\"_id\":\"a\",\"n\":3}\n{\"_id\":\"b\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n";
    let report = run(&t, second, &options(OnConflict::Skip)).unwrap();
    assert_eq!((report.inserted, report.replaced, report.skipped), (1, 0, 2));
    assert_eq!(lines(&t), [r#"{"_id":"a","n":2}"#, r#"{"_id":"b","n":1}"#]);
    let third = b"{\"_id\":\"c\"}\n{\"_id\":\"b\"}\n";
    let error = run(&t, third, &options(OnConflict::Error)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(error.to_string().contains("line 2"), "{error}");
    assert_eq!(t.count().unwrap(), 2, "its batch is undone");
}

#[test]
fn tombstones_of_a_data_file_delete() {
    let files = MemoryFileSystem::new();
    let t = open(&files);
    let text = b"{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n{\"_tombstone\":\"a\"}\n";
    let report = run(&t, text, &ImportOptions::default()).unwrap();
    assert_eq!((report.inserted, report.superseded, report.rejected_count), (1, 1, 0));
    let report =
        run(&t, b"{\"_tombstone\":\"b\"}\n{\"_id\":\"a\"}\n", &ImportOptions::default()).unwrap();
    assert_eq!((report.inserted, report.deleted), (1, 1));
    assert_eq!(lines(&t), [r#"{"_id":"a"}"#]);
}

#[test]
fn rejected_records_are_listed_up_to_a_bound_and_saved() {
    let files = MemoryFileSystem::new();
    let t = open(&files);
    let mut text = String::from("{\"_id\":\"good\"}\n");
    (0..300).for_each(|n| text += &format!("bad {n}\n"));
    let rejected_path = Some("/bad".into());
    let report =
        run(&t, text.as_bytes(), &ImportOptions { rejected_path, ..ImportOptions::default() });
    let report = report.unwrap();
    assert_eq!(report.rejected_count, 300);
    assert_eq!(report.rejected.len(), ImportReport::REJECTED_LIMIT);
    assert_eq!((report.rejected[0].line, report.inserted), (2, 1));
    let saved = String::from_utf8(files.read("/bad").unwrap()).unwrap();
    assert_eq!(saved.lines().count(), 300);
    assert!(saved.starts_with("bad 0\nbad 1\n"));
}

#[test]
fn a_hopeless_source_stops_and_creates_nothing() {
    let files = MemoryFileSystem::new();
    let t = open(&files);
    let format = Some(Format::JsonLines);
    let error =
        run(&t, &b"text\n".repeat(200), &ImportOptions { format, ..ImportOptions::default() });
    assert!(matches!(error, Err(Error::AllRejected { count: 100, .. })));
    assert!(!t.is_created());
}

#[test]
fn a_strict_collection_rejects_what_does_not_fit() {
    let files = MemoryFileSystem::new();
    let options = OpenOptions { file_system: Some(Arc::new(files)), ..OpenOptions::default() };
    let strict =
        folio::CollectionOptions { strict: folio::Strict::FirstDocument, ..Default::default() };
    let t = Database::open_with("/data", &options).unwrap().collection_with("t", &strict).unwrap();
    let text = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":\"x\"}\n{\"_id\":\"c\",\"n\":3}\n";
    let report = run(&t, text, &ImportOptions::default()).unwrap();
    assert_eq!((report.inserted, report.rejected_count), (2, 1));
    assert!(
        report.rejected[0].reason.to_string().contains("Schema mismatch"),
        "{}",
        report.rejected[0]
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_sources_are_told_by_their_bytes() {
    let text: String = (0..20_000).map(|n| format!("{{\"_id\":\"d{n}\",\"n\":{n}}}\n")).collect();
    let (head, tail) = text.as_bytes().split_at(text.find("{\"_id\":\"d7777").unwrap());
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
    for packed in [
        gzip(text.as_bytes()),
        [gzip(head), gzip(tail)].concat(),
        zstd(text.as_bytes()),
        [&skippable[..], &zstd(head), skippable, &zstd(tail)].concat(),
    ] {
        let t = open(&MemoryFileSystem::new());
        let report = run(&t, &packed, &ImportOptions::default()).unwrap();
        assert_eq!((report.inserted, report.rejected_count), (20_000, 0));
        assert_eq!(report.size, packed.len() as u64);
        assert_eq!(t.get("d19999").unwrap().unwrap().raw(), r#"{"_id":"d19999","n":19999}"#);
    }
}

#[test]
fn a_damaged_compressed_source_is_an_error_and_nothing_is_half_imported() {
    let text: String = (0..20_000).map(|n| format!("{{\"_id\":\"d{n}\",\"n\":{n}}}\n")).collect();
    for whole in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x55;
        for packed in [&whole[..whole.len() - 9], &whole[..middle], &flipped] {
            let t = open(&MemoryFileSystem::new());
            let error = run(&t, packed, &ImportOptions::default()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Io, "{error}");
            assert_eq!(t.count().unwrap(), 0);
        }
    }
}

/// The same documents in each format, large enough for several batches.
fn sources() -> [(&'static str, String); 3] {
    let object = |n: u32| format!("{{\"_id\":\"d{n}\",\"n\":{n}.0,\"t\":\"a, \\\"b\\\"\"}}");
    let all: Vec<String> = (0..500).map(object).collect();
    let rows: String = (0..500).map(|n| format!("d{n},{n}.0,\"a, \"\"b\"\"\"\n")).collect();
    [
        ("/in.jsonl", all.join("\n")),
        ("/in.json", format!("[\n{}\n]", all.join(" ,\n "))),
        ("/in.csv", format!("_id,n,t\n{rows}")),
    ]
}

fn import_file(
    collection: &Collection,
    files: &MemoryFileSystem,
    path: &str,
    steps: &mut u32,
) -> Result<ImportReport> {
    let source = Source::file_in(files, Path::new(path))?;
    let options = ImportOptions { batch_size: 1_000, ..ImportOptions::default() };
    import(collection, source, &options, &mut |_, _| {
        *steps = steps.saturating_sub(1);
        *steps > 0
    })
}

#[test]
fn an_interrupted_import_goes_on_where_it_stood() {
    for (path, text) in sources() {
        let whole = MemoryFileSystem::new();
        whole.write(path, text.as_bytes()).unwrap();
        let expected = open(&whole);
        let report = import_file(&expected, &whole, path, &mut u32::MAX.clone()).unwrap();
        assert_eq!((report.inserted, report.resumed_at), (500, None), "{path}");
        for seed in 0..60 {
            let files = MemoryFileSystem::with_seed(seed);
            files.write(path, text.as_bytes()).unwrap();
            files.make_durable();
            let failed = {
                let t = open(&files);
                // The device fails at some append; the process then loses power.
                files.inject(
                    Fault::next(Operation::Append, FaultKind::Eio)
                        .after(seed % 19)
                        .sticky()
                        .on("data.jsonl"),
                );
                let failed = import_file(&t, &files, path, &mut u32::MAX.clone());
                files.clear_faults();
                failed
            };
            let files = files.crash(CrashPlan::new(seed));
            let t = open(&files);
            let committed = t.count().unwrap();
            if let Err(Error::Interrupted { report, cause }) = &failed {
                assert_eq!(cause.code(), ErrorCode::Io, "seed {seed}");
                assert!(committed >= report.written(), "seed {seed}: acknowledged and lost");
            }
            let report = import_file(&t, &files, path, &mut u32::MAX.clone()).unwrap();
            assert!(lines(&t) == lines(&expected), "{path}, seed {seed}");
            assert_eq!(report.replaced, 0, "{path}, seed {seed}: nothing is imported twice");
            assert_eq!(report.inserted + committed, 500, "{path}, seed {seed}");
        }
    }
}

#[test]
fn a_changed_source_or_a_finished_one_starts_over() {
    let files = MemoryFileSystem::new();
    let [(path, text), ..] = sources();
    files.write(path, text.as_bytes()).unwrap();
    let t = open(&files);
    files.inject(
        Fault::next(Operation::Append, FaultKind::Enospc).after(10).sticky().on("data.jsonl"),
    );
    let error = import_file(&t, &files, path, &mut u32::MAX.clone()).unwrap_err();
    assert!(error.to_string().contains("run the same import again"), "{error}");
    files.clear_faults();
    files.write(path, format!("{text}\n").as_bytes()).unwrap();
    let report = import_file(&t, &files, path, &mut u32::MAX.clone()).unwrap();
    assert_eq!(report.resumed_at, None);
    let report = import_file(&t, &files, path, &mut u32::MAX.clone()).unwrap();
    assert_eq!((report.resumed_at, report.replaced), (None, 500));
}

#[test]
fn an_import_that_ends_anywhere_adds_nothing_twice() {
    let options =
        ImportOptions { generate_ids: true, batch_size: 4_000, ..ImportOptions::default() };
    let text: String = (0..500).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    for operation in [Operation::Append, Operation::Write, Operation::Sync, Operation::Rename] {
        let mut whole = 0;
        for after in 0.. {
            let files = MemoryFileSystem::new();
            files.write("/in.jsonl", text.as_bytes()).unwrap();
            let t = open(&files);
            let source = |files| Source::file_in(files, Path::new("/in.jsonl")).unwrap();
            files.inject(Fault::next(operation, FaultKind::Eio).after(after).sticky());
            if import(&t, source(&files), &options, &mut |_, _| true).is_ok() {
                break;
            }
            let files = files.kill();
            files.clear_faults();
            let t = open(&files);
            let before = t.count().unwrap();
            whole += u64::from(before == 500);
            let report = import(&t, source(&files), &options, &mut |_, _| true).unwrap();
            assert_eq!(
                before + report.written(),
                500,
                "{operation:?} fails after {after}: {report:?}"
            );
            assert_eq!(t.count().unwrap(), 500, "{operation:?} fails after {after}");
        }
        println!("{operation:?}: {whole} failed with all documents in the collection");
        assert!(whole > 0 || operation != Operation::Sync, "none failed after its last batch");
    }
}

#[test]
fn an_import_that_ends_in_rejected_records_is_finished() {
    let files = MemoryFileSystem::new();
    let good: String = (0..100).map(|n| format!("{{\"_id\":\"d{n}\",\"n\":{n}}}\n")).collect();
    files.write("/in.jsonl", format!("{good}{}", "bad\n".repeat(50)).as_bytes()).unwrap();
    let t = open(&files);
    for (inserted, replaced) in [(100, 0), (0, 100)] {
        let report = import_file(&t, &files, "/in.jsonl", &mut u32::MAX.clone()).unwrap();
        assert_eq!((report.inserted, report.replaced), (inserted, replaced));
        assert_eq!((report.rejected_count, report.resumed_at), (50, None));
    }
}

#[test]
fn an_import_that_reads_otherwise_starts_over() {
    let files = MemoryFileSystem::new();
    let [(path, text), ..] = sources();
    files.write(path, text.as_bytes()).unwrap();
    let t = open(&files);
    files
        .inject(Fault::next(Operation::Append, FaultKind::Eio).after(10).sticky().on("data.jsonl"));
    import_file(&t, &files, path, &mut u32::MAX.clone()).unwrap_err();
    files.clear_faults();
    let options = ImportOptions { generate_ids: true, ..ImportOptions::default() };
    let source = Source::file_in(&files, Path::new(path)).unwrap();
    let report = import(&t, source, &options, &mut |_, _| true).unwrap();
    assert_eq!((report.resumed_at, report.written()), (None, 500));
}

proptest! {
    #[test]
    fn no_bytes_panic_the_import(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..4_usize) {
        let format = [None, Some(Format::JsonLines), Some(Format::Json), Some(Format::Csv)][kind];
        let t = open(&MemoryFileSystem::new());
        let _ = run(&t, &bytes, &ImportOptions { format, generate_ids: true, ..ImportOptions::default() });
    }

    #[test]
    fn damaged_text_never_panics_and_good_lines_survive(
        at in 0_usize..1000, piece in "[\\[\\]{},:\"\\\\ \n\r0-9a-zé\u{0}]{0,6}", kind in 0..3_usize,
    ) {
        let (_, text) = &sources()[kind];
        let mut text = text[..4000].to_owned();
        let at = at.min(text.len());
        text.insert_str(at, &piece);
        let t = open(&MemoryFileSystem::new());
        let format = [Format::JsonLines, Format::Json, Format::Csv][kind];
        let result = run(&t, text.as_bytes(), &ImportOptions { format: Some(format), ..ImportOptions::default() });
        if format == Format::JsonLines {
            let report = result.unwrap();
            // An insertion affects its line, and the lines it splits it into.
            prop_assert!(report.inserted >= 90, "{}", report.inserted);
        }
    }
}

/// Imports files as one list.
fn import_list(
    t: &Collection,
    files: &MemoryFileSystem,
    paths: &[&str],
) -> Result<Vec<ImportReport>> {
    let options =
        ImportOptions { generate_ids: true, batch_size: 1_000, ..ImportOptions::default() };
    let source = |path: &&str| Source::file_in(files, Path::new(path));
    let list = SourceList::of(paths.iter().map(source))?.unwrap();
    let one =
        |(number, path)| import(t, source(path)?.of_list(list, number), &options, &mut |_, _| true);
    (0..).zip(paths).map(one).collect()
}

#[test]
fn several_files_resume_in_the_file_where_they_were() {
    let (paths, text) = (["/one.jsonl", "/empty.jsonl", "/two.jsonl"], |from: u32, to: u32| {
        (from..to).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>()
    });
    for after in (0..90).step_by(3) {
        let files = MemoryFileSystem::new();
        files.write(paths[0], text(0, 500).as_bytes()).unwrap();
        files.write(paths[1], b"").unwrap();
        files.write(paths[2], text(500, 1_000).as_bytes()).unwrap();
        files.inject(
            Fault::next(Operation::Append, FaultKind::Enospc)
                .after(after)
                .sticky()
                .on("data.jsonl"),
        );
        let failed = import_list(&open(&files), &files, &paths).is_err();
        files.clear_faults();
        let t = open(&files);
        let before = t.count().unwrap();
        let reports = import_list(&t, &files, &paths).unwrap();
        let written: u64 = reports.iter().map(ImportReport::written).sum();
        if failed {
            assert_eq!(before + written, 1_000, "after {after}");
            assert_eq!(reports[0].resumed_at.is_some(), before > 0, "after {after}");
        } else {
            assert_eq!((before, written), (1_000, 1_000), "a finished import starts over");
        }
    }
}
