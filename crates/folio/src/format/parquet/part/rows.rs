//! The rows of a row group that a scan wants.
//!
//! Tests come first, a column each, over the whole group. Columns that are dictionaries are tested and
//! read by their codes, of others the rows that are left. Where few rows are left, other columns that
//! follow are read for those alone, and one that was tested and is wanted is not read again.
//!
//! Where a sort will tell what its first rows are, some rows are read before it has, then the others.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;
use bytes::Bytes;
use folio_compute::{Batch, Result as QueryResult};
use folio_engine::source::RowStream;
use folio_file::SummedMap;
use folio_types::ColumnType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::super::super::members::adapted;
use super::super::guarded;
use super::super::read::{FileBytes, unwrapped};
use super::codes::Codes;
use super::dictionaries::plain;
use super::{Decoded, PartBytes, PartGroup, PartRequest, Spot, decoded, leaves, unread};

/// Other columns are read for single rows where at most one row in so many is left.
const FEW_ROWS: usize = 32;

/// Texts stay in their dictionary where a batch has at least one row for so many of them: its other
/// batches have rows of the others.
const TEXTS_PER_ROW: usize = 32;

/// So many rows of a group are read before a sort has its first rows.
const ROWS_BEFORE_BOUND: usize = 16 << 10;

/// The rows of a row group, in order.
pub(crate) struct PartRows {
    request: Arc<PartRequest>,
    part: Arc<SummedMap>,
    /// The columns of which nothing else is read; `None` if there are none.
    reader: Option<ParquetRecordBatchReader>,
    /// Where each column of the request comes from.
    columns: Vec<Source>,
    batch_size: usize,
    /// The rows that pass; `None` if all do.
    passed: Option<BooleanBuffer>,
    /// The next row of the group.
    at: usize,
    /// How many rows pass, and how many of them were returned.
    count: usize,
    done: usize,
    /// Rows that are read after these.
    rest: Option<PartGroup>,
}

/// Where a column comes from.
enum Source {
    Reader,
    Codes(Box<Codes>),
    /// A test has read it: its rows that pass.
    Tested(ArrayRef),
}

/// A row group while its tests are made.
struct Testing<'r> {
    request: &'r PartRequest,
    part: &'r Arc<SummedMap>,
    known: &'r Decoded,
    group: usize,
    row_count: usize,
    /// The rows that pass so far; `None` if all do.
    passed: Option<BooleanBuffer>,
    /// For each column of the request, what a test has read, and of which rows.
    read: Vec<Option<(ArrayRef, Option<BooleanBuffer>)>>,
}

impl PartRows {
    /// The rows of a group that pass and are not dead.
    ///
    /// # Errors
    /// `corrupted`, which checksums have made impossible.
    pub(crate) fn new(
        request: &Arc<PartRequest>,
        group: PartGroup,
        batch_size: usize,
    ) -> QueryResult<Self> {
        let row_count = group.row_count as usize;
        let end = match request.is_waiting() {
            true => row_count.min(group.start + ROWS_BEFORE_BOUND),
            false => row_count,
        };
        let rest = (end < row_count).then(|| PartGroup { start: end, ..group.clone() });
        let PartGroup { part, dead, group, first_row, start, .. } = group;
        let known = decoded(&part).ok_or_else(|| unread(&part))?;
        let passed = within(living(&dead, first_row, row_count), start..end, row_count);
        let read = request.columns.iter().map(|_| None).collect();
        let mut testing = Testing { request, part: &part, known, group, row_count, passed, read };
        let metadata = known.metadata.metadata().row_group(group);
        if !request.may_pass(known, metadata) {
            // A sort has come farther since the group was chosen.
            testing.passed = Some(BooleanBuffer::new_unset(row_count));
        }
        for test in request.test_order(known, group) {
            if testing.count() == 0 {
                break;
            }
            testing.test(test)?;
        }
        let count = testing.count();
        let mut columns = Vec::new();
        for (place, column) in request.columns.iter().enumerate() {
            columns.push(match testing.read[place].take() {
                _ if count == 0 => break,
                Some((column, of)) => Source::Tested(testing.filtered(&column, of.as_ref())?),
                None => match testing.codes(column).and_then(|codes| codes.of_rows(count)) {
                    Some(codes) => Source::Codes(Box::new(codes)),
                    None => Source::Reader,
                },
            });
        }
        let others = request.columns.iter().zip(&columns);
        let others = others.filter(|(_, source)| matches!(source, Source::Reader));
        let others: Vec<_> = others.map(|((path, ty), _)| (&path[..], ty)).collect();
        let reader = match others.is_empty() {
            true => None,
            false => Some(testing.reader(others, testing.passed.as_ref(), batch_size)?),
        };
        let passed = testing.passed.take().filter(|_| count < row_count);
        let (request, at, done) = (Arc::clone(request), 0, 0);
        Ok(Self { request, part, reader, columns, batch_size, passed, at, count, done, rest })
    }
}

