//! Parts of a collection or a table that other processes read, and parts that they write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::{PartWriter, Partition, PartitionOptions, PartitionedWriter, Result, WrittenPart};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::report::NativeCounts;
use crate::task::{Work, promise, promise_write};

/// A part, as its text and what that says.
#[napi(object)]
pub struct NativePartition {
    /// The text by which another process knows it.
    pub text: String,
    /// The absolute path of the database, as the planner saw it.
    pub uri: String,
    /// The collection or the table.
    pub relation: String,
    /// Documents or rows, before the filter.
    pub row_count: f64,
    /// Bytes of lines, where they are known.
    pub size: Option<f64>,
    /// The wanted columns.
    pub columns: Option<Vec<String>>,
    /// The condition of SQL.
    pub filter: Option<String>,
}

impl From<Partition> for NativePartition {
    #[allow(clippy::cast_precision_loss)] // fewer rows, and bytes, than 2^53
    fn from(partition: Partition) -> Self {
        Self {
            text: partition.to_string(),
            uri: partition.uri().to_owned(),
            relation: partition.relation().to_owned(),
            row_count: partition.row_count() as f64,
            size: partition.size().map(|size| size as f64),
            columns: partition.columns().map(<[String]>::to_vec),
            filter: partition.filter().map(str::to_owned),
        }
    }
}

/// A part from its text.
#[napi]
pub fn parse_partition(text: String) -> napi::Result<NativePartition> {
    text.parse::<Partition>().map(NativePartition::from).map_err(thrown)
}

/// What is read of each part. Positions are texts.
pub(crate) fn options(
    columns: Option<Vec<String>>,
    filter: Option<String>,
    since: Option<String>,
    until: Option<String>,
) -> Result<PartitionOptions> {
    let position = |text: Option<String>| text.map(|text| text.parse()).transpose();
    let (since, until) = (position(since)?, position(until)?);
    Ok(PartitionOptions { columns, filter, since, until })
}

/// The texts of at most so many parts, which together have all rows.
pub(crate) fn plan(
    database: &folio::Database,
    relation: &str,
    count: u32,
    options: PartitionOptions,
) -> Result<Vec<String>> {
    let parts = database.partitions(relation, count as usize, &options)?;
    Ok(parts.iter().map(ToString::to_string).collect())
}

/// A job in which many threads and processes write to one collection.
#[napi]
pub struct NativePartitionedWriter {
    writer: PartitionedWriter,
}

impl NativePartitionedWriter {
    pub(crate) fn new(writer: PartitionedWriter) -> Self {
        Self { writer }
    }
}

#[napi]
impl NativePartitionedWriter {
    /// A job from its text.
    #[napi(factory)]
    pub fn parse(text: String) -> napi::Result<Self> {
        text.parse().map(Self::new).map_err(thrown)
    }

    /// The text by which another process knows it.
    #[napi(getter)]
    pub fn text(&self) -> String {
        self.writer.to_string()
    }

    /// The absolute path of the database.
    #[napi(getter)]
    pub fn uri(&self) -> String {
        self.writer.uri().to_owned()
    }

    /// The name of the collection.
    #[napi(getter)]
    pub fn collection(&self) -> String {
        self.writer.collection().to_owned()
    }

    /// Begins the part of a task.
    #[napi]
    pub fn part(&self, task: f64) -> napi::Result<NativePartWriter> {
        self.writer.part(task as u64).map(NativePartWriter::new).map_err(thrown)
    }

    /// Publishes the documents of parts, which are given as texts.
    #[napi]
    pub fn commit(&self, parts: Vec<String>) -> napi::Result<NativeCounts> {
        commit(&self.writer, &parts).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn commit_async(&self, parts: Vec<String>) -> AsyncTask<Work<NativeCounts>> {
        let writer = self.writer.clone();
        promise_write(self.writer.collection(), move || commit(&writer, &parts))
    }

    /// Removes what the tasks have written.
    #[napi]
    pub fn abort(&self) -> napi::Result<()> {
        self.writer.abort().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn abort_async(&self) -> AsyncTask<Work<()>> {
        let writer = self.writer.clone();
        promise(move || writer.abort())
    }
}

fn commit(writer: &PartitionedWriter, parts: &[String]) -> Result<NativeCounts> {
    let parts: Vec<WrittenPart> = parts.iter().map(|text| text.parse()).collect::<Result<_>>()?;
    writer.commit(&parts).map(Into::into)
}

/// A file that one task writes; `None` once it was finished.
#[napi]
pub struct NativePartWriter {
    part: Arc<Mutex<Option<PartWriter>>>,
}

impl NativePartWriter {
    fn new(part: PartWriter) -> Self {
        Self { part: Arc::new(Mutex::new(Some(part))) }
    }
}

#[napi]
impl NativePartWriter {
    /// Adds the documents of JSON arrays.
    #[napi]
    pub fn put_array(&self, json: String) -> napi::Result<()> {
        put(&self.part, |part| part.put_array(&json)).map_err(thrown)
    }

    /// The same on another thread, of arrays.
    #[napi]
    pub fn put_arrays_async(&self, arrays: Vec<String>) -> AsyncTask<Work<()>> {
        let part = Arc::clone(&self.part);
        promise(move || put(&part, |part| arrays.iter().try_for_each(|json| part.put_array(json))))
    }

    /// Adds the rows of an Arrow file or stream.
    #[napi]
    pub fn put_ipc(&self, content: &[u8]) -> napi::Result<()> {
        put(&self.part, |part| part.put_ipc(content)).map_err(thrown)
    }

    /// Makes the file durable; its text.
    #[napi]
    pub fn finish(&self) -> napi::Result<NativeWrittenPart> {
        finish(&self.part).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn finish_async(&self) -> AsyncTask<Work<NativeWrittenPart>> {
        let part = Arc::clone(&self.part);
        promise(move || finish(&part))
    }
}

fn put(
    part: &Mutex<Option<PartWriter>>,
    work: impl FnOnce(&mut PartWriter) -> Result<()>,
) -> Result<()> {
    work(lock(part).as_mut().ok_or_else(finished)?)
}

fn finish(part: &Mutex<Option<PartWriter>>) -> Result<NativeWrittenPart> {
    let part = lock(part).take().ok_or_else(finished)?;
    part.finish().map(Into::into)
}

fn lock(part: &Mutex<Option<PartWriter>>) -> MutexGuard<'_, Option<PartWriter>> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

fn finished() -> folio::Error {
    folio::Error::Invalid("the part was finished; begin another".to_owned())
}

/// What a task has written, as its text and what that says.
#[napi(object)]
pub struct NativeWrittenPart {
    /// The text by which the driver knows it.
    pub text: String,
    /// Documents.
    pub document_count: f64,
}

impl From<WrittenPart> for NativeWrittenPart {
    #[allow(clippy::cast_precision_loss)] // fewer documents than 2^53
    fn from(part: WrittenPart) -> Self {
        Self { text: part.to_string(), document_count: part.document_count() as f64 }
    }
}

/// A written part from its text.
#[napi]
pub fn parse_written_part(text: String) -> napi::Result<NativeWrittenPart> {
    text.parse::<WrittenPart>().map(Into::into).map_err(thrown)
}
