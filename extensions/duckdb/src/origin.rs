//! The source of a scan's bytes.

use crate::files::{Compression, File, FileSystem, decompressed};
use folio::{Collection, Documents, Scan};
use std::io::{self, Read};

/// Files opened by DuckDB, or a collection opened by FolioDB.
pub(crate) enum Origin {
    Files(FileSystem),
    /// Documents are JSON, which is a subset of Ion's text form.
    Collection(Collection),
}

impl Origin {
    /// The decompressed bytes of `path`.
    pub(crate) fn open(
        &self,
        path: &str,
        compression: Compression,
    ) -> Result<Box<dyn Read + Send>, String> {
        match self {
            Origin::Files(system) => decompressed(system.open(path)?, path, compression),
            Origin::Collection(collection) => {
                let documents = collection.scan(Scan::new()).map_err(|error| error.to_string())?;
                Ok(all(documents))
            }
        }
    }

    /// The file at `path` if it has random access, that is, if it is not compressed.
    pub(crate) fn open_plain(&self, path: &str, compression: Compression) -> Option<File> {
        match self {
            Origin::Files(system) if compression.of(path) == Compression::None => {
                system.open(path).ok()
            }
            _ => None,
        }
    }

    /// The uncompressed file at `path`, from `offset` on.
    pub(crate) fn open_at(&self, path: &str, offset: u64) -> Result<File, String> {
        let file = self.open_plain(path, Compression::None);
        let mut file = file.ok_or_else(|| format!("cannot open \"{path}\" again"))?;
        file.seek(offset).map_err(|error| format!("cannot read \"{path}\": {error}"))?;
        Ok(file)
    }

    /// The size of `path` in bytes, if known.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        match self {
            Origin::Files(system) => system.open(path).ok().and_then(|file| file.size()),
            Origin::Collection(collection) => collection.stats().ok().map(|stats| stats.data_size),
        }
    }
}

/// An error with the file and its row, which follows `rows` others.
pub(crate) fn locate(path: &str, rows: u64, error: &folio_ion::Error) -> String {
    let help = match error.kind() {
        folio_ion::ErrorKind::Record => "; use records := false",
        folio_ion::ErrorKind::Size => "; raise maximum_object_size",
        _ => "",
    };
    format!("\"{path}\", row {}, byte {}: {}{help}", rows + 1, error.offset(), error.message())
}

/// The number of documents per lookup.
const LOOKUPS: usize = 256;

/// The documents that have these ids, as a stream of lines.
pub(crate) fn found(collection: &Collection, ids: &[String]) -> Box<dyn Read + Send> {
    // An invalid id has no document.
    let sound = ids.iter().filter(|id| folio::check_document_id(id).is_ok());
    let mut rest = sound.cloned().collect::<Vec<_>>().into_iter();
    let collection = collection.clone();
    Box::new(Lines::of(move |text: &mut Vec<u8>| {
        let chunk: Vec<String> = rest.by_ref().take(LOOKUPS).collect();
        for line in collection.get_many(&chunk)?.lines().flatten() {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        Ok(!chunk.is_empty())
    }))
}

/// All documents, as a stream of lines.
fn all(mut documents: Documents) -> Box<dyn Read + Send> {
    Box::new(Lines::of(move |text: &mut Vec<u8>| {
        let Some(line) = documents.next_line()? else { return Ok(false) };
        text.extend_from_slice(line);
        text.push(b'\n');
        Ok(true)
    }))
}

/// Lines as a stream of bytes.
struct Lines<F> {
    /// Appends more lines to an empty text; false at the end.
    more: F,
    /// Bytes that did not fit the last buffer, and how many were returned.
    rest: Vec<u8>,
    at: usize,
}

impl<F: FnMut(&mut Vec<u8>) -> folio::Result<bool>> Lines<F> {
    fn of(more: F) -> Lines<F> {
        Lines { more, rest: Vec::new(), at: 0 }
    }
}

impl<F: FnMut(&mut Vec<u8>) -> folio::Result<bool>> Read for Lines<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.at == self.rest.len() {
                self.at = 0;
                self.rest.clear();
                if !(self.more)(&mut self.rest).map_err(io::Error::other)? {
                    break;
                }
            }
            let size = (self.rest.len() - self.at).min(buffer.len() - filled);
            buffer[filled..filled + size].copy_from_slice(&self.rest[self.at..self.at + size]);
            self.at += size;
            filled += size;
        }
        Ok(filled)
    }
}
