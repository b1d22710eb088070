//! Where strings and numbers end, and strings as they appear between their quotes.

use wide::u8x16;

use crate::lanes::{closing_brackets, find, splat};

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The offset of the first quote or backslash in `text`, from `at` on.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn find_quote_at(text: &[u8], at: usize) -> Option<usize> {
    find(text, at, |bytes| bytes.simd_eq(splat(b'"')) | bytes.simd_eq(splat(b'\\')))
}

/// The offset of the first quote or backslash in `text`.
#[inline(always)]
#[allow(clippy::inline_always)]
#[must_use]
pub fn find_quote(text: &[u8]) -> Option<usize> {
    find_quote_at(text, 0)
}

/// The offset after the closing quote of a string whose content begins at `start`.
///
/// Looks for quotes alone: one without a backslash before it closes the string, and escapes are
/// counted only before the others.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn text_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at = find(text, at, |bytes| bytes.simd_eq(splat(b'"')))?;
        let before = text[start..at].iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        at += 1;
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

/// The offset after a number that begins at `at`: that of a comma, a bracket, white space, or the
/// end of `text`. What is before it need not be a number.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn number_end(text: &[u8], at: usize) -> usize {
    let is_end = |bytes: u8x16| {
        closing_brackets(bytes) | bytes.simd_eq(splat(b',')) | bytes.simd_le(splat(b' '))
    };
    find(text, at, is_end).unwrap_or(text.len())
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
                    assert_eq!(text_end(whole.as_bytes(), 0), Some(text.len() + 1), "{whole}");
                    assert_eq!(text_end(text.as_bytes(), 0), None, "{text}");
                }
            }
        }
    }

    #[test]
    fn a_number_ends_before_what_can_follow_it() {
        for digits in 0..30 {
            for number in ["", ".5", "-1", "e+30", "E-7"] {
                for after in ["", ",", "}", " ,", "]/:;", "\n"] {
                    let number = format!("{}{number}", "9081726354".repeat(3).split_at(digits).0);
                    let text = format!("{number}{after}");
                    assert_eq!(number_end(text.as_bytes(), 0), number.len(), "{text}");
                }
            }
        }
    }
}
