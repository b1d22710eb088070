//! Writes of many processes to one collection, published together.
//!
//! ```text
//! driver   Collection::partitioned_writer → its text to the workers
//! worker   PartitionedWriter::part → put … → finish: one file, synced and renamed → its text back
//! driver   commit: all parts in one batch, or abort
//! ```
//!
//! The files are in `writing/<job>/` in the directory of the database. No reader looks there, and
//! nobody needs a lock to write them. A task that is tried again writes another file, and of the
//! parts of one task the last that is given counts. The batch carries the name of the job and the
//! checksum of its parts, so a commit that is tried again, before anything else was imported,
//! publishes nothing twice, and one of other parts is refused. Documents with ids that the collection
//! has replace those.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use folio_document::{BatchCounts, Records};
use folio_file::{DiskFileSystem, FileSystem, OpenMode, remove_tree};
use folio_json::{members, object_of};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::collection::Collection;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::identity::{Identity, generated_id, identify};
use crate::location::IN_MEMORY;
use crate::session::Parameters;
use crate::write::AtomicFile;

/// The folder of the database that holds the files of unfinished jobs.
const FOLDER: &str = "writing";

/// A job that writes to one collection. Its text is what workers receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionedWriter {
    uri: String,
    collection: String,
    job: String,
}

/// A file that one task of a job writes. Dropping it without [`PartWriter::finish`] removes it.
pub struct PartWriter {
    file: AtomicFile,
    hasher: Xxh3,
    part: WrittenPart,
    folder: PathBuf,
}

/// What a task has written. Its text is what the driver receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPart {
    task: u64,
    file: String,
    document_count: u64,
    checksum: u64,
}

impl Collection {
    /// Begins a job in which many processes write to the collection. All that they write is
    /// published by one [`PartitionedWriter::commit`].
    ///
    /// # Errors
    /// `read_only`, `locked`, `io`; `invalid_input` for a database in memory, which other processes
    /// cannot see.
    pub fn partitioned_writer(&self) -> Result<PartitionedWriter> {
        self.handle().check_writable()?;
        if self.handle().path == Path::new(IN_MEMORY) {
            let text = "a database in memory has no directory for other processes to write to";
            return Err(Error::Invalid(text.to_owned()));
        }
        let uri = super::absolute(&self.handle().path);
        let writer =
            PartitionedWriter { uri, collection: self.name().to_owned(), job: generated_id() };
        let folder = writer.folder();
        let parent = folder.parent().unwrap_or(&folder);
        for path in [parent, &folder] {
            match DiskFileSystem.create_directory(path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("create", path)(error));
                }
                _ => {}
            }
        }
        Ok(writer)
    }
}

impl PartitionedWriter {
    /// The absolute path of the database.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The name of the collection.
    #[must_use]
    pub fn collection(&self) -> &str {
        &self.collection
    }

    fn folder(&self) -> PathBuf {
        Path::new(&self.uri).join(FOLDER).join(&self.job)
    }

    /// Begins the part of a task, in any process.
    ///
    /// # Errors
    /// `invalid_input` after the job was committed or aborted; `io`.
    pub fn part(&self, task: u64) -> Result<PartWriter> {
        let folder = self.folder();
        if DiskFileSystem.stat(&folder).is_err() {
            return Err(self.ended());
        }
        let file = format!("{task}-{}.jsonl", generated_id());
        let target = AtomicFile::create(Arc::new(DiskFileSystem), &folder.join(&file))?;
        let part = WrittenPart { task, file, document_count: 0, checksum: 0 };
        Ok(PartWriter { file: target, hasher: Xxh3::new(), part, folder })
    }

    fn ended(&self) -> Error {
        Error::Invalid(format!(
            "job {:?} was committed or aborted; begin another for collection {:?}",
            self.job, self.collection
        ))
    }

