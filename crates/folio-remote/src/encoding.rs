//! Text for URLs and headers, and in answers.

use std::fmt::Write;

/// Percent-encodes all but the unreserved characters (RFC 3986) and those in `kept`.
pub(crate) fn encode(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain || kept.as_bytes().contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Undoes percent-encoding; what is not of it stays.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex.filter(|_| bytes[at] == b'%') {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// The content of each element of a name, in XML of a fixed shape: its names are percent-encoded, or
/// escaped, so the elements are found as text.
pub(crate) fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> + use<'t> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (content, after) = after.split_once(&end)?;
        rest = after;
        Some(content)
    })
}

/// The text of an element's content.
pub(crate) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// Text as an element's content.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with padding (RFC 4648).
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for piece in bytes.chunks(3) {
        let of = |at: usize| u32::from(piece.get(at).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for digit in 0..4 {
            out.push(match digit <= piece.len() {
                true => DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char,
                false => '=',
            });
        }
    }
    out
}

/// The bytes of a text of base 64, which may have white space; `None` for another text.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let count = digits.iter().rposition(|&digit| digit != b'=').map_or(0, |last| last + 1);
    if !digits.len().is_multiple_of(4) || digits.len() - count > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(count * 3 / 4);
    for piece in digits[..count].chunks(4) {
        let mut bits = 0;
        for &digit in piece {
            bits = bits << 6 | DIGITS.iter().position(|&known| known == digit)?;
        }
        bits <<= 6 * (4 - piece.len());
        out.extend_from_slice(
            &bits.to_be_bytes()[usize::BITS as usize / 8 - 3..][..piece.len() - 1],
        );
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_goes_both_ways() {
        // The examples of RFC 4648.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).unwrap(), bytes.as_bytes());
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_base64(&base64(&all)).unwrap(), all);
        assert_eq!(from_base64(" Zm\n9v\n").unwrap(), b"foo");
        for wrong in ["Zg", "Zg=", "Z===", "====", "Zm9-", "Zg==Zg==", "Zmö="] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }
}
