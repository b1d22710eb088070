//! Strings as they appear between their quotes.

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The offset of the first quote or backslash in `text`.
///
/// Eight bytes at a time: XOR turns a byte equal to the wanted one into zero, and the borrow of a
/// subtraction finds the lowest zero byte ("Hacker's Delight", 6-1).
#[inline(always)]
#[allow(clippy::inline_always)]
#[must_use]
pub fn find_quote(text: &[u8]) -> Option<usize> {
    let mut words = text.chunks_exact(8);
    let mut offset = 0;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
        let found = zero_bytes(word ^ splat(b'"')) | zero_bytes(word ^ splat(b'\\'));
        if found != 0 {
            return Some(offset + found.trailing_zeros() as usize / 8);
        }
        offset += 8;
    }
    let rest = words.remainder();
    rest.iter().position(|&byte| byte == b'"' || byte == b'\\').map(|at| offset + at)
}

/// The offset after the closing quote of a string whose first byte begins `text`.
///
/// Looks for quotes alone: one without a backslash before it closes the string, and escapes are
/// counted only before the others.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn text_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += find_byte(text.get(at..)?, b'"')?;
        let before = text[..at].iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        at += 1;
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

/// The offset of a byte. For text that is mostly short: a call to search memory would cost more.
#[inline(always)]
#[allow(clippy::inline_always)]
fn find_byte(text: &[u8], byte: u8) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = zero_bytes(u64::from_le_bytes(*word) ^ splat(byte));
        if found != 0 {
            return Some(8 * index + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|own| *own == byte).map(|at| 8 * words.len() + at)
}

/// How many bytes at the beginning of `text` can be part of a number.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn number_size(text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<8>();
    let eights = words.iter().take_while(|word| are_digits(u64::from_le_bytes(**word))).count();
    let rest = &text[8 * eights..];
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    8 * eights + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())
}

/// Whether eight bytes are digits: their high halves are 3, also after 6 is added.
const fn are_digits(word: u64) -> bool {
    (word & splat(0xf0)) | ((word.wrapping_add(splat(6)) & splat(0xf0)) >> 4) == splat(0x33)
}

const fn splat(byte: u8) -> u64 {
    u64::MAX / 255 * byte as u64
}

/// The high bit of every byte up to and including the lowest zero byte.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(splat(1)) & !word & splat(0x80)
}

/// Appends the unescaped text between two quotes. Half of a surrogate pair, which UTF-8 cannot
/// represent, becomes U+FFFD.
#[inline]
pub(crate) fn push_text(
    text: &[u8],
    has_escapes: bool,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    if has_escapes {
        return push_escaped(text, out);
    }
    out.extend_from_slice(text);
    Ok(())
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let quoted = [b"\"", text, b"\""].concat();
    match serde_json::from_slice::<String>(&quoted) {
        Ok(plain) => out.extend_from_slice(plain.as_bytes()),
        Err(_) => {
            let lossy = lone_surrogates_replaced(&quoted);
            let plain: String = serde_json::from_slice(&lossy).map_err(|_| Malformed)?;
            out.extend_from_slice(plain.as_bytes());
        }
    }
    Ok(())
}

/// Replaces every escape that is half of a surrogate pair without the other half by `\ufffd`.
fn lone_surrogates_replaced(text: &[u8]) -> Vec<u8> {
    let code = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let size = match (code(at), code(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            _ if text[at] == b'\\' => 2,
            _ => 1,
        };
        let end = (at + size).min(text.len());
        out.extend_from_slice(&text[at..end]);
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_at_the_first_quote_that_is_not_escaped() {
        for size in 0..40 {
            for escapes in ["", r"\\", r#"\""#, r#"\\\""#, r"\\\\"] {
                for after in ["", ",", r#","a":"b""#] {
                    let text = format!("{}{escapes}{}", "a".repeat(size), "é".repeat(size % 5));
                    let whole = format!("{text}\"{after}");
                    assert_eq!(text_end(whole.as_bytes()), Some(text.len() + 1), "{whole}");
                    assert_eq!(text_end(text.as_bytes()), None, "{text}");
                }
            }
        }
    }

    #[test]
    fn the_bytes_of_a_number_are_counted() {
        for digits in 0..30 {
            for number in ["", ".5", "-1", "e+30", "E-7"] {
                for after in ["", ",", "}", " ,", "]/:;"] {
                    let number = format!("{}{number}", "9081726354".repeat(3).split_at(digits).0);
                    let text = format!("{number}{after}");
                    assert_eq!(number_size(text.as_bytes()), number.len(), "{text}");
                }
            }
        }
    }
}
