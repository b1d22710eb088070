//! Files that are cut, flipped, emptied, exchanged and removed without the store's knowledge.
//!
//! Losing index files costs only time: whatever happens to them, the documents stay the same. The
//! data file is authoritative, so the collection must return what a naive reader finds in it.
//! Anything else is an error that names the file. A reader and then a writer query each damaged
//! collection.

use std::path::{Path, PathBuf};

use folio_document::{Access, Collection, Error};
use folio_file::{FileSystem, MemoryFileSystem};

use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::text::{self, Content, reported};
use crate::world::{DATABASE, IDS, Setup, data_path, new_disk, observe};
use crate::{columns, fields, types};

/// A closed collection: two runs, records in the head, a batch, tombstones, updates.
fn prepare(setup: &Setup) -> (MemoryFileSystem, Content) {
    let files = new_disk(7);
    let collection = setup.open(&files, Access::ReadWrite).unwrap();
    if setup.has_indexes {
        fields::create(&collection).unwrap();
    }
    if setup.has_columns {
        columns::create(&collection).unwrap();
    }
    for round in 0..2 {
        // Too many for the head, so they become a run.
        let mut batch = collection.batch().unwrap();
        for number in 0..1100 {
            batch.put_raw(None, &format!("{{\"_id\":\"n{number}\",\"r\":{round}}}")).unwrap();
        }
        batch.delete("n7").unwrap();
        batch.commit().unwrap();
        columns::keep(&collection).unwrap();
    }
    for (number, id) in IDS.iter().enumerate() {
        collection.put_raw(id, &format!("{{\"_id\":\"{id}\",\"n\":{number}}}")).unwrap();
        collection.flush().unwrap();
    }
    if setup.has_types {
        types::keep(&collection);
    }
    collection.delete(IDS[2]).unwrap();
    collection.close().unwrap();
    drop(collection);
    files.make_durable();
    let content = text::parse(&files.read(data_path()).unwrap());
    (files, content)
}

/// The permitted results of damage.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Allowed {
    /// Only the content.
    Content,
    /// Also an error that names the file.
    LocatedError,
}

/// Compares a damaged collection with the expected content, through a reader and then a writer.
fn hold(
    setup: &Setup,
    files: &MemoryFileSystem,
    path: &Path,
    expected: &Content,
    allowed: Allowed,
    random: &mut Random,
) -> Result<(), String> {
    for access in [Access::Read, Access::ReadWrite] {
        let collection = match setup.open(files, access) {
            Ok(collection) => collection,
            Err(error) if allowed == Allowed::LocatedError => return located(&error, path),
            Err(error) => return Err(format!("{access:?}: it does not open: {error}")),
        };
        let found =
            observe(&collection, random.below(3)).map_err(|text| format!("{access:?}: {text}"))?;
        if found != *expected {
            let text = difference(&found, expected);
            return Err(format!("{access:?}: {text}"));
        }
        if access == Access::ReadWrite {
            columns::heal(&collection)?;
        }
    }
    Ok(())
}

fn located(error: &Error, path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if error.to_string().contains(&name) {
        return Ok(());
    }
    Err(format!("the error does not name {name}: {error}"))
}

fn difference(found: &Content, expected: &Content) -> String {
    let only = |one: &Content, other: &Content| -> Content {
        one.iter().filter(|document| !other.contains(document)).take(3).cloned().collect()
    };
    format!(
        "found {} documents in place of {}; of them {} should not be there, {} are missing",
        found.len(),
        expected.len(),
        reported(&only(found, expected)),
        reported(&only(expected, found)),
    )
}

/// The files of the index, the record of batches, and the manifest.
fn beside_the_data(files: &MemoryFileSystem) -> Vec<PathBuf> {
    let mut paths = files.paths();
    paths.retain(|path| *path != data_path());
    assert!(paths.len() >= 4, "an index with runs, a record, a manifest: {paths:?}");
    paths
}

fn allowed_for(path: &Path) -> Allowed {
    match path.ends_with("manifest.json") {
        true => Allowed::LocatedError,
        false => Allowed::Content,
    }
}

