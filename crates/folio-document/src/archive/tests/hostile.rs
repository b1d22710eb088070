//! Malicious archives.

use super::zip_bytes::{Entry, archive};
use super::*;

const DATA: &str = "collections/c/meta/data.jsonl";
const LINE: &str = "{\"_id\":\"a\"}\n";

fn good() -> Entry {
    Entry::stored(DATA, LINE)
}

/// Both ways of reading reject the archive, and leave nothing behind.
fn refuses(entries: &[Entry], because: &str) {
    refuses_bytes(&archive(entries), because);
}

fn refuses_bytes(bytes: &[u8], because: &str) {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, bytes).unwrap();
    files.write("/outside", b"untouched").unwrap();
    let before = tree(&files, Path::new("/"));
    let error = unpack_to(&files, "/out").unwrap_err().to_string();
    assert!(error.contains(because), "expected {because:?}: {error}");
    assert_eq!(tree(&files, Path::new("/")), before, "{because}");
    let opened = open_archive(&files).and_then(|archive| archive.verify(&mut no_progress));
    let error = opened.unwrap_err().to_string();
    assert!(error.contains(because), "expected {because:?} in place: {error}");
}

/// The archive is accepted, and names that are not part of a database are skipped.
fn takes(entries: &[Entry], skipped: &[&str]) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, &archive(entries)).unwrap();
    let report = unpack_to(&files, "/out").unwrap();
    assert_eq!(report.skipped, skipped);
    assert_eq!(report.skipped_count, skipped.len() as u64);
    let archive = open_archive(&files).unwrap();
    archive.verify(&mut no_progress).unwrap();
    let strip = |tree: Vec<(PathBuf, Vec<u8>)>, root: &str| -> Vec<_> {
        tree.into_iter()
            .map(|(path, bytes)| (path.strip_prefix(root).unwrap().to_owned(), bytes))
            .collect()
    };
    // Read in place and unpacked, it is the same database.
    assert_eq!(
        strip(tree(&archive, Path::new(ARCHIVE)), ARCHIVE),
        strip(tree(&files, Path::new("/out")), "/out")
    );
    files
}

#[test]
fn no_name_leads_out() {
    let names: [&[u8]; 17] = [
        b"../outside",
        b"../../outside",
        b"/outside",
        b"//outside",
        b"collections/../../outside",
        b"collections/c/meta/../../../../outside",
        b"collections/c/docs/../../../outside.json",
        b"collections/c/docs/..",
        b"./collections/c/meta/data.jsonl",
        b"collections//c/meta/data.jsonl",
        b"..\\outside",
        b"collections\\c\\meta\\data.jsonl",
        b"C:\\outside",
        b"C:outside",
        b"collections/c/meta/data.jsonl\0.txt",
        b"collections/c/docs/\xff.json",
        b"..",
    ];
    for name in names {
        refuses(&[good(), Entry::stored(name, "evil")], "its name");
        refuses(
            &[Entry { local_name: Some(DATA.into()), ..Entry::stored(name, "evil") }],
            "its name",
        );
    }
}

#[test]
fn a_member_under_two_names_is_refused() {
    let two_names =
        Entry { local_name: Some(b"collections/c/meta/../../../x.jsonl".to_vec()), ..good() };
    refuses(&[two_names], "its header is not what the archive says");
    refuses(&[good(), good()], "twice");
    let one_file = [good(), Entry::stored("collections/c/docs/a.json", "{}"), good()];
    refuses(&one_file, "twice");
}

#[test]
fn links_and_devices_are_refused() {
    for mode in [0o120_777, 0o020_644, 0o060_644, 0o010_644, 0o140_755] {
        refuses(&[Entry { mode, ..good() }], "a link or a device");
        let beside = Entry { mode, ..Entry::stored("collections/c/docs/a.json", "/etc/passwd") };
        refuses(&[good(), beside], "a link or a device");
    }
    refuses(&[Entry { mode: 0o040_755, ..good() }], "the name of a file");
    takes(&[Entry { mode: 0, ..good() }], &[]);
    takes(&[Entry { mode: 0o644, ..good() }], &[]);
}