impl RowStream for PartRows {
    /// The next rows; `None` at the end of the group.
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        while self.done == self.count {
            let Some(rest) = self.rest.take() else { return Ok(None) };
            *self = Self::new(&self.request, rest, self.batch_size)?;
        }
        let batch = match &mut self.reader {
            None => None,
            Some(reader) => {
                let next = guarded("part", || reader.next().transpose().map_err(unwrapped));
                Some(next.ok().flatten().ok_or_else(|| unread(&self.part))?)
            }
        };
        let left = self.count - self.done;
        let count = batch.as_ref().map_or(left.min(self.batch_size), RecordBatch::num_rows);
        if count == 0 || count > left {
            return Err(unread(&self.part));
        }
        let known = decoded(&self.part).ok_or_else(|| unread(&self.part))?;
        let end = match &self.passed {
            None => self.at + count,
            Some(passed) => passed.find_nth_set_bit_position(self.at, count),
        };
        let rows = self.at..end;
        let (passed, done, part) = (self.passed.as_ref(), self.done, &self.part);
        let columns = self.request.columns.iter().zip(&mut self.columns);
        let columns = columns.map(|((path, ty), source)| {
            let column = match (source, &batch) {
                (Source::Tested(tested), _) => Some(tested.slice(done, count)),
                (Source::Codes(codes), _) => codes.next(rows.clone(), passed),
                (Source::Reader, Some(batch)) => column_at(known, batch, path, ty),
                (Source::Reader, None) => None,
            };
            let column = column.filter(|column| column.len() == count);
            let column = column.ok_or_else(|| unread(part))?;
            Ok(match self.request.as_stored.contains(path) {
                true => as_stored(column),
                false => plain(&column),
            })
        });
        let columns = columns.collect::<QueryResult<_>>()?;
        self.done += count;
        self.at = rows.end;
        Ok(Some(Batch::new(columns, count)))
    }
}

impl Testing<'_> {
    fn count(&self) -> usize {
        self.passed.as_ref().map_or(self.row_count, BooleanBuffer::count_set_bits)
    }

    /// Makes a test of the rows that are left.
    fn test(&mut self, test: usize) -> QueryResult<()> {
        let own = &self.request.tests[test];
        let left = self.count();
        if let Some(mut codes) = self.codes(&(own.path.clone(), own.ty.clone())) {
            let values = codes.values().ok_or_else(|| unread(self.part))?;
            let marked = own.passes(values).ok_or_else(|| unread(self.part))?;
            let outcome = match marked.count_set_bits() {
                0 => BooleanBuffer::new_unset(self.row_count),
                count if count == marked.len() && !codes.has_nulls() => {
                    own.tally(left, left);
                    return Ok(());
                }
                _ => codes
                    .passes(&marked, self.passed.as_ref(), self.row_count)
                    .ok_or_else(|| unread(self.part))?,
            };
            self.passed = Some(match &self.passed {
                None => outcome,
                Some(passed) => passed & &outcome,
            });
            own.tally(left, self.count());
            return Ok(());
        }
        let only = self.passed.clone().filter(|_| left * FEW_ROWS <= self.row_count);
        let column = self.whole((&own.path, &own.ty), only.as_ref())?;
        let outcome = own.passes(&column).ok_or_else(|| unread(self.part))?;
        self.passed = Some(match (&only, &self.passed) {
            (None, None) => outcome,
            (None, Some(passed)) => passed & &outcome,
            (Some(rows), _) => scattered(rows, &outcome),
        });
        own.tally(left, self.count());
        let is_it =
            |wanted: &(Vec<String>, ColumnType)| *wanted == (own.path.clone(), own.ty.clone());
        if let Some(place) = self.request.columns.iter().position(is_it) {
            self.read[place] = Some((column, only));
        }
        Ok(())
    }

    /// The codes of a column, if it is stored so.
    fn codes(&self, (path, ty): &(Vec<String>, ColumnType)) -> Option<Codes> {
        let spot = self.known.spot(path, ty)?;
        let Spot::At { ty, .. } = spot else { return None };
        let [leaf] = leaves(self.known, &[spot])[..] else { return None };
        let group = self.known.metadata.metadata().row_group(self.group);
        Codes::new(bytes_of(self.part), group.column(leaf), ty, self.row_count)
    }

    /// The values at a path, of all rows or only of these.
    fn whole(
        &self,
        (path, ty): (&[String], &ColumnType),
        only: Option<&BooleanBuffer>,
    ) -> QueryResult<ArrayRef> {
        let mut reader = self.reader(vec![(path, ty)], only, self.row_count)?;
        let mut arrays = Vec::new();
        loop {
            let next = guarded("part", || reader.next().transpose().map_err(unwrapped));
            let Some(batch) = next.map_err(|_| unread(self.part))? else { break };
            let column = column_at(self.known, &batch, path, ty);
            arrays.push(column.ok_or_else(|| unread(self.part))?);
        }
        let wanted = only.map_or(self.row_count, BooleanBuffer::count_set_bits);
        let whole = match &arrays[..] {
            [only] => Arc::clone(only),
            arrays => {
                let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
                concat(&arrays).map_err(|_| unread(self.part))?
            }
        };
        match whole.len() == wanted {
            true => Ok(whole),
            false => Err(unread(self.part)),
        }
    }

    fn reader(
        &self,
        paths: Vec<(&[String], &ColumnType)>,
        only: Option<&BooleanBuffer>,
        batch_size: usize,
    ) -> QueryResult<ParquetRecordBatchReader> {
        let bytes = bytes_of(self.part);
        let metadata = self.known.metadata.clone();
        let reader = guarded("part", || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata)
                .with_projection(mask(self.known, paths))
                .with_row_groups(vec![self.group])
                .with_batch_size(batch_size);
            match only {
                None => builder.build(),
                Some(rows) => {
                    let rows = RowSelection::from_boolean_buffer(rows.clone());
                    builder.with_row_selection(rows).build()
                }
            }
        });
        reader.map_err(|_| unread(self.part))
    }

    /// The rows of a column that pass all tests. A test has read all rows, or only these.
    fn filtered(&self, column: &ArrayRef, of: Option<&BooleanBuffer>) -> QueryResult<ArrayRef> {
        let Some(passed) = &self.passed else { return Ok(Arc::clone(column)) };
        let kept = match of {
            None => passed.clone(),
            Some(of) => of.set_indices().map(|row| passed.value(row)).collect(),
        };
        if kept.count_set_bits() == kept.len() {
            return Ok(Arc::clone(column));
        }
        filter(column, &BooleanArray::new(kept, None)).map_err(|_| unread(self.part))
    }
}

