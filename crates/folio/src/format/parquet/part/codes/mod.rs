//! The codes of a column that is a dictionary in a row group, straight from its pages: a test looks
//! at each different value once and then at a code of a few bits per row, and only the values of an
//! answer are copied. The parser of pages is the one of the other readers.
//!
//! ```text
//! page     levels (size, bytes) where the column may be null │ bits of a code │ runs
//! run      count · 2      │ one code, in whole bytes
//!          groups · 2 + 1 │ eight codes for each group, packed
//! ```
//!
//! Booleans are codes of one bit for false and true, without a dictionary: their pages are one packed
//! run that has no head.
//!
//! A test looks up several codes at once ([`marks`]), and makes a bit of each ([`bits`]).
//!
//! The levels of a page, in runs like those of codes, say which rows have a value: those whose level is
//! the highest. A member of structs has a level for each of them that may be null. Of many texts that
//! few rows have, only those are read.

mod bits;
mod marks;
mod runs;
mod texts;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType};
use bytes::Bytes;
use folio_types::ColumnType;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::guarded;
use super::super::read::FileBytes;
use bits::Bits;
use marks::Marks;
use runs::Runs;
use texts::Texts;

/// Rows that are decoded at a time.
const CHUNK: usize = 1024;

/// Texts are read by row where there are at least so many for each row.
const TEXTS_PER_ROW: usize = 4;

/// A column of a row group, at its next row.
pub(super) struct Codes {
    pages: SerializedPageReader<FileBytes>,
    is_boolean: bool,
    /// The level of a row with a value; 0 if pages have no levels.
    level: i32,
    /// Marks that level.
    is_there: Marks,
    has_nulls: bool,
    /// The rest of the current page: which rows have a value, if some have none, and the codes of
    /// those that have.
    levels: Runs,
    runs: Runs,
    /// The rows that it has.
    left: usize,
    values: Values,
    chunk: Chunk,
    /// Which of some rows of the current page have a value; empty for a column without nulls.
    there: Bits,
}

/// Rows that are decoded.
#[derive(Default)]
struct Chunk {
    /// The code of each; any code where there is no value.
    codes: Vec<i32>,
    /// Which of them have a value; empty for a column without nulls.
    are_there: Bits,
    /// Codes without those of nulls.
    packed: Vec<i32>,
}

/// The different values of a column.
enum Values {
    Array(ArrayRef),
    /// Texts, each behind its size, that nobody has asked for yet.
    Texts(Bytes, usize),
    /// Texts that are read by row.
    TextsOfRows(Texts),
}

impl Codes {
    /// `None` for a column that is stored otherwise.
    pub(super) fn new(
        bytes: FileBytes,
        column: &ColumnChunkMetaData,
        ty: &ColumnType,
        row_count: usize,
    ) -> Option<Self> {
        let described = column.column_descr();
        let encodings = column.page_encoding_stats_mask()?;
        let is_boolean = column.column_type() == Type::BOOLEAN && *ty == ColumnType::Boolean;
        let encoding = if is_boolean { Encoding::PLAIN } else { Encoding::RLE_DICTIONARY };
        let level = i32::from(described.max_def_level());
        let has_nulls = level > 0 && column.statistics()?.null_count_opt() != Some(0);
        if !encodings.is_only(encoding) || described.max_rep_level() > 0 {
            return None;
        }
        let pages = || SerializedPageReader::new(Arc::new(bytes), column, row_count, None);
        let mut pages = guarded("part", pages).ok()?;
        let values = match is_boolean {
            true => Values::Array(Arc::new(BooleanArray::from(vec![false, true]))),
            false => {
                let first = guarded("part", || pages.get_next_page()).ok()??;
                let Page::DictionaryPage { buf, num_values, .. } = first else { return None };
                values_of(buf, num_values as usize, column.column_type(), ty)?
            }
        };
        let is_there = Marks::new((0..=level).map(|own| own == level).collect());
        Some(Self {
            pages,
            is_boolean,
            level,
            is_there,
            has_nulls,
            levels: Runs::default(),
            runs: Runs::default(),
            left: 0,
            values,
            chunk: Chunk::default(),
            there: Bits::default(),
        })
    }

