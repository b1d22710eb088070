//! Injected failures, full disks, and edits of others.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_file::{
    CrashPlan, Fault, FaultKind, File, FileSystem, MemoryFileSystem, OpenMode, Operation, Stat,
};

fn open(files: &MemoryFileSystem, path: &str, mode: OpenMode) -> Arc<dyn File> {
    files.open(Path::new(path), mode).expect("it opens")
}

/// Makes one call of each kind, on files and names that allow it. Returns the kinds that failed.
fn call_each(files: &MemoryFileSystem) -> Vec<Operation> {
    let path = Path::new("/d/a");
    let file = open(files, "/d/a", OpenMode::Write);
    let count = files.call_count(Operation::Any);
    let (new_file, new_directory) = (format!("/d/f{count}"), format!("/d/d{count}"));
    files.write("/d/old", b"x").expect("direct access does not fail");
    let mut failed = Vec::new();
    let mut call = |operation, result: io::Result<()>| {
        if result.is_err() {
            failed.push(operation);
        }
    };
    let nothing = |_| ();
    call(Operation::Open, files.open(path, OpenMode::Read).map(|_| ()));
    call(Operation::Create, files.open(Path::new(&new_file), OpenMode::CreateNew).map(|_| ()));
    call(Operation::Create, files.create_directory(Path::new(&new_directory)));
    call(Operation::Read, file.read_at(&mut [0], 0).map(nothing));
    call(Operation::Read, file.map().map(|_| ()));
    call(Operation::Write, file.write_at(b"x", 0));
    call(Operation::Append, file.append(b"x").map(|_| ()));
    call(Operation::Truncate, file.truncate(1));
    call(Operation::Sync, file.sync_data());
    call(Operation::SyncDirectory, files.sync_directory(Path::new("/d")));
    call(Operation::Metadata, files.stat(path).map(|_| ()));
    call(Operation::Metadata, files.read_directory(Path::new("/d")).map(|_| ()));
    call(Operation::Metadata, files.canonical(path).map(|_| ()));
    call(Operation::Metadata, file.stat().map(|_| ()));
    call(Operation::Lock, file.try_lock().map(|_| ()));
    call(Operation::Lock, file.try_lock_shared().map(|_| ()));
    call(Operation::Lock, file.unlock());
    call(Operation::Rename, files.rename(Path::new("/d/old"), Path::new("/d/old2")));
    call(Operation::Remove, files.remove_file(Path::new("/d/old2")));
    failed
}

const KINDS: [Operation; 12] = [
    Operation::Open,
    Operation::Create,
    Operation::Read,
    Operation::Write,
    Operation::Append,
    Operation::Truncate,
    Operation::Sync,
    Operation::SyncDirectory,
    Operation::Rename,
    Operation::Remove,
    Operation::Metadata,
    Operation::Lock,
];

fn prepared() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.write("/d/a", b"content").expect("it is written");
    files
}

#[test]
fn each_kind_of_call_fails_once_when_asked() {
    assert_eq!(call_each(&prepared()), [], "nothing fails by itself");
    for operation in KINDS {
        let files = prepared();
        let handle = open(&files, "/d/a", OpenMode::Write);
        files.inject(Fault::next(operation, FaultKind::Eio).on("d"));
        if operation == Operation::Open {
            // The first open of the helper comes first.
            assert!(files.open(Path::new("/d/a"), OpenMode::Write).is_err());
        } else {
            assert_eq!(call_each(&files).first(), Some(&operation));
        }
        assert!(!call_each(&files).contains(&operation), "{operation:?} failed once only");
        drop(handle);
    }
}

#[test]
fn a_sticky_fault_stays_until_it_is_taken_back() {
    for operation in KINDS.into_iter().filter(|&kind| kind != Operation::Open) {
        let files = prepared();
        files.inject(Fault::next(operation, FaultKind::Enospc).sticky());
        let failed = call_each(&files);
        assert!(failed.iter().filter(|&&kind| kind == operation).count() >= 1);
        assert!(call_each(&files).contains(&operation), "{operation:?} fails again");
        files.clear_faults();
        assert_eq!(call_each(&files), []);
    }
}

#[test]
fn faults_count_the_calls_that_match() {
    let files = prepared();
    let (a, b) = (open(&files, "/d/a", OpenMode::Append), open(&files, "/d/b", OpenMode::Append));
    files.inject(Fault::next(Operation::Append, FaultKind::Eio).after(2).on("/b"));
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        assert!(a.append(b"x").is_ok(), "another path does not count");
        outcomes.push(b.append(b"x").is_ok());
    }
    assert_eq!(outcomes, [true, true, false, true]);
}

#[test]
fn of_two_faults_that_are_due_the_first_decides() {
    let files = prepared();
    let file = open(&files, "/d/a", OpenMode::Append);
    files.inject(Fault::next(Operation::Append, FaultKind::Eio));
    files.inject(Fault::next(Operation::Any, FaultKind::Enospc));
    let kinds = [(); 3].map(|()| file.append(b"x").map_err(|error| error.kind()).err());
    assert_eq!(kinds, [Some(ErrorKind::Other), Some(ErrorKind::StorageFull), None]);
}

