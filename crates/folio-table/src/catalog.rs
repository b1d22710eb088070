//! Tables and indexes: their names, definitions and trees.
//!
//! The catalog is a tree. The key is the table's number (4 bytes, big endian); the value is one
//! JSON object, so that a dump of the file is readable:
//!
//! ```json
//! {"name":"users","root":3,"columns":[{"name":"id","type":"bigint","nullable":false}],
//!  "primary_key":[0],"properties":"",
//!  "indexes":[{"name":"by_email","id":17,"root":9,"columns":[[1,false]],"unique":true}]}
//! ```
//!
//! A view has a number too, and is `{"name":"adults","view":"select …"}`. Its text is not
//! interpreted here. Tables and views share one namespace.

mod columns_index;
mod json;
mod view_definition;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, SchemaRef};
use folio_types::key::{self, KeyColumn};
use folio_types::{TableSchema, near_match};

use crate::btree::{Cursor, Tree};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::layout::{PLAIN, RowLayout, key_column, row_key_columns};
use crate::overflow;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::state::State;
pub use columns_index::ColumnsIndex;
use json::Definition;
pub use view_definition::ViewDefinition;
pub(crate) use view_definition::write_view;

/// A table as a transaction or snapshot sees it.
#[derive(Debug)]
pub struct Table {
    /// The version of the catalog it was read from; changes with any definition.
    pub(crate) version: u64,
    pub(crate) id: TreeId,
    pub(crate) root: PageId,
    pub(crate) schema: TableSchema,
    pub(crate) indexes: Vec<Index>,
    pub(crate) columns_indexes: Vec<ColumnsIndex>,
    pub(crate) layout: RowLayout,
    pub(crate) arrow: SchemaRef,
    /// The hidden row number as a column.
    pub(crate) row_number_field: Arc<Field>,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub(crate) id: TreeId,
    pub(crate) root: PageId,
    /// Its name.
    pub name: String,
    /// Its columns: position in the table, and whether the order is descending.
    pub columns: Vec<(usize, bool)>,
    /// Whether rows must differ in at least one of its columns. Null equals nothing.
    pub unique: bool,
    pub(crate) key: Vec<KeyColumn>,
    /// The columns of an entry: the indexed columns, followed by the columns of the row's key that
    /// are not among them.
    pub(crate) entry: Vec<KeyColumn>,
    /// The position in an entry of each column of the row's key.
    pub(crate) row_key: Vec<usize>,
}

impl Index {
    /// Whether it indexes any of these columns.
    pub(crate) fn has_any(&self, columns: &[usize]) -> bool {
        self.columns.iter().any(|(column, _)| columns.contains(column))
    }
}

impl Table {
    pub(crate) fn new(
        id: TreeId,
        root: PageId,
        schema: TableSchema,
        indexes: Vec<Index>,
        columns_indexes: Vec<ColumnsIndex>,
    ) -> Self {
        let layout = RowLayout::of(&schema);
        let arrow = Arc::new(schema.to_arrow());
        let row_number_field = Arc::new(Field::new("_row", DataType::Int64, false));
        Self {
            version: 0,
            id,
            root,
            schema,
            indexes,
            columns_indexes,
            layout,
            arrow,
            row_number_field,
        }
    }

    /// Columns, key and properties.
    #[must_use]
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The secondary indexes.
    #[must_use]
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// An index by name, case-insensitive.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name.to_lowercase() == name.to_lowercase())
    }

    /// The current version of an index, which may be from before a change.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it was dropped.
    pub(crate) fn current_index(&self, index: &Index) -> Result<&Index> {
        let found = self.indexes.iter().find(|other| other.id == index.id);
        found.ok_or_else(|| Error::NotFound { kind: "index", name: index.name.clone(), near: None })
    }

    /// The number of the table's tree, which is never reused.
    #[must_use]
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// The Arrow schema of whole rows.
    #[must_use]
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree { id: self.id, root: self.root }
    }

    #[cold]
    pub(crate) fn mismatch(&self, column: usize) -> Error {
        let name = self.schema.columns.get(column).map_or("?", |column| &column.name);
        let problem = format!(
            "a row of table {:?} does not match its schema at column {name:?}",
            self.schema.name
        );
        Error::page(self.root, problem)
    }
}

impl Index {
    pub(crate) fn new(
        id: TreeId,
        root: PageId,
        name: String,
        columns: Vec<(usize, bool)>,
        unique: bool,
        schema: &TableSchema,
    ) -> Self {
        let indexed = columns.iter().map(|&(column, descending)| {
            let column = &schema.columns[column];
            key_column(column.column_type.clone(), column.nullable, descending)
        });
        let key: Vec<KeyColumn> = indexed.collect();
        let mut entry = key.clone();
        let row_key = row_key_columns(schema).into_iter().enumerate().map(|(position, own)| {
            let column = schema.primary_key.get(position);
            // Columns encoded as in the row's key are not repeated.
            let known = columns
                .iter()
                .zip(&key)
                .position(|((indexed, _), has)| Some(indexed) == column && *has == own);
            known.unwrap_or_else(|| {
                entry.push(own);
                entry.len() - 1
            })
        });
        let row_key = row_key.collect();
        Self { id, root, name, columns, unique, key, entry, row_key }
    }

