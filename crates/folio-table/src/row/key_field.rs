//! Reads a field at a constant offset of every key, where keys have a shared prefix.
//!
//! Usually all but the last byte or two are in the prefix. Those are the same for all rows, so each
//! row only costs loading the rest.

/// Passes the `N` bytes at `at` of each row's key to a callback, as a number; `false` if a key is
/// shorter.
pub(super) fn see<const N: usize>(
    prefix: &[u8],
    rows: &[(&[u8], &[u8])],
    at: usize,
    see: impl FnMut(u128),
) -> bool {
    let shared = prefix.get(at..).unwrap_or_default();
    let shared = &shared[..shared.len().min(N)];
    let field = Field { shared: number(shared), start: at.saturating_sub(prefix.len()) };
    match N - shared.len() {
        0 => field.see::<0>(rows, see),
        1 => field.see::<1>(rows, see),
        2 => field.see::<2>(rows, see),
        3 => field.see::<3>(rows, see),
        8 => field.see::<8>(rows, see),
        16 => field.see::<16>(rows, see),
        size => field.see_sized(rows, size, see),
    }
}

/// The part of a field in the prefix, and the start of the rest after it.
struct Field {
    shared: u128,
    start: usize,
}

impl Field {
    #[inline]
    fn see<const SIZE: usize>(&self, rows: &[(&[u8], &[u8])], mut see: impl FnMut(u128)) -> bool {
        let shared = if SIZE == 16 { 0 } else { self.shared << (8 * SIZE % 128) };
        rows.iter().all(|(rest, _)| {
            let rest = rest.get(self.start..).and_then(<[u8]>::first_chunk::<SIZE>);
            rest.map(|rest| see(shared | number(rest))).is_some()
        })
    }

    fn see_sized(&self, rows: &[(&[u8], &[u8])], size: usize, mut see: impl FnMut(u128)) -> bool {
        let shared = self.shared << (8 * size);
        rows.iter().all(|(rest, _)| {
            let rest = rest.get(self.start..self.start + size);
            rest.map(|rest| see(shared | number(rest))).is_some()
        })
    }
}

/// Up to sixteen bytes, most significant first.
#[inline]
fn number(bytes: &[u8]) -> u128 {
    match *bytes {
        [] => 0,
        [a] => a.into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c] => u32::from_be_bytes([0, a, b, c]).into(),
        _ => {
            if let Ok(bytes) = bytes.try_into() {
                return u64::from_be_bytes(bytes).into();
            }
            if let Ok(bytes) = bytes.try_into() {
                return u128::from_be_bytes(bytes);
            }
            bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_whole_wherever_the_prefix_ends() {
        let keys: Vec<Vec<u8>> = (0..3).map(|n| (n..n + 30).collect()).collect();
        for at in [0, 4, 10] {
            for prefix_size in 0..30 {
                let prefix = &keys[0][..prefix_size];
                let whole: Vec<Vec<u8>> =
                    keys.iter().map(|key| [prefix, &key[prefix_size..]].concat()).collect();
                let rows: Vec<(&[u8], &[u8])> =
                    whole.iter().map(|key| (&key[prefix_size..], &[][..])).collect();
                let (mut eight, mut sixteen) = (Vec::new(), Vec::new());
                assert!(see::<8>(prefix, &rows, at, |field| eight.push(field)));
                assert!(see::<16>(prefix, &rows, at, |field| sixteen.push(field)));
                let expected = |size: usize| {
                    whole.iter().map(move |key| number(&key[at..at + size])).collect::<Vec<_>>()
                };
                assert_eq!((eight, sixteen), (expected(8), expected(16)), "{at} {prefix_size}");
            }
            let short: Vec<(&[u8], &[u8])> = vec![(&[0; 7], &[])];
            assert!(!see::<8>(&keys[0][..at], &short, at, |_| {}));
        }
    }
}