/// Failing at each call in turn tests a store for errors everywhere.
#[test]
fn every_call_can_be_made_to_fail() {
    let files = prepared();
    let before = files.call_count(Operation::Any);
    call_each(&files);
    let count = files.call_count(Operation::Any) - before;
    assert_eq!(count, 20, "one for the helper's handle, one for each call");
    for index in 1..count {
        let files = prepared();
        files.inject(Fault::next(Operation::Any, FaultKind::Eio).after(index));
        assert!(!call_each(&files).is_empty(), "call {index} failed");
    }
}

#[test]
fn a_short_write_leaves_a_part() {
    let files = prepared();
    let file = open(&files, "/d/a", OpenMode::Append);
    files.inject(Fault::next(Operation::Append, FaultKind::ShortWrite { bytes: 3 }));
    assert_eq!(file.append(b"123456").expect_err("it is short").kind(), ErrorKind::StorageFull);
    assert_eq!(files.read("/d/a").as_deref(), Some(&b"content123"[..]));
    let writer = open(&files, "/d/a", OpenMode::Write);
    files.inject(Fault::next(Operation::Write, FaultKind::ShortWrite { bytes: 99 }));
    assert!(writer.write_at(b"CON", 0).is_err());
    assert_eq!(files.read("/d/a").as_deref(), Some(&b"CONtent123"[..]));
}

#[test]
fn failed_calls_change_nothing() {
    let files = prepared();
    let file = open(&files, "/d/a", OpenMode::Write);
    for kind in [FaultKind::Eio, FaultKind::Enospc] {
        files.inject(Fault::next(Operation::Any, kind).sticky());
        assert!(file.write_at(b"x", 0).is_err());
        assert!(file.append(b"x").is_err());
        assert!(file.truncate(0).is_err());
        assert!(files.rename(Path::new("/d/a"), Path::new("/d/b")).is_err());
        assert!(files.remove_file(Path::new("/d/a")).is_err());
        assert!(files.create_directory(Path::new("/d/e")).is_err());
        assert!(files.open(Path::new("/d/c"), OpenMode::Write).is_err());
        files.clear_faults();
        assert_eq!(files.paths(), [Path::new("/d/a")]);
        assert_eq!(files.read("/d/a").as_deref(), Some(&b"content"[..]));
    }
}

/// A device that lies about syncs. Tests also use it to omit a sync.
#[test]
fn an_ignored_sync_keeps_nothing() {
    let files = prepared();
    files.make_durable();
    let file = open(&files, "/d/a", OpenMode::Append);
    let after_append = |files: &MemoryFileSystem| {
        file.append(b"!").expect("it takes bytes");
        file.sync_data().expect("the sync says it is well");
        files.crash(CrashPlan::lose_everything()).read("/d/a").map(|bytes| bytes.len())
    };
    files.inject(Fault::next(Operation::Sync, FaultKind::Ignored));
    assert_eq!(after_append(&files), Some(7));
    assert_eq!(after_append(&files), Some(9), "the next sync writes both");

    files.inject(Fault::next(Operation::SyncDirectory, FaultKind::Ignored));
    for expected in [None, Some(0)] {
        open(&files, "/d/new", OpenMode::Append);
        files.sync_directory(Path::new("/d")).expect("the sync says it is well");
        let found = files.crash(CrashPlan::lose_everything()).read("/d/new");
        assert_eq!(found.map(|bytes| bytes.len()), expected);
    }
    assert_eq!(files.sync_count(), 4, "they count all the same");
    let syncs = ["/d/a", "/d/a", "/d", "/d"].map(Path::new);
    assert_eq!(files.syncs(), syncs);
}

#[test]
fn a_full_disk_takes_what_fits_and_recovers() {
    let files = MemoryFileSystem::new();
    files.set_capacity(Some(10));
    let file = open(&files, "/a", OpenMode::Append);
    file.append(b"12345678").expect("it fits");
    assert_eq!(file.append(b"abcd").expect_err("it is full").kind(), ErrorKind::StorageFull);
    assert_eq!(files.read("/a").as_deref(), Some(&b"12345678ab"[..]));
    let writer = open(&files, "/a", OpenMode::Write);
    writer.write_at(b"overwrit", 0).expect("overwriting needs no room");
    assert!(files.kill().crash(CrashPlan::new(1)).open(Path::new("/a"), OpenMode::Append).is_ok());

    let other = open(&files, "/b", OpenMode::Append);
    assert!(other.append(b"x").is_err());
    files.remove_file(Path::new("/a")).expect("removing needs no room");
    assert!(other.append(b"x").is_err(), "open handles keep the space");
    drop((file, writer));
    other.append(b"123456789").expect("the space came back");
    let third = open(&files, "/c", OpenMode::Append);
    third.append(b"x").expect("one byte is left");
    drop(other);
    files.rename(Path::new("/c"), Path::new("/b")).expect("renaming needs no room");
    third.append(b"23456789").expect("the space of the replaced file came back");
    files.set_capacity(None);
    third.append(&[b'x'; 100]).expect("no limit is left");
}

