//! A store in memory with small pages and a small pool, so that few rows fill both.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::{Options, TableStore};

pub(crate) fn store() -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    files.create_directory(Path::new("db")).expect("a directory can be made");
    let options = Options { page_size: 4096, pool_size: 1 << 20, ..Options::default() };
    TableStore::open(&files, Path::new("db"), options).expect("a new store opens")
}
