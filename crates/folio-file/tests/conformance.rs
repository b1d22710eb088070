//! Disk and memory behave alike.
//!
//! A script is lines of `command => outcome`. One runner runs it on both file systems and expects
//! the written outcome from each, so the model in memory must match the disk. Random scripts have
//! no written outcome; both file systems must agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use folio_file::{
    DirectoryEntry, DiskFileSystem, File, FileKind, FileSystem, MemoryFileSystem, OpenMode, Stat,
};

const SCRIPT: &str = include_str!("conformance.txt");

#[test]
fn the_script_holds_on_disk() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    run_script(&DiskFileSystem, directory.path());
}

#[test]
fn the_script_holds_in_memory() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/root")).expect("memory takes directories");
    run_script(&files, Path::new("/root"));
}

#[test]
fn random_scripts_agree() {
    for seed in 0..300 {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let memory = MemoryFileSystem::with_seed(seed);
        memory.create_directory(Path::new("/root")).expect("memory takes directories");
        let mut on_disk = Session::new(&DiskFileSystem, directory.path());
        let mut in_memory = Session::new(&memory, Path::new("/root"));
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for step in 0..80 {
            let command = random_command(&mut random);
            let (disk, memory) = (on_disk.run(&command), in_memory.run(&command));
            assert_eq!(disk, memory, "seed {seed}, step {step}: {command} (disk, memory)");
        }
        assert_eq!(on_disk.dump(""), in_memory.dump(""), "seed {seed}: the trees left behind");
    }
}

fn run_script(files: &dyn FileSystem, root: &Path) {
    let mut session = Session::new(files, root);
    let mut count = 0;
    for (index, line) in SCRIPT.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (command, expected) = line.split_once("=>").expect("a line is `command => outcome`");
        assert_eq!(session.run(command), expected.trim(), "line {}: {command}", index + 1);
        count += 1;
    }
    assert!(count > 100, "the script was run");
}

/// Open handles and identities, by their names in a script.
struct Session<'a> {
    files: &'a dyn FileSystem,
    root: &'a Path,
    handles: BTreeMap<String, Arc<dyn File>>,
    stats: BTreeMap<String, Stat>,
}

impl<'a> Session<'a> {
    fn new(files: &'a dyn FileSystem, root: &'a Path) -> Self {
        Self { files, root, handles: BTreeMap::new(), stats: BTreeMap::new() }
    }

    fn path(&self, text: &str) -> PathBuf {
        self.root.join(text.trim_start_matches('/'))
    }

    /// The outcome of one command as text; errors by their name.
    fn run(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let outcome = match words[0] {
            "open" => self.open(&words),
            "close" => {
                self.handles.remove(words[1]);
                Ok("ok".into())
            }
            "read" | "write" | "append" | "truncate" | "sync" | "writeback" | "map" | "size"
            | "touch" | "lock" | "share" | "unlock" | "byte" | "bytes" => {
                match self.handles.get(words[1]) {
                    Some(handle) => on_handle(&**handle, &words),
                    None => Ok("no handle".into()),
                }
            }
            "stat" => self.files.stat(&self.path(words[1])).map(describe),
            "link" => self.files.stat_link(&self.path(words[1])).map(describe),
            "note" => self.files.stat(&self.path(words[1])).map(|stat| {
                self.stats.insert(words[1].into(), stat);
                "ok".into()
            }),
            "differs" => self.differs(words[1]),
            "list" => self.files.read_directory(&self.path(words[1])).map(list),
            "mkdir" => done(self.files.create_directory(&self.path(words[1]))),
            "rmdir" => done(self.files.remove_directory(&self.path(words[1]))),
            "remove" => done(self.files.remove_file(&self.path(words[1]))),
            "rename" => done(self.files.rename(&self.path(words[1]), &self.path(words[2]))),
            "syncdir" => done(self.files.sync_directory(&self.path(words[1]))),
            "canonical" => self.canonical(words[1]),
            "network" => Ok(self.files.is_network(&self.path(words[1])).to_string()),
            unknown => panic!("no such command: {unknown}"),
        };
        outcome.unwrap_or_else(|error| name_of(&error))
    }

    fn open(&mut self, words: &[&str]) -> io::Result<String> {
        let mode = match words[3] {
            "read" => OpenMode::Read,
            "append" => OpenMode::Append,
            "write" => OpenMode::Write,
            "new" => OpenMode::CreateNew,
            unknown => panic!("no such mode: {unknown}"),
        };
        // A handle of that name is closed first, so that locks are predictable.
        self.handles.remove(words[1]);
        let file = self.files.open(&self.path(words[2]), mode)?;
        self.handles.insert(words[1].into(), file);
        Ok("ok".into())
    }

    /// What has changed since `note`.
    fn differs(&self, path: &str) -> io::Result<String> {
        let (before, now) = (self.stats[path], self.files.stat(&self.path(path))?);
        let mut text = String::new();
        for (name, differs) in [
            ("identity", (before.device, before.inode) != (now.device, now.inode)),
            ("size", before.size != now.size),
            ("modified", before.modified_ns != now.modified_ns),
            ("changed", before.changed_ns != now.changed_ns),
        ] {
            if differs {
                text += &format!("{name} ");
            }
        }
        Ok(if text.is_empty() { "nothing".into() } else { text.trim().into() })
    }

    fn canonical(&self, path: &str) -> io::Result<String> {
        let root = self.files.canonical(self.root)?;
        let path = self.files.canonical(&self.path(path))?;
        Ok(match path.strip_prefix(root) {
            Ok(inside) => format!("/{}", inside.display()),
            Err(_) => "outside".into(),
        })
    }

