//! The first byte of a row: the width of its integers and of its end offsets.
//!
//! Most integers are small and most rows short. All integers of a row have the smallest width that
//! fits every one of them, and all end offsets the smallest that fits the largest. So for each of
//! the few headers a column is at a constant offset, and a scan reads it without reading the
//! columns before it.

use folio_types::ValueRef;

/// The first byte of values that are not rows: definitions, and row counts.
pub(crate) const PLAIN: u8 = 0;

/// The number of integer widths: 1, 2, 4 and 8 bytes.
pub(crate) const WIDTH_COUNT: usize = 4;

/// A width of 1, 2, 4 or 8 bytes, as a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Width(u8);

impl Width {
    pub(crate) const LEAST: Self = Self(0);
    pub(crate) const MOST: Self = Self(3);

    /// The smallest width for a value; a value that is not an integer needs none.
    #[inline]
    pub(crate) fn of(value: ValueRef<'_>) -> Self {
        let number = match value {
            ValueRef::Integer(number) => number,
            ValueRef::Date(days) => days.into(),
            _ => return Self::LEAST,
        };
        // The sign takes one more bit than the digits.
        let bits = 65 - (number ^ (number >> 63)).leading_zeros();
        Self(bits.div_ceil(8).next_power_of_two().trailing_zeros() as u8)
    }

    /// The smallest width for end offsets up to this one.
    pub(crate) fn of_end(end: usize) -> Self {
        match end {
            0..=0xFF => Self(0),
            0x100..=0xFFFF => Self(1),
            _ => Self(2),
        }
    }

    /// The width of a row's integers, from its first byte.
    #[inline]
    pub(crate) fn of_row(header: u8) -> Self {
        Self(header & 3)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0 & 3)
    }

    /// The stored size of an integer whose type has `size` bytes.
    #[inline]
    pub(crate) fn within(self, size: usize) -> usize {
        size.min(1 << self.0)
    }
}

/// The header of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowHeader {
    pub(crate) integers: Width,
    pub(crate) ends: Width,
}

impl RowHeader {
    /// Decodes the first byte; `None` when it does not begin a row.
    #[inline]
    pub(crate) fn of(value: &[u8]) -> Option<Self> {
        let byte = *value.first()?;
        (byte < 12).then_some(Self { integers: Width(byte & 3), ends: Width(byte >> 2) })
    }

    pub(crate) fn to_byte(self) -> u8 {
        self.integers.0 | self.ends.0 << 2
    }
}

/// Reads an integer of `width` bytes in a row whose fixed part is present.
#[inline]
pub(crate) fn integer(value: &[u8], offset: usize, width: usize) -> i64 {
    if let Some(bytes) = value.get(offset..offset + 8).and_then(<[u8]>::first_chunk) {
        let unused = 64 - 8 * width as u32;
        return i64::from_le_bytes(*bytes) << unused >> unused;
    }
    short_integer(&value[offset..offset + width])
}

/// The same near the end of a row, where eight bytes cannot be read.
pub(crate) fn short_integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i8::from_le_bytes([a]).into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_least_width_and_come_back() {
        for (number, expected) in [
            (0, 1),
            (127, 1),
            (-128, 1),
            (128, 2),
            (-129, 2),
            (32_767, 2),
            (32_768, 4),
            (i64::from(i32::MIN), 4),
            (i64::from(i32::MAX) + 1, 8),
            (i64::MIN, 8),
        ] {
            let width = Width::of(ValueRef::Integer(number)).within(8);
            assert_eq!(width, expected, "{number}");
            for after in [0, 8] {
                let mut row = vec![0xAA; 3];
                row.extend_from_slice(&number.to_le_bytes()[..width]);
                row.resize(row.len() + after, 0xAA);
                assert_eq!(integer(&row, 3, width), number);
            }
        }
    }
}