    /// Whether the whole row key follows the indexed columns as it is.
    fn has_whole_key(&self) -> bool {
        self.entry.len() == self.key.len() + self.row_key.len()
    }

    /// Completes an entry that has its indexed columns with the rest of the row's key.
    pub(crate) fn complete(&self, entry: &mut Vec<u8>, row_key: &[u8]) {
        if self.has_whole_key() {
            return entry.extend_from_slice(row_key);
        }
        let mut rest = row_key;
        for &place in &self.row_key {
            // The key was encoded here or comes from the table, so only sizes are needed.
            let Some(size) = key::segment_size(&self.entry[place], rest) else { return };
            let (segment, after) = rest.split_at(size);
            if place >= self.key.len() {
                entry.extend_from_slice(segment);
            }
            rest = after;
        }
    }

    /// The row key of an entry, assembled in `buffer` if necessary; `None` for an invalid entry.
    pub(crate) fn row_key<'k>(&self, entry: &'k [u8], buffer: &'k mut Vec<u8>) -> Option<&'k [u8]> {
        let mut rest = entry;
        if self.has_whole_key() {
            for column in &self.key {
                split_segment(column, &mut rest)?;
            }
            return Some(rest);
        }
        let segments = self.entry.iter().map(|column| split_segment(column, &mut rest));
        let segments: Vec<&[u8]> = segments.collect::<Option<_>>()?;
        buffer.clear();
        self.row_key.iter().for_each(|&place| buffer.extend_from_slice(segments[place]));
        rest.is_empty().then_some(&buffer[..])
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree { id: self.id, root: self.root }
    }
}

/// Takes the bytes of a column from the front of an entry; `None` if they are not a valid value of
/// it.
fn split_segment<'k>(column: &KeyColumn, rest: &mut &'k [u8]) -> Option<&'k [u8]> {
    let before = *rest;
    key::decode(column, rest)?;
    Some(&before[..before.len() - rest.len()])
}

/// All tables, as of one version of the catalog.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    version: u64,
    /// By lower-case name.
    tables: BTreeMap<String, Arc<Table>>,
    views: BTreeMap<String, Arc<ViewDefinition>>,
}

impl Catalog {
    /// Reads the whole catalog.
    ///
    /// # Errors
    /// Errors of the pages; [`Error::CorruptedPage`] for an invalid definition.
    pub(crate) fn read<'s>(pages: &impl Pages<'s>, state: &State) -> Result<Self> {
        let mut catalog = Self { version: state.catalog_version, ..Self::default() };
        if !state.catalog_root.is_some() {
            return Ok(catalog);
        }
        let tree = Tree { id: TreeId::CATALOG, root: state.catalog_root };
        let mut cursor = Cursor::forward(tree, pages, None)?;
        while let Some(leaf) = cursor.next_leaf(pages)? {
            let node = Node::new(&leaf);
            node.see_all(|key, value| {
                let loaded = overflow::load(pages, tree.id, value)?;
                let text = loaded.as_deref().unwrap_or(value).get(1..).unwrap_or_default();
                if !catalog.enter(key, text, state.page_count) {
                    return Err(Error::page(
                        tree.root,
                        "an entry of the catalog is neither table nor view",
                    ));
                }
                Ok(())
            })?;
        }
        Ok(catalog)
    }

    /// Adds a definition; `false` when it is invalid.
    pub(crate) fn enter(&mut self, key: &[u8], text: &[u8], page_count: u32) -> bool {
        let Ok(id) = key.try_into().map(u32::from_be_bytes).map(TreeId) else { return false };
        match json::parse(id, text, page_count) {
            Some(Definition::View(view)) => {
                self.views.insert(view.name.to_lowercase(), Arc::new(view));
            }
            Some(Definition::Table(mut table)) => {
                table.version = self.version;
                self.tables.insert(table.schema.name.to_lowercase(), table.into());
            }
            None => return false,
        }
        true
    }

    /// A table by name, case-insensitive.
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name.
    pub(crate) fn table(&self, name: &str) -> Result<Arc<Table>> {
        match self.tables.get(&name.to_lowercase()) {
            Some(table) => Ok(Arc::clone(table)),
            None => Err(Error::NotFound {
                kind: "table",
                name: name.to_owned(),
                near: near_match(name, self.tables.values().map(|table| &*table.schema.name))
                    .map(str::to_owned),
            }),
        }
    }

    /// The current version of a table in this catalog.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it was dropped.
    pub(crate) fn current(&self, table: &Table) -> Result<Arc<Table>> {
        let found = self.tables.values().find(|other| other.id == table.id);
        found.cloned().ok_or_else(|| Error::NotFound {
            kind: "table",
            name: table.schema.name.clone(),
            near: None,
        })
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<ViewDefinition>> {
        self.views.values()
    }

    pub(crate) fn view(&self, name: &str) -> Option<Arc<ViewDefinition>> {
        self.views.get(&name.to_lowercase()).cloned()
    }

    /// Refuses a name in use by a table or view, unless it is `own`.
    ///
    /// # Errors
    /// [`Error::Exists`].
    pub(crate) fn refuse_taken(&self, name: &str, own: Option<TreeId>) -> Result<()> {
        let lower = name.to_lowercase();
        let kind = match (self.tables.get(&lower), self.views.get(&lower)) {
            (Some(table), _) if Some(table.id) != own => "table",
            (_, Some(_)) => "view",
            _ => return Ok(()),
        };
        Err(Error::Exists { kind, name: name.to_owned() })
    }

    /// The table with an index of this name, and which it is.
    pub(crate) fn owner_of_index(&self, name: &str) -> Option<(&Arc<Table>, IndexPlace)> {
        let is_it = |own: &String| own.to_lowercase() == name.to_lowercase();
        self.tables.values().find_map(|table| {
            let keys = table.indexes.iter().position(|index| is_it(&index.name));
            let columns = || table.columns_indexes.iter().position(|index| is_it(&index.name));
            let place =
                keys.map(IndexPlace::Keys).or_else(|| columns().map(IndexPlace::Columns))?;
            Some((table, place))
        })
    }

    /// The names of all indexes.
    pub(crate) fn index_names(&self) -> impl Iterator<Item = &str> {
        self.tables.values().flat_map(|table| table.index_names())
    }
}

