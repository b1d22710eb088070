//! Files that are dropped on a page: each arrives in the system's folder of temporary files, is
//! looked at and imported, and removed. Only where the database may be changed.
//!
//! ```text
//! take      the body of the request into a file, in pieces → a name for it
//! preview   SELECT … FROM 'file': columns, types, the first rows; of SQLite, that it has tables
//! import    into a collection, or tables; progress answers meanwhile
//! ```

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use folio::import::{ImportOptions, Source};
use folio::sqlite::SqliteOptions;
use folio::{Parameters, sqlite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Failure, text};
use crate::http::{Request, Response};
use crate::rows::{self, Guarded};
use crate::shared::Shared;

/// The largest file.
const SIZE_MAX: usize = 4 << 30;

/// The most files that wait to be imported.
const COUNT_MAX: usize = 4;

/// The rows of a preview.
const PREVIEW: usize = 20;

/// The files that were dropped, by the names that pages know them by.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<String, Arc<Dropped>>>);

/// A file that was dropped; removed with its folder when nobody needs it any more.
struct Dropped {
    path: PathBuf,
    done: AtomicU64,
    total: AtomicU64,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(folder) = self.path.parent() {
            // What is left is in the folder of temporary files.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Receives a file.
pub(crate) fn take(request: &Request, connection: &TcpStream, shared: &Shared) -> Response {
    if !shared.database.is_writable() {
        return Response::refused(403, "the studio only reads; start it with --write to import");
    }
    if request.size > SIZE_MAX {
        return Response::refused(413, "the file is larger than 4 GiB; use folio import");
    }
    let id = Uuid::new_v4().simple().to_string();
    let folder = std::env::temp_dir().join(format!("folio-studio-{id}"));
    let name = safe(request.header("x-name").unwrap_or(""));
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let dropped = Dropped { path: folder.join(name), done, total };
    if let Err(error) = receive(request, connection, &dropped) {
        return Response::refused(500, &format!("the file cannot be kept: {error}"));
    }
    let mut uploads = shared.uploads.0.lock().unwrap_or_else(PoisonError::into_inner);
    if uploads.len() >= COUNT_MAX {
        uploads.clear();
    }
    uploads.insert(id.clone(), Arc::new(dropped));
    Response::json(json!({"file": id}).to_string())
}

/// The name of a file as far as it cannot lead elsewhere; its ending says what it is.
fn safe(name: &str) -> String {
    let is_plain = |next: &char| next.is_ascii_alphanumeric() || ['.', '_', '-'].contains(next);
    let plain: String = name.chars().filter(is_plain).collect();
    let plain = plain.trim_start_matches('.');
    let start = plain.len().saturating_sub(64);
    format!("file-{}", &plain[start..])
}

fn receive(request: &Request, connection: &TcpStream, dropped: &Dropped) -> std::io::Result<()> {
    let folder = dropped.path.parent().unwrap_or(&dropped.path);
    folder_of_the_user().create(folder)?;
    let mut file = fs::File::create_new(&dropped.path)?;
    request.body_to(connection, &mut |piece| file.write_all(piece))
}

/// Makes folders that nobody else can look into.
fn folder_of_the_user() -> fs::DirBuilder {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700);
        builder
    }
    #[cfg(not(unix))]
    fs::DirBuilder::new() // there, the user's own folder has the temporary files
}

fn find(asked: &Value, shared: &Shared) -> Result<Arc<Dropped>, Failure> {
    let uploads = shared.uploads.0.lock().unwrap_or_else(PoisonError::into_inner);
    let found = uploads.get(text(asked, "file")?).cloned();
    found.ok_or(Failure::Asked("the file is not here any more; drop it again"))
}

/// What a file would become.
pub(crate) fn preview(
    asked: &Value,
    connection: &TcpStream,
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
    rows::write(&mut found, None, start, &shared.limits)
}

/// Imports a file.
pub(crate) fn import(
    asked: &Value,
    connection: &TcpStream,
    shared: &Shared,
) -> Result<String, Failure> {
    let dropped = find(asked, shared)?;
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
    forget(asked, shared)?;
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
    let mut uploads = shared.uploads.0.lock().unwrap_or_else(PoisonError::into_inner);
    uploads.remove(text(asked, "file")?);
    Ok("{}".to_owned())
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn names_stay_in_their_folder() {
        for (name, kept) in [
            ("people.jsonl.gz", "file-people.jsonl.gz"),
            ("../../etc/passwd", "file-etcpasswd"),
            ("a b'\";\0.csv", "file-ab.csv"),
            ("..", "file-"),
            ("", "file-"),
        ] {
            assert_eq!(safe(name), kept);
        }
        assert_eq!(safe(&"x".repeat(500)).len(), 69);
    }
}
