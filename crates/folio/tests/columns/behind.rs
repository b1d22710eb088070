//! Columns that are brought up to date behind the writer, on a disk.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use folio::{IndexMethod, IndexOptions};
use folio_file::{DiskFileSystem, WriterLock};
use serde_json::json;

use super::World;

/// A batch is more than a flush leaves as lines.
const BATCH: usize = 1200;

fn create_columns(world: &World) {
    let options = IndexOptions {
        name: Some("c".to_owned()),
        method: IndexMethod::Columns,
        ..IndexOptions::default()
    };
    let [_, fast] = world.both();
    fast.create_index::<&str>(&[], &options, &mut |_, _| true).unwrap();
}

/// How many lines have a row.
fn row_count(world: &World) -> u64 {
    let [_, fast] = world.both();
    fast.indexes().unwrap().iter().map(|index| index.entry_count).sum()
}

#[test]
fn parts_follow_the_writer_who_does_not_wait() {
    let mut world = World::new(11);
    world.put_some(BATCH, 100_000);
    create_columns(&world);
    for _ in 0..6 {
        world.put_some(BATCH, 100_000);
        world.compare("a batch").unwrap();
    }
    let start = Instant::now();
    let documents = world.both()[1].count().unwrap();
    while row_count(&world) < documents {
        assert!(start.elapsed() < Duration::from_secs(60), "{} of {documents}", row_count(&world));
        thread::sleep(Duration::from_millis(20));
    }
    world.compare("all parts").unwrap();
    let [_, fast] = world.both();
    let problems = fast.check(&mut |_, _| true).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

/// How many threads of this process make columns.
#[cfg(target_os = "linux")]
fn keeper_count() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
    names.filter(|name| name.as_ref().is_ok_and(|name| name.trim() == "folio-columns")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn the_thread_ends_while_another_process_writes() {
    let mut world = World::new(14);
    world.put_some(BATCH, 100_000);
    create_columns(&world);
    // More than one part.
    let value = json!({ "pad": "p".repeat(20_000) });
    let ids: Vec<String> = (0..3_500).map(|number| format!("e{number}")).collect();
    world.both()[1].put_many(ids.iter().map(|id| (id.as_str(), &value))).unwrap();
    let lock = WriterLock::new(Arc::new(DiskFileSystem), world.meta("fast").join("folio.lock"));
    let held = Arc::new(lock).acquire(Duration::from_secs(60)).unwrap();
    let start = Instant::now();
    while keeper_count() > 0 {
        assert!(start.elapsed() < Duration::from_secs(100), "it makes parts that have no place");
        thread::sleep(Duration::from_millis(20));
    }
    drop(held);
}

#[test]
fn closing_makes_what_is_missing() {
    let mut world = World::new(12);
    world.put_some(BATCH, 100_000);
    create_columns(&world);
    for _ in 0..4 {
        world.put_some(BATCH, 100_000);
        let documents = world.both()[1].count().unwrap();
        world.reopen();
        assert!(row_count(&world) >= documents);
        world.compare("opening again").unwrap();
    }
}

#[test]
fn what_is_dropped_or_renamed_is_left_alone() {
    let mut world = World::new(13);
    for round in 0..8 {
        world.put_some(BATCH, 100_000);
        create_columns(&world);
        world.put_some(BATCH, 100_000);
        // Sometimes the thread waits for more, sometimes it is at work.
        thread::sleep(Duration::from_millis([0, 195, 215, 260][round / 2 % 4]));
        if round % 2 == 0 {
            let [_, fast] = world.both();
            fast.drop_index("c").unwrap();
            thread::sleep(Duration::from_millis(20));
            assert!(!world.meta("fast").join("columns-c").exists());
            assert!(world.notes().is_empty());
        } else {
            world.database.rename_collection("fast", "other").unwrap();
            thread::sleep(Duration::from_millis(20));
            assert!(!world.meta("fast").exists());
            world.database.drop_collection("other").unwrap();
            thread::sleep(Duration::from_millis(20));
            assert!(!world.meta("other").exists());
            world.database.drop_collection("plain").unwrap();
        }
    }
}
