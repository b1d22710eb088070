//! Salvages rows from damaged files into a new store.
//!
//! 1. Trees are walked from their roots, as far as their pages are valid.
//! 2. If a tree is damaged, the data file is searched for leaves of that tree
//!    that are no longer reachable. Pages of the free list are excluded, as far
//!    as the list can be read: their content is old.
//! 3. Rows are inserted into new tables one by one; those that cannot be read whole are
//!    counted. Indexes are rebuilt from the rows.
//!
//! The damaged files are only read. Hidden row numbers are assigned again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_types::borrowed;

use super::damaged_files::DamagedFiles;
use crate::btree::Tree;
use crate::catalog::{Catalog, Table};
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::options::{Options, Synchronous};
use crate::overflow;
use crate::page::node::Node;
use crate::page::{self, PageKind, free_list};
use crate::pager::Pages;
use crate::row;
use crate::statistics::identity_of_key;
use crate::store::TableStore;
use crate::transaction::{IndexDefinition, Transaction};

/// Rows per transaction of the new store.
const ROWS_PER_COMMIT: u64 = 10_000;

/// The result of a salvage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SalvageReport {
    /// The tables, by name.
    pub tables: Vec<SalvagedTable>,
    /// The number of views saved.
    pub views: usize,
    /// Referenced pages that could not be read.
    pub damaged_pages: u64,
    /// Problems of the files, and definitions that could not be created.
    pub problems: Vec<String>,
}

/// The salvaged part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedTable {
    /// Its name.
    pub name: String,
    /// The number of rows in the new store.
    pub rows: u64,
    /// The original number of rows, if the statistics can be read.
    pub expected: Option<u64>,
    /// Rows that were found but are incomplete.
    pub broken: u64,
}

/// Saves all surviving rows of the files in a directory into a new store in another directory.
/// `options` are the new store's.
///
/// # Errors
/// [`Error::Corrupted`] when no header with the page size is left;
/// [`Error::Exists`] when the target has tables; errors of the new store.
pub fn salvage(
    files: &Arc<dyn FileSystem>,
    source: &Path,
    target: &Path,
    options: &Options,
) -> Result<SalvageReport> {
    if TableStore::exists(&**files, target) {
        let name = target.display().to_string();
        return Err(Error::Exists { kind: "database", name });
    }
    let damaged = DamagedFiles::open(&**files, source)?;
    let options = Options { synchronous: Synchronous::Normal, read_only: false, ..options.clone() };
    let store = TableStore::open(files, target, options)?;
    let mut salvage = Salvage::new(&damaged);
    let catalog = salvage.catalog();
    let statistics = salvage.statistics();
    for table in catalog.tables() {
        salvage.table(&store, table, &statistics)?;
    }
    let mut transaction = store.begin()?;
    for view in catalog.views() {
        transaction.create_view(&view.name, &view.text, true)?;
        salvage.report.views += 1;
    }
    transaction.commit()?;
    store.checkpoint()?;
    salvage.report.problems.splice(..0, damaged.problems.iter().cloned());
    Ok(salvage.report)
}

/// Called for each cell, with its key and its value.
type See<'s> = &'s mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

struct Salvage<'w> {
    files: &'w DamagedFiles,
    /// One bit per page that a tree or the free list has.
    claimed: Vec<u64>,
    report: SalvageReport,
}

impl<'w> Salvage<'w> {
    fn new(files: &'w DamagedFiles) -> Self {
        let claimed = vec![0; files.page_count as usize / 64 + 1];
        let mut salvage = Self { files, claimed, report: SalvageReport::default() };
        salvage.claim_free_pages();
        salvage
    }

    /// Marks a page; `false` when it has an owner already, or does not exist.
    fn claim(&mut self, page: PageId) -> bool {
        if !page.is_some() || page.0 > self.files.page_count {
            return false;
        }
        let (word, bit) = (page.0 as usize / 64, 1u64 << (page.0 % 64));
        let is_first = self.claimed[word] & bit == 0;
        self.claimed[word] |= bit;
        is_first
    }

    fn claim_free_pages(&mut self) {
        let mut list = self.files.state.map_or(PageId::NONE, |state| state.free_list);
        while list.is_some() && self.claim(list) {
            let page = match self.files.pin(list) {
                Ok(page) if PageKind::of(&page) == Some(PageKind::FreeList) => page,
                _ => {
                    self.report.problems.push(format!("page {list} of the free list is damaged"));
                    return;
                }
            };
            let free: Vec<PageId> = free_list::entries(&page).collect();
            list = page::link(&page);
            drop(page);
            for page in free {
                self.claim(page);
            }
        }
    }

    /// Calls `see` for every cell that can be found in a tree's leaves.
    fn cells(&mut self, tree: Tree, see: See<'_>) -> Result<()> {
        let damaged_before = self.report.damaged_pages;
        let mut left = vec![(tree.root, None)];
        while let Some((page, level)) = left.pop() {
            if !self.claim(page) {
                continue;
            }
            let bytes = match tree.node(&self.files, page, level) {
                Ok(page) => page.to_vec(),
                Err(error) => {
                    self.report.damaged_pages += 1;
                    self.report.problems.push(error.to_string());
                    continue;
                }
            };
            let node = Node::new(&bytes);
            if node.is_leaf() {
                see_all(node, see)?;
            } else {
                let below = page::level(&bytes) - 1;
                let children = (0..node.child_count()).rev();
                left.extend(children.map(|index| (node.child(index), Some(below))));
            }
        }
        if self.report.damaged_pages > damaged_before || !tree.root.is_some() {
            self.lost_leaves(tree.id, see)?;
        }
        Ok(())
    }

