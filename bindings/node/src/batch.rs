//! Atomic batches of documents that come as JSON arrays.

use folio::{Batch, BatchCounts, Collection, Result};
use napi_derive::napi;

use crate::error::{closed, thrown};
use crate::report::NativeCounts;

/// An open batch. It ends by `commit` or `abort`, not by being forgotten: nobody
/// knows when the collector would come, and writers wait until then.
#[napi]
pub struct NativeBatch {
    batch: Option<Batch>,
    id_field: Option<String>,
}

impl NativeBatch {
    pub(crate) fn new(batch: Batch, id_field: Option<String>) -> Self {
        Self { batch: Some(batch), id_field }
    }
}

#[napi]
impl NativeBatch {
    /// Adds the documents of a JSON array.
    #[napi]
    pub fn put_array(&mut self, json: String) -> napi::Result<()> {
        let batch = self.batch.as_mut().ok_or_else(|| closed("the batch has ended"))?;
        batch.put_array(&json, self.id_field.as_deref()).map_err(thrown)
    }

    /// Stores the batch.
    #[napi]
    pub fn commit(&mut self) -> napi::Result<NativeCounts> {
        let batch = self.batch.take().ok_or_else(|| closed("the batch has ended"))?;
        batch.commit().map(Into::into).map_err(thrown)
    }

    /// Undoes the batch, if it has not ended.
    #[napi]
    pub fn abort(&mut self) {
        self.batch = None;
    }
}

/// Stores arrays as one batch.
pub(crate) fn put_arrays(
    collection: &Collection,
    arrays: &[String],
    id_field: Option<&str>,
) -> Result<BatchCounts> {
    let mut batch = collection.batch()?;
    for array in arrays {
        batch.put_array(array, id_field)?;
    }
    batch.commit()
}
