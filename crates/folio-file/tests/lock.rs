//! The writer's lock, between threads, between processes, and across a fork.
//!
//! Tests that need a second process start this binary again with one of the ignored tests, which
//! contain that process's part.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use folio_file::{
    DirectoryEntry, DiskFileSystem, Fault, FaultKind, File, FileSystem, LOOK_EVERY, LockError,
    MemoryFileSystem, OpenMode, Operation, Stat, WriterGuard, WriterLock,
};

const PATH: &str = "FOLIO_TEST_LOCK";
const NO_WAIT: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(300);

fn disk_lock(path: &Path) -> Arc<WriterLock> {
    Arc::new(WriterLock::new(Arc::new(DiskFileSystem), path.into()))
}

fn lock_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("folio.lock");
    (directory, path)
}

fn holder_of(result: Result<WriterGuard, LockError>) -> Option<u32> {
    match result {
        Err(LockError::Held { pid }) => pid,
        other => panic!("the lock should be held elsewhere: {other:?}"),
    }
}

/// Starts a process that runs a part.
fn start(part: &str, path: &Path) -> Child {
    Command::new(env::current_exe().expect("a test knows its binary"))
        .args(["--exact", part, "--ignored", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits for a line that the process prints; the harness prints others.
fn wait_for(child: &mut Child, line: &str) -> BufReader<std::process::ChildStdout> {
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut read = String::new();
    while !read.trim_end().ends_with(line) {
        read.clear();
        assert!(output.read_line(&mut read).expect("it reads") > 0, "it ended before {line:?}");
    }
    output
}

fn own_path() -> PathBuf {
    env::var_os(PATH).expect("the starting test says which lock").into()
}

#[test]
#[ignore = "a part that other tests start as a process"]
fn part_holder() {
    let guard = disk_lock(&own_path()).acquire(LONG).expect("it is free");
    println!("held");
    let _ = io::stdin().read(&mut [0]);
    drop(guard);
    println!("released");
    let _ = io::stdin().read(&mut [0]);
}

/// Takes the lock often, and adds one to a number in a file each time. The result is wrong if
/// another process does so at the same time.
#[test]
#[ignore = "a part that other tests start as a process"]
fn part_counter() {
    let path = own_path();
    for _ in 0..100 {
        let lock = disk_lock(&path);
        let guard = lock.acquire(LONG).expect("the others give it back");
        let counter = path.with_file_name("counter");
        let number: u64 = fs::read_to_string(&counter).expect("it is there").parse().expect("one");
        fs::write(&counter, (number + 1).to_string()).expect("it is written");
        drop(guard);
    }
}

#[test]
fn one_process_counts_its_holders() {
    let files = Arc::new(MemoryFileSystem::new());
    let lock = Arc::new(WriterLock::new(files.clone(), "/folio.lock".into()));
    let other = Arc::new(WriterLock::new(files.clone(), "/folio.lock".into()));
    assert!(files.paths().is_empty(), "nothing is created before the first use");
    assert!(!lock.is_held_elsewhere(), "a missing file is not held");

    let first = lock.acquire(NO_WAIT).expect("it is free");
    let second = lock.try_acquire().expect("this process has it");
    assert_eq!(files.read("/folio.lock"), Some(format!("{}\n", id()).into_bytes()));
    assert_eq!(holder_of(other.try_acquire()), Some(id()));
    assert!(lock.is_held_here() && !lock.is_held_elsewhere());
    assert!(!other.is_held_here() && other.is_held_elsewhere());
    drop(first);
    assert_eq!(holder_of(other.try_acquire()), Some(id()), "one holder is left");
    drop(second);
    assert!(!lock.is_held_here() && !other.is_held_elsewhere());
    let third = other.try_acquire().expect("it was given back");
    assert_eq!(holder_of(lock.try_acquire()), Some(id()));
    drop(third);
    assert_eq!(files.paths(), [Path::new("/folio.lock")], "the file stays");
}

#[test]
fn the_message_names_the_holder_and_the_way_out() {
    let (_directory, path) = lock_file();
    let _guard = disk_lock(&path).acquire(NO_WAIT).expect("it is free");
    let error = disk_lock(&path).try_acquire().expect_err("it is held");
    let expected = format!(
        "the database is open for writing in another process (pid {}); \
         open it read-only or close the other",
        id()
    );
    assert_eq!(error.to_string(), expected);
    // The content of the file need not be a number.
    for text in [&b""[..], b"\n", b"x", b"99999999999999999999\n", b"\xff\xfe", &[b'1'; 99]] {
        fs::write(&path, text).expect("it is written");
        assert_eq!(holder_of(disk_lock(&path).try_acquire()), None, "{text:?}");
    }
}

#[test]
fn another_process_is_waited_for() {
    let (_directory, path) = lock_file();
    let mut child = start("part_holder", &path);
    let output = wait_for(&mut child, "held");
    let lock = disk_lock(&path);
    assert!(lock.is_held_elsewhere());
    assert_eq!(holder_of(lock.try_acquire()), Some(child.id()));

    let start = Instant::now();
    let timeout = Duration::from_millis(150);
    assert_eq!(holder_of(lock.acquire(timeout)), Some(child.id()));
    assert!(start.elapsed() >= timeout, "it waited");

    let waiting = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || lock.acquire(LONG))
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished(), "it is still held");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"x").expect("it listens");
    let guard = waiting.join().expect("no panic").expect("it was given back in time");
    assert_eq!(lock.holder(), Some(id()));
    drop((guard, input, output));
    child.wait().expect("it ends");
}