    /// The tree below a directory: every path with its content.
    fn dump(&self, directory: &str) -> String {
        let mut text = String::new();
        let entries = self.files.read_directory(&self.path(directory)).expect("it is listed");
        for entry in sorted(entries) {
            let path = format!("{directory}/{}", entry.name);
            if entry.kind == FileKind::Directory {
                text += &format!("{path}/\n{}", self.dump(&path));
            } else {
                let file = self.files.open(&self.path(&path), OpenMode::Read).expect("it opens");
                let map = file.map().expect("it maps");
                writeln!(text, "{path} {:?}", String::from_utf8_lossy(&map)).expect("a string");
            }
        }
        text
    }
}

fn on_handle(file: &dyn File, words: &[&str]) -> io::Result<String> {
    let number = |index: usize| words[index].parse::<u64>().expect("a number");
    match words[0] {
        "read" => {
            let size = usize::try_from(number(3)).expect("a small number");
            let mut buffer = vec![b'?'; size];
            let count = file.read_at(&mut buffer, number(2))?;
            assert_eq!(file.read_new(size, number(2))?, buffer[..count], "into new memory");
            Ok(show(&buffer[..count]))
        }
        "write" => done(file.write_at(words[3].as_bytes(), number(2))),
        "append" => file.append(words[2].as_bytes()).map(|end| end.to_string()),
        "truncate" => done(file.truncate(number(2))),
        "sync" => done(file.sync_data()),
        "writeback" => {
            file.start_writeback(number(2), number(3));
            Ok("ok".into())
        }
        "map" => file.map().map(|map| show(&map)),
        "size" => file.stat().map(|stat| stat.size.to_string()),
        "touch" => done(file.set_modified(UNIX_EPOCH + Duration::new(number(2), 123_456_789)))
            .and_then(|_| Ok(file.stat()?.modified_ns.to_string())),
        "lock" => file.try_lock().map(|taken| taken.to_string()),
        "share" => file.try_lock_shared().map(|taken| taken.to_string()),
        "unlock" => done(file.unlock()),
        "byte" => match (words[2], number(3)) {
            ("share", at) => file.try_lock_byte(at, false).map(|taken| taken.to_string()),
            ("alone", at) => file.try_lock_byte(at, true).map(|taken| taken.to_string()),
            (_, at) => done(file.unlock_byte(at)),
        },
        "bytes" => {
            let range = number(2)..number(3);
            file.has_locked_byte(range).map(|is_locked| is_locked.to_string())
        }
        unknown => unreachable!("{unknown} was looked up before"),
    }
}

/// Bytes as text, zeros as dots.
fn show(bytes: &[u8]) -> String {
    let text: String =
        bytes.iter().map(|&byte| if byte == 0 { '.' } else { byte.into() }).collect();
    if text.is_empty() { "nothing".into() } else { text }
}

fn describe(stat: Stat) -> String {
    match stat.kind {
        FileKind::File => format!("file {}", stat.size),
        FileKind::Directory => "directory".into(),
        FileKind::Link => "link".into(),
        FileKind::Other => "other".into(),
    }
}

fn list(entries: Vec<DirectoryEntry>) -> String {
    let names = sorted(entries).into_iter().map(|entry| match entry.kind {
        FileKind::Directory => format!("{}/", entry.name),
        _ => entry.name,
    });
    let text = names.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "nothing".into() } else { text }
}

fn sorted(mut entries: Vec<DirectoryEntry>) -> Vec<DirectoryEntry> {
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    entries
}

fn done(result: io::Result<()>) -> io::Result<String> {
    result.map(|()| "ok".into())
}

/// The kind of an error. Writing through a read-only handle is `EBADF` or `EINVAL` on Linux, which
/// have no separate kind.
fn name_of(error: &io::Error) -> String {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, _) | (_, Some(9)) => "Refused".into(),
        (kind, _) => format!("{kind:?}"),
    }
}

/// A command over few names and handles, so that commands interact.
fn random_command(random: &mut u64) -> String {
    let mut below = |bound: u64| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random % bound
    };
    let paths = ["/a", "/b", "/d/a", "/d/b", "/d", "/e", "/d/f/a", "/d/f", "/missing/x"];
    let modes = ["read", "append", "write", "write", "append", "new"];
    let path = paths[below(9) as usize];
    let other = paths[below(9) as usize];
    let handle = ["h", "i", "j"][below(3) as usize];
    let (offset, size) = (below(30), below(20));
    let text = &"abcdefghijklmnopqrstuvwxyz"[..1 + size as usize];
    match below(24) {
        0..=4 => format!("open {handle} {path} {}", modes[below(6) as usize]),
        5 => format!("close {handle}"),
        6..=8 => format!("append {handle} {text}"),
        9 | 10 => format!("write {handle} {offset} {text}"),
        11 => format!("truncate {handle} {offset}"),
        12 => format!("read {handle} {offset} {size}"),
        13 => format!("map {handle}"),
        14 => format!("rename {path} {other}"),
        15 => format!("remove {path}"),
        16 => format!("rmdir {path}"),
        17 => format!("mkdir {path}"),
        18 => format!("list {path}"),
        19 => format!("stat {path}"),
        20 => format!("lock {handle}"),
        21 => format!("share {handle}"),
        22 => format!("unlock {handle}"),
        _ => format!("sync {handle}"),
    }
}
