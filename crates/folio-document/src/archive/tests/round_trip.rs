//! What is packed can be read back.

use folio_file::{CrashPlan, Fault, FaultKind, Operation, Recording};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::files::{FilePaths, FileStore};
use crate::line::EncodedLine;
use crate::manifest::Manifest;
use crate::{Error, Layout};

/// A database with a collection in each layout, with changed documents.
fn database() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    let users = open_collection(shared(&files), Path::new(DATABASE), "users", Access::ReadWrite);
    for id in ["b", "a", "gone", "c"] {
        users.put(id, &json!({"n": 1, "text": "x".repeat(100)})).unwrap();
    }
    users.put("a", &json!({"n": 2})).unwrap();
    users.delete("gone").unwrap();
    users.put_raw("big", r#"{"n": 123456789012345678901234567890.10, "z": 1, "a": 2}"#).unwrap();
    users.close().unwrap();
    let notes = open_files(&files);
    for id in ["two", "one"] {
        let line = format!(r#"{{"_id":"{id}","n":1}}"#);
        notes.put_line(EncodedLine::trust(line.as_bytes()).unwrap()).unwrap();
    }
    notes.close().unwrap();
    files.write("/db/zds.json", b"{\"name\": \"x\"}").unwrap();
    files.write("/db/folio.json", b"{\"version\": 1}").unwrap();
    files.write("/db/notes.txt", b"mine").unwrap();
    files.write("/db/collections/users/meta/rejected-1.jsonl", b"oops\n").unwrap();
    files
}

fn open_files(files: &MemoryFileSystem) -> Arc<FileStore> {
    let files = shared(files);
    let lock =
        Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").to_owned()));
    let manifest = Manifest::new("notes", Layout::Files, files.now());
    let paths = FilePaths::new(Path::new(DATABASE), "notes");
    FileStore::open(files, paths, "notes", &CollectionOptions::default(), lock, manifest).unwrap()
}

#[test]
fn only_what_is_alive_is_packed_and_all_of_it_comes_back() {
    for compress in [false, true] {
        let files = database();
        let before = tree(&files, Path::new(DATABASE));
        let report = pack_at(&files, compress);
        assert_eq!((report.collection_count, report.document_count), (2, 6));
        assert_eq!(report.size, files.read(ARCHIVE).unwrap().len() as u64);
        assert_eq!(report.notices, []);
        assert_eq!(tree(&files, Path::new(DATABASE)), before, "packing only reads");

        let report = unpack_to(&files, "/out").unwrap();
        assert_eq!((report.file_count, report.skipped_count), (8, 0));
        let names: Vec<_> = tree(&files, Path::new("/out"))
            .into_iter()
            .map(|(path, _)| path.strip_prefix("/out").unwrap().display().to_string())
            .collect();
        assert_eq!(
            names,
            [
                "collections/notes/docs/one.json",
                "collections/notes/docs/two.json",
                "collections/notes/meta/manifest.json",
                "collections/notes/meta/order.ids",
                "collections/users/meta/data.jsonl",
                "collections/users/meta/manifest.json",
                "folio.json",
                "zds.json",
            ]
        );
        let data = files.read("/out/collections/users/meta/data.jsonl").unwrap();
        let lines: Vec<_> = std::str::from_utf8(&data).unwrap().lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2], r#"{"_id":"a","n":2}"#);
        assert_eq!(lines[3], r#"{"_id":"big","n":123456789012345678901234567890.10,"z":1,"a":2}"#);
        for file in ["docs/one.json", "meta/order.ids"] {
            let (packed, own) =
                (format!("/out/collections/notes/{file}"), format!("/db/collections/notes/{file}"));
            assert_eq!(files.read(packed), files.read(own), "{file}");
        }
        let manifest = Manifest::load(&files, Path::new("/out/collections/users")).unwrap();
        assert_eq!(manifest.document_count, 4);
    }
}

#[test]
fn an_archive_is_read_where_it_is() {
    for compress in [false, true] {
        let files = database();
        let own = open_collection(shared(&files), Path::new(DATABASE), "users", Access::Read);
        let expected = lines(&own);
        pack_at(&files, compress);
        files.set_read_only(true);
        let archive = open_archive(&files).unwrap();
        let root = archive.root().to_owned();
        let users = open_collection(Arc::new(archive), &root, "users", Access::Read);
        assert_eq!(lines(&users), expected);
        assert_eq!(users.get("a").unwrap().unwrap().raw(), r#"{"_id":"a","n":2}"#);
        assert!(users.get("gone").unwrap().is_none());
        assert!(users.check(&mut no_progress).unwrap().is_clean());
        assert!(matches!(users.put("x", &json!({})), Err(Error::ReadOnly { .. })));
    }
}

#[test]
fn a_stored_archive_is_read_at_its_place_and_verified_once() {
    let files = database();
    pack_at(&files, false);
    let archive = open_archive(&files).unwrap();
    let path = Path::new(ARCHIVE).join("collections/users/meta/data.jsonl");
    let calls = || files.call_count(Operation::Read);
    let open =
        |archive: &ArchiveFileSystem| archive.open(&path, folio_file::OpenMode::Read).unwrap();
    let first = open(&archive);
    let before = calls();
    let second = open(&archive.clone());
    assert_eq!(calls(), before, "opened again without reading");
    let mut bytes = [0; 8];
    assert_eq!(second.read_at(&mut bytes, 0).unwrap(), 8);
    assert_eq!((&bytes, calls()), (b"{\"_id\":\"", before + 1));
    let size = first.stat().unwrap().size;
    assert_eq!(first.read_at(&mut bytes, size - 3).unwrap(), 3);
    assert_eq!(first.read_at(&mut bytes, size).unwrap(), 0);
    assert_eq!(first.read_at(&mut bytes, u64::MAX).unwrap(), 0);
    assert_eq!(first.stat().unwrap(), second.stat().unwrap());
    assert_eq!(first.stat().unwrap(), archive.stat(&path).unwrap());
}

#[test]
fn members_have_an_identity_of_their_own() {
    let files = database();
    pack_at(&files, true);
    let identity = |archive: &ArchiveFileSystem, name: &str| {
        let stat = archive.stat(&archive.root().join(name)).unwrap();
        (stat.device, stat.inode, stat.modified_ns, stat.changed_ns)
    };
    let archive = open_archive(&files).unwrap();
    let names = ["folio.json", "zds.json", "collections/users/meta/data.jsonl", "collections"];
    let identities: std::collections::HashSet<_> =
        names.map(|name| identity(&archive, name)).into();
    assert_eq!(identities.len(), names.len());
    assert_eq!(
        identity(&archive, "zds.json"),
        identity(&open_archive(&files).unwrap(), "zds.json")
    );
    files.replace(ARCHIVE, &files.read(ARCHIVE).unwrap()).unwrap();
    assert_ne!(
        identity(&archive, "zds.json"),
        identity(&open_archive(&files).unwrap(), "zds.json")
    );
}

#[test]
fn an_archive_takes_no_writes() {
    let files = database();
    pack_at(&files, false);
    let archive = open_archive(&files).unwrap();
    let path = archive.root().join("folio.json");
    let is_refused = |result: std::io::Result<()>| {
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    };
    use folio_file::OpenMode::{Append, CreateNew, Read, Write};
    for mode in [Append, CreateNew, Write] {
        is_refused(archive.open(&path, mode).map(drop));
    }
    is_refused(archive.rename(&path, &path));
    is_refused(archive.remove_file(&path));
    is_refused(archive.remove_directory(&path));
    is_refused(archive.sync_directory(archive.root()));
    is_refused(archive.create_directory(&path));
    archive.create_directory(&archive.root().join("collections")).unwrap();
    let file = archive.open(&path, Read).unwrap();
    is_refused(file.write_at(b"x", 0));
    is_refused(file.append(b"x").map(drop));
    is_refused(file.truncate(0));
    is_refused(file.sync_data());
    is_refused(file.set_modified(FileSystem::now(&files)));
    is_refused(file.try_lock().map(drop));
    assert_eq!(&*file.map().unwrap(), b"{\"version\": 1}");
    assert_eq!(archive.canonical(&path).unwrap(), Path::new("/a.zds/folio.json"));
}

#[test]
fn the_same_documents_give_the_same_bytes() {
    for compress in [false, true] {
        let first = database();
        pack_at(&first, compress);
        let bytes = first.read(ARCHIVE).unwrap();
        // Packed again, over the old one; and from what was unpacked, but for the times.
        pack_at(&first, compress);
        assert_eq!(first.read(ARCHIVE).unwrap(), bytes);
        unpack_to(&first, "/out").unwrap();
        let options = PackOptions { compress };
        let (database, target) = (Path::new("/out"), Path::new("/b.zds"));
        pack(&shared(&first), database, &first, target, &options, &no_types, &mut no_progress)
            .unwrap();
        assert_eq!(first.read("/b.zds").unwrap(), bytes);
    }
}

#[test]
fn interrupted_work_leaves_the_old_state() {
    let files = database();
    pack_at(&files, false);
    let archive = files.read(ARCHIVE).unwrap();
    let paths = files.paths();
    let pack_some = |allowed: usize| {
        let mut left = allowed;
        let mut progress = |_, _| left.checked_sub(1).map(|less| left = less).is_some();
        let options = PackOptions::default();
        let (database, target) = (Path::new(DATABASE), Path::new(ARCHIVE));
        pack(&shared(&files), database, &files, target, &options, &no_types, &mut progress)
    };
    for allowed in 0..2 {
        assert!(matches!(pack_some(allowed), Err(Error::Cancelled)), "{allowed}");
    }
    for after in 0..12 {
        files.inject(
            Fault::next(Operation::Write, FaultKind::Enospc).on("zds").after(after).sticky(),
        );
        assert!(matches!(pack_some(100), Err(Error::Io { .. })), "{after}");
        files.clear_faults();
        assert_eq!(files.read(ARCHIVE).unwrap(), archive);
        assert_eq!(files.paths(), paths);
    }
}

#[test]
fn a_crash_leaves_a_whole_archive_or_none() {
    let files = database();
    files.make_durable();
    files.record_crash_points(Recording::Changes);
    pack_at(&files, false);
    let archive = files.read(ARCHIVE).unwrap();
    for (number, point) in files.crash_points().iter().enumerate() {
        for seed in 0..3 {
            let crashed = point.image.crash(CrashPlan::new(seed << 32 | number as u64));
            if let Some(found) = crashed.read(ARCHIVE) {
                assert_eq!(found, archive, "point {number}: {point:?}");
            }
        }
    }
    let done = files.crash(CrashPlan::lose_everything());
    assert_eq!(done.read(ARCHIVE).unwrap(), archive);
}

#[test]
fn other_tools_agree_on_what_an_archive_holds() {
    let files = database();
    pack_at(&files, true);
    let bytes = files.read(ARCHIVE).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    archive.validate_header_consistency().unwrap();
    assert!(!archive.has_overlapping_entries().unwrap());
    assert_eq!(archive.len(), 9);
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number).unwrap();
        assert_eq!(entry.unix_mode(), Some(0o100_644));
        std::io::copy(&mut entry, &mut std::io::sink()).unwrap();
    }
}

