//! Sequences of bits, made a word at a time.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Bits so far, the first in the lowest place of a word.
#[derive(Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

const WORD: usize = u64::BITS as usize;

impl Bits {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { words: Vec::with_capacity(count.div_ceil(WORD)), len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    /// Adds up to 64 bits, those above them have to be 0.
    #[inline]
    pub(super) fn push(&mut self, bits: u64, count: usize) {
        let place = self.len % WORD;
        self.len += count;
        match self.words.last_mut().filter(|_| place > 0) {
            None if count == 0 => {}
            None => self.words.push(bits),
            Some(last) => {
                *last |= bits << place;
                if place + count > WORD {
                    self.words.push(bits >> (WORD - place));
                }
            }
        }
    }

    /// Adds a bit so many times.
    pub(super) fn repeat(&mut self, bit: bool, count: usize) {
        let mut left = count;
        while left > 0 {
            let count = left.min(WORD - self.len % WORD);
            self.push(if bit { ones(count) } else { 0 }, count);
            left -= count;
        }
    }

    /// Adds others.
    pub(super) fn extend(&mut self, others: &Self) {
        for start in (0..others.len).step_by(WORD) {
            let count = WORD.min(others.len - start);
            self.push(others.get(start, count), count);
        }
    }

    /// Up to 64 bits from a place on. They have to exist.
    #[inline]
    pub(super) fn get(&self, at: usize, count: usize) -> u64 {
        if count == 0 {
            return 0;
        }
        let (word, place) = (at / WORD, at % WORD);
        let mut bits = self.words[word] >> place;
        if place + count > WORD {
            bits |= self.words[word + 1] << (WORD - place);
        }
        bits & ones(count)
    }

    pub(super) fn ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Adds a bit for each of some places: where `places` has 1 the next of `dense`, otherwise 0.
    pub(super) fn push_spread(&mut self, dense: &Self, places: &Self) {
        let mut next = 0;
        for start in (0..places.len).step_by(WORD) {
            let count = WORD.min(places.len - start);
            let places = places.get(start, count);
            let own = places.count_ones() as usize;
            self.push(spread(dense.get(next, own), places), count);
            next += own;
        }
    }

    pub(super) fn finish(self) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len)
    }
}

/// So many ones, at most 64.
fn ones(count: usize) -> u64 {
    if count == WORD { u64::MAX } else { (1 << count) - 1 }
}

/// Puts the lowest bits where `places` has ones, in order: `pdep`, an instruction that not every x86-64
/// has.
fn spread(bits: u64, places: u64) -> u64 {
    let mut bits = bits;
    if places.count_zeros() <= u64::BITS / 2 {
        // A zero moves in at each place that has none.
        let mut free = !places;
        while free != 0 {
            let below = (free & free.wrapping_neg()) - 1;
            bits = bits & below | (bits & !below) << 1;
            free &= free - 1;
        }
        return bits;
    }
    let (mut out, mut places) = (0, places);
    while places != 0 {
        let lowest = places & places.wrapping_neg();
        out |= lowest & (bits & 1).wrapping_neg();
        bits >>= 1;
        places &= places - 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_where_they_were_put() {
        let mut seed = 3_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 20
        };
        let (mut bits, mut expected) = (Bits::default(), Vec::new());
        for _ in 0..2_000 {
            let count = (next() % 65) as usize;
            match next() % 3 {
                0 => {
                    let bit = next() % 2 == 0;
                    bits.repeat(bit, count * 3);
                    expected.extend((0..count * 3).map(|_| bit));
                }
                _ => {
                    let own = (next() << 30 ^ next()) & ones(count);
                    bits.push(own, count);
                    expected.extend((0..count).map(|at| own >> at & 1 == 1));
                }
            }
        }
        assert_eq!(
            (bits.len, bits.ones()),
            (expected.len(), expected.iter().filter(|bit| **bit).count())
        );
        let at = (next() % 1_000) as usize;
        assert!(
            (0..64).all(|place| bits.get(at, 64) >> place & 1 == u64::from(expected[at + place]))
        );
        // Spread over places of which few, some and nearly all are there.
        for density in [0, 1, 20, 60, 99, 100] {
            let there: Vec<bool> = (0..5_003).map(|_| next() % 100 < density).collect();
            let mut places = Bits::default();
            there.iter().for_each(|there| places.push(u64::from(*there), 1));
            let mut spread = Bits::default();
            spread.push_spread(&bits, &places);
            let mut dense = expected.iter();
            let wanted = there.iter().map(|there| *there && *dense.next().unwrap());
            let wanted: BooleanBuffer = wanted.collect();
            assert_eq!(spread.finish(), wanted);
        }
        assert_eq!(bits.finish(), expected.into_iter().collect());
    }
}
