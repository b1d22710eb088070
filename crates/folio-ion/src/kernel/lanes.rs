//! Classifies sixty-four bytes at a time, with one bit per byte and test.
//!
//! There are three implementations with equal results: AVX2 if the processor has it, SSE2 on every
//! x86-64, and plain code for other processors. Tests compare the first two with the last.

#![allow(unsafe_code)]

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// A block of input, compared as a whole.
pub(crate) trait Lanes: Copy {
    fn load(block: &[u8; BLOCK]) -> Self;
    /// Bytes equal to `byte`.
    fn equal(self, byte: u8) -> u64;
    /// Bytes equal to `byte` after bit 5 is set: `[` and `{` together, or `]` and `}`.
    fn equal_folded(self, byte: u8) -> u64;
}

/// For each bit, the parity of the bits up to and including it.
#[inline(always)]
pub(super) fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Sse2, has_avx2, plain_prefix, token_end};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Lanes};
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8,
    };

    /// Four vectors of 16 bytes.
    #[derive(Clone, Copy)]
    pub(crate) struct Sse2([__m128i; 4]);

    impl Lanes for Sse2 {
        #[inline(always)]
        fn load(block: &[u8; BLOCK]) -> Sse2 {
            let lanes = block.as_ptr().cast::<__m128i>();
            // SAFETY: SSE2 is part of x86-64; the unaligned loads cover exactly the 64 bytes of `block`.
            Sse2(std::array::from_fn(|lane| unsafe { _mm_loadu_si128(lanes.add(lane)) }))
        }

        #[inline(always)]
        fn equal(self, byte: u8) -> u64 {
            // SAFETY: SSE2 is part of x86-64.
            mask(self.0.map(|lane| unsafe { _mm_cmpeq_epi8(lane, _mm_set1_epi8(byte as i8)) }))
        }

        #[inline(always)]
        fn equal_folded(self, byte: u8) -> u64 {
            mask(self.0.map(|lane| {
                // SAFETY: SSE2 is part of x86-64.
                unsafe {
                    let folded = _mm_or_si128(lane, _mm_set1_epi8(0x20));
                    _mm_cmpeq_epi8(folded, _mm_set1_epi8(byte as i8))
                }
            }))
        }
    }

    #[inline(always)]
    fn mask(lanes: [__m128i; 4]) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        let [a, b, c, d] = lanes.map(|lane| unsafe { u64::from(_mm_movemask_epi8(lane) as u32) });
        a | b << 16 | c << 32 | d << 48
    }

    /// Two vectors of 32 bytes. Created and used only inside functions that enable AVX2, which are
    /// called only if [`has_avx2`] returns true.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256i, __m256i);

    impl Lanes for Avx2 {
        #[inline(always)]
        fn load(block: &[u8; BLOCK]) -> Avx2 {
            let lanes = block.as_ptr().cast::<__m256i>();
            // SAFETY: see the type; the unaligned loads cover exactly the 64 bytes of `block`.
            unsafe { Avx2(_mm256_loadu_si256(lanes), _mm256_loadu_si256(lanes.add(1))) }
        }

        #[inline(always)]
        fn equal(self, byte: u8) -> u64 {
            // SAFETY: see the type.
            unsafe {
                let wanted = _mm256_set1_epi8(byte as i8);
                wide_mask(_mm256_cmpeq_epi8(self.0, wanted), _mm256_cmpeq_epi8(self.1, wanted))
            }
        }

        #[inline(always)]
        fn equal_folded(self, byte: u8) -> u64 {
            // SAFETY: see the type.
            unsafe {
                let (wanted, fold) = (_mm256_set1_epi8(byte as i8), _mm256_set1_epi8(0x20));
                let low = _mm256_cmpeq_epi8(_mm256_or_si256(self.0, fold), wanted);
                wide_mask(low, _mm256_cmpeq_epi8(_mm256_or_si256(self.1, fold), wanted))
            }
        }
    }

    #[inline(always)]
    fn wide_mask(low: __m256i, high: __m256i) -> u64 {
        // SAFETY: called by the methods of `Avx2` only.
        unsafe {
            u64::from(_mm256_movemask_epi8(low) as u32)
                | u64::from(_mm256_movemask_epi8(high) as u32) << 32
        }
    }

    /// Whether the processor has AVX2 and the related bit instructions.
    #[inline]
    pub(crate) fn has_avx2() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("lzcnt")
    }

    /// Of sixteen bytes, those that end a bare token.
    #[inline(always)]
    pub(crate) fn token_end(chunk: &[u8; 16], colon: bool) -> u32 {
        // SAFETY: SSE2 is part of x86-64; the unaligned load covers exactly the 16 bytes of `chunk`.
        unsafe {
            let lane = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
            let equal = |byte: u8| _mm_cmpeq_epi8(lane, _mm_set1_epi8(byte as i8));
            // Setting bit 5 makes `[` equal to `{`, and `]` equal to `}`.
            let folded = _mm_or_si128(lane, _mm_set1_epi8(0x20));
            let brackets = _mm_or_si128(
                _mm_cmpeq_epi8(folded, _mm_set1_epi8(b'{' as i8)),
                _mm_cmpeq_epi8(folded, _mm_set1_epi8(b'}' as i8)),
            );
            let quotes = _mm_or_si128(equal(b'"'), equal(b'\''));
            let round = _mm_or_si128(equal(b'('), equal(b')'));
            let marks = _mm_or_si128(equal(b','), equal(b'/'));
            // Bytes outside ASCII are negative, so they count as below too.
            let below = _mm_cmplt_epi8(lane, _mm_set1_epi8(0x21));
            let colon = if colon { equal(b':') } else { below };
            let some = _mm_or_si128(_mm_or_si128(brackets, quotes), _mm_or_si128(round, marks));
            _mm_movemask_epi8(_mm_or_si128(some, _mm_or_si128(below, colon))) as u32
        }
    }

    /// Of sixteen bytes, those that end a run of plain text, and those outside ASCII.
    #[inline(always)]
    pub(crate) fn plain_prefix(chunk: &[u8; 16], quote: u8) -> (u32, u32) {
        // SAFETY: SSE2 is part of x86-64; the unaligned load covers exactly the 16 bytes of `chunk`.
        unsafe {
            let lane = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
            let special = _mm_or_si128(
                _mm_cmpeq_epi8(lane, _mm_set1_epi8(quote as i8)),
                _mm_cmpeq_epi8(lane, _mm_set1_epi8(b'\\' as i8)),
            );
            // Bytes outside ASCII are negative, so they also count as below a space and are
            // separated here.
            let below = _mm_movemask_epi8(_mm_cmplt_epi8(lane, _mm_set1_epi8(0x20))) as u32;
            let high = _mm_movemask_epi8(lane) as u32;
            (_mm_movemask_epi8(special) as u32 | below & !high, high)
        }
    }
}

