//! The folder of a collection as a whole: dropped and renamed.
//!
//! A folder is dropped by a rename to a name that no collection can have, and removed then. So a
//! collection is there with all it has, or it is not there; what a crash leaves of the removal
//! is no collection, and goes with the next drop. The caller holds the writer's lock, and
//! nobody in its process has the collection open.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{FileKind, FileSystem};
use folio_types::check_collection_name;

use crate::error::{Error, Result};
use crate::manifest::Manifest;

/// How a dropped folder is called until it is gone; `.tmp` says that it is nobody's.
const DROPPED_PREFIX: &str = ".dropped-";
const DROPPED_SUFFIX: &str = ".tmp";

/// Drops a collection, whatever its layout.
///
/// # Errors
/// [`Error::Name`]; [`Error::Io`] where the folder cannot be renamed, and is left as it was.
pub fn drop_collection(files: &dyn FileSystem, database: &Path, name: &str) -> Result<()> {
    check_collection_name(name)?;
    let collections = database.join("collections");
    remove_dropped(files, &collections);
    let folder = collections.join(name);
    let dropped = free_name(files, &collections);
    files.rename(&folder, &dropped).map_err(Error::io("drop", &folder))?;
    files.sync_directory(&collections).map_err(Error::io("sync the directory", &collections))?;
    // It is dropped by now: what cannot be removed goes with the next drop.
    let _ = remove_tree(files, &dropped);
    Ok(())
}

/// Gives a collection another name, which must be free.
///
/// # Errors
/// [`Error::Name`]; [`Error::Invalid`] where something has the new name; [`Error::Io`].
pub fn rename_collection(
    files: &dyn FileSystem,
    database: &Path,
    name: &str,
    new_name: &str,
) -> Result<()> {
    check_collection_name(name)?;
    check_collection_name(new_name)?;
    let collections = database.join("collections");
    let (folder, target) = (collections.join(name), collections.join(new_name));
    // A file system that folds case takes both names for one folder.
    let is_same = name.to_lowercase() == new_name.to_lowercase();
    if files.stat_link(&target).is_ok() && !is_same {
        return Err(Error::Invalid(format!("{target:?} is in the way; move it away")));
    }
    files.rename(&folder, &target).map_err(Error::io("rename", &folder))?;
    files.sync_directory(&collections).map_err(Error::io("sync the directory", &collections))?;
    // The folder names the collection; the manifest repeats it for people and for ZDS.
    if let Ok(mut manifest) = Manifest::load(files, &target)
        && manifest.is_stored
    {
        manifest.set_collection(new_name);
        manifest.save(files, &target, true)?;
    }
    Ok(())
}

/// Removes what is left of folders that were dropped. Best effort.
fn remove_dropped(files: &dyn FileSystem, collections: &Path) {
    let Ok(entries) = files.read_directory(collections) else { return };
    for entry in entries {
        if entry.name.starts_with(DROPPED_PREFIX) && entry.name.ends_with(DROPPED_SUFFIX) {
            let _ = remove_tree(files, &collections.join(&entry.name));
        }
    }
}

fn free_name(files: &dyn FileSystem, collections: &Path) -> PathBuf {
    let named = |number: u64| collections.join(format!("{DROPPED_PREFIX}{number}{DROPPED_SUFFIX}"));
    let is_free = |path: &PathBuf| files.stat_link(path).is_err();
    (1..).map(named).find(is_free).expect("numbers do not end")
}

/// Removes a directory with all it holds. Links are not followed.
fn remove_tree(files: &dyn FileSystem, path: &Path) -> io::Result<()> {
    if files.stat_link(path)?.kind != FileKind::Directory {
        return files.remove_file(path);
    }
    for entry in files.read_directory(path)? {
        remove_tree(files, &path.join(&entry.name))?;
    }
    files.remove_directory(path)
}