    /// Publishes the documents of all parts in one atomic batch, and removes the files. Of several
    /// parts of one task, the last counts.
    ///
    /// # Errors
    /// `corrupted` for a file that is not what its task wrote; errors of the documents, `locked`,
    /// `io`. Nothing is published then, and the job can be committed again or aborted.
    /// `invalid_input` after the job was committed with other parts, or aborted.
    pub fn commit(&self, parts: &[WrittenPart]) -> Result<BatchCounts> {
        let database = Database::open(&self.uri)?;
        let collection = database.collection(&self.collection)?;
        let source = xxh3_64(self.job.as_bytes()) | 1; // 0 is no source
        // Of several parts of a task, the last counts.
        let parts: BTreeMap<u64, &WrittenPart> =
            parts.iter().map(|part| (part.task, part)).collect();
        let content = checksum_of(parts.values().copied());
        let mut counts = BatchCounts::default();
        match collection.import_position(source)? {
            Some(committed) if committed == content => {}
            None if DiskFileSystem.stat(&self.folder()).is_ok() => {
                let mut batch = collection.batch()?;
                for part in parts.values() {
                    for line in self.content(part)?.split(|&byte| byte == b'\n') {
                        if !line.is_empty() {
                            batch.put_line(line)?;
                        }
                    }
                }
                batch.set_import_position(source, content);
                counts = batch.commit()?;
            }
            _ => return Err(self.ended()),
        }
        collection.flush()?;
        self.abort()?;
        Ok(counts)
    }

    /// Removes all files of the job.
    ///
    /// # Errors
    /// `io`.
    pub fn abort(&self) -> Result<()> {
        let folder = self.folder();
        match remove_tree(&DiskFileSystem, &folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", &folder)(error))
            }
            _ => {
                // Other jobs may be in it.
                let _ = folder.parent().map(|parent| DiskFileSystem.remove_directory(parent));
                Ok(())
            }
        }
    }

    /// The lines of a part.
    fn content(&self, part: &WrittenPart) -> Result<Vec<u8>> {
        let path = self.folder().join(&part.file);
        let file = DiskFileSystem.open(&path, OpenMode::Read).map_err(Error::io("open", &path))?;
        let size = file.stat().map_err(Error::io("read", &path))?.size;
        let mut content = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        let read = file.read_at(&mut content, 0).map_err(Error::io("read", &path))?;
        content.truncate(read);
        if xxh3_64(&content) != part.checksum {
            let reason = "it is not what its task wrote".to_owned();
            let repair = "run the task again, or abort the job".to_owned();
            let error = folio_document::Error::Corrupted { path, offset: 0, reason, repair };
            return Err(error.into());
        }
        Ok(content)
    }
}

impl PartWriter {
    /// Adds the documents of a JSON array, each under its `_id`, or under a new id if it has none.
    ///
    /// # Errors
    /// `syntax` for other text; `invalid_input` for an id that no document can have; `io`.
    pub fn put_array(&mut self, json: &str) -> Result<()> {
        for record in Records::new(json, None) {
            self.put(record?.text())?;
        }
        Ok(())
    }

    /// Adds rows of Arrow, each as a document without the columns that are null.
    ///
    /// # Errors
    /// As [`PartWriter::put_array`]; errors of the rows; types that no document can hold.
    pub fn put_batches(&mut self, rows: impl RecordBatchReader) -> Result<()> {
        if rows.schema().fields().is_empty() {
            return Ok(()); // an empty part of an engine
        }
        let memory = Database::open(":memory:")?;
        memory.register("rows", rows)?;
        self.put_rows(&memory)
    }

    /// The same of a file or stream in Arrow's IPC format.
    ///
    /// # Errors
    /// As [`PartWriter::put_batches`]; `corrupted` for content of another format, `unsupported` for
    /// compressed batches.
    pub fn put_ipc(&mut self, content: &[u8]) -> Result<()> {
        let memory = Database::open(":memory:")?;
        memory.register_ipc("rows", content)?;
        self.put_rows(&memory)
    }

