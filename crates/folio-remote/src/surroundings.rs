//! The environment and the files of the user, where programs of every provider have their settings.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{FileKind, FileSystem, OpenMode};

/// The largest file of settings that is read.
const FILE_LIMIT: u64 = 1 << 20;

/// What settings are read from.
pub(crate) struct Surroundings<'s> {
    pub(crate) files: &'s dyn FileSystem,
    /// A variable of the environment.
    pub(crate) variable: &'s dyn Fn(&str) -> Option<String>,
}

impl Surroundings<'_> {
    /// The first of these variables that is set to something.
    pub(crate) fn first(&self, names: &[&str]) -> Option<String> {
        let mut values = names.iter().filter_map(|name| (self.variable)(name));
        values.find(|value| !value.is_empty())
    }

    /// The folder of the user.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.first(&["HOME", "USERPROFILE"]).map(PathBuf::from)
    }

    /// The text of a file; empty if there is none, or another thing: `/dev/null` means no file.
    ///
    /// # Errors
    /// A file that exists and cannot be read.
    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        match self.files.stat(path) {
            Ok(stat) if stat.kind == FileKind::File => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(String::new()),
        }
        let file = self.files.open(path, OpenMode::Read)?;
        let mut bytes = vec![0; file.stat()?.size.min(FILE_LIMIT) as usize];
        let read = file.read_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }
}

/// Runs a test in surroundings with these variables and files.
#[cfg(test)]
pub(crate) fn within<T>(
    variables: &[(&str, &str)],
    files: &[(&str, &str)],
    test: impl FnOnce(&Surroundings<'_>) -> T,
) -> T {
    let memory = folio_file::MemoryFileSystem::new();
    for (path, text) in files {
        let mut folder = PathBuf::new();
        for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            let _ = memory.create_directory(&folder);
        }
        memory.open(Path::new(path), OpenMode::Append).unwrap().append(text.as_bytes()).unwrap();
    }
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    test(&Surroundings { files: &memory, variable: &variable })
}
