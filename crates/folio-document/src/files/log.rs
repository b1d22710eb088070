//! `meta/folio.batch.jsonl`: a batch before it is applied to its files.
//!
//! Several files cannot be replaced at once. So a batch is first written here in full and made
//! durable; from then on it counts. Its changes are applied to the files one by one, and the log is
//! removed when all of them are durable. A complete log that is found later is applied again: each
//! change says what a file becomes, so applying it twice does no harm. A log without its last line
//! is a batch that was not committed.
//!
//! ```text
//! {"_id":"a","x":1}
//! {"_tombstone":"b"}
//! {"_batch":{"count":2,"size":37,"checksum":"0123456789abcdef"}}
//! ```
//!
//! Lines are documents and delete markers as in `data.jsonl`. The last change of an id counts.
//! `size` is the offset of the last line. `checksum` is the XXH3-64 of all bytes before it and of
//! `import`, where an import stores how far it has come. No document starts with `_batch`, since
//! `_id` comes first.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode};
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3Default;

use crate::line::{self, Line, LineReader, TOMBSTONE_PREFIX};

const TRAILER_PREFIX: &[u8] = b"{\"_batch\":";

/// Lines are written in pieces of this size.
const CHUNK_SIZE: usize = 1 << 20;

/// What a batch does to one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The line is in the log.
    Put {
        offset: u64,
        size: usize,
    },
    Delete,
}

/// The last change of every id.
#[derive(Debug, Default)]
pub(super) struct Changes {
    by_id: HashMap<Arc<str>, Change>,
    /// In the order of their first change.
    ids: Vec<Arc<str>>,
}

impl Changes {
    fn set(&mut self, id: &str, change: Change) {
        if let Some(known) = self.by_id.get_mut(id) {
            *known = change;
            return;
        }
        let id: Arc<str> = id.into();
        self.ids.push(Arc::clone(&id));
        self.by_id.insert(id, change);
    }

