//! A pool over a file of blocks, and threads that use it together.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use folio_bench::Result;
use folio_table::buffer::{BlockStorage, BufferPool, Policy};
use folio_table::{BlockId, Error, PageId};

/// Bytes of a block.
pub(crate) const BLOCK_SIZE: usize = 4096;

/// Blocks of the file: as many as the largest case touches.
const BLOCK_COUNT: u32 = 4096;

/// The blocks, in a file that the system keeps in its cache.
#[derive(Debug)]
struct Blocks {
    file: File,
    path: PathBuf,
}

impl Blocks {
    fn create() -> Result<Self> {
        let name = format!("buffer_pool-{}.blocks", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        file.write_all_at(&vec![1; BLOCK_SIZE * (BLOCK_COUNT as usize + 1)], 0)?;
        Ok(Self { file, path })
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl BlockStorage for Blocks {
    fn read(&self, block: BlockId, page: &mut [u8]) -> folio_table::Result<()> {
        self.file.read_exact_at(page, offset(block)).map_err(|source| io("read", source))
    }

    fn write(&self, block: BlockId, page: &mut [u8]) -> folio_table::Result<()> {
        self.file.write_all_at(page, offset(block)).map_err(|source| io("write", source))
    }
}

fn offset(block: BlockId) -> u64 {
    u64::from(block.as_page().map_or(0, |page| page.0)) * BLOCK_SIZE as u64
}

fn io(action: &'static str, source: std::io::Error) -> Error {
    Error::Io { action, path: "the blocks".into(), source }
}

/// Number `index`, from 0, of the blocks.
pub(crate) fn block(index: usize) -> BlockId {
    BlockId::page(PageId(index as u32 + 1))
}

/// A pool of so many frames over a file of its own.
pub(crate) fn pool(policy: Policy, frames: usize) -> Result<BufferPool> {
    Ok(BufferPool::new(frames, BLOCK_SIZE, policy, Arc::new(Blocks::create()?)))
}

/// Nanoseconds per operation of `operations` done by `work`.
pub(crate) fn timed(operations: usize, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_nanos() as f64 / operations as f64)
}

/// The same for threads that begin together, each with its number: wall time from
/// the first one's beginning to the last one's end, over all their operations.
pub(crate) fn timed_together(
    threads: usize,
    operations_each: usize,
    work: impl Fn(usize) -> Result<()> + Sync,
) -> Result<f64> {
    let barrier = Barrier::new(threads);
    let spans: Vec<Result<(Instant, Instant)>> = std::thread::scope(|scope| {
        let start = |thread| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                let begin = Instant::now();
                work(thread)?;
                Ok((begin, Instant::now()))
            })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        handles.into_iter().map(join).collect()
    });
    let spans = spans.into_iter().collect::<Result<Vec<_>>>()?;
    let begin = spans.iter().map(|(begin, _)| *begin).min().ok_or("no threads")?;
    let end = spans.iter().map(|(_, end)| *end).max().ok_or("no threads")?;
    let wall: Duration = end - begin;
    Ok(wall.as_nanos() as f64 / (threads * operations_each) as f64)
}