/// An index of a table: its kind, and its position among those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexPlace {
    Keys(usize),
    Columns(usize),
}

/// A cache of the last catalog read, which is usually the next one needed.
#[derive(Debug, Default)]
pub(crate) struct CatalogCache(Mutex<Option<Arc<Catalog>>>);

impl CatalogCache {
    /// The catalog as of a state; read only if it differs from the cached one.
    ///
    /// # Errors
    /// As [`Catalog::read`].
    pub(crate) fn get<'s>(&self, pages: &impl Pages<'s>, state: &State) -> Result<Arc<Catalog>> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(catalog) = &*cache
            && catalog.version == state.catalog_version
        {
            return Ok(Arc::clone(catalog));
        }
        let catalog = Arc::new(Catalog::read(pages, state)?);
        keep_newest(&mut cache, &catalog);
        Ok(catalog)
    }

    /// Caches the catalog of a committed transaction.
    pub(crate) fn remember(&self, catalog: &Arc<Catalog>, committed: &State) {
        if catalog.version == committed.catalog_version {
            keep_newest(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), catalog);
        }
    }
}

fn keep_newest(cache: &mut Option<Arc<Catalog>>, catalog: &Arc<Catalog>) {
    if cache.as_ref().is_none_or(|cached| cached.version < catalog.version) {
        *cache = Some(Arc::clone(catalog));
    }
}

/// Writes a table's definition, replacing an existing one.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn write_table(editor: &mut Editor<'_, '_>, table: &Table) -> Result<()> {
    write(editor, table.id, &json::table_text(table))
}

fn write(editor: &mut Editor<'_, '_>, id: TreeId, text: &str) -> Result<()> {
    let tree = root(editor)?;
    let key = id.0.to_be_bytes();
    remove(editor, tree, &key)?;
    let mut value = vec![PLAIN];
    value.extend_from_slice(text.as_bytes());
    let stored = overflow::store(editor, tree.id, key.len(), &value)?;
    tree.insert(editor, &key, &stored)?;
    editor.edit.bump_catalog();
    Ok(())
}

/// Removes the definition of a table or view.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn remove_definition(editor: &mut Editor<'_, '_>, id: TreeId) -> Result<()> {
    let tree = root(editor)?;
    remove(editor, tree, &id.0.to_be_bytes())?;
    editor.edit.bump_catalog();
    Ok(())
}

fn remove(editor: &mut Editor<'_, '_>, tree: Tree, key: &[u8]) -> Result<()> {
    let old = tree.get(editor, key)?.map(|(page, range)| page[range].to_vec());
    if let Some(old) = old {
        overflow::release(editor, tree.id, &old)?;
        tree.delete(editor, key)?;
    }
    Ok(())
}

/// The catalog's tree, created with the first table.
fn root(editor: &mut Editor<'_, '_>) -> Result<Tree> {
    let root = editor.edit.state.catalog_root;
    if root.is_some() {
        return Ok(Tree { id: TreeId::CATALOG, root });
    }
    let tree = Tree::create(editor, TreeId::CATALOG)?;
    editor.edit.state.catalog_root = tree.root;
    Ok(tree)
}
