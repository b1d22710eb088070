//! sled 0.34, the last stable release (1.0 has been in alpha since 2023).
//!
//! - The default tree and default options.
//! - The bulk load inserts one by one: atomic batches of 1,000 were as fast,
//!   smaller and larger ones slower.
//! - `flush` is what sled has to make a load, or a put, durable. On Linux it ends
//!   in `sync_file_range`, which neither flushes the device's cache nor writes
//!   the file's metadata, so its rows are for less than the others promise.

use std::path::Path;

use sled::Db;

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, missing, serialize};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: "sled",
    package: "sled",
    settings: "defaults, cache of 1 GiB",
    bulk_durability: "flush (sync_file_range: the device is not told to flush)",
    put_durability: "insert, then flush (sync_file_range: the device is not told to flush)",
    create: create::<Sled>,
    open: open::<Sled>,
    create_durable: |directory| Ok(Box::new(Sled::create(directory)?)),
};

pub(super) struct Sled {
    database: Db,
}

impl Store for Sled {
    fn create(directory: &Path) -> Result<Self> {
        Self::open(directory)
    }

    fn open(directory: &Path) -> Result<Self> {
        Ok(Self { database: sled::Config::new().path(directory).open()? })
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut buffer = Vec::new();
        for record in records {
            self.database.insert(&record.id, serialize(record, form, &mut buffer)?)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.database.flush()?;
        Ok(())
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for pair in self.database.iter() {
            visit(&pair?.1);
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        for id in ids {
            visit(&self.database.get(id)?.ok_or_else(|| missing("sled", id))?);
        }
        Ok(())
    }
}

impl DurableStore for Sled {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Writer(&self.database)))
    }
}

struct Writer<'d>(&'d Db);

impl DurableWriter for Writer<'_> {
    fn put(&mut self, record: &Record) -> Result<()> {
        self.0.insert(&record.id, record.line.as_bytes())?;
        self.0.flush()?;
        Ok(())
    }
}
