//! The database that the SQL tests of `read_folio` read.
//!
//! ```text
//! make_database <path>            a table of every type, one of many rows, large values, a view, …
//! make_database <path> transfer   moves amounts from account to account, a commit each, until
//!                                 standard input ends
//! ```
//!
//! Pages are not kept in the repository: a table is what this release makes of it.

use folio::{Column, ColumnType, Database, Interval, Value};
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Options, Synchronous, TableStore, Transaction};
use folio_types::{TableSchema, ValueRef};
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Outcome = Result<(), Box<dyn Error>>;

/// Rows of the table `numbers`, and of the table `accounts`.
const NUMBERS: i64 = 100_000;
const ACCOUNTS: i64 = 20_000;

/// What each account has at first.
const AMOUNT: i64 = 10;

/// Between two transfers.
const PAUSE: Duration = Duration::from_micros(500);

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path] => make(Path::new(path)),
        [path, "transfer"] => transfer(Path::new(path)),
        _ => Err("usage: make_database PATH [transfer]".into()),
    }
}

fn open(path: &Path) -> Result<TableStore, Box<dyn Error>> {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let options = Options { synchronous: Synchronous::Off, ..Options::default() };
    Ok(TableStore::open(&files, path, options)?)
}

fn make(path: &Path) -> Outcome {
    let database = Database::open(path)?;
    database.collection("notes")?.put_raw("n1", r#"{"text": "kept"}"#)?;
    database.close()?;
    let store = open(path)?;
    let mut transaction = store.begin()?;
    make_every_type(&mut transaction)?;
    make_rows(&mut transaction, "numbers", NUMBERS, |id| ValueRef::Integer(-id))?;
    make_rows(&mut transaction, "accounts", ACCOUNTS, |_| ValueRef::Integer(AMOUNT))?;
    make_large(&mut transaction)?;
    make_words(&mut transaction)?;
    let schema = TableSchema::new("nothing", vec![optional("a", ColumnType::Int32)], Vec::new());
    transaction.create_table(&schema)?;
    transaction.create_view("few", "{}", false)?;
    transaction.commit()?;
    store.close()?;
    Ok(())
}

fn optional(name: &str, column_type: ColumnType) -> Column {
    Column::optional(name, column_type)
}

fn decimal(precision: u8, scale: i8) -> ColumnType {
    ColumnType::Decimal { precision, scale }
}

fn list(element: ColumnType) -> ColumnType {
    ColumnType::List(Box::new(element))
}

/// A table with a column of every type; its first row is full, the second null, the third at the
/// edges of what there is.
fn make_every_type(transaction: &mut Transaction) -> Outcome {
    let stop = ColumnType::Struct(vec![
        ("at".to_owned(), ColumnType::Date),
        ("AT".to_owned(), ColumnType::Time),
        ("stops".to_owned(), list(ColumnType::Uuid)),
    ]);
    let columns = vec![
        Column::required("id", ColumnType::Int32),
        optional("truth", ColumnType::Boolean),
        optional("small", ColumnType::Int16),
        optional("large", ColumnType::Int64),
        optional("single", ColumnType::Float32),
        optional("double", ColumnType::Float64),
        optional("d4", decimal(4, 1)),
        optional("d9", decimal(9, 2)),
        optional("d18", decimal(18, 3)),
        optional("d38", decimal(38, 10)),
        optional("name", ColumnType::Text),
        optional("raw", ColumnType::Binary),
        optional("facts", ColumnType::Json),
        optional("code", ColumnType::Uuid),
        optional("day", ColumnType::Date),
        optional("clock", ColumnType::Time),
        optional("moment", ColumnType::Timestamp { utc: false }),
        optional("instant", ColumnType::Timestamp { utc: true }),
        optional("span", ColumnType::Interval),
        optional("tags", list(ColumnType::Text)),
        optional("stop", stop.clone()),
        optional("way", list(stop)),
    ];
    let count = columns.len();
    let table = transaction.create_table(&TableSchema::new("Types", columns, vec![0]))?;
    for row in [full_row(), null_row(count), edge_row()] {
        let row: Vec<ValueRef<'_>> = row.iter().map(Value::as_ref).collect();
        transaction.insert(&table, &row)?;
    }
    Ok(())
}

fn full_row() -> Vec<Value> {
    let uuid = *b"\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0";
    let stop = Value::Struct(vec![
        Value::Date(19_723),
        Value::Time(3_723_000_004),
        Value::List(vec![Value::Uuid(uuid), Value::Null]),
    ]);
    let rest = Value::Struct(vec![Value::Null, Value::Time(0), Value::Null]);
    vec![
        Value::Integer(1),
        Value::Boolean(true),
        Value::Integer(-7),
        Value::Integer(1 << 40),
        Value::Float(0.5),
        Value::Float(-1.25),
        Value::Decimal(-1234),
        Value::Decimal(123_456_789),
        Value::Decimal(-5),
        Value::Decimal(12_345_678_901_234_567_890),
        Value::from("short é"),
        Value::Bytes(vec![0, 255, 10]),
        Value::from(r#"{"a": [1, null]}"#),
        Value::Uuid(uuid),
        Value::Date(-1),
        Value::Time(86_399_999_999),
        Value::Timestamp(1_700_000_000_123_456),
        Value::Timestamp(-1),
        Value::Interval(Interval { months: 14, days: -3, nanoseconds: 4_500_000_000 }),
        Value::List(vec![Value::from("a"), Value::Null, Value::from("longer than twelve bytes")]),
        stop.clone(),
        Value::List(vec![rest, Value::Null, stop]),
    ]
}

fn null_row(count: usize) -> Vec<Value> {
    let mut row = vec![Value::Null; count];
    row[0] = Value::Integer(2);
    row
}

fn edge_row() -> Vec<Value> {
    let nines = 10_i128.pow(38) - 1;
    vec![
        Value::Integer(3),
        Value::Boolean(false),
        Value::Integer(i64::from(i16::MIN)),
        Value::Integer(i64::MAX),
        Value::Float(f64::from(f32::MAX)),
        Value::Float(f64::INFINITY),
        Value::Decimal(9_999),
        Value::Decimal(-999_999_999),
        Value::Decimal(999_999_999_999_999_999),
        Value::Decimal(-nines),
        Value::from(""),
        Value::Bytes(Vec::new()),
        Value::from("null"),
        Value::Uuid([255; 16]),
        Value::Date(0),
        Value::Time(0),
        Value::Timestamp(0),
        Value::Timestamp(253_402_300_799_999_999),
        Value::Interval(Interval { months: 0, days: 0, nanoseconds: -1_999 }),
        Value::List(Vec::new()),
        Value::Null,
        Value::List(Vec::new()),
    ]
}

/// A table of `id`, `amount` and `name`.
fn make_rows(
    transaction: &mut Transaction,
    name: &str,
    count: i64,
    amount: impl Fn(i64) -> ValueRef<'static>,
) -> Outcome {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        optional("amount", ColumnType::Int64),
        optional("name", ColumnType::Text),
    ];
    let table = transaction.create_table(&TableSchema::new(name, columns, vec![0]))?;
    for id in 0..count {
        let text = format!("number {id}");
        let name = if id % 10 == 7 { ValueRef::Null } else { ValueRef::Text(&text) };
        transaction.insert(&table, &[ValueRef::Integer(id), amount(id), name])?;
    }
    Ok(())
}

/// Values that do not fit a page, in a table without a key.
fn make_large(transaction: &mut Transaction) -> Outcome {
    let columns = vec![optional("text", ColumnType::Text), optional("size", ColumnType::Int32)];
    let table = transaction.create_table(&TableSchema::new("large", columns, Vec::new()))?;
    for size in [5, 100_000, 3_000_000] {
        let text = "x".repeat(size as usize);
        transaction.insert(&table, &[ValueRef::Text(&text), ValueRef::Integer(size)])?;
    }
    Ok(())
}

/// A table whose key is text.
fn make_words(transaction: &mut Transaction) -> Outcome {
    let columns =
        vec![Column::required("word", ColumnType::Text), optional("size", ColumnType::Int16)];
    let table = transaction.create_table(&TableSchema::new("words", columns, vec![0]))?;
    for word in ["two words", "größe", "7"] {
        let size = ValueRef::Integer(word.chars().count() as i64);
        transaction.insert(&table, &[ValueRef::Text(word), size])?;
    }
    Ok(())
}

fn transfer(path: &Path) -> Outcome {
    let store = open(path)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            is_over.store(true, Ordering::Relaxed);
        });
        let outcome = transfer_until(&store, &is_over);
        println!(
            "{}",
            outcome.as_ref().map_or_else(ToString::to_string, |count| format!("{count} transfers"))
        );
        outcome
    })?;
    store.close()?;
    Ok(())
}

/// Takes one from an account and gives it to another, in one commit; how often.
fn transfer_until(store: &TableStore, is_over: &AtomicBool) -> Result<i64, folio_table::Error> {
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut transaction = store.begin()?;
        let table = transaction.table("accounts")?;
        for (account, change) in [(count * 7 % ACCOUNTS, -1), ((count * 11 + 1) % ACCOUNTS, 1)] {
            let key = [ValueRef::Integer(account)];
            let Some(Value::Integer(amount)) =
                transaction.get(&table, &key)?.map(|row| row.get(1)).transpose()?
            else {
                continue;
            };
            let amount = [ValueRef::Integer(amount + change)];
            transaction.update_columns(&table, &key, &[1], &amount)?;
        }
        transaction.commit()?;
        count += 1;
        // Without a pause the log would outgrow what readers are waited for.
        std::thread::sleep(PAUSE);
    }
    Ok(count)
}
