//! `where` of a scan and of an update: an SQL condition over the documents of a collection.
//!
//! The engine decides which documents pass, by an index where one serves the condition; the scan
//! reads their lines as stored, in file order. Memory holds the ids of the documents that pass.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use folio_document::Scan;
use folio_json::merge_patch;
use serde_json::Value;

use crate::collection::Collection;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::session::{Parameters, Session};

impl Collection {
    /// Like [`Collection::scan`], for the documents that satisfy an SQL condition: `age > ? and
    /// name like 'A%'`, with a value for each parameter.
    ///
    /// # Errors
    /// An error in the condition, with its position; as [`Collection::scan`].
    pub fn scan_where(
        &self,
        condition: &str,
        parameters: &Parameters,
        scan: Scan,
    ) -> Result<Documents> {
        let passing = self.passing(condition, parameters)?;
        Ok(Documents::new(self.reader()?.scan_of(passing, scan)?))
    }

    /// Applies a JSON merge patch (RFC 7396) to the documents that satisfy an SQL condition, all of
    /// them or none. Returns how many.
    ///
    /// # Errors
    /// As [`Collection::scan_where`] and [`Collection::patch`].
    pub fn update(&self, condition: &str, parameters: &Parameters, patch: &Value) -> Result<u64> {
        let mut batch = self.batch()?; // nobody writes from here on
        let mut count = 0;
        for id in self.passing(condition, parameters)? {
            let Some(document) = batch.get(&id)? else { continue };
            let mut value = document.to_value()?;
            merge_patch(&mut value, patch);
            batch.put(&id, &value)?;
            count += 1;
        }
        batch.commit()?;
        Ok(count)
    }

    /// The ids of the documents that satisfy a condition, in file order.
    fn passing(&self, condition: &str, parameters: &Parameters) -> Result<Vec<String>> {
        let mut session = Session::new(Arc::clone(self.handle()));
        let answer = session.condition(self.name(), condition, parameters)?;
        let mut ids = Vec::new();
        let Some(mut rows) = answer.rows else { return Ok(ids) };
        if let Some(row) = rows.take_row() {
            ids.extend(row.into_iter().filter_map(|id| match id {
                folio_types::Value::Text(id) => Some(id),
                _ => None,
            }));
        }
        while let Some(batch) = rows.next_batch().map_err(Error::from)? {
            if let Some(column) =
                batch.columns.first().and_then(|array| array.as_string_opt::<i32>())
            {
                ids.extend(column.iter().flatten().map(str::to_owned));
            }
        }
        Ok(ids)
    }
}
