//! The batches of a scan, one at a time.

use std::sync::Arc;
use std::vec;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use folio::json::{Columns, Others};
use pyo3::prelude::*;

use super::prepare::{BATCH_ROWS, BATCH_SIZE, Prepared, changed, to_arrow};
use crate::fork::Owned;
use crate::request::{self, Raised, Request};

/// The source of the documents, which can be scanned more than once.
pub(crate) struct Source {
    collection: Owned<folio::Collection>,
    request: Request,
    raised: Raised,
}

impl Source {
    pub(crate) fn new(collection: folio::Collection, request: Request) -> Self {
        Self { collection: Owned::new(collection), request, raised: Raised::default() }
    }

    /// The exception raised by a filter.
    pub(super) fn raised(&self) -> Raised {
        self.raised.clone()
    }

    /// Begins a scan, of at most `limit` documents.
    pub(super) fn open(&self, limit: Option<u64>) -> folio::Result<Documents> {
        let mut wanted = self.request.clone();
        wanted.limit = match (wanted.limit, limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let documents = request::open(self.collection()?, &wanted, &self.raised)?;
        let raised = wanted.filter.is_some().then(|| self.raised.clone());
        Ok(Documents { documents, raised })
    }

    /// Begins a scan in up to `count` parts; `None` if it must run on one thread.
    pub(super) fn open_parts(&self, count: usize) -> folio::Result<Option<Vec<Documents>>> {
        let parts = request::open_parts(self.collection()?, &self.request, count)?;
        let part = |documents| Documents { documents, raised: None };
        Ok(parts.map(|parts| parts.into_iter().map(part).collect()))
    }

    /// The types of the documents, if the source is a whole collection.
    pub(super) fn types(&self) -> folio::Result<Option<Arc<folio::Types>>> {
        let Request { fields, limit, condition, filter, .. } = &self.request;
        let is_whole =
            fields.is_empty() && limit.is_none() && condition.is_none() && filter.is_none();
        if is_whole { self.collection()?.types().map(Some) } else { Ok(None) }
    }

    fn collection(&self) -> folio::Result<&folio::Collection> {
        self.collection.get().ok_or_else(|| {
            folio::Error::Invalid(
                "the stream was started before the fork; start a new one".to_owned(),
            )
        })
    }
}

/// Documents up to the one where the filter raised an exception.
pub(super) struct Documents {
    documents: folio::Documents,
    /// Where a filter stores its exception.
    raised: Option<Raised>,
}

impl Documents {
    /// The total bytes of the data.
    pub(super) fn size(&self) -> u64 {
        self.documents.progress().1
    }

    #[inline]
    pub(super) fn next_line(&mut self) -> folio::Result<Option<&[u8]>> {
        match self.documents.next_line()? {
            Some(_) if self.raised.as_ref().is_some_and(Raised::is_set) => {
                Err(folio::Error::Invalid("the filter raised".to_owned()))
            }
            line => Ok(line),
        }
    }
}

/// Record batches of a final schema.
pub(super) struct Batches {
    schema: SchemaRef,
    state: State,
    raised: Raised,
}

enum State {
    Ready(vec::IntoIter<RecordBatch>),
    Streaming(Box<Streaming>),
}

struct Streaming {
    source: Source,
    documents: Option<Documents>,
    rows: Columns,
}

impl Batches {
    pub(super) fn new(prepared: Prepared) -> Self {
        let Prepared { fields, batches, source } = prepared;
        let schema = Arc::new(Schema::new(to_arrow(&fields)));
        let raised = source.raised();
        let state = match batches {
            Some(batches) => State::Ready(batches.into_iter()),
            None => {
                let rows = Columns::new(&fields, Others::Refuse);
                State::Streaming(Box::new(Streaming { source, documents: None, rows }))
            }
        };
        Self { schema, state, raised }
    }

    fn next_batch(&mut self) -> folio::Result<Option<RecordBatch>> {
        match &mut self.state {
            State::Ready(batches) => Ok(batches.next()),
            State::Streaming(streaming) => streaming.next_batch(),
        }
    }
}

impl Streaming {
    fn next_batch(&mut self) -> folio::Result<Option<RecordBatch>> {
        let documents = match &mut self.documents {
            Some(documents) => documents,
            None => self.documents.insert(self.source.open(None)?),
        };
        let mut size = 0;
        while self.rows.row_count() < BATCH_ROWS && size < BATCH_SIZE {
            let Some(line) = documents.next_line()? else { break };
            size += line.len();
            self.rows.push(line).map_err(|_| changed())?;
        }
        Ok((self.rows.row_count() > 0).then(|| RecordBatch::from(self.rows.finish())))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_batch() {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                let text = match self.raised.take() {
                    Some(raised) => Python::attach(|py| raised.value(py).to_string()),
                    None => error.to_string(),
                };
                Some(Err(ArrowError::ExternalError(text.into())))
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
