//! FolioDB: a collection with two indexes on fields, a session, and every way to ask.

use std::path::Path;

use arrow_array::cast::AsArray;
use facade::{
    Answer, Collection, ColumnType, Database, IndexOptions, OpenOptions, Parameters, Prepared,
    Scan, Session, Value,
};
use folio_bench::record::Record;
use folio_bench::store::Tally;
use folio_bench::{Result, contest::Stopwatch};
use serde_json::Value as Json;

/// The collection.
const NAME: &str = "people";

const BY_EMAIL: &str = "SELECT _doc FROM people WHERE email = ?";
const BY_RANK: &str = "SELECT _doc FROM people WHERE rank >= ? AND rank < ?";
/// By a path that no index has, as far as the first document.
const BY_PATH: &str = "SELECT email FROM people WHERE metadata.source <> '' LIMIT 1";

pub(crate) struct Folio {
    database: Database,
    collection: Collection,
    session: Session,
    by_email: Prepared,
    by_rank: Prepared,
    by_path: Prepared,
}

impl Folio {
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let database = Database::open_with(directory.join("data"), &OpenOptions::default())?;
        let collection = database.collection(NAME)?;
        let mut session = database.session()?;
        let by_email = session.prepare(BY_EMAIL)?;
        let by_rank = session.prepare(BY_RANK)?;
        let by_path = session.prepare(BY_PATH)?;
        Ok(Self { database, collection, session, by_email, by_rank, by_path })
    }

    /// Creates the two indexes.
    pub(crate) fn index(&self) -> Result<()> {
        let unique =
            IndexOptions { name: Some("by_email".into()), unique: true, ..Default::default() };
        self.collection.create_index(&["email"], &unique, &mut |_, _| true)?;
        let plain =
            IndexOptions { name: Some("by_rank".into()), unique: false, ..Default::default() };
        self.collection.create_index(&["rank"], &plain, &mut |_, _| true)?;
        Ok(())
    }

    pub(crate) fn close(self) -> Result<()> {
        drop((self.session, self.collection));
        Ok(self.database.close()?)
    }

    /// Puts documents as values, all or nothing and durable at the end.
    pub(crate) fn put_many(&self, people: &[Record]) -> Result<()> {
        self.collection.put_many(people.iter().map(|record| (&*record.id, &record.value)))?;
        self.collection.flush()?;
        Ok(())
    }

    /// Puts documents as lines, as quickly as that goes.
    pub(crate) fn fill(&self, people: impl Iterator<Item = Record>) -> Result<()> {
        let mut batch = self.collection.batch()?;
        for record in people {
            batch.put_line(record.line.as_bytes())?;
        }
        batch.commit()?;
        self.collection.flush()?;
        Ok(())
    }

    pub(crate) fn put(&self, id: &str, value: &Json) -> Result<()> {
        self.collection.put(id, value)?;
        Ok(())
    }

    pub(crate) fn get(&self, id: &str, seen: &mut Tally) -> Result<()> {
        let document = self.collection.get(id)?.ok_or("there is no such document")?;
        seen.add(document.raw().as_bytes());
        Ok(())
    }

    pub(crate) fn by_email(&mut self, email: &str, seen: &mut Tally) -> Result<()> {
        let values = [Value::Text(email.to_owned())];
        tally(self.session.execute_prepared(&mut self.by_email, &values)?, seen)
    }

    pub(crate) fn by_email_text(&mut self, email: &str, seen: &mut Tally) -> Result<()> {
        let text = BY_EMAIL.replace('?', &format!("'{email}'"));
        tally(self.session.execute(&text, &[])?, seen)
    }

    pub(crate) fn by_email_where(&self, email: &str, seen: &mut Tally) -> Result<()> {
        self.scan_where("email = ?", vec![Value::Text(email.to_owned())], seen)
    }

    pub(crate) fn by_rank(&mut self, from: u64, to: u64, seen: &mut Tally) -> Result<()> {
        let values = [Value::Integer(from as i64), Value::Integer(to as i64)];
        tally(self.session.execute_prepared(&mut self.by_rank, &values)?, seen)
    }

    pub(crate) fn by_rank_where(&self, from: u64, to: u64, seen: &mut Tally) -> Result<()> {
        let values = [from, to].map(|value| Value::Integer(value as i64));
        self.scan_where("rank >= ? and rank < ?", values.to_vec(), seen)
    }

    /// The first document that a condition on an unindexed path meets.
    pub(crate) fn by_path(&mut self, seen: &mut Tally) -> Result<()> {
        tally(self.session.execute_prepared(&mut self.by_path, &[])?, seen)
    }

    fn scan_where(&self, condition: &str, values: Vec<Value>, seen: &mut Tally) -> Result<()> {
        let mut parameters = Parameters::default();
        for value in values {
            let column_type = match value {
                Value::Integer(_) => ColumnType::Int64,
                _ => ColumnType::Text,
            };
            parameters.push(value, Some(column_type));
        }
        let mut documents = self.collection.scan_where(condition, &parameters, Scan::new())?;
        while let Some(line) = documents.next_line()? {
            seen.add(line);
        }
        Ok(())
    }
}

/// Opens, gets a document by id, closes.
pub(crate) fn open_and_get(
    directory: &Path,
    id: &str,
    seen: &mut Tally,
) -> Result<folio_bench::results::Sample> {
    let mut watch = Stopwatch::start();
    let database = Database::open_with(directory.join("data"), &OpenOptions::default())?;
    let collection = database.collection(NAME)?;
    watch.lap("open");
    let document = collection.get(id)?.ok_or("there is no such document")?;
    seen.add(document.raw().as_bytes());
    watch.lap("lookup");
    drop(collection);
    database.close()?;
    Ok(watch.closed())
}

/// Opens, and asks by a path that no index has, as far as the first document.
pub(crate) fn first_statement(
    directory: &Path,
    seen: &mut Tally,
) -> Result<folio_bench::results::Sample> {
    let mut watch = Stopwatch::start();
    let database = Database::open_with(directory.join("data"), &OpenOptions::default())?;
    let mut session = database.session()?;
    watch.lap("open");
    tally(session.execute(BY_PATH, &[])?, seen)?;
    watch.lap("ask");
    Ok(watch.stop())
}

/// Adds up the texts of the first column.
fn tally(answer: Answer, seen: &mut Tally) -> Result<()> {
    let mut rows = answer.rows.ok_or("a query answers rows")?;
    if let Some(row) = rows.take_row() {
        if let Some(Value::Text(text)) = row.first() {
            seen.add(text.as_bytes());
        }
        return Ok(());
    }
    while let Some(batch) = rows.next_batch()? {
        let texts = batch.columns[0].as_string_opt::<i32>().ok_or("the column is text")?;
        texts.iter().flatten().for_each(|text| seen.add(text.as_bytes()));
    }
    Ok(())
}
