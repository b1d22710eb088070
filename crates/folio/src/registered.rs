//! Rows that a program hands over under a name, as Arrow batches: statements through the
//! same handle read them beside tables, collections and files. They are held in memory as they
//! came, are never written anywhere, and go with the handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatchReader;
use folio_query::source::{Relation, RelationKind, Source as _};
use folio_query::{Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;

use crate::arrow::relation_of;
use crate::database::Database;
use crate::error::Result;

/// What a handle has registered, by name in lower case.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    known: Mutex<HashMap<String, Arc<Relation>>>,
    /// Grows with each change.
    version: AtomicU64,
}

impl Registered {
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn relation(&self, name: &str) -> Option<Arc<Relation>> {
        // Nearly every handle has none.
        match self.version() {
            0 => None,
            _ => self.lock().get(&name.to_lowercase()).cloned(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let known = self.lock();
        let mut names: Vec<String> =
            known.values().map(|relation| relation.schema.name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Relation>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database {
    /// Gives rows a name for statements through this handle and its clones; answers how
    /// many there are. Whatever was registered under the name before is replaced. Names
    /// are compared as SQL's are, without case.
    ///
    /// # Errors
    /// `conflict` for the name of a table, view or collection; `unsupported` for columns of
    /// types that have no counterpart; `invalid_input` for an empty name, two columns of
    /// one name, and what the reader says.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator};
    /// use folio::Database;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let database = Database::open(folder.path().join("mydata"))?;
    /// let ids = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("id", ids as _)])?;
    /// let schema = batch.schema();
    /// database.register("wanted", RecordBatchIterator::new([Ok(batch)], schema))?;
    /// let answer = database.session()?.execute("select sum(id) from wanted", &[])?;
    /// assert_eq!(answer.rows.expect("it is a query").to_json()?, r#"[{"sum":6}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register(&self, name: &str, rows: impl RecordBatchReader) -> Result<u64> {
        let handle = self.handle();
        handle.check_open()?;
        if name.is_empty() {
            return Err(refused("rows are registered under a name, which is empty").into());
        }
        let stored = self.session()?.view()?.relation(name)?;
        if stored.is_some_and(|stored| stored.kind != RelationKind::Registered) {
            let text = format!("there is {name:?} in the database");
            let error = QueryError::new(ErrorCode::Conflict, text);
            return Err(error.help("register the rows under another name").into());
        }
        let schema = rows.schema();
        let batches = rows.map(|batch| batch.map_err(|error| refused(&error.to_string())));
        let batches = batches.collect::<QueryResult<Vec<_>>>()?;
        let count = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let relation = Arc::new(relation_of(name, &schema, batches)?);
        let registered = &handle.registered;
        registered.lock().insert(name.to_lowercase(), relation);
        registered.version.fetch_add(1, Ordering::AcqRel);
        Ok(count)
    }

    /// Forgets what was registered under a name; whether there was anything. Statements
    /// under way go on.
    ///
    /// # Errors
    /// `closed`.
    pub fn unregister(&self, name: &str) -> Result<bool> {
        self.handle().check_open()?;
        let registered = &self.handle().registered;
        let known = registered.lock().remove(&name.to_lowercase());
        registered.version.fetch_add(1, Ordering::AcqRel);
        Ok(known.is_some())
    }
}

fn refused(text: &str) -> QueryError {
    QueryError::new(ErrorCode::InvalidInput, text)
}
