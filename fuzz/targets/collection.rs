//! Collections: lines that people write, an index that is untrusted bytes, archives and
//! files to import from strangers.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use folio::import::{Format, ImportOptions, Source};
use folio::{Database, Scan};
use folio_file::MemoryFileSystem;
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{DATABASE, open, options, patch};

const META: &str = "/db/collections/docs/meta";
const PAGE_SIZE: usize = 4096;
const RUN_HEADER_SIZE: usize = 80;

/// A line that is taken reads back as it was and is JSON to others too; a file of any
/// lines is read without losing one that is a document.
pub(super) fn json_line(bytes: &[u8]) {
    let files = MemoryFileSystem::new();
    let docs = open(&files).unwrap().collection("docs").unwrap();
    if let Ok(text) = str::from_utf8(bytes)
        && docs.put_raw("an_id", text).is_ok()
    {
        let stored = docs.get("an_id").unwrap().unwrap();
        let value: Value = serde_json::from_str(stored.raw()).unwrap();
        assert_eq!(value["_id"], "an_id", "{text}");
    }
    let data = Path::new(META).join("data.jsonl");
    docs.flush().unwrap();
    let files = files.kill();
    files.write(&data, &[bytes, b"\n{\"_id\":\"the_last\"}"].concat()).unwrap();
    let others = open(&files).unwrap().collection("docs").unwrap();
    for document in others.scan(Scan::new()).unwrap() {
        let document = document.unwrap();
        assert!(serde_json::from_str::<Value>(document.raw()).is_ok(), "{}", document.raw());
    }
    assert!(others.get("the_last").unwrap().is_some());
    others.check(&mut |_, _| true).unwrap();
}

/// A collection whose index has a run, a delta and lines that are no documents.
fn collection() -> &'static MemoryFileSystem {
    static FILES: OnceLock<MemoryFileSystem> = OnceLock::new();
    FILES.get_or_init(|| {
        let files = MemoryFileSystem::new();
        let database = open(&files).unwrap();
        let docs = database.collection("docs").unwrap();
        for round in 0..3 {
            let mut batch = docs.batch().unwrap();
            for number in 0..400 {
                batch.put(&format!("id{number}"), &json!({"round": round, "n": number})).unwrap();
            }
            batch.commit().unwrap();
            docs.delete(&format!("id{round}")).unwrap();
            docs.flush().unwrap();
        }
        database.close().unwrap();
        files
    })
}

/// The first byte says which file of the index is patched, and whether its sums are put
/// right. Whatever the index says, a document that is answered is the one asked for.
pub(super) fn index(bytes: &[u8]) {
    let Some((&choice, patches)) = bytes.split_first() else { return };
    let files = collection().kill();
    let paths: Vec<PathBuf> = files
        .paths()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
        .collect();
    let path = &paths[usize::from(choice >> 1) % paths.len()];
    let mut file = files.read(path).unwrap();
    let offsets = patch::apply(patches, &mut file);
    if choice & 1 == 1 && path.to_string_lossy().contains("run") {
        repair_run(&mut file, &offsets);
    }
    files.replace(path, &file).unwrap();
    let Ok(database) = open(&files) else { return };
    let Ok(docs) = database.collection("docs") else { return };
    for id in ["id0", "id3", "id77", "id399", "nobody"] {
        if let Ok(Some(document)) = docs.get(id) {
            assert_eq!(document.id(), id);
        }
    }
    if let Ok(scan) = docs.scan(Scan::new()) {
        scan.take(5000).for_each(drop);
    }
    let _ = docs.check(&mut |_, _| true);
    let _ = docs.put("another", &json!({}));
    let _ = docs.flush();
}

fn repair_run(file: &mut [u8], offsets: &[usize]) {
    for offset in offsets {
        let page = offset / PAGE_SIZE;
        let Some(page_bytes) = file.get_mut(page * PAGE_SIZE..(page + 1) * PAGE_SIZE) else {
            continue;
        };
        if page == 0 {
            let sum = xxh3_64(&page_bytes[..RUN_HEADER_SIZE - 8]);
            page_bytes[RUN_HEADER_SIZE - 8..RUN_HEADER_SIZE].copy_from_slice(&sum.to_le_bytes());
            continue;
        }
        // Numbered from the first page behind the header.
        let sum = xxh3_64_with_seed(&page_bytes[..PAGE_SIZE - 8], page as u64);
        page_bytes[PAGE_SIZE - 8..].copy_from_slice(&sum.to_le_bytes());
    }
}

/// A patched archive opens, or is refused; unpacking writes nothing beside its target.
pub(super) fn archive(bytes: &[u8]) {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    let sound = ARCHIVE.get_or_init(|| {
        let files = collection().kill();
        let database = open(&files).unwrap();
        database.pack(Path::new("/all.zds"), &Default::default(), &mut |_, _| true).unwrap();
        files.read("/all.zds").unwrap()
    });
    let mut file = sound.clone();
    patch::apply(bytes, &mut file);
    let files = MemoryFileSystem::new();
    files.write("/all.zds", &file).unwrap();
    let Ok(database) = Database::open_with(Path::new("/all.zds"), &options(&files)) else { return };
    for name in database.collections().unwrap_or_default() {
        let Ok(docs) = database.collection(&name) else { continue };
        if let Ok(scan) = docs.scan(Scan::new()) {
            scan.take(5000).for_each(drop);
        }
    }
}

/// Any file, as any format: what is imported can be read, and counts as told.
pub(super) fn import(bytes: &[u8]) {
    let Some((&choice, content)) = bytes.split_first() else { return };
    let formats =
        [None, Some(Format::JsonLines), Some(Format::Json), Some(Format::Csv), Some(Format::Ion)];
    let options = ImportOptions {
        format: formats[usize::from(choice) % formats.len()],
        generate_ids: choice & 64 == 0,
        infer_types: choice & 128 == 0,
        batch_size: 256,
        ..ImportOptions::default()
    };
    let files = MemoryFileSystem::new();
    let docs = open(&files).unwrap().collection("docs").unwrap();
    let source = Source::reader("input", Cursor::new(content.to_vec()));
    let _ = folio::import::import(&docs, source, &options, &mut |_, _| true);
    let mut count = 0;
    for document in docs.scan(Scan::new()).unwrap() {
        assert!(serde_json::from_str::<Value>(document.unwrap().raw()).is_ok());
        count += 1;
    }
    assert_eq!(docs.count().unwrap(), count, "{DATABASE}");
}
