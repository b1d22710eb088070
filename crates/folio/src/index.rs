//! What is defined of a collection beside its documents: indexes on fields, and whether statements
//! may name paths that no document has.

#[cfg(feature = "sql")]
use std::sync::Arc;

#[cfg(feature = "sql")]
use folio_document::{FoundDocuments, FoundKeys, KeyRange, Only};
use folio_document::{IndexCheck, IndexDefinition, IndexMethod, IndexStats, Progress};
use folio_types::FieldCondition;

use crate::collection::Collection;
use crate::error::{Error, Result};

/// How an index is created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// Its name; by default one after the collection and its fields.
    pub name: Option<String>,
    /// What kind of index it is. With [`IndexMethod::Columns`] no fields mean all.
    pub method: IndexMethod,
    /// Whether two documents may not have the same values.
    pub unique: bool,
    /// The condition, in SQL, of the documents that have entries: comparisons of fields with
    /// literals, joined by AND. By default all have.
    pub condition: Option<String>,
}

impl IndexOptions {
    /// The same with the kind of index of a name: `fields` or `columns`.
    ///
    /// # Errors
    /// `invalid_input` for other names.
    pub fn using(self, name: &str) -> Result<Self> {
        let method = IndexMethod::named(name).ok_or_else(|| {
            Error::Invalid(format!("an index uses \"fields\" or \"columns\", not {name:?}"))
        })?;
        Ok(Self { method, ..self })
    }
}

impl Collection {
    /// Creates an index on fields, or columns of them: dotted paths, each perhaps with `[]` after it, for the elements of a
    /// list, and with ` desc`. Statements and conditions use it, and every write maintains it. Returns
    /// its name.
    ///
    /// # Errors
    /// `invalid_input` for a field or a name; `unsupported` for a condition that compares anything but
    /// fields with literals; `conflict` if the name is taken, or for a unique index
    /// over documents with the same values; `cancelled` if `progress` stops it, after which another
    /// call continues; as [`Collection::put`].
    pub fn create_index<S: AsRef<str>>(
        &self,
        fields: &[S],
        options: &IndexOptions,
        progress: Progress<'_>,
    ) -> Result<String> {
        let name = options.name.as_deref();
        let mut definition = match options.method {
            IndexMethod::Fields => {
                IndexDefinition::parse(self.name(), name, fields, options.unique)?
            }
            IndexMethod::Columns => IndexDefinition {
                unique: options.unique, // which is refused
                ..IndexDefinition::columns(self.name(), name, fields)?
            },
        };
        if let Some(condition) = &options.condition {
            definition.conditions = conditions(condition)?;
        }
        self.define_index(&definition, progress)?;
        Ok(definition.name)
    }

    pub(crate) fn define_index(
        &self,
        definition: &IndexDefinition,
        progress: Progress<'_>,
    ) -> Result<()> {
        let core = self.writer()?;
        if definition.method == IndexMethod::Columns {
            self.build_columns(definition, progress)?;
        }
        let created = core.create_index(definition, progress);
        self.definitions_changed();
        Ok(created?)
    }

    #[cfg(feature = "sql")]
    fn build_columns(&self, definition: &IndexDefinition, progress: Progress<'_>) -> Result<()> {
        let shared = self.shared();
        crate::columns::create(&shared.core, &shared.types, definition, progress)
    }

    #[cfg(not(feature = "sql"))]
    fn build_columns(&self, _: &IndexDefinition, _: Progress<'_>) -> Result<()> {
        let text = "this build has no columns; build with the feature `sql`";
        Err(Error::Invalid(text.to_owned()))
    }

    /// Sets whether the collection is open: whether statements may name paths that no document
    /// has, which are null then. Otherwise such a name is an error, with the nearest path.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn set_open_paths(&self, open: bool) -> Result<()> {
        let set = self.writer()?.set_open_paths(open);
        self.definitions_changed();
        Ok(set?)
    }

    /// Whether statements may name paths that no document has.
    ///
    /// # Errors
    /// `closed`.
    pub fn has_open_paths(&self) -> Result<bool> {
        Ok(self.reader()?.has_open_paths()?)
    }

    /// The indexes on fields, with sizes and states.
    ///
    /// # Errors
    /// `io`.
    pub fn indexes(&self) -> Result<Vec<IndexStats>> {
        Ok(self.reader()?.index_stats()?)
    }

    /// The definitions alone.
    #[cfg(feature = "sql")]
    pub(crate) fn index_definitions(&self) -> Result<Arc<[IndexDefinition]>> {
        Ok(self.reader()?.indexes()?)
    }

    /// Drops an index on fields.
    ///
    /// # Errors
    /// `not_found`; as [`Collection::put`].
    pub fn drop_index(&self, name: &str) -> Result<()> {
        let writer = self.writer()?;
        let _left = self.shared().leave_columns();
        let dropped = writer.drop_index(name);
        self.definitions_changed();
        Ok(dropped?)
    }

    /// Compares an index on fields, or columns, with the documents. Repairs nothing.
    ///
    /// # Errors
    /// `not_found`, `io`. Problems with the content are in the report.
    pub fn check_index(&self, name: &str) -> Result<IndexCheck> {
        let core = self.reader()?;
        let mut check = core.check_index(name)?;
        check.problems.extend(self.shared().check_columns(Some(name))?);
        Ok(check)
    }

    /// The documents of a range of keys, in the order of an index.
    #[cfg(feature = "sql")]
    pub(crate) fn find(
        &self,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
    ) -> Result<FoundDocuments> {
        Ok(self.reader()?.find(index, range, reverse, limit)?)
    }

    /// About how many documents the range of keys has; `None` if the index does not tell.
    #[cfg(feature = "sql")]
    pub(crate) fn key_count(&self, index: &str, range: &KeyRange) -> Result<Option<u64>> {
        Ok(self.reader()?.key_count(index, range)?)
    }

    /// Reads the line of the only document whose key in an index begins with these bytes.
    #[cfg(feature = "sql")]
    pub(crate) fn find_only(&self, index: &str, key: &[u8], line: &mut Vec<u8>) -> Result<Only> {
        Ok(self.reader()?.find_only(index, key, line)?)
    }

    /// The keys of these documents, of which none is read.
    #[cfg(feature = "sql")]
    pub(crate) fn find_keys(
        &self,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
    ) -> Result<FoundKeys> {
        Ok(self.reader()?.find_keys(index, range, reverse, limit)?)
    }

    /// Statements about the collection are bound again.
    pub(crate) fn definitions_changed(&self) {
        #[cfg(feature = "sql")]
        self.handle().store.known.collections.forget(self.name());
    }
}

#[cfg(feature = "sql")]
fn conditions(text: &str) -> Result<Vec<FieldCondition>> {
    Ok(folio_sql::field_conditions(text)?)
}

#[cfg(not(feature = "sql"))]
fn conditions(_: &str) -> Result<Vec<FieldCondition>> {
    let text = "the condition of an index needs the feature `sql`";
    Err(Error::Invalid(text.to_owned()))
}
