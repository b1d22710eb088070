//! The byte format of lists.
//!
//! ```text
//! form u8 │ count │ null bits │ elements
//! ```
//!
//! Most lists are short, most numbers in them small, and few have nulls. The form has the smallest
//! width that fits the integers (bits 0 and 1, as a power of two) and the count (bits 2 and 3), and
//! whether there are null bits (bit 4).

use folio_types::{ColumnType, Value};

use super::nested;
use crate::layout::{RowHeader, Width, is_integer};

const HAS_NULLS: u8 = 16;

/// A stored list.
pub(super) struct List<'v> {
    pub(super) count: usize,
    /// One bit per element, set for null; empty if no element is null.
    pub(super) nulls: &'v [u8],
    pub(super) elements: &'v [u8],
    /// The width of integers, at most their type's.
    pub(super) integers: Width,
}

impl<'v> List<'v> {
    /// `None` when the bytes are not a list.
    pub(super) fn of(bytes: &'v [u8]) -> Option<Self> {
        let (&header, rest) = bytes.split_first()?;
        let (count, rest) = match header >> 2 {
            0 | 4 => rest.split_first().map(|(&count, rest)| (usize::from(count), rest))?,
            1 | 5 => rest
                .split_first_chunk()
                .map(|(count, rest)| (usize::from(u16::from_le_bytes(*count)), rest))?,
            2 | 6 => rest
                .split_first_chunk()
                .map(|(count, rest)| (u32::from_le_bytes(*count) as usize, rest))?,
            _ => return None,
        };
        let bits = if header & HAS_NULLS == 0 { 0 } else { count.div_ceil(8) };
        let (nulls, elements) = rest.split_at_checked(bits)?;
        // Every element has at least one byte, so this bounds later allocations.
        (count <= elements.len()).then_some(Self {
            count,
            nulls,
            elements,
            integers: Width::of_row(header),
        })
    }
}

/// Appends a list.
pub(super) fn write(element: &ColumnType, values: &[Value], out: &mut Vec<u8>) {
    let integers = match is_integer(element) {
        true => values.iter().map(|value| Width::of(value.as_ref())).max(),
        false => None,
    };
    let integers = integers.unwrap_or(Width::LEAST);
    let with_nulls = values.contains(&Value::Null);
    let count = Width::of_end(values.len());
    out.push(
        RowHeader { integers, ends: count }.to_byte() | if with_nulls { HAS_NULLS } else { 0 },
    );
    out.extend_from_slice(&values.len().to_le_bytes()[..count.within(4)]);
    let elements = values.iter().map(|value| (element, value));
    nested::write_elements(elements, values.len(), integers, with_nulls, out);
}
