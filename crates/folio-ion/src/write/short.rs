//! Appends a few bytes: the names, words and texts of rows.
//!
//! A copy of a length known only at run time is a call, which costs more than the bytes. Two
//! overlapping pieces of fixed size take four instructions.

/// Appends `bytes`, fast if they are few.
#[inline(always)]
pub(super) fn push_short(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    match bytes.len() {
        17..=32 => push_ends::<16>(out, bytes),
        8..=16 => push_ends::<8>(out, bytes),
        4..8 => push_ends::<4>(out, bytes),
        2..4 => push_ends::<2>(out, bytes),
        _ => out.extend_from_slice(bytes),
    }
    debug_assert_eq!(&out[start..], bytes);
}

/// Appends `bytes` as their first and last `N` bytes, which overlap if there are fewer than `2N`.
#[inline(always)]
fn push_ends<const N: usize>(out: &mut Vec<u8>, bytes: &[u8]) {
    let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else {
        unreachable!("the caller counted them");
    };
    let start = out.len();
    out.extend_from_slice(first);
    out.truncate(start + bytes.len() - N);
    out.extend_from_slice(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_number() {
        for count in 0..100 {
            let bytes: Vec<u8> = (0..count).collect();
            let mut out = b"before".to_vec();
            push_short(&mut out, &bytes);
            assert_eq!(out, [b"before", &bytes[..]].concat());
        }
    }
}
