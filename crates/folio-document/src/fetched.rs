//! Documents that were looked up together.

use std::ops::Range;

use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use crate::Document;
use crate::error::Result;

/// Ids that one thread looks up at a time.
const CHUNK_COUNT: usize = 128;

/// With this many ids or more, waking another core pays off.
const PARALLEL_FROM: usize = 512;

/// The result of [`crate::Collection::get_many`], by position of the requested id.
#[derive(Debug, Default)]
pub struct Fetched {
    chunks: Vec<Chunk>,
    count: usize,
}

/// The lines for up to [`CHUNK_COUNT`] ids.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    text: Vec<u8>,
    /// Where each line is in `text`; `None` if the id has no document.
    lines: Vec<Option<Range<usize>>>,
}

impl Chunk {
    pub(crate) fn push(&mut self, line: Option<&Vec<u8>>) {
        let range = line.map(|line| {
            let start = self.text.len();
            self.text.extend_from_slice(line);
            start..self.text.len()
        });
        self.lines.push(range);
    }

    /// Whether every id had a document.
    pub(crate) fn is_full(&self) -> bool {
        self.lines.iter().all(Option::is_some)
    }
}

impl Fetched {
    /// Looks ids up in chunks, several chunks in parallel if there are many.
    pub(crate) fn of(ids: &[&str], get: impl Fn(&[&str]) -> Result<Chunk> + Sync) -> Result<Self> {
        let chunks = match ids.len() {
            0 => Vec::new(),
            1..PARALLEL_FROM => ids.chunks(CHUNK_COUNT).map(&get).collect::<Result<_>>()?,
            _ => ids.par_chunks(CHUNK_COUNT).map(&get).collect::<Result<_>>()?,
        };
        Ok(Self { chunks, count: ids.len() })
    }

    /// The number of requested ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no ids were requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact line of the id at a position, without its line end; `None` if the id has no
    /// document.
    #[must_use]
    pub fn line(&self, position: usize) -> Option<&[u8]> {
        let chunk = self.chunks.get(position / CHUNK_COUNT)?;
        let range = chunk.lines.get(position % CHUNK_COUNT)?.clone()?;
        Some(&chunk.text[range])
    }

    /// The lines in the order of the ids.
    pub fn lines(&self) -> impl Iterator<Item = Option<&[u8]>> {
        (0..self.count).map(|position| self.line(position))
    }

    /// The documents in the order of the ids.
    ///
    /// # Errors
    /// [`crate::Error::Json`], as an item, for a line that is not UTF-8.
    pub fn documents(&self) -> impl Iterator<Item = Result<Option<Document>>> {
        self.lines().map(|line| line.map(|line| Document::of_line(line.to_vec())).transpose())
    }
}
