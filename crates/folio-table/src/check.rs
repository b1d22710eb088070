//! Checks everything: each page, each tree, each index entry and its row, the free list, and pages
//! without an owner.
//!
//! It reads one snapshot, so writers can continue. It continues after damage, to report all of it.

use std::fmt;

use crate::btree::Tree;
use crate::catalog::{Catalog, Table};
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::overflow;
use crate::page::node::Node;
use crate::page::{self, PageKind, free_list};
use crate::pager::Pages;
use crate::row::decode_column;
use crate::row_parts::read_parts;
use crate::snapshot::{Snapshot, SnapshotPages};
use crate::statistics::row_count;
use crate::transaction::index_entries;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Pages of the data file.
    pub pages: u32,
    /// Of those, pages that are free.
    pub free_pages: u32,
    /// Tables.
    pub tables: usize,
    /// Rows in all tables.
    pub rows: u64,
    /// Entries in all secondary indexes.
    pub index_entries: u64,
    /// All problems in the order found. Empty if there are none.
    pub problems: Vec<Problem>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The page; [`PageId::NONE`] if it is about no page.
    pub page: PageId,
    /// What is wrong with it, in words.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.page.is_some() {
            true => write!(out, "page {}: {}", self.page.0, self.text),
            false => out.write_str(&self.text),
        }
    }
}

impl Snapshot {
    /// Checks everything this snapshot sees.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`]; damage is in the report instead.
    pub fn check(&self) -> Result<CheckReport> {
        let pages = self.pages();
        let mut check = Check::new(pages);
        check.free_list();
        check.tree(TreeId::CATALOG, self.commit.state.catalog_root);
        check.tree(TreeId::STATISTICS, self.commit.state.statistics_root);
        match Catalog::read(&pages, &self.commit.state) {
            Ok(catalog) => {
                check.report.tables = catalog.tables().count();
                catalog.tables().for_each(|table| check.table(table));
            }
            Err(error) => check.problem(self.commit.state.catalog_root, &error),
        }
        check.orphans();
        if self.shared.pager.snapshots.is_expired(self.commit.end) {
            return Err(Error::SnapshotTooOld);
        }
        Ok(check.report)
    }
}

struct Check<'s> {
    pages: SnapshotPages<'s>,
    report: CheckReport,
    /// One bit per page: whether it has an owner.
    claimed: Vec<u64>,
}

/// A page of a tree to be checked, with the expectations of its parent.
struct Expected {
    page: PageId,
    level: Option<u8>,
    /// Its keys are at or after this,
    from: Vec<u8>,
    /// and before this, if there is an end.
    to: Option<Vec<u8>>,
}

impl<'s> Check<'s> {
    fn new(pages: SnapshotPages<'s>) -> Self {
        let page_count = pages.page_count();
        let report = CheckReport { pages: page_count, ..CheckReport::default() };
        Self { pages, report, claimed: vec![0; page_count as usize / 64 + 1] }
    }

    fn problem(&mut self, page: PageId, problem: &impl ToString) {
        self.report.problems.push(Problem { page, text: problem.to_string() });
    }

    /// Records the owner of a page. Adds a problem and returns `false` when it has one already or
    /// does not exist.
    fn claim(&mut self, page: PageId, owner: &str) -> bool {
        if !page.is_some() || page.0 > self.report.pages {
            self.problem(page, &format!("{owner} points to this page, which does not exist"));
            return false;
        }
        let (word, bit) = (page.0 as usize / 64, page.0 % 64);
        if self.claimed[word] >> bit & 1 == 1 {
            self.problem(page, &format!("{owner} points to this page, which is in use elsewhere"));
            return false;
        }
        self.claimed[word] |= 1 << bit;
        true
    }

    fn free_list(&mut self) {
        let mut list = self.pages.commit.state.free_list;
        while list.is_some() && self.claim(list, "the free list") {
            self.report.free_pages += 1;
            let guard = match self.pages.pin_for_scan(list) {
                Ok(guard) => guard,
                Err(error) => return self.problem(list, &error),
            };
            if PageKind::of(&guard) != Some(PageKind::FreeList) {
                return self.problem(list, &"it should be a page of the free list");
            }
            for free in free_list::entries(&guard) {
                self.report.free_pages += u32::from(self.claim(free, "the free list"));
            }
            list = page::link(&guard);
        }
        let stated = self.pages.commit.state.free_count;
        if stated != self.report.free_pages {
            let found = self.report.free_pages;
            let text = format!("the free list has {found} pages, the header says {stated}");
            self.problem(self.pages.commit.state.free_list, &text);
        }
    }

    /// Checks a tree whose values refer to nothing except overflow chains.
    fn tree(&mut self, id: TreeId, root: PageId) {
        if root.is_some() {
            self.walk(Tree { id, root }, |_, _, _| {});
        }
    }