#[test]
fn a_killed_process_holds_nothing() {
    let (_directory, path) = lock_file();
    let mut child = start("part_holder", &path);
    let _output = wait_for(&mut child, "held");
    let lock = disk_lock(&path);
    holder_of(lock.try_acquire());
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert!(!lock.is_held_elsewhere());
    assert_eq!(lock.holder(), Some(child.id()), "it could not tidy up");
    let _guard = lock.acquire(NO_WAIT).expect("the system gave the lock back");
    assert_eq!(lock.holder(), Some(id()));
}

/// Processes that write in turn, and readers that keep checking for a writer.
#[test]
fn writers_never_meet_and_readers_do_not_disturb() {
    let (_directory, path) = lock_file();
    let counter = path.with_file_name("counter");
    fs::write(&counter, "0").expect("it is written");
    let mut children: Vec<_> = (0..3).map(|_| start("part_counter", &path)).collect();
    let mut asked = 0;
    while children.iter_mut().any(|child| child.try_wait().expect("it is ours").is_none()) {
        disk_lock(&path).is_held_elsewhere();
        asked += 1;
    }
    for mut child in children {
        assert!(child.wait().expect("it ended").success(), "a writer failed");
    }
    assert!(asked > 0, "somebody asked");
    assert_eq!(fs::read_to_string(&counter).expect("it is there"), "300");
}

/// A reader's check takes the lock shared for a moment, which must not look like a writer.
#[test]
fn a_question_is_not_taken_for_a_writer() {
    let files = Arc::new(MemoryFileSystem::new());
    let asking = files.open(Path::new("/folio.lock"), OpenMode::Append).expect("it opens");
    let lock = Arc::new(WriterLock::new(files, "/folio.lock".into()));
    assert!(asking.try_lock_shared().expect("memory locks"));
    let waiting = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || lock.try_acquire().map(|_| ()))
    };
    thread::sleep(Duration::from_millis(2));
    asking.unlock().expect("memory unlocks");
    waiting.join().expect("no panic").expect("a question does not refuse a writer");
}

#[test]
fn threads_share_one_hold() {
    let (_directory, path) = lock_file();
    let lock = disk_lock(&path);
    let (inside, barrier) = (AtomicUsize::new(0), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let guard = lock.acquire(LONG).expect("this process has it");
                    inside.fetch_add(1, Ordering::SeqCst);
                    barrier.wait();
                    assert_eq!(inside.load(Ordering::SeqCst), 4, "all four are in");
                    assert!(disk_lock(&path).is_held_elsewhere());
                    barrier.wait();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                    barrier.wait();
                }
            });
        }
    });
    assert!(!lock.is_held_here());
    drop(disk_lock(&path).try_acquire().expect("the last one gave it back"));
}

