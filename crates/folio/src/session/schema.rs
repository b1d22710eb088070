//! The structs of a database, as a text declares them.

use std::sync::atomic::Ordering;

use folio_sql::Stored;
use folio_ziql::{Migration, show_schema};

use super::Session;
use crate::error::Result;

impl Session {
    /// The structs there are, as the text that declares them.
    ///
    /// # Errors
    /// What the store says.
    pub fn schema(&mut self) -> Result<String> {
        Ok(show_schema(&self.view()?, &Stored)?)
    }

    /// What a schema would change, a line each.
    ///
    /// # Errors
    /// As [`Session::apply_schema`].
    pub fn check_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        Ok(Migration::plan(text, &self.view()?, &Stored, allow_drop)?.lines)
    }

    /// Makes the structs a schema declares, in one transaction; answers what changed,
    /// a line each.
    ///
    /// # Errors
    /// `syntax` and names that mean nothing, with their place; `conflict` for what
    /// cannot be migrated, and for what would be dropped unless `allow_drop`.
    pub fn apply_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        self.interrupt.store(false, Ordering::Relaxed);
        // A schema that is there already writes nothing.
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
