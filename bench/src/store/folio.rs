//! FolioDB, through the document crate.
//!
//! - Default options throughout: data in JSON Lines, a block cache of up to
//!   64 MiB, durable at the end of a batch. `every_put` for durable puts.
//! - The bulk load is one atomic batch, whose commit syncs, so the time of the
//!   sync is inside `write`.
//! - Values and lines are validated as they are for any caller, except where a
//!   row says `trusted`.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use folio_bench_report::OURS;
use folio_document::{Collection, CollectionOptions, Documents, Durability, EncodedLine, Scan};
use folio_file::{DiskFileSystem, FileSystem, WriterLock};

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, Tally, missing};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: OURS,
    package: "folio-document",
    settings: "defaults; block cache up to 64 MiB; bulk load in one atomic batch",
    bulk_durability: "fdatasync at the batch's commit",
    put_durability: "every_put: fdatasync shared by concurrent writers",
    create: create::<Folio>,
    open: open::<Folio>,
    create_durable: |directory| Ok(Box::new(Folio::create_durable(directory)?)),
};

/// The collection in the suite's directory.
const COLLECTION: &str = "docs";

pub(super) struct Folio {
    collection: Collection,
}

/// Opens the collection of a database directory.
fn open_with(directory: &Path, durability: Durability) -> Result<Folio> {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), directory.join("folio.lock")));
    let options = CollectionOptions { durability, ..CollectionOptions::default() };
    Ok(Folio { collection: Collection::open(files, directory, COLLECTION, &options, lock)? })
}

impl Folio {
    pub(super) fn create_durable(directory: &Path) -> Result<Self> {
        open_with(directory, Durability::EveryPut)
    }
}

impl Store for Folio {
    fn create(directory: &Path) -> Result<Self> {
        open_with(directory, Durability::OnFlush)
    }

    fn open(directory: &Path) -> Result<Self> {
        open_with(directory, Durability::OnFlush)
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut batch = self.collection.batch()?;
        let mut lines = records.iter().map(|record| record.line.as_bytes());
        match form {
            Form::Values => {
                batch.put_many(records.iter().map(|record| (&*record.id, &record.value)))?;
            }
            Form::Lines => lines.try_for_each(|line| batch.put_line(line))?,
            Form::TrustedLines => {
                lines.try_for_each(|line| batch.put_encoded(EncodedLine::trust(line)?))?
            }
        }
        batch.commit()?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.collection.flush()?;
        Ok(())
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut documents = self.collection.scan(Scan::new())?;
        while let Some(line) = documents.next_line()? {
            visit(line);
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut line = Vec::new();
        for id in ids {
            if !self.collection.get_raw(id, &mut line)? {
                return Err(missing("FolioDB", id));
            }
            visit(&line);
        }
        Ok(())
    }

    fn get_together(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Option<Result<()>> {
        let found = match self.collection.get_many(ids) {
            Ok(found) => found,
            Err(error) => return Some(Err(error.into())),
        };
        for (id, line) in ids.iter().zip(found.lines()) {
            match line {
                Some(line) => visit(line),
                None => return Some(Err(missing("FolioDB", id))),
            }
        }
        Some(Ok(()))
    }

    fn scan_in_parts(
        &self,
        visit: impl Fn(&[u8], &mut Tally) -> Result<()> + Sync,
    ) -> Option<Result<Tally>> {
        Some(scan_parts(&self.collection, &visit))
    }

    fn scan_native(&self) -> Option<Result<Tally>> {
        Some(scan_values(&self.collection))
    }
}

/// A part of the scan for each core.
fn scan_parts(
    collection: &Collection,
    visit: &(impl Fn(&[u8], &mut Tally) -> Result<()> + Sync),
) -> Result<Tally> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let parts = collection.scan_parts(&Scan::new(), cores)?;
    thread::scope(|scope| {
        let read = |mut part: Documents| -> Result<Tally> {
            let mut tally = Tally::default();
            while let Some(line) = part.next_line()? {
                visit(line, &mut tally)?;
            }
            Ok(tally)
        };
        let threads: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || read(part))).collect();
        let mut tally = Tally::default();
        for thread in threads {
            tally.merge(thread.join().map_err(|_| "a part of the scan panicked")??);
        }
        Ok(tally)
    })
}

/// Every document as its own type, asked for its value.
fn scan_values(collection: &Collection) -> Result<Tally> {
    let mut tally = Tally::default();
    for document in collection.scan(Scan::new())? {
        let document = document?;
        let value = document.to_value()?;
        if value["age"].as_u64().is_none() {
            return Err("a document came back without its age".into());
        }
        black_box(value);
        tally.add(document.raw().as_bytes());
    }
    Ok(tally)
}

impl DurableStore for Folio {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Writer(self.collection.clone())))
    }
}

struct Writer(Collection);

impl DurableWriter for Writer {
    fn put(&mut self, record: &Record) -> Result<()> {
        self.0.put_raw(&record.id, &record.line)?;
        Ok(())
    }
}