#[test]
fn refusals_of_the_system_are_passed_on() {
    let files = Arc::new(MemoryFileSystem::new());
    let kind_of = |path: &str| {
        let lock = Arc::new(WriterLock::new(files.clone(), path.into()));
        match lock.acquire(LONG) {
            Err(error @ LockError::Io { .. }) => {
                let text = error.to_string();
                let LockError::Io { source, path: named } = error else { unreachable!() };
                assert_eq!(named, Path::new(path));
                assert!(text.ends_with(folio_file::advice(&source)), "{text}");
                source.kind()
            }
            other => panic!("an error was expected: {other:?}"),
        }
    };
    assert_eq!(kind_of("/missing/folio.lock"), io::ErrorKind::NotFound);
    for operation in [Operation::Create, Operation::Lock, Operation::Metadata] {
        files.inject(Fault::next(operation, FaultKind::Eio));
        assert_eq!(kind_of("/folio.lock"), io::ErrorKind::Other, "{operation:?}");
    }
    files.set_read_only(true);
    assert_eq!(kind_of("/folio.lock"), io::ErrorKind::ReadOnlyFilesystem);
    files.set_read_only(false);
    // The pid is optional: the lock is taken even without space for it.
    files.set_capacity(Some(0));
    let lock = Arc::new(WriterLock::new(files, "/folio.lock".into()));
    let _guard = lock.acquire(NO_WAIT).expect("a full disk is no reason to refuse");
}

/// Replaces the lock file once, right after it was opened.
#[derive(Debug)]
struct Meddler {
    files: MemoryFileSystem,
    is_done: AtomicBool,
}

impl FileSystem for Meddler {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.files.open(path, mode)?;
        if !self.is_done.swap(true, Ordering::SeqCst) {
            self.files.replace(path, b"")?;
        }
        Ok(file)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.files.stat(path)
    }
    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        self.files.stat_link(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.files.create_directory(path)
    }
    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.files.read_directory(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.files.remove_file(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.files.remove_directory(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.files.sync_directory(path)
    }
    fn is_network(&self, path: &Path) -> bool {
        self.files.is_network(path)
    }
    fn now(&self) -> SystemTime {
        self.files.now()
    }
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.canonical(path)
    }
}

/// A lock on a file that has lost its name is worthless.
#[test]
fn a_file_replaced_between_opening_and_locking_is_opened_again() {
    let files = MemoryFileSystem::new();
    let meddler = Meddler { files: files.clone(), is_done: AtomicBool::new(false) };
    let lock = Arc::new(WriterLock::new(Arc::new(meddler), "/folio.lock".into()));
    let _guard = lock.acquire(NO_WAIT).expect("it is free");
    let other = Arc::new(WriterLock::new(Arc::new(files), "/folio.lock".into()));
    assert_eq!(holder_of(other.try_acquire()), Some(id()));
}

/// Whoever removes a database, or puts another in its place, takes the lock file along.
#[cfg(unix)]
#[test]
fn a_lock_whose_file_is_gone_says_so() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let memory: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    for (files, root) in [(memory, Path::new("/")), (disk, directory.path())] {
        let path = root.join("data/folio.lock");
        for is_moved in [false, true] {
            files.create_directory(&root.join("data")).expect("a directory");
            let lock = || Arc::new(WriterLock::new(Arc::clone(&files), path.clone()));
            let guard = lock().acquire(NO_WAIT).expect("it is free");
            guard.check().expect("nothing has happened");
            match is_moved {
                true => files.rename(&path, &root.join("data/other")).expect("it is there"),
                false => files.remove_file(&path).expect("it is there"),
            }
            let _other = lock().acquire(NO_WAIT);
            let is_told = |checked: Result<(), LockError>| {
                let Err(error) = checked else { panic!("the file is another") };
                assert!(error.to_string().contains("data\" was removed or replaced"), "{error}");
            };
            is_told(guard.check());
            thread::sleep(LOOK_EVERY);
            is_told(guard.check_lately());
        }
    }
}

#[cfg(unix)]
mod fork {
    use std::io::{PipeReader, PipeWriter, pipe};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::exit;

    use super::*;

