//! Drops and renames the folder of a collection.
//!
//! Dropping renames the folder to a name that no collection can have, then removes it. So a
//! collection exists either in full or not at all. If a crash interrupts the removal, the rest is
//! not a collection and is removed by the next drop. The caller holds the writer's lock, and the
//! collection is not open in its process.

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
    remove_dropped(files, &collections);
    let folder = collections.join(name);
    let dropped = free_name(files, &collections);
    files.rename(&folder, &dropped).map_err(Error::io("drop", &folder))?;
    files.sync_directory(&collections).map_err(Error::io("sync the directory", &collections))?;
    // The collection is dropped by now. The next drop removes what is left.
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

/// Removes what is left of dropped folders. Best effort.
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
