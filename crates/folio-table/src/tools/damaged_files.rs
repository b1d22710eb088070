//! Reads files that may be damaged anywhere, without trusting them.
//!
//! A page is its newest complete image in the valid part of the log, otherwise the page in the data
//! file if it is valid. If there is neither, only that page is an error.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode};

use crate::buffer::{BlockStorage, BufferPool, PageGuard, Policy};
use crate::data_header::{DATA_NAME, DATA_START, DataHeader, page_offset};
use crate::error::{Error, Result};
use crate::failpoint::Failpoints;
use crate::header_slot::{self, Header};
use crate::ids::{BlockId, Lsn, PageId};
use crate::page;
use crate::pager::Pages;
use crate::recovery;
use crate::state::{PAGE_COUNT_MAX, State};
use crate::wal::record::Record;
use crate::wal::{self, LOG_NAME, LOG_START, LogHeader};

/// The number of frames: pages are read once, mostly in order.
const FRAMES: usize = 256;

/// The numbers in either file's header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    pub(super) page_size: usize,
    pub(super) database: u64,
}

/// The state known before the first page is read.
#[derive(Debug)]
pub(super) struct DamagedFiles {
    pool: BufferPool,
    /// From the last complete transaction; `None` when no header and no commit is left.
    pub(super) state: Option<State>,
    pub(super) page_count: u32,
    /// The problems found so far.
    pub(super) problems: Vec<String>,
}

/// The page size and the number of the database, from any valid header.
///
/// # Errors
/// [`Error::Corrupted`] when there is none.
pub(super) fn identify(files: &dyn FileSystem, directory: &Path) -> Result<Identity> {
    let data = newest_header::<DataHeader>(files, &directory.join(DATA_NAME));
    let log = newest_header::<LogHeader>(files, &directory.join(LOG_NAME));
    let of_data = data.map(|header| (header.page_size, header.database));
    let of_log = log.map(|header| (header.page_size, header.database));
    let (page_size, database) = of_data.or(of_log).ok_or_else(|| Error::Corrupted {
        file: DATA_NAME.to_owned(),
        offset: 0,
        problem: "all copies of its header and of the log's header are damaged".to_owned(),
    })?;
    Ok(Identity { page_size: page_size as usize, database })
}

/// The newest complete header of a file.
fn newest_header<H: Header>(files: &dyn FileSystem, path: &Path) -> Option<H> {
    let file = files.open(path, OpenMode::Read).ok()?;
    header_slot::newest(header_slot::read_slots(&*file).ok()?)
}

/// The bytes of a page in the data file.
///
/// # Errors
/// [`Error::InvalidInput`] when there is no such page; an error of the operating system.
pub(super) fn raw_page(
    files: &dyn FileSystem,
    directory: &Path,
    page: PageId,
    page_size: usize,
) -> Result<Vec<u8>> {
    let path = directory.join(DATA_NAME);
    let data = files.open(&path, OpenMode::Read).map_err(Error::io("open", &path))?;
    let mut bytes = vec![0; page_size];
    let is_number = page.is_some() && page.0 <= PAGE_COUNT_MAX;
    let count = match is_number {
        true => data
            .read_at(&mut bytes, page_offset(page, page_size))
            .map_err(Error::io("read", &path))?,
        false => 0,
    };
    if count < page_size {
        let size = data.stat().map_err(Error::io("read", &path))?.size;
        let last = size.saturating_sub(DATA_START) / page_size as u64;
        let what = format!("page {page} does not exist; {DATA_NAME} has pages 1 to {last}");
        return Err(Error::InvalidInput { what });
    }
    Ok(bytes)
}

