//! What each system must do, and how each does it.
//!
//! Both get the same rows as Rust values and the same statements as text, keep
//! their statements prepared, have a page cache of the same size, and read every
//! value of every row they answer. Whoever wants parameters as values of its own
//! makes them inside of the timer.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use facade::{Database, OpenOptions, Session, Synchronous, Value};
use folio_bench::Result;
use folio_bench::contest::Stopwatch;
use folio_bench::results::Sample;
use rusqlite::{Connection, params, params_from_iter};

use super::person::Person;

/// Page cache of either system, in bytes: the table of a million rows fits.
const CACHE_SIZE: usize = 512 << 20;

pub(crate) const TABLE: &str = "CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT, \
    email TEXT, age INT, score DOUBLE PRECISION, active BOOLEAN, city TEXT, visits BIGINT, \
    note TEXT)";
const INSERT: &str = "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// How a statement is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// Prepared once.
    Prepared,
    /// As the same text with a parameter.
    SameText,
    /// As a text of its own each time.
    NewText,
}

/// A connection to the table of people.
pub(crate) trait Engine: Send {
    /// Another connection to the same table.
    fn again(&self) -> Result<Box<dyn Engine>>;
    /// Inserts rows, prepared: all in one transaction, or each in one of its own.
    fn insert(&mut self, people: &[Person], together: bool) -> Result<Sample>;
    /// Runs a change with `{}` for a key, prepared, for each of the keys, in one transaction.
    fn together(&mut self, text: &str, keys: &[i64]) -> Result<Sample>;
    /// Runs a statement with `{}` for a key, for each of the keys, or once where it
    /// takes none; returns how many rows were answered or changed.
    fn each(&mut self, text: &str, given: Given, keys: &[i64]) -> Result<u64>;
    /// Answers a query; returns how many rows.
    fn query(&mut self, text: &str) -> Result<u64>;
}

/// FolioDB.
pub(crate) struct Folio {
    database: Arc<Database>,
    session: Session,
}

impl Folio {
    pub(crate) fn create(directory: &Path, full: bool) -> Result<Box<dyn Engine>> {
        let synchronous = if full { Synchronous::Full } else { Synchronous::Normal };
        let options = OpenOptions { synchronous, pool_size: CACHE_SIZE, ..OpenOptions::default() };
        let database = Database::open_with(directory.join("data"), &options)?;
        let mut session = database.session()?;
        session.execute(TABLE, &[])?;
        Ok(Box::new(Self { database: Arc::new(database), session }))
    }

    fn drain(&mut self, text: &str, parameters: &[Value]) -> Result<u64> {
        count(self.session.execute(text, parameters)?)
    }
}

/// Reads an answer to its end: how many rows it has, or how many were changed.
fn count(answer: facade::Answer) -> Result<u64> {
    let Some(mut rows) = answer.rows else { return Ok(answer.count.unwrap_or(0)) };
    if let Some(row) = rows.take_row() {
        black_box(row);
        return Ok(1);
    }
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += black_box(&batch).row_count as u64;
    }
    Ok(count)
}

impl Engine for Folio {
    fn again(&self) -> Result<Box<dyn Engine>> {
        let session = self.database.session()?;
        Ok(Box::new(Self { database: Arc::clone(&self.database), session }))
    }

    fn insert(&mut self, people: &[Person], together: bool) -> Result<Sample> {
        let mut insert = self.session.prepare(INSERT)?;
        let mut watch = Stopwatch::start();
        if together {
            self.session.execute("BEGIN", &[])?;
        }
        for person in people {
            let values = [
                Value::Integer(person.id),
                Value::Text(person.name.clone()),
                Value::Text(person.email.clone()),
                Value::Integer(person.age),
                Value::Float(person.score),
                Value::Boolean(person.active),
                Value::Text(person.city.clone()),
                Value::Integer(person.visits),
                Value::Text(person.note.clone()),
            ];
            self.session.execute_prepared(&mut insert, &values)?;
        }
        watch.lap("statements");
        if together {
            self.session.execute("COMMIT", &[])?;
            watch.lap("commit");
        }
        Ok(watch.stop())
    }

    fn together(&mut self, text: &str, keys: &[i64]) -> Result<Sample> {
        let mut statement = self.session.prepare(&text.replace("{}", "?"))?;
        let mut watch = Stopwatch::start();
        self.session.execute("BEGIN", &[])?;
        for key in keys {
            let parameters = [Value::Integer(*key)];
            let answer = self.session.execute_prepared(&mut statement, &parameters)?;
            assert_eq!(answer.count, Some(1), "the row is there");
        }
        watch.lap("statements");
        self.session.execute("COMMIT", &[])?;
        watch.lap("commit");
        Ok(watch.stop())
    }