    /// Whether a row may have no value.
    pub(super) fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// The different values; `None` for a page that is not as it was written.
    pub(super) fn values(&mut self) -> Option<&ArrayRef> {
        let made = match &self.values {
            Values::Array(_) => None,
            Values::Texts(page, count) => Some(Texts::of(page.clone(), *count)?.all()?),
            Values::TextsOfRows(texts) => Some(texts.all()?),
        };
        if let Some(made) = made {
            self.values = Values::Array(made);
        }
        match &self.values {
            Values::Array(values) => Some(values),
            Values::Texts(..) | Values::TextsOfRows(..) => None,
        }
    }

    /// The same, of which no more than so many rows will be asked for.
    pub(super) fn of_rows(mut self, row_count: usize) -> Option<Self> {
        if let Values::Texts(page, count) = &self.values
            && *count > 0
            && row_count * TEXTS_PER_ROW <= *count
        {
            self.values = Values::TextsOfRows(Texts::of(page.clone(), *count)?);
        }
        Some(self)
    }

    /// For each of the next rows, whether its value is one of those that are marked; what is of rows
    /// that were left out before does not matter. `None` for pages that are not as they were written.
    pub(super) fn passes(
        &mut self,
        marked: &BooleanBuffer,
        passed: Option<&BooleanBuffer>,
        row_count: usize,
    ) -> Option<BooleanBuffer> {
        let mut marks = Marks::new(marked.iter().collect());
        let (mut outcome, mut dense) = (Bits::with_capacity(row_count), Bits::default());
        for rows in chunks(0..row_count) {
            if passed.is_some_and(|passed| count(passed, &rows) == 0) {
                self.skip(rows.len())?;
                outcome.repeat(false, rows.len());
                continue;
            }
            self.each_page(rows.len(), |own, rows| {
                let value_count = own.read_levels(rows.len())?;
                if value_count == rows.len() {
                    return own.runs.mark(value_count, &mut marks, &mut outcome);
                }
                dense.clear();
                own.runs.mark(value_count, &mut marks, &mut dense)?;
                outcome.push_spread(&dense, &own.there);
                Some(())
            })?;
        }
        Some(outcome.finish())
    }

    /// The values of the next rows, those in `rows`, without rows that did not pass.
    pub(super) fn next(
        &mut self,
        rows: Range<usize>,
        passed: Option<&BooleanBuffer>,
    ) -> Option<ArrayRef> {
        let mut codes = Vec::with_capacity(rows.len());
        let mut are_there = Bits::default();
        for rows in chunks(rows) {
            let left = passed.map_or(rows.len(), |passed| count(passed, &rows));
            if left == 0 {
                self.skip(rows.len())?;
                continue;
            }
            self.decode(rows.len())?;
            let passed = passed.filter(|_| left < rows.len());
            let passed = passed.map(|passed| passed.slice(rows.start, rows.len()));
            add_passed(&mut codes, &self.chunk.codes, passed.as_ref(), left);
            let chunk = &self.chunk.are_there;
            match &passed {
                _ if !self.has_nulls => {}
                None => are_there.extend(chunk),
                Some(passed) => {
                    passed.set_indices().for_each(|row| are_there.push(chunk.get(row, 1), 1));
                }
            }
        }
        let nulls = self.has_nulls.then(|| NullBuffer::new(are_there.finish()));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if let Values::TextsOfRows(texts) = &self.values {
            return texts.coded(&codes, nulls);
        }
        let codes = Int32Array::try_new(codes.into(), nulls).ok()?;
        let array = DictionaryArray::try_new(codes, Arc::clone(self.values()?));
        array.ok().map(|array| Arc::new(array) as ArrayRef)
    }

    /// Decodes the codes of rows into the chunk.
    fn decode(&mut self, row_count: usize) -> Option<()> {
        self.chunk.codes.resize(row_count, 0);
        self.chunk.are_there.clear();
        self.each_page(row_count, |own, rows| {
            let value_count = own.read_levels(rows.len())?;
            let Chunk { codes, are_there, packed } = &mut own.chunk;
            are_there.extend(&own.there);
            let codes = &mut codes[rows];
            if value_count == codes.len() {
                return own.runs.read(codes);
            }
            // One more than there are: a row without a value looks at the next one's.
            packed.resize(packed.len().max(value_count + 1), 0);
            own.runs.read(&mut packed[..value_count])?;
            let mut next = 0;
            for (row, code) in codes.iter_mut().enumerate() {
                *code = packed[next];
                next += own.there.get(row, 1) as usize;
            }
            Some(())
        })
    }

