//! What a power cut may lose, and what it must not.
//!
//! Each promise is tested in both directions: synced data survives under every seed, and unsynced
//! data is lost under some seed, in every way that the model has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use folio_file::{
    CrashPlan, DataLoss, Fault, FaultKind, File, FileSystem, MemoryFileSystem, NameLoss, OpenMode,
    Operation, Recording,
};

const SEEDS: u64 = 2000;
const SECTOR: usize = 512;

fn open(files: &MemoryFileSystem, path: &str, mode: OpenMode) -> Arc<dyn File> {
    files.open(Path::new(path), mode).expect("it opens")
}

fn sync_root(files: &MemoryFileSystem) {
    files.sync_directory(Path::new("/")).expect("it syncs");
}

/// A file whose content and name are durable.
fn durable_file(files: &MemoryFileSystem, path: &str, content: &[u8]) -> Arc<dyn File> {
    let file = open(files, path, OpenMode::CreateNew);
    file.write_at(content, 0).expect("it takes bytes");
    file.sync_data().expect("it syncs");
    sync_root(files);
    file
}

/// How often each content of a path occurs over all seeds; `None` for no file.
fn outcomes(files: &MemoryFileSystem, path: &str) -> BTreeMap<Option<Vec<u8>>, u64> {
    outcomes_under(files, path, CrashPlan::new)
}

fn outcomes_under(
    files: &MemoryFileSystem,
    path: &str,
    plan: impl Fn(u64) -> CrashPlan,
) -> BTreeMap<Option<Vec<u8>>, u64> {
    let mut counts = BTreeMap::new();
    for seed in 0..SEEDS {
        *counts.entry(files.crash(plan(seed)).read(path)).or_default() += 1;
    }
    counts
}

/// Sectors as letters: the byte that fills each, `.` for zeros, `?` for a mixture.
fn sectors(content: &[u8]) -> String {
    content
        .chunks(SECTOR)
        .map(|sector| match sector[0] {
            first if sector.iter().any(|&byte| byte != first) => '?',
            0 => '.',
            first => first.into(),
        })
        .collect()
}

fn filled(letters: &str) -> Vec<u8> {
    letters.bytes().flat_map(|letter| [letter; SECTOR]).collect()
}

#[test]
fn what_is_synced_stays_under_every_plan() {
    let files = MemoryFileSystem::new();
    durable_file(&files, "/a", b"kept");
    let names = [NameLoss::Nothing, NameLoss::Everything, NameLoss::Prefix, NameLoss::Subset];
    let data = [DataLoss::Nothing, DataLoss::Everything, DataLoss::Prefix, DataLoss::Sectors];
    for names in names {
        for data in data {
            let found = outcomes_under(&files, "/a", |seed| CrashPlan { seed, data, names });
            assert_eq!(found.into_keys().collect::<Vec<_>>(), [Some(b"kept".to_vec())]);
        }
    }
}

#[test]
fn the_two_extremes() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", b"kept");
    file.append(b" or lost").expect("it takes bytes");
    open(&files, "/b", OpenMode::Append);
    files.rename(Path::new("/a"), Path::new("/c")).expect("it is renamed");

    let least = files.crash(CrashPlan::lose_everything());
    assert_eq!(least.read("/a").as_deref(), Some(&b"kept"[..]));
    assert_eq!(least.paths(), [Path::new("/a")]);

    let most = files.crash(CrashPlan::lose_nothing());
    assert_eq!(most.read("/c").as_deref(), Some(&b"kept or lost"[..]));
    assert_eq!(most.paths(), [Path::new("/b"), Path::new("/c")]);

    let killed = files.kill();
    assert_eq!(killed.read("/c").as_deref(), Some(&b"kept or lost"[..]));
    let later = killed.crash(CrashPlan::lose_everything());
    assert_eq!(later.paths(), [Path::new("/a")], "a kill makes nothing durable");
    assert_eq!(files.read("/c").as_deref(), Some(&b"kept or lost"[..]), "the old tree goes on");
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let files = MemoryFileSystem::new();
    let file = open(&files, "/a", OpenMode::Append);
    for _ in 0..20 {
        file.append(&filled("xyz")).expect("it takes bytes");
    }
    let mut disks = BTreeSet::new();
    for seed in 0..200 {
        let content = files.crash(CrashPlan::new(seed)).read("/a");
        assert_eq!(content, files.crash(CrashPlan::new(seed)).read("/a"), "seed {seed}");
        disks.insert(content);
    }
    assert!(disks.len() > 50, "seeds differ: {} disks", disks.len());
}

