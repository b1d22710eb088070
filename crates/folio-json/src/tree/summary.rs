//! What is known of the scalars at a path beside their kinds: about how many are distinct, the
//! smallest and the largest, and examples.
//!
//! Not every document is looked at (`SAMPLED_WHOLE`), so the bounds are those of a sample. Distinct
//! values in it are counted exactly up to [`FEW_MAX`], and then by a sketch of [`REGISTER_COUNT`] bytes (Flajolet et al., "HyperLogLog",
//! 2007), whose standard error is 6.5 %: each value belongs to a register by eight bits of its
//! hash, and the register has the longest run of zeros after them that was seen. Sketches of two
//! parts merge into the sketch of both. What is found in the sample is extrapolated as if all values
//! were equally frequent.
//!
//! A number is the same value however it is written; strings are compared by their characters.

use std::borrow::Cow;
use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64;

use crate::string::push_json_string;
use crate::text::push_text;

/// Up to this many distinct values are counted exactly.
pub(super) const FEW_MAX: usize = 8;

/// The number of registers of a sketch.
pub(super) const REGISTER_COUNT: usize = 256;

/// If this share of the values seen is distinct, the same share of all values is.
const MOSTLY_DISTINCT: f64 = 0.8;

/// The number of values shown as examples.
pub(super) const EXAMPLES_MAX: usize = 3;

/// Longer strings are cut where they are remembered.
pub(super) const TEXT_SIZE_MAX: usize = 32;

/// The scalars of a path.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Summary {
    /// The number of scalars that were looked at.
    pub(super) seen_count: u64,
    pub(super) distinct: Distinct,
    pub(super) integers: Option<(i64, i64)>,
    pub(super) doubles: Option<(f64, f64)>,
    pub(super) texts: Option<(Bound, Bound)>,
    /// The first distinct values, as JSON text.
    pub(super) examples: Vec<Box<str>>,
}

/// The distinct values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Distinct {
    /// Their hashes.
    Few(Vec<u64>),
    Many(Box<[u8; REGISTER_COUNT]>),
}

/// The smallest or the largest string, perhaps only its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) text: Box<str>,
    pub(super) is_cut: bool,
    /// Its first bytes, as a number that orders like them.
    head: u128,
}

impl Summary {
    /// Adds a string, given as it appears between its quotes.
    #[inline]
    pub(super) fn add_text(&mut self, raw: &[u8], has_escapes: bool) {
        self.seen_count += 1;
        if !has_escapes {
            return self.add_plain(raw);
        }
        let mut plain = Vec::new();
        if push_text(raw, has_escapes, &mut plain).is_ok() {
            self.add_plain(&plain);
        }
    }

    #[inline]
    fn add_plain(&mut self, text: &[u8]) {
        if self.distinct.insert(xxh3_64(text)) {
            self.show_text(text);
        }
        let head = head(text);
        match &self.texts {
            // Most strings are between the bounds.
            Some((first, last)) if first.head < head && head < last.head => {}
            _ => self.widen(text, head),
        }
    }

    #[cold]
    fn show_text(&mut self, text: &[u8]) {
        let bound = Bound::of(text);
        let cut = if bound.is_cut { "…" } else { "" };
        self.show(|out| push_json_string(&format!("{}{cut}", bound.text), out));
    }

    /// Extends the bounds to a string that is perhaps outside of them.
    #[inline(never)]
    fn widen(&mut self, text: &[u8], head: u128) {
        let Some((first, last)) = &mut self.texts else {
            self.texts = Some((Bound::of(text), Bound::of(text)));
            return;
        };
        if first.is_after(text, head) {
            *first = Bound::of(text);
        }
        if last.is_before(text, head) {
            *last = Bound::of(text);
        }
    }

    #[inline]
    pub(super) fn add_integer(&mut self, value: i64) {
        self.seen_count += 1;
        if self.distinct.insert(mixed(value as u64)) {
            self.show(|out| out.extend_from_slice(value.to_string().as_bytes()));
        }
        match &mut self.integers {
            Some((first, last)) => (*first, *last) = ((*first).min(value), (*last).max(value)),
            None => self.integers = Some((value, value)),
        }
    }

