//! What only a disk has: concurrent writers, links, pipes, maps.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use folio_file::{DiskFileSystem, File, FileKind, FileSystem, MemoryFileSystem, OpenMode};

/// Several handles append at once; each gets the offset of its own bytes.
fn appends_race(files: &(dyn FileSystem + Sync), path: &Path) {
    const WRITERS: u8 = 4;
    const RECORDS: usize = 2000;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let file = files.open(path, OpenMode::Append).expect("it opens");
                for number in 0..RECORDS {
                    let record = vec![b'a' + writer; 1 + number % 50];
                    let end = file.append(&record).expect("it takes bytes");
                    let mut found = vec![0; record.len()];
                    let start = end - record.len() as u64;
                    assert_eq!(file.read_at(&mut found, start).expect("it reads"), found.len());
                    assert_eq!(found, record, "writer {writer}, record {number}");
                }
            });
        }
    });
    let size = files.stat(path).expect("it is there").size;
    let expected: usize = (0..RECORDS).map(|number| 1 + number % 50).sum();
    assert_eq!(size, u64::from(WRITERS) * expected as u64, "no record lies over another");
}

#[test]
fn appends_of_several_handles_do_not_overlap() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    appends_race(&DiskFileSystem, &directory.path().join("a"));
    appends_race(&MemoryFileSystem::new(), Path::new("/a"));
}

#[test]
fn a_map_keeps_the_file_that_was_mapped() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let (path, next) = (directory.path().join("a"), directory.path().join("b"));
    fs::write(&path, vec![1; 10_000]).expect("it is written");
    let map = open(&path, OpenMode::Read).map().expect("it maps");
    fs::write(&next, b"successor").expect("it is written");
    DiskFileSystem.rename(&next, &path).expect("it is renamed");
    assert_eq!(map[..], [1; 10_000], "the handle and the name are gone, the map is not");
    assert_eq!(open(&path, OpenMode::Read).map().expect("it maps")[..], b"successor"[..]);
    assert_eq!(format!("{map:?}"), "Map { backing: \"mapped\", size: 10000 }");
}

fn open(path: &Path, mode: OpenMode) -> Arc<dyn File> {
    DiskFileSystem.open(path, mode).expect("it opens")
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_told_apart() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let root = directory.path().canonicalize().expect("it exists");
    fs::write(root.join("a"), b"x").expect("it is written");
    std::os::unix::fs::symlink("a", root.join("link")).expect("it is linked");
    std::os::unix::fs::symlink("missing", root.join("broken")).expect("it is linked");

    let kind = |name: &str| DiskFileSystem.stat(&root.join(name)).map(|stat| stat.kind);
    let link_kind = |name: &str| DiskFileSystem.stat_link(&root.join(name)).map(|stat| stat.kind);
    assert_eq!(kind("link").expect("it is there"), FileKind::File);
    assert_eq!(link_kind("link").expect("it is there"), FileKind::Link);
    assert_eq!(kind("broken").expect_err("it leads nowhere").kind(), ErrorKind::NotFound);
    assert_eq!(link_kind("broken").expect("it is there"), FileKind::Link);
    assert_eq!(DiskFileSystem.canonical(&root.join("link")).expect("it leads"), root.join("a"));

    let mut entries = DiskFileSystem.read_directory(&root).expect("it is listed");
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    let kinds: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
    let expected = [("a", FileKind::File), ("broken", FileKind::Link), ("link", FileKind::Link)];
    assert_eq!(kinds, expected);
}

/// Opening a pipe without a writer would block for ever.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_refused_at_once() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let directory = tempfile::tempdir().expect("a directory for the test");
    let pipe = directory.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it is made");
    for path in [pipe.as_path(), Path::new("/dev/null")] {
        for mode in [OpenMode::Read, OpenMode::Append, OpenMode::Write] {
            let error = DiskFileSystem.open(path, mode).expect_err("it is no file");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path:?} {mode:?}");
        }
    }
    assert_eq!(DiskFileSystem.stat(&pipe).expect("it is there").kind, FileKind::Other);
}

/// What only its owner may read stays so when it is written anew.
#[cfg(unix)]
#[test]
fn a_file_that_replaces_another_has_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().expect("a directory for the test");
    let [old, new] = ["old", "new"].map(|name| directory.path().join(name));
    for mode in [0o600, 0o640, 0o444] {
        fs::write(&old, "old").expect("it is written");
        fs::set_permissions(&old, fs::Permissions::from_mode(mode)).expect("it is ours");
        DiskFileSystem.open(&new, OpenMode::CreateNew).expect("it is made");
        DiskFileSystem.rename(&new, &old).expect("it takes the place");
        let found = fs::metadata(&old).expect("it is there").permissions().mode();
        assert_eq!(found & 0o777, mode);
        fs::remove_file(&old).expect("it is ours");
    }
}

/// All files of one mount have the same epoch, if the system has epochs.
#[test]
fn files_beside_each_other_live_in_one_epoch() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let epoch_of = |name: &str| {
        let path = directory.path().join(name);
        DiskFileSystem.open(&path, OpenMode::Write).expect("it opens").epoch()
    };
    let epoch = epoch_of("a");
    assert_ne!(epoch, Some(0));
    assert_eq!(epoch, epoch_of("b"));
    assert_eq!(epoch, epoch_of("a"), "asked again");
}
