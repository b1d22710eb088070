//! What pages ask about files that were dropped on them, where the database may be changed.
//!
//! ```text
//! take      the body of the request into a file, in pieces → a name for it
//! preview   SELECT … FROM 'file': columns, types, the first rows; of SQLite, that it has tables
//! import    into a collection, or tables; progress answers meanwhile
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use folio::import::{ImportOptions, Source};
use folio::sqlite::SqliteOptions;
use folio::{Parameters, sqlite};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::dropped::Dropped;
use crate::failure::{Failure, text};
use crate::http::{Request, Response};
use crate::rows::{self, Guarded};
use crate::shared::Shared;

/// The largest file.
const SIZE_MAX: usize = (2 << 30) - 1;

/// The rows of a preview.
const PREVIEW: usize = 20;

/// Receives a file.
pub(crate) fn take(request: &Request, connection: &Connection, shared: &Shared) -> Response {
    if !shared.database.is_writable() {
        return Response::refused(403, "the studio only reads; start it with --write to import");
    }
    if request.size > SIZE_MAX {
        return Response::refused(413, "the file is larger than 2 GiB; use folio import");
    }
    let name = request.header("x-name").unwrap_or("");
    let received = Dropped::receive(name, &mut |take| request.body_to(connection, take));
    match received {
        Ok((id, dropped)) => {
            shared.uploads.keep(&id, dropped);
            Response::json(json!({"file": id}).to_string())
        }
        Err(error) => Response::refused(500, &format!("the file cannot be kept: {error}")),
    }
}

fn find(asked: &Value, shared: &Shared) -> Result<Arc<Dropped>, Failure> {
    let found = shared.uploads.find(text(asked, "file")?);
    found.ok_or(Failure::Asked("the file is not here any more; drop it again"))
}

/// What a file would become.
pub(crate) fn preview(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let dropped = find(asked, shared)?;
    if sqlite::is_sqlite(&dropped.path) {
        return Ok(json!({"is_tables": true}).to_string());
    }
    let path = dropped.path.to_string_lossy().replace('\'', "''");
    let start = Instant::now();
    let mut guarded = Guarded::new(connection, shared)?;
    let statement = format!("SELECT * FROM '{path}' LIMIT {PREVIEW}");
    let answer = guarded.session.sql(&statement, &Parameters::default())?;
    let mut found = answer.rows.ok_or(Failure::Asked("the file has no rows"))?;
    rows::write(&mut found, json!({"count": null}), start, &shared.limits)
}

/// Imports a file, which is removed then, also where the import failed or was stopped.
pub(crate) fn import(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let dropped = find(asked, shared)?;
    let answer = imported(asked, &dropped, connection, shared);
    forget(asked, shared)?;
    answer
}

fn imported(
    asked: &Value,
    dropped: &Dropped,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let watched = rows::Watched::new(connection, Arc::default());
    let mut progress = |done: u64, total: u64| {
        dropped.done.store(done, Ordering::Relaxed);
        dropped.total.store(total, Ordering::Relaxed);
        !watched.is_left()
    };
    let database = &shared.database;
    let answer = if sqlite::is_sqlite(&dropped.path) {
        let options = SqliteOptions::default();
        let report = sqlite::import(database, &dropped.path, &options, &mut progress)?;
        let tables: Vec<&str> = report.tables.iter().map(|table| &*table.name).collect();
        json!({"tables": tables, "count": report.row_count()})
    } else {
        let id_field = asked.get("id_field").and_then(Value::as_str).map(str::to_owned);
        let generate_ids = asked.get("generate_ids").and_then(Value::as_bool).unwrap_or(false);
        let options = ImportOptions { id_field, generate_ids, ..ImportOptions::default() };
        let collection = database.collection(text(asked, "collection")?)?;
        let source = Source::file(&dropped.path)?;
        let report = folio::import::import(&collection, source, &options, &mut progress)?;
        collection.flush()?;
        let rejected = report.rejected.iter().map(ToString::to_string);
        json!({
            "count": report.inserted + report.replaced,
            "rejected_count": report.rejected_count,
            "rejected": rejected.collect::<Vec<_>>(),
        })
    };
    Ok(answer.to_string())
}

/// How far an import is, in bytes.
pub(crate) fn progress(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let dropped = find(asked, shared)?;
    let (done, total) = (&dropped.done, &dropped.total);
    let (done, total) = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
    Ok(json!({"done": done, "total": total}).to_string())
}

/// Removes a file.
pub(crate) fn forget(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    shared.uploads.remove(text(asked, "file")?);
    Ok("{}".to_owned())
}
