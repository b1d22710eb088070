//! Dumps a whole database to a directory of text, and restores a database from it.
//!
//! ```text
//! DIR/schema.zq              the structs
//! DIR/schema.sql             the other tables; all, if SQL has changed structs
//! DIR/catalog.jsonl          what neither expresses: links of such structs, numbers of identities
//! DIR/tables/NAME.csv        rows, a file per table; .jsonl or .ion by the format
//! DIR/collections/NAME.jsonl documents, a file per collection; .ion by the format
//! DIR/schemas/NAME.json      the JSON Schemas of strict collections
//! DIR/indexes.sql            the indexes of collections, created after the documents
//! DIR/views.sql              the views, created last: they read tables and collections
//! ```
//!
//! Both directions build next to the target and rename when everything is durable. A process that
//! dies leaves `<target>.partial-<pid>`, which contains a marker. A directory with the marker is
//! never opened or restored, and the next run for the same target removes it.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio_document::{Progress, Strict};
use folio_file::{DiskFileSystem, FileSystem};
use serde_json::Value;

use super::definitions::{amend, definitions, number};
use super::{FORMATS, Format, check, read_rows, write_rows};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::export::{ExportOptions, export};
use crate::format::{Reading, Records, Source};
use crate::import::{ImportOptions, import};
use crate::ion;
use crate::options::CollectionOptions;
use crate::session::Session;
use crate::source::index_statements;
use crate::write::{AtomicDirectory, AtomicFile, check_finished, create_directory};

const STRUCTS: &str = "schema.zq";
const STATEMENTS: &str = "schema.sql";
const CATALOG: &str = "catalog.jsonl";
const INDEXES: &str = "indexes.sql";
const VIEWS: &str = "views.sql";
const TABLES: &str = "tables";
const COLLECTIONS: &str = "collections";
const SCHEMAS: &str = "schemas";

/// Counts of a dump or a restore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DumpReport {
    /// Tables.
    pub table_count: u64,
    /// Their rows.
    pub row_count: u64,
    /// Documents of all collections.
    pub document_count: u64,
    /// Of a restore: why views cannot be read, a sentence for each. They are restored as they were.
    pub unreadable_views: Vec<String>,
}

impl Database {
    /// Writes the whole database as text into a directory, which must be missing or empty. Tables
    /// are from one snapshot. Collections are JSON Lines where the format is CSV, which cannot carry
    /// documents. Progress is in bytes written; the total is unknown.
    ///
    /// # Errors
    /// `invalid_input` for a format outside [`crate::dump::FORMATS`]; `conflict` when the target is
    /// not empty; `io`; `cancelled` when `progress` answers `false`. No target is left then.
    pub fn dump(
        &self,
        target: impl AsRef<Path>,
        format: Format,
        progress: Progress<'_>,
    ) -> Result<DumpReport> {
        if !FORMATS.contains(&format) {
            let (names, asked) = (FORMATS.map(Format::name).join(", "), format.name());
            return Err(Error::Invalid(format!(
                "the format of a dump is one of {names}, not {asked}"
            )));
        }
        let files = Arc::clone(self.host());
        let directory = AtomicDirectory::create(Arc::clone(&files), target.as_ref())?;
        for folder in [TABLES, COLLECTIONS] {
            create_directory(&*files, &directory.path().join(folder))?;
        }
        let mut dumping = Dumping { files, root: directory.path(), format, progress, size: 0 };
        let mut report = DumpReport::default();
        dumping.tables(&mut self.session()?, &mut report)?;
        dumping.documents(self, &mut report)?;
        directory.commit()?;
        Ok(report)
    }

    /// Creates a database from the output of [`Database::dump`], which may have been edited. The
    /// target must be missing or empty; it appears once everything is durable. Constraints between
    /// rows are checked. Progress is in bytes read.
    ///
    /// # Errors
    /// `invalid_input` for a source that is not a complete dump, and for invalid text, with its
    /// file and line; `conflict` when the target is not empty, or a row breaks a constraint; `io`;
    /// `cancelled` when `progress` answers `false`. No target is left then.
    pub fn restore(
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        progress: Progress<'_>,
    ) -> Result<DumpReport> {
        let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
        let source = source.as_ref();
        let total = size_of(&*files, source)?;
        let directory = AtomicDirectory::create(Arc::clone(&files), target.as_ref())?;
        let mut restoring = Restoring { files, root: source, progress, total, done: 0 };
        let database = Self::open_unfinished(directory.path())?;
        let restored = restoring.run(&database);
        let closed = database.close();
        let report = restored?;
        closed?;
        directory.commit()?;
        Ok(report)
    }
}

/// A running dump.
struct Dumping<'a> {
    files: Arc<dyn FileSystem>,
    root: &'a Path,
    format: Format,
    progress: Progress<'a>,
    /// Bytes written so far.
    size: u64,
}

