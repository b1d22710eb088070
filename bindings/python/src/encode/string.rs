//! Text as JSON strings. Only what RFC 8259 asks for is escaped.

/// Longer text is looked at first and then copied at once.
const SHORT: usize = 64;

/// Appends a JSON string.
#[inline(always)]
pub(super) fn push_string(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    let start = line.len();
    if text.len() > SHORT || !push_short(text, line) {
        line.truncate(start);
        push_long(text, line);
    }
    line.push(b'"');
}

/// Appends short text word by word, as most of it needs no more than two or three;
/// answers whether nothing in it must be escaped.
#[inline(always)]
fn push_short(text: &[u8], line: &mut Vec<u8>) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        line.extend_from_slice(word);
        if escapes_in(*word) != 0 {
            return false;
        }
    }
    match text.last_chunk::<8>() {
        // The last word once more, shifted to where the text ends.
        Some(last) if !rest.is_empty() => {
            line.truncate(line.len() + rest.len() - 8);
            line.extend_from_slice(last);
            escapes_in(*last) == 0
        }
        Some(_) => true,
        None => {
            line.extend(rest);
            !rest.iter().any(|&byte| needs_escape(byte))
        }
    }
}

#[inline(never)]
fn push_long(text: &[u8], line: &mut Vec<u8>) {
    match find_escape(text) {
        None => line.extend_from_slice(text),
        Some(first) => push_escaped(text, first, line),
    }
}

/// The offset of the first byte that must be escaped.
fn find_escape(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let found = escapes_in(*word);
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|&byte| needs_escape(byte));
    at.map(|at| words.len() * 8 + at)
}

/// Marks the bytes that must be escaped; the lowest mark is right. Equal bytes become
/// zero by XOR, and a subtraction borrows from bytes that are too small ("Hacker's
/// Delight", 6-1).
#[inline(always)]
fn escapes_in(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    let quote = word ^ splat(b'"');
    let backslash = word ^ splat(b'\\');
    let found = (word.wrapping_sub(splat(0x20)) & !word)
        | (quote.wrapping_sub(splat(1)) & !quote)
        | (backslash.wrapping_sub(splat(1)) & !backslash);
    found & splat(0x80)
}

const fn splat(byte: u8) -> u64 {
    u64::MAX / 255 * byte as u64
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[inline(never)]
fn push_escaped(mut text: &[u8], first: usize, line: &mut Vec<u8>) {
    let mut next = Some(first);
    while let Some(at) = next {
        line.extend_from_slice(&text[..at]);
        push_escape(text[at], line);
        text = &text[at + 1..];
        next = find_escape(text);
    }
    line.extend_from_slice(text);
}

fn push_escape(byte: u8, line: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => line.extend_from_slice(b"\\\""),
        b'\\' => line.extend_from_slice(b"\\\\"),
        b'\n' => line.extend_from_slice(b"\\n"),
        b'\r' => line.extend_from_slice(b"\\r"),
        b'\t' => line.extend_from_slice(b"\\t"),
        0x08 => line.extend_from_slice(b"\\b"),
        0x0c => line.extend_from_slice(b"\\f"),
        _ => {
            line.extend_from_slice(b"\\u00");
            line.push(HEX[usize::from(byte >> 4)]);
            line.push(HEX[usize::from(byte & 15)]);
        }
    }
}
