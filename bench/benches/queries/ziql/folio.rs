//! FolioDB: ZiQL texts in, JSON out.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use facade::{Database, OpenOptions, Session, Synchronous, Value};
use folio_bench::Result;

use super::data::{CATEGORIES, Data, ITEMS, Order, User};
use super::{Answer, Engine, Question};

/// Users per statement.
const CHUNK: usize = 5_000;

/// Bytes of a user's tuple, more or less.
const USER_SIZE: usize = 96;

/// As large as the cache that SQLite is given: ten million users fit.
const POOL_SIZE: usize = 1 << 30;

const SCHEMA: &str = "
    User ( name: str, email: str, age: int, address: str )
    Order ( items: []Item, quantity: []int, at: datetime = NOW, from: User )
    Item ( name: str, price: float, category: Category )
    Category ( name: str )";

/// A database and a session on it.
pub(crate) struct Folio {
    path: PathBuf,
    // Dropped before the database it belongs to.
    session: Session,
    database: Database,
}

impl Folio {
    pub(crate) fn create(directory: &Path) -> Result<Box<dyn Engine>> {
        let folio = Self::open(directory.join("folio"))?;
        folio.database.apply_schema(SCHEMA, false)?;
        Ok(Box::new(folio))
    }

    fn open(path: PathBuf) -> Result<Self> {
        let options = OpenOptions {
            synchronous: Synchronous::Normal,
            pool_size: POOL_SIZE,
            ..OpenOptions::default()
        };
        let database = Database::open_with(&path, &options)?;
        let mut session = database.session()?;
        session.set_threads(1);
        Ok(Self { path, session, database })
    }

    /// The ids of the entities that a statement adds.
    fn ids(&mut self, text: &str, parameters: &[(&str, Value)]) -> Result<Vec<[u8; 16]>> {
        let mut rows = self.session.ziql(text, parameters)?;
        let mut ids = Vec::new();
        while let Some(batch) = rows.next_batch()? {
            let column = batch.columns[0].as_fixed_size_binary();
            let id = |bytes: Option<&[u8]>| bytes?.first_chunk().copied();
            ids.extend(column.iter().map(|bytes| id(bytes).expect("an id is 16 bytes")));
        }
        Ok(ids)
    }
}

impl Engine for Folio {
    fn load(&mut self, data: &Data) -> Result<()> {
        self.session.execute("BEGIN", &[])?;
        for name in CATEGORIES {
            let name = ("name", Value::from(name));
            self.session.ziql("ADD Category (name = $name)", &[name])?;
        }
        let mut items = Vec::new();
        for (index, name) in ITEMS.iter().enumerate() {
            let item = [
                ("name", Value::from(*name)),
                ("price", Value::from(index as f64 + 0.5)),
                ("category", Value::from(CATEGORIES[index % CATEGORIES.len()])),
            ];
            let text = "ADD Item (name = $name, price = $price, category = {name = $category})";
            let ids = self.ids(text, &item)?;
            for id in ids {
                let mut text = String::new();
                push_uuid(&mut text, &id);
                items.push(text);
            }
        }
        let mut orders = data.orders.iter().peekable();
        let (mut text, mut orders_text) = (String::with_capacity(CHUNK * USER_SIZE), String::new());
        for (chunk, users) in data.users.chunks(CHUNK).enumerate() {
            text.clear();
            text.push_str("ADD User");
            for (index, user) in users.iter().enumerate() {
                push_user(&mut text, user, index == 0);
            }
            let first = chunk * CHUNK;
            let ids = self.ids(&text, &[])?;
            let text = &mut orders_text;
            text.clear();
            text.push_str("ADD Order");
            let mut is_first = true;
            while let Some(order) = orders.next_if(|order| order.user < first + users.len()) {
                push_order(text, order, &items, &ids[order.user - first], is_first);
                is_first = false;
            }
            if !is_first {
                self.session.ziql(text, &[])?;
            }
        }
        self.session.execute("COMMIT", &[])?;
        self.database.flush()?;
        Ok(())
    }

    fn ask(&mut self, question: Question) -> Result<Answer> {
        let mut rows = self.session.ziql(question.ziql(), &[])?;
        let (mut json, mut is_first) = (Vec::from(b"["), true);
        let mut answer = Answer::default();
        while let Some(count) = rows.next_json(",", &mut is_first, &mut json)? {
            answer.row_count += count as u64;
            answer.size += json.len() as u64;
            std::hint::black_box(&json);
            json.clear();
        }
        Ok(answer)
    }

    fn copy(&mut self, directory: &Path) -> Result<Box<dyn Engine>> {
        let path = directory.join("folio");
        self.database.backup(&path, &mut |_, _| true)?;
        Ok(Box::new(Self::open(path)?))
    }

    fn close(self: Box<Self>) -> Result<u64> {
        drop(self.session);
        self.database.close()?;
        let mut size = 0;
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?.metadata()?;
            size += if entry.is_file() { entry.len() } else { 0 };
        }
        Ok(size)
    }
}

/// A tuple of ADD, with the names of members in the first.
fn push_user(text: &mut String, user: &User, is_first: bool) {
    let User { name, email, age, address } = user;
    let [start, to_email, to_age, to_address] = match is_first {
        true => [" (name = '", "', email = '", "', age = ", ", address = '"],
        false => [" ('", "', '", "', ", ", '"],
    };
    [start, name, to_email, email, to_age].iter().for_each(|part| text.push_str(part));
    push_number(text, age.unsigned_abs());
    [to_address, address, "')"].iter().for_each(|part| text.push_str(part));
}

fn push_order(text: &mut String, order: &Order, items: &[String], user: &[u8; 16], is_first: bool) {
    let [start, to_counts, to_user] = match is_first {
        true => [" (items = [", "], quantity = [", "], from = "],
        false => [" ([", "], [", "], "],
    };
    text.push_str(start);
    for (at, (item, _)) in order.items.iter().enumerate() {
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(&items[*item]);
    }
    text.push_str(to_counts);
    for (at, (_, count)) in order.items.iter().enumerate() {
        text.push_str(if at > 0 { ", " } else { "" });
        push_number(text, count.unsigned_abs());
    }
    text.push_str(to_user);
    push_uuid(text, user);
    text.push(')');
}

/// A number as a program would write it that writes a million: `fmt` takes as long as the rest.
fn push_number(text: &mut String, number: u64) {
    if number >= 100 {
        push_number(text, number / 100);
    } else if number < 10 {
        return text.push(char::from(b'0' + number as u8));
    }
    let at = (number % 100) as usize * 2;
    text.push_str(&PAIRS[at..at + 2]);
}

/// All numbers of two digits.
static PAIRS: &str = "00010203040506070809101112131415161718192021222324\
                      25262728293031323334353637383940414243444546474849\
                      50515253545556575859606162636465666768697071727374\
                      75767778798081828384858687888990919293949596979899";

fn push_uuid(text: &mut String, bytes: &[u8; 16]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut hyphenated = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in bytes.iter().enumerate() {
        at += usize::from(matches!(index, 4 | 6 | 8 | 10));
        hyphenated[at] = HEX[usize::from(byte >> 4)];
        hyphenated[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    text.push_str(std::str::from_utf8(&hyphenated).expect("digits"));
}
