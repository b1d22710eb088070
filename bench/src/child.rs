//! Jobs that a suite runs in a process of their own: to time a whole process,
//! or to read the peak memory of one job alone.
//!
//! The child is the same executable, so every system pays for the same loading.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::record::Record;
use crate::store::{Form, Handle, find};

/// What stands before a job in the arguments of a child.
pub const FLAG: &str = "--child";

/// Bytes of lines that an import hands over at once.
const IMPORT_BATCH: usize = 8 << 20;

/// Runs this executable again with a job, and returns what it printed.
///
/// # Errors
/// When it cannot be started or fails.
pub fn spawn(job: &[&str]) -> Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(FLAG).args(job).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the child for {job:?} failed: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Does a job with a store of documents. Called in the child.
///
/// # Errors
/// The job's.
pub fn run(job: &[&str]) -> Result<()> {
    match *job {
        ["get", system, directory, id] => get(system, Path::new(directory), id),
        ["scan", system, directory] => {
            let memory = MemoryWatch::start();
            let store = (find(system)?.open)(Path::new(directory))?;
            black_box(store.scan_raw()?);
            memory.report()
        }
        ["import", system, directory, lines] => {
            let memory = MemoryWatch::start();
            let mut store = (find(system)?.create)(Path::new(directory))?;
            import(&mut *store, Path::new(lines))?;
            store.sync()?;
            drop(store);
            memory.report()
        }
        _ => Err(format!("{job:?} is not a job").into()),
    }
}

/// Opens, gets one document, and leaves as a short-lived program would.
fn get(system: &str, directory: &Path, id: &str) -> Result<()> {
    let store = (find(system)?.open)(directory)?;
    let tally = store.get_raw(&[id.to_owned()])?;
    if tally.count == 1 { Ok(()) } else { Err(format!("{id} was not found").into()) }
}

/// Loads a file of lines in batches, one batch in memory at a time.
fn import(store: &mut dyn Handle, lines: &Path) -> Result<()> {
    let mut source = BufReader::with_capacity(1 << 20, File::open(lines)?);
    let (mut batch, mut size) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        let read = source.read_line(&mut line)?;
        if read == 0 || size >= IMPORT_BATCH {
            store.write(&batch, Form::Lines)?;
            batch.clear();
            size = 0;
        }
        if read == 0 {
            return Ok(());
        }
        size += read;
        line.truncate(line.trim_end().len());
        // The records of this project have their id as the second string.
        let id = line.split('"').nth(3).ok_or("a line has no id")?.to_owned();
        batch.push(Record { id, value: Value::Null, line });
    }
}

/// Watches the memory of this process.
struct MemoryWatch {
    peak_anonymous: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    sampler: thread::JoinHandle<()>,
}

impl MemoryWatch {
    /// Begins to sample. The kernel keeps a high-water mark of the whole
    /// resident size, but none of its anonymous part.
    fn start() -> Self {
        let peak_anonymous = Arc::new(AtomicU64::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let sampler = thread::spawn({
            let (peak, done) = (Arc::clone(&peak_anonymous), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Relaxed) {
                    peak.fetch_max(status_bytes("RssAnon:"), Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self { peak_anonymous, done, sampler }
    }

    /// Prints peak and peak anonymous size in bytes.
    fn report(self) -> Result<()> {
        self.done.store(true, Ordering::Relaxed);
        self.sampler.join().map_err(|_| "the sampler panicked")?;
        println!("{} {}", status_bytes("VmHWM:"), self.peak_anonymous.load(Ordering::Relaxed));
        Ok(())
    }
}

/// A line of `/proc/self/status` that is in kB, in bytes.
fn status_bytes(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
