//! Reads Arrow's IPC format (<https://arrow.apache.org/docs/format/IPC.html>), files and streams.
//!
//! A file is a stream of messages. The random-access form adds eight bytes before it and a footer
//! after it; reading all rows needs neither. Messages are decoded as they are read, so memory use
//! depends on what a file contains and not on what it claims. Compressed bodies are refused. If the
//! parser panics on a file, only the statement ends, with an error.

use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{StreamDecoder, read_footer_length};
use arrow_schema::{ArrowError, SchemaRef};
use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{Relation, RowStream, ScanRequest};
use folio_types::{Column, ErrorCode};

use super::batches::Slices;
use super::{check_types, columns};
use crate::format::guard;
use crate::format::row_file::RowFile;
use crate::format::whole::Whole;

/// The first bytes of files with a footer, padded to eight bytes.
const MAGIC: &[u8; 8] = b"ARROW1\0\0";
/// The latest start of the first message: writers pad the magic to their buffer alignment.
const PADDING_MAX: u64 = 4096;
/// The footer's length and the magic again, at the end of such files.
const TRAILER_SIZE: u64 = 10;
/// Bytes per read.
const CHUNK_SIZE: usize = 1 << 20;

/// An open file.
struct ArrowFile {
    path: String,
    whole: Whole,
}

/// Opens a file, and returns its columns.
///
/// # Errors
/// `io`; `corrupted` for a file of another format.
pub(crate) fn open(path: &str, whole: Whole) -> QueryResult<(Vec<Column>, Arc<dyn RowFile>)> {
    let file = ArrowFile { path: path.to_owned(), whole };
    let schema = Messages::begin(&file)?.schema()?;
    let columns = columns(schema.fields());
    Ok((columns, Arc::new(file)))
}

impl RowFile for ArrowFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let whose = format!("file {:?}", self.path);
        check_types(Messages::begin(&self)?.schema()?.fields(), &request.columns, &whose)?;
        let slices = Slices::new(relation, request, &whose);
        Ok(Box::new(FileRows { messages: Messages::begin(&self)?, slices }))
    }
}

struct FileRows {
    messages: Messages,
    slices: Slices,
}

impl RowStream for FileRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        loop {
            if let Some(batch) = self.slices.next()? {
                return Ok(Some(batch));
            }
            let Some(batch) = self.messages.next()? else { return Ok(None) };
            self.slices.begin(batch);
        }
    }
}

/// The batches of file content in memory.
///
/// # Errors
/// `corrupted` for content of another format; `unsupported` for compressed batches.
pub(crate) fn batches_of(content: &[u8]) -> QueryResult<(SchemaRef, Vec<RecordBatch>)> {
    let content: Arc<[u8]> = content.into();
    let size = content.len() as u64;
    let read_at = |offset: u64| {
        let mut reader = Cursor::new(Arc::clone(&content));
        reader.set_position(offset);
        Box::new(reader) as Box<dyn Read + Send>
    };
    let begin = || Messages::begin_in("the Arrow data", size, &read_at);
    let (schema, mut messages) = (begin()?.schema()?, begin()?);
    let mut batches = Vec::new();
    while let Some(batch) = messages.next()? {
        batches.push(batch);
    }
    Ok((schema, batches))
}

/// The messages of a file, decoded as they are read.
struct Messages {
    /// The name in errors.
    place: String,
    reader: std::io::Take<Box<dyn Read + Send>>,
    decoder: StreamDecoder,
    /// Bytes read but not decoded yet.
    chunk: Buffer,
}

impl Messages {
    fn begin(file: &ArrowFile) -> QueryResult<Self> {
        let read_at = |offset: u64| Box::new(file.whole.reader(offset)) as Box<dyn Read + Send>;
        Self::begin_in(&format!("file {:?}", file.path), file.whole.size(), &read_at)
    }

    /// Begins at the first message of `size` bytes.
    fn begin_in(
        place: &str,
        size: u64,
        read_at: &dyn Fn(u64) -> Box<dyn Read + Send>,
    ) -> QueryResult<Self> {
        let read = |offset: u64, size: u64| {
            let mut bytes = Vec::new();
            read_at(offset).take(size).read_to_end(&mut bytes).map(|_| bytes)
        };
        let failed = |error| unread(place, &error);
        let (mut start, mut end) = (0, size);
        if read(0, MAGIC.len() as u64).map_err(failed)? == MAGIC {
            let trailer = end.checked_sub(TRAILER_SIZE).map(|at| read(at, TRAILER_SIZE));
            let trailer = trailer.transpose().map_err(failed)?.unwrap_or_default();
            let footer = <[u8; 10]>::try_from(trailer).ok();
            let footer = footer.and_then(|trailer| read_footer_length(trailer).ok());
            let footer = footer.and_then(|size| end.checked_sub(TRAILER_SIZE + size as u64));
            let begin = read(0, PADDING_MAX).map_err(failed)?;
            let words = begin.as_chunks::<8>().0.iter().skip(1);
            start = 8 + 8 * words.take_while(|word| **word == [0; 8]).count() as u64;
            end = footer.ok_or_else(|| damaged(place, "it has no footer"))?;
        }
        Ok(Self {
            place: place.to_owned(),
            reader: read_at(start).take(end.saturating_sub(start)),
            decoder: StreamDecoder::new(),
            chunk: Buffer::default(),
        })
    }

    /// The schema of the file, from its first message.
    fn schema(mut self) -> QueryResult<SchemaRef> {
        while self.decoder.schema().is_none() && self.read()? {
            // Decode only the message with the schema: the caller would lose a batch.
            self.decode()?;
        }
        self.decoder.schema().ok_or_else(|| damaged(&self.place, "it has no schema"))
    }

    fn next(&mut self) -> QueryResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.decode()? {
                return Ok(Some(batch));
            }
            if !self.read()? {
                let decoder = &mut self.decoder;
                guarded(&self.place, || decoder.finish())?;
                return Ok(None);
            }
        }
    }

    /// Reads more bytes; `false` at the end.
    fn read(&mut self) -> QueryResult<bool> {
        let mut bytes = Vec::with_capacity(CHUNK_SIZE);
        let reader = self.reader.by_ref();
        reader
            .take(CHUNK_SIZE as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| unread(&self.place, &error))?;
        self.chunk = Buffer::from_vec(bytes);
        Ok(!self.chunk.is_empty())
    }

    fn decode(&mut self) -> QueryResult<Option<RecordBatch>> {
        let (decoder, chunk) = (&mut self.decoder, &mut self.chunk);
        guarded(&self.place, || decoder.decode(chunk))
    }
}

/// Runs the parser. A panic on a file's content becomes an error.
fn guarded<T>(place: &str, work: impl FnOnce() -> Result<T, ArrowError>) -> QueryResult<T> {
    match guard::guarded(work) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(refused(place, &error)),
        None => Err(damaged(place, "its content is invalid")),
    }
}

fn refused(place: &str, error: &ArrowError) -> QueryError {
    let text = error.to_string();
    if !text.contains("compression") {
        return damaged(place, &text);
    }
    let text = format!("{place} has compressed batches, which are not supported");
    QueryError::new(ErrorCode::Unsupported, text)
        .help("write it without compression, or as Parquet")
}

fn damaged(place: &str, problem: &str) -> QueryError {
    let text = format!("{place} cannot be read as Arrow: {problem}");
    QueryError::new(ErrorCode::Corrupted, text).help("check that it is complete")
}

fn unread(place: &str, error: &std::io::Error) -> QueryError {
    QueryError::new(ErrorCode::Io, format!("cannot read {place}: {error}"))
}