    fn table(&mut self, table: &Table) {
        let mut rows = 0;
        self.walk(table.tree(), |check, key, value| {
            rows += 1;
            check.row(table, key, value);
        });
        self.report.rows += rows;
        match row_count(&self.pages, &self.pages.commit.state, table.id) {
            Ok(stated) if stated == rows => {}
            Ok(stated) => {
                let text = format!(
                    "table {:?} has {rows} rows, the statistics say {stated}",
                    table.schema.name
                );
                self.problem(table.root, &text);
            }
            Err(error) => self.problem(table.root, &error),
        }
        for index in &table.indexes {
            let mut entries = 0;
            self.walk(index.tree(), |_, _, _| entries += 1);
            self.report.index_entries += entries;
            // Every row has its entry, so equal counts mean there are no extra entries.
            if entries != rows {
                let text = format!("index {:?} has {entries} entries for {rows} rows", index.name);
                self.problem(index.root, &text);
            }
        }
        for index in &table.columns_indexes {
            self.walk(index.tree(), |_, _, _| {});
            if let Err(error) = read_parts(&self.pages, index) {
                self.problem(index.root, &error);
            }
        }
    }

    fn row(&mut self, table: &Table, key: &[u8], stored: &[u8]) {
        let whole = match overflow::load(&self.pages, table.id, stored) {
            Ok(whole) => whole,
            Err(error) => return self.problem(table.root, &error),
        };
        let value = whole.as_deref().unwrap_or(stored);
        for column in 0..table.schema.columns.len() {
            if let Err(error) = decode_column(table, column, key, value) {
                return self.problem(table.root, &error);
            }
        }
        for index in &table.indexes {
            let found = index_entries::stored(table, index, key, value)
                .and_then(|entry| Ok(index.tree().get(&self.pages, &entry)?.is_some()));
            match found {
                Ok(true) => {}
                Ok(false) => {
                    let text = format!("index {:?} has no entry for a row", index.name);
                    self.problem(index.root, &text);
                }
                Err(error) => self.problem(index.root, &error),
            }
        }
    }

    /// Visits every page of a tree, and every cell of its leaves, in order.
    fn walk(&mut self, tree: Tree, mut see: impl FnMut(&mut Self, &[u8], &[u8])) {
        let owner = format!("tree {}", tree.id);
        let root = Expected { page: tree.root, level: None, from: Vec::new(), to: None };
        let mut left = vec![root];
        while let Some(expected) = left.pop() {
            if !self.claim(expected.page, &owner) {
                continue;
            }
            let bytes = match tree.node(&self.pages, expected.page, expected.level) {
                Ok(guard) => guard.to_vec(),
                Err(error) => {
                    self.problem(expected.page, &error);
                    continue;
                }
            };
            let node = Node::new(&bytes);
            self.order(&expected, node);
            if node.is_leaf() {
                let Ok(()) = node.see_all(|key, value| {
                    self.chain(tree, value);
                    see(self, key, value);
                    Ok::<(), std::convert::Infallible>(())
                });
            } else {
                let below = page::level(&bytes) - 1;
                left.extend(
                    (0..node.child_count()).rev().map(|index| child(node, index, below, &expected)),
                );
            }
        }
    }

    fn order(&mut self, expected: &Expected, node: Node<'_>) {
        let mut whole = Vec::new();
        let cells = node.whole_cells(&mut whole);
        let keys = cells.iter().map(|(key, _)| *key);
        if !keys.clone().is_sorted_by(|left, right| left < right) {
            self.problem(expected.page, &"its keys do not ascend");
        }
        let is_before_end = |key: &[u8]| expected.to.as_ref().is_none_or(|to| key < &to[..]);
        if !keys.clone().all(|key| key >= &expected.from[..] && is_before_end(key)) {
            self.problem(expected.page, &"it has keys that belong on another page");
        }
    }

    fn chain(&mut self, tree: Tree, value: &[u8]) {
        match overflow::pages_of(&self.pages, tree.id, value) {
            Ok(pages) => {
                for page in pages {
                    self.claim(page, "a chain of overflow pages");
                }
            }
            Err(error) => self.problem(tree.root, &error),
        }
    }

    fn orphans(&mut self) {
        // Damage hides the pages below it; they are not lost.
        if !self.report.problems.is_empty() {
            return;
        }
        for page in 1..=self.report.pages {
            if self.claimed[page as usize / 64] >> (page % 64) & 1 == 0 {
                self.problem(PageId(page), &"it is neither used nor free");
            }
        }
    }
}

fn child(node: Node<'_>, index: usize, below: u8, parent: &Expected) -> Expected {
    let from = match index.checked_sub(1) {
        None => parent.from.clone(),
        Some(cell) => node.key(cell).to_vec(),
    };
    let to = if index == node.len() { parent.to.clone() } else { Some(node.key(index).to_vec()) };
    Expected { page: node.child(index), level: Some(below), from, to }
}
