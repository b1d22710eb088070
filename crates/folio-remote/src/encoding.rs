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

/// Base 64 with padding (RFC 4648).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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
