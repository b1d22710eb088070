//! Tests of rows, as the reader of a file calls them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::ArrowError;
use folio_file::SummedMap;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowPredicate;

use super::rows::{column_at, mask};
use super::{PartRequest, PartTest, decoded};

/// A test of a request, over its column of a part.
pub(super) struct Predicate {
    part: Arc<SummedMap>,
    request: Arc<PartRequest>,
    /// The number of the test.
    test: usize,
    projection: ProjectionMask,
    /// Texts of a dictionary, and which of them pass. Batches share it.
    tested: Option<(ArrayRef, BooleanBuffer)>,
}

impl Predicate {
    pub(super) fn new(part: &Arc<SummedMap>, request: &Arc<PartRequest>, test: usize) -> Self {
        let own = &request.tests[test];
        let columns = [(&own.path[..], &own.ty)];
        let projection = decoded(part).map_or_else(ProjectionMask::all, |own| mask(own, columns));
        let (part, request) = (Arc::clone(part), Arc::clone(request));
        Self { part, request, test, projection, tested: None }
    }
}

impl ArrowPredicate for Predicate {
    fn projection(&self) -> &ProjectionMask {
        &self.projection
    }

    fn evaluate(&mut self, batch: RecordBatch) -> Result<BooleanArray, ArrowError> {
        let test = &self.request.tests[self.test];
        let known = decoded(&self.part);
        let column = known.and_then(|known| column_at(known, &batch, &test.path, &test.ty));
        let passed = column.and_then(|column| match column.as_dictionary_opt() {
            Some(texts) => of_dictionary(test, texts, &mut self.tested),
            None => test.passes(&column),
        });
        let passed = passed.ok_or_else(|| ArrowError::SchemaError("not as noted".to_owned()))?;
        Ok(BooleanArray::new(passed, None))
    }
}

/// Which texts pass a test that is made of each different one once.
fn of_dictionary(
    test: &PartTest,
    texts: &DictionaryArray<Int32Type>,
    tested: &mut Option<(ArrayRef, BooleanBuffer)>,
) -> Option<BooleanBuffer> {
    let is_known =
        |own: &(ArrayRef, BooleanBuffer)| own.0.to_data().ptr_eq(&texts.values().to_data());
    if !tested.as_ref().is_some_and(is_known) {
        *tested = Some((Arc::clone(texts.values()), test.passes(texts.values())?));
    }
    let (_, passed) = tested.as_ref()?;
    let keys = texts.keys();
    let passes = |row: usize| keys.is_valid(row) && passed.value(keys.value(row) as usize);
    Some(BooleanBuffer::collect_bool(keys.len(), passes))
}
