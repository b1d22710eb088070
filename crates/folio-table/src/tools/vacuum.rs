//! Releases the space of free pages by rewriting the data file without them.
//!
//! 1. A checkpoint empties the log.
//! 2. The tables are loaded, in key order, into a second store
//!    next to the old one: pages are full, and indexes are rebuilt.
//! 3. Its pages become a data file with the old database's number, marked as
//!    having everything up to the start of the log.
//! 4. The new file replaces the old one by rename.
//!
//! Before the rename the old file is valid, after it the new one. With an empty log either is a
//! complete database. What an error leaves next to them is removed at once, what a crash leaves by the
//! next writer.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileKind, FileSystem};
use folio_types::borrowed;

use crate::btree::Cursor;
use crate::catalog::Table;
use crate::creation::{self, WORK_NAME};
use crate::data_header::{DATA_NAME, DataHeader, data_size, page_offset};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use crate::options::{Options, Synchronous};
use crate::overflow;
use crate::page::node::Node;
use crate::page::{self};
use crate::row;
use crate::snapshot::Snapshot;
use crate::statistics::identities;
use crate::store::TableStore;
use crate::transaction::{IndexDefinition, Transaction};

/// Bytes per copy.
const RUN_SIZE: usize = 1 << 20;

/// The result of a vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VacuumReport {
    /// Bytes of the data file before.
    pub size_before: u64,
    /// Bytes of the data file after.
    pub size_after: u64,
}

/// Rewrites the data file of a directory without its free pages. No other store may have the tables
/// open. The row numbers of tables without a key begin again at 1.
///
/// # Errors
/// As [`TableStore::open`]; [`Error::Busy`] while there are readers; [`Error::InvalidInput`] where the
/// file is a link, which would become a file of its own; damage, errors of the operating system. The
/// old file is unchanged then.
pub fn vacuum(
    files: &Arc<dyn FileSystem>,
    directory: &Path,
    options: &Options,
) -> Result<VacuumReport> {
    let path = directory.join(DATA_NAME);
    if files.stat_link(&path).is_ok_and(|stat| stat.kind == FileKind::Link) {
        let what = format!("{path:?} is a link; put the file itself in its place");
        return Err(Error::InvalidInput { what });
    }
    let store = TableStore::open(files, directory, options.clone())?;
    if !store.checkpoint()? {
        return Err(Error::Busy { waited_ms: 0 });
    }
    creation::remove_unfinished(&**files, directory)?;
    let report = rewrite(files, directory, options, &store);
    let removed = creation::remove_unfinished(&**files, directory);
    let report = report?;
    removed?;
    Ok(report)
}

fn rewrite(
    files: &Arc<dyn FileSystem>,
    directory: &Path,
    options: &Options,
    store: &TableStore,
) -> Result<VacuumReport> {
    let work = directory.join(WORK_NAME);
    files.create_directory(&work).map_err(Error::io("create", &work))?;
    let page_size = store.page_size();
    let loaded = TableStore::open(
        files,
        &work,
        Options { page_size, synchronous: Synchronous::Off, ..options.clone() },
    )?;
    load_all(store, &loaded)?;
    if !loaded.checkpoint()? {
        return Err(Error::Busy { waited_ms: 0 });
    }
    let size_before = data_size(store.snapshot().commit.state.page_count, page_size);
    let size_after = replace(&**files, directory, store, &loaded.snapshot())?;
    Ok(VacuumReport { size_before, size_after })
}

fn load_all(from: &TableStore, to: &TableStore) -> Result<()> {
    let snapshot = from.snapshot();
    for table in snapshot.tables()? {
        let mut transaction = to.begin()?;
        load_table(&snapshot, &table, &mut transaction)?;
        transaction.commit()?;
    }
    let mut transaction = to.begin()?;
    for view in snapshot.reader().views()? {
        transaction.create_view(&view.name, &view.text, false)?;
    }
    transaction.commit()
}

fn load_table(snapshot: &Snapshot, old: &Arc<Table>, transaction: &mut Transaction) -> Result<()> {
    let pages = snapshot.pages();
    let table = transaction.create_table(&old.schema)?;
    let mut load = transaction.load(&table)?;
    let mut cursor = Cursor::forward(old.tree(), &pages, None)?;
    while let Some(leaf) = cursor.next_leaf(&pages)? {
        let bytes = leaf.to_vec();
        drop(leaf);
        let node = Node::new(&bytes);
        node.see_all(|key, stored| {
            let whole = overflow::load(&pages, old.id, stored)?;
            let row = row::decode_row(old, key, whole.as_deref().unwrap_or(stored))?;
            load.push(&borrowed(&row))
        })?;
    }
    load.finish()?;
    for index in &old.indexes {
        let (name, columns) = (index.name.clone(), index.columns.clone());
        let definition = IndexDefinition { name, columns, unique: index.unique };
        transaction.create_index(&old.schema.name, &definition)?;
    }
    // Without parts: rows without a key get new numbers.
    for index in &old.columns_indexes {
        transaction.create_columns_index(&old.schema.name, &index.name, &index.columns)?;
    }
    for (column, next) in
        identities(&pages, &snapshot.commit.state, old.id, old.schema.columns.len())?
    {
        transaction.set_identity(&table, column, next)?;
    }
    Ok(())
}

/// Replaces the old data file with the pages of the loaded store.
fn replace(
    files: &dyn FileSystem,
    directory: &Path,
    store: &TableStore,
    loaded: &Snapshot,
) -> Result<u64> {
    let (shared, page_size) = (&store.shared, store.page_size());
    let old = store.snapshot().commit;
    let mut state = loaded.commit.state;
    // A cached definition of the old file must not match one of the new file.
    state.catalog_version += old.state.catalog_version;
    state.transaction = old.state.transaction + 1;
    let header = DataHeader {
        page_size: page_size as u32,
        database: shared.pager.blocks.database,
        sequence: *shared.header_sequence() + 1,
        checkpoint: old.end,
        state,
    };
    let data = creation::create_data(files, directory, header)?;
    let mut run: Vec<u8> = Vec::new();
    let mut first = PageId(1);
    let mut page_bytes = vec![0; page_size];
    for page in (1..=state.page_count).map(PageId) {
        let start = run.len();
        read_sealed(loaded, page, &mut page_bytes)?;
        run.extend_from_slice(&page_bytes);
        // Log positions of the loaded store are not valid here. Use one that is older than any
        // reader of the new file, as for every page of a commit.
        page::set_lsn(&mut run[start..], Lsn(old.end.0.saturating_sub(1)));
        page::seal(&mut run[start..], shared.pager.blocks.database);
        if run.len() >= RUN_SIZE || page.0 == state.page_count {
            data.write_at(&run, page_offset(first, page_size))
                .map_err(Error::io("write", directory))?;
            run.clear();
            first = PageId(page.0 + 1);
        }
    }
    let size = data_size(state.page_count, page_size);
    creation::publish_data(files, directory, &*data)?;
    creation::sync_names(files, directory)?;
    Ok(size)
}

/// A page of the loaded store, or zeros for a free one that was never written.
fn read_sealed(loaded: &Snapshot, page: PageId, bytes: &mut [u8]) -> Result<()> {
    match loaded.shared.pager.blocks.read_page(page, bytes) {
        Err(Error::Corrupted { .. }) if bytes.iter().all(|byte| *byte == 0) => Ok(()),
        other => other,
    }
}