/// One offset in `step`, so that each seed covers another part of all offsets.
fn places(size: usize, seed: u64, step: usize) -> impl Iterator<Item = u64> {
    (0..size as u64).skip(seed as usize % step).step_by(step)
}

/// Runs a check for all offsets of a file, divided among `count` seeds.
fn everywhere(
    count: usize,
    check: impl Fn(&MemoryFileSystem, &Content, &Path, usize, u64, &mut Random) -> Result<(), String>
    + Sync,
) {
    let (files, content) = prepare(&setup());
    let paths = beside_the_data(&files);
    let run = |seed: u64| -> Result<u64, String> {
        let mut states = 0;
        let mut random = Random::new(seed);
        for path in &paths {
            let size = files.read(path).unwrap_or_default().len();
            // Whole blocks of columns have one sum.
            let is_columns = path.extension().is_some_and(|own| own == "parquet");
            let step = if is_columns { count * 64 } else { count };
            for place in places(size, seed, step) {
                check(&files, &content, path, size, place, &mut random)
                    .map_err(|text| format!("{}, {place} of {size}: {text}", path.display()))?;
                states += 1;
            }
        }
        Ok(states)
    };
    let states = run_seeds(seeds(parts(count)), run).unwrap_or_else(|text| panic!("{text}"));
    println!("{states} damaged states");
    assert!(states > 100, "{states} damaged states are too few");
}

/// How many of `count` parts are run: all of them in a long run, else one in thirty-two.
fn parts(count: usize) -> u64 {
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    if is_deep { count as u64 } else { (count as u64).div_ceil(32) }
}

fn setup() -> Setup {
    Setup::of_seed(0)
}

#[test]
fn a_cut_anywhere_beside_the_data_changes_no_document() {
    everywhere(64, |files, content, path, _, place, random| {
        let damaged = files.kill();
        damaged.truncate_silently(path, place).map_err(|error| error.to_string())?;
        hold(&setup(), &damaged, path, content, allowed_for(path), random)
    });
}

#[test]
fn a_flipped_bit_anywhere_beside_the_data_changes_no_document() {
    everywhere(64, |files, content, path, _, place, random| {
        let damaged = files.kill();
        let bit = place * 8 + random.draw() % 8;
        damaged.flip_bit(path, bit).map_err(|error| error.to_string())?;
        hold(&setup(), &damaged, path, content, allowed_for(path), random)
    });
}

/// The operations to run right after an index was damaged.
const OPERATIONS: [&str; 7] =
    ["put new", "put old", "delete", "put many", "large batch", "compact", "flush"];

/// Changes a collection and its model.
fn change(collection: &Collection, content: &mut Content, operation: &str) -> Result<(), Error> {
    let document = |id: &str| format!("{{\"_id\":\"{id}\",\"changed\":true}}");
    let mut applied = |id: &str, line: Option<String>| text::apply(content, &(id.to_owned(), line));
    let range = match operation {
        "put new" => {
            collection.put_raw("new", &document("new"))?;
            applied("new", Some(document("new")));
            0..0
        }
        "put old" => {
            collection.put_raw("n5", &document("n5"))?;
            applied("n5", Some(document("n5")));
            0..0
        }
        "delete" => {
            assert!(collection.delete("n5")?, "it is there");
            applied("n5", None);
            0..0
        }
        // Existing ids, then new ones.
        "put many" => 1080..1120,
        "large batch" => 1000..2200,
        "compact" => {
            collection.compact(&mut |_, _| true)?;
            0..0
        }
        _ => 0..0,
    };
    if !range.is_empty() {
        let mut batch = collection.batch()?;
        for number in range.clone() {
            let id = format!("n{number}");
            batch.put_raw(None, &document(&id))?;
            applied(&id, Some(document(&id)));
        }
        let counts = batch.commit()?;
        let old_count = 1100 - range.start;
        assert_eq!((counts.replaced, counts.inserted), (old_count, range.end - 1100), "{counts:?}");
    }
    Ok(())
}

