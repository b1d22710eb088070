//! Opens the files, or creates them, and applies the log.
//!
//! Recovery writes nothing. It reads the log from its base, and adds every page of every complete
//! transaction to the version table; lookups then find them there. So a crash during recovery does
//! no harm, and repeating it has the same result. Before it writes, a writer makes what it found
//! durable. First, the file names, which their creator may not have synced. Second, records not
//! known to be durable from a later one. These are written again, because after a failed sync a
//! system may return bytes on reads that it will never write. `docs/formats/table-store.md` has the
//! full argument.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use folio_file::{File, FileSystem, OpenMode};

use crate::creation;
use crate::data_header::{DATA_NAME, DataHeader, data_size};
use crate::edit::Writer;
use crate::error::{Error, Result};
use crate::header_slot::{self, Header, Slot};
use crate::ids::{Lsn, PageId, draw};
use crate::options::{Options, Synchronous};
use crate::page::PAGE_SIZES;
use crate::pager::{Blocks, CommitPoint, NO_SLOT, Pager, Snapshots, Versions};
use crate::processes::Entering;
use crate::shared::Shared;
use crate::state::State;
use crate::wal::record::LogPosition;
use crate::wal::{self, LOG_NAME, LOG_START, LogHeader, Wal};

/// The two files, with their headers read and checked against each other.
struct Opened {
    data: Arc<dyn File>,
    data_path: PathBuf,
    header: DataHeader,
    log: Arc<dyn File>,
    log_path: PathBuf,
    log_header: LogHeader,
}

/// How often a reader retries opening files that another process is writing.
const TRIES: u32 = 20;