/// Appends are lost, durable, torn, or overtaken by later ones. The size may be durable without the
/// data.
#[test]
fn an_unsynced_append_meets_every_fate() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", &filled("k"));
    for letters in ["ab", "cd"] {
        file.append(&filled(letters)).expect("it takes bytes");
    }
    let seen: BTreeMap<String, u64> = outcomes(&files, "/a")
        .into_iter()
        .map(|(content, count)| (sectors(&content.expect("its name is durable")), count))
        .collect();
    for (fate, expected) in [
        ("all lost", "k"),
        ("all kept", "kabcd"),
        ("a prefix", "kab"),
        ("torn", "kabc."),
        ("size without data", "k...."),
        ("a sector lost in the middle", "ka.cd"),
        ("the second without the first", "k..cd"),
    ] {
        assert!(seen.contains_key(expected), "{fate} ({expected}) was not seen in {seen:?}");
    }
    for found in seen.keys() {
        assert!(found.starts_with('k'), "what was synced is there: {found}");
        let in_place = found.chars().zip("kabcd".chars()).all(|(is, was)| is == was || is == '.');
        assert!(in_place, "a sector is as written or zeros: {found}");
    }
}

/// What each kind of loss may leave of three appended sectors and two more.
#[test]
fn kinds_of_loss_differ() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", &filled("k"));
    for letters in ["ab", "cd"] {
        file.append(&filled(letters)).expect("it takes bytes");
    }
    let seen = |data: DataLoss| -> Vec<String> {
        let plan = |seed| CrashPlan { seed, data, names: NameLoss::Nothing };
        let contents = outcomes_under(&files, "/a", plan).into_keys().flatten();
        let mut seen: Vec<_> = contents.map(|content| sectors(&content)).collect();
        seen.sort();
        seen
    };
    assert_eq!(seen(DataLoss::Nothing), ["kabcd"]);
    assert_eq!(seen(DataLoss::Everything), ["k"]);
    let prefixes = ["k", "k..", "k.b", "ka.", "kab", "kab..", "kab.d", "kabc.", "kabcd"];
    assert_eq!(seen(DataLoss::Prefix), prefixes);
    let subsets = ["k", "k..", "k....", "k..cd", "kab", "kab..", "kabcd"];
    assert_eq!(seen(DataLoss::Subset), subsets);
    assert_eq!(seen(DataLoss::Sectors).len(), 1 + 4 + 16, "each size with each set of sectors");
}

/// A sector overwritten twice holds one of the three states, possibly the middle one, and never a
/// mixture.
#[test]
fn a_sector_is_never_half_new() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", &filled("oo"));
    file.write_at(&filled("pp"), 0).expect("it takes bytes");
    file.write_at(&filled("qq"), 0).expect("it takes bytes");
    let seen: BTreeSet<String> = outcomes(&files, "/a")
        .into_keys()
        .map(|content| sectors(&content.expect("its name is durable")))
        .collect();
    let expected = ["oo", "op", "oq", "po", "pp", "pq", "qo", "qp", "qq"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

/// Small appends share a sector: writing it for the later one also writes the earlier one.
#[test]
fn a_later_write_to_a_sector_carries_the_earlier() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", b"");
    file.append(b"first ").expect("it takes bytes");
    file.append(b"second").expect("it takes bytes");
    let mut sizes = BTreeSet::new();
    for content in outcomes(&files, "/a").into_keys().flatten() {
        let data = content.iter().position(|&byte| byte == 0).unwrap_or(content.len());
        assert!(b"first second".starts_with(&content[..data]), "{content:?}");
        assert!(content[data..].iter().all(|&byte| byte == 0), "{content:?}");
        sizes.insert((content.len(), data));
    }
    let expected = [(0, 0), (6, 0), (6, 6), (12, 0), (12, 6), (12, 12)];
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), expected, "(size, bytes of data)");
}

