//! SQLite: a table of id and document, with two indexes on `json_extract`.
//!
//! Settings are those of the other suites (`src/store/sqlite.rs`), with the page cache as
//! large as FolioDB's block cache. Every statement is prepared and cached, except where a
//! row says `text`.

use std::path::Path;

use folio_bench::Result;
use folio_bench::contest::Stopwatch;
use folio_bench::record::Record;
use folio_bench::results::Sample;
use folio_bench::store::Tally;
use rusqlite::{Connection, Params, params};

const SCHEMA: &str =
    "CREATE TABLE people (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID";
const INDEXES: &str = "CREATE UNIQUE INDEX by_email ON people (json_extract(doc, '$.email'));
    CREATE INDEX by_rank ON people (json_extract(doc, '$.rank'));
    ANALYZE";
const INSERT: &str = "INSERT OR REPLACE INTO people (id, doc) VALUES (?1, ?2)";
const GET: &str = "SELECT doc FROM people WHERE id = ?1";
const BY_EMAIL: &str = "SELECT doc FROM people WHERE json_extract(doc, '$.email') = ?1";
const BY_RANK: &str = "SELECT doc FROM people \
    WHERE json_extract(doc, '$.rank') >= ?1 AND json_extract(doc, '$.rank') < ?2";
const BY_PATH: &str = "SELECT json_extract(doc, '$.email') FROM people \
    WHERE json_extract(doc, '$.metadata.source') <> '' LIMIT 1";

pub(crate) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let connection = Connection::open(directory.join("data.db"))?;
        connection.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536",
        )?;
        Ok(Self { connection })
    }

    /// Creates the table.
    pub(crate) fn create(directory: &Path) -> Result<Self> {
        let made = Self::open(directory)?;
        made.connection.execute_batch(SCHEMA)?;
        Ok(made)
    }

    pub(crate) fn index(&self) -> Result<()> {
        Ok(self.connection.execute_batch(INDEXES)?)
    }

    /// Puts documents as values in one transaction, durable at the end.
    pub(crate) fn put_many(&mut self, people: &[Record]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for record in people {
                insert.execute(params![record.id, serde_json::to_string(&record.value)?])?;
            }
        }
        transaction.commit()?;
        self.checkpoint()
    }

    /// Puts documents as lines, as quickly as that goes.
    pub(crate) fn fill(&mut self, people: impl Iterator<Item = Record>) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for record in people {
                insert.execute(params![record.id, record.line])?;
            }
        }
        transaction.commit()?;
        self.checkpoint()
    }

    pub(crate) fn checkpoint(&self) -> Result<()> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }

    pub(crate) fn put(&self, id: &str, value: &serde_json::Value) -> Result<()> {
        let text = serde_json::to_string(value)?;
        self.connection.prepare_cached(INSERT)?.execute(params![id, text])?;
        Ok(())
    }

    pub(crate) fn get(&self, id: &str, seen: &mut Tally) -> Result<()> {
        self.read(GET, params![id], seen)
    }

    pub(crate) fn by_email(&self, email: &str, seen: &mut Tally) -> Result<()> {
        self.read(BY_EMAIL, params![email], seen)
    }

    /// As a text of its own each time.
    pub(crate) fn by_email_text(&self, email: &str, seen: &mut Tally) -> Result<()> {
        let text = BY_EMAIL.replace("?1", &format!("'{email}'"));
        tally(&mut self.connection.prepare(&text)?, [], seen)
    }

    pub(crate) fn by_rank(&self, from: u64, to: u64, seen: &mut Tally) -> Result<()> {
        self.read(BY_RANK, params![from as i64, to as i64], seen)
    }

    pub(crate) fn by_path(&self, seen: &mut Tally) -> Result<()> {
        self.read(BY_PATH, [], seen)
    }

    fn read(&self, text: &str, parameters: impl Params, seen: &mut Tally) -> Result<()> {
        tally(&mut *self.connection.prepare_cached(text)?, parameters, seen)
    }
}

/// Opens, gets a document by id, closes.
pub(crate) fn open_and_get(directory: &Path, id: &str, seen: &mut Tally) -> Result<Sample> {
    let mut watch = Stopwatch::start();
    let store = Sqlite::open(directory)?;
    watch.lap("open");
    store.get(id, seen)?;
    watch.lap("lookup");
    drop(store);
    Ok(watch.closed())
}

/// Opens, and asks by a path that no index has, as far as the first document.
pub(crate) fn first_statement(directory: &Path, seen: &mut Tally) -> Result<Sample> {
    let mut watch = Stopwatch::start();
    let store = Sqlite::open(directory)?;
    watch.lap("open");
    store.by_path(seen)?;
    watch.lap("ask");
    Ok(watch.stop())
}

/// Adds up the texts of the first column.
fn tally(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl Params,
    seen: &mut Tally,
) -> Result<()> {
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        seen.add(row.get_ref(0)?.as_bytes()?);
    }
    Ok(())
}
