//! Drops and renames the folder of a collection.
//!
//! Dropping renames the folder to a name that no collection can have, then removes it. So a
//! collection exists either in full or not at all. If a crash interrupts the removal, the rest is
//! not a collection and is removed by the next drop, or when the database is next opened for writing.
//! The caller holds the writer's lock, and the collection is not open in its process.

use std::path::{Path, PathBuf};

use folio_file::{FileSystem, remove_tree};
use folio_types::check_collection_name;

use crate::error::{Error, Result};
use crate::manifest::Manifest;

/// The name of a dropped folder until it is removed; `.tmp` marks it as temporary.
const DROPPED_PREFIX: &str = ".dropped-";
const DROPPED_SUFFIX: &str = ".tmp";

/// Drops a collection of either layout.
///
/// # Errors
/// [`Error::Name`]; [`Error::Io`] if the folder cannot be renamed. It is then unchanged.
pub fn drop_collection(files: &dyn FileSystem, database: &Path, name: &str) -> Result<()> {
    check_collection_name(name)?;
    let collections = database.join("collections");
    remove_dropped(files, database);
    let folder = collections.join(name);
    let dropped = free_name(files, &collections);
    files.rename(&folder, &dropped).map_err(Error::io("drop", &folder))?;
    files.sync_directory(&collections).map_err(Error::io("sync the directory", &collections))?;
    // The collection is dropped by now. What is left is removed later.
    let _ = remove_tree(files, &dropped);
    Ok(())
}

/// Renames a collection. The new name must be free.
///
/// # Errors
/// [`Error::Name`]; [`Error::Invalid`] if the new name is taken; [`Error::Io`]. If the disk is full,
/// the collection keeps its name.
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
    // A file system that folds case treats both names as one folder.
    let is_same = name.to_lowercase() == new_name.to_lowercase();
    if files.stat_link(&target).is_ok() && !is_same {
        return Err(Error::Invalid(format!("{target:?} already exists; move it away")));
    }
    // The folder names the collection; the manifest repeats it for people and for ZDS. It needs
    // space on the disk, the folder does not, so the manifest comes first.
    set_name(files, &folder, new_name)?;
    if let Err(error) = files.rename(&folder, &target) {
        let _ = set_name(files, &folder, name);
        return Err(Error::io("rename", &folder)(error));
    }
    files.sync_directory(&collections).map_err(Error::io("sync the directory", &collections))
}

/// Sets the name in the manifest of a folder, if there is one that can be read.
fn set_name(files: &dyn FileSystem, folder: &Path, name: &str) -> Result<()> {
    match Manifest::load(files, folder) {
        Ok(mut manifest) if manifest.is_stored => {
            manifest.set_collection(name);
            manifest.save(files, folder, true)
        }
        _ => Ok(()),
    }
}

/// Whether a drop was interrupted. One look: the first folder to be dropped has the first name.
pub fn is_dropped_left(files: &dyn FileSystem, database: &Path) -> bool {
    files.stat_link(&dropped_name(&database.join("collections"), 1)).is_ok()
}

/// Removes what is left of dropped folders. Best effort. The caller holds the writer's lock.
pub fn remove_dropped(files: &dyn FileSystem, database: &Path) {
    let collections = database.join("collections");
    let Ok(mut entries) = files.read_directory(&collections) else { return };
    entries.retain(|entry| {
        entry.name.starts_with(DROPPED_PREFIX) && entry.name.ends_with(DROPPED_SUFFIX)
    });
    // A name that a crash gives back must not have lost its files.
    if entries.is_empty() || files.sync_directory(&collections).is_err() {
        return;
    }
    for entry in entries {
        let _ = remove_tree(files, &collections.join(&entry.name));
    }
}

fn free_name(files: &dyn FileSystem, collections: &Path) -> PathBuf {
    let is_free = |path: &PathBuf| files.stat_link(path).is_err();
    let mut names = (1..).map(|number| dropped_name(collections, number));
    names.find(is_free).expect("numbers do not end")
}

fn dropped_name(collections: &Path, number: u64) -> PathBuf {
    collections.join(format!("{DROPPED_PREFIX}{number}{DROPPED_SUFFIX}"))
}