impl Dumping<'_> {
    /// Writes the definitions, then the rows of each table, all from one snapshot.
    fn tables(&mut self, session: &mut Session, report: &mut DumpReport) -> Result<()> {
        session.execute("BEGIN READ ONLY", &[])?;
        let made = definitions(session)?;
        for (name, text) in [
            (STRUCTS, &made.structs),
            (STATEMENTS, &made.statements),
            (CATALOG, &made.catalog),
            (VIEWS, &made.views),
        ] {
            if !text.is_empty() {
                AtomicFile::write_whole(&self.files, &self.root.join(name), text.as_bytes())?;
            }
        }
        for table in &made.tables {
            report.table_count += 1;
            report.row_count += self.table(session, table)?;
        }
        session.execute("COMMIT", &[])?;
        Ok(())
    }

    fn table(&mut self, session: &mut Session, table: &str) -> Result<u64> {
        // Ion is converted from JSON, which is a subset of it.
        let rows = if self.format == Format::Ion { Format::JsonLines } else { self.format };
        let path = file_of(self.root, TABLES, table, rows);
        let mut out = AtomicFile::create(Arc::clone(&self.files), &path)?;
        let before = self.size;
        let progress = &mut *self.progress;
        let count = write_rows(session, table, rows, &mut out, &mut |size, total| {
            progress(before + size, total)
        })?;
        self.size += out.commit()?;
        if self.format == Format::Ion {
            let target = file_of(self.root, TABLES, table, self.format);
            let mut out = AtomicFile::create(Arc::clone(&self.files), &target)?;
            ion::convert(Source::file_in(&*self.files, &path)?, &mut out, ion::Form::Text)?;
            out.commit()?;
            self.files.remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(count)
    }

    fn documents(&mut self, database: &Database, report: &mut DumpReport) -> Result<()> {
        // CSV cannot carry documents.
        let format = if self.format == Format::Csv { Format::JsonLines } else { self.format };
        let options = ExportOptions { format: Some(format), ..ExportOptions::default() };
        let mut indexes = String::new();
        for name in database.collections()? {
            let collection = database.collection(&name)?;
            indexes += &index_statements(&collection)?;
            if let Some(schema) = collection.reader()?.strict_schema() {
                let folder = self.root.join(SCHEMAS);
                if self.files.stat(&folder).is_err() {
                    create_directory(&*self.files, &folder)?;
                }
                let path = file_of(self.root, SCHEMAS, &name, Format::Json);
                AtomicFile::write_whole(&self.files, &path, format!("{schema:#}\n").as_bytes())?;
            }
            let path = file_of(self.root, COLLECTIONS, &name, format);
            let (before, progress) = (self.size, &mut *self.progress);
            let mut on_progress = |size, _| progress(before + size, 0);
            let written = export(&collection, path, &options, &mut on_progress)?;
            self.size += written.size;
            report.document_count += written.document_count;
        }
        if !indexes.is_empty() {
            AtomicFile::write_whole(&self.files, &self.root.join(INDEXES), indexes.as_bytes())?;
        }
        Ok(())
    }
}

/// Bytes of the rows and documents of a dump. Refuses an incomplete dump.
fn size_of(files: &dyn FileSystem, root: &Path) -> Result<u64> {
    check_finished(files, root)?;
    let mut size = 0;
    for folder in [TABLES, COLLECTIONS] {
        let folder = root.join(folder);
        let entries = files.read_directory(&folder).map_err(|_| {
            let text = format!("{root:?} is not a directory that `folio dump` wrote; name one");
            Error::Invalid(text)
        })?;
        for entry in entries {
            size += files.stat(&folder.join(&entry.name)).map_or(0, |stat| stat.size);
        }
    }
    Ok(size)
}

/// A running restore.
struct Restoring<'a> {
    files: Arc<dyn FileSystem>,
    root: &'a Path,
    progress: Progress<'a>,
    /// Bytes of all files.
    total: u64,
    /// Bytes of the files read so far.
    done: u64,
}