#[test]
fn a_damaged_index_stops_no_change_and_is_healed_by_it() {
    everywhere(512, |files, content, path, _, place, random| {
        let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
        if allowed_for(path) != Allowed::Content || !(is_deep || random.once_in(16)) {
            return Ok(());
        }
        for operation in OPERATIONS {
            let failed = |error: Error| format!("{operation}: {error}");
            let damaged = files.kill();
            let bit = place * 8 + random.draw() % 8;
            damaged.flip_bit(path, bit).map_err(|error| error.to_string())?;
            let mut expected = content.clone();
            let collection = setup().open(&damaged, Access::ReadWrite).map_err(failed)?;
            change(&collection, &mut expected, operation).map_err(failed)?;
            let found = observe(&collection, random.below(3))?;
            if found != expected {
                return Err(format!("{operation}: {}", difference(&found, &expected)));
            }
            collection.close().map_err(failed)?;
            let again = setup().open(&damaged, Access::Read).map_err(failed)?;
            let found = observe(&again, random.below(3))?;
            if found != expected {
                return Err(format!(
                    "{operation}, opened again: {}",
                    difference(&found, &expected)
                ));
            }
            if let Some(notice) = again.take_notices().first() {
                return Err(format!("{operation}: it is not healed: {}", notice.0));
            }
        }
        Ok(())
    });
}

#[test]
fn a_file_beside_the_data_may_be_gone_empty_or_another() {
    let (files, content) = prepare(&setup());
    let mut random = Random::new(1);
    let paths = beside_the_data(&files);
    for path in &paths {
        let damaged = files.kill();
        FileSystem::remove_file(&damaged, path).unwrap();
        let held = hold(&setup(), &damaged, path, &content, Allowed::Content, &mut random);
        held.unwrap_or_else(|text| panic!("{} removed: {text}", path.display()));
        for other in paths.iter().chain([&data_path()]) {
            let damaged = files.kill();
            let bytes = files.read(other).unwrap();
            damaged.write(path, if other == path { b"" } else { &bytes }).unwrap();
            hold(&setup(), &damaged, path, &content, allowed_for(path), &mut random)
                .unwrap_or_else(|text| {
                    panic!("{} in place of {}: {text}", other.display(), path.display())
                });
        }
    }
}

#[test]
fn a_data_file_that_is_gone_is_an_error_that_names_it() {
    let (files, _) = prepare(&setup());
    FileSystem::remove_file(&files, &data_path()).unwrap();
    for access in [Access::Read, Access::ReadWrite] {
        let error = setup().open(&files, access).unwrap_err();
        assert!(matches!(error, Error::Corrupted { .. }), "{error}");
        located(&error, &data_path()).unwrap();
    }
}

/// Edits of the data file that change its times: the new content is authoritative.
fn edited(seed: u64, damage: impl Fn(&[u8], u64, &mut Random) -> Vec<u8>) -> Result<u64, String> {
    let setup = setup();
    let (files, _) = small();
    let bytes = files.read(data_path()).unwrap_or_default();
    let mut random = Random::new(seed);
    let mut states = 0;
    for place in places(bytes.len(), seed, 16) {
        let damaged = files.kill();
        let new = damage(&bytes, place, &mut random);
        let expected = text::parse(&new);
        damaged.write(data_path(), &new).map_err(|error| error.to_string())?;
        hold(&setup, &damaged, &data_path(), &expected, Allowed::Content, &mut random)
            .map_err(|text| format!("place {place}: {text}"))?;
        states += 1;
    }
    Ok(states)
}

/// A few documents, flushed one by one.
fn small() -> (MemoryFileSystem, Content) {
    let setup = setup();
    let files = new_disk(3);
    let collection = setup.open(&files, Access::ReadWrite).unwrap();
    for (round, deleted) in IDS.iter().enumerate().take(3) {
        for id in IDS {
            let pad = "x".repeat(20 * round);
            collection
                .put_raw(id, &format!("{{\"_id\":\"{id}\",\"r\":{round},\"pad\":\"{pad}\"}}"))
                .unwrap();
            collection.flush().unwrap();
        }
        collection.delete(deleted).unwrap();
    }
    collection.close().unwrap();
    drop(collection);
    files.make_durable();
    let content = text::parse(&files.read(data_path()).unwrap());
    (files, content)
}

