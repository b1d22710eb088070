//! Shared symbol tables by name and version.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A named, versioned list of symbols that streams import instead of repeating.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedTable {
    /// The table's name.
    pub name: Arc<str>,
    /// The table's version, from 1; later versions only append.
    pub version: usize,
    /// The symbols' texts; `None` for a gap.
    pub symbols: Vec<Option<Arc<str>>>,
}

/// The available shared tables.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tables: BTreeMap<(Arc<str>, usize), SharedTable>,
}

impl Catalog {
    /// A catalog without tables.
    pub fn new() -> Catalog {
        Catalog::default()
    }

    /// Adds `table`, replacing one of the same name and version.
    pub fn insert(&mut self, table: SharedTable) {
        self.tables.insert((table.name.clone(), table.version), table);
    }

    /// The table `name` in `version`, else its latest version.
    pub fn find(&self, name: &str, version: usize) -> Option<&SharedTable> {
        let name: Arc<str> = name.into();
        let exact = self.tables.get(&(name.clone(), version));
        exact.or_else(|| {
            let mut versions = self.tables.range((name.clone(), 0)..=(name, usize::MAX));
            versions.next_back().map(|(_, table)| table)
        })
    }
}