#[test]
fn a_truncation_is_lost_or_kept() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", &filled("abc"));
    file.truncate(SECTOR as u64).expect("it shrinks");
    let seen: Vec<String> =
        outcomes(&files, "/a").into_keys().flatten().map(|content| sectors(&content)).collect();
    assert_eq!(seen, ["a", "abc"]);
    file.sync_data().expect("it syncs");
    file.truncate(3 * SECTOR as u64).expect("it grows");
    for content in outcomes(&files, "/a").into_keys().flatten() {
        assert!(["a", "a.."].contains(&sectors(&content).as_str()), "cut bytes never come back");
    }
}

/// Once the smaller size is durable, the truncated bytes are gone, even if the file has grown over
/// them since.
#[test]
fn cut_off_bytes_do_not_show_through() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", &filled("abc"));
    file.truncate(SECTOR as u64).expect("it shrinks");
    file.append(&filled("x")).expect("it takes bytes");
    let contents = outcomes(&files, "/a").into_keys().flatten();
    let seen: BTreeSet<_> = contents.map(|content| sectors(&content)).collect();
    // Overwritten in place before the size was durable: "axc".
    let expected = ["a", "a.", "abc", "ax", "axc"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_name_is_durable_once_its_directory_is_synced() {
    let files = MemoryFileSystem::new();
    let file = open(&files, "/a", OpenMode::Append);
    file.append(b"x").expect("it takes bytes");
    file.sync_data().expect("it syncs");
    let found = outcomes(&files, "/a");
    assert!(found[&None] > SEEDS / 10, "syncing the file does not keep its name");
    assert!(found[&Some(b"x".to_vec())] > SEEDS / 10, "it may be kept all the same");
    assert_eq!(found.len(), 2, "its content is durable: {found:?}");
    sync_root(&files);
    assert_eq!(outcomes(&files, "/a").len(), 1);
}

#[test]
fn a_new_directory_needs_its_own_name() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/d/e")).expect("it is made");
    let file = open(&files, "/d/e/a", OpenMode::Append);
    file.sync_data().expect("it syncs");
    for (directory, is_safe) in [("/d/e", false), ("/d", false), ("/", true)] {
        files.sync_directory(Path::new(directory)).expect("it syncs");
        let is_lost = outcomes(&files, "/d/e/a").contains_key(&None);
        assert_eq!(is_lost, !is_safe, "after syncing {directory}");
    }
}

#[test]
fn a_rename_shows_the_old_or_the_new() {
    let files = MemoryFileSystem::new();
    durable_file(&files, "/a", b"old");
    let new = open(&files, "/a.new", OpenMode::CreateNew);
    new.append(b"new").expect("it takes bytes");
    new.sync_data().expect("it syncs");
    files.rename(Path::new("/a.new"), Path::new("/a")).expect("it is renamed");
    let found: Vec<_> = outcomes(&files, "/a").into_keys().flatten().collect();
    assert_eq!(found, [b"new", b"old"], "one or the other, nothing else");
    for seed in 0..SEEDS {
        let disk = files.crash(CrashPlan::new(seed));
        let is_new = disk.read("/a").as_deref() == Some(b"new");
        assert!(!(is_new && disk.read("/a.new").is_some()), "seed {seed}: under both names");
    }
    sync_root(&files);
    let found: Vec<_> = outcomes(&files, "/a").into_keys().flatten().collect();
    assert_eq!(found, [b"new"]);
}

/// The classic mistake: renaming before the content is durable.
#[test]
fn a_rename_does_not_wait_for_content() {
    let files = MemoryFileSystem::new();
    durable_file(&files, "/a", b"old");
    open(&files, "/a.new", OpenMode::CreateNew).append(b"new").expect("it takes bytes");
    files.rename(Path::new("/a.new"), Path::new("/a")).expect("it is renamed");
    sync_root(&files);
    let found: Vec<_> = outcomes(&files, "/a").into_keys().flatten().collect();
    assert_eq!(found, [&b""[..], b"\0\0\0", b"new"]);
}

