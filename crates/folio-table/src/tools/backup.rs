//! Copies everything as of one snapshot, while writers continue.
//!
//! The pages of log and data file are copied unchanged into a new data file with an empty log. So
//! the copy is a store as of the same commit, and as large as the original's data file. Free pages
//! are left as holes.

use std::path::Path;

use folio_file::{File, FileSystem};

use crate::creation;
use crate::data_header::{DATA_NAME, DataHeader, data_size, page_offset};
use crate::error::{Error, Result};
use crate::ids::{PageId, draw};
use crate::page::{self, PageKind, free_list};
use crate::pager::Pages;
use crate::snapshot::{Snapshot, SnapshotPages};
use crate::wal::LogHeader;

/// Bytes of pages collected before each write.
const RUN_SIZE: usize = 1 << 20;

impl Snapshot {
    /// Copies what this snapshot sees into a directory that has no tables yet. `progress` gets the
    /// bytes done and in total. If it returns `false`, the copy stops, and nothing of it counts.
    ///
    /// # Errors
    /// [`Error::Exists`] when there are tables; [`Error::Cancelled`]; damage, which a copy must not
    /// spread; [`Error::SnapshotTooOld`]; errors of the operating system.
    pub fn backup(
        &self,
        files: &dyn FileSystem,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<()> {
        if files.stat(&target.join(DATA_NAME)).is_ok() {
            let name = target.join(DATA_NAME).display().to_string();
            return Err(Error::Exists { kind: "file", name });
        }
        let page_size = self.shared.pager.page_size as u32;
        let (end, state) = (self.commit.end, self.commit.state);
        let database = self.shared.pager.blocks.database;
        let log = LogHeader { page_size, database, generation: 1, salt: draw(), base: end };
        let header = DataHeader { page_size, database, sequence: 1, checkpoint: end, state };
        creation::create_log(files, target, log)?;
        creation::sync_names(files, target)?;
        let data = creation::create_data(files, target, header)?;
        copy_pages(&self.pages(), (&*data, target), database, progress)?;
        creation::publish_data(files, target, &*data)?;
        creation::sync_names(files, target)
    }
}

/// Copies all pages except the free ones.
fn copy_pages(
    pages: &SnapshotPages<'_>,
    (data, target): (&dyn File, &Path),
    database: u64,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<()> {
    let count = pages.page_count();
    let page_size = pages.pager.page_size;
    let free = free_pages(pages)?;
    data.truncate(data_size(count, page_size)).map_err(Error::io("extend", target))?;
    let mut run: Vec<u8> = Vec::new();
    let mut first = PageId(1);
    for page in (1..=count).map(PageId) {
        let is_free = free[page.0 as usize / 64] >> (page.0 % 64) & 1 == 1;
        if !is_free {
            let start = run.len();
            run.extend_from_slice(&pages.pin_for_scan(page)?);
            page::seal(&mut run[start..], database);
        }
        if is_free || run.len() >= RUN_SIZE || page.0 == count {
            data.write_at(&run, page_offset(first, page_size))
                .map_err(Error::io("write", target))?;
            run.clear();
            first = PageId(page.0 + 1);
            let total = data_size(count, page_size);
            if !progress(data_size(page.0, page_size), total) {
                return Err(Error::Cancelled);
            }
        }
    }
    Ok(())
}

/// One bit per page in the free list, except the list's own pages.
fn free_pages(pages: &SnapshotPages<'_>) -> Result<Vec<u64>> {
    let count = pages.page_count();
    let mut free = vec![0u64; count as usize / 64 + 1];
    let mut list = pages.commit.state.free_list;
    let mut lists = 0;
    while list.is_some() {
        lists += 1;
        let guard = pages.pin_for_scan(list)?;
        if PageKind::of(&guard) != Some(PageKind::FreeList) || lists > count {
            return Err(Error::page(list, "it should be a page of the free list"));
        }
        for page in free_list::entries(&guard).filter(|page| page.0 <= count) {
            free[page.0 as usize / 64] |= 1 << (page.0 % 64);
        }
        list = page::link(&guard);
    }
    Ok(free)
}