#[test]
fn absurd_sizes_are_refused() {
    let files = MemoryFileSystem::new();
    let file = open(&files, "/a", OpenMode::Write);
    for offset in [u64::MAX, u64::MAX - 1, 1 << 62] {
        let error = file.write_at(b"xx", offset).expect_err("it is too far");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(file.truncate(offset).expect_err("too far").kind(), ErrorKind::FileTooLarge);
    }
}

#[test]
fn a_read_only_tree_refuses_every_change() {
    let files = prepared();
    let file = open(&files, "/d/a", OpenMode::Append);
    files.set_read_only(true);
    let refusals = [
        file.append(b"x").map(|_| ()),
        file.truncate(0),
        file.set_modified(files.now()),
        files.open(Path::new("/d/a"), OpenMode::Write).map(|_| ()),
        files.open(Path::new("/d/a"), OpenMode::Append).map(|_| ()),
        files.open(Path::new("/d/b"), OpenMode::CreateNew).map(|_| ()),
        files.create_directory(Path::new("/d/e")),
        files.rename(Path::new("/d/a"), Path::new("/d/b")),
        files.remove_file(Path::new("/d/a")),
    ];
    for (index, refusal) in refusals.into_iter().enumerate() {
        let error = refusal.expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem, "call {index}");
    }
    files.create_directory(Path::new("/d")).expect("it exists");
    let reader = open(&files, "/d/a", OpenMode::Read);
    assert_eq!(reader.map().expect("it reads")[..], b"content"[..]);
}

/// Which metadata a foreign change affects.
fn differences(before: Stat, after: Stat) -> [bool; 4] {
    [
        before.inode != after.inode,
        before.size != after.size,
        before.modified_ns < after.modified_ns,
        before.changed_ns < after.changed_ns,
    ]
}

#[test]
fn foreign_edits_show_as_they_would_on_a_disk() {
    type Edit = fn(&MemoryFileSystem) -> io::Result<()>;
    let edits: [(&str, Edit, &[u8], [bool; 4]); 6] = [
        ("write", |files| files.write("/d/a", b"CONTENT"), b"CONTENT", [false, false, true, true]),
        ("append", |files| files.append("/d/a", b"!"), b"content!", [false, true, true, true]),
        (
            "replace",
            |files| files.replace("/d/a", b"fresh12"),
            b"fresh12",
            [true, false, true, true],
        ),
        ("flip", |files| files.flip_bit("/d/a", 8), b"cnntent", [false; 4]),
        ("cut", |files| files.truncate_silently("/d/a", 2), b"co", [false, true, false, false]),
        ("none", |_| Ok(()), b"content", [false; 4]),
    ];
    for (name, edit, content, expected) in edits {
        let files = prepared();
        files.make_durable();
        let handle = open(&files, "/d/a", OpenMode::Read);
        let before = files.stat(Path::new("/d/a")).expect("it is there");
        edit(&files).expect("the edit is done");
        let after = files.stat(Path::new("/d/a")).expect("it is there");
        assert_eq!(differences(before, after), expected, "{name}: inode, size, times");
        assert_eq!(files.read("/d/a").as_deref(), Some(content), "{name}");
        let seen: &[u8] = if name == "replace" { b"content" } else { content };
        assert_eq!(handle.map().expect("it reads")[..], *seen, "{name}: through an open handle");
        assert_eq!(files.paths(), [Path::new("/d/a")], "{name}");
    }
    let files = prepared();
    let error = files.flip_bit("/d/a", 7 * 8).expect_err("the file is shorter");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(files.read("/d"), None, "a directory has no content");
}

#[test]
fn damage_survives_a_crash() {
    let files = prepared();
    files.make_durable();
    files.flip_bit("/d/a", 0).expect("it flips");
    let disk = files.crash(CrashPlan::lose_everything());
    assert_eq!(disk.read("/d/a").as_deref(), Some(&b"bontent"[..]));
}

#[test]
fn time_moves_on_and_can_be_coarse() {
    let files = prepared();
    let first = files.now();
    assert!(files.now() > first);
    files.advance(Duration::from_secs(3600));
    assert!(files.now() >= first + Duration::from_secs(3600));

    let modified = || files.stat(Path::new("/d/a")).expect("it is there").modified_ns;
    files.set_time_granularity(Duration::from_secs(1));
    let mut times = Vec::new();
    for _ in 0..20 {
        files.append("/d/a", b"x").expect("it is written");
        times.push(modified());
    }
    times.dedup();
    assert!(times.len() <= 2, "twenty changes within a moment: {times:?}");
    assert!(times.iter().all(|time| time % 1_000_000_000 == 0));
}
