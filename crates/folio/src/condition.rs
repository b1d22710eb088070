//! `where` of a scan: a condition of SQL over the documents of a collection.
//!
//! The engine says which documents pass, the scan reads them: their lines come out as
//! they stand, in file order. What is kept meanwhile is the ids of those that pass.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use folio_document::Scan;

use crate::collection::Collection;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::session::Session;

impl Collection {
    /// As [`Collection::scan`], of the documents for which a condition of SQL holds:
    /// `age > 30 and name like 'A%'`.
    ///
    /// # Errors
    /// What is wrong with the condition, with its place; as [`Collection::scan`].
    pub fn scan_where(&self, condition: &str, scan: Scan) -> Result<Documents> {
        let passing = self.passing(condition)?;
        self.scan(scan.filter(move |document| passing.contains(document.id())))
    }

    /// The ids of the documents for which a condition holds.
    fn passing(&self, condition: &str) -> Result<HashSet<Box<str>>> {
        // On a line of its own a comment in the condition hides nothing.
        let text = format!("select _id from \"{}\" where (\n{condition}\n)", self.name());
        let mut session = Session::new(Arc::clone(self.handle()));
        // A prepared text is one statement, and begins with SELECT: it only reads.
        let mut prepared = session.prepare(&text)?;
        let answer = session.execute_prepared(&mut prepared, &[])?;
        let mut ids = HashSet::new();
        let Some(mut rows) = answer.rows else { return Ok(ids) };
        while let Some(batch) = rows.next_batch().map_err(Error::from)? {
            if let Some(column) =
                batch.columns.first().and_then(|array| array.as_string_opt::<i32>())
            {
                ids.extend(column.iter().flatten().map(Box::from));
            }
        }
        Ok(ids)
    }
}