#[test]
fn archives_of_other_writers_are_read() {
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    let options = SimpleFileOptions::DEFAULT;
    let stored = options.compression_method(zip::CompressionMethod::Stored);
    let deflated = options.compression_method(zip::CompressionMethod::Deflated);
    for (options, is_stream) in [
        (stored, false),
        (deflated, false),
        (stored.large_file(true), false),
        (deflated.large_file(true), false),
        (deflated, true), // sizes and checksum follow the data
        (stored, true),
    ] {
        let name = "my data/collections/c/meta/data.jsonl";
        let line = "{\"_id\":\"a\",\"n\":1}\n";
        let bytes = if is_stream {
            let mut writer = zip::ZipWriter::new_stream(Vec::new());
            writer.start_file(name, options).unwrap();
            writer.write_all(line.as_bytes()).unwrap();
            writer.finish().unwrap().into_inner()
        } else {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            writer.add_directory("my data/collections/c/docs", options).unwrap();
            writer.start_file(name, options).unwrap();
            writer.write_all(line.as_bytes()).unwrap();
            writer.set_comment("made elsewhere").unwrap();
            writer.finish().unwrap().into_inner()
        };
        let files = MemoryFileSystem::new();
        files.write(ARCHIVE, &bytes).unwrap();
        let archive = open_archive(&files).unwrap();
        archive.verify(&mut no_progress).unwrap();
        let root = archive.root().to_owned();
        let collection = open_collection(Arc::new(archive), &root, "c", Access::Read);
        assert_eq!(lines(&collection), [line.trim_end()]);
        unpack_to(&files, "/out").unwrap();
        assert_eq!(files.read("/out/collections/c/meta/data.jsonl").unwrap(), line.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_documents_come_back(
        documents in proptest::collection::btree_map("[a-zä0-9]{1,6}", ".{0,40}", 0..20),
        compress in any::<bool>(),
    ) {
        let files = MemoryFileSystem::new();
        let own = open_collection(shared(&files), Path::new(DATABASE), "c", Access::ReadWrite);
        for (id, text) in &documents {
            own.put(id, &json!({"text": text})).unwrap();
        }
        own.flush().unwrap();
        let expected = lines(&own);
        pack_at(&files, compress);
        if expected.is_empty() {
            return Ok(());
        }
        let archive = open_archive(&files).unwrap();
        let root = archive.root().to_owned();
        let packed = open_collection(Arc::new(archive), &root, "c", Access::Read);
        prop_assert_eq!(&lines(&packed), &expected);
        unpack_to(&files, "/out").unwrap();
        let unpacked = open_collection(shared(&files), Path::new("/out"), "c", Access::ReadWrite);
        prop_assert_eq!(lines(&unpacked), expected);
    }
}