    fn each(&mut self, text: &str, given: Given, keys: &[i64]) -> Result<u64> {
        if keys.is_empty() {
            return self.drain(text, &[]);
        }
        let (same, width) = (text.replace("{}", "?"), text.matches("{}").count());
        let mut prepared = self.session.prepare(&same)?;
        let mut done = 0;
        for key in keys {
            let parameters = &[Value::Integer(*key)][..width];
            done += match given {
                Given::Prepared => {
                    count(self.session.execute_prepared(&mut prepared, parameters)?)?
                }
                Given::SameText => self.drain(&same, parameters)?,
                Given::NewText => self.drain(&text.replace("{}", &key.to_string()), &[])?,
            };
        }
        Ok(done)
    }

    fn query(&mut self, text: &str) -> Result<u64> {
        self.drain(text, &[])
    }
}

/// SQLite: a log (WAL), statements prepared; the same text again goes through the
/// cache of statements that rusqlite keeps.
pub(crate) struct Sqlite {
    path: PathBuf,
    full: bool,
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn create(directory: &Path, full: bool) -> Result<Box<dyn Engine>> {
        let engine = Self::open(directory.join("data.db"), full)?;
        engine.connection.execute_batch(TABLE)?;
        Ok(Box::new(engine))
    }

    fn open(path: PathBuf, full: bool) -> Result<Self> {
        let connection = Connection::open(&path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", if full { "full" } else { "normal" })?;
        connection.pragma_update(None, "cache_size", -((CACHE_SIZE >> 10) as i64))?;
        connection.busy_timeout(std::time::Duration::from_secs(60))?;
        Ok(Self { path, full, connection })
    }
}

/// Runs a statement and reads what it answers.
fn drain(statement: &mut rusqlite::Statement<'_>, keys: &[i64]) -> Result<u64> {
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(keys))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            black_box(row.get_ref(column)?);
        }
        count += 1;
    }
    Ok(count)
}

impl Engine for Sqlite {
    fn again(&self) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self::open(self.path.clone(), self.full)?))
    }

    fn insert(&mut self, people: &[Person], together: bool) -> Result<Sample> {
        let mut insert = self.connection.prepare(INSERT)?;
        let mut watch = Stopwatch::start();
        if together {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        for person in people {
            insert.execute(params![
                person.id,
                person.name,
                person.email,
                person.age,
                person.score,
                person.active,
                person.city,
                person.visits,
                person.note
            ])?;
        }
        watch.lap("statements");
        if together {
            self.connection.execute_batch("COMMIT")?;
            watch.lap("commit");
        }
        Ok(watch.stop())
    }

    fn together(&mut self, text: &str, keys: &[i64]) -> Result<Sample> {
        let mut statement = self.connection.prepare(&text.replace("{}", "?"))?;
        let mut watch = Stopwatch::start();
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        for key in keys {
            assert_eq!(statement.execute([key])?, 1, "the row is there");
        }
        watch.lap("statements");
        self.connection.execute_batch("COMMIT")?;
        watch.lap("commit");
        Ok(watch.stop())
    }

    fn each(&mut self, text: &str, given: Given, keys: &[i64]) -> Result<u64> {
        let connection = &self.connection;
        if keys.is_empty() {
            return drain(&mut connection.prepare(text)?, &[]);
        }
        let (same, width) = (text.replace("{}", "?"), text.matches("{}").count());
        let mut prepared = connection.prepare(&same)?;
        let is_query = prepared.column_count() > 0;
        let changes = connection.total_changes();
        let mut found = 0;
        for key in keys {
            let parameters = &[*key][..width];
            found += match given {
                Given::Prepared => drain(&mut prepared, parameters)?,
                Given::SameText => drain(&mut *connection.prepare_cached(&same)?, parameters)?,
                Given::NewText => {
                    let text = text.replace("{}", &key.to_string());
                    drain(&mut connection.prepare(&text)?, &[])?
                }
            };
        }
        Ok(if is_query { found } else { connection.total_changes() - changes })
    }

    fn query(&mut self, text: &str) -> Result<u64> {
        drain(&mut *self.connection.prepare_cached(text)?, &[])
    }
}
