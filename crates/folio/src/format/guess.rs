//! Guesses the format of a source from its name and its first bytes.

use super::input::Input;
use super::{Format, KNOWN};
use crate::error::Result;
use folio_ion::VERSION_MARKER as ION_MARKER;

/// Recognises Parquet and Arrow by their first bytes.
pub(crate) fn columnar(head: &[u8]) -> Option<Format> {
    match () {
        () if head.starts_with(b"PAR1") => Some(Format::Parquet),
        () if head.starts_with(b"ARROW1\0\0") => Some(Format::Arrow),
        () => None,
    }
}

/// The format of an input.
///
/// # Errors
/// `syntax` when neither the name nor the first bytes identify a format.
pub(crate) fn guess_format(input: &Input) -> Result<Format> {
    let head = input.window();
    let first = head.trim_ascii_start().first().copied();
    let named = Format::of_path(input.name());
    match (named, first) {
        (Some(format), _) if !matches!(format, Format::JsonLines | Format::Json) => Ok(format),
        _ if columnar(head).is_some() => Ok(columnar(head).unwrap_or_default()),
        _ if head.starts_with(b"SQLite format 3\0") => Err(input.fault(
            "it is an SQLite file, whose tables become tables, not documents of a collection; \
             import the uncompressed file by its name into the database (`folio import DATABASE \
             FILE`)",
        )),
        _ if head.starts_with(&ION_MARKER) => Ok(Format::Ion),
        (_, Some(b'[')) => Ok(Format::Json),
        (Some(Format::JsonLines), _) | (_, None) => Ok(Format::JsonLines),
        (_, Some(b'{')) if first_line_is_whole(head) => Ok(Format::JsonLines),
        (_, Some(b'{')) => Ok(Format::Json),
        _ if looks_like_csv(head) => Ok(Format::Csv),
        _ => Err(input.fault(format!(
            "neither its name nor its content is of a known format; use {KNOWN}, or name the format"
        ))),
    }
}

/// Whether the first non-blank line is a complete JSON value, as in JSON Lines. A line longer than
/// the window counts as complete.
fn first_line_is_whole(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let Some(end) = memchr::memchr(b'\n', head) else { return true };
    let opening = head[..end].iter().filter(|&&byte| matches!(byte, b'{' | b'[')).count();
    let closing = head[..end].iter().filter(|&&byte| matches!(byte, b'}' | b']')).count();
    // Brackets inside strings can fool the count; then the parser decides.
    opening == closing || serde_json::from_slice::<serde_core::de::IgnoredAny>(&head[..end]).is_ok()
}

/// Whether the first line of a text has a delimiter.
fn looks_like_csv(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    let is_text = !head.contains(&0) && std::str::from_utf8(&head[..end]).is_ok();
    is_text && head[..end].iter().any(|byte| matches!(byte, b',' | b';' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn guess(name: &str, text: &'static [u8]) -> Result<Format> {
        guess_format(&Input::open(Source::reader(name, text)).unwrap())
    }

    #[test]
    fn names_and_bytes_tell() {
        for (name, text, format) in [
            ("a.csv", &b"a"[..], Format::Csv),
            ("A.TSV.gz", b"a", Format::Tsv),
            ("a.jsonl", b"x", Format::JsonLines),
            ("a.ion.gz", b"{a: 1}", Format::Ion),
            ("-", b"\xe0\x01\x00\xea", Format::Ion),
            ("a.jsonl", b"\n [{}]", Format::Json),
            ("a.json", b"{\"a\":1}\n{\"a\":2}\n", Format::JsonLines),
            ("a.json", b"{\"a\":\"{\"}\n{\"a\":2}\n", Format::JsonLines),
            ("a.json", b"{\n\"a\":1}\n", Format::Json),
            ("-", b"", Format::JsonLines),
            ("-", b"a,b\n1,2\n", Format::Csv),
            ("-", b"\xef\xbb\xbf{}", Format::JsonLines),
        ] {
            assert_eq!(guess(name, text).unwrap(), format, "{name} {text:?}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        for text in [&b"\x89PNG\r\n\x1a\n\0\0,"[..], b"hello\n", b"\0\0\0\0,\n", b"\x80,\x81\n"] {
            assert!(guess("-", text).is_err(), "{text:?}");
        }
    }
}
