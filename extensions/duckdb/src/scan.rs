//! The scan of `read_ion`, and of `read_folio` for collections.
//!
//! One large file is cut in [pieces](crate::pieces), by all threads concurrently. Otherwise one
//! thread at a time cuts the next block off the current file, under a lock. All threads
//! concurrently read blocks into columns and copy them into vectors. A query that needs no values
//! of the records is answered from the row counts of the blocks. `count(*)` is not such a query:
//! DuckDB requests the first column for it. If a few documents of a collection are wanted by id,
//! they are looked up, and only they are cut.

use crate::bind::{Bound, Output, partitions};
use crate::emit::emit;
use crate::host::{Vector, vector_size};
use crate::origin::{Origin, found, locate};
use crate::pieces::{Handle, Next, Pieces};
use crate::profile::{Phase, Profile};
use crate::pushed::Pushed;
use folio_ion::shred::{Batch, Block, Field, Layout};
use folio_ion::{Format, Place, Splitter};
use std::io::Read;
use std::sync::{Mutex, PoisonError};

const BLOCK_SIZE: usize = 512 << 10;

type Source = Splitter<Box<dyn Read + Send>>;

/// A block, the index of its file, and the rows of earlier files.
type Cut = (usize, Block, u64);

/// The state shared by the threads of one scan.
pub(crate) struct Scan {
    /// The wanted columns of the values.
    layout: Layout,
    /// The wanted result columns.
    outputs: Vec<Option<Output>>,
    /// Cuts the file, if it can be cut by several threads.
    pieces: Option<Pieces>,
    cutter: Mutex<Cutter>,
    pushed: Pushed,
    profile: Profile,
}

/// The file being cut.
struct Cutter {
    next_file: usize,
    /// Rows of the files before the current one.
    rows_before: u64,
    current: Option<(usize, Source)>,
}

/// The state of a thread between calls.
#[derive(Default)]
pub(crate) struct Worker {
    batch: Option<Batch>,
    block: Option<(usize, Block)>,
    /// Rows of the scan before the block, as if no file were skipped.
    first_row: u64,
    at: usize,
    /// Rows of the block that are done.
    done: u64,
    recycled: Vec<u8>,
    handle: Handle,
}

/// The number of blocks, by the files' sizes, as the number of threads.
pub(crate) fn threads(bound: &Bound) -> u64 {
    if bound.options.ids.is_some() {
        return 1;
    }
    let sizes = bound.files.iter().take(64).filter_map(|path| bound.origin.size(path));
    let bytes: u64 = sizes.sum();
    bytes / BLOCK_SIZE as u64 + 1
}

impl Worker {
    /// The position of the last rows in the scan, to put the rows of all threads in order. It never
    /// decreases.
    #[cfg(feature = "pinned")]
    pub(crate) fn batch_number(&self) -> u64 {
        self.first_row
    }

    /// Finishes the block, and keeps its memory for reuse.
    fn recycle(&mut self) {
        self.recycled = self.block.take().map(|(_, block)| block.bytes).unwrap_or_default();
    }
}

impl Scan {
    /// A scan of the columns at the positions `wanted`, with the rows that filters leave.
    pub(crate) fn new(bound: &Bound, wanted: &[u64], mut pushed: Pushed) -> Scan {
        if let Some(ids) = &bound.options.ids {
            pushed.keep(ids);
        }
        let mut fields = Vec::new();
        let mut outputs = Vec::new();
        for index in wanted {
            // DuckDB requests a column that does not exist for a query without columns.
            let output = usize::try_from(*index).ok().and_then(|index| bound.outputs.get(index));
            outputs.push(output.map(|(_, output)| match (output, &bound.layout) {
                (Output::Column(column), Layout::Records(all)) => {
                    fields.push(Field::clone(&all[*column]));
                    Output::Column(fields.len() - 1)
                }
                (other, _) => other.clone(),
            }));
        }
        let layout = match &bound.layout {
            Layout::Records(_) => Layout::Records(fields),
            values => values.clone(),
        };
        Scan {
            layout,
            outputs,
            pieces: Pieces::of(bound).filter(|_| pushed.spared.iter().all(|spared| !spared)),
            pushed,
            cutter: Mutex::new(Cutter { next_file: 0, rows_before: 0, current: None }),
            profile: Profile::new(bound.options.profile),
        }
    }

    /// Whether the query only counts rows.
    fn counts_only(&self) -> bool {
        let needs_values =
            |output: &Output| matches!(output, Output::Column(_) | Output::Annotations);
        !self.outputs.iter().flatten().any(needs_values)
    }

    /// Fills the worker's batch with the next rows. Returns their number, zero at the end.
    pub(crate) fn next(&self, bound: &Bound, worker: &mut Worker) -> Result<usize, String> {
        let vector_size = vector_size();
        loop {
            let Some((file, block)) = &worker.block else {
                if !self.next_block(bound, worker)? {
                    return Ok(0);
                }
                continue;
            };
            if self.counts_only() {
                let rows = (block.row_count - worker.done).min(vector_size as u64);
                worker.done += rows;
                if rows > 0 {
                    return Ok(rows as usize);
                }
                worker.recycle();
                continue;
            }
            if worker.at >= block.bytes.len() {
                worker.recycle();
                continue;
            }
            let batch = worker.batch.get_or_insert_with(|| self.batch(bound));
            batch.clear();
            let read =
                self.profile.time(Phase::Parse, || batch.read(block, &mut worker.at, vector_size));
            let rows = batch.row_count();
            worker.done += rows as u64;
            if let Err(error) = read {
                if !bound.options.ignore_errors {
                    return Err(locate(&bound.files[*file], block.first_row + worker.done, &error));
                }
                worker.done += 1;
                worker.at = block.skip(worker.at).unwrap_or(block.bytes.len());
            }
            if rows > 0 {
                return Ok(rows);
            }
        }
    }

