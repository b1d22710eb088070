//! A folder to run the command in.

#![allow(dead_code)] // no test needs all of it

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

const BUILT: &str = env!("CARGO_BIN_EXE_folio");

/// The full path of another command to test: the Python and Node packages contain one.
const OTHER: &str = "FOLIO_COMMAND";

/// A folder that is removed when the test ends.
pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The command under test, run in the folder without a shell.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os(OTHER).unwrap_or_else(|| BUILT.into()));
        command.args(arguments).current_dir(self.path()).env("LC_ALL", "C.UTF-8");
        command
    }

    /// A shell command in the folder, where `folio` is the command under test.
    pub(crate) fn shell(&self, command: &str) -> Command {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder_of_command().display());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(self.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm")
            .env("AS_USER", as_user())
            .stdin(Stdio::null());
        shell
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &str) -> Output {
        self.shell(command).output().unwrap()
    }
}

const FOLDER_PREFIX: &str = "folio-command-";

/// Removes the folders of test processes that have ended. A test process cannot remove its own
/// folder at its end, and the command is large.
fn remove_left_after(parent: &Path) {
    for entry in fs::read_dir(parent).unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            // Another test process may be doing the same.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder with only the command, readable by every user.
fn folder_of_command() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let parent = std::env::temp_dir();
        remove_left_after(&parent);
        let folder = parent.join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        match std::env::var_os(OTHER) {
            // A script finds its package by its own location.
            Some(other) => symlink(other, folder.join("folio")).unwrap(),
            None => drop(fs::copy(BUILT, folder.join("folio")).unwrap()),
        }
        folder
    })
}

/// A prefix that runs a command without the rights of root.
fn as_user() -> &'static str {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if is_root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" }
}