    /// Reads which of the next rows of the page have a value. Returns how many.
    fn read_levels(&mut self, row_count: usize) -> Option<usize> {
        self.there.clear();
        if !self.has_nulls {
            return Some(row_count);
        }
        self.levels.mark(row_count, &mut self.is_there, &mut self.there)?;
        Some(self.there.ones())
    }

    fn skip(&mut self, row_count: usize) -> Option<()> {
        self.each_page(row_count, |own, rows| {
            let value_count = own.read_levels(rows.len())?;
            own.runs.skip(value_count)
        })
    }

    /// Reads the next rows, those of each page by itself.
    #[inline]
    fn each_page(
        &mut self,
        row_count: usize,
        mut read: impl FnMut(&mut Self, Range<usize>) -> Option<()>,
    ) -> Option<()> {
        let mut done = 0;
        while done < row_count {
            let count = self.here(row_count - done)?;
            read(self, done..done + count)?;
            done += count;
        }
        Some(())
    }

    /// How many of so many rows are in the current page, of which they are the next.
    fn here(&mut self, wanted: usize) -> Option<usize> {
        while self.left == 0 {
            let page = guarded("part", || self.pages.get_next_page()).ok()??;
            let (levels, codes, row_count) = self.parts_of(page)?;
            // A page without any value may lack even the size of a code.
            self.runs = match codes.is_empty() {
                true => Runs::default(),
                false if self.is_boolean => Runs::of_booleans(codes),
                false => Runs::new(codes)?,
            };
            self.levels = Runs::of_levels(levels, self.level);
            self.left = row_count;
        }
        let count = wanted.min(self.left);
        self.left -= count;
        Some(count)
    }

    /// The levels and the codes of a page, and the number of its rows.
    fn parts_of(&self, page: Page) -> Option<(Bytes, Bytes, usize)> {
        match page {
            Page::DataPage { buf, num_values, .. } if self.level > 0 => {
                let size = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                let start = size.checked_add(4).filter(|start| *start <= buf.len())?;
                Some((buf.slice(4..start), buf.slice(start..), num_values as usize))
            }
            Page::DataPage { buf, num_values, .. } => {
                Some((Bytes::new(), buf, num_values as usize))
            }
            Page::DataPageV2 {
                buf, num_values, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let levels = rep_levels_byte_len as usize;
                let start = levels.checked_add(def_levels_byte_len as usize)?;
                let is_whole = start <= buf.len();
                is_whole
                    .then(|| (buf.slice(levels..start), buf.slice(start..), num_values as usize))
            }
            Page::DictionaryPage { .. } => None,
        }
    }
}

/// Adds those of a chunk that passed, which are so many.
fn add_passed(all: &mut Vec<i32>, chunk: &[i32], passed: Option<&BooleanBuffer>, left: usize) {
    match passed {
        None => all.extend_from_slice(chunk),
        Some(passed) if left > chunk.len() / 2 => {
            passed.set_slices().for_each(|(start, end)| all.extend_from_slice(&chunk[start..end]));
        }
        Some(passed) => all.extend(passed.set_indices().map(|row| chunk[row])),
    }
}

/// A range of rows in chunks.
fn chunks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(CHUNK).map(move |start| start..end.min(start + CHUNK))
}

fn count(passed: &BooleanBuffer, rows: &Range<usize>) -> usize {
    passed.slice(rows.start, rows.len()).count_set_bits()
}