#[test]
fn names_keep_their_order_in_a_journal_only() {
    let files = MemoryFileSystem::new();
    for name in ["/d", "/e"] {
        files.create_directory(Path::new(name)).expect("it is made");
    }
    sync_root(&files);
    for name in ["/d/1", "/e/2", "/d/3"] {
        open(&files, name, OpenMode::Append);
    }
    let trees = |names: NameLoss| -> BTreeSet<String> {
        let plan = |seed| CrashPlan { seed, data: DataLoss::Mixed, names };
        (0..200)
            .map(|seed| files.crash(plan(seed)).paths())
            .map(|paths| paths.iter().map(|path| path.to_string_lossy()[3..].to_owned()).collect())
            .collect()
    };
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    // `paths` sorts, so "132" is /d/1, /d/3, /e/2.
    assert_eq!(trees(NameLoss::Prefix), set(&["", "1", "12", "132"]));
    assert_eq!(trees(NameLoss::Subset), set(&["", "1", "2", "3", "12", "13", "32", "132"]));
    files.sync_directory(Path::new("/d")).expect("it syncs");
    assert_eq!(trees(NameLoss::Prefix), set(&["132"]), "the journal has the one in between");
    assert_eq!(trees(NameLoss::Subset), set(&["13", "132"]));
}

#[test]
fn a_file_is_in_one_place() {
    let files = MemoryFileSystem::new();
    durable_file(&files, "/a", b"x");
    files.rename(Path::new("/a"), Path::new("/b")).expect("it is renamed");
    files.rename(Path::new("/b"), Path::new("/c")).expect("it is renamed");
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let paths = files.crash(CrashPlan::new(seed)).paths();
        assert_eq!(paths.len(), 1, "seed {seed}: {paths:?}");
        seen.insert(paths[0].clone());
    }
    assert_eq!(seen.len(), 3, "it was seen in every place it had");
}

/// Random calls, crashed at any moment: the disk is a tree, and every file in it has one name and
/// can be opened.
#[test]
fn any_crash_leaves_a_tree() {
    let paths = ["/a", "/b", "/d/a", "/d/b", "/d/e/a", "/e/a", "/d", "/e", "/d/e", "/e/f"];
    let mut found = 0;
    for seed in 0..300 {
        let files = MemoryFileSystem::with_seed(seed);
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).expect("a small number")
        };
        for step in 0..60 {
            let (path, other) = (Path::new(paths[below(10)]), Path::new(paths[below(10)]));
            // Most of these calls fail; the others make the history.
            let _ = match below(8) {
                0 | 1 => files.open(path, OpenMode::Append).and_then(|file| file.append(b"x")),
                2 => files.create_directory(path).map(|()| 0),
                3 | 4 => files.rename(path, other).map(|()| 0),
                5 => files.remove_file(path).map(|()| 0),
                6 => files.remove_directory(path).map(|()| 0),
                _ => files.sync_directory(path.parent().expect("not the root")).map(|()| 0),
            };
            let disk = files.crash(CrashPlan::new(seed * 1000 + step));
            let mut inodes = BTreeSet::new();
            for path in disk.paths() {
                let file = disk.open(&path, OpenMode::Read).expect("it opens");
                let inode = file.stat().expect("it has an identity").inode;
                assert!(inodes.insert(inode), "seed {seed}, step {step}: {path:?} has two names");
                found += 1;
            }
        }
    }
    assert!(found > 10_000, "the histories are about something: {found} files");
}

#[test]
fn a_removal_may_come_undone() {
    let files = MemoryFileSystem::new();
    durable_file(&files, "/a", b"x");
    files.remove_file(Path::new("/a")).expect("it is removed");
    assert_eq!(outcomes(&files, "/a").len(), 2);
    sync_root(&files);
    assert_eq!(outcomes(&files, "/a").into_keys().collect::<Vec<_>>(), [None]);
}

