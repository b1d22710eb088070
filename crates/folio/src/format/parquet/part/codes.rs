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
//! The levels of a page, in runs like those of codes, say which rows have a value: those whose level is
//! the highest. A member of structs has a level for each of them that may be null. Of many texts that
//! few rows have, only those are read.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType};
use bytes::Bytes;
use folio_types::ColumnType;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::guarded;
use super::super::read::FileBytes;

/// Rows that are decoded at a time.
const CHUNK: usize = 1024;

/// Codes in a group of a packed run.
const GROUP: usize = 8;

/// More bits than any code of a row group needs.
const BITS_MAX: u32 = 24;

/// The bytes of a text to make room for.
const TEXT_SIZE: usize = 32;

/// Texts are read by row where there are at least so many for each row.
const TEXTS_PER_ROW: usize = 4;

/// A column of a row group, at its next row.
pub(super) struct Codes {
    pages: SerializedPageReader<FileBytes>,
    is_boolean: bool,
    /// The level of a row with a value; 0 if pages have no levels.
    level: i32,
    has_nulls: bool,
    /// The rest of the current page: which rows have a value, if some have none, and the codes of
    /// those that have.
    levels: Runs,
    runs: Runs,
    /// The rows that it has.
    left: usize,
    values: Values,
    chunk: Chunk,
}

/// Rows that are decoded.
#[derive(Default)]
struct Chunk {
    /// The code of each; any code where there is no value.
    codes: Vec<i32>,
    /// 1 for each that has a value; empty for a column without nulls.
    are_there: Vec<i32>,
    /// Codes without those of nulls.
    packed: Vec<i32>,
}

