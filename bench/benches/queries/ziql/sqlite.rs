//! SQLite: prepared statements in, the same JSON out.
//!
//! Settings as its documentation advises: a log, `synchronous = normal`, a page cache
//! that holds all of it. Ids are numbers, as its tables want them. JSON is written here
//! from the columns of each row by the escaper of `serde_json`: measured to be cheaper
//! than letting `json_object` make it and copying the text out.

use std::path::{Path, PathBuf};

use folio_bench::Result;
use rusqlite::{Connection, Row, params};

use super::data::{CATEGORIES, Data, ITEMS};
use super::{Answer, Engine, Question};

const SCHEMA: &str = "
    CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL,
        category INTEGER REFERENCES category);
    CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL,
        age INTEGER NOT NULL, address TEXT NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, at TEXT NOT NULL, user INTEGER REFERENCES user);
    CREATE INDEX orders_of_user ON orders (user);
    CREATE TABLE order_item (orders INTEGER, position INTEGER, item INTEGER REFERENCES item,
        quantity INTEGER NOT NULL, PRIMARY KEY (orders, position)) WITHOUT ROWID;
    CREATE INDEX orders_of_item ON order_item (item);";

const ORDERS: &str = "
    SELECT o.id, o.at, u.id, u.name, u.email, u.age, u.address, i.id, i.name, i.price, l.quantity
    FROM orders o LEFT JOIN user u ON u.id = o.user
    LEFT JOIN order_item l ON l.orders = o.id LEFT JOIN item i ON i.id = l.item
    ORDER BY o.id, l.position";

/// A database.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn create(directory: &Path) -> Result<Box<dyn Engine>> {
        let sqlite = Self::open(directory.join("sqlite.db"))?;
        sqlite.connection.execute_batch(SCHEMA)?;
        Ok(Box::new(sqlite))
    }

    fn open(path: PathBuf) -> Result<Self> {
        let connection = Connection::open(&path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -1_000_000)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(Self { path, connection })
    }
}

impl Engine for Sqlite {
    fn load(&mut self, data: &Data) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for name in CATEGORIES {
            transaction.execute("INSERT INTO category (name) VALUES (?)", [name])?;
        }
        for (index, name) in ITEMS.iter().enumerate() {
            let category = (index % CATEGORIES.len() + 1) as i64;
            let item = params![name, index as f64 + 0.5, category];
            transaction
                .execute("INSERT INTO item (name, price, category) VALUES (?, ?, ?)", item)?;
        }
        {
            let text = "INSERT INTO user (name, email, age, address) VALUES (?, ?, ?, ?)";
            let mut insert = transaction.prepare(text)?;
            for user in &data.users {
                insert.execute(params![user.name, user.email, user.age, user.address])?;
            }
            let text = "INSERT INTO orders (at, user) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ'), ?)";
            let mut insert = transaction.prepare(text)?;
            let mut insert_item =
                transaction.prepare("INSERT INTO order_item VALUES (?, ?, ?, ?)")?;
            for (number, order) in data.orders.iter().enumerate() {
                insert.execute([order.user as i64 + 1])?;
                for (position, (item, quantity)) in order.items.iter().enumerate() {
                    let link = [number as i64 + 1, position as i64, *item as i64 + 1, *quantity];
                    insert_item.execute(link)?;
                }
            }
        }
        transaction.commit()?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn ask(&mut self, question: Question) -> Result<Answer> {
        let text = match question {
            Question::All => "SELECT id, name, email, age, address FROM user",
            Question::NoMatch => {
                "SELECT id, name, email, age, address FROM user WHERE name = 'asd'"
            }
            Question::One => "SELECT id, name, email, age, address FROM user LIMIT 1",
            Question::Name => "SELECT name FROM user",
            Question::Fifth => {
                "SELECT id, name, email, age, address FROM user WHERE name = 'Charlie'"
            }
            Question::Sixth => "SELECT id, name, email, age, address FROM user WHERE age = 32",
            Question::Orders => return self.orders(),
            Question::Delete => "DELETE FROM user RETURNING id",
        };
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query([])?;
        let (mut answer, mut json) = (Answer::default(), Vec::from(b"["));
        while let Some(row) = rows.next()? {
            json.extend(if answer.row_count > 0 { &b","[..] } else { b"" });
            match question {
                Question::Name => {
                    json.extend(b"{\"name\":");
                    text_of(row, 0, &mut json)?;
                    json.push(b'}');
                }
                Question::Delete => {
                    json.extend(b"{\"id\":");
                    serde_json::to_writer(&mut json, &row.get::<_, i64>(0)?)?;
                    json.push(b'}');
                }
                _ => user(row, 0, &mut json)?,
            }
            answer.row_count += 1;
            answer.flush(&mut json, false);
        }
        answer.flush(&mut json, true);
        Ok(answer)
    }