/// After a failed sync the next one succeeds, but the bytes are lost.
#[test]
fn a_failed_sync_is_not_made_good_by_the_next() {
    for seed in 0..50 {
        let files = MemoryFileSystem::with_seed(seed);
        let file = durable_file(&files, "/a", &filled("k"));
        file.append(&filled("abcd")).expect("it takes bytes");
        files.inject(Fault::next(Operation::Sync, FaultKind::Eio));
        assert!(file.sync_data().is_err());
        file.append(&filled("e")).expect("it takes bytes");
        file.sync_data().expect("the second sync says it is well");
        assert_eq!(sectors(&files.read("/a").expect("it is there")), "kabcde", "reading shows all");
        let found = outcomes(&files, "/a");
        assert_eq!(found.len(), 1, "it is decided at the failed sync, not at the crash");
        let disk = found.into_keys().next().flatten().expect("its name is durable");
        let (disk, seen) = (sectors(&disk), "kabcde");
        assert!(disk.starts_with('k') && disk.ends_with('e'), "what was synced stays: {disk}");
        if disk != seen {
            return;
        }
    }
    panic!("no failed sync lost anything");
}

#[test]
fn times_may_be_lost_too() {
    let files = MemoryFileSystem::new();
    let file = durable_file(&files, "/a", b"x");
    let before = file.stat().expect("it has times").modified_ns;
    file.write_at(b"y", 0).expect("it takes bytes");
    let after = file.stat().expect("it has times").modified_ns;
    let seen: BTreeSet<_> = (0..SEEDS)
        .map(|seed| {
            let disk = files.crash(CrashPlan::new(seed));
            let time = disk.stat(Path::new("/a")).expect("its name is durable").modified_ns;
            (disk.read("/a").expect("it is there"), time)
        })
        .collect();
    let pairs = [(b"x", before), (b"x", after), (b"y", before), (b"y", after)];
    let expected = pairs.map(|(content, time)| (content.to_vec(), time));
    assert_eq!(seen, BTreeSet::from(expected), "content and time are lost independently");
}

#[test]
fn crash_points_are_images_of_their_moment() {
    let files = MemoryFileSystem::new();
    files.record_crash_points(Recording::Syncs);
    let file = open(&files, "/a", OpenMode::Append);
    for byte in [b"1", b"2", b"3"] {
        file.append(byte).expect("it takes bytes");
        file.sync_data().expect("it syncs");
    }
    sync_root(&files);
    let points = files.crash_points();
    assert_eq!(points.len(), files.crash_point_count());
    let reported: Vec<_> = points
        .iter()
        .map(|point| {
            let after = if point.is_after { "after" } else { "before" };
            let image = point.image.read("/a").expect("the file is there from the start");
            format!("{after} {:?} {}", point.operation, String::from_utf8_lossy(&image))
        })
        .collect();
    let expected = [
        "before Sync 1",
        "after Sync 1",
        "before Sync 12",
        "after Sync 12",
        "before Sync 123",
        "after Sync 123",
        "before SyncDirectory 123",
        "after SyncDirectory 123",
    ];
    assert_eq!(reported, expected);
    let worst = |index: usize| points[index].image.crash(CrashPlan::lose_everything()).read("/a");
    assert_eq!(worst(6), None);
    assert_eq!(worst(7).as_deref(), Some(&b"123"[..]));

    files.record_crash_points(Recording::Changes);
    file.append(b"4").expect("it takes bytes");
    files.rename(Path::new("/a"), Path::new("/b")).expect("it is renamed");
    files.stat(Path::new("/b")).expect("it is there");
    assert_eq!(files.crash_point_count(), points.len() + 4, "two around each change");
}

#[test]
fn an_epoch_ends_with_a_crash_and_not_with_a_process() {
    let files = MemoryFileSystem::new();
    let epoch_in = |files: &MemoryFileSystem| {
        files.open(Path::new("/a"), OpenMode::Write).expect("it opens").epoch()
    };
    let before = epoch_in(&files);
    assert!(before.is_some());
    assert_eq!(epoch_in(&files.kill()), before);
    assert_ne!(epoch_in(&files.crash(CrashPlan::lose_nothing())), before);
    files.hide_epoch();
    assert_eq!(epoch_in(&files), None);
    assert_eq!(epoch_in(&files.crash(CrashPlan::lose_nothing())), None);
}
