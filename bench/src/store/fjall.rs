//! fjall.
//!
//! - One keyspace with default options (LZ4 blocks).
//! - The bulk load is an ingestion, which fjall's documentation prefers over
//!   inserts for input that is sorted, as ours is; `persist(SyncAll)` ends it.
//! - The block cache is 64 MiB, the same budget as FolioDB's.
//! - A durable put is an insert followed by `persist(SyncData)`.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, missing, serialize};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: "fjall",
    package: "fjall",
    settings: "sorted ingestion, LZ4 (default), block cache of 64 MiB",
    bulk_durability: "tables synced at the end of the ingestion, then persist(SyncAll)",
    put_durability: "insert, then persist(SyncData)",
    create: create::<Fjall>,
    open: open::<Fjall>,
    create_durable: |directory| Ok(Box::new(Fjall::create(directory)?)),
};

pub(super) struct Fjall {
    database: Database,
    documents: Keyspace,
}

impl Store for Fjall {
    fn create(directory: &Path) -> Result<Self> {
        Self::open(directory)
    }

    fn open(directory: &Path) -> Result<Self> {
        let database = Database::builder(directory).cache_size(64 << 20).open()?;
        let documents = database.keyspace("docs", KeyspaceCreateOptions::default)?;
        Ok(Self { database, documents })
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut buffer = Vec::new();
        let mut ingestion = self.documents.start_ingestion()?;
        for record in records {
            ingestion.write(record.id.as_str(), serialize(record, form, &mut buffer)?)?;
        }
        ingestion.finish()?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.database.persist(PersistMode::SyncAll)?;
        Ok(())
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for guard in self.documents.iter() {
            visit(&guard.value()?);
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        for id in ids {
            let document = self.documents.get(id)?;
            visit(&document.ok_or_else(|| missing("fjall", id))?);
        }
        Ok(())
    }
}

impl DurableStore for Fjall {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Writer(self)))
    }
}

struct Writer<'d>(&'d Fjall);

impl DurableWriter for Writer<'_> {
    fn put(&mut self, record: &Record) -> Result<()> {
        self.0.documents.insert(record.id.as_str(), record.line.as_str())?;
        self.0.database.persist(PersistMode::SyncData)?;
        Ok(())
    }
}
