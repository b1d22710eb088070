//! Strings as they appear between their quotes.

use crate::lanes::first_of_16;

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The offset of the first quote or backslash in `text`.
#[inline(always)]
#[allow(clippy::inline_always)]
#[must_use]
pub fn find_quote(text: &[u8]) -> Option<usize> {
    let is_found = |byte| byte == b'"' || byte == b'\\';
    let (blocks, rest) = text.as_chunks::<16>();
    for (index, block) in blocks.iter().enumerate() {
        if let Some(offset) = first_of_16(block, is_found) {
            return Some(index * 16 + offset);
        }
    }
    let at = rest.iter().position(|byte| is_found(*byte))?;
    Some(blocks.len() * 16 + at)
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
