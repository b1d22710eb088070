//! The rows of a row group that a scan wants.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::filter;
use bytes::Bytes;
use folio_compute::{Batch, Result as QueryResult};
use folio_types::ColumnType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::super::guarded;
use super::super::read::{FileBytes, unwrapped};
use super::types::adapted;
use super::{Decoded, PartBytes, PartGroup, PartRequest, Spot, decoded, leaves, unread};

/// The rows of row groups, in order.
pub(crate) struct PartRows {
    request: Arc<PartRequest>,
    group: PartGroup,
    reader: ParquetRecordBatchReader,
    /// Rows of the group that were read.
    at: u64,
}

impl PartRows {
    /// # Errors
    /// `corrupted`, which checksums have made impossible.
    pub(crate) fn new(
        request: &Arc<PartRequest>,
        group: PartGroup,
        batch_size: usize,
    ) -> QueryResult<Self> {
        let known = decoded(&group.part).ok_or_else(|| unread(&group.part))?;
        let spots = request.paths().filter_map(|(path, ty)| known.spot(path, ty));
        let leaves = leaves(known, &spots.collect::<Vec<_>>());
        let mask = ProjectionMask::leaves(known.metadata.parquet_schema(), leaves);
        let bytes = FileBytes::Mapped(Bytes::from_owner(PartBytes(Arc::clone(&group.part))));
        let reader = guarded("part", || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, known.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![group.group])
                .with_batch_size(batch_size)
                .build()
        });
        let reader = reader.map_err(|_| unread(&group.part))?;
        Ok(Self { request: Arc::clone(request), group, reader, at: 0 })
    }

    /// The next rows that pass and are not dead; `None` at the end of the group.
    ///
    /// # Errors
    /// As [`PartRows::new`].
    pub(crate) fn next(&mut self) -> QueryResult<Option<Batch>> {
        let reader = &mut self.reader;
        let next = guarded("part", || reader.next().transpose().map_err(unwrapped));
        let Some(batch) = next.map_err(|_| unread(&self.group.part))? else { return Ok(None) };
        let known = decoded(&self.group.part).ok_or_else(|| unread(&self.group.part))?;
        let count = batch.num_rows();
        let first = self.group.first_row + self.at;
        self.at += count as u64;
        let mut kept = living(&self.group.dead, first, count);
        for (condition, ty, test) in &self.request.tests {
            let column = column_at(known, &batch, &condition.path, ty)
                .ok_or_else(|| unread(&self.group.part))?;
            let passed = test.passes(&column).ok_or_else(|| unread(&self.group.part))?;
            kept = Some(kept.map_or(passed.clone(), |kept| &kept & &passed));
        }
        let columns = self.request.columns.iter().map(|(path, ty)| {
            column_at(known, &batch, path, ty).ok_or_else(|| unread(&self.group.part))
        });
        let columns: Vec<ArrayRef> = columns.collect::<QueryResult<_>>()?;
        let Some(kept) = kept else { return Ok(Some(Batch::new(columns, count))) };
        let left = kept.count_set_bits();
        if left == count {
            return Ok(Some(Batch::new(columns, count)));
        }
        let kept = BooleanArray::new(kept, None);
        let columns = columns.iter().map(|column| filter(column, &kept));
        Ok(Some(Batch::new(columns.collect::<Result<_, _>>()?, left)))
    }
}

/// Which of `count` rows from `first` on are not among the dead; `None` if none of them is.
fn living(dead: &[u32], first: u64, count: usize) -> Option<BooleanBuffer> {
    let end = first + count as u64;
    let from = dead.partition_point(|row| u64::from(*row) < first);
    let dead = dead[from..].iter().take_while(|row| u64::from(**row) < end);
    let mut dead = dead.peekable();
    dead.peek()?;
    let mut living = BooleanBufferBuilder::new(count);
    living.append_n(count, true);
    dead.for_each(|row| living.set_bit((u64::from(*row) - first) as usize, false));
    Some(living.finish())
}

/// The values at a path in a batch of a part.
fn column_at(
    known: &Decoded,
    batch: &RecordBatch,
    path: &[String],
    wanted: &ColumnType,
) -> Option<ArrayRef> {
    let (column, members, ty) = match known.spot(path, wanted)? {
        Spot::Missing => return Some(new_null_array(&wanted.to_arrow(), batch.num_rows())),
        Spot::At { column, members, ty } => (column, members, ty),
    };
    let name = known.columns[column].path.join(".");
    let mut array = Arc::clone(batch.column_by_name(&name)?);
    for name in members {
        array = Arc::clone(array.as_struct_opt()?.column_by_name(name)?);
    }
    Some(adapted(&array, ty, wanted))
}
