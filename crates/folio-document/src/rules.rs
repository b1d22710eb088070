//! Whether a collection is strict, and which schema its documents must follow.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::layout::AnyStore;
use crate::line::EncodedLine;
use crate::manifest::Manifest;
use crate::options::Strict;
use crate::scan::Documents;
use crate::schema::Schema;
use crate::{Document, Scan};

/// A store with the rules for documents put into it. Cheap to clone; clones share both.
#[derive(Debug, Clone)]
pub(crate) struct CheckedStore {
    pub(crate) store: AnyStore,
    rules: Arc<Rules>,
}

impl CheckedStore {
    pub(crate) fn new(store: AnyStore, rules: Rules) -> Self {
        Self { store, rules: Arc::new(rules) }
    }

    /// Whether documents have to follow a schema.
    pub(crate) fn is_strict(&self) -> bool {
        self.rules.is_strict
    }

    /// The schema that documents have to follow, if there is one yet.
    pub(crate) fn schema(&self) -> Option<Schema> {
        self.rules.schema.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Stores a schema that came with the options.
    pub(crate) fn keep_schema(&self) -> Result<()> {
        let is_new = self.rules.is_new.swap(false, AcqRel);
        self.remember(self.schema().filter(|_| is_new).map(|schema| schema.to_json().clone()))
    }

    /// Checks a document against the schema, if there is one. The first document of a strict
    /// collection sets it.
    pub(crate) fn check(&self, id: &str, document: impl FnOnce() -> Result<Value>) -> Result<()> {
        if !self.rules.is_strict {
            return Ok(());
        }
        self.remember(self.rules.check(id, &document()?, || self.first_document())?)
    }

    /// The same for a line.
    pub(crate) fn check_line(&self, line: &EncodedLine<'_>) -> Result<()> {
        self.check(line.id(), || parse(line.text()))
    }

    /// Replaces a document by the result of `change`; `None` if there is no such document.
    pub(crate) fn update(
        &self,
        id: &str,
        change: impl FnOnce(&mut Value),
        encode: impl FnOnce(&Value) -> Result<Vec<u8>>,
    ) -> Result<Option<Document>> {
        self.remember(self.rules.establish(|| self.first_document())?)?;
        // The store is busy during the update, so a new schema is set afterwards.
        let mut schema = None;
        let updated = self.store.update(id, |line| {
            let mut value = parse(line)?;
            change(&mut value);
            if self.rules.is_strict {
                schema = self.rules.check(id, &value, || Ok(None))?;
            }
            encode(&value)
        })?;
        self.remember(schema)?;
        updated.map(Document::of_line).transpose()
    }

    /// The document that sets the schema of a strict collection without one.
    fn first_document(&self) -> Result<Option<Document>> {
        Documents::new(&self.store, Scan::new().limit(1))?.next().transpose()
    }

    fn remember(&self, schema: Option<Value>) -> Result<()> {
        schema.map_or(Ok(()), |schema| self.store.set_schema(schema))
    }
}

fn parse(line: &[u8]) -> Result<Value> {
    serde_json::from_slice(line).map_err(|error| Error::Json {
        offset: error.column().saturating_sub(1),
        reason: "not a JSON object",
    })
}

/// The rules of one collection.
#[derive(Debug)]
pub(crate) struct Rules {
    collection: String,
    is_strict: bool,
    schema: RwLock<Option<Schema>>,
    /// The schema came with the options and is not in the manifest yet.
    is_new: AtomicBool,
}

impl Rules {
    /// The rules in the manifest, or those that the options ask for.
    ///
    /// # Errors
    /// [`crate::Error::BadSchema`].
    pub(crate) fn new(collection: &str, manifest: &Manifest, asked: &Strict) -> Result<Self> {
        let stored = match &manifest.schema {
            Some(schema) if manifest.strict => Some(Schema::parse(schema)?),
            _ => None,
        };
        let (is_strict, schema, is_new) = match asked {
            Strict::AsStored => (manifest.strict, stored, false),
            Strict::FirstDocument => (true, stored, false),
            Strict::Schema(schema) => {
                (true, Some(Schema::parse(schema)?), manifest.schema.as_ref() != Some(schema))
            }
        };
        Ok(Self {
            collection: collection.to_owned(),
            is_strict,
            schema: RwLock::new(schema),
            is_new: is_new.into(),
        })
    }

    /// Makes sure that there is a schema to check against, if a document exists that can set one.
    /// Returns a schema that must be stored, as [`Rules::check`] does.
    ///
    /// # Errors
    /// Those of `first`.
    fn establish(&self, first: impl FnOnce() -> Result<Option<Document>>) -> Result<Option<Value>> {
        let known = self.schema.read().unwrap_or_else(std::sync::PoisonError::into_inner).is_some();
        if known || !self.is_strict {
            return Ok(None);
        }
        match first()? {
            Some(document) => self.check(document.id(), &document.to_value()?, || Ok(None)),
            None => Ok(None),
        }
    }

    /// Checks a document. Returns a schema that must be stored: one that came with the options, or
    /// the one that this first document sets (`first` finds an earlier document of the collection).
    ///
    /// # Errors
    /// [`crate::Error::Schema`] with the path of the first value that does not fit.
    fn check(
        &self,
        id: &str,
        document: &Value,
        first: impl FnOnce() -> Result<Option<Document>>,
    ) -> Result<Option<Value>> {
        let known = self.schema.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(schema) = &*known {
            schema.check(&self.collection, id, document)?;
            return Ok(self.is_new.swap(false, AcqRel).then(|| schema.to_json().clone()));
        }
        drop(known);
        let first = first()?.map(|first| first.to_value()).transpose()?;
        let schema = Schema::infer(first.as_ref().unwrap_or(document));
        schema.check(&self.collection, id, document)?;
        let json = schema.to_json().clone();
        *self.schema.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(schema);
        Ok(Some(json))
    }
}
