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