#[test]
fn bombs_are_refused() {
    let bomb = Entry::deflated(DATA, b' ', 40 << 20);
    assert!(bomb.packed_size < bomb.size / 500);
    refuses(&[bomb], "more than 200 times");

    // The sizes in the headers are false.
    let small = Entry { size: 10, ..Entry::deflated(DATA, b' ', 1 << 20) };
    refuses(&[small], "");
    let large = Entry { size: 1 << 20, ..Entry::deflated(DATA, b' ', 10) };
    refuses(&[large], "shorter");

    // Many names for the same bytes.
    let others = (0..100).map(|number| Entry {
        header_start: Some(0),
        ..Entry::stored(format!("collections/c/docs/{number}.json"), LINE)
    });
    refuses(&[good()].into_iter().chain(others).collect::<Vec<_>>(), "of another");
    // One member inside of another.
    let inner = Entry::stored("collections/c/docs/a.json", "{}");
    let inside = archive(std::slice::from_ref(&inner));
    let outer = Entry::stored(DATA, &inside);
    let start = 30 + DATA.len() as u32;
    refuses(&[outer, Entry { header_start: Some(start), ..inner }], "of another");

    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, &archive(&[good(), Entry::stored("zds.json", "{}")])).unwrap();
    for limits in [
        UnpackLimits { size: 13, ..UnpackLimits::default() },
        UnpackLimits { member_count: 1, ..UnpackLimits::default() },
    ] {
        let out = Path::new("/out");
        files.create_directory(out).unwrap();
        let error = unpack(&files, Path::new(ARCHIVE), out, &limits, &mut no_progress).unwrap_err();
        assert!(error.to_string().contains("limit"), "{error}");
    }
}

#[test]
fn the_end_of_a_directory_that_claims_too_much_costs_nothing() {
    let mut bytes = archive(&[good()]);
    let end = bytes.len() - 22;
    bytes[end + 8..end + 12].fill(0xff); // 65,535 entries
    refuses_bytes(&bytes, "or an incomplete one");
}

#[test]
fn what_cannot_be_read_is_refused() {
    refuses(&[Entry { method: 12, ..good() }], "other than deflate");
    refuses(&[Entry { flags: 1, ..good() }], "encrypted");
    refuses(&[Entry { size: 5, ..good() }], "sizes differ");
    refuses(&[Entry { checksum: 7, ..good() }], "checksum");
    let packed = Entry::deflated(DATA, b' ', 1000);
    refuses(&[Entry { checksum: 7, ..packed.clone() }], "checksum");
    refuses(&[Entry { data: vec![0xff; packed.data.len()], ..packed }], "");
    refuses_bytes(b"", "not a ZIP archive, or an incomplete one");
    refuses_bytes(b"PK\x05\x06", "not a ZIP archive, or an incomplete one");
    refuses_bytes(LINE.as_bytes(), "not a ZIP archive, or an incomplete one");
}

#[test]
fn what_is_no_part_of_a_database_is_left_out_and_told() {
    let entries = [
        good(),
        Entry::stored("README.md", "hello"),
        Entry::stored("collections/c/meta/index.bin", "junk"),
        Entry::stored("collections/c/meta/folio.index", "junk"),
        Entry::stored("collections/c/docs/", ""),
        Entry { mode: 0o040_755, ..Entry::stored("empty/", "") },
        Entry::stored("collections/c/docs/not an id.json", "{}"),
        // An unknown method; this member is not read.
        Entry { method: 99, ..Entry::stored("other", "x") },
    ];
    takes(
        &entries,
        &[
            "README.md",
            "collections/c/meta/index.bin",
            "collections/c/meta/folio.index",
            "collections/c/docs/not an id.json",
            "other",
        ],
    );
}

#[test]
fn a_folder_around_the_database_is_taken_off() {
    let entries = [Entry::stored("mydata/", ""), Entry::stored(format!("mydata/{DATA}"), LINE)];
    let files = takes(&entries, &[]);
    assert_eq!(files.read(format!("/out/{DATA}")).unwrap(), LINE.as_bytes());
    let twice =
        [Entry::stored(format!("a/{DATA}"), LINE), Entry::stored(format!("b/{DATA}"), LINE)];
    refuses(&twice, "several databases");
}

#[test]
fn an_archive_without_a_database_is_no_database() {
    let files = MemoryFileSystem::new();
    files.write(ARCHIVE, &archive(&[Entry::stored("holiday.jpg", "x")])).unwrap();
    let error = unpack_to(&files, "/out").unwrap_err().to_string();
    assert!(error.contains("holds no database"), "{error}");
    assert!(files.stat(Path::new("/out")).is_err());
}

#[test]
fn paths_in_an_archive_stay_in_it() {
    let files = takes(&[good()], &[]);
    files.write("/secret", b"x").unwrap();
    let archive = open_archive(&files).unwrap();
    for path in [
        "/a.zds/../secret",
        "/a.zds/collections/../../secret",
        "/secret",
        "/",
        "secret",
        "/a.zds/x",
    ] {
        assert!(archive.stat(Path::new(path)).is_err(), "{path}");
        assert!(content(&archive, Path::new(path)).is_err(), "{path}");
        assert!(archive.read_directory(Path::new(path)).is_err(), "{path}");
    }
}