    fn batch(&self, bound: &Bound) -> Batch {
        let batch = Batch::new(&self.layout, bound.options.limits);
        match self.outputs.contains(&Some(Output::Annotations)) {
            true => batch.with_annotations(),
            false => batch,
        }
    }

    /// Gives the worker the next block; false when all files are done.
    fn next_block(&self, bound: &Bound, worker: &mut Worker) -> Result<bool, String> {
        let block = self.profile.time(Phase::Cut, || self.cut(bound, worker))?;
        let Some((file, block, rows_before)) = block else { return Ok(false) };
        self.profile.block(block.bytes.len(), block.row_count);
        worker.first_row = rows_before + block.first_row;
        worker.at = block.start;
        worker.done = 0;
        worker.block = Some((file, block));
        Ok(true)
    }

    fn cut(&self, bound: &Bound, worker: &mut Worker) -> Result<Option<Cut>, String> {
        let mut recycled = std::mem::take(&mut worker.recycled);
        let next = self
            .pieces
            .as_ref()
            .map(|pieces| pieces.next(bound, &mut worker.handle, std::mem::take(&mut recycled)));
        let place = match next {
            Some(Next::Rows(block)) => return Ok(Some((0, block, 0))),
            Some(Next::End) => return Ok(None),
            Some(Next::InOrder(place)) => Some(place),
            None => None,
        };
        let mut cutter = self.cutter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = place {
            cutter.resume(bound, place)?;
        }
        cutter.next_block(bound, &self.pushed, recycled)
    }

    /// Copies the worker's rows into the vectors of the outputs.
    ///
    /// # Safety
    ///
    /// `vector` gives a flat vector for each of the scan's outputs, of the type it was bound with and
    /// with room for `count` rows, which [`Scan::next`] has just read.
    pub(crate) unsafe fn emit_rows(
        &self,
        bound: &Bound,
        worker: &Worker,
        count: usize,
        vector: impl Fn(usize) -> Vector,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise.
        self.profile.time(Phase::Emit, || unsafe { self.emit(bound, worker, count, vector) })
    }

    /// # Safety
    ///
    /// As [`Scan::emit_rows`].
    unsafe fn emit(
        &self,
        bound: &Bound,
        worker: &Worker,
        count: usize,
        vector: impl Fn(usize) -> Vector,
    ) -> Result<(), String> {
        let path = &bound.files[worker.block.as_ref().map_or(0, |(file, _)| *file)];
        let batch = worker.batch.as_ref();
        for (index, wanted) in self.outputs.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                match (wanted, batch) {
                    (Some(Output::Column(column)), Some(batch)) => {
                        emit(&batch.columns()[*column], vector(index))?;
                    }
                    (Some(Output::Annotations), Some(batch)) => {
                        if let Some(annotations) = batch.annotations() {
                            emit(annotations, vector(index))?;
                        }
                    }
                    (Some(Output::Filename), _) => vector(index).set_constant(Some(path), count),
                    (Some(Output::Partition(name)), _) => {
                        let mut found = partitions(path);
                        let value = found.find(|(known, _)| known == name).map(|(_, value)| value);
                        vector(index).set_constant(value, count);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Cutter {
    /// Continues in the first file at `place`, unless another thread has done so already.
    fn resume(&mut self, bound: &Bound, place: Place) -> Result<(), String> {
        if self.next_file > 0 {
            return Ok(());
        }
        let source: Box<dyn Read + Send> =
            Box::new(bound.origin.open_at(&bound.files[0], place.offset)?);
        let limits = bound.options.limits;
        let splitter = Splitter::resumed(source, BLOCK_SIZE, Format::Values, limits, place);
        self.current = Some((0, splitter));
        self.next_file = 1;
        Ok(())
    }

    fn next_block(
        &mut self,
        bound: &Bound,
        pushed: &Pushed,
        mut recycled: Vec<u8>,
    ) -> Result<Option<Cut>, String> {
        loop {
            if self.current.is_none() {
                let Some(path) = bound.files.get(self.next_file) else { return Ok(None) };
                if pushed.spared.get(self.next_file) == Some(&true) {
                    self.next_file += 1;
                    continue;
                }
                let options = &bound.options;
                let source = match (&bound.origin, &pushed.ids) {
                    (Origin::Collection(collection), Some(ids)) => found(collection, ids),
                    (origin, _) => origin.open(path, options.compression)?,
                };
                let splitter = Splitter::new(source, BLOCK_SIZE, options.format, options.limits);
                self.current = Some((self.next_file, splitter));
                self.next_file += 1;
            }
            let Some((file, splitter)) = &mut self.current else { continue };
            match splitter.next_block(recycled) {
                Ok(Some(block)) => return Ok(Some((*file, block, self.rows_before))),
                Ok(None) => {
                    self.rows_before += splitter.row_count();
                    recycled = Vec::new();
                    self.current = None;
                }
                Err(error) => {
                    return Err(locate(&bound.files[*file], splitter.row_count(), &error));
                }
            }
        }
    }
}
