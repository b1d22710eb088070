//! Reads records one column at a time.
//!
//! ```text
//! walk      step over the fields of every record; note where the wanted values start
//! decode    for each column: all its values, one after another, by one loop for its type
//! ```
//!
//! The walk decides nothing about types, and the loops decide little else, so both are short. The
//! loads of a decode loop do not depend on each other, as those of a walk do. Errors are not
//! located here: a batch with a value that does not fit is undone and read record by record, which
//! finds the first error.

use crate::binary::{Cursor, short_end, value_end, var_uint};
use crate::shred::column::{Column, StructColumn};
use crate::text::Context;
use std::collections::HashSet;

/// The position of a field that a record lacks.
const MISSING: u32 = u32::MAX;

/// Keeps the positions of one record's fields from being a multiple of 4,096 bytes apart:
/// processors first take such addresses for the same one.
const PADDING: usize = 24;

/// First bytes below this are padding.
const NULL_NULL: u8 = 0x0f;

impl StructColumn {
    /// Reads the records that end at `ends`, up to `target` or to the first that is not a plain
    /// record.
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

    /// Notes the positions of the wanted fields in the records that end at `ends`. Returns how many
    /// records were walked.
    ///
    /// The records' headers also give the ends. Known ends let the processor start on the next
    /// record while it waits for the fields of the current one.
    fn walk(&self, bytes: &[u8], start: usize, ends: &[u32], places: &mut [u32]) -> usize {
        let stride = ends.len() + PADDING;
        let start_of = |row: usize| row.checked_sub(1).map_or(start, |last| ends[last] as usize);
        let mut path = Path::default();
        let mut row = 0;
        while row < ends.len() {
            let record = &bytes[start_of(row)..ends[row] as usize];
            if row == 0 {
                path = self.path(record, stride).unwrap_or_default();
            }
            // Empty if no field is wanted.
            let places = places.get_mut(row..).unwrap_or_default();
            let followed = path.follow(bytes, start_of(row), &ends[row..], places);
            if followed == 0 && self.walk_other(record, start_of(row), places, stride).is_none() {
                places.iter_mut().step_by(stride).for_each(|place| *place = MISSING);
                return row;
            }
            row += followed.max(1);
        }
        ends.len()
    }

    /// Notes the positions of the wanted fields of the record at `start`, each at a multiple of
    /// `stride`. `None` if it is not a plain record, or is broken.
    #[inline(never)]
    fn walk_other(
        &self,
        record: &[u8],
        start: usize,
        places: &mut [u32],
        stride: usize,
    ) -> Option<()> {
        places.iter_mut().step_by(stride).for_each(|place| *place = MISSING);
        let mut at = content(record, 0)?;
        let mut seen = 0;
        while seen < self.fields.len() && at < record.len() {
            let (number, value) = var_uint(record, at)?;
            let target = *self.numbers.get(number)?;
            let first = *record.get(value)?;
            at = value_end(record, value)?;
            if target != 0 && first >= NULL_NULL {
                let place = &mut places[(target as usize - 1) * stride];
                // If two fields have the same name, the first counts.
                if *place == MISSING {
                    *place = (start + value) as u32;
                    seen += 1;
                }
            }
        }
        Some(())
    }

    /// The field sequence of `record` up to the last wanted field. Most later records have the same
    /// sequence.
    fn path(&self, record: &[u8], stride: usize) -> Option<Path> {
        let mut at = content(record, 0)?;
        let (mut steps, mut taken) = (Vec::new(), HashSet::new());
        while taken.len() < self.fields.len() && at < record.len() {
            let (number, value) = var_uint(record, at)?;
            let field = self.numbers.get(number)?.checked_sub(1).map(|field| field as usize);
            if value != at + 1 || field.is_some_and(|field| !taken.insert(field)) {
                return None;
            }
            steps.push(Step { number: record[at], field: field.map(|field| field * stride) });
            at = value_end(record, value)?;
        }
        Some(Path { steps, is_whole: taken.len() < self.fields.len() })
    }
}

/// The fields of a record up to the last one wanted.
#[derive(Default)]
struct Path {
    steps: Vec<Step>,
    /// Whether the record ends after these fields, because it lacks some of the wanted ones.
    is_whole: bool,
}

struct Step {
    /// The encoded number of the field.
    number: u8,
    /// The start of its positions, if it is wanted.
    field: Option<usize>,
}

impl Path {
    /// Notes the positions of the wanted fields in the records that end at `ends`. Returns how many
    /// records were walked: up to the first with another field sequence.
    #[inline(never)]
    fn follow(&self, bytes: &[u8], mut start: usize, ends: &[u32], places: &mut [u32]) -> usize {
        if self.steps.is_empty() {
            return 0;
        }
        for (row, end) in ends.iter().enumerate() {
            let end = *end as usize;
            let Some(mut at) = content(bytes, start) else { return row };
            for step in &self.steps {
                let next = short_end(bytes, at + 1);
                let Some(next) = next.filter(|_| bytes[at] == step.number) else { return row };
                if let Some(field) = step.field {
                    places[field + row] = (at + 1) as u32;
                }
                at = next;
            }
            if at > end || (self.is_whole && at < end) {
                return row;
            }
            start = end;
        }
        ends.len()
    }
}

/// Where the fields of the record at `at` start, if it is a plain one.
#[inline(always)]
fn content(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        0xde if *bytes.get(at + 1)? >= 0x80 => Some(at + 2),
        0xde => Some(var_uint(bytes, at + 1)?.1),
        0xd0 | 0xd2..=0xdd => Some(at + 1),
        _ => None,
    }
}

impl Column {
    /// Reads the values at `places`. `None`, with nothing read, if one of them is wrong.
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
