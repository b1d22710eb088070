//! Integers in as many bytes as they need. The bytes sort like the integers.
//!
//! | integer | bytes |
//! |---|---|
//! | 0 to 111 | its value plus 128 |
//! | greater | 239 plus its size in bytes, then those bytes, big endian |
//! | negative | the bytes of its bitwise complement, inverted |

/// Integers below this take one byte.
const SHORT: u64 = 112;
/// The encoding of 0.
const ZERO: u8 = 128;
/// The first byte of longer integers, minus their size.
const LONG: u8 = 239;

/// Appends an integer.
pub(super) fn encode(value: i64, out: &mut Vec<u8>) {
    let sign = (value >> 63) as u8;
    let magnitude = (value ^ (value >> 63)).unsigned_abs();
    if magnitude < SHORT {
        return out.push((ZERO + magnitude as u8) ^ sign);
    }
    let size = (64 - magnitude.leading_zeros()).div_ceil(8) as usize;
    out.push((LONG + size as u8) ^ sign);
    let bytes = magnitude.to_be_bytes();
    out.extend(bytes[8 - size..].iter().map(|byte| byte ^ sign));
}

/// The size of an integer with this first byte.
pub(super) fn size(first: u8) -> usize {
    let head = first ^ if first < ZERO { u8::MAX } else { 0 };
    1 + usize::from(head.saturating_sub(LONG))
}

/// Reads an integer from the front of `bytes`; `None` if there is no valid one.
#[inline]
pub fn decode(bytes: &mut &[u8]) -> Option<i64> {
    let (&first, rest) = bytes.split_first()?;
    let sign = if first < ZERO { u8::MAX } else { 0 };
    let head = first ^ sign;
    if head <= LONG {
        *bytes = rest;
        return Some(i64::from(head - ZERO) ^ i64::from(sign as i8));
    }
    let size = usize::from(head - LONG);
    let (own, rest) = rest.split_at_checked(size)?;
    let mut whole = [0; 8];
    let target = whole.get_mut(8usize.checked_sub(size)?..)?;
    target.iter_mut().zip(own).for_each(|(target, byte)| *target = byte ^ sign);
    let magnitude = i64::from_be_bytes(whole);
    // An integer has only one valid form, the shortest.
    let is_short = magnitude < SHORT as i64 || own[0] == sign;
    *bytes = rest;
    (!is_short).then_some(magnitude ^ i64::from(sign as i8))
}
