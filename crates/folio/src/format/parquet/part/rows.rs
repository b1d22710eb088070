//! The rows of a row group that a scan wants.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use bytes::Bytes;
use folio_compute::{Batch, Result as QueryResult};
use folio_file::SummedMap;
use folio_types::ColumnType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowFilter,
    RowSelection,
};

use super::super::guarded;
use super::super::read::{FileBytes, unwrapped};
use super::dictionaries::plain;
use super::predicate::Predicate;
use super::types::adapted;
use super::{Decoded, PartBytes, PartGroup, PartRequest, Spot, decoded, leaves, unread};

/// The rows of a row group, in order.
pub(crate) struct PartRows {
    request: Arc<PartRequest>,
    part: Arc<SummedMap>,
    reader: ParquetRecordBatchReader,
}

impl PartRows {
    /// The rows of a group that pass and are not dead. Reads the columns that are tested, each for
    /// the rows that passed before; of the others, the rows that are left are read later.
    ///
    /// # Errors
    /// `corrupted`, which checksums have made impossible.
    pub(crate) fn new(
        request: &Arc<PartRequest>,
        group: PartGroup,
        batch_size: usize,
    ) -> QueryResult<Self> {
        let PartGroup { part, dead, group, first_row, row_count } = group;
        let known = decoded(&part).ok_or_else(|| unread(&part))?;
        let columns = request.columns.iter().map(|(path, ty)| (&path[..], ty));
        let bytes = FileBytes::Mapped(Bytes::from_owner(PartBytes(Arc::clone(&part))));
        let predicate =
            |test| -> Box<dyn ArrowPredicate> { Box::new(Predicate::new(&part, request, test)) };
        let predicates = request.test_order(known, group).into_iter().map(predicate);
        let reader = guarded("part", || {
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, known.metadata.clone())
                    .with_projection(mask(known, columns))
                    .with_row_groups(vec![group])
                    .with_batch_size(batch_size)
                    .with_row_filter(RowFilter::new(predicates.collect()));
            match living(&dead, first_row, row_count as usize) {
                None => builder.build(),
                Some(living) => {
                    let living = BooleanArray::new(living, None);
                    builder.with_row_selection(RowSelection::from_filters(&[living])).build()
                }
            }
        });
        let reader = reader.map_err(|_| unread(&part))?;
        Ok(Self { request: Arc::clone(request), part, reader })
    }

    /// The next rows; `None` at the end of the group.
    ///
    /// # Errors
    /// As [`PartRows::new`].
    pub(crate) fn next(&mut self) -> QueryResult<Option<Batch>> {
        let reader = &mut self.reader;
        let next = guarded("part", || reader.next().transpose().map_err(unwrapped));
        let Some(batch) = next.map_err(|_| unread(&self.part))? else { return Ok(None) };
        let known = decoded(&self.part).ok_or_else(|| unread(&self.part))?;
        let columns = self.request.columns.iter().map(|(path, ty)| {
            let column = column_at(known, &batch, path, ty);
            column.map(|column| plain(&column)).ok_or_else(|| unread(&self.part))
        });
        Ok(Some(Batch::new(columns.collect::<QueryResult<_>>()?, batch.num_rows())))
    }
}

/// The columns of a file that have these paths.
pub(super) fn mask<'p>(
    known: &'p Decoded,
    paths: impl IntoIterator<Item = (&'p [String], &'p ColumnType)>,
) -> ProjectionMask {
    let spots = paths.into_iter().filter_map(|(path, ty)| known.spot(path, ty));
    let leaves = leaves(known, &spots.collect::<Vec<_>>());
    ProjectionMask::leaves(known.metadata.parquet_schema(), leaves)
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

/// The values at a path in a batch of a part; texts may be in dictionaries.
pub(super) fn column_at(
    known: &Decoded,
    batch: &RecordBatch,
    path: &[String],
    wanted: &ColumnType,
) -> Option<ArrayRef> {
    let (column, members, ty) = match known.spot(path, wanted)? {
        Spot::Missing => return Some(new_null_array(&wanted.to_arrow(), batch.num_rows())),
        Spot::At { column, members, ty } => (column, members, ty),
    };
    let mut array = Arc::clone(batch.column_by_name(&known.columns[column].name)?);
    for name in members {
        array = Arc::clone(array.as_struct_opt()?.column_by_name(name)?);
    }
    match ty {
        ColumnType::Text => Some(array),
        _ => Some(adapted(&plain(&array), ty, wanted)),
    }
}
