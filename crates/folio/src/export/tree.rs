//! Exports one collection as a directory that ZDS and this library can open.

use std::path::Path;
use std::sync::Arc;

use folio_document::{CollectionOptions, Progress};
use folio_file::{FileSystem, WriterLock};

use super::columns::report_progress;
use super::{ExportOptions, ExportReport};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::store::LOCK_FILE_NAME;
use crate::write::{AtomicDirectory, AtomicFile, read_small};

/// Bytes of lines per batch.
const BATCH_SIZE: u64 = 64 << 20;

/// Writes `<target>/collections/<name>/`, live documents only.
pub(super) fn write_tree(
    collection: &Collection,
    target: &Path,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let store = &collection.handle().store;
    let files = Arc::clone(&store.host);
    let directory = AtomicDirectory::create(Arc::clone(&files), target)?;
    copy_manifest(&*store.files, &files, collection, directory.path())?;
    let lock_path = directory.path().join(LOCK_FILE_NAME);
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), lock_path.clone()));
    let copy = folio_document::Collection::open(
        Arc::clone(&files),
        directory.path(),
        collection.name(),
        &CollectionOptions::default(),
        lock,
    )?;
    let report = copy_documents(collection, &copy, options, progress)?;
    copy.close()?;
    if files.stat(&lock_path).is_ok() {
        files.remove_file(&lock_path).map_err(Error::io("remove", &lock_path))?;
    }
    directory.commit()?;
    Ok(report)
}

fn copy_documents(
    collection: &Collection,
    copy: &folio_document::Collection,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let mut report = ExportReport::default();
    let mut documents = options.scan(collection, true)?;
    let mut batch = copy.batch()?;
    while let Some(line) = documents.next_line()? {
        batch.put_line(line)?;
        report.document_count += 1;
        report.size += line.len() as u64 + 1;
        if batch.size() >= BATCH_SIZE {
            batch.commit()?;
            batch = copy.batch()?;
            let (done, total) = documents.progress();
            report_progress(progress, done, total)?;
        }
    }
    batch.commit()?;
    Ok(report)
}

/// Copies the manifest, which has the strictness and the creation time.
fn copy_manifest(
    from: &dyn FileSystem,
    to: &Arc<dyn FileSystem>,
    collection: &Collection,
    target: &Path,
) -> Result<()> {
    let inner = Path::new("collections").join(collection.name()).join("meta");
    let source = collection.handle().store.root.join(&inner).join("manifest.json");
    if from.stat(&source).is_err() {
        return Ok(());
    }
    let bytes = read_small(from, &source, u64::MAX)?;
    let folder = target.join(&inner);
    to.create_directory(&folder).map_err(Error::io("create", &folder))?;
    AtomicFile::write_whole(to, &folder.join("manifest.json"), &bytes)
}
