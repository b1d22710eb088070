//! Files as relations: `select … from 'events.jsonl'`. Parquet and Arrow files declare their
//! columns. Files of records and of Ion are read once when a statement names them, to find the
//! columns.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{FileReading, Relation, RowStream};
use folio_file::{FileSystem, OpenMode, RemoteError, is_url};
use folio_types::ErrorCode;

use super::record_file::RecordFile;
use super::row_file::{RowFile, relation_with};
use super::whole::Whole;
use super::{Format, Records};
use crate::error::Error;
use crate::known::KnownFiles;

/// The relation of a file.
///
/// # Errors
/// `not_found`, `io`; `syntax`, `corrupted` for content that does not match the format;
/// `unsupported` for columns of types without a counterpart; `invalid_input` for an unknown format,
/// and for CSV options of another format.
pub(crate) fn relation(
    files: &Arc<dyn FileSystem>,
    path: &str,
    reading: FileReading<'_>,
    known: &KnownFiles,
) -> QueryResult<Arc<Relation>> {
    let asked = reading.format.map(Format::named).transpose()?;
    let format = match asked.or_else(|| Format::of_path(path)) {
        None => columnar_magic(&**files, path)?,
        known => known,
    };
    if let Some(format @ (Format::Parquet | Format::Arrow)) = format {
        no_csv(reading)?;
        let whole = Whole::open(&**files, path)?;
        return columnar(path, whole, format).map(|(relation, _)| relation);
    }
    let mut records = RecordFile::new(files, path, reading, format);
    match records.open()? {
        Records::Ion(_) => {
            no_csv(reading)?;
            super::ion::relation(&**files, path, reading)
        }
        opened => {
            let key = records.key(reading);
            if let Some(found) = key.as_ref().and_then(|key| known.relation(key)) {
                return Ok(found);
            }
            let (relation, is_large) = records.relation(opened, reading)?;
            if let Some(key) = key.filter(|_| is_large) {
                known.insert(key, &relation);
            }
            Ok(relation)
        }
    }
}

/// Rows of a file at a URL.
struct RowsAtUrl {
    rows: Box<dyn RowStream>,
    files: Arc<dyn FileSystem>,
    path: String,
}

impl RowStream for RowsAtUrl {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let Self { rows, files, path } = self;
        rows.next().inspect_err(|error| forget_damaged(&**files, path, error))
    }
}

/// Rows of a file, of which nothing stays cached if they prove to be damaged at a URL.
pub(crate) fn watched(
    files: &Arc<dyn FileSystem>,
    path: &str,
    rows: Box<dyn RowStream>,
) -> Box<dyn RowStream> {
    match is_url(path) {
        true => Box::new(RowsAtUrl { rows, files: Arc::clone(files), path: path.to_owned() }),
        false => rows,
    }
}

/// Forgets what is cached of a file at a URL whose content is wrong: it may have been damaged on its
/// way, and is asked for again.
pub(crate) fn forget_damaged(files: &dyn FileSystem, path: &str, error: &QueryError) {
    let is_wrong = match error.code() {
        ErrorCode::Syntax | ErrorCode::Corrupted => true,
        // Compressed data that is damaged is an error of its reader, and no other machine's.
        ErrorCode::Io => std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<Error>())
            .is_some_and(|own| matches!(own, Error::Io { source, .. } if !RemoteError::is(source))),
        _ => false,
    };
    if is_wrong
        && is_url(path)
        && let Ok(file) = files.open(Path::new(path), OpenMode::Read)
        && let Ok(stat) = file.stat()
    {
        file.forget(0, stat.size);
    }
}

/// The relation of a file with typed columns, Parquet or Arrow, and the file.
///
/// # Errors
/// As [`relation`].
pub(super) fn columnar(
    path: &str,
    whole: Whole,
    format: Format,
) -> QueryResult<(Arc<Relation>, Arc<dyn RowFile>)> {
    let (columns, file) = match format {
        Format::Arrow => super::arrow::open(path, whole)?,
        _ => super::parquet::open(path, whole)?,
    };
    Ok((relation_with(path, columns, Arc::clone(&file)), file))
}

/// Recognises Parquet and Arrow by their first bytes, if the name does not give a format.
fn columnar_magic(files: &dyn FileSystem, path: &str) -> QueryResult<Option<Format>> {
    let whole = super::Source::file_in(files, Path::new(path))?;
    let mut head = Vec::new();
    let io = |error| Error::io("read", Path::new(path))(error);
    folio_stream::decompress(whole.reader)
        .map_err(io)?
        .take(8)
        .read_to_end(&mut head)
        .map_err(io)?;
    Ok(super::guess::columnar(&head))
}

/// Refuses CSV options.
fn no_csv(reading: FileReading<'_>) -> QueryResult<()> {
    reading.csv.map_or(Ok(()), |(csv, _)| csv.check(false))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that panics has failed

    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use folio_file::DiskFileSystem;
    use folio_types::ColumnType;

    use super::*;

    #[test]
    fn the_columns_of_a_large_file_are_found_once_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.jsonl");
        let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
        let known = KnownFiles::default();
        // The first 64 KiB, which a fingerprint covers, are the same each time.
        let write = |value: &str, age: u64| {
            let line =
                |value: &str| format!("{{\"pad\":\"{}\",\"n\":{value}}}\n", "x".repeat(1000));
            let text = line("1.5").repeat(17_000) + &line(value);
            fs::write(&path, text).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        let read = |reading| relation(&files, path.to_str().unwrap(), reading, &known).unwrap();
        let plain = FileReading::default();
        let type_of = |relation: &Relation| relation.schema.columns[1].column_type.clone();

        write("2.5", 20);
        // A file that was changed just now is read again.
        assert!(!Arc::ptr_eq(&read(plain), &read(plain)));
        std::thread::sleep(Duration::from_millis(2100));
        let first = read(plain);
        assert_eq!(type_of(&first), ColumnType::Float64);
        assert!(Arc::ptr_eq(&first, &read(plain)));
        // Read in another way, it has other columns.
        let as_json = read(FileReading { json: &["n"], ..plain });
        assert_eq!(type_of(&as_json), ColumnType::Json);
        assert!(Arc::ptr_eq(&first, &read(plain)));

        // The same size, another time.
        write("\"a\"", 10);
        std::thread::sleep(Duration::from_millis(2100));
        let changed = read(plain);
        assert_eq!(type_of(&changed), ColumnType::Json);
        assert!(Arc::ptr_eq(&changed, &read(plain)));

        // Another file renamed over it, of the same size and time, and so are the first bytes.
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let keep_time = || File::options().write(true).open(&path).unwrap().set_modified(time);
        let other = folder.path().join("other");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&other, text.replace("\"n\":\"a\"", "\"n\":3.5")).unwrap();
        fs::rename(&other, &path).unwrap();
        keep_time().unwrap();
        std::thread::sleep(Duration::from_millis(2100));
        let renamed = read(plain);
        assert_eq!(type_of(&renamed), ColumnType::Float64);
        assert!(Arc::ptr_eq(&renamed, &read(plain)));

        // Only the time of the last change of anything is another one.
        fs::write(&path, text).unwrap();
        keep_time().unwrap();
        std::thread::sleep(Duration::from_millis(2100));
        assert_eq!(type_of(&read(plain)), ColumnType::Json);
    }
}