/// The values of a dictionary page, as the other reader makes them; `None` for values of other types.
fn values_of(page: Bytes, count: usize, stored: Type, ty: &ColumnType) -> Option<Values> {
    let bytes = &page[..];
    let array = match (stored, ty) {
        (Type::INT32, ColumnType::Int32) => {
            primitive::<Int32Type, 4>(bytes, i32::from_le_bytes, ty)
        }
        (Type::INT32, ColumnType::Int16) => {
            primitive::<Int16Type, 4>(bytes, |own| i32::from_le_bytes(own) as i16, ty)
        }
        (Type::INT32, ColumnType::Date) => {
            primitive::<Date32Type, 4>(bytes, i32::from_le_bytes, ty)
        }
        (Type::INT64, ColumnType::Int64) => {
            primitive::<Int64Type, 8>(bytes, i64::from_le_bytes, ty)
        }
        (Type::INT64, ColumnType::Timestamp { .. }) => {
            primitive::<TimestampMicrosecondType, 8>(bytes, i64::from_le_bytes, ty)
        }
        (Type::DOUBLE, ColumnType::Float64) => {
            primitive::<Float64Type, 8>(bytes, f64::from_le_bytes, ty)
        }
        (Type::INT32, ColumnType::Decimal { .. }) => {
            primitive::<Decimal64Type, 4>(bytes, |own| i32::from_le_bytes(own).into(), ty)
        }
        (Type::INT64, ColumnType::Decimal { .. }) => {
            primitive::<Decimal64Type, 8>(bytes, i64::from_le_bytes, ty)
        }
        (Type::BYTE_ARRAY, ColumnType::Text) => return Some(Values::Texts(page, count)),
        _ => None,
    };
    array.map(Values::Array)
}