#[test]
fn a_data_file_cut_anywhere_says_what_is_left() {
    let cut = |bytes: &[u8], place: u64, _: &mut Random| bytes[..place as usize].to_vec();
    run_seeds(seeds(16), |seed| edited(seed, cut)).unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn a_data_file_with_any_bit_flipped_says_what_it_says_now() {
    for bit in 0..8 {
        let flip = |bytes: &[u8], place: u64, _: &mut Random| {
            let mut new = bytes.to_vec();
            new[place as usize] ^= 1 << bit;
            new
        };
        run_seeds(seeds(16), |seed| edited(seed, flip)).unwrap_or_else(|text| panic!("{text}"));
    }
}

/// The medium decays without a change of times. A document is the old one, or what the file says
/// now, or its loss is reported. Other documents are not affected.
#[test]
fn decay_of_the_data_file_is_served_as_no_other_document() {
    let (files, content) = small();
    let bits = files.read(data_path()).unwrap().len() as u64 * 8;
    let check = |bit: u64| -> Result<(), String> {
        let damaged = files.kill();
        damaged.flip_bit(data_path(), bit).map_err(|error| error.to_string())?;
        let now = text::parse(&damaged.read(data_path()).unwrap_or_default());
        let failed = |error: Error| format!("bit {bit}: {error}");
        let reader = setup().open(&damaged, Access::Read).map_err(failed)?;
        for id in IDS {
            let find = |content: &Content| content.iter().find(|(known, _)| known == id).cloned();
            let found = reader.get(id).map_err(failed)?.map(|one| (id.to_owned(), one.into_raw()));
            if found != find(&content) && found != find(&now) {
                return Err(format!("bit {bit}: {id} is {found:?}"));
            }
        }
        let report = reader.check(&mut |_, _| true).map_err(failed)?;
        let is_reported = !report.is_clean() || !reader.take_notices().is_empty();
        if now != content && !is_reported {
            return Err(format!("bit {bit}: nothing is told of the change"));
        }
        Ok(())
    };
    let run = |seed: u64| -> Result<u64, String> {
        (seed..bits).step_by(16).try_for_each(check)?;
        Ok(bits / 16)
    };
    run_seeds(seeds(16), run).unwrap_or_else(|text| panic!("{text}"));
}

#[test]
fn an_index_from_another_collection_is_not_believed() {
    let (files, content) = small();
    let (others, _) = prepare(&setup());
    for path in beside_the_data(&others).iter().filter(|path| !path.ends_with("manifest.json")) {
        let bytes = others.read(path).unwrap();
        files.write(path, &bytes).unwrap();
    }
    let path = Path::new(DATABASE);
    hold(&setup(), &files, path, &content, Allowed::Content, &mut Random::new(1))
        .unwrap_or_else(|text| panic!("{text}"));
}

/// The record of a killed batch has the offset where it began. If the file was replaced since, a
/// document may cross that offset.
#[test]
fn an_edit_after_a_killed_batch_that_wrote_nothing_is_kept() {
    let (files, _) = small();
    let collection = setup().open(&files, Access::ReadWrite).unwrap();
    let batch = collection.batch().unwrap();
    let killed = files.kill();
    drop(batch);
    let text = String::from_utf8(killed.read(data_path()).unwrap()).unwrap();
    let edited = text.replace('\n', "\r\n");
    killed.write(data_path(), edited.as_bytes()).unwrap();
    let expected = text::parse(edited.as_bytes());
    let mut random = Random::new(1);
    hold(&setup(), &killed, &data_path(), &expected, Allowed::Content, &mut random)
        .unwrap_or_else(|text| panic!("{text}"));
}