    pub(super) fn get(&self, id: &str) -> Option<Change> {
        self.by_id.get(id).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Change)> {
        self.ids.iter().map(|id| (&**id, self.by_id[id]))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Writes the log of a batch.
pub(super) struct LogWriter {
    file: Arc<dyn File>,
    changes: Changes,
    buffer: Vec<u8>,
    /// Bytes already written, before the buffer.
    written: u64,
    count: u64,
    checksum: Xxh3Default,
}

impl LogWriter {
    /// Starts a log. Overwrites any file at the path.
    pub(super) fn create(files: &dyn FileSystem, path: &Path) -> io::Result<Self> {
        let file = files.open(path, OpenMode::Write)?;
        file.truncate(0)?;
        Ok(Self {
            file,
            changes: Changes::default(),
            buffer: Vec::new(),
            written: 0,
            count: 0,
            checksum: Xxh3Default::new(),
        })
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Bytes of the lines so far, line ends included.
    pub(super) fn size(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Adds a line: a document under this id, or its delete marker.
    pub(super) fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) -> io::Result<()> {
        let change = match is_tombstone {
            true => Change::Delete,
            false => Change::Put { offset: self.size(), size: text.len() },
        };
        self.changes.set(id, change);
        self.count += 1;
        self.buffer.extend_from_slice(text);
        self.buffer.push(b'\n');
        if self.buffer.len() >= CHUNK_SIZE { self.write_buffer() } else { Ok(()) }
    }

    /// Reads bytes of the lines so far.
    pub(super) fn read(&self, offset: u64, text: &mut [u8]) -> io::Result<()> {
        match offset.checked_sub(self.written) {
            Some(start) => {
                text.copy_from_slice(&self.buffer[start as usize..][..text.len()]);
                Ok(())
            }
            None if self.file.read_at(text, offset)? == text.len() => Ok(()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes the last line, which makes the batch count once it is durable.
    pub(super) fn seal(&mut self, import: Option<(u64, u64)>) -> io::Result<()> {
        self.write_buffer()?;
        let mut trailer = json!({
            "count": self.count,
            "size": self.written,
            "checksum": checksum_text(self.checksum.clone(), import),
        });
        if let Some((source, position)) = import {
            trailer["import"] = json!([source, position]);
        }
        let line = format!("{}\n", json!({ "_batch": trailer }));
        self.file.write_at(line.as_bytes(), self.written)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// The sealed batch.
    pub(super) fn into_pending(self, import: Option<(u64, u64)>) -> PendingBatch {
        PendingBatch { file: self.file, changes: self.changes, sealed_ns: None, import }
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.written)?;
        self.file.start_writeback(self.written, self.buffer.len() as u64);
        self.checksum.update(&self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LogWriter").field("count", &self.count).finish_non_exhaustive()
    }
}

/// A batch that counts, but is not, or not surely, in its files.
#[derive(Debug)]
pub(super) struct PendingBatch {
    file: Arc<dyn File>,
    changes: Changes,
    /// When the log was completed, if it was found on disk.
    pub(super) sealed_ns: Option<i128>,
    /// The source of an import, and how far it had come.
    pub(super) import: Option<(u64, u64)>,
}

/// What was found at the log's path.
#[derive(Debug)]
pub(super) enum FoundLog {
    Nothing,
    /// An unfinished batch, or damage, and its size in bytes.
    Incomplete(u64),
    Complete(PendingBatch),
}

impl FoundLog {
    /// Reads the log at a path, if there is one.
    pub(super) fn load(files: &dyn FileSystem, path: &Path) -> io::Result<Self> {
        let file = match files.open(path, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            opened => opened?,
        };
        let stat = file.stat()?;
        Ok(match read_changes(&*file, stat.size)? {
            None => Self::Incomplete(stat.size),
            Some((changes, import)) => Self::Complete(PendingBatch {
                file,
                changes,
                sealed_ns: Some(stat.modified_ns),
                import,
            }),
        })
    }
}

impl PendingBatch {
    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Reads the line of a put into `text`, which is cleared first.
    pub(super) fn read_line(&self, offset: u64, size: usize, text: &mut Vec<u8>) -> io::Result<()> {
        text.resize(size, 0);
        match self.file.read_at(text, offset)? {
            read if read == size => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The changes of a log and how far an import had come.
type Log = (Changes, Option<(u64, u64)>);

/// `None` if any byte of the log is missing or wrong.
fn read_changes(file: &dyn File, size: u64) -> io::Result<Option<Log>> {
    let mut reader = LineReader::new(file, 0, size);
    let mut changes = Changes::default();
    let mut checksum = Xxh3Default::new();
    let mut count = 0;
    while let Some(raw) = reader.next()? {
        if raw.text.starts_with(TRAILER_PREFIX) {
            let is_last = raw.terminated && raw.next == size;
            let trailer = Trailer::parse(raw.text).filter(|trailer| {
                is_last
                    && trailer.count == count
                    && trailer.size == raw.offset
                    && trailer.checksum == checksum_text(checksum, trailer.import)
            });
            return Ok(trailer.map(|trailer| (changes, trailer.import)));
        }
        let Some((id, is_tombstone)) = id_of_line(raw.text) else { return Ok(None) };
        let change = match is_tombstone {
            true => Change::Delete,
            false => Change::Put { offset: raw.offset, size: raw.text.len() },
        };
        changes.set(&id, change);
        checksum.update(raw.text);
        checksum.update(b"\n");
        count += 1;
    }
    Ok(None)
}

/// The id of a line, and whether it is a delete marker.
fn id_of_line(text: &[u8]) -> Option<(String, bool)> {
    if text.starts_with(TOMBSTONE_PREFIX) {
        return match line::examine(text) {
            Ok(Line::Tombstone(id)) => Some((id.to_owned(), true)),
            _ => None,
        };
    }
    let id = line::id_of_valid_line(text)?;
    folio_types::check_document_id(&id).ok()?;
    Some((id.into_owned(), false))
}

/// The checksum in the form of the last line.
fn checksum_text(mut lines: Xxh3Default, import: Option<(u64, u64)>) -> String {
    if let Some((source, position)) = import {
        lines.update(&source.to_le_bytes());
        lines.update(&position.to_le_bytes());
    }
    format!("{:016x}", lines.digest())
}

struct Trailer {
    count: u64,
    size: u64,
    checksum: String,
    import: Option<(u64, u64)>,
}

impl Trailer {
    fn parse(text: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(text).ok()?;
        let trailer = value.get("_batch")?;
        let import = match trailer.get("import") {
            None => None,
            Some(pair) => Some((pair.get(0)?.as_u64()?, pair.get(1)?.as_u64()?)),
        };
        Some(Self {
            count: trailer.get("count")?.as_u64()?,
            size: trailer.get("size")?.as_u64()?,
            checksum: trailer.get("checksum")?.as_str()?.to_owned(),
            import,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::MemoryFileSystem;

    const PATH: &str = "/batch";

    fn write(files: &MemoryFileSystem) -> PendingBatch {
        let mut log = LogWriter::create(files, Path::new(PATH)).unwrap();
        log.push("a", br#"{"_id":"a","x":1}"#, false).unwrap();
        log.push("b", &line::tombstone("b"), true).unwrap();
        log.push("a", br#"{"_id":"a","x":2}"#, false).unwrap();
        let import = Some((u64::MAX, 7));
        log.seal(import).unwrap();
        log.into_pending(import)
    }

    fn load(files: &MemoryFileSystem) -> FoundLog {
        FoundLog::load(files, Path::new(PATH)).unwrap()
    }

    #[test]
    fn what_was_written_is_loaded() {
        let files = MemoryFileSystem::new();
        assert!(matches!(load(&files), FoundLog::Nothing));
        let written = write(&files);
        let FoundLog::Complete(loaded) = load(&files) else { panic!("complete") };
        for batch in [written, loaded] {
            assert_eq!(batch.import, Some((u64::MAX, 7)));
            let changes: Vec<_> = batch.changes().iter().collect();
            assert_eq!(changes[1], ("b", Change::Delete));
            let ("a", Change::Put { offset, size }) = changes[0] else { panic!("a is put") };
            let mut text = Vec::new();
            batch.read_line(offset, size, &mut text).unwrap();
            assert_eq!(text, br#"{"_id":"a","x":2}"#);
        }
    }

    #[test]
    fn no_truncation_and_no_flipped_bit_counts() {
        let files = MemoryFileSystem::new();
        write(&files);
        let bytes = files.read(PATH).unwrap();
        for size in 0..bytes.len() {
            files.write(PATH, &bytes[..size]).unwrap();
            assert!(matches!(load(&files), FoundLog::Incomplete(_)), "cut at {size}");
        }
        for bit in 0..bytes.len() * 8 {
            files.write(PATH, &bytes).unwrap();
            files.flip_bit(PATH, bit as u64).unwrap();
            assert!(matches!(load(&files), FoundLog::Incomplete(_)), "bit {bit}");
        }
    }
}