/// The different values of a column.
enum Values {
    Array(ArrayRef),
    /// Texts, each behind its size, that nobody has asked for yet.
    Texts(Bytes, usize),
    /// Texts that are read by row, and where each begins.
    TextsOfRows(Bytes, Vec<usize>),
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
        let (levels, runs, chunk) = (Runs::default(), Runs::default(), Chunk::default());
        Some(Self { pages, is_boolean, level, has_nulls, levels, runs, left: 0, values, chunk })
    }

    /// Whether a row may have no value.
    pub(super) fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// The different values; `None` for a page that is not as it was written.
    pub(super) fn values(&mut self) -> Option<&ArrayRef> {
        let made = match &self.values {
            Values::Array(_) => None,
            Values::Texts(page, count) => Some(texts(&starts(page, *count)?, page, None)?),
            Values::TextsOfRows(page, starts) => Some(texts(starts, page, None)?),
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
            self.values = Values::TextsOfRows(page.clone(), starts(page, *count)?);
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
        let mut marked: Vec<bool> = marked.iter().collect();
        if marked.is_empty() {
            marked.push(false); // all rows are null
        }
        let mut words: Vec<u64> = Vec::with_capacity(row_count.div_ceil(64));
        for rows in chunks(0..row_count) {
            if passed.is_some_and(|passed| count(passed, &rows) == 0) {
                self.skip(rows.len())?;
                words.resize(words.len() + rows.len().div_ceil(64), 0);
                continue;
            }
            self.decode(rows.len())?;
            let first = words.len();
            for codes in self.chunk.codes.chunks(64) {
                let mut word = 0;
                for (bit, code) in codes.iter().enumerate() {
                    word |= u64::from(*marked.get(*code as usize)?) << bit;
                }
                words.push(word);
            }
            for (word, are_there) in words[first..].iter_mut().zip(self.chunk.are_there.chunks(64))
            {
                *word &= bits(are_there);
            }
        }
        Some(BooleanBuffer::new(Buffer::from_vec(words), 0, row_count))
    }

    /// The values of the next rows, those in `rows`, without rows that did not pass.
    pub(super) fn next(
        &mut self,
        rows: Range<usize>,
        passed: Option<&BooleanBuffer>,
    ) -> Option<ArrayRef> {
        let mut codes = Vec::with_capacity(rows.len());
        let mut are_there = Vec::new();
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
            if self.has_nulls {
                add_passed(&mut are_there, &self.chunk.are_there, passed.as_ref(), left);
            }
        }
        let nulls = self.has_nulls.then(|| {
            let words: Vec<u64> = are_there.chunks(64).map(bits).collect();
            NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, are_there.len()))
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if let Values::TextsOfRows(page, starts) = &self.values {
            let starts = codes.iter().map(|code| starts.get(*code as usize).copied());
            return texts(&starts.collect::<Option<Vec<_>>>()?, page, nulls);
        }
        let codes = Int32Array::try_new(codes.into(), nulls).ok()?;
        let array = DictionaryArray::try_new(codes, Arc::clone(self.values()?));
        array.ok().map(|array| Arc::new(array) as ArrayRef)
    }

    /// Decodes the codes of rows into the chunk.
    fn decode(&mut self, row_count: usize) -> Option<()> {
        self.chunk.codes.resize(row_count, 0);
        let mut done = 0;
        while done < row_count {
            let count = self.here(row_count - done)?;
            let rows = done..done + count;
            done += count;
            let value_count = self.read_levels(rows.clone())?;
            let Chunk { codes, are_there, packed } = &mut self.chunk;
            let codes = &mut codes[rows.clone()];
            if value_count == count {
                self.runs.read(codes)?;
                continue;
            }
            // One more than there are: a row without a value looks at the next one's.
            packed.resize(packed.len().max(value_count + 1), 0);
            self.runs.read(&mut packed[..value_count])?;
            let mut next = 0;
            for (code, is_there) in codes.iter_mut().zip(&are_there[rows]) {
                *code = packed[next];
                next += *is_there as usize;
            }
        }
        Some(())
    }

    /// Reads which of these rows of the chunk have a value. Returns how many.
    fn read_levels(&mut self, rows: Range<usize>) -> Option<usize> {
        if !self.has_nulls {
            return Some(rows.len());
        }
        let are_there = &mut self.chunk.are_there;
        are_there.resize(rows.end, 0);
        let mut count = 0;
        let levels = &mut are_there[rows];
        self.levels.read(levels)?;
        for level in levels {
            *level = i32::from(*level == self.level);
            count += *level;
        }
        Some(count as usize)
    }

    fn skip(&mut self, row_count: usize) -> Option<()> {
        let mut done = 0;
        while done < row_count {
            let count = self.here(row_count - done)?;
            done += count;
            let value_count = self.read_levels(0..count)?;
            self.runs.skip(value_count)?;
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

/// Up to 64 zeros and ones as bits.
fn bits(are_there: &[i32]) -> u64 {
    are_there.iter().enumerate().fold(0, |bits, (at, is_there)| bits | (*is_there as u64) << at)
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

/// Where the texts of a page begin, each behind its size.
fn starts(page: &[u8], count: usize) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(count);
    let mut at = 0_usize;
    for _ in 0..count {
        let size = u32::from_le_bytes(*page.get(at..)?.first_chunk()?) as usize;
        starts.push(at + size_of::<u32>());
        at = at.checked_add(size_of::<u32>() + size)?;
    }
    (at <= page.len()).then_some(starts)
}

/// The texts that begin at these places. Those of nulls do not matter.
fn texts(starts: &[usize], page: &[u8], nulls: Option<NullBuffer>) -> Option<ArrayRef> {
    let mut texts = Vec::with_capacity(page.len().min(starts.len() * TEXT_SIZE));
    let mut ends = Vec::with_capacity(starts.len() + 1);
    ends.push(0_i32);
    for start in starts {
        let (size, text) = page.get(start - size_of::<u32>()..)?.split_first_chunk()?;
        texts.extend_from_slice(text.get(..u32::from_le_bytes(*size) as usize)?);
        ends.push(i32::try_from(texts.len()).ok()?);
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    StringArray::try_new(ends, texts.into(), nulls).ok().map(|texts| Arc::new(texts) as ArrayRef)
}

/// The codes of a page, at the next one.
#[derive(Default)]
struct Runs {
    bytes: Bytes,
    /// Where the next run begins.
    at: usize,
    /// The bits of a code.
    bits: u32,
    /// The codes that are left of the current run.
    left: usize,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    Repeated(i32),
    /// The codes begin here, and so many of them are done.
    Packed(usize, usize),
}

impl Default for Run {
    fn default() -> Self {
        Self::Repeated(0)
    }
}

impl Runs {
    fn new(bytes: Bytes) -> Option<Self> {
        let bits = u32::from(*bytes.first()?);
        (bits <= BITS_MAX).then_some(Self { bytes, at: 1, bits, left: 0, run: Run::default() })
    }

    /// A bit for each.
    fn of_booleans(bytes: Bytes) -> Self {
        let (at, left) = (bytes.len(), bytes.len() * u8::BITS as usize);
        Self { bytes, at, bits: 1, left, run: Run::Packed(0, 0) }
    }

    /// Levels up to this one.
    fn of_levels(bytes: Bytes, highest: i32) -> Self {
        Self { bytes, bits: u32::BITS - highest.leading_zeros(), ..Self::default() }
    }

    /// Reads the next codes.
    fn read(&mut self, codes: &mut [i32]) -> Option<()> {
        let mut done = 0;
        while done < codes.len() {
            let count = self.here(codes.len() - done)?;
            let codes = &mut codes[done..done + count];
            match &mut self.run {
                Run::Repeated(code) => codes.fill(*code),
                Run::Packed(start, before) => {
                    unpack(&self.bytes[*start..self.at], self.bits, *before, codes);
                    *before += count;
                }
            }
            done += count;
        }
        Some(())
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        let mut done = 0;
        while done < count {
            let count = self.here(count - done)?;
            if let Run::Packed(_, before) = &mut self.run {
                *before += count;
            }
            done += count;
        }
        Some(())
    }

    /// How many of so many codes are in the current run, of which they are the next.
    fn here(&mut self, wanted: usize) -> Option<usize> {
        while self.left == 0 {
            self.next_run()?;
        }
        let count = wanted.min(self.left);
        self.left -= count;
        Some(count)
    }

    fn next_run(&mut self) -> Option<()> {
        let head = self.head()?;
        let count = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let size = self.bits.div_ceil(u8::BITS) as usize;
            let end = self.at.checked_add(size)?;
            let own = self.bytes.get(self.at..end)?.iter().rev();
            let code = own.fold(0, |code, byte| code << u8::BITS | i32::from(*byte));
            (self.run, self.left, self.at) = (Run::Repeated(code), count, end);
        } else {
            let end = self.at.checked_add(count.checked_mul(self.bits as usize)?)?;
            // The last run of a page may lack the bytes that only pad it.
            let end = end.min(self.bytes.len());
            let whole = ((end - self.at) * 8).checked_div(self.bits as usize);
            let whole = whole.unwrap_or(usize::MAX);
            self.left = count.checked_mul(GROUP)?.min(whole);
            (self.run, self.at) = (Run::Packed(self.at, 0), end);
        }
        Some(())
    }

    /// The head of a run: seven bits in each byte, the last byte without its highest bit.
    fn head(&mut self) -> Option<u64> {
        let mut head = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            head |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(head);
            }
        }
        None
    }
}

