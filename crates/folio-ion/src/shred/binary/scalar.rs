//! Short scalars whose encoded type is the one that their column expects.
//!
//! Each is read from the sixteen bytes at its type byte, without a loop. The general path handles
//! the rest: the last bytes of a block, long numbers, unusual encodings, other types.

use crate::shred::column::{Column, Data, MASKS, Text};
use crate::shred::element::fits_signed;
use crate::shred::number::{POWERS, month_is_long};
use crate::shred::schema::Type;
use crate::value::days_from_civil;

// Type codes.
const POSITIVE_INT: u8 = 2;
const NEGATIVE_INT: u8 = 3;
const DECIMAL: u8 = 5;
const TIMESTAMP: u8 = 6;
const STRING: u8 = 8;

/// Every byte's high bit: clear in ASCII.
const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);

/// The parts of the first bytes of a value of at most 127 bytes.
struct Short<'a> {
    head: &'a [u8; 16],
    kind: u8,
    /// Where the content starts within `head`.
    start: usize,
    /// Length of the content in bytes.
    length: usize,
}

impl Short<'_> {
    #[inline(always)]
    fn at(bytes: &[u8], at: usize) -> Option<Short<'_>> {
        let head = bytes.get(at..)?.first_chunk::<16>()?;
        let nibble = usize::from(head[0] & 15);
        let (start, length) = match nibble {
            14 if head[1] >= 0x80 => (2, usize::from(head[1] & 0x7f)),
            0..=13 => (1, nibble),
            _ => return None,
        };
        Some(Short { head, kind: head[0] >> 4, start, length })
    }

    #[inline(always)]
    fn size(&self) -> usize {
        self.start + self.length
    }

    /// An integer that fits `bits` bits.
    #[inline(always)]
    fn int(&self, bits: u8) -> Option<i64> {
        if self.length == 0 || self.length > 7 {
            return (self.length == 0 && self.kind == POSITIVE_INT).then_some(0);
        }
        let magnitude = (word(self.head, self.start) >> (64 - 8 * self.length)) as i64;
        let value = match self.kind {
            POSITIVE_INT => magnitude,
            // A negative zero is an error, which the general path reports.
            NEGATIVE_INT if magnitude != 0 => -magnitude,
            _ => return None,
        };
        (bits == 64 || fits_signed(value, bits)).then_some(value)
    }

    #[inline(always)]
    fn float(&self) -> Option<f64> {
        (self.head[0] == 0x48).then(|| f64::from_bits(word(self.head, self.start)))
    }

    /// A decimal of up to seven bytes after a one-byte exponent, in units of `10^-scale`.
    #[inline(always)]
    fn decimal(&self, precision: u8, scale: u8) -> Option<i64> {
        let exponent = self.head[self.start];
        if self.kind != DECIMAL || exponent < 0x80 || !(1..=8).contains(&self.length) {
            return None;
        }
        let magnitude = i32::from(exponent & 0x3f);
        let exponent = if exponent & 0x40 == 0 { magnitude } else { -magnitude };
        let shift = u32::try_from(exponent + i32::from(scale)).ok()?;
        let coefficient = word(self.head, self.start + 1);
        let (value, negative) = match self.length {
            1 => (0, false),
            length => ((coefficient << 1 >> 1) >> (72 - 8 * length), coefficient >> 63 == 1),
        };
        let units = (value as i64).checked_mul(*POWERS.get(shift as usize)?)?;
        let fits = units < *POWERS.get(usize::from(precision))?;
        fits.then_some(if negative { -units } else { units })
    }

    #[inline(always)]
    fn timestamp(&self, bytes: &[u8], at: usize) -> Option<i64> {
        match self.kind {
            TIMESTAMP => timestamp(bytes.get(at + self.start..at + self.size())?),
            _ => None,
        }
    }

    #[inline(always)]
    fn push_text(&self, bytes: &[u8], at: usize, text: &mut Text) -> Option<()> {
        if self.kind != STRING {
            return None;
        }
        let content = bytes.get(at + self.start..at + self.size())?;
        if self.length > Text::INLINE {
            std::str::from_utf8(content).ok()?;
            text.push(content);
            return Some(());
        }
        let head = u128::from_le_bytes(*self.head) >> (8 * self.start);
        if head & MASKS[self.length] & HIGH_BITS != 0 {
            std::str::from_utf8(content).ok()?;
        }
        text.push_inline(head, self.length);
        Some(())
    }
}

impl Column {
    /// Appends the value at byte `at`. Returns its end, which is at most `limit`; `None` if it
    /// needs the general path.
    #[inline(always)]
    pub(super) fn read_scalar(&mut self, bytes: &[u8], at: usize, limit: usize) -> Option<usize> {
        if let (Data::Bool(values), Some(byte @ (0x10 | 0x11))) = (&mut self.data, bytes.get(at)) {
            values.push(byte & 1);
            return Some(at + 1);
        }
        let short = Short::at(bytes, at)?;
        let end = at + short.size();
        if end > limit {
            return None;
        }
        match (&mut self.data, &self.column_type) {
            (Data::Int(values), Type::Int(bits)) => values.push(short.int(*bits)?),
            (Data::Float(values), _) => values.push(short.float()?),
            (Data::Text(text), Type::String) => short.push_text(bytes, at, text)?,
            (Data::Decimal(values), Type::Decimal { precision, scale }) => {
                values.push(short.decimal(*precision, *scale)?);
            }
            (Data::Timestamp(values), _) => values.push(short.timestamp(bytes, at)?),
            _ => return None,
        }
        Some(end)
    }