    /// Adds a number that is no integer of 64 bits, or is not written as one; the double nearest to
    /// it, if it is finite, and its digits.
    pub(super) fn add_number(&mut self, value: Option<f64>, digits: &[u8]) {
        self.seen_count += 1;
        let hash = match value {
            Some(value) if value == (value as i64) as f64 => mixed(value as i64 as u64),
            Some(value) => mixed(value.to_bits() ^ u64::from_le_bytes(*b"fraction")),
            None => xxh3_64(digits),
        };
        let is_new = self.distinct.insert(hash);
        if is_new && digits.len() <= TEXT_SIZE_MAX {
            self.show(|out| out.extend_from_slice(digits));
        }
        let Some(value) = value else { return };
        match &mut self.doubles {
            Some((first, last)) => (*first, *last) = (first.min(value), last.max(value)),
            None => self.doubles = Some((value, value)),
        }
    }

    pub(super) fn add_boolean(&mut self, value: bool) {
        self.seen_count += 1;
        if self.distinct.insert(mixed(u64::from_le_bytes(*b"boolean\0") ^ u64::from(value))) {
            self.show(|out| out.extend_from_slice(value.to_string().as_bytes()));
        }
    }

    /// About how many distinct values there are among this many scalars.
    pub(super) fn distinct_count(&self, scalar_count: u64) -> u64 {
        let found = self.distinct.count().min(self.seen_count);
        let (found, seen, all) = (found as f64, self.seen_count as f64, scalar_count as f64);
        extrapolated(found, seen, all.max(seen)).round() as u64
    }

    /// Remembers a value as an example, if more are wanted.
    fn show(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.examples.len() < EXAMPLES_MAX {
            let mut text = Vec::new();
            write(&mut text);
            self.examples.extend(String::from_utf8(text).ok().map(Into::into));
        }
    }

    /// Adds what was seen later.
    pub(super) fn merge(&mut self, later: &Self) {
        self.seen_count += later.seen_count;
        self.distinct.merge(&later.distinct);
        self.integers = both(self.integers, later.integers, i64::min, i64::max);
        self.doubles = both(self.doubles, later.doubles, f64::min, f64::max);
        let texts = (self.texts.take(), later.texts.clone());
        self.texts = match texts {
            (Some((first, last)), Some((later_first, later_last))) => Some((
                if first.cmp(&later_first).is_gt() { later_first } else { first },
                if last.cmp(&later_last).is_lt() { later_last } else { last },
            )),
            (one, other) => one.or(other),
        };
        for example in &later.examples {
            if self.examples.len() < EXAMPLES_MAX && !self.examples.contains(example) {
                self.examples.push(example.clone());
            }
        }
    }
}

fn both<T: Copy>(
    one: Option<(T, T)>,
    other: Option<(T, T)>,
    min: fn(T, T) -> T,
    max: fn(T, T) -> T,
) -> Option<(T, T)> {
    match (one, other) {
        (Some(a), Some(b)) => Some((min(a.0, b.0), max(a.1, b.1))),
        (one, other) => one.or(other),
    }
}

/// The number of distinct values among all, if so many were found among those seen.
fn extrapolated(found: f64, seen: f64, all: f64) -> f64 {
    if seen == all {
        return found;
    }
    if found >= MOSTLY_DISTINCT * seen {
        return found / seen * all;
    }
    // Of `count` values that are equally frequent, so many occur among `among`.
    let occurring = |count: f64, among: f64| count * -(-among / count).exp_m1();
    let (mut low, mut high) = (found, 4.0 * seen);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if occurring(middle, seen) < found { low = middle } else { high = middle }
    }
    if found > 0.0 { occurring(low, all) } else { 0.0 }
}

impl Default for Distinct {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Distinct {
    /// Adds a value by its hash. Returns whether it is surely a new one.
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        match self {
            Self::Many(registers) => {
                raise(registers, hash);
                false
            }
            Self::Few(hashes) if hashes.contains(&hash) => false,
            Self::Few(_) => {
                self.insert_new(hash);
                true
            }
        }
    }

    #[cold]
    fn insert_new(&mut self, hash: u64) {
        let Self::Few(hashes) = self else { return };
        hashes.push(hash);
        if hashes.len() > FEW_MAX {
            let mut registers = Box::new([0; REGISTER_COUNT]);
            hashes.iter().for_each(|hash| raise(&mut registers, *hash));
            *self = Self::Many(registers);
        }
    }

