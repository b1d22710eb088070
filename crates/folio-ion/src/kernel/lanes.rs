//! Sixty-four bytes at a time: one bit per byte for each question asked of them.

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// A block of input, compared as a whole.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Lanes([std::arch::x86_64::__m128i; 4]);

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
impl Lanes {
    #[inline(always)]
    pub(crate) fn load(block: &[u8; BLOCK]) -> Lanes {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128};
        let lanes = block.as_ptr().cast::<__m128i>();
        // SAFETY: SSE2 is part of x86-64; the four unaligned loads cover exactly the 64 bytes of `block`.
        Lanes(std::array::from_fn(|lane| unsafe { _mm_loadu_si128(lanes.add(lane)) }))
    }

    /// Bytes equal to `byte`.
    #[inline(always)]
    pub(crate) fn equal(self, byte: u8) -> u64 {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_set1_epi8};
        // SAFETY: SSE2 is part of x86-64.
        mask(self.0.map(|lane| unsafe { _mm_cmpeq_epi8(lane, _mm_set1_epi8(byte as i8)) }))
    }

    /// Bytes equal to `byte` once bit 5 is set: `[` and `{` at once, or `]` and `}`.
    #[inline(always)]
    pub(crate) fn equal_folded(self, byte: u8) -> u64 {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_or_si128, _mm_set1_epi8};
        mask(self.0.map(|lane| {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let folded = _mm_or_si128(lane, _mm_set1_epi8(0x20));
                _mm_cmpeq_epi8(folded, _mm_set1_epi8(byte as i8))
            }
        }))
    }

    /// Bytes below a space, and bytes beyond ASCII.
    #[inline(always)]
    pub(crate) fn control_or_high(self) -> u64 {
        use std::arch::x86_64::{_mm_cmplt_epi8, _mm_set1_epi8};
        // SAFETY: SSE2 is part of x86-64.
        mask(self.0.map(|lane| unsafe { _mm_cmplt_epi8(lane, _mm_set1_epi8(0x20)) }))
    }

    /// Bytes beyond ASCII.
    #[inline(always)]
    pub(crate) fn high(self) -> u64 {
        mask(self.0)
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
fn mask(lanes: [std::arch::x86_64::__m128i; 4]) -> u64 {
    use std::arch::x86_64::_mm_movemask_epi8;
    // SAFETY: SSE2 is part of x86-64.
    let [a, b, c, d] = lanes.map(|lane| unsafe { u64::from(_mm_movemask_epi8(lane) as u32) });
    a | b << 16 | c << 32 | d << 48
}

/// The twin: the same questions, a byte at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[derive(Clone, Copy)]
pub(crate) struct ScalarLanes([u8; BLOCK]);

#[cfg(any(test, not(target_arch = "x86_64")))]
impl ScalarLanes {
    pub(crate) fn load(block: &[u8; BLOCK]) -> ScalarLanes {
        ScalarLanes(*block)
    }

    fn mask(&self, wanted: impl Fn(u8) -> bool) -> u64 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |mask, (at, byte)| mask | u64::from(wanted(*byte)) << at)
    }

    pub(crate) fn equal(self, byte: u8) -> u64 {
        self.mask(|b| b == byte)
    }

    pub(crate) fn equal_folded(self, byte: u8) -> u64 {
        self.mask(|b| b | 0x20 == byte)
    }

    pub(crate) fn control_or_high(self) -> u64 {
        self.mask(|b| !(0x20..0x80).contains(&b))
    }

    pub(crate) fn high(self) -> u64 {
        self.mask(|b| b >= 0x80)
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use ScalarLanes as Lanes;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn vector_and_scalar_agree_on_every_byte_in_every_place() {
        for byte in 0..=255u8 {
            for place in 0..BLOCK {
                let mut block = *b"The quick brown fox {jumps} [over] (the) \"lazy\" dog's back /* */";
                block[place] = byte;
                check(&block, byte);
            }
        }
    }

    fn check(block: &[u8; BLOCK], byte: u8) {
        let (vector, scalar) = (Lanes::load(block), ScalarLanes::load(block));
        assert_eq!(vector.equal(byte), scalar.equal(byte));
        assert_eq!(vector.equal_folded(b'{'), scalar.equal_folded(b'{'));
        assert_eq!(vector.equal_folded(b'}'), scalar.equal_folded(b'}'));
        assert_eq!(vector.control_or_high(), scalar.control_or_high());
        assert_eq!(vector.high(), scalar.high());
    }
}
