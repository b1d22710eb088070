//! Writes JSON in pieces of constant size.
//!
//! Most parts of a JSON row are short: member names, numbers, words. Copying a variable number of
//! bytes is a call each time; copying 16 or 32 bytes, of which some count, is a few instructions.
//! So there is always room after the written text, and the next piece overwrites the surplus bytes
//! of the last.

use folio_types::temporal::{DAY, SECOND, civil, format_timestamp};

use crate::string::push_json_string;

/// Bytes of text that are copied and checked together.
const CHUNK: usize = 16;

/// Bytes of room made at once: few enough to be written twice.
const ROOM: usize = 32 << 10;

/// The same at the beginning.
const ROOM_MIN: usize = 512;

/// Bytes of a short piece.
const SHORT: usize = 32;

/// Length of the longest integer.
const NUMBER_MAX: usize = 20;

/// Text that is written repeatedly.
pub struct Piece {
    short: [u8; SHORT],
    size: usize,
    /// The whole text, if it is not short.
    long: Vec<u8>,
}

impl Piece {
    /// A piece of this text.
    pub fn new(text: &str) -> Self {
        let mut short = [0; SHORT];
        let bytes = text.as_bytes();
        match short.get_mut(..bytes.len()) {
            Some(start) => {
                start.copy_from_slice(bytes);
                Self { short, size: bytes.len(), long: Vec::new() }
            }
            None => Self { short, size: 0, long: bytes.to_vec() },
        }
    }
}

/// The last date and time written. Consecutive rows often have the same moment or the same day.
struct Moment {
    of: Option<(i64, bool)>,
    day: i64,
    /// The bytes up to `size` count.
    text: [u8; MOMENT_MAX],
    size: usize,
}

/// Size of the longest date and time with a four-digit year.
const MOMENT_MAX: usize = "\"0000-00-00T00:00:00.000000Z\"".len();

impl Moment {
    const fn none() -> Self {
        let text = *b"\"1970-01-01T00:00:00.000000Z\"";
        Self { of: None, day: 0, text, size: MOMENT_MAX }
    }

    /// Formats another one. `false`, with nothing written, if its year does not have four digits.
    fn write(&mut self, timestamp: i64, utc: bool) -> bool {
        let (day, time) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
        if day != self.day && !self.write_day(day) {
            return false;
        }
        let (seconds, mut micros) = (time / SECOND, time % SECOND);
        let text = &mut self.text;
        two_digits(text, 12, seconds / 3600);
        two_digits(text, 15, seconds / 60 % 60);
        two_digits(text, 18, seconds % 60);
        let mut end = 20;
        if micros > 0 {
            text[20] = b'.';
            [25, 23, 21].iter().for_each(|at| {
                two_digits(text, *at, micros);
                micros /= 100;
            });
            end = 27;
            while text[end - 1] == b'0' {
                end -= 1;
            }
        }
        if utc {
            text[end] = b'Z';
            end += 1;
        }
        text[end] = b'"';
        (self.of, self.size) = (Some((timestamp, utc)), end + 1);
        true
    }

    fn write_day(&mut self, number: i64) -> bool {
        let (year, month, day) = civil(number);
        if !(0..=9999).contains(&year) {
            return false;
        }
        let text = &mut self.text;
        two_digits(text, 1, i64::from(year) / 100);
        two_digits(text, 3, i64::from(year));
        two_digits(text, 6, i64::from(month));
        two_digits(text, 9, i64::from(day));
        self.day = number;
        true
    }
}

/// JSON text being written at the end of a buffer.
pub struct JsonText<'o> {
    /// Bytes up to `size` count; those after it are room.
    bytes: &'o mut Vec<u8>,
    size: usize,
    moment: Moment,
}

impl<'o> JsonText<'o> {
    /// Appends to the content of a buffer.
    #[inline]
    pub fn after(bytes: &'o mut Vec<u8>) -> Self {
        let size = bytes.len();
        Self { bytes, size, moment: Moment::none() }
    }

    /// The number of bytes so far.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes room for about `size` more bytes, so that the text is not moved as it grows.
    #[inline]
    pub fn expect(&mut self, size: usize) {
        self.bytes.reserve((self.size + size).saturating_sub(self.bytes.len()));
    }

    /// Releases the room.
    #[inline]
    pub fn finish(self) {
        self.bytes.truncate(self.size);
    }

    #[inline]
    fn room(&mut self, size: usize) {
        if self.bytes.len() < self.size + size {
            self.grow(size);
        }
    }

    #[cold]
    fn grow(&mut self, size: usize) {
        // Making room for one short row must not cost more than the row.
        let room = self.size.clamp(ROOM_MIN, ROOM);
        self.bytes.resize(self.size + size + room, 0);
    }

