//! Records read a column at a time.
//!
//! ```text
//! walk      step over the fields of every record; note where the wanted values start
//! decode    for each column: all its values, one after another, by one loop for its type
//! ```
//!
//! The walk decides nothing about types, and the loops decide little else, so both are short; the
//! loads of a loop do not wait for each other, as those of a walk do. Blame is not laid here: a batch
//! in which a value does not fit is taken back and read record by record, which finds the error that
//! comes first.

use crate::binary::{Cursor, value_end, var_uint};
use crate::shred::column::{Column, StructColumn};
use crate::text::Context;

/// The place of a field that a record lacks.
const MISSING: u32 = u32::MAX;

/// Keeps the places of one record's fields from being a multiple of 4,096 bytes apart, which
/// processors take for the same place until they look closer.
const PADDING: usize = 24;

/// First bytes below this are padding.
const NULL_NULL: u8 = 0x0f;

impl StructColumn {
    /// Reads the records that end at `ends`, until something else than a plain record comes or there
    /// are `target`.
    pub(super) fn read_columns(
        &mut self,
        cursor: &mut Cursor<'_>,
        ends: &[u32],
        target: usize,
        context: Context<'_>,
    ) {
        let ends = &ends[ends.partition_point(|end| *end as usize <= cursor.at)..];
        let ends = &ends[..ends.len().min(target - self.rows)];
        let rows = self.rows;
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        let stride = ends.len() + PADDING;
        places.resize(self.fields.len() * stride, MISSING);
        let walked = self.walk(cursor.bytes, cursor.at, ends, &mut places);
        let columns = self.fields.iter_mut().zip(places.chunks_exact(stride));
        let mut read = columns
            .map(|(field, places)| field.read_places(cursor.bytes, &places[..walked], context));
        let whole = read.all(|read| read.is_some());
        self.places = places;
        if !whole {
            return self.truncate(rows);
        }
        self.rows += walked;
        if let Some(last) = walked.checked_sub(1) {
            cursor.at = ends[last] as usize;
        }
    }

    /// Notes where the wanted fields of the records that end at `ends` are, and says of how many.
    ///
    /// The ends could be read off the records' headers. That they are known lets the processor begin
    /// with the next record while it waits for the fields of this one.
    fn walk(&self, bytes: &[u8], mut start: usize, ends: &[u32], places: &mut [u32]) -> usize {
        let (wanted, stride) = (self.fields.len(), ends.len() + PADDING);
        for (row, end) in ends.iter().enumerate() {
            let end = *end as usize;
            let note = |field: usize, at: usize| {
                let place = &mut places[field * stride + row];
                // Of two fields with one name the first counts.
                let first = *place == MISSING;
                if first {
                    *place = (start + at) as u32;
                }
                first
            };
            if walk_record(&bytes[start..end], &self.numbers, wanted, note).is_none() {
                (0..wanted).for_each(|field| places[field * stride + row] = MISSING);
                return row;
            }
            start = end;
        }
        ends.len()
    }
}

/// Calls `note` with the number and the place of each field that has a number, until it has said
/// `wanted` times that it was news. Nothing if this is no plain record, or a broken one.
#[inline(always)]
fn walk_record(
    record: &[u8],
    numbers: &[u32],
    wanted: usize,
    mut note: impl FnMut(usize, usize) -> bool,
) -> Option<()> {
    let mut at = match *record.first()? {
        0xde => var_uint(record, 1)?.1,
        0xd0 | 0xd2..=0xdd => 1,
        _ => return None,
    };
    let mut seen = 0;
    while seen < wanted && at < record.len() {
        let (number, value) = var_uint(record, at)?;
        let target = *numbers.get(number)?;
        let first = *record.get(value)?;
        at = value_end(record, value)?;
        if target != 0 && first >= NULL_NULL && note(target as usize - 1, value) {
            seen += 1;
        }
    }
    Some(())
}

impl Column {
    /// Reads the values at `places`; nothing if one of them is wrong, or none.
    fn read_places(&mut self, bytes: &[u8], places: &[u32], context: Context<'_>) -> Option<()> {
        let before = self.len();
        loop {
            let done = self.len() - before;
            self.read_scalars(bytes, &places[done..]);
            let Some(place) = places.get(self.len() - before) else { return Some(()) };
            if *place == MISSING {
                self.push_null();
                continue;
            }
            let mut cursor = Cursor::new(bytes, *place as usize, true);
            let read = self.read_binary(&mut cursor, bytes.len(), context, 1);
            read.ok().filter(|is_value| *is_value)?;
        }
    }
}