fn bytes_of(part: &Arc<SummedMap>) -> FileBytes {
    FileBytes::Mapped(Bytes::from_owner(PartBytes(Arc::clone(part))))
}

/// A column as it is stored where that is of use: a dictionary of not too many texts, decimals with 64 bits.
fn as_stored(column: ArrayRef) -> ArrayRef {
    let Some(own) = column.as_dictionary_opt::<Int32Type>() else { return column };
    match own.values().data_type() {
        DataType::Utf8 if own.values().len() <= own.len() * TEXTS_PER_ROW => column,
        DataType::Decimal64(..) => {
            take(own.values(), own.keys(), None).expect("keys are within the dictionary")
        }
        _ => plain(&column),
    }
}

/// Which of these rows pass, by the outcome for each of them.
fn scattered(rows: &BooleanBuffer, outcome: &BooleanBuffer) -> BooleanBuffer {
    let mut passed = BooleanBufferBuilder::new(rows.len());
    passed.append_n(rows.len(), false);
    let passing = rows.set_indices().zip(outcome).filter(|(_, passes)| *passes);
    passing.for_each(|(row, _)| passed.set_bit(row, true));
    passed.finish()
}

/// The columns of a file that have these paths.
fn mask<'p>(
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

/// Those of so many rows that are in a range; `None` if all are.
fn within(
    rows: Option<BooleanBuffer>,
    range: Range<usize>,
    row_count: usize,
) -> Option<BooleanBuffer> {
    if range == (0..row_count) {
        return rows;
    }
    let mut inside = BooleanBufferBuilder::new(row_count);
    inside.append_n(range.start, false);
    inside.append_n(range.len(), true);
    inside.append_n(row_count - range.end, false);
    let inside = inside.finish();
    Some(rows.map_or(inside.clone(), |rows| &rows & &inside))
}

/// The values at a path in a batch of a part; texts may be in dictionaries, and decimals narrow.
fn column_at(
    known: &Decoded,
    batch: &RecordBatch,
    path: &[String],
    wanted: &ColumnType,
) -> Option<ArrayRef> {
    let (column, members, ty) = match known.spot(path, wanted)? {
        Spot::Missing => return Some(new_null_array(&wanted.to_arrow(), batch.num_rows())),
        Spot::At { column, members, ty, .. } => (column, members, ty),
    };
    let mut array = Arc::clone(batch.column_by_name(&known.columns[column].name)?);
    for name in members {
        array = Arc::clone(array.as_struct_opt()?.column_by_name(name)?);
    }
    match ty {
        ColumnType::Text | ColumnType::Decimal { .. } => Some(array),
        _ => Some(adapted(&plain(&array), ty, wanted)),
    }
}