    fn copy(&mut self, directory: &Path) -> Result<Box<dyn Engine>> {
        let path = directory.join("sqlite.db");
        self.connection.execute("VACUUM INTO ?", [path.to_string_lossy()])?;
        Ok(Box::new(Self::open(path)?))
    }

    fn close(self: Box<Self>) -> Result<u64> {
        let Self { path, connection } = *self;
        connection.close().map_err(|(_, error)| error)?;
        Ok(std::fs::metadata(path)?.len())
    }
}

impl Sqlite {
    /// Orders with their user, items and quantities: rows of a join put together.
    fn orders(&mut self) -> Result<Answer> {
        let mut statement = self.connection.prepare_cached(ORDERS)?;
        let mut rows = statement.query([])?;
        let (mut answer, mut json) = (Answer::default(), Vec::from(b"["));
        let (mut last, mut quantities, mut at) = (None, Vec::new(), String::new());
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if last != Some(id) {
                if last.is_some() {
                    end_of_order(&quantities, &at, &mut json)?;
                    json.push(b',');
                    answer.flush(&mut json, false);
                }
                (last, at) = (Some(id), row.get(1)?);
                quantities.clear();
                answer.row_count += 1;
                json.extend(b"{\"from\":");
                user(row, 2, &mut json)?;
                json.extend(b",\"items\":[");
            } else {
                json.push(b',');
            }
            json.extend(b"{\"id\":");
            serde_json::to_writer(&mut json, &row.get::<_, i64>(7)?)?;
            json.extend(b",\"name\":");
            text_of(row, 8, &mut json)?;
            json.extend(b",\"price\":");
            serde_json::to_writer(&mut json, &row.get::<_, f64>(9)?)?;
            json.push(b'}');
            quantities.push(row.get::<_, i64>(10)?);
        }
        if last.is_some() {
            end_of_order(&quantities, &at, &mut json)?;
        }
        answer.flush(&mut json, true);
        Ok(answer)
    }
}

fn end_of_order(quantities: &[i64], at: &str, json: &mut Vec<u8>) -> Result<()> {
    json.extend(b"],\"quantity\":");
    serde_json::to_writer(&mut *json, quantities)?;
    json.extend(b",\"at\":");
    serde_json::to_writer(&mut *json, at)?;
    json.push(b'}');
    Ok(())
}

fn user(row: &Row<'_>, at: usize, json: &mut Vec<u8>) -> Result<()> {
    json.extend(b"{\"id\":");
    serde_json::to_writer(&mut *json, &row.get::<_, i64>(at)?)?;
    for (offset, name) in [(1, "name"), (2, "email")] {
        json.extend(b",\"");
        json.extend(name.as_bytes());
        json.extend(b"\":");
        text_of(row, at + offset, json)?;
    }
    json.extend(b",\"age\":");
    serde_json::to_writer(&mut *json, &row.get::<_, i64>(at + 3)?)?;
    json.extend(b",\"address\":");
    text_of(row, at + 4, json)?;
    json.push(b'}');
    Ok(())
}

/// Text straight from SQLite's own memory.
fn text_of(row: &Row<'_>, at: usize, json: &mut Vec<u8>) -> Result<()> {
    Ok(serde_json::to_writer(json, row.get_ref(at)?.as_str()?)?)
}