    /// Appends the values at `places`, which end within `bytes`, up to the first that needs the
    /// general path.
    pub(super) fn read_scalars(&mut self, bytes: &[u8], places: &[u32]) {
        match (&mut self.data, &self.column_type) {
            (Data::Bool(values), _) => {
                let bytes = places.iter().map(|place| bytes.get(*place as usize));
                values.extend(bytes.map_while(|byte| match byte {
                    Some(byte @ (0x10 | 0x11)) => Some(byte & 1),
                    _ => None,
                }));
            }
            (Data::Int(values), Type::Int(bits)) => {
                extend(values, bytes, places, |short, _| short.int(*bits));
            }
            (Data::Float(values), _) => extend(values, bytes, places, |short, _| short.float()),
            (Data::Decimal(values), Type::Decimal { precision, scale }) => {
                let (precision, scale) = (*precision, *scale);
                extend(values, bytes, places, move |short, _| short.decimal(precision, scale));
            }
            (Data::Timestamp(values), _) => {
                extend(values, bytes, places, |short, at| short.timestamp(bytes, at));
            }
            (Data::Text(text), Type::String) => {
                for place in places {
                    let at = *place as usize;
                    let head = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>());
                    if head.is_some_and(|head| push_word(head, text)) {
                        continue;
                    }
                    let read = Short::at(bytes, at).and_then(|it| it.push_text(bytes, at, text));
                    if read.is_none() {
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Appends the string at the start of `head`, if it is short enough to store inline and is ASCII.
#[inline(always)]
fn push_word(head: &[u8; 16], text: &mut Text) -> bool {
    let length = usize::from(head[0].wrapping_sub(STRING << 4));
    let content = u128::from_le_bytes(*head) >> 8;
    let is_word = MASKS.get(length).is_some_and(|mask| content & mask & HIGH_BITS == 0);
    if is_word {
        text.push_inline(content, length);
    }
    is_word
}

/// Values for which room is made at once. More would be wasted if many need the general path.
const ROOM: usize = 64;

/// Appends the decoded values at `places`, up to the first that `decode` rejects.
#[inline(always)]
fn extend<T: Copy + Default>(
    values: &mut Vec<T>,
    bytes: &[u8],
    places: &[u32],
    decode: impl Fn(&Short<'_>, usize) -> Option<T>,
) {
    // Makes room first: a check for every value would cost more than the value.
    for places in places.chunks(ROOM) {
        let start = values.len();
        values.resize(start + places.len(), T::default());
        let fill = values[start..].iter_mut().zip(places).position(|(value, place)| {
            let at = *place as usize;
            let read = Short::at(bytes, at).and_then(|short| decode(&short, at));
            *value = read.unwrap_or_default();
            read.is_none()
        });
        if let Some(read) = fill {
            return values.truncate(start + read);
        }
    }
}

/// The eight bytes from `start` on (at most three), most significant first.
#[inline(always)]
fn word(head: &[u8; 16], start: usize) -> u64 {
    let start = start & 3;
    let mut word = [0; 8];
    word.copy_from_slice(&head[start..start + 8]);
    u64::from_be_bytes(word)
}

/// A timestamp to the second or to a fraction of up to six digits, in microseconds since the epoch.
#[inline(always)]
fn timestamp(content: &[u8]) -> Option<i64> {
    // The offset takes one or two bytes, the year two, and five fields one each.
    let offset = usize::from(*content.first()? < 0x80);
    let fields = content.get(1 + offset..)?;
    let head = fields.first_chunk::<7>()?;
    if head[0] >= 0x80 || head[1..].iter().any(|byte| *byte < 0x80) {
        return None;
    }
    let year = i64::from(head[0]) << 7 | i64::from(head[1] & 0x7f);
    let [month, day, hour, minute, second] = [2, 3, 4, 5, 6].map(|at| head[at] & 0x7f);
    // The first and last years may leave the calendar in local time.
    let plain = (2..=9_998).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (day < 29 || (month != 2 && (day < 31 || month_is_long(month))))
        && hour < 24
        && minute < 60
        && second < 60;
    if !plain || (offset == 1 && (content[1] < 0x80 || content[0] & 0x3f > 10)) {
        return None;
    }
    let micros = fraction(&fields[7..])?;
    let days = days_from_civil(year, month, day);
    let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    Some((days * 86_400 + seconds) * 1_000_000 + micros)
}

#[inline(always)]
fn fraction(content: &[u8]) -> Option<i64> {
    let Some((&exponent, coefficient)) = content.split_first() else { return Some(0) };
    let digits = usize::from(exponent & 0x3f);
    if exponent & 0xc0 != 0xc0 || !(1..=6).contains(&digits) || coefficient.len() > 4 {
        return None;
    }
    if coefficient.first().is_some_and(|byte| byte & 0x80 != 0) {
        return None;
    }
    let value = coefficient.iter().fold(0, |value, byte| value << 8 | i64::from(*byte));
    (value < POWERS[digits]).then(|| value * POWERS[6 - digits])
}
