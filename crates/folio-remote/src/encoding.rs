//! Text for URLs and headers, and in answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but the unreserved characters (RFC 3986).
pub(crate) const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same within a path.
pub(crate) const IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// The same within a URL that may be encoded already.
pub(crate) const IN_URL: &AsciiSet = &IN_PATH.remove(b'%').remove(b':').remove(b'[').remove(b']');

/// Percent-encodes the characters of a set.
pub(crate) fn encode(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

/// Undoes percent-encoding; what is not of it stays.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
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
    STANDARD.encode(bytes)
}

/// The bytes of a text of base 64, which may have white space; `None` for another text.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(digits).ok()
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