pub(crate) fn open(
    files: &Arc<dyn FileSystem>,
    directory: &Path,
    options: &Options,
) -> Result<Shared> {
    let mut tries = 1;
    loop {
        match open_once(files, directory, options) {
            // One header was read before a checkpoint, the other after it.
            Err(Error::Corrupted { .. }) if options.read_only && tries < TRIES => {
                tries += 1;
                thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn open_once(files: &Arc<dyn FileSystem>, directory: &Path, options: &Options) -> Result<Shared> {
    let failpoints = options.failpoints();
    let entering = Entering::begin(files, directory, options)?;
    if !options.read_only {
        let _ = creation::remove_unfinished(&**files, directory); // it only takes space
        create_if_missing(&**files, directory, options)?;
    }
    let opened = open_files(&**files, directory, options)?;
    let versions = Versions::new();
    let mut replay = Replay {
        writer: Writer::new(
            opened.header.state,
            start_of(opened.log_header),
            options.checkpoint_size,
        ),
        versions,
        next_slot: 1,
    };
    let scanned = wal::scan::scan(
        &*opened.log,
        &opened.log_path,
        opened.log_header,
        failpoints,
        |pages, commit, end| replay.apply(pages, &commit.state, end),
    )?;
    check_continuity(opened.header, opened.log_header, scanned.position.end)?;
    let Replay { mut writer, versions, .. } = replay;
    writer.position = scanned.position;
    check_size(&opened)?;
    let wal = Wal::new(
        opened.log,
        opened.log_path,
        opened.log_header,
        scanned.file_size,
        scanned.position.end,
        failpoints,
    );
    // What survived the process may not survive a power failure yet.
    if !options.read_only && options.synchronous != Synchronous::Off {
        wal.keep(scanned.durable.min(scanned.position.end), scanned.position.end)?;
        if writer.state.transaction == 0 {
            sync_names(&**files, directory, options)?;
        }
    }
    let commit = CommitPoint { end: scanned.position.end, state: writer.state };
    let page_size = opened.header.page_size as usize;
    let (database, sequence) = (opened.header.database, opened.header.sequence);
    let blocks = Blocks::new(
        opened.data,
        opened.data_path,
        database,
        wal,
        versions,
        scanned.position,
        failpoints,
    );
    if options.read_only {
        blocks.read_as_of(commit.end);
    }
    let role = entering.into_role(&**files, directory, commit.end)?;
    let pager = Pager::new(options.clone(), page_size, blocks, Snapshots::new(commit));
    if !options.read_only {
        // Left by a process that ended within a load.
        pager.cut_data(commit.state.page_count)?;
    }
    Ok(Shared::new(pager, sequence, writer, role))
}

/// The content of the log: the newest version of each of its pages.
struct Replay {
    writer: Writer,
    versions: Versions,
    next_slot: u32,
}

impl Replay {
    fn apply(&mut self, pages: &[(PageId, Lsn)], state: &State, _end: Lsn) -> Result<()> {
        for &(page, lsn) in pages {
            let mut slot = self.versions.head(page);
            if slot == NO_SLOT {
                slot = self.next_slot;
                self.next_slot += 1;
                self.versions.begin(slot, page);
                self.versions.publish(page, slot);
                self.writer.logged.insert(page);
            }
            self.versions.set_logged(slot, lsn);
        }
        self.writer.recovered(*state, self.next_slot);
        Ok(())
    }
}

fn start_of(header: LogHeader) -> LogPosition {
    LogPosition { end: header.base, chain: header.salt }
}

/// Checks that the positions in the two files fit together.
///
/// # Errors
/// [`Error::Corrupted`] if they do not.
pub(crate) fn check_continuity(data: DataHeader, log: LogHeader, log_end: Lsn) -> Result<()> {
    let (base, checkpoint) = (log.base, data.checkpoint);
    if base > checkpoint {
        return Err(Error::Corrupted {
            file: DATA_NAME.to_owned(),
            offset: data.offset(),
            problem: format!(
                "its header is from position {checkpoint}, but the log begins at {base}: \
                 the newer header is gone, or the file is older than the log"
            ),
        });
    }
    if log_end < checkpoint {
        return Err(Error::Corrupted {
            file: LOG_NAME.to_owned(),
            offset: LOG_START + log_end.0 - base.0,
            problem: format!(
                "it ends at position {log_end}, but the data file has everything up to \
                 {checkpoint}: the log's newer header is gone, or the file is older"
            ),
        });
    }
    Ok(())
}

/// Refuses a data file that is shorter than after its last checkpoint.
fn check_size(opened: &Opened) -> Result<()> {
    let size = opened.data.stat().map_err(Error::io("read", &opened.data_path))?.size;
    let needed = data_size(opened.header.state.page_count, opened.header.page_size as usize);
    if size < needed {
        return Err(Error::Corrupted {
            file: DATA_NAME.to_owned(),
            offset: size,
            problem: format!("the file ends here, but has pages up to byte {needed}"),
        });
    }
    Ok(())
}

/// Creates the files of an empty store. The data file is created last, by rename, so its existence
/// means that the store is complete.
fn create_if_missing(files: &dyn FileSystem, directory: &Path, options: &Options) -> Result<()> {
    if files.stat(&directory.join(DATA_NAME)).is_ok() {
        return Ok(());
    }
    if !PAGE_SIZES.contains(&options.page_size) {
        let what = format!(
            "a page of {} bytes is not possible; choose 4, 8, 16, 32 or 64 KiB",
            options.page_size
        );
        return Err(Error::InvalidInput { what });
    }
    refuse_orphaned_log(files, directory)?;
    let database = draw();
    let page_size = options.page_size as u32;
    let log_header = LogHeader { page_size, database, generation: 1, salt: draw(), base: Lsn(0) };
    creation::create_log(files, directory, log_header)?;
    sync_names(files, directory, options)?;
    let header =
        DataHeader { page_size, database, sequence: 1, checkpoint: Lsn(0), state: State::empty() };
    let data = creation::create_data(files, directory, header)?;
    creation::publish_data(files, directory, &*data)?;
    sync_names(files, directory, options)
}

/// Makes the file names in the directory durable, the log's before the data file's.
fn sync_names(files: &dyn FileSystem, directory: &Path, options: &Options) -> Result<()> {
    if options.failpoints().forget_directory_sync() {
        return Ok(());
    }
    creation::sync_names(files, directory)
}

/// Refuses a log with transactions but without a data file.
fn refuse_orphaned_log(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    let path = directory.join(LOG_NAME);
    let log = match files.open(&path, OpenMode::Read) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("open", &path)(error)),
    };
    let size = log.stat().map_err(Error::io("read", &path))?.size;
    let problem = match newest_header::<LogHeader>(&*log, &path, LOG_NAME)? {
        _ if size > LOG_START => format!("{LOG_NAME} has {size} bytes of its changes"),
        Some(header) if header.generation > 1 => format!("{LOG_NAME} belongs to it"),
        _ => return Ok(()),
    };
    let problem = format!("the file is missing, but {problem}");
    Err(Error::Corrupted { file: DATA_NAME.to_owned(), offset: 0, problem })
}

fn open_files(files: &dyn FileSystem, directory: &Path, options: &Options) -> Result<Opened> {
    let mode = if options.read_only { OpenMode::Read } else { OpenMode::Write };
    let data_path = directory.join(DATA_NAME);
    // Opening for writing would create a missing file.
    let open = |path: &Path, name: &str| {
        files.stat(path).and_then(|_| files.open(path, mode)).map_err(|error| {
            match (error.kind(), name == LOG_NAME) {
                (io::ErrorKind::NotFound, true) => Error::Corrupted {
                    file: name.to_owned(),
                    offset: 0,
                    problem: "the file is missing, and with it the last transactions".to_owned(),
                },
                _ => Error::io("open", path)(error),
            }
        })
    };
    let data = open(&data_path, DATA_NAME)?;
    let header: DataHeader =
        newest_header(&*data, &data_path, DATA_NAME)?.ok_or_else(|| damaged_header(DATA_NAME))?;
    let log_path = directory.join(LOG_NAME);
    let log = open(&log_path, LOG_NAME)?;
    let log_header = read_log_header(&*log, &log_path, header)?;
    Ok(Opened { data, data_path, header, log, log_path, log_header })
}

/// The newest complete header of a file.
fn newest_header<H: Header>(file: &dyn File, path: &Path, name: &str) -> Result<Option<H>> {
    let slots = header_slot::read_slots(file).map_err(Error::io("read", path))?;
    for slot in &slots {
        if let Slot::Foreign(version) = slot {
            return Err(unsupported(name, *version));
        }
    }
    Ok(header_slot::newest(slots))
}

fn damaged_header(name: &str) -> Error {
    Error::Corrupted {
        file: name.to_owned(),
        offset: 0,
        problem: "both copies of its header are damaged".to_owned(),
    }
}

fn read_log_header(log: &dyn File, path: &Path, data: DataHeader) -> Result<LogHeader> {
    let damaged = |problem: &str| Error::Corrupted {
        file: LOG_NAME.to_owned(),
        offset: 0,
        problem: problem.to_owned(),
    };
    let header: LogHeader =
        newest_header(log, path, LOG_NAME)?.ok_or_else(|| damaged_header(LOG_NAME))?;
    if header.database != data.database || header.page_size != data.page_size {
        return Err(damaged("it belongs to another database than the data file"));
    }
    check_log_size(log, path)?;
    Ok(header)
}

/// Refuses a log that is shorter than its headers. They are durable before the data file has its
/// name, and no checkpoint cuts them: the records after them are lost.
///
/// # Errors
/// [`Error::Corrupted`]; an error of the operating system.
pub(crate) fn check_log_size(log: &dyn File, path: &Path) -> Result<()> {
    let size = log.stat().map_err(Error::io("read", path))?.size;
    if size < LOG_START {
        return Err(Error::Corrupted {
            file: LOG_NAME.to_owned(),
            offset: size,
            problem: format!(
                "the file ends within its headers, which take {LOG_START} bytes: it was cut, and \
                 the transactions since the last checkpoint are gone"
            ),
        });
    }
    Ok(())
}

fn unsupported(file: &str, version: u32) -> Error {
    Error::Unsupported { file: file.to_owned(), what: format!("format version {version}") }
}