    /// Appends the first `size` of these bytes.
    #[inline]
    fn short<const N: usize>(&mut self, bytes: &[u8; N], size: usize) {
        self.room(N);
        self.bytes[self.size..self.size + N].copy_from_slice(bytes);
        self.size += size;
    }

    /// Appends bytes that are JSON.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.bytes[self.size..self.size + bytes.len()].copy_from_slice(bytes);
        self.size += bytes.len();
    }

    /// Appends one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.short(&[byte], 1);
    }

    /// Appends a piece.
    #[inline]
    pub fn piece(&mut self, piece: &Piece) {
        self.short(&piece.short, piece.size);
        if !piece.long.is_empty() {
            self.push(&piece.long);
        }
    }

    /// Appends a string from a buffer of adjacent texts: `text` is at `start` in `data`.
    #[inline]
    pub fn string(&mut self, text: &str, data: &[u8], start: usize) {
        let size = text.len();
        self.room(size + CHUNK + 2);
        self.bytes[self.size] = b'"';
        let begin = self.size + 1;
        let (mut at, mut needs_escape) = (0, false);
        while at < size {
            let target = &mut self.bytes[begin + at..begin + at + CHUNK];
            let rest = &data[start + at..];
            if let Some(chunk) = rest.first_chunk::<CHUNK>() {
                // At worst, a following text causes an unneeded second check.
                target.copy_from_slice(chunk);
                needs_escape |= chunk.iter().fold(false, |found, byte| found | is_special(*byte));
            } else {
                target[..rest.len()].copy_from_slice(rest);
                needs_escape |= rest.iter().any(|byte| is_special(*byte));
            }
            at += CHUNK;
        }
        if needs_escape {
            return self.escaped(text);
        }
        self.size = begin + size;
        self.byte(b'"');
    }

    /// Appends a string with any content.
    #[inline]
    pub fn escaped(&mut self, text: &str) {
        let mut quoted = Vec::with_capacity(text.len() + 2);
        push_json_string(text, &mut quoted);
        self.push(&quoted);
    }

    /// `N` bytes of the room, to write a piece in place. A piece that is assembled elsewhere and
    /// then copied would wait until its single bytes have arrived in memory.
    #[inline]
    fn place<const N: usize>(&mut self) -> &mut [u8; N] {
        self.room(N);
        self.bytes[self.size..].first_chunk_mut().expect("room was made")
    }

    /// Appends an integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        let (digits, is_negative) = (value.unsigned_abs(), value < 0);
        let place: &mut [u8; NUMBER_MAX] = self.place();
        place[0] = b'-';
        let start = usize::from(is_negative);
        let size = start + digit_count(digits);
        write_digits(&mut place[start..size], digits);
        self.size += size;
    }

    /// Appends a float with few decimal places; `false`, with nothing written, for any other.
    ///
    /// Fifteen digits identify a float. If an integer of at most that many digits, divided by a
    /// power of ten, gives the value (both are exact, and division rounds once), its digits are the
    /// shortest possible.
    #[inline]
    pub fn short_float(&mut self, value: f64) -> bool {
        const POWERS: [f64; 5] = [1e0, 1e1, 1e2, 1e3, 1e4];
        let magnitude = value.abs();
        let is_plain = magnitude < 1e10 && (value != 0.0 || value.is_sign_positive());
        // Rounds without a call to `round`. A wrongly rounded result does not match the value.
        let scaled = |power: f64| (magnitude * power + 0.5) as i64;
        let is_whole = scaled(1.0) as f64 == magnitude;
        let is_exact =
            |places: &usize| scaled(POWERS[*places]) as f64 / POWERS[*places] == magnitude;
        // A division takes as long as all the rest.
        let found = if is_whole { Some(0) } else { (1..POWERS.len()).find(is_exact) };
        let Some(places) = found.filter(|_| is_plain) else { return false };
        // Whole numbers get a zero after the point.
        let places = places.max(1);
        let digits = scaled(POWERS[places]).unsigned_abs();
        let place: &mut [u8; NUMBER_MAX] = self.place();
        place[0] = b'-';
        let start = usize::from(value < 0.0);
        let point = start + digit_count(digits).max(places + 1) - places;
        let (whole, part) = divide_by_power(digits, places);
        write_digits(&mut place[start..point], whole);
        place[point] = b'.';
        let end = point + 1 + places;
        write_digits(&mut place[point + 1..end], part);
        self.size += end;
        true
    }

    /// Appends microseconds since 1970 as a quoted date and time, with `Z` for UTC.
    #[inline]
    pub fn timestamp(&mut self, timestamp: i64, utc: bool) {
        if self.moment.of != Some((timestamp, utc)) && !self.moment.write(timestamp, utc) {
            let text = format_timestamp(timestamp, false).replacen(' ', "T", 1);
            return self.escaped(&(text + if utc { "Z" } else { "" }));
        }
        let Moment { text, size, .. } = self.moment;
        self.short(&text, size);
    }

    /// Appends a quoted UUID.
    #[inline]
    pub fn uuid(&mut self, bytes: &[u8; 16]) {
        let mut digits = [[0; 8]; 4];
        for (digits, bytes) in digits.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *digits = hex_digits(*bytes);
        }
        let digits = digits.as_flattened();
        let text: &mut [u8; 38] = self.place();
        text[0] = b'"';
        text[1..9].copy_from_slice(&digits[..8]);
        text[9] = b'-';
        text[10..14].copy_from_slice(&digits[8..12]);
        text[14] = b'-';
        text[15..19].copy_from_slice(&digits[12..16]);
        text[19] = b'-';
        text[20..24].copy_from_slice(&digits[16..20]);
        text[24] = b'-';
        text[25..37].copy_from_slice(&digits[20..]);
        text[37] = b'"';
        self.size += text.len();
    }
}

