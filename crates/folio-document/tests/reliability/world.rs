//! A collection on a file system in memory, and its model.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use folio_document::{Access, Collection, CollectionOptions, Durability, Layout, Result, Scan};
use folio_file::{FileSystem, MemoryFileSystem, Recording, WriterLock};

use crate::history::{History, Rules};
use crate::random::Random;
use crate::text::{Content, reported};
use crate::{columns, fields, types};

pub(crate) const DATABASE: &str = "/db";

/// Few, so that the same ids are written repeatedly.
pub(crate) const IDS: [&str; 7] = ["a", "b", "c", "größe", "e.1-f", "0", "a_rather_long_id.json"];

/// The id that the next writer after a crash writes.
pub(crate) const LATER: &str = "later";

/// Properties of a run that the seed decides before it begins.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) layout: Layout,
    pub(crate) options: CollectionOptions,
    /// The collection has indexes on fields.
    pub(crate) has_indexes: bool,
    /// It has a columns index.
    pub(crate) has_columns: bool,
    /// Types are kept in a file.
    pub(crate) has_types: bool,
}

impl Setup {
    pub(crate) fn of_seed(seed: u64) -> Self {
        let layout = if seed % 4 == 3 { Layout::Files } else { Layout::Lines };
        let durability = match seed / 4 % 5 {
            0 | 1 => Durability::OnFlush,
            2 | 3 => Durability::EveryPut,
            _ => Durability::None,
        };
        let options = CollectionOptions {
            durability,
            layout,
            lock_timeout: Duration::ZERO.into(),
            cache_size: if seed.is_multiple_of(2) { 0 } else { 1 << 20 },
            small_field_files: seed / 2 % 3 < 2,
            ..CollectionOptions::default()
        };
        let has_indexes = layout == Layout::Lines && seed % 8 < 5;
        let has_columns = layout == Layout::Lines && seed % 3 < 2;
        let has_types = layout == Layout::Lines && seed % 5 < 3;
        Self { layout, options, has_indexes, has_columns, has_types }
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules {
            is_ordered: self.layout == Layout::Lines,
            syncs_batches: self.options.durability != Durability::None,
        }
    }

    /// Opens the collection as a separate process would.
    pub(crate) fn open(&self, files: &MemoryFileSystem, access: Access) -> Result<Collection> {
        let files: Arc<dyn FileSystem> = Arc::new(files.clone());
        let lock = WriterLock::new(Arc::clone(&files), Path::new(DATABASE).join("folio.lock"));
        let options = CollectionOptions { access, ..self.options.clone() };
        Collection::open(files, Path::new(DATABASE), "c", &options, Arc::new(lock))
    }
}

/// A path in the collection's folder.
pub(crate) fn at(name: &str) -> PathBuf {
    Path::new(DATABASE).join("collections/c").join(name)
}

pub(crate) fn data_path() -> PathBuf {
    at("meta/data.jsonl")
}

/// A file system with a durable directory for the database. Every third one does not reveal when
/// its power was cut.
pub(crate) fn new_disk(seed: u64) -> MemoryFileSystem {
    let files = MemoryFileSystem::with_seed(seed);
    if seed.is_multiple_of(3) {
        files.hide_epoch();
    }
    files.create_directory(Path::new(DATABASE)).unwrap();
    files.make_durable();
    files
}

/// Everything that a collection returns, asked in one of several orders; an error if it contradicts
/// itself.
pub(crate) fn observe(collection: &Collection, order: usize) -> Result<Content, String> {
    let failed = |error: folio_document::Error| format!("a read fails: {error}");
    let scan = || -> Result<Content, String> {
        let documents = collection.scan(Scan::new()).map_err(failed)?;
        documents
            .map(|document| document.map(|one| (one.id().to_owned(), one.into_raw())))
            .collect::<Result<_, _>>()
            .map_err(failed)
    };
    let get = || -> Result<Content, String> {
        let (mut found, mut line) = (Content::new(), Vec::new());
        for id in IDS.iter().chain(&[LATER]) {
            let is_cached = collection.try_get_raw(id, &mut line);
            let document = collection.get(id).map_err(failed)?;
            if is_cached && Some(&*line) != document.as_ref().map(|one| one.raw().as_bytes()) {
                return Err(format!("what is cached of {id} is not what a lookup reads"));
            }
            let is_found = collection.get_raw(id, &mut line).map_err(failed)?;
            if is_found.then_some(&*line) != document.as_ref().map(|one| one.raw().as_bytes()) {
                return Err(format!("the line of {id} is not its document's"));
            }
            found.extend(document.map(|one| ((*id).to_owned(), one.into_raw())));
        }
        Ok(found)
    };
    let count = || collection.count().map_err(failed);
    let (scanned, mut gotten, counted) = match order % 3 {
        0 => in_order(scan, get, count)?,
        1 => {
            let counted = count()?;
            let gotten = get()?;
            (scan()?, gotten, counted)
        }
        _ => {
            let gotten = get()?;
            let counted = count()?;
            (scan()?, gotten, counted)
        }
    };
    let mut sorted = scanned.clone();
    sorted.retain(|(id, _)| IDS.contains(&id.as_str()) || id == LATER);
    sorted.sort_unstable();
    gotten.sort_unstable();
    if sorted != gotten {
        return Err(format!("a scan gives {}, gets {}", reported(&sorted), reported(&gotten)));
    }
    fields::compare(collection, &scanned)?;
    columns::compare(collection, &scanned)?;
    types::compare(collection, &scanned)?;
    if counted != scanned.len() as u64 {
        return Err(format!("the count is {counted}, a scan gives {}", reported(&scanned)));
    }
    Ok(scanned)
}