    #[test]
    fn a_child_neither_uses_nor_frees_its_parents_lock() {
        let (_directory, path) = lock_file();
        let output = start("fork::part_parent", &path).wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("the whole story was told"), "{text}");
    }

    /// Runs alone in its process, so that forking meets no other thread's locks.
    #[test]
    #[ignore = "a part that another test starts as a process"]
    fn part_parent() {
        let lock = disk_lock(&own_path());
        let guard = lock.acquire(NO_WAIT).expect("it is free");
        let parent = id();
        let _bystander = bystander();
        let (child_listens, to_child) = pipe().expect("the system has pipes");
        let (parent_listens, to_parent) = pipe().expect("the system has pipes");
        // SAFETY: the harness runs this test alone and on one thread, so the
        // child inherits no lock of another thread and may allocate.
        #[allow(unsafe_code)]
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(to_child);
            let story =
                AssertUnwindSafe(|| report_childs(&lock, guard, parent, child_listens, to_parent));
            exit(i32::from(catch_unwind(story).is_err()));
        }
        assert!(child > 0, "the system forks");
        drop(to_parent);
        let child = u32::try_from(child).expect("it is positive");
        report_parents(&lock, guard, child, parent_listens, to_child);
        println!("the whole story was told");
    }

    #[test]
    fn a_parent_that_ends_leaves_no_lock_with_its_child() {
        let (_directory, path) = lock_file();
        let mut parent = start("fork::part_short_parent", &path);
        let child_lives = parent.stdin.take().expect("it is piped");
        let _output = wait_for(&mut parent, "held");
        assert!(parent.wait().expect("it ends").success());
        let guard = disk_lock(&path).acquire(NO_WAIT);
        drop(child_lives);
        drop(guard.expect("the lock ended with the parent"));
    }

    /// Ends without a word while its child lives on.
    #[test]
    #[ignore = "a part that another test starts as a process"]
    fn part_short_parent() {
        let lock = disk_lock(&own_path());
        let guard = lock.acquire(NO_WAIT).expect("it is free");
        // SAFETY: as in `part_parent`.
        #[allow(unsafe_code)]
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The test that started the parent holds the other end.
            let _ = io::stdin().read(&mut [0]);
            exit(0);
        }
        assert!(child > 0, "the system forks");
        println!("held");
        std::mem::forget(guard);
        exit(0);
    }

    /// A child that lives until its parent ends, and does nothing.
    fn bystander() -> PipeWriter {
        let (mut listens, alive) = pipe().expect("the system has pipes");
        // SAFETY: as in `part_parent`.
        #[allow(unsafe_code)]
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(alive);
            let _ = listens.read(&mut [0]);
            exit(0);
        }
        assert!(child > 0, "the system forks");
        alive
    }

    fn report_childs(
        lock: &Arc<WriterLock>,
        guard: WriterGuard,
        parent: u32,
        mut listen: PipeReader,
        mut signal: PipeWriter,
    ) {
        assert!(!lock.is_held_here(), "the child holds nothing");
        assert!(lock.is_held_elsewhere(), "its parent does");
        assert_eq!(holder_of(lock.try_acquire()), Some(parent));
        assert!(matches!(guard.check(), Err(LockError::Forked)));
        drop(guard);
        assert_eq!(holder_of(lock.try_acquire()), Some(parent), "the guard was not its own");
        signal.write_all(b"1").expect("the parent listens");

        listen.read_exact(&mut [0]).expect("the parent has let go");
        let own = lock.acquire(NO_WAIT).expect("it is free now");
        assert_eq!(lock.holder(), Some(id()));
        signal.write_all(b"2").expect("the parent listens");
        listen.read_exact(&mut [0]).expect("the parent has looked");
        drop(own);
        signal.write_all(b"3").expect("the parent listens");
    }

    fn report_parents(
        lock: &Arc<WriterLock>,
        guard: WriterGuard,
        child: u32,
        mut listen: PipeReader,
        mut signal: PipeWriter,
    ) {
        listen.read_exact(&mut [0]).expect("the child lives");
        assert_eq!(holder_of(disk_lock(lock.path()).try_acquire()), Some(id()), "still ours");
        drop(guard);
        signal.write_all(b"1").expect("the child listens");
        listen.read_exact(&mut [0]).expect("the child lives");
        assert_eq!(holder_of(lock.try_acquire()), Some(child));
        signal.write_all(b"2").expect("the child listens");
        listen.read_exact(&mut [0]).expect("the child lives");
        drop(lock.try_acquire().expect("the child gave it back"));
    }
}
