//! Runs of codes, and of levels: Parquet's hybrid of repeated and packed ones.

use std::ops::Range;

use bytes::Bytes;

use super::bits::Bits;
use super::marks::Marks;

/// Codes in a group of a packed run.
const GROUP: usize = 8;

/// More bits than any code of a row group needs.
const BITS_MAX: u32 = 24;

/// The bits of a word that are there wherever in its first byte it begins.
const WORD_BITS: usize = 57;

/// The codes of a page, at the next one.
#[derive(Default)]
pub(super) struct Runs {
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
    pub(super) fn new(bytes: Bytes) -> Option<Self> {
        let bits = u32::from(*bytes.first()?);
        (bits <= BITS_MAX).then_some(Self { bytes, at: 1, bits, left: 0, run: Run::default() })
    }

    /// A bit for each.
    pub(super) fn of_booleans(bytes: Bytes) -> Self {
        let (at, left) = (bytes.len(), bytes.len() * u8::BITS as usize);
        Self { bytes, at, bits: 1, left, run: Run::Packed(0, 0) }
    }

    /// Levels up to this one.
    pub(super) fn of_levels(bytes: Bytes, highest: i32) -> Self {
        Self { bytes, bits: u32::BITS - highest.leading_zeros(), ..Self::default() }
    }

    /// Reads the next codes.
    pub(super) fn read(&mut self, codes: &mut [i32]) -> Option<()> {
        self.each_run(codes.len(), |own, place| {
            let codes = &mut codes[place];
            match &mut own.run {
                Run::Repeated(code) => codes.fill(*code),
                Run::Packed(start, before) => {
                    unpack(&own.bytes[*start..own.at], own.bits, *before, codes);
                    *before += codes.len();
                }
            }
        })
    }

    /// Reads whether the next codes are marked.
    pub(super) fn mark(&mut self, count: usize, marks: &mut Marks, to: &mut Bits) -> Option<()> {
        marks.set_bits(self.bits);
        self.each_run(count, |own, place| match &mut own.run {
            Run::Repeated(code) => to.repeat(marks.is_marked(*code as usize), place.len()),
            Run::Packed(start, before) => {
                let codes = *before..*before + place.len();
                *before = codes.end;
                mark(&own.bytes[*start..own.at], own.bits, codes, marks, to);
            }
        })
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.each_run(count, |own, place| {
            if let Run::Packed(_, before) = &mut own.run {
                *before += place.len();
            }
        })
    }

    /// Reads the next codes, those of each run by itself.
    #[inline]
    fn each_run(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self, Range<usize>),
    ) -> Option<()> {
        let mut done = 0;
        while done < count {
            let count = self.here(count - done)?;
            read(self, done..done + count);
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

/// Looks up packed codes, as many at once as an index of the marks and a word have.
fn mark(bytes: &[u8], bits: u32, codes: Range<usize>, marks: &Marks, to: &mut Bits) {
    let bits = bits as usize;
    let index_bits = marks.per_index * bits;
    let mask = (1_u64 << index_bits) - 1;
    let per_word = WORD_BITS / index_bits.max(1);
    let per_word = per_word.min(u64::BITS as usize / marks.per_index);
    let mut at = codes.start;
    while at < codes.end {
        let mut word = word(bytes, at * bits / 8) >> (at * bits % 8);
        let mut own = 0;
        for place in 0..per_word {
            own |= marks.of((word & mask) as usize) << (place * marks.per_index);
            word >>= index_bits;
        }
        let count = (per_word * marks.per_index).min(codes.end - at);
        to.push(own & u64::MAX >> (u64::BITS as usize - count), count);
        at += count;
    }
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
