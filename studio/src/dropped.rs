//! Files that were dropped on a page: each is in a folder of its own among the system's temporary
//! files, which nobody else can look into, until it is imported, forgotten, or the studio ends.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs};

use uuid::Uuid;

/// The most files that wait to be imported.
const COUNT_MAX: usize = 4;

/// The files that were dropped, by the names that pages know them by.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<String, Arc<Dropped>>>);

/// A file that was dropped; removed with its folder when nobody needs it any more.
pub(crate) struct Dropped {
    pub(crate) path: PathBuf,
    /// How many bytes of it are imported, of how many.
    pub(crate) done: AtomicU64,
    pub(crate) total: AtomicU64,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(folder) = self.path.parent() {
            // What is left is in the folder of temporary files.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Uploads {
    /// Keeps a file. If too many wait already, those are forgotten first.
    pub(crate) fn keep(&self, id: &str, dropped: Dropped) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= COUNT_MAX {
            all.clear();
        }
        all.insert(id.to_owned(), Arc::new(dropped));
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Dropped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Forgets all files; one that is being imported is removed after that.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// Takes a piece of a file.
type Take<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

impl Dropped {
    /// Writes a file that arrives in pieces, and says how pages know it.
    pub(crate) fn receive(
        name: &str,
        arrive: &mut dyn FnMut(Take<'_>) -> io::Result<()>,
    ) -> io::Result<(String, Self)> {
        let id = Uuid::new_v4().simple().to_string();
        let folder = env::temp_dir().join(format!("folio-studio-{id}"));
        folder_of_the_user().create(&folder)?;
        let path = folder.join(safe(name));
        // From here on, an error removes the folder.
        let dropped = Self { path, done: AtomicU64::new(0), total: AtomicU64::new(0) };
        let mut file = fs::File::create_new(&dropped.path)?;
        arrive(&mut |piece| file.write_all(piece))?;
        Ok((id, dropped))
    }
}

/// The name of a file as far as it cannot lead elsewhere; its ending says what it is.
fn safe(name: &str) -> String {
    let is_plain = |next: &char| next.is_ascii_alphanumeric() || ['.', '_', '-'].contains(next);
    let plain: String = name.chars().filter(is_plain).collect();
    let plain = plain.trim_start_matches('.');
    let start = plain.len().saturating_sub(64);
    format!("file-{}", &plain[start..])
}

/// Makes folders that nobody else can look into.
fn folder_of_the_user() -> fs::DirBuilder {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700);
        builder
    }
    #[cfg(not(unix))]
    fs::DirBuilder::new() // there, the user's own folder has the temporary files
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn names_stay_in_their_folder() {
        for (name, kept) in [
            ("people.jsonl.gz", "file-people.jsonl.gz"),
            ("../../etc/passwd", "file-etcpasswd"),
            ("a b'\";\0.csv", "file-ab.csv"),
            ("..", "file-"),
            ("", "file-"),
        ] {
            assert_eq!(safe(name), kept);
        }
        assert_eq!(safe(&"x".repeat(500)).len(), 69);
    }
}
