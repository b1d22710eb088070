//! SQLite through rusqlite, bundled.
//!
//! - One table `docs (id TEXT PRIMARY KEY, doc TEXT)`, WITHOUT ROWID: SQLite's
//!   documentation advises it for keys that are not integers and rows of up to
//!   about a twentieth of a page. Measured here against an ordinary table, it
//!   gets a quarter faster, loads as fast, is smaller, and scans as fast.
//! - Write-ahead log with `synchronous=NORMAL` for the bulk load, as its
//!   documentation advises, in one transaction with one prepared statement. The
//!   checkpoint in [`Store::sync`] makes the load durable.
//! - `synchronous=FULL` for durable puts: in this mode every commit syncs the log.
//! - It takes part twice: as it comes, with its page cache of 2 MB, and with one
//!   of 64 MiB, the budget of FolioDB's block cache. Mapping the file as well
//!   (`mmap_size`) made lookups a fifth faster and scans a tenth slower.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};

use super::roster::{create, open};
use super::{DurableStore, DurableWriter, Form, Store, System, missing, serialize};
use crate::Result;
use crate::record::Record;

/// How it takes part.
pub(super) const SYSTEM: System = System {
    name: "SQLite",
    package: "rusqlite",
    settings: "WAL, WITHOUT ROWID, prepared, one transaction; page cache of 2 MB (default)",
    bulk_durability: "WAL, synchronous=NORMAL, then a checkpoint",
    put_durability: "WAL, synchronous=FULL: fsync of the log at each commit",
    create: create::<Sqlite>,
    open: open::<Sqlite>,
    create_durable: |directory| Ok(Box::new(DurableSqlite::create(directory)?)),
};

/// How it takes part with the larger cache.
pub(super) const CACHED_SYSTEM: System = System {
    name: "SQLite (64 MiB cache)",
    package: "rusqlite",
    settings: "the same with a page cache of 64 MiB",
    bulk_durability: "WAL, synchronous=NORMAL, then a checkpoint",
    put_durability: "WAL, synchronous=FULL: fsync of the log at each commit",
    create: create::<CachedSqlite>,
    open: open::<CachedSqlite>,
    create_durable: |directory| Ok(Box::new(DurableSqlite::create(directory)?)),
};

const FILE: &str = "docs.sqlite";
const SCHEMA: &str =
    "CREATE TABLE docs (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID";
const INSERT: &str = "INSERT INTO docs (id, doc) VALUES (?1, ?2)";

/// SQLite with the page cache it comes with.
pub(super) struct Sqlite {
    connection: Connection,
}

/// SQLite with a page cache as large as FolioDB's block cache.
pub(super) struct CachedSqlite(Sqlite);

fn connect(directory: &Path, synchronous: &str) -> Result<Connection> {
    let connection = Connection::open_with_flags(
        directory.join(FILE),
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(30))?;
    connection
        .execute_batch(&format!("PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};"))?;
    Ok(connection)
}

impl Store for Sqlite {
    fn create(directory: &Path) -> Result<Self> {
        let connection = connect(directory, "NORMAL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection })
    }

    fn open(directory: &Path) -> Result<Self> {
        Ok(Self { connection: connect(directory, "NORMAL")? })
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        let mut buffer = Vec::new();
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare(INSERT)?;
            for record in records {
                let document = serialize(record, form, &mut buffer)?;
                insert.execute(params![record.id, std::str::from_utf8(document)?])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn scan(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut select = self.connection.prepare("SELECT doc FROM docs")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            visit(row.get_ref(0)?.as_bytes()?);
        }
        Ok(())
    }

    fn get_each(&self, ids: &[String], mut visit: impl FnMut(&[u8])) -> Result<()> {
        // One read transaction, so that the lock is not taken per statement.
        let transaction = self.connection.unchecked_transaction()?;
        {
            let mut select = transaction.prepare("SELECT doc FROM docs WHERE id = ?1")?;
            for id in ids {
                let mut rows = select.query(params![id])?;
                let row = rows.next()?.ok_or_else(|| missing("SQLite", id))?;
                visit(row.get_ref(0)?.as_bytes()?);
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

impl CachedSqlite {
    fn cached(store: Sqlite) -> Result<Self> {
        store.connection.execute_batch("PRAGMA cache_size=-65536")?; // in KiB
        Ok(Self(store))
    }
}

impl Store for CachedSqlite {
    fn create(directory: &Path) -> Result<Self> {
        Self::cached(Sqlite::create(directory)?)
    }

    fn open(directory: &Path) -> Result<Self> {
        Self::cached(Sqlite::open(directory)?)
    }

    fn write(&mut self, records: &[Record], form: Form) -> Result<()> {
        Store::write(&mut self.0, records, form)
    }

    fn sync(&mut self) -> Result<()> {
        Store::sync(&mut self.0)
    }

    fn scan(&self, visit: impl FnMut(&[u8])) -> Result<()> {
        self.0.scan(visit)
    }

    fn get_each(&self, ids: &[String], visit: impl FnMut(&[u8])) -> Result<()> {
        self.0.get_each(ids, visit)
    }
}

pub(super) struct DurableSqlite {
    directory: PathBuf,
}

impl DurableSqlite {
    pub(super) fn create(directory: &Path) -> Result<Self> {
        connect(directory, "FULL")?.execute_batch(SCHEMA)?;
        Ok(Self { directory: directory.to_owned() })
    }
}

impl DurableStore for DurableSqlite {
    fn writer(&self) -> Result<Box<dyn DurableWriter + '_>> {
        let connection = connect(&self.directory, "FULL")?;
        connection.prepare_cached(INSERT)?;
        Ok(Box::new(Sqlite { connection }))
    }
}

impl DurableWriter for Sqlite {
    fn put(&mut self, record: &Record) -> Result<()> {
        self.connection.prepare_cached(INSERT)?.execute(params![record.id, record.line])?;
        Ok(())
    }
}
