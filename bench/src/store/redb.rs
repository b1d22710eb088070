//! redb.
//!
//! - One table from string keys to byte values, which redb hands out without copying.
//! - The bulk load is one write transaction; its default durability syncs at
//!   commit, so the time of the sync is inside `write`.
//! - The cache keeps its default of 1 GiB.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, missing, serialize};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: "redb",
    package: "redb",
    settings: "one transaction, cache of 1 GiB (default)",
    bulk_durability: "Durability::Immediate: fsync at commit",
    put_durability: "Durability::Immediate: fsync at each commit",
    create: create::<Redb>,
    open: open::<Redb>,
    create_durable: |directory| Ok(Box::new(Redb::create(directory)?)),
};

const FILE: &str = "docs.redb";
const DOCUMENTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("docs");

pub(super) struct Redb {
    database: Database,
}

impl Store for Redb {
    fn create(directory: &Path) -> Result<Self> {
        Ok(Self { database: Database::create(directory.join(FILE))? })
    }

    fn open(directory: &Path) -> Result<Self> {
        Ok(Self { database: Database::open(directory.join(FILE))? })
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut buffer = Vec::new();
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(DOCUMENTS)?;
            for record in records {
                table.insert(record.id.as_str(), serialize(record, form, &mut buffer)?)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(()) // the commit has synced
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let table = self.database.begin_read()?.open_table(DOCUMENTS)?;
        for pair in table.iter()? {
            visit(pair?.1.value());
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        let table = self.database.begin_read()?.open_table(DOCUMENTS)?;
        for id in ids {
            let document = table.get(id.as_str())?;
            visit(document.ok_or_else(|| missing("redb", id))?.value());
        }
        Ok(())
    }
}

impl DurableStore for Redb {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Writer(&self.database)))
    }
}

struct Writer<'d>(&'d Database);

impl DurableWriter for Writer<'_> {
    fn put(&mut self, record: &Record) -> Result<()> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(DOCUMENTS)?.insert(record.id.as_str(), record.line.as_bytes())?;
        transaction.commit()?;
        Ok(())
    }
}