    fn merge(&mut self, later: &Self) {
        match later {
            Self::Few(hashes) => hashes.iter().for_each(|hash| {
                self.insert(*hash);
            }),
            Self::Many(registers) => {
                let mut all = registers.clone();
                match self {
                    Self::Few(hashes) => hashes.iter().for_each(|hash| raise(&mut all, *hash)),
                    Self::Many(known) => {
                        all.iter_mut().zip(known.iter()).for_each(|(a, b)| *a = (*a).max(*b));
                    }
                }
                *self = Self::Many(all);
            }
        }
    }

    /// About how many distinct values there are.
    pub(super) fn count(&self) -> u64 {
        let registers = match self {
            Self::Few(hashes) => return hashes.len() as u64,
            Self::Many(registers) => registers,
        };
        let count = REGISTER_COUNT as f64;
        let sum: f64 = registers.iter().map(|rank| (-f64::from(*rank)).exp2()).sum();
        let estimate = (0.7213 / (1.0 + 1.079 / count)) * count * count / sum;
        let empty_count = registers.iter().filter(|rank| **rank == 0).count();
        // Few values leave registers empty, whose share is then the better estimate.
        match estimate <= 2.5 * count && empty_count > 0 {
            true => (count * (count / empty_count as f64).ln()).round() as u64,
            false => estimate.round() as u64,
        }
    }
}

/// Raises the register of a hash.
#[inline]
fn raise(registers: &mut [u8; REGISTER_COUNT], hash: u64) {
    let register = &mut registers[(hash >> 56) as usize];
    let rank = ((hash << 8) | 0x80).leading_zeros() as u8 + 1;
    *register = (*register).max(rank);
}

/// Spreads the bits of a number ("splitmix64", Vigna 2015).
#[inline]
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Bound {
    fn of(text: &[u8]) -> Self {
        let is_cut = text.len() > TEXT_SIZE_MAX;
        let begin = &text[..text.len().min(TEXT_SIZE_MAX)];
        // A character that the cut divides is left out.
        let begin = match std::str::from_utf8(begin) {
            Ok(begin) => Cow::Borrowed(begin),
            Err(error) if is_cut => String::from_utf8_lossy(&begin[..error.valid_up_to()]),
            Err(_) => String::from_utf8_lossy(begin),
        };
        Self::new(&begin, is_cut)
    }

    pub(super) fn new(text: &str, is_cut: bool) -> Self {
        Self { head: head(text.as_bytes()), text: text.into(), is_cut }
    }

    /// Whether a string with this head is smaller. One with the same beginning is not.
    #[inline]
    fn is_after(&self, text: &[u8], head: u128) -> bool {
        match head.cmp(&self.head) {
            Ordering::Equal => self.compare(text).is_gt(),
            order => order.is_lt(),
        }
    }

    #[inline]
    fn is_before(&self, text: &[u8], head: u128) -> bool {
        match head.cmp(&self.head) {
            Ordering::Equal => self.compare(text).is_lt(),
            order => order.is_gt(),
        }
    }

    fn compare(&self, text: &[u8]) -> Ordering {
        let own = self.text.as_bytes();
        match self.is_cut {
            true => own.cmp(&text[..text.len().min(own.len())]),
            false => own.cmp(text),
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text).then(self.is_cut.cmp(&other.is_cut))
    }
}

/// The first 16 bytes as a number that orders like them; missing ones count as zero.
#[inline]
fn head(text: &[u8]) -> u128 {
    match text.first_chunk::<16>() {
        Some(first) => u128::from_be_bytes(*first),
        None => short_head(text),
    }
}

