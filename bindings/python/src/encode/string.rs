//! Text as JSON strings. Only what RFC 8259 asks for is escaped.

/// Appends a JSON string.
#[inline(always)]
pub(super) fn push_string(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    match find_escape(text) {
        None => line.extend_from_slice(text),
        Some(first) => push_escaped(text, first, line),
    }
    line.push(b'"');
}

/// The offset of the first byte that must be escaped, eight bytes at a time:
/// equal bytes become zero by XOR, and a subtraction borrows from bytes that are
/// too small ("Hacker's Delight", 6-1).
#[inline(always)]
fn find_escape(text: &[u8]) -> Option<usize> {
    let mut words = text.chunks_exact(8);
    let mut offset = 0;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
        let quote = word ^ splat(b'"');
        let backslash = word ^ splat(b'\\');
        let found = (word.wrapping_sub(splat(0x20)) & !word)
            | (quote.wrapping_sub(splat(1)) & !quote)
            | (backslash.wrapping_sub(splat(1)) & !backslash);
        let found = found & splat(0x80);
        if found != 0 {
            return Some(offset + found.trailing_zeros() as usize / 8);
        }
        offset += 8;
    }
    let at = words.remainder().iter().position(|&byte| needs_escape(byte));
    at.map(|at| offset + at)
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
