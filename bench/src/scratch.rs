//! Where the stores under test live, and what they take there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Result;

/// A directory of this run, removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    next: AtomicU64,
}

impl Scratch {
    /// Makes the run's directory under `parent`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(parent: &Path) -> Result<Self> {
        let root = parent.join(format!("folio-bench-{}", std::process::id()));
        fs::create_dir_all(&root).map_err(|error| format!("{root:?}: {error}"))?;
        Ok(Self { root, next: AtomicU64::new(0) })
    }

    /// The run's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An empty directory with a name nobody has had before.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn directory(&self) -> Result<PathBuf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let directory = self.root.join(number.to_string());
        fs::create_dir(&directory)?;
        Ok(directory)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Waits until the system has written out everything, so that the writeback of
/// one run does not fall into the next.
pub fn sync_disks() {
    rustix::fs::sync();
}

/// Bytes of all files below a directory: by length, and as allocated.
///
/// # Errors
/// When it cannot be read.
pub fn size_on_disk(directory: &Path) -> Result<(u64, u64)> {
    let (mut length, mut allocated) = (0, 0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            let (inner_length, inner_allocated) = size_on_disk(&entry.path())?;
            length += inner_length;
            allocated += inner_allocated;
        } else {
            length += metadata.len();
            allocated += metadata.blocks() * 512;
        }
    }
    Ok((length, allocated))
}