#[inline]
fn short_head(text: &[u8]) -> u128 {
    let size = text.len();
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        let [first, last] = [first, last].map(|part| u128::from(u64::from_be_bytes(*part)));
        return first << 64 | last << (8 * (16 - size)) & u128::from(u64::MAX);
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let [first, last] = [first, last].map(|part| u64::from(u32::from_be_bytes(*part)));
        return u128::from(first << 32 | last << (8 * (8 - size)) & 0xffff_ffff) << 64;
    }
    let bytes = text.iter().enumerate();
    bytes.map(|(place, byte)| u128::from(*byte) << (120 - 8 * place)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_texts(texts: &[&str]) -> Summary {
        let mut summary = Summary::default();
        texts.iter().for_each(|text| summary.add_text(text.as_bytes(), text.contains('\\')));
        summary
    }

    #[test]
    fn distinct_values_are_counted_within_the_error() {
        for count in [0, 1, 7, 8, 9, 50, 500, 5_000, 100_000_u64] {
            let (mut integers, mut texts) = (Summary::default(), Summary::default());
            let mut halves = [Summary::default(), Summary::default()];
            for n in (0..count).chain(0..count.min(100)) {
                integers.add_integer(n as i64);
                texts.add_text(format!("user {n}").as_bytes(), false);
                halves[(n % 2) as usize].add_integer(n as i64);
            }
            let [mut first, second] = halves;
            first.merge(&second);
            assert_eq!(first.distinct.count(), integers.distinct.count(), "{count}, merged");
            for summary in [integers, texts] {
                let found = summary.distinct.count();
                let error = if count <= FEW_MAX as u64 { 0.0 } else { 0.2 };
                assert!(found.abs_diff(count) as f64 <= error * count as f64, "{count}: {found}");
            }
        }
    }

    /// One value in four is looked at.
    #[test]
    fn a_sample_tells_about_all() {
        let seen = 20_000;
        for (count, expected) in [(5, 5), (100, 100), (10_000, 10_000), (1 << 40, 80_000)] {
            let mut summary = Summary::default();
            // Values in an order without pattern.
            (0..seen).for_each(|n: u64| summary.add_integer((mixed(n) % count) as i64));
            let found = summary.distinct_count(4 * seen);
            let error = if expected < 9 { 0.0 } else { 0.25 };
            let difference = found.abs_diff(expected) as f64;
            assert!(difference <= error * expected as f64, "{count}: {found}");
        }
    }

    #[test]
    fn a_value_is_one_however_it_is_written() {
        let mut numbers = Summary::default();
        numbers.add_integer(1);
        numbers.add_number(Some(1.0), b"1.0");
        numbers.add_number(Some(1.0), b"1e0");
        assert_eq!(numbers.distinct.count(), 1);
        numbers.add_number(None, b"1e400");
        numbers.add_number(Some(0.5), b"0.5");
        assert_eq!(numbers.distinct.count(), 3);
        assert_eq!((numbers.integers, numbers.doubles), (Some((1, 1)), Some((0.5, 1.0))));
        assert_eq!(*numbers.examples, ["1", "1e400", "0.5"].map(Box::from));
        assert_eq!(of_texts(&["a", "\\u0061", "b"]).distinct.count(), 2);
    }

    /// The bounds are those of sorting, whatever the lengths, and however they are added.
    #[test]
    fn bounds_are_those_of_sorting() {
        let long =
            ["prefix of more than thirty-two bytes a", "prefix of more than thirty-two bytes"];
        let mut texts: Vec<String> = ["", "\0", "a", "a\0", "b", "ab", "é", "日本", "🙂", "~"]
            .iter()
            .flat_map(|text| [1, 2, 4, 5, 8, 9, 15, 16, 17].map(|count| text.repeat(count)))
            .filter(|text| text.len() <= TEXT_SIZE_MAX)
            .collect();
        for start in 0..texts.len() {
            texts.rotate_left(1);
            for size in [1, 2, 5, texts.len()] {
                let some = &texts[..size];
                let mut summary = Summary::default();
                let mut merged = Summary::default();
                for text in some {
                    summary.add_text(text.as_bytes(), false);
                    merged.merge(&of_texts(&[text]));
                }
                let (first, last) = summary.texts.clone().expect("texts");
                let expected = (some.iter().min().unwrap(), some.iter().max().unwrap());
                assert_eq!((&*first.text, &*last.text), (&**expected.0, &**expected.1), "{start}");
                assert_eq!(summary.texts, merged.texts);
            }
        }
        let (first, last) = of_texts(&long).texts.expect("texts");
        assert_eq!((&*first.text, first.is_cut), ("prefix of more than thirty-two b", true));
        assert_eq!(last, first);
        let (first, _) = of_texts(&["日本日本日本日本日本日本"]).texts.expect("a text");
        assert_eq!(&*first.text, "日本日本日本日本日本", "no half character");
    }
}