/// The scalar implementation: the same tests, a byte at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[derive(Clone, Copy)]
pub(crate) struct Scalar([u8; BLOCK]);

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Scalar {
    fn mask(&self, wanted: impl Fn(u8) -> bool) -> u64 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |mask, (at, byte)| mask | u64::from(wanted(*byte)) << at)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Lanes for Scalar {
    fn load(block: &[u8; BLOCK]) -> Scalar {
        Scalar(*block)
    }

    fn equal(self, byte: u8) -> u64 {
        self.mask(|b| b == byte)
    }

    fn equal_folded(self, byte: u8) -> u64 {
        self.mask(|b| b | 0x20 == byte)
    }
}

/// The scalar version of the vector code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn token_end(chunk: &[u8; 16], colon: bool) -> u32 {
    let ends = |byte: &u8| super::plain::is_token_end(*byte, colon);
    chunk.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(ends(byte)) << at)
}

/// The scalar version of the vector code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn plain_prefix(chunk: &[u8; 16], quote: u8) -> (u32, u32) {
    let bits = |wanted: &dyn Fn(u8) -> bool| {
        chunk.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(wanted(*byte)) << at)
    };
    (bits(&|byte| byte == quote || byte == b'\\' || byte < 0x20), bits(&|byte| byte >= 0x80))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn bodies_agree_on_every_byte_in_every_place() {
        for byte in 0..=255u8 {
            for place in 0..BLOCK {
                let mut block =
                    *b"The quick brown fox {jumps} [over] (the) \"lazy\" dog's back /* */";
                block[place] = byte;
                let scalar = Scalar::load(&block);
                check(Sse2::load(&block), scalar, byte);
                if has_avx2() {
                    // SAFETY: the processor was checked.
                    unsafe { check_avx2(&block, scalar, byte) };
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn check_avx2(block: &[u8; BLOCK], scalar: Scalar, byte: u8) {
        check(Avx2::load(block), scalar, byte);
    }

    #[inline(always)]
    fn check(vector: impl Lanes, scalar: Scalar, byte: u8) {
        assert_eq!(vector.equal(byte), scalar.equal(byte));
        assert_eq!(vector.equal_folded(b'{'), scalar.equal_folded(b'{'));
        assert_eq!(vector.equal_folded(b'}'), scalar.equal_folded(b'}'));
    }
}
