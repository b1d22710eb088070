//! Infers the types of a call's files from their first values.
//!
//! A query waits for this before its scan begins, and a sample of wide records takes a while. So if
//! DuckDB has several threads, the blocks of a file are shared out. One thread at a time cuts the
//! next block, all observe theirs concurrently, and the results are merged as if one thread had
//! seen all. The binding thread opens the files, because DuckDB lends its file systems to that one.

use crate::options::Options;
use crate::origin::{Origin, locate};
use folio_ion::Splitter;
use folio_ion::shred::{Block, Inference};
use std::io::Read;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const BLOCK_SIZE: usize = 256 << 10;

/// More threads than this would wait for each other.
const MOST_THREADS: usize = 4;

/// A sample, and the current file.
struct Sample<'a> {
    options: &'a Options,
    path: &'a str,
    cutter: Mutex<Cutter>,
}

struct Cutter {
    splitter: Splitter<Box<dyn Read + Send>>,
    /// The number of values still to sample.
    left: u64,
    /// The number of blocks cut so far.
    blocks: u64,
    /// The first error in file order, with its block.
    failed: Option<(u64, String)>,
}

/// A block to observe.
struct Cut {
    number: u64,
    /// How many of its values.
    count: u64,
    block: Block,
}

/// Observes the first values of `files`, with up to `threads` threads.
///
/// # Errors
///
/// The first value in the sample that cannot be read, with its position.
pub(crate) fn look(
    files: &[String],
    origin: &Origin,
    options: &Options,
    threads: usize,
) -> Result<Inference, String> {
    let mut inference = Inference::new();
    let (mut left, mut blocks) = (options.sample_size.unwrap_or(u64::MAX), 0);
    for path in files.iter().take(options.sample_files) {
        if left == 0 {
            break;
        }
        let source = origin.open(path, options.compression)?;
        let splitter = Splitter::new(source, BLOCK_SIZE, options.format, options.limits);
        let cutter = Cutter { splitter, left, blocks, failed: None };
        let sample = Sample { options, path, cutter: Mutex::new(cutter) };
        inference = sample.observe(inference, threads);
        let cutter = sample.cutter.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = cutter.failed {
            return Err(error);
        }
        (left, blocks) = (cutter.left, cutter.blocks);
    }
    Ok(inference)
}

impl Sample<'_> {
    /// Observes the values of the file, with up to `threads` threads.
    fn observe(&self, mut inference: Inference, threads: usize) -> Inference {
        // Many files have just one block; threads are for larger ones.
        if !self.observe_next(&mut inference, &mut Vec::new()) {
            return inference;
        }
        thread::scope(|scope| {
            let others = (1..threads.min(MOST_THREADS)).map_while(|_| {
                let named = thread::Builder::new().name("ion-sample".to_owned());
                named.spawn_scoped(scope, || self.observe_rest(Inference::new())).ok()
            });
            let others: Vec<_> = others.collect();
            let mut inference = self.observe_rest(inference);
            for other in others {
                match other.join() {
                    Ok(other) => inference.merge(&other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            inference
        })
    }

    fn observe_rest(&self, mut inference: Inference) -> Inference {
        let mut recycled = Vec::new();
        while self.observe_next(&mut inference, &mut recycled) {}
        inference
    }

    /// Observes the next block, reusing the memory of `recycled`. Returns whether there was one.
    fn observe_next(&self, inference: &mut Inference, recycled: &mut Vec<u8>) -> bool {
        let Some(cut) = self.cut(mem::take(recycled)) else { return false };
        let Cut { number, count, block } = cut;
        let limits = &self.options.limits;
        let (rows, seen) = inference.observe_numbered(number, &block, count, limits);
        if let Err(error) = seen
            && !self.options.ignore_errors
        {
            let error = locate(self.path, block.first_row + rows, &error);
            self.cutter().fail(number, error);
        }
        *recycled = block.bytes;
        true
    }

    fn cutter(&self) -> MutexGuard<'_, Cutter> {
        self.cutter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the next block; `None` at the end of the file or of the sample, or after an error.
    fn cut(&self, recycled: Vec<u8>) -> Option<Cut> {
        let mut cutter = self.cutter();
        if cutter.left == 0 || cutter.failed.is_some() {
            return None;
        }
        let number = cutter.blocks;
        let block = match cutter.splitter.next_block(recycled) {
            Ok(block) => block?,
            Err(error) => {
                let error = locate(self.path, cutter.splitter.row_count(), &error);
                cutter.fail(number, error);
                return None;
            }
        };
        let count = block.row_count.min(cutter.left);
        cutter.left -= count;
        cutter.blocks += 1;
        Some(Cut { number, count, block })
    }
}

impl Cutter {
    /// Ends the sample.
    fn fail(&mut self, number: u64, error: String) {
        if self.failed.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
            self.failed = Some((number, error));
        }
    }
}
