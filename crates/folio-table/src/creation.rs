//! Creates the two files of a store: the log, then the data file under another name, which gets
//! its own when it is complete. If `tables.folio` exists, the store is complete. What an operation
//! that did not end leaves beside it has no use, and is removed by the next writer.

use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode, remove_tree};

use crate::data_header::{DATA_NAME, DataHeader};
use crate::error::{Error, Result};
use crate::header_slot::Header;
use crate::wal::{LOG_NAME, LOG_START, LogHeader};

/// The name of an unfinished data file. Nothing reads it.
pub(crate) const NEW_DATA_NAME: &str = "tables.folio.new";

/// The directory of a vacuum's second store.
pub(crate) const WORK_NAME: &str = "tables.folio-vacuum";

/// Removes what a vacuum or a creation that did not end has left. The caller has the writer's lock.
///
/// # Errors
/// An error of the operating system.
pub(crate) fn remove_unfinished(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    for name in [WORK_NAME, NEW_DATA_NAME] {
        let path = directory.join(name);
        if files.stat(&path).is_ok() {
            remove_tree(files, &path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Creates a log without records, durable except for its name.
pub(crate) fn create_log(
    files: &dyn FileSystem,
    directory: &Path,
    header: LogHeader,
) -> Result<()> {
    let path = directory.join(LOG_NAME);
    let log = create(files, &path, &header.to_bytes(), header.offset())?;
    log.sync_data().map_err(Error::io("sync", &path))
}

/// Creates a data file with its header, for [`publish_data`].
pub(crate) fn create_data(
    files: &dyn FileSystem,
    directory: &Path,
    header: DataHeader,
) -> Result<Arc<dyn File>> {
    create(files, &directory.join(NEW_DATA_NAME), &header.to_bytes(), header.offset())
}

/// Makes the content of a new data file durable, and renames the file to its name.
pub(crate) fn publish_data(
    files: &dyn FileSystem,
    directory: &Path,
    data: &dyn File,
) -> Result<()> {
    let (unfinished, path) = (directory.join(NEW_DATA_NAME), directory.join(DATA_NAME));
    data.sync_data().map_err(Error::io("sync", &unfinished))?;
    files.rename(&unfinished, &path).map_err(Error::io("create", &path))
}

/// Makes the names in the directory durable.
pub(crate) fn sync_names(files: &dyn FileSystem, directory: &Path) -> Result<()> {
    files.sync_directory(directory).map_err(Error::io("sync", directory))
}

/// Creates a file of 8 KiB, which come before its first page or record, with one header in them.
fn create(
    files: &dyn FileSystem,
    path: &Path,
    header: &[u8],
    offset: u64,
) -> Result<Arc<dyn File>> {
    let file = files.open(path, OpenMode::Write).map_err(Error::io("create", path))?;
    file.truncate(0).map_err(Error::io("write", path))?;
    let mut bytes = vec![0; LOG_START as usize];
    bytes[offset as usize..offset as usize + header.len()].copy_from_slice(header);
    file.write_at(&bytes, 0).map_err(Error::io("write", path))?;
    Ok(file)
}
