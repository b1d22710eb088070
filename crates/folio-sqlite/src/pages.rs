//! The pages of a file: its header, its log, and the check for changes.
//!
//! Nothing is written, and nothing is locked for longer than the reading takes. A shared reader's
//! lock keeps writers of a file without a log from committing meanwhile. With a log, writers
//! continue, and a check at the end shows whether everything read was one state of the database
//! ([`Pages::check_unchanged`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::{File, FileKind, FileSystem, OpenMode, Stat};
use folio_types::ErrorCode;

use crate::bytes::{be32, read_up_to};
use crate::error::{Error, Result};
use crate::record::Encoding;
use crate::wal::Wal;

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The size of the header at the start of the first page.
pub(crate) const HEADER_SIZE: usize = 100;

/// The bytes that processes lock, which are never stored.
const PENDING_BYTE: u64 = 0x4000_0000;
const SHARED_BYTE: u64 = PENDING_BYTE + 2;

/// An open file.
#[derive(Debug)]
pub struct Pages {
    pub(crate) path: PathBuf,
    file: Arc<dyn File>,
    wal: Option<Wal>,
    pub(crate) page_size: usize,
    /// Bytes of a page available for content.
    pub(crate) usable_size: usize,
    pub(crate) page_count: u32,
    pub(crate) encoding: Encoding,
    stat: Stat,
    read_count: AtomicU64,
}

impl Pages {
    /// Opens a file.
    ///
    /// # Errors
    /// `not_found`, `io`; `corrupted` for a file that is not a complete SQLite file; `unsupported`
    /// for a newer format; `locked` while a process writes, or after it crashed while writing.
    pub fn open(files: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = files.open(path, OpenMode::Read).map_err(Error::io("read", path))?;
        lock_shared(&*file, path)?;
        refuse_journal(files, path)?;
        let stat = file.stat().map_err(Error::io("read", path))?;
        let mut head = [0; HEADER_SIZE];
        let head_size = read_up_to(&*file, path, &mut head, 0)?;
        if !head[..head_size].starts_with(MAGIC) {
            return Err(damaged(path, "it does not start like an SQLite file"));
        }
        if head_size < HEADER_SIZE {
            return Err(damaged(path, "it ends within its header"));
        }
        let log_path = beside(path, "-wal");
        let wal = match files.open(&log_path, OpenMode::Read) {
            Ok(log) => Wal::open(&log_path, log)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read", &log_path)(error)),
        };
        let page_size = match u16::from_be_bytes([head[16], head[17]]) {
            1 => 65_536,
            size => usize::from(size),
        };
        let mut pages = Self {
            path: path.to_owned(),
            file,
            wal,
            page_size,
            usable_size: page_size,
            page_count: 0,
            encoding: Encoding::Utf8,
            stat,
            read_count: AtomicU64::new(0),
        };
        pages.read_header(head)?;
        Ok(pages)
    }

    /// Reads the newest header.
    fn read_header(&mut self, mut head: [u8; HEADER_SIZE]) -> Result<()> {
        let path = &self.path;
        if !self.page_size.is_power_of_two() || self.page_size < 512 {
            return Err(damaged(
                path,
                &format!("a page size of {} bytes is invalid", self.page_size),
            ));
        }
        if let Some(wal) = &self.wal {
            if wal.page_size != self.page_size {
                let (own, other) = (self.page_size, wal.page_size);
                let text = format!("its pages have {own} bytes, those of its log {other}");
                return Err(damaged(path, &text));
            }
            wal.read(1, &mut head)?;
        }
        if head[18] > 2 && head[19] > 2 {
            return Err(Error::file(
                path,
                ErrorCode::Unsupported,
                "a newer version of SQLite wrote it in another format; dump it with that version \
                 and read the dump into a new file",
            ));
        }
        self.usable_size = self.page_size - usize::from(head[20]);
        if self.usable_size < 480 {
            return Err(damaged(path, "its header leaves less than 480 bytes of a page"));
        }
        self.encoding = match be32(&head, 56) {
            0 | 1 => Encoding::Utf8,
            2 => Encoding::Utf16Little,
            3 => Encoding::Utf16Big,
            other => return Err(damaged(path, &format!("its text encoding {other} is unknown"))),
        };
        self.page_count = self.count(&head)?;
        Ok(())
    }