type Observed = (Content, Content, u64);

fn in_order(
    scan: impl Fn() -> Result<Content, String>,
    get: impl Fn() -> Result<Content, String>,
    count: impl Fn() -> Result<u64, String>,
) -> Result<Observed, String> {
    Ok((scan()?, get()?, count()?))
}

/// One moment worth a crash, and what the model allows then.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) image: MemoryFileSystem,
    pub(crate) label: String,
    pub(crate) history: History,
}

/// The collection, the model, and their history.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) random: Random,
    pub(crate) files: MemoryFileSystem,
    pub(crate) collection: Option<Collection>,
    pub(crate) reader: Option<Collection>,
    pub(crate) history: History,
    /// The handle has written since its last flush, so the next flush makes a promise.
    pub(crate) has_written: bool,
    /// The device may fail.
    pub(crate) has_faults: bool,
    pub(crate) step: usize,
    /// The steps so far, for the text of a failure.
    pub(crate) log: Vec<String>,
    recording: Recording,
    /// From which crash point on which history is valid.
    timeline: Vec<(usize, History, String)>,
    moments: Vec<Moment>,
}

impl World {
    pub(crate) fn new(seed: u64, setup: Setup, recording: Recording) -> Result<Self, String> {
        let files = new_disk(seed);
        let history = History::new(setup.rules());
        let mut world = Self {
            setup,
            random: Random::new(seed),
            files,
            collection: None,
            reader: None,
            history,
            has_written: false,
            has_faults: false,
            step: 0,
            log: Vec::new(),
            recording,
            timeline: Vec::new(),
            moments: Vec::new(),
        };
        world.files.record_crash_points(recording);
        world.mark("open");
        world.open()?;
        if world.setup.has_indexes {
            fields::create(&world.collection()).map_err(|error| error.to_string())?;
        }
        if world.setup.has_columns {
            columns::create(&world.collection()).map_err(|error| error.to_string())?;
        }
        Ok(world)
    }

    pub(crate) fn open(&mut self) -> Result<(), String> {
        let opened = self.setup.open(&self.files, Access::ReadWrite);
        self.collection = Some(opened.map_err(|error| format!("it does not open: {error}"))?);
        self.has_written = false;
        Ok(())
    }

    pub(crate) fn collection(&self) -> Collection {
        self.collection.clone().expect("a collection is open between the steps")
    }

    /// From here on crashes are compared with the current history.
    pub(crate) fn mark(&mut self, what: &str) {
        let entry = (self.files.crash_point_count(), self.history.clone(), what.to_owned());
        self.timeline.push(entry);
    }

    /// Continues with the files as another process finds them after this one was killed.
    pub(crate) fn kill(&mut self) {
        self.collect_moments();
        let files = self.files.kill();
        // The old handles write into the old tree, which is no longer used.
        self.files = files;
        (self.collection, self.reader) = (None, None);
        self.files.record_crash_points(self.recording);
    }

    fn collect_moments(&mut self) {
        let timeline = std::mem::take(&mut self.timeline);
        for (number, point) in self.files.crash_points().into_iter().enumerate() {
            let at = timeline.partition_point(|(from, ..)| *from <= number);
            let (_, history, what) = &timeline[at - 1];
            let when = if point.is_after { "after" } else { "before" };
            let label = format!("{what}, {when} {:?} {:?}", point.operation, point.path);
            self.moments.push(Moment { image: point.image, label, history: history.clone() });
        }
    }

    /// All moments of the run so far.
    pub(crate) fn take_moments(&mut self) -> Vec<Moment> {
        self.files.record_crash_points(Recording::Nothing);
        self.collect_moments();
        std::mem::take(&mut self.moments)
    }

    /// Compares the collection with the model.
    pub(crate) fn compare(&mut self) -> Result<(), String> {
        let order = self.random.below(3);
        let found = observe(&self.collection(), order)?;
        let expected = self.history.latest();
        if self.history.is_same(&found, &expected) {
            return Ok(());
        }
        Err(format!("found {}, expected {}", reported(&found), reported(&expected)))
    }
}
