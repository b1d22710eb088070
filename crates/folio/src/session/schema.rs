//! The structs of a database, as schema text.

use std::sync::atomic::Ordering;

use folio_sql::Stored;
use folio_ziql::{Migration, show_schema, whole_schema};

use super::Session;
use crate::error::Result;

impl Session {
    /// The existing structs, as the text that declares them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn schema(&mut self) -> Result<String> {
        Ok(show_schema(&self.view()?, &Stored)?)
    }

    /// The same, if the text declares everything that the tables of the structs have.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn whole_schema(&mut self) -> Result<Option<String>> {
        Ok(whole_schema(&self.view()?, &Stored)?)
    }

    /// What applying a schema would change, one line each.
    ///
    /// # Errors
    /// As [`Session::apply_schema`].
    pub fn check_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        Ok(Migration::plan(text, &self.view()?, &Stored, allow_drop)?.lines)
    }

    /// Creates the structs that a schema declares, in one transaction. Returns what changed, one
    /// line each.
    ///
    /// # Errors
    /// `syntax` and unknown names, with their position; `conflict` for a change that cannot be
    /// migrated, and for one that drops data unless `allow_drop` is set.
    pub fn apply_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        self.interrupt.store(false, Ordering::Relaxed);
        // A schema that is already in place writes nothing.
        if Migration::plan(text, &self.view()?, &Stored, allow_drop)?.is_empty() {
            return Ok(Vec::new());
        }
        self.in_transaction(true, |session, view| {
            let migration = Migration::plan(text, view, &Stored, allow_drop)?;
            let done = migration.apply(view, &session.context(view.clone(), &[], session.limits()));
            done.map_err(|error| error.in_schema(text))?;
            Ok(migration.lines)
        })
    }
}