/// The number of decimal digits of a number.
#[inline]
fn digit_count(number: u64) -> usize {
    match number {
        0..10 => 1,
        10..100 => 2,
        _ => number.ilog10() as usize + 1,
    }
}

/// Fills `place` with the last digits of a number.
#[inline]
fn write_digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Divides a number by ten to a power of one to four, with remainder. The divisors are constants,
/// so no division instruction is needed.
#[inline]
fn divide_by_power(number: u64, power: usize) -> (u64, u64) {
    match power {
        1 => (number / 10, number % 10),
        2 => (number / 100, number % 100),
        3 => (number / 1000, number % 1000),
        _ => (number / 10_000, number % 10_000),
    }
}

/// The hex digits of four bytes at once: half a byte in each of the word's eight bytes.
#[inline]
fn hex_digits(bytes: [u8; 4]) -> [u8; 8] {
    const ALL: u64 = u64::from_le_bytes([1; 8]);
    const TO_LETTERS: u64 = (b'a' - b'0' - 10) as u64;
    let mut halves = u64::from(u32::from_be_bytes(bytes));
    halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff;
    halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
    halves = (halves | halves << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Adding six sets the fifth bit of digits above nine.
    let letters = (halves + ALL * 6) >> 4 & ALL;
    (halves + ALL * u64::from(b'0') + letters * TO_LETTERS).to_be_bytes()
}

/// Writes the digits of a number below 100 at an offset.
fn two_digits(text: &mut [u8], at: usize, number: i64) {
    text[at] = b'0' + (number / 10 % 10) as u8;
    text[at + 1] = b'0' + (number % 10) as u8;
}

/// Whether a string cannot contain a byte directly.
#[inline]
fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut JsonText<'_>)) -> String {
        let mut bytes = b"before".to_vec();
        let mut text = JsonText::after(&mut bytes);
        write(&mut text);
        text.finish();
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        text.strip_prefix("before").expect("what was there stays").to_owned()
    }

    #[test]
    fn strings_of_every_size_are_written_as_serde_writes_them() {
        let plain = "plain text, then more of it, and an é and \u{1f600} at the end of it";
        for special in ["", "\"", "\\", "\n", "\u{1}", "\u{7f}", "é"] {
            for size in (0..plain.len()).filter(|size| plain.is_char_boundary(*size)) {
                let texts = ["a", &plain[..size], special, &plain[size..], "\"", ""];
                let data = texts.concat();
                let mut start = 0;
                for own in texts {
                    let found = written(|text| text.string(own, data.as_bytes(), start));
                    assert_eq!(found, serde_json::to_string(own).expect("text is JSON"));
                    start += own.len();
                }
            }
        }
    }

    #[test]
    fn timestamps_leave_nothing_to_those_after_them() {
        let moments = [5, DAY + 5, DAY, DAY + SECOND / 2, 1, i64::MIN / 2, 1, DAY, -1, 0, 0];
        let all = || moments.iter().flat_map(|moment| [true, false].map(|utc| (*moment, utc)));
        let together = written(|text| all().for_each(|(moment, utc)| text.timestamp(moment, utc)));
        let each = all().map(|(moment, utc)| written(|text| text.timestamp(moment, utc)));
        assert_eq!(together, each.collect::<String>());
    }

    #[test]
    fn room_is_made_for_what_is_written_and_little_more() {
        let mut bytes = Vec::new();
        for _ in 0..2000 {
            let mut text = JsonText::after(&mut bytes);
            text.string("some text", b"some text", 0);
            text.finish();
        }
        assert_eq!(bytes.len(), 2000 * 11);
        assert!(bytes.capacity() < 4 * (bytes.len() + ROOM), "{}", bytes.capacity());
    }

    #[test]
    fn pieces_may_be_long() {
        for size in [0, 1, 31, 32, 33, 100] {
            let own = "x".repeat(size);
            assert_eq!(written(|text| text.piece(&Piece::new(&own))), own);
        }
    }
}