/// Reads packed codes from the one at a position on. The bytes have all of them.
fn unpack(bytes: &[u8], bits: u32, first: usize, codes: &mut [i32]) {
    let mask = (1_u64 << bits) - 1;
    let code = |number: usize| {
        let bit = number * bits as usize;
        (word(bytes, bit / 8) >> (bit % 8) & mask) as i32
    };
    // Groups begin at whole bytes.
    let head = (first.next_multiple_of(GROUP) - first).min(codes.len());
    let (before, codes) = codes.split_at_mut(head);
    before.iter_mut().enumerate().for_each(|(at, own)| *own = code(first + at));
    let (groups, after) = codes.as_chunks_mut::<GROUP>();
    let start = first + head;
    let (half, shift) = ((4 * bits / 8) as usize, 4 * bits % 8);
    for (number, group) in groups.iter_mut().enumerate() {
        let at = (start / GROUP + number) * bits as usize;
        if bits > 15 {
            let first = start + number * GROUP;
            group.iter_mut().enumerate().for_each(|(place, own)| *own = code(first + place));
            continue;
        }
        // Four codes are in each of two words.
        let mut words = [word(bytes, at), word(bytes, at + half) >> shift];
        for place in 0..4 {
            group[place] = (words[0] & mask) as i32;
            group[place + 4] = (words[1] & mask) as i32;
            words = words.map(|word| word >> bits);
        }
    }
    let start = start + groups.len() * GROUP;
    after.iter_mut().enumerate().for_each(|(at, own)| *own = code(start + at));
}

/// Eight bytes from a position on; zeros are after the last one.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(whole) => u64::from_le_bytes(*whole),
        None => {
            let mut whole = [0; 8];
            whole[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(whole)
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch, StructArray};
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
                let are_there = mask(&mut random, values.len());
                for (column, ty) in [(&column, ColumnType::Int64), (&texts, ColumnType::Text)] {
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
