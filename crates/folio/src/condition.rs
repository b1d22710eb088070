//! `where` of a scan and of an update: an SQL condition over the documents of a collection.
//!
//! The engine decides which documents pass, by an index where one serves the condition; the scan
//! reads their lines as stored, in file order. Memory holds the ids of the documents that pass. Where
//! only one can, the engine has read its line, which is given as it is.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use folio_document::Scan;
use folio_engine::Rows;
use folio_json::merge_patch;
use serde_json::Value;

use crate::collection::Collection;
use crate::condition_cache::Answers;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::session::{Parameters, Session};
use crate::source::View;

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
        Ok(Documents::new(match self.passing(condition, parameters)? {
            (Answers::Ids, ids) => self.reader()?.scan_of(ids, scan)?,
            (Answers::Lines, lines) => folio_document::Documents::given(lines, scan),
        }))
    }

    /// Applies a JSON merge patch (RFC 7396) to the documents that satisfy an SQL condition, all of
    /// them or none. Returns how many.
    ///
    /// # Errors
    /// As [`Collection::scan_where`] and [`Collection::patch`].
    pub fn update(&self, condition: &str, parameters: &Parameters, patch: &Value) -> Result<u64> {
        let mut batch = self.batch()?; // nobody writes from here on
        let mut count = 0;
        for id in self.passing_ids(condition, parameters)? {
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
    fn passing_ids(&self, condition: &str, parameters: &Parameters) -> Result<Vec<String>> {
        match self.passing(condition, parameters)? {
            (Answers::Ids, ids) => Ok(ids),
            (Answers::Lines, lines) => folio_document::Documents::given(lines, Scan::new())
                .map(|document| Ok(document?.id().to_owned()))
                .collect(),
        }
    }

    /// The documents that satisfy a condition, in file order: their ids, or their lines.
    fn passing(&self, condition: &str, parameters: &Parameters) -> Result<(Answers, Vec<String>)> {
        let (answers, mut rows) = match self.ask_known(condition, parameters)? {
            Some(known) => known,
            None => {
                let mut session = Session::new(Arc::clone(self.handle()));
                session.condition(self.name(), condition, parameters)?
            }
        };
        let mut texts = Vec::new();
        if let Some(row) = rows.take_row() {
            texts.extend(row.into_iter().filter_map(|text| match text {
                folio_types::Value::Text(text) => Some(text),
                _ => None,
            }));
        }
        while let Some(batch) = rows.next_batch().map_err(Error::from)? {
            if let Some(column) =
                batch.columns.first().and_then(|array| array.as_string_opt::<i32>())
            {
                texts.extend(column.iter().flatten().map(str::to_owned));
            }
        }
        Ok((answers, texts))
    }

    /// Asks by the query that was compiled for the condition before; `None` if there is none, or if
    /// definitions have changed since. Most lookups need no session, which is made only for others.
    fn ask_known(
        &self,
        condition: &str,
        parameters: &Parameters,
    ) -> Result<Option<(Answers, Rows)>> {
        let (handle, values) = (self.handle(), parameters.values());
        let Some(known) = handle.conditions.get(self.name(), condition) else { return Ok(None) };
        if !parameters.are_of(&known.signature) {
            return Ok(None);
        }
        handle.check_open()?;
        let view = View::new(Arc::clone(handle));
        if !known.statement.is_current(&view)? {
            return Ok(None);
        }
        let context = || {
            let session = Session::new(Arc::clone(handle));
            session.context(view.clone(), values, session.limits())
        };
        let rows = known.statement.query(&view, values, &context)?;
        Ok(Some((known.answers, rows)))
    }
}
