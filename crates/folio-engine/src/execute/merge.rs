//! External merge sort: sorted runs, and their merge (Knuth, The Art of Computer Programming 3,
//! 5.4).
//!
//! Rows are collected into a run, which is sorted. If all runs together need more memory than an
//! operator may hold, they are written to a file. In the end the runs are merged with a heap. Keys
//! are compared as bytes that have the order of the values (Arrow's row format), and are computed
//! again for rows read from the file. The sort is stable: earlier runs come first, and positions
//! decide within a run.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_row::{RowConverter, Rows};
use arrow_select::interleave::interleave;
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::Pieces;
use super::sort_keys::{sort_columns, sort_fields};
use super::spill::Spill;
use crate::context::Context;
use crate::limits::Held;
use crate::plan::physical;

/// Maximum number of rows in a run.
const RUN_ROWS: usize = 1 << 20;

/// Collects rows into runs.
pub(super) struct Runs {
    node: Arc<physical::Sort>,
    converter: RowConverter,
    /// Rows of the current run.
    gathered: Vec<Batch>,
    gathered_rows: usize,
    gathered_size: usize,
    /// Sorted runs in memory. They come after those in the file.
    held: Vec<Batch>,
    held_size: usize,
    spill: Option<Spill>,
    spilled_count: usize,
    held_memory: Held,
}

impl Runs {
    pub(super) fn new(node: &Arc<physical::Sort>) -> Result<Self> {
        assert!(!node.keys.is_empty(), "an order has keys");
        Ok(Self {
            node: Arc::clone(node),
            converter: RowConverter::new(sort_fields(&node.keys))?,
            gathered: Vec::new(),
            gathered_rows: 0,
            gathered_size: 0,
            held: Vec::new(),
            held_size: 0,
            spill: None,
            spilled_count: 0,
            held_memory: Held::default(),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Errors of the keys and the file.
    pub(super) fn push(&mut self, batch: Batch, context: &Context) -> Result<()> {
        self.gathered_rows += batch.row_count;
        self.gathered_size += batch.size();
        self.gathered.push(batch);
        // Sorting copies the run, so it may use half of the memory.
        let is_full = context.is_full(2 * self.gathered_size);
        if self.gathered_rows >= RUN_ROWS || is_full {
            self.end_run(context)?;
        }
        self.charge(0, context)
    }

    /// Counts the rows of all runs in memory, and the keys of the current one.
    fn charge(&mut self, keys_size: usize, context: &Context) -> Result<()> {
        let size = self.gathered_size + self.held_size + keys_size;
        self.held_memory.charge(context.limits(), size)
    }

    /// Sorts the current run. Writes all runs if they need too much memory.
    fn end_run(&mut self, context: &Context) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let rows = Batch::concat(&std::mem::take(&mut self.gathered))?;
        (self.gathered_rows, self.gathered_size) = (0, 0);
        let keys = keys_of(&self.node, &self.converter, &rows, context)?;
        self.charge(rows.size() + keys.size(), context)?;
        let run = rows.take(&order_of(&keys))?;
        self.held_size += run.size();
        self.held.push(run);
        if context.is_full(2 * self.held_size) {
            self.write_runs(context)?;
        }
        Ok(())
    }

    fn write_runs(&mut self, context: &Context) -> Result<()> {
        if self.spill.is_none() {
            self.spill = Spill::new(&self.node.types, context)?;
        }
        let Some(spill) = &mut self.spill else { return Ok(()) };
        for run in self.held.drain(..) {
            for piece in Pieces::of(run) {
                context.check()?;
                spill.write(&piece, |_| self.spilled_count, context)?;
            }
            spill.finish(context)?;
            self.spilled_count += 1;
        }
        self.held_size = 0;
        Ok(())
    }

    /// All rows in order.
    ///
    /// # Errors
    /// Errors of the keys and the file.
    pub(super) fn merge(mut self, context: &Context) -> Result<Merge> {
        self.end_run(context)?;
        let spilled = (0..self.spilled_count).map(From::Spill);
        let held = self.held.into_iter().map(|run| From::Memory(Pieces::of(run)));
        let mut merge = Merge {
            node: self.node,
            converter: self.converter,
            spill: self.spill,
            runs: Vec::new(),
            heap: Vec::new(),
            held_size: self.held_size,
            held: self.held_memory,
        };
        for from in spilled.chain(held) {
            if let Some(run) = merge.begin(from, context)? {
                merge.runs.push(run);
            }
        }
        merge.charge(context)?;
        merge.heap = (0..merge.runs.len()).collect();
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift(place);
        }
        Ok(merge)
    }
}

/// A merge of runs.
pub(super) struct Merge {
    node: Arc<physical::Sort>,
    converter: RowConverter,
    spill: Option<Spill>,
    runs: Vec<Run>,
    /// A heap of the runs that have rows, the least row at the top.
    heap: Vec<usize>,
    /// Memory of the runs that are not in the file.
    held_size: usize,
    held: Held,
}

/// The source of a run's rows.
enum From {
    Memory(Pieces),
    Spill(usize),
}

/// A run, with the rows of it that are loaded.
struct Run {
    from: From,
    rows: Batch,
    keys: Rows,
    /// The position of the next row.
    at: usize,
    /// The index of its rows among the parts of the current batch.
    part: Option<usize>,
}

impl Merge {
    fn begin(&mut self, mut from: From, context: &Context) -> Result<Option<Run>> {
        let Some(rows) = load(&mut from, &mut self.spill)? else { return Ok(None) };
        let keys = keys_of(&self.node, &self.converter, &rows, context)?;
        Ok(Some(Run { from, rows, keys, at: 0, part: None }))
    }

