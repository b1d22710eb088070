//! Turns a `.zds` archive into a database directory.

use std::path::Path;
use std::sync::Arc;

use folio_document::Progress;
use folio_document::archive::{self, UnpackLimits, UnpackReport};
use folio_file::FileSystem;

use crate::backup::build_indexes;
use crate::error::Result;
use crate::write::AtomicDirectory;

/// Unpacks an archive next to the target, builds the indexes, and renames.
pub(crate) fn unpack(
    files: &Arc<dyn FileSystem>,
    archive: &Path,
    target: &Path,
    progress: Progress<'_>,
) -> Result<UnpackReport> {
    let directory = AtomicDirectory::create(Arc::clone(files), target)?;
    let limits = UnpackLimits::default();
    let report = archive::unpack(&**files, archive, directory.path(), &limits, progress)?;
    build_indexes(files, directory.path(), &mut |_, _| progress(report.size, report.size))?;
    directory.commit()?;
    Ok(report)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that panics has failed
mod tests {
    use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation, Recording};
    use serde_json::json;

    use super::*;
    use crate::{Database, Error, OpenOptions, PackOptions};

    const DATABASE: &str = "/db";
    const ARCHIVE: &str = "/a.zds";
    const TARGET: &str = "/out";

    fn shared(files: &MemoryFileSystem) -> Arc<dyn FileSystem> {
        Arc::new(files.clone())
    }

    fn open(files: &MemoryFileSystem, path: &str) -> Result<Database> {
        let options = OpenOptions { file_system: Some(shared(files)), ..OpenOptions::default() };
        Database::open_with(path, &options)
    }

    /// An archive of two documents.
    fn packed() -> MemoryFileSystem {
        let files = MemoryFileSystem::new();
        let database = open(&files, DATABASE).unwrap();
        let users = database.collection("users").unwrap();
        users.put("a", &json!({"n": 1})).unwrap();
        users.put("b", &json!({"n": 2})).unwrap();
        database.pack(ARCHIVE, &PackOptions::default(), &mut |_, _| true).unwrap();
        database.close().unwrap();
        files
    }

    fn unpack_at(files: &MemoryFileSystem) -> Result<UnpackReport> {
        unpack(&shared(files), Path::new(ARCHIVE), Path::new(TARGET), &mut |_, _| true)
    }

    fn check_whole(files: &MemoryFileSystem, place: &str) {
        let database = open(files, TARGET).unwrap();
        let users = database.existing_collection("users").unwrap();
        assert_eq!(users.count().unwrap(), 2, "{place}");
        assert_eq!(users.get("b").unwrap().unwrap().raw(), r#"{"_id":"b","n":2}"#, "{place}");
    }

    #[test]
    fn a_crash_leaves_all_or_nothing_and_the_next_try_succeeds() {
        let files = packed();
        files.make_durable();
        files.record_crash_points(Recording::Changes);
        unpack_at(&files).unwrap();
        let mut partial_count = 0;
        for (number, point) in files.crash_points().iter().enumerate() {
            for seed in 0..3 {
                let crashed = point.image.crash(CrashPlan::new(seed << 32 | number as u64));
                let place = format!("point {number}, seed {seed}");
                if crashed.stat(Path::new(TARGET)).is_err() {
                    for entry in crashed.read_directory(Path::new("/")).unwrap() {
                        let path = format!("/{}", entry.name);
                        if !path.contains(".partial-") {
                            continue;
                        }
                        partial_count += 1;
                        match open(&crashed, &path) {
                            Err(error) => assert!(matches!(error, Error::Unfinished { .. })),
                            // The marker is removed last: what is left without it is empty or
                            // whole.
                            Ok(database) => {
                                let count = database.collections().unwrap().len();
                                assert!(count < 2, "{place}");
                            }
                        }
                    }
                    unpack_at(&crashed).unwrap();
                }
                check_whole(&crashed, &place);
                let left = crashed.paths();
                let left = left.iter().find(|path| path.to_string_lossy().contains("partial"));
                assert_eq!(left, None, "{place}");
            }
        }
        assert!(partial_count > 0, "the crash points lie within the work");
        check_whole(&files.crash(CrashPlan::lose_everything()), "at the end");
        let users = open(&files, TARGET).unwrap().existing_collection("users").unwrap();
        assert!(users.take_notices().is_empty(), "the index is there");
    }

    #[test]
    fn a_failed_try_leaves_nothing() {
        let files = packed();
        let paths = files.paths();
        for after in 0..8 {
            let fault = Fault::next(Operation::Write, FaultKind::Enospc).on("out");
            files.inject(fault.after(after).sticky());
            let failed = unpack_at(&files).is_err();
            files.clear_faults();
            // A full disk only costs an index time: it is rebuilt.
            assert_eq!(failed, after < 3, "{after}");
            if !failed {
                check_whole(&files, "without an index");
                break;
            }
            assert_eq!(files.paths(), paths, "{after}");
        }
        let files = packed();
        let cancelled =
            unpack(&shared(&files), Path::new(ARCHIVE), Path::new(TARGET), &mut |_, _| false);
        assert_eq!(cancelled.unwrap_err().code(), folio_types::ErrorCode::Cancelled);
        assert_eq!(files.paths(), paths);
    }

    #[test]
    fn the_target_must_be_empty_or_new() {
        let files = packed();
        files.write("/full/x", b"").unwrap();
        files.create_directory(Path::new(TARGET)).unwrap();
        for target in ["/full", "/full/x", "/"] {
            let tried =
                unpack(&shared(&files), Path::new(ARCHIVE), Path::new(target), &mut |_, _| true);
            assert_eq!(tried.unwrap_err().code(), folio_types::ErrorCode::Conflict, "{target}");
        }
        assert_eq!(files.read("/full/x").unwrap(), b"");
        unpack_at(&files).unwrap();
        check_whole(&files, "into an empty directory");
    }
}