fn primitive<T: ArrowPrimitiveType, const SIZE: usize>(
    bytes: &[u8],
    value: impl Fn([u8; SIZE]) -> T::Native,
    ty: &ColumnType,
) -> Option<ArrayRef> {
    let ty = match *ty {
        ColumnType::Decimal { precision, .. } if precision > DECIMAL64_MAX_PRECISION => {
            return None;
        }
        ColumnType::Decimal { precision, scale } => DataType::Decimal64(precision, scale),
        _ => ty.to_arrow(),
    };
    let values = bytes.as_chunks::<SIZE>().0.iter().map(|own| value(*own));
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values(values).with_data_type(ty)))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};
    use arrow_buffer::NullBuffer;
    use arrow_schema::Field;
    use arrow_select::nullif::nullif;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;
    use crate::format::parquet::part::dictionaries::plain;

    /// Numbers from a seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, count: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % count
        }
    }

    /// A file with a column, in pages of some thousand rows.
    fn file(column: &ArrayRef, version: WriterVersion) -> Bytes {
        let batch = RecordBatch::try_from_iter_with_nullable([(
            "c",
            Arc::clone(column),
            version == WriterVersion::PARQUET_1_0 || column.null_count() > 0,
        )]);
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_data_page_row_count_limit(3_001)
            .set_write_batch_size(509)
            .build();
        let batch = batch.unwrap();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap().into()
    }

    fn codes(file: &Bytes, ty: &ColumnType) -> Option<Codes> {
        let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).unwrap();
        let group = metadata.metadata().row_group(0);
        let row_count = usize::try_from(group.num_rows()).unwrap();
        Codes::new(FileBytes::Mapped(file.clone()), group.column(0), ty, row_count)
    }

    /// Integers, of which there are about so many, in runs and mixed.
    fn integers(random: &mut Random, distinct: u64, count: usize) -> Vec<i64> {
        let mut values = Vec::new();
        while values.len() < count {
            let length = if random.below(3) == 0 { random.below(70) } else { 1 };
            let value = random.below(distinct) as i64 * 7 - 50;
            values.extend((0..length).map(|_| value));
        }
        values.truncate(count);
        values
    }

    fn mask(random: &mut Random, count: usize) -> BooleanBuffer {
        // Some stretches have none, some have all.
        let mut density = 0;
        (0..count)
            .map(|row| {
                if row % 700 == 0 {
                    density = [0, 1, 30, 100][random.below(4) as usize];
                }
                random.below(100) < density
            })
            .collect()
    }

    #[test]
    fn rows_are_those_that_were_written() {
        let mut random = Random(5);
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for distinct in [1, 2, 3, 9, 60, 500, 3_000, 40_000, 70_000] {
                let values = integers(&mut random, distinct, 20_011);
                let column: ArrayRef = Arc::new(Int64Array::from(values.clone()));
                let texts = values.iter().map(|value| format!("né {value}"));
                let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
                // All of one size.
                let even = values.iter().map(|value| format!("{value:09}"));
                let even: ArrayRef = Arc::new(StringArray::from_iter_values(even));
                let are_there = mask(&mut random, values.len());
                for (column, ty) in [
                    (&column, ColumnType::Int64),
                    (&texts, ColumnType::Text),
                    (&even, ColumnType::Text),
                ] {
                    check(&mut random, column, &ty, version);
                    let nulls = BooleanArray::new(!&are_there, None);
                    let with_nulls = nullif(column, &nulls).unwrap();
                    check(&mut random, &with_nulls, &ty, version);
                    check_member(&with_nulls, &ty, &mask(&mut random, column.len()));
                }
            }
            let nothing: ArrayRef = Arc::new(Int64Array::from(vec![None; 7_000]));
            check(&mut random, &nothing, &ColumnType::Int64, version);
        }
    }

    /// Reads a column back, in pieces, whole and without some rows, and tests it.
    fn check(random: &mut Random, column: &ArrayRef, ty: &ColumnType, version: WriterVersion) {
        let file = file(column, version);
        let passed = mask(random, column.len());
        for (passed, is_by_row) in
            [(None, false), (Some(&passed), false), (None, true), (Some(&passed), true)]
        {
            let mut own = codes(&file, ty).unwrap();
            if is_by_row {
                own = own.of_rows(0).unwrap();
                assert_eq!(matches!(own.values, Values::TextsOfRows(..)), *ty == ColumnType::Text);
            }
            let mut at = 0;
            while at < column.len() {
                let end = (at + 1 + random.below(5_000) as usize).min(column.len());
                let rows = plain(&own.next(at..end, passed).unwrap());
                let expected = column.slice(at, end - at);
                let expected = match passed {
                    None => expected,
                    Some(passed) => {
                        let passed = BooleanArray::new(passed.slice(at, end - at), None);
                        arrow_select::filter::filter(&expected, &passed).unwrap()
                    }
                };
                assert_eq!(&rows, &expected, "{at}..{end} of {ty:?}");
                at = end;
            }
            assert!(own.next(at..at + 1, None).is_none(), "rows beyond the end");
            let mut own = codes(&file, ty).unwrap();
            let marked: BooleanBuffer =
                (0..own.values().unwrap().len()).map(|_| random.below(3) == 0).collect();
            let texts = |array: &ArrayRef| format!("{:?}", plain(array));
            let outcome = own.passes(&marked, passed, column.len()).unwrap();
            let mut again = codes(&file, ty).unwrap();
            let whole = again.next(0..column.len(), None).unwrap();
            let keys = match whole.as_any_dictionary().values().is_empty() {
                true => vec![0; column.len()],
                false => whole.as_any_dictionary().normalized_keys(),
            };
            for (row, key) in keys.into_iter().enumerate() {
                if passed.is_none_or(|passed| passed.value(row)) {
                    let expected = column.is_valid(row) && marked.value(key);
                    assert_eq!(outcome.value(row), expected, "{row} of {}", texts(column));
                }
            }
        }
    }

    /// Reads a column back that is a member of structs, of which these are not null.
    fn check_member(column: &ArrayRef, ty: &ColumnType, are_there: &BooleanBuffer) {
        let field = Field::new("m", column.data_type().clone(), true);
        let nulls = NullBuffer::new(are_there.clone());
        let structs = StructArray::new(vec![field].into(), vec![Arc::clone(column)], Some(nulls));
        let mut own =
            codes(&file(&(Arc::new(structs) as ArrayRef), WriterVersion::PARQUET_1_0), ty).unwrap();
        let rows = plain(&own.next(0..column.len(), None).unwrap());
        let expected = nullif(column, &BooleanArray::new(!are_there, None)).unwrap();
        assert_eq!(&rows, &expected, "a member of structs, {ty:?}");
    }

    #[test]
    fn columns_of_other_types_are_left_to_the_other_reader() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1]));
        let file = file(&column, WriterVersion::PARQUET_1_0);
        assert!(codes(&file, &ColumnType::Int64).is_some());
        assert!(codes(&file, &ColumnType::Text).is_none(), "another type");
    }

    #[test]
    fn damaged_runs_end_without_a_panic() {
        let mut random = Random(9);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.below(40)).map(|_| random.below(256) as u8).collect();
            let mut out = [0; 50];
            if let Some(mut runs) = Runs::new(bytes.into()) {
                // A run may claim any length.
                let _ = (0..100).try_for_each(|_| runs.read(&mut out));
                let _ = runs.skip(1 << 20);
            }
        }
    }
}
