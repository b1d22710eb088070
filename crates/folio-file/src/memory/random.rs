//! Repeatable random numbers.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): one
//! word of state, and any seed is good.

/// A sequence of random numbers determined by its seed.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence of one of several parts under the same seed.
    pub(super) fn for_part(seed: u64, part: u64) -> Self {
        let mut outer = Self(seed);
        Self(outer.draw() ^ part.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number from 0 to `bound`, excluding `bound`, which is not 0. The bias is below one part in
    /// 2^32 for the bounds used here.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "there is a number below the bound");
        self.draw() % bound
    }

    pub(super) fn coin(&mut self) -> bool {
        self.draw() & 1 == 1
    }
}