impl Restoring<'_> {
    fn run(&mut self, database: &Database) -> Result<DumpReport> {
        database.create()?;
        let mut report = DumpReport::default();
        self.tables(&mut database.session()?, &mut report)?;
        self.documents(database, &mut report)?;
        let views = self.text(VIEWS)?;
        if !views.is_empty() {
            report.unreadable_views = database.session()?.declare_views(&views)?;
        }
        Ok(report)
    }

    /// Restores the definitions and all rows, in one transaction.
    fn tables(&mut self, session: &mut Session, report: &mut DumpReport) -> Result<()> {
        let (structs, statements) = (self.text(STRUCTS)?, self.text(STATEMENTS)?);
        let catalog = self.text(CATALOG)?;
        session.execute("BEGIN", &[])?;
        if !structs.is_empty() {
            session.apply_schema(&structs, false)?;
        }
        if !statements.is_empty() {
            session.execute(&statements, &[])?;
        }
        let catalog_path = self.root.join(CATALOG);
        amend(session, &catalog).map_err(|error| in_file(&catalog_path, error))?;
        for table in definitions(session)?.tables {
            report.table_count += 1;
            report.row_count += self.table(session, &table)?;
        }
        check(session)?;
        number(session, &catalog).map_err(|error| in_file(&catalog_path, error))?;
        session.execute("COMMIT", &[])?;
        Ok(())
    }

    fn table(&mut self, session: &mut Session, table: &str) -> Result<u64> {
        let named = |format| (format, file_of(self.root, TABLES, table, format));
        let found = FORMATS.map(named).into_iter().find(|(_, path)| self.files.stat(path).is_ok());
        let Some((format, path)) = found else {
            let path = file_of(self.root, TABLES, table, Format::JsonLines);
            let text = format!(
                "{} is missing, so the dump is incomplete; create an empty file if table \
                 {table:?} has no rows",
                path.display()
            );
            return Err(Error::Invalid(text));
        };
        let source = Source::file_in(&*self.files, &path)?;
        let size = source.size();
        let (read, before, total) = (Arc::clone(&source.read_size), self.done, self.total);
        let mut on_progress = |_, _| (self.progress)(before + read.load(Ordering::Relaxed), total);
        let reading = Reading {
            format: Some(format),
            delimiter: Some(b','),
            infer_types: false,
            ..Reading::default()
        };
        let records = Records::open(source, &reading)?;
        let count = read_rows(session, table, records, &mut on_progress);
        let count = count.map_err(|error| in_file(&path, error))?;
        self.done += size;
        Ok(count)
    }

    fn documents(&mut self, database: &Database, report: &mut DumpReport) -> Result<()> {
        let folder = self.root.join(COLLECTIONS);
        let entries = self.files.read_directory(&folder).map_err(Error::io("list", &folder))?;
        let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        for file_name in names {
            let path = folder.join(&file_name);
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let Some(name) = stem.and_then(name_of_file) else { continue };
            let strict = self.schema(&name)?.map_or(Strict::AsStored, Strict::Schema);
            let source = Source::file_in(&*self.files, &path)?;
            let (size, before, total) = (source.size(), self.done, self.total);
            let progress = &mut *self.progress;
            let mut on_progress = |done, _| progress(before + done, total);
            let options = ImportOptions::default();
            let like = CollectionOptions { strict, ..CollectionOptions::default() };
            let collection = database.collection_with(&name, &like)?;
            let imported = import(&collection, source, &options, &mut on_progress)?;
            if let Some(rejected) = imported.rejected.first() {
                let text = format!("{}: not every line is a document: {rejected}", path.display());
                return Err(Error::Invalid(text));
            }
            if imported.written() == 0 {
                collection.writer()?.create()?;
            }
            report.document_count += imported.written();
            self.done += size;
        }
        let indexes = self.text(INDEXES)?;
        if !indexes.is_empty() {
            database.session()?.execute(&indexes, &[])?;
        }
        Ok(())
    }

    /// The schema of a strict collection.
    fn schema(&self, collection: &str) -> Result<Option<Value>> {
        let path = file_of(self.root, SCHEMAS, collection, Format::Json);
        let text = self.text_of(&path)?;
        if text.is_empty() {
            return Ok(None);
        }
        let value = serde_json::from_str(&text);
        Ok(Some(value.map_err(|error| in_file(&path, Error::Invalid(error.to_string())))?))
    }

    /// The text of a file that may be missing.
    fn text(&self, name: &str) -> Result<String> {
        self.text_of(&self.root.join(name))
    }

    fn text_of(&self, path: &Path) -> Result<String> {
        if self.files.stat(path).is_err() {
            return Ok(String::new());
        }
        let mut text = String::new();
        let mut source = Source::file_in(&*self.files, path)?;
        source.reader.read_to_string(&mut text).map_err(Error::io("read", path))?;
        Ok(text)
    }
}

/// Adds the file to an error about its text.
fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Invalid(text) => Error::Invalid(format!("{}: {text}", path.display())),
        other => other,
    }
}

/// The file of a table or collection.
fn file_of(root: &Path, folder: &str, name: &str, format: Format) -> PathBuf {
    root.join(folder).join(format!("{}.{}", file_name(name), format.extension()))
}

/// A name that every file system accepts: other characters as `%` and their bytes.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => out.push(char::from(byte)),
            b'.' if !out.is_empty() => out.push('.'),
            _ => write!(out, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    out
}

/// The name that a file name encodes.
fn name_of_file(stem: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = stem.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_files() {
        for (name, file) in
            [("User.friends", "User.friends"), ("a/b", "a%2Fb"), (".é", "%2E%C3%A9")]
        {
            assert_eq!(file_name(name), file);
            assert_eq!(name_of_file(file).as_deref(), Some(name));
        }
        assert_eq!(name_of_file("%4"), None);
    }
}