    /// Calls `see` for the cells of a tree's unreachable leaves.
    fn lost_leaves(&mut self, tree: TreeId, see: See<'_>) -> Result<()> {
        for page in (1..=self.files.page_count).map(PageId) {
            if self.claimed[page.0 as usize / 64] >> (page.0 % 64) & 1 == 1 {
                continue;
            }
            let Ok(bytes) = self.files.pin(page) else { continue };
            let is_leaf = PageKind::of(&bytes) == Some(PageKind::Node)
                && page::tree(&bytes) == tree
                && page::level(&bytes) == 0;
            if is_leaf {
                let bytes = bytes.to_vec();
                self.claim(page);
                see_all(Node::new(&bytes), see)?;
            }
        }
        Ok(())
    }

    fn catalog(&mut self) -> Catalog {
        let root = self.files.state.map_or(PageId::NONE, |state| state.catalog_root);
        let tree = Tree { id: TreeId::CATALOG, root };
        let (files, page_count) = (self.files, self.files.page_count);
        let mut catalog = Catalog::default();
        let mut lost = 0;
        let walked = self.cells(tree, &mut |key, value| {
            let whole = overflow::load(&files, tree.id, value);
            let text = whole.as_ref().map(|whole| whole.as_deref().unwrap_or(value));
            let is_entry = text.is_ok_and(|text| {
                catalog.enter(key, text.get(1..).unwrap_or_default(), page_count)
            });
            lost += u64::from(!is_entry);
            Ok(())
        });
        debug_assert!(walked.is_ok(), "nothing above refuses");
        if lost > 0 {
            self.report.problems.push(format!("{lost} definitions of tables or views are lost"));
        }
        catalog
    }

    /// Row counts and identity counters, as far as they can be read.
    fn statistics(&mut self) -> BTreeMap<Vec<u8>, i64> {
        let root = self.files.state.map_or(PageId::NONE, |state| state.statistics_root);
        let mut found = BTreeMap::new();
        if root.is_some() {
            let tree = Tree { id: TreeId::STATISTICS, root };
            let walked = self.cells(tree, &mut |key, value| {
                let number = value.get(1..9).and_then(|bytes| bytes.try_into().ok());
                found.extend(number.map(|bytes| (key.to_vec(), i64::from_le_bytes(bytes))));
                Ok(())
            });
            debug_assert!(walked.is_ok(), "nothing above refuses");
        }
        found
    }

    fn table(
        &mut self,
        store: &TableStore,
        old: &Arc<Table>,
        statistics: &BTreeMap<Vec<u8>, i64>,
    ) -> Result<()> {
        let mut transaction = store.begin()?;
        let table = transaction.create_table(&old.schema)?;
        let expected = statistics.get(&old.id.0.to_be_bytes()[..]);
        let mut saved = SalvagedTable {
            name: old.schema.name.clone(),
            rows: 0,
            expected: expected.and_then(|&count| u64::try_from(count).ok()),
            broken: 0,
        };
        let files = self.files;
        let mut open = Some(transaction);
        self.cells(old.tree(), &mut |key, value| {
            let whole = overflow::load(&files, old.id, value);
            let row = whole
                .and_then(|whole| row::decode_row(old, key, whole.as_deref().unwrap_or(value)));
            let Some(transaction) = &mut open else { return Ok(()) };
            match row.and_then(|row| transaction.insert(&table, &borrowed(&row))) {
                Ok(_) => saved.rows += 1,
                Err(error) if is_refusal(&error) => saved.broken += 1,
                Err(error) => return Err(error),
            }
            if saved.rows.is_multiple_of(ROWS_PER_COMMIT)
                && let Some(full) = open.take()
            {
                full.commit()?;
                open = Some(store.begin()?);
            }
            Ok(())
        })?;
        let mut transaction = match open {
            Some(transaction) => transaction,
            None => store.begin()?,
        };
        for (key, next) in statistics {
            if let Some((id, column)) = identity_of_key(key)
                && id == old.id
                && column < old.schema.columns.len()
            {
                transaction.set_identity(&table, column, *next)?;
            }
        }
        self.indexes(&mut transaction, old)?;
        transaction.commit()?;
        self.report.tables.push(saved);
        Ok(())
    }

    fn indexes(&mut self, transaction: &mut Transaction, old: &Table) -> Result<()> {
        for index in &old.indexes {
            let definition = IndexDefinition {
                name: index.name.clone(),
                columns: index.columns.clone(),
                unique: index.unique,
            };
            let savepoint = transaction.savepoint();
            match transaction.create_index(&old.schema.name, &definition) {
                Ok(_) => transaction.release(savepoint)?,
                Err(error) if is_refusal(&error) => {
                    transaction.rollback_to(savepoint)?;
                    let text = format!("index {:?} was not rebuilt: {error}", index.name);
                    self.report.problems.push(text);
                }
                Err(error) => return Err(error),
            }
        }
        for index in &old.columns_indexes {
            transaction.create_columns_index(&old.schema.name, &index.name, &index.columns)?;
        }
        Ok(())
    }
}

fn see_all(node: Node<'_>, see: See<'_>) -> Result<()> {
    node.see_all(see)
}

/// Whether the row or the damage causes the error, rather than the new store.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Conflict { .. }
            | Error::CorruptedPage { .. }
            | Error::Corrupted { .. }
            | Error::TypeMismatch { .. }
            | Error::KeyTooLong { .. }
            | Error::RowTooLong { .. }
    )
}
