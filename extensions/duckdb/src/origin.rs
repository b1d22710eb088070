//! Where a scan's bytes come from.

use crate::files::{Compression, File, FileSystem, decompressed};
use folio::{Collection, Documents, Scan};
use std::io::{self, Read};

/// Files that DuckDB opens, or a collection that FolioDB does.
pub(crate) enum Origin {
    Files(FileSystem),
    /// Documents are JSON, which is a part of Ion's text form.
    Collection(Collection),
}

impl Origin {
    /// The bytes called `path`, decompressed.
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

    /// The file at `path` if its bytes can be read in any order: one that is not compressed.
    pub(crate) fn open_plain(&self, path: &str, compression: Compression) -> Option<File> {
        match self {
            Origin::Files(system) if compression.of(path) == Compression::None => {
                system.open(path).ok()
            }
            _ => None,
        }
    }

    /// The file at `path`, which is not compressed, from `offset` on.
    pub(crate) fn open_at(&self, path: &str, offset: u64) -> Result<File, String> {
        let file = self.open_plain(path, Compression::None);
        let mut file = file.ok_or_else(|| format!("cannot open \"{path}\" again"))?;
        file.seek(offset).map_err(|error| format!("cannot read \"{path}\": {error}"))?;
        Ok(file)
    }

    /// How many bytes `path` has, as far as it is known.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        match self {
            Origin::Files(system) => system.open(path).ok().and_then(|file| file.size()),
            Origin::Collection(collection) => collection.stats().ok().map(|stats| stats.data_size),
        }
    }
}

/// An error with the file and the row it is in; `rows` come before that row.
pub(crate) fn locate(path: &str, rows: u64, error: &folio_ion::Error) -> String {
    format!("\"{path}\", row {}, byte {}: {}", rows + 1, error.offset(), error.message())
}

/// Documents that are looked up at a time.
const LOOKUPS: usize = 256;

/// The documents that have these ids, as a stream of lines.
pub(crate) fn found(collection: &Collection, ids: &[String]) -> Box<dyn Read + Send> {
    // What can be no id has no document.
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
    /// Adds more of them to an empty text; false at the end.
    more: F,
    /// What did not fit the last buffer, and how much of it was handed out.
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
