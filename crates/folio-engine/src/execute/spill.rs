//! Spill files: rows that do not fit in memory, in a file from the source.
//!
//! Rows are written to any number of *runs*, and each run is read back in the order it was
//! written. A run is a partition of a grouping, or a sorted part of a sort. Rows are stored in
//! Arrow's row format, which restores their columns exactly. The pending rows of a run are written
//! when they fill a chunk:
//!
//! ```text
//! chunk: length of each row, u32 little endian · the rows, concatenated
//! ```
//!
//! The offset, row count and checksum of each chunk stay in memory. The file has no header and no
//! permanent name, and is deleted after its last reader. A chunk that reads back differently than
//! it was written is an error.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use arrow_array::ArrayRef;
use arrow_row::{RowConverter, Rows, SortField};
use foldhash::fast::FixedState;
use folio_compute::{Batch, Error, Result};
use folio_types::{ColumnType, ErrorCode};

use crate::context::Context;
use crate::limits::Held;
use crate::source::SpillFile;

/// Bytes of a run that are written together, at least and at most. Each run of a spill holds as
/// much until it is written.
const CHUNK_SIZES: (usize, usize) = (4 << 10, 64 << 10);

/// Rows in a file, in runs.
pub(super) struct Spill {
    converter: RowConverter,
    file: Box<dyn SpillFile>,
    /// The end of the file.
    end: u64,
    runs: Vec<Run>,
    /// Bytes of a run that are written together.
    chunk_size: usize,
    /// Memory of the pending rows and of the list of chunks.
    held: Held,
}

/// Rows that are read in the order they were written.
#[derive(Default)]
struct Run {
    lengths: Vec<u32>,
    bytes: Vec<u8>,
    chunks: VecDeque<Chunk>,
}

/// A chunk of a run in the file.
#[derive(Clone, Copy)]
struct Chunk {
    offset: u64,
    size: usize,
    row_count: usize,
    hash: u64,
}

impl Spill {
    /// A spill for rows of these types; `None` if the source has no files, and for rows without
    /// columns, which are all equal.
    ///
    /// # Errors
    /// Errors of the source.
    pub(super) fn new(types: &[ColumnType], context: &Context) -> Result<Option<Self>> {
        if types.is_empty() {
            return Ok(None);
        }
        let fields: Vec<SortField> = types.iter().map(|ty| SortField::new(ty.to_arrow())).collect();
        let Some(file) = context.source()?.spill_file()? else { return Ok(None) };
        let converter = RowConverter::new(fields)?;
        let chunk_size = (context.work_memory() / 64).clamp(CHUNK_SIZES.0, CHUNK_SIZES.1);
        let (runs, held) = (Vec::new(), Held::default());
        Ok(Some(Self { converter, file, end: 0, runs, chunk_size, held }))
    }

    /// Writes each row of a batch to the run that `run_of` gives.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn write(
        &mut self,
        batch: &Batch,
        run_of: impl Fn(usize) -> usize,
        context: &Context,
    ) -> Result<()> {
        let rows: Rows = self.converter.convert_columns(&batch.columns)?;
        for (row, bytes) in rows.iter().enumerate() {
            let index = run_of(row);
            if index >= self.runs.len() {
                self.runs.resize_with(index + 1, Run::default);
            }
            let run = &mut self.runs[index];
            let bytes = bytes.data();
            run.lengths.push(u32::try_from(bytes.len()).map_err(|_| too_long())?);
            run.bytes.extend_from_slice(bytes);
            if run.bytes.len() >= self.chunk_size {
                run.flush(&mut *self.file, &mut self.end)?;
            }
        }
        self.charge(context)
    }

    fn charge(&mut self, context: &Context) -> Result<()> {
        self.held.charge(context.limits(), self.runs.iter().map(Run::size).sum())
    }

    /// Writes the pending rows of all runs, so that they can be read.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn finish(&mut self, context: &Context) -> Result<()> {
        for run in &mut self.runs {
            run.flush(&mut *self.file, &mut self.end)?;
            (run.lengths, run.bytes) = (Vec::new(), Vec::new());
        }
        self.charge(context)
    }

    /// Number of runs.
    pub(super) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// The next rows of a run; `None` after the last, or if nothing was written to the run.
    ///
    /// # Errors
    /// Errors of the file; `corrupted` if it lost what was written.
    pub(super) fn next(&mut self, run: usize) -> Result<Option<Batch>> {
        let chunks = self.runs.get_mut(run).map(|run| &mut run.chunks);
        let Some(chunk) = chunks.and_then(VecDeque::pop_front) else { return Ok(None) };
        self.rows_of(&chunk).map(Some)
    }

    /// The rows of a chunk, without consuming it; `None` after the last chunk.
    ///
    /// # Errors
    /// As [`Spill::next`].
    pub(super) fn read(&mut self, run: usize, chunk: usize) -> Result<Option<Batch>> {
        let found = self.runs.get(run).and_then(|run| run.chunks.get(chunk).copied());
        found.map(|chunk| self.rows_of(&chunk)).transpose()
    }

    fn rows_of(&mut self, chunk: &Chunk) -> Result<Batch> {
        let mut bytes = vec![0; chunk.size];
        self.file.read(&mut bytes, chunk.offset)?;
        if hash(&bytes) != chunk.hash {
            return Err(lost());
        }
        let (lengths, mut rest) = bytes.split_at(chunk.row_count * size_of::<u32>());
        let parser = self.converter.parser();
        let mut rows = Vec::with_capacity(chunk.row_count);
        for length in lengths.as_chunks::<4>().0 {
            let (row, after) = rest.split_at(u32::from_le_bytes(*length) as usize);
            rows.push(parser.parse(row));
            rest = after;
        }
        let columns: Vec<ArrayRef> = self.converter.convert_rows(rows)?;
        Ok(Batch::new(columns, chunk.row_count))
    }
}

impl Run {
    /// Memory, in bytes.
    fn size(&self) -> usize {
        let lengths = self.lengths.capacity() * size_of::<u32>();
        lengths + self.bytes.capacity() + self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Writes the pending rows as a chunk.
    fn flush(&mut self, file: &mut dyn SpillFile, end: &mut u64) -> Result<()> {
        if self.lengths.is_empty() {
            return Ok(());
        }
        let lengths = self.lengths.iter().flat_map(|length| length.to_le_bytes());
        let mut bytes: Vec<u8> = lengths.collect();
        bytes.extend_from_slice(&self.bytes);
        file.write(&bytes, *end)?;
        self.chunks.push_back(Chunk {
            offset: *end,
            size: bytes.len(),
            row_count: self.lengths.len(),
            hash: hash(&bytes),
        });
        *end += bytes.len() as u64;
        self.lengths.clear();
        self.bytes.clear();
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

fn too_long() -> Error {
    Error::unsupported("a row of more than 4 GiB does not fit the spill file")
}

fn lost() -> Error {
    let text = "the spill file does not read back as it was written";
    Error::new(ErrorCode::Corrupted, text).help("check the disk, and run the statement again")
}