    fn put_rows(&mut self, memory: &Database) -> Result<()> {
        let answer = memory.sql("SELECT * FROM rows", &Parameters::default())?;
        let Some(mut rows) = answer.rows else { return Ok(()) };
        let (mut text, mut is_first) = (Vec::from(b"["), true);
        while rows.next_json(",", &mut is_first, &mut text)?.is_some() {
            text.push(b']');
            let json = String::from_utf8_lossy(&text);
            for record in Records::new(&json, None) {
                let record = record?;
                let all = members(record.text()).map_err(|fault| {
                    Error::Invalid(format!("a row is not a document: {}", fault.reason))
                })?;
                self.put(&object_of(all.into_iter().filter(|(_, value)| *value != "null")))?;
            }
            text.truncate(1);
            is_first = true;
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<()> {
        let identity = identify(text, None, true).map_err(|why| Error::Invalid(why.to_string()))?;
        let line = match &identity {
            Identity::Carried(_) => text.to_owned(),
            Identity::Given(id, text) | Identity::Derived { id, text, .. } => with_id(id, text),
            Identity::Tombstone(id) => {
                let text = format!("a part adds documents, and this deletes {id:?}");
                return Err(Error::Invalid(text));
            }
        };
        // In JSON a line end is white space, or escaped.
        let line = line.replace(['\n', '\r'], " ") + "\n";
        self.hasher.update(line.as_bytes());
        self.part.document_count += 1;
        self.file.write_all(line.as_bytes()).map_err(Error::io("write", &self.folder))
    }

    /// Makes the file durable. It counts once its text is given to
    /// [`PartitionedWriter::commit`].
    ///
    /// # Errors
    /// `io`; the file is not there then.
    pub fn finish(self) -> Result<WrittenPart> {
        self.file.commit()?;
        Ok(WrittenPart { checksum: self.hasher.digest(), ..self.part })
    }
}

/// A checksum of which files a job publishes.
fn checksum_of<'a>(parts: impl Iterator<Item = &'a WrittenPart>) -> u64 {
    let mut hasher = Xxh3::new();
    for part in parts {
        hasher.update(part.file.as_bytes());
        hasher.update(&part.checksum.to_le_bytes());
    }
    hasher.digest()
}

/// A document that carries no id, with one.
fn with_id(id: &str, text: &str) -> String {
    let members = text.trim_start().strip_prefix('{').unwrap_or(text);
    match members.trim_start().starts_with('}') {
        true => format!("{{\"_id\":\"{id}\"}}"),
        false => format!("{{\"_id\":\"{id}\",{members}"),
    }
}

impl WrittenPart {
    /// The number of its documents.
    #[must_use]
    pub fn document_count(&self) -> u64 {
        self.document_count
    }
}

impl fmt::Debug for PartWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartWriter").field(&self.part).finish()
    }
}

impl fmt::Display for PartitionedWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uri, collection, job } = self;
        write!(out, "{}", json!({"uri": uri, "collection": collection, "job": job}))
    }
}

impl FromStr for PartitionedWriter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value = parsed(text)?;
        let word = |name: &str| value[name].as_str().map(str::to_owned).ok_or_else(unknown);
        let job = word("job")?;
        // It names a folder.
        folio_types::check_document_id(&job)?;
        Ok(Self { uri: word("uri")?, collection: word("collection")?, job })
    }
}

impl fmt::Display for WrittenPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, file, document_count, checksum } = self;
        let checksum = format!("{checksum:x}");
        let members = json!({
            "task": task, "file": file, "documents": document_count, "checksum": checksum
        });
        write!(out, "{members}")
    }
}

impl FromStr for WrittenPart {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value = parsed(text)?;
        let number = |name: &str| value[name].as_u64().ok_or_else(unknown);
        let word = |name: &str| value[name].as_str().ok_or_else(unknown);
        let file = word("file")?.to_owned();
        folio_types::check_document_id(&file)?;
        let checksum = u64::from_str_radix(word("checksum")?, 16).map_err(|_| unknown())?;
        Ok(Self { task: number("task")?, file, document_count: number("documents")?, checksum })
    }
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|_| unknown())
}

fn unknown() -> Error {
    Error::Invalid("this is not the text of a partitioned writer or its part".to_owned())
}