    /// Counts the runs in memory, and the loaded rows of the others.
    fn charge(&mut self, context: &Context) -> Result<()> {
        let loaded = self.runs.iter().map(|run| {
            let rows = if matches!(run.from, From::Spill(_)) { run.rows.size() } else { 0 };
            rows + run.keys.size()
        });
        self.held.charge(context.limits(), self.held_size + loaded.sum::<usize>())
    }

    /// The next rows in order, at most `wanted`; `None` after the last.
    ///
    /// # Errors
    /// Errors of the keys and the file.
    pub(super) fn next(&mut self, wanted: usize, context: &Context) -> Result<Option<Batch>> {
        let wanted = wanted.min(BATCH_SIZE);
        let (mut parts, mut places) = (Vec::new(), Vec::with_capacity(wanted));
        self.runs.iter_mut().for_each(|run| run.part = None);
        while places.len() < wanted
            && let Some(top) = self.heap.first().copied()
        {
            let run = &mut self.runs[top];
            let part = *run.part.get_or_insert_with(|| {
                parts.push(run.rows.clone());
                parts.len() - 1
            });
            places.push((part, run.at));
            run.at += 1;
            if run.at == run.rows.row_count && !self.refill(top, context)? {
                self.heap.swap_remove(0);
            }
            self.sift(0);
        }
        if places.is_empty() {
            return Ok(None);
        }
        let columns = (0..parts[0].columns.len()).map(|column| {
            let parts: Vec<&dyn Array> = parts.iter().map(|part| &*part.columns[column]).collect();
            Ok(interleave(&parts, &places)?)
        });
        Ok(Some(Batch::new(columns.collect::<Result<_>>()?, places.len())))
    }

    /// Loads the next rows of a run; `false` at its end.
    fn refill(&mut self, index: usize, context: &Context) -> Result<bool> {
        let run = &mut self.runs[index];
        let Some(rows) = load(&mut run.from, &mut self.spill)? else { return Ok(false) };
        run.keys = keys_of(&self.node, &self.converter, &rows, context)?;
        (run.rows, run.at, run.part) = (rows, 0, None);
        Ok(true)
    }

    /// Restores the heap order below a place.
    fn sift(&mut self, mut place: usize) {
        loop {
            let below = [2 * place + 1, 2 * place + 2];
            let least = below
                .into_iter()
                .filter(|child| *child < self.heap.len())
                .min_by(|a, b| self.order(self.heap[*a], self.heap[*b]));
            match least {
                Some(child) if self.order(self.heap[child], self.heap[place]).is_lt() => {
                    self.heap.swap(child, place);
                    place = child;
                }
                _ => return,
            }
        }
    }

    fn order(&self, left: usize, right: usize) -> Ordering {
        let key = |index: usize| {
            let run = &self.runs[index];
            run.keys.row(run.at)
        };
        key(left).cmp(&key(right)).then(left.cmp(&right))
    }
}

fn load(from: &mut From, spill: &mut Option<Spill>) -> Result<Option<Batch>> {
    match (from, spill) {
        (From::Memory(pieces), _) => Ok(pieces.next()),
        (From::Spill(run), Some(spill)) => spill.next(*run),
        (From::Spill(_), None) => Ok(None),
    }
}

/// The sort keys as bytes.
fn keys_of(
    node: &physical::Sort,
    converter: &RowConverter,
    rows: &Batch,
    context: &Context,
) -> Result<Rows> {
    let columns = sort_columns(rows, &node.keys, context)?;
    let keys: Vec<ArrayRef> = columns.into_iter().map(|column| column.values).collect();
    Ok(converter.convert_columns(&keys)?)
}

/// Sorts rows by their keys. The first eight bytes of the keys lie side by side and decide most
/// comparisons.
fn order_of(keys: &Rows) -> UInt32Array {
    let head = |bytes: &[u8]| {
        let mut head = [0; 8];
        let length = bytes.len().min(8);
        head[..length].copy_from_slice(&bytes[..length]);
        u64::from_be_bytes(head)
    };
    let mut order: Vec<(u64, u32)> =
        keys.iter().zip(0u32..).map(|(key, row)| (head(key.data()), row)).collect();
    order.sort_unstable_by(|left, right| {
        left.0
            .cmp(&right.0)
            .then_with(|| keys.row(left.1 as usize).cmp(&keys.row(right.1 as usize)))
            .then_with(|| left.1.cmp(&right.1))
    });
    order.into_iter().map(|(_, row)| row).collect()
}
