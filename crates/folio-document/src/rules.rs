//! Whether a collection is strict, and what its documents must look like.

use std::sync::RwLock;

use serde_json::Value;

use crate::error::Result;
use crate::manifest::Manifest;
use crate::options::Strict;
use crate::schema::Schema;

/// The rules of one collection.
#[derive(Debug)]
pub(crate) struct Rules {
    collection: String,
    is_strict: bool,
    schema: RwLock<Option<Schema>>,
    /// The schema came with the options and is not in the manifest yet.
    is_new: std::sync::atomic::AtomicBool,
}

impl Rules {
    /// What the manifest remembers, or what the options ask for.
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

    pub(crate) fn are_strict(&self) -> bool {
        self.is_strict
    }

    /// Sees to it that there is a schema to check by, if there is a document that can
    /// set one. Answers a schema that must be remembered, as [`Rules::check`] does.
    ///
    /// # Errors
    /// What `first` answers.
    pub(crate) fn establish(
        &self,
        first: impl FnOnce() -> Result<Option<Value>>,
    ) -> Result<Option<Value>> {
        let known = self.schema.read().unwrap_or_else(std::sync::PoisonError::into_inner).is_some();
        if known || !self.is_strict {
            return Ok(None);
        }
        match first()? {
            Some(document) => self.check(&document, || Ok(None)),
            None => Ok(None),
        }
    }

    /// Checks a document. Answers a schema that must be remembered: one that came
    /// with the options, or the one this first document makes (`first` looks
    /// whether the collection has an earlier one).
    ///
    /// # Errors
    /// [`crate::Error::Schema`] with the path of the first misfit.
    pub(crate) fn check(
        &self,
        document: &Value,
        first: impl FnOnce() -> Result<Option<Value>>,
    ) -> Result<Option<Value>> {
        use std::sync::atomic::Ordering::AcqRel;
        let known = self.schema.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(schema) = &*known {
            schema.check(&self.collection, document)?;
            return Ok(self.is_new.swap(false, AcqRel).then(|| schema.to_json().clone()));
        }
        drop(known);
        let first = first()?;
        let schema = Schema::infer(first.as_ref().unwrap_or(document));
        schema.check(&self.collection, document)?;
        let json = schema.to_json().clone();
        *self.schema.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(schema);
        Ok(Some(json))
    }
}
