//! Removes directories.

use std::io;
use std::path::Path;

use crate::stat::FileKind;
use crate::traits::FileSystem;

/// Removes a file, or a directory with its content. Does not follow links.
///
/// # Errors
/// Those of the file system; part of the content may be gone.
pub fn remove_tree(files: &dyn FileSystem, path: &Path) -> io::Result<()> {
    if files.stat_link(path)?.kind != FileKind::Directory {
        return files.remove_file(path);
    }
    for entry in files.read_directory(path)? {
        remove_tree(files, &path.join(&entry.name))?;
    }
    files.remove_directory(path)
}
