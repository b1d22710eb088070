//! What each system must do, and how each does it.
//!
//! Both get the same rows as Rust values and give back the same; both keep their
//! statements prepared, have a page cache of the same size, and commit as the
//! table's heading says: `full` syncs the log at every commit, `normal` leaves that
//! to checkpoints.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Float64Array, Int64Array, StringArray};
use folio_bench::Result;
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Condition, Options, ScanOptions, Synchronous, Table, TableStore, Transaction};
use folio_types::{Column, ColumnType, Comparison, TableSchema, ValueRef};
use rusqlite::{CachedStatement, Connection, params};

use super::people::Person;

/// Page cache of either system, in bytes: the table of a million rows fits.
const CACHE_SIZE: usize = 512 << 20;

/// An open table.
pub(crate) trait Engine: Send {
    /// Another connection to the same table.
    fn again(&self) -> Result<Box<dyn Engine>>;
    /// Loads rows in key order into the empty table, in one transaction.
    fn load(&mut self, people: &[Person]) -> Result<()>;
    /// Does all of this in one transaction.
    fn transact(&mut self, changes: &[Change<'_>]) -> Result<()>;
    /// Does each of this in a transaction of its own.
    fn autocommit(&mut self, changes: &[Change<'_>]) -> Result<()>;
    /// Reads rows by key; returns the sum of their ages.
    fn read(&mut self, ids: &[i64]) -> Result<i64>;
    /// Counts rows with this name.
    fn count_name(&mut self, name: &str) -> Result<u64>;
    /// Reads every column of every row; returns a sum over them.
    fn read_all(&mut self) -> Result<f64>;
}

/// One change by key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'p> {
    Insert(&'p Person),
    Update(&'p Person),
    Delete(i64),
}

/// FolioDB's tables.
pub(crate) struct Folio {
    store: TableStore,
}

impl Folio {
    pub(crate) fn create(directory: &Path, full: bool) -> Result<Box<dyn Engine>> {
        let synchronous = if full { Synchronous::Full } else { Synchronous::Normal };
        let options = Options { synchronous, pool_size: CACHE_SIZE, ..Options::default() };
        let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
        let store = TableStore::open(&files, directory, options)?;
        let columns = vec![
            Column::required("id", ColumnType::Int64),
            Column::required("name", ColumnType::Text),
            Column::required("email", ColumnType::Text),
            Column::required("age", ColumnType::Int64),
            Column::required("score", ColumnType::Float64),
            Column::required("active", ColumnType::Boolean),
            Column::required("city", ColumnType::Text),
            Column::required("created", ColumnType::Timestamp { utc: true }),
            Column::optional("note", ColumnType::Text),
        ];
        let mut transaction = store.begin()?;
        transaction.create_table(&TableSchema::new("people", columns, vec![0]))?;
        transaction.commit()?;
        Ok(Box::new(Self { store }))
    }
}

fn row(person: &Person) -> [ValueRef<'_>; 9] {
    [
        ValueRef::Integer(person.id),
        ValueRef::Text(&person.name),
        ValueRef::Text(&person.email),
        ValueRef::Integer(person.age),
        ValueRef::Float(person.score),
        ValueRef::Boolean(person.active),
        ValueRef::Text(&person.city),
        ValueRef::Timestamp(person.created),
        ValueRef::Text(&person.note),
    ]
}

fn apply(transaction: &mut Transaction, table: &Arc<Table>, change: Change<'_>) -> Result<()> {
    match change {
        Change::Insert(person) => drop(transaction.insert(table, &row(person))?),
        Change::Update(person) => {
            let key = [ValueRef::Integer(person.id)];
            assert!(transaction.update(table, &key, &row(person))?, "the row is there");
        }
        Change::Delete(id) => {
            assert!(transaction.delete(table, &[ValueRef::Integer(id)])?, "the row is there");
        }
    }
    Ok(())
}

impl Engine for Folio {
    fn again(&self) -> Result<Box<dyn Engine>> {
        Ok(Box::new(Self { store: self.store.clone() }))
    }

    fn load(&mut self, people: &[Person]) -> Result<()> {
        let mut transaction = self.store.begin()?;
        let table = transaction.table("people")?;
        let mut load = transaction.load(&table)?;
        for person in people {
            load.push(&row(person))?;
        }
        load.finish()?;
        Ok(transaction.commit()?)
    }

    fn transact(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let mut transaction = self.store.begin()?;
        let table = transaction.table("people")?;
        changes.iter().try_for_each(|change| apply(&mut transaction, &table, *change))?;
        Ok(transaction.commit()?)
    }

    fn autocommit(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let table = self.store.snapshot().table("people")?;
        for change in changes {
            let mut transaction = self.store.begin()?;
            apply(&mut transaction, &table, *change)?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn read(&mut self, ids: &[i64]) -> Result<i64> {
        let table = self.store.snapshot().table("people")?;
        let mut sum = 0;
        for &id in ids {
            // Each read is a transaction of its own, as a SELECT outside of one is.
            let snapshot = self.store.snapshot();
            let row = snapshot.get(&table, &[ValueRef::Integer(id)])?.ok_or("no such row")?;
            let folio_types::Value::Integer(age) = row.get(3)? else { return Err("no age".into()) };
            sum += age + row.bytes(1).map_or(0, <[u8]>::len) as i64;
        }
        Ok(sum)
    }

    fn count_name(&mut self, name: &str) -> Result<u64> {
        let snapshot = self.store.snapshot();
        let table = snapshot.table("people")?;
        let condition =
            Condition { column: 1, comparison: Comparison::Equal, value: ValueRef::Text(name) };
        let options = ScanOptions {
            projection: Some(&[]),
            conditions: &[condition],
            ..ScanOptions::default()
        };
        let mut count = 0;
        for batch in snapshot.scan(&table, &options)? {
            count += batch?.num_rows() as u64;
        }
        Ok(count)
    }

    fn read_all(&mut self) -> Result<f64> {
        let snapshot = self.store.snapshot();
        let table = snapshot.table("people")?;
        let mut sum = 0.0;
        for batch in snapshot.scan(&table, &ScanOptions::default())? {
            let batch = batch?;
            let ages: &Int64Array = batch.column(3).as_any().downcast_ref().ok_or("no ages")?;
            let scores: &Float64Array =
                batch.column(4).as_any().downcast_ref().ok_or("no scores")?;
            sum += scores.values().iter().sum::<f64>() + ages.values().iter().sum::<i64>() as f64;
            for column in [1, 2, 6, 8] {
                let texts: &StringArray =
                    batch.column(column).as_any().downcast_ref().ok_or("no text")?;
                sum += texts.value_data().len() as f64;
            }
        }
        Ok(sum)
    }
}

/// SQLite, as its documentation advises: WAL, prepared statements.
pub(crate) struct Sqlite {
    connection: Connection,
    path: std::path::PathBuf,
    full: bool,
}

impl Sqlite {
    pub(crate) fn create(directory: &Path, full: bool) -> Result<Box<dyn Engine>> {
        let path = directory.join("people.sqlite");
        let connection = connect(&path, full)?;
        connection.execute_batch(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, \
             age INTEGER NOT NULL, score REAL NOT NULL, active INTEGER NOT NULL, \
             city TEXT NOT NULL, created INTEGER NOT NULL, note TEXT)",
        )?;
        Ok(Box::new(Self { connection, path, full }))
    }
}

fn connect(path: &Path, full: bool) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", if full { "FULL" } else { "NORMAL" })?;
    connection.pragma_update(None, "cache_size", -((CACHE_SIZE / 1024) as i64))?;
    Ok(connection)
}

fn apply_sqlite(statements: &mut [CachedStatement<'_>; 3], change: Change<'_>) -> Result<()> {
    let [insert, update, delete] = statements;
    let count = match change {
        Change::Insert(p) => insert.execute(params![
            p.id, p.name, p.email, p.age, p.score, p.active, p.city, p.created, p.note
        ])?,
        Change::Update(p) => update.execute(params![
            p.id, p.name, p.email, p.age, p.score, p.active, p.city, p.created, p.note
        ])?,
        Change::Delete(id) => delete.execute([id])?,
    };
    assert_eq!(count, 1, "one row changes");
    Ok(())
}

fn statements(connection: &Connection) -> Result<[CachedStatement<'_>; 3]> {
    Ok([
        connection.prepare_cached("INSERT INTO people VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)")?,
        connection.prepare_cached(
            "UPDATE people SET name=?2, email=?3, age=?4, score=?5, active=?6, city=?7, \
             created=?8, note=?9 WHERE id=?1",
        )?,
        connection.prepare_cached("DELETE FROM people WHERE id=?1")?,
    ])
}

impl Engine for Sqlite {
    fn again(&self) -> Result<Box<dyn Engine>> {
        let connection = connect(&self.path, self.full)?;
        Ok(Box::new(Self { connection, path: self.path.clone(), full: self.full }))
    }

    fn load(&mut self, people: &[Person]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let mut statements = statements(&transaction)?;
        people
            .iter()
            .try_for_each(|person| apply_sqlite(&mut statements, Change::Insert(person)))?;
        drop(statements);
        Ok(transaction.commit()?)
    }

    fn transact(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let mut statements = statements(&transaction)?;
        changes.iter().try_for_each(|change| apply_sqlite(&mut statements, *change))?;
        drop(statements);
        Ok(transaction.commit()?)
    }

    fn autocommit(&mut self, changes: &[Change<'_>]) -> Result<()> {
        let mut statements = statements(&self.connection)?;
        changes.iter().try_for_each(|change| apply_sqlite(&mut statements, *change))
    }

    fn read(&mut self, ids: &[i64]) -> Result<i64> {
        let mut statement = self.connection.prepare_cached("SELECT * FROM people WHERE id=?1")?;
        let mut sum = 0;
        for id in ids {
            sum += statement.query_row([id], |row| {
                Ok(row.get::<_, i64>(3)? + row.get_ref(1)?.as_str()?.len() as i64)
            })?;
        }
        Ok(sum)
    }

    fn count_name(&mut self, name: &str) -> Result<u64> {
        let mut statement =
            self.connection.prepare_cached("SELECT count(*) FROM people WHERE name=?1")?;
        Ok(statement.query_row([name], |row| row.get::<_, i64>(0))? as u64)
    }

    fn read_all(&mut self) -> Result<f64> {
        let mut statement = self.connection.prepare_cached("SELECT * FROM people")?;
        let mut rows = statement.query([])?;
        let mut sum = 0.0;
        while let Some(row) = rows.next()? {
            sum += row.get::<_, f64>(4)? + row.get::<_, i64>(3)? as f64;
            for column in [1, 2, 6, 8] {
                sum += row.get_ref(column)?.as_str()?.len() as f64;
            }
        }
        Ok(sum)
    }
}