    /// The number of pages. If an old SQLite did not update it in the header, the size of the file
    /// is used.
    fn count(&self, head: &[u8; HEADER_SIZE]) -> Result<u32> {
        let mut there = self.stat.size / self.page_size as u64;
        let mut said = be32(head, 28);
        if let Some(wal) = &self.wal {
            // The page with the lock bytes is in neither.
            there += wal.frame_count() + 1;
            said = wal.page_count;
        } else if said == 0 || head[24..28] != head[92..96] {
            said = u32::try_from(there).unwrap_or(u32::MAX);
        }
        if u64::from(said) > there {
            let text = format!("it is truncated: {there} pages are left of {said}");
            return Err(damaged(&self.path, &text));
        }
        Ok(said)
    }

    /// Reads a page; `false` if the page does not exist.
    ///
    /// # Errors
    /// `io`, `corrupted` if the file ends earlier.
    pub(crate) fn read(&self, number: u32, page: &mut Vec<u8>) -> Result<bool> {
        if number == 0 || number > self.page_count {
            return Ok(false);
        }
        page.resize(self.page_size, 0);
        self.read_count.fetch_add(1, Ordering::Relaxed);
        let from_log = match &self.wal {
            Some(wal) => wal.read(number, page)?,
            None => None,
        };
        let size = match from_log {
            Some(size) => size,
            None => {
                let offset = u64::from(number - 1) * self.page_size as u64;
                read_up_to(&*self.file, &self.path, page, offset)?
            }
        };
        if size < page.len() {
            return Err(damaged(&self.path, &format!("page {number} is truncated")));
        }
        Ok(true)
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the pages read so far.
    #[must_use]
    pub fn read_size(&self) -> u64 {
        self.read_count.load(Ordering::Relaxed) * self.page_size as u64
    }

    /// Bytes of all pages.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::from(self.page_count) * self.page_size as u64
    }

    /// Checks that everything read was one state of the database.
    ///
    /// # Errors
    /// `conflict` when the file was written to meanwhile.
    pub fn check_unchanged(&self, files: &dyn FileSystem) -> Result<()> {
        let now = self.file.stat().map_err(Error::io("read", &self.path))?;
        let is_same = now.size == self.stat.size && now.modified_ns == self.stat.modified_ns;
        let is_log_same = match &self.wal {
            Some(wal) => wal.is_unchanged()? && files.stat(&wal.path).is_ok(),
            None => true,
        };
        if is_same && is_log_same {
            return Ok(());
        }
        Err(Error::file(
            &self.path,
            ErrorCode::Conflict,
            "another process wrote to it while it was read, so nothing was imported; import it \
             when no process writes, or import a copy made by `sqlite3 FILE '.backup COPY'`",
        ))
    }
}

/// Takes the shared lock of readers.
fn lock_shared(file: &dyn File, path: &Path) -> Result<()> {
    let stat = file.stat().map_err(Error::io("read", path))?;
    if stat.kind == FileKind::Directory {
        return Err(Error::Directory(path.to_owned()));
    }
    // A writer that waits for readers holds the first byte, so that no new reader starts.
    for byte in [PENDING_BYTE, SHARED_BYTE] {
        if !file.try_lock_byte(byte, false).map_err(Error::io("lock", path))? {
            return Err(Error::file(
                path,
                ErrorCode::Locked,
                "another process is writing to it; try again when it has finished",
            ));
        }
    }
    file.unlock_byte(PENDING_BYTE).map_err(Error::io("lock", path))
}

/// Refuses a file that a crashed writer has left half changed, with a journal for its rollback.
fn refuse_journal(files: &dyn FileSystem, path: &Path) -> Result<()> {
    let journal_path = beside(path, "-journal");
    let Ok(journal) = files.open(&journal_path, OpenMode::Read) else { return Ok(()) };
    let mut first = [0];
    if read_up_to(&*journal, &journal_path, &mut first, 0)? == 0 || first == [0] {
        return Ok(());
    }
    Err(Error::file(
        path,
        ErrorCode::Locked,
        "a transaction is in progress, or its writer has crashed: there is a journal beside it; \
         when no process writes, let SQLite roll it back by reading it once: `sqlite3 FILE \
         'select count(*) from sqlite_schema'`",
    ))
}

/// The path with a suffix appended to the file name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::file(path, ErrorCode::Corrupted, reason)
}
