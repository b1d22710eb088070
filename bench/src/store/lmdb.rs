//! LMDB through heed.
//!
//! - The unnamed database, keys and values as bytes.
//! - The bulk load is one transaction with `APPEND`, which LMDB's documentation
//!   advises for input that is sorted already, as ours is.
//! - Default flags: a commit syncs, so a load is durable when it is committed
//!   and the time of the sync is inside `write`.
//! - The map is 64 GiB of address space; the file grows only as it is filled.
//! - Reads give slices of the map, inside one read transaction.

use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, PutFlags};

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, missing, serialize};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: "LMDB",
    package: "heed",
    settings: "APPEND in one transaction, map of 64 GiB, default flags",
    bulk_durability: "fdatasync at commit",
    put_durability: "fdatasync at each commit",
    create: create::<Lmdb>,
    open: open::<Lmdb>,
    create_durable: |directory| Ok(Box::new(Lmdb::create(directory)?)),
};

const MAP_SIZE: usize = 64 << 30;

type Documents<'e> = Database<'e, Bytes, Bytes>;

pub(super) struct Lmdb {
    env: Env,
}

impl Lmdb {
    fn documents(&self) -> Result<Documents<'_>> {
        let transaction = self.env.read_txn()?;
        let opened = self.env.open_databases_and_commit(transaction, |opener, transaction| {
            opener.open_database(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
        })?;
        opened.unwrap_commit().ok_or_else(|| "LMDB has no unnamed database".into())
    }
}

impl Store for Lmdb {
    fn create(directory: &Path) -> Result<Self> {
        Self::open(directory)
    }

    #[allow(unsafe_code)]
    fn open(directory: &Path) -> Result<Self> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_SIZE);
        // SAFETY: the directory is the suite's own, on a local file system, and
        // nothing but LMDB ever touches the files in it.
        let env = unsafe { options.open(directory)? };
        Ok(Self { env })
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut buffer = Vec::new();
        let documents = self.documents()?;
        let mut transaction = self.env.write_txn()?;
        for record in records {
            let document = serialize(record, form, &mut buffer)?;
            let id = record.id.as_bytes();
            documents.put_with_flags(&mut transaction, PutFlags::APPEND, id, document)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(()) // the commit has synced
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let documents = self.documents()?;
        let transaction = self.env.read_txn()?;
        for pair in documents.iter(&transaction)? {
            visit(pair?.1);
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        let documents = self.documents()?;
        let transaction = self.env.read_txn()?;
        for id in ids {
            let document = documents.get(&transaction, id.as_bytes())?;
            visit(document.ok_or_else(|| missing("LMDB", id))?);
        }
        Ok(())
    }
}

impl DurableStore for Lmdb {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        Ok(Box::new(Writer { env: &self.env, documents: self.documents()? }))
    }
}

struct Writer<'e> {
    env: &'e Env,
    documents: Documents<'e>,
}

impl DurableWriter for Writer<'_> {
    fn put(&mut self, record: &Record) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        self.documents.put(&mut transaction, record.id.as_bytes(), record.line.as_bytes())?;
        transaction.commit()?;
        Ok(())
    }
}
