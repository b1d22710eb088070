//! Runs sqllogictest files: our own under `conformance/sql`, and any folder of the
//! standard corpus that is named.
//!
//! Each file has its own database. Files run on all cores, each in this process. Records of the
//! standard corpus that are specific to another system are listed in `exceptions.txt`; one that is
//! listed and passes is a failure too.
//!
//! ```sh
//! cargo test -p folio --test slt                    # conformance/sql
//! make slt DIR=folder                               # files from elsewhere
//! ```

mod exceptions;
mod md5;
#[path = "../../../../conformance/sql/record.rs"]
mod record;
mod runner;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use runner::{Report, run_file};

/// All files below a folder, or the file itself.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .expect("the folder can be read")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        entries.sort();
        entries.iter().for_each(|entry| files(entry, found));
    } else if path.extension().is_some_and(|extension| extension == "slt" || extension == "test") {
        found.push(path.to_owned());
    }
}

/// Runs files on all cores and returns the result of each.
fn run(paths: &[PathBuf]) -> Vec<(PathBuf, Report)> {
    let (next, reports) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run_file(path);
                    reports.lock().expect("no thread panics").push((path.clone(), report));
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("no thread panics");
    reports.sort_by(|left, right| left.0.cmp(&right.0));
    reports
}

#[test]
fn conformance() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sql");
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    assert!(!paths.is_empty(), "there are files");
    let mut failures = String::new();
    for (path, report) in run(&paths) {
        assert!(report.passed > 0, "{} has records", path.display());
        failures.extend(report.failures.into_iter().map(|failure| failure.text));
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The number of failures shown per file.
const SHOWN_MAX: usize = 20;

/// A folder of outside files, named by `FOLIO_SLT_DIR`.
#[test]
#[ignore = "needs FOLIO_SLT_DIR"]
fn outside() {
    let Some(folder) = std::env::var_os("FOLIO_SLT_DIR") else { return };
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    assert!(!paths.is_empty(), "{} has no .test or .slt files", Path::new(&folder).display());
    let exceptions = exceptions::all();
    let (mut passed, mut failed, mut skipped, mut excepted) = (0, 0, 0, 0);
    for (path, report) in run(&paths) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let listed = exceptions.get(&*name).cloned().unwrap_or_default();
        let (known, mut unknown): (Vec<_>, Vec<_>) =
            report.failures.into_iter().partition(|failure| listed.contains_key(&failure.line));
        for (line, reason) in &listed {
            if known.iter().all(|failure| failure.line != *line) {
                let text = format!("{name}:{line} passes, and is listed: {reason}\n");
                unknown.push(runner::Failure { line: *line, text });
            }
        }
        println!(
            "{name}: {} passed, {} failed, {} listed, {} skipped, {:.2} s",
            report.passed,
            unknown.len(),
            known.len(),
            report.skipped,
            report.seconds
        );
        unknown.iter().take(SHOWN_MAX).for_each(|failure| println!("{}", failure.text));
        passed += report.passed;
        failed += unknown.len();
        excepted += known.len();
        skipped += report.skipped;
    }
    println!("{passed} passed, {failed} failed, {excepted} listed, {skipped} skipped");
    assert_eq!(failed, 0, "records failed");
}