impl DamagedFiles {
    /// Opens both files.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when no header is left; errors of the operating system.
    pub(super) fn open(files: &dyn FileSystem, directory: &Path) -> Result<Self> {
        let Identity { page_size, database } = identify(files, directory)?;
        let (data_path, log_path) = (directory.join(DATA_NAME), directory.join(LOG_NAME));
        let data = files.open(&data_path, OpenMode::Read).ok();
        let log = files.open(&log_path, OpenMode::Read).ok();
        let header = newest_header::<DataHeader>(files, &data_path);
        let mut problems = Vec::new();
        let mut state = header.map(|header| header.state);
        if header.is_none() {
            problems.push(format!("{DATA_NAME} has no intact header"));
        }
        let mut images = HashMap::new();
        let generation = newest_header::<LogHeader>(files, &log_path);
        let generation = generation.filter(|log| log.database == database);
        match (&log, generation) {
            (Some(log), Some(generation)) => {
                let checked = recovery::check_log_size(&**log, &log_path);
                let scanned = wal::scan::scan(
                    &**log,
                    &log_path,
                    generation,
                    Failpoints::default(),
                    |pages, commit, _| {
                        images.extend(pages.iter().copied());
                        state = Some(commit.state);
                        Ok(())
                    },
                );
                let checked = checked.and(scanned).and_then(|scanned| match header {
                    Some(data) => {
                        recovery::check_continuity(data, generation, scanned.position.end)
                    }
                    None => Ok(()),
                });
                problems.extend(checked.err().map(finding));
            }
            _ => problems.push(format!("{LOG_NAME} has no intact header of this database")),
        }
        let size = data.as_ref().and_then(|data| data.stat().ok()).map_or(0, |stat| stat.size);
        let in_file = u32::try_from(size.saturating_sub(DATA_START) / page_size as u64);
        let in_file = in_file.unwrap_or(PAGE_COUNT_MAX).min(PAGE_COUNT_MAX);
        let page_count = state.map_or(0, |state| state.page_count).max(in_file);
        let storage = Storage { data, data_path, log, log_path, generation, images, database };
        let pool = BufferPool::new(FRAMES, page_size, Policy::default(), Arc::new(storage));
        Ok(Self { pool, state, page_count, problems })
    }
}

/// An error of the files, without the advice to salvage them.
fn finding(error: Error) -> String {
    match error {
        Error::Corrupted { file, offset, problem } => {
            format!("{file} is damaged at byte {offset}: {problem}")
        }
        other => other.to_string(),
    }
}

/// The source of the pages.
#[derive(Debug)]
struct Storage {
    data: Option<Arc<dyn File>>,
    data_path: PathBuf,
    log: Option<Arc<dyn File>>,
    log_path: PathBuf,
    generation: Option<LogHeader>,
    /// The newest image of each page in the log.
    images: HashMap<PageId, Lsn>,
    database: u64,
}

impl BlockStorage for Storage {
    fn read(&self, block: BlockId, page: &mut [u8]) -> Result<()> {
        let id = block.as_page().unwrap_or(PageId::NONE);
        if let (Some(&lsn), Some(log), Some(generation)) =
            (self.images.get(&id), &self.log, self.generation)
        {
            return read_image((&**log, &self.log_path), generation, lsn, id, page);
        }
        let damaged = |problem: String| Error::page(id, problem);
        let Some(data) = &self.data else { return Err(damaged(format!("{DATA_NAME} is gone"))) };
        let count = data
            .read_at(page, page_offset(id, page.len()))
            .map_err(Error::io("read", &self.data_path))?;
        if count < page.len() {
            return Err(damaged("the file ends before it does".to_owned()));
        }
        page::verify(page, id, self.database).map_err(damaged)
    }

    fn write(&self, _: BlockId, _: &mut [u8]) -> Result<()> {
        unreachable!("nothing of damaged files is changed")
    }
}

fn read_image(
    (log, path): (&dyn File, &Path),
    generation: LogHeader,
    lsn: Lsn,
    id: PageId,
    page: &mut [u8],
) -> Result<()> {
    let mut bytes = vec![0; wal::record::RECORD_HEADER_SIZE + page.len()];
    let offset = LOG_START + lsn.0.saturating_sub(generation.base.0);
    let count = log.read_at(&mut bytes, offset).map_err(Error::io("read", path))?;
    let damaged = |problem: String| Error::page(id, problem);
    let record = Record::parse(&bytes[..count], lsn, generation.salt)
        .ok_or_else(|| damaged("its image in the log is incomplete".to_owned()))?;
    record.unpack(id, page).map_err(damaged)
}

impl<'w> Pages<'w> for &'w DamagedFiles {
    fn pin(&self, page: PageId) -> Result<PageGuard<'w>> {
        self.pool.pin(BlockId::page(page))
    }

    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'w>> {
        self.pool.pin(BlockId::page(page))
    }

    fn page_count(&self) -> u32 {
        self.page_count
    }
}
