//! JSON strings from text. Only what RFC 8259 asks for is escaped.
//!
//! Most strings of a document are two or three words long and need no escape, so
//! those are copied word by word while they are looked at.

/// Longer text is looked at first and then copied at once.
const SHORT: usize = 64;

/// Appends `text` as a JSON string with its quotes.
#[inline(always)] // as a call it costs more than it does
#[allow(clippy::inline_always)]
pub fn push_json_string(text: &str, out: &mut Vec<u8>) {
    let text = text.as_bytes();
    out.push(b'"');
    let start = out.len();
    if text.len() > SHORT || push_words(text, out) != 0 {
        out.truncate(start);
        push_long(text, out);
    }
    out.push(b'"');
}

/// Appends the text of a number, or other text that is short and needs no escapes:
/// copied word by word, because a call would cost more than the copy.
#[inline(always)]
#[allow(clippy::inline_always)]
pub fn push_json_number(text: &str, out: &mut Vec<u8>) {
    push_words(text.as_bytes(), out);
}

/// Appends text word by word, as most of it needs no more than two or three; answers
/// marks for what must be escaped, 0 when there is nothing.
#[inline(always)]
#[allow(clippy::inline_always)]
fn push_words(text: &[u8], out: &mut Vec<u8>) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let mut found = 0;
    for word in words {
        out.extend_from_slice(word);
        found |= escapes_in(*word);
    }
    if rest.is_empty() {
        return found;
    }
    let end = out.len() + rest.len();
    let last = match text.last_chunk::<8>() {
        Some(last) => {
            // The last word once more, shifted to where the text ends.
            out.truncate(end - 8);
            *last
        }
        None => padded(rest),
    };
    out.extend_from_slice(&last);
    out.truncate(end);
    found | escapes_in(last)
}

/// Less than eight bytes, with spaces behind them: two halves that may overlap.
#[inline(always)]
#[allow(clippy::inline_always)]
fn padded(text: &[u8]) -> [u8; 8] {
    let size = text.len();
    let word = match (text.first_chunk::<4>(), text.last_chunk::<4>(), text) {
        (Some(first), Some(last), _) => {
            let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
            first | last << (8 * (size - 4))
        }
        (_, _, [first, .., last]) => {
            let second = u64::from(text[1]) << 8;
            u64::from(*first) | second | u64::from(*last) << (8 * (size - 1))
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    };
    (word | splat(b' ') << (8 * size)).to_le_bytes()
}

#[inline(never)]
fn push_long(text: &[u8], out: &mut Vec<u8>) {
    match find_escape(text) {
        None => out.extend_from_slice(text),
        Some(first) => push_escaped(text, first, out),
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
#[allow(clippy::inline_always)]
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
fn push_escaped(mut text: &[u8], first: usize, out: &mut Vec<u8>) {
    let mut next = Some(first);
    while let Some(at) = next {
        out.extend_from_slice(&text[..at]);
        push_escape(text[at], out);
        text = &text[at + 1..];
        next = find_escape(text);
    }
    out.extend_from_slice(text);
}

fn push_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_byte_is_as_serde_writes_it() {
        let plain = "aé日🙂z".repeat(20);
        let mut texts: Vec<String> =
            plain.char_indices().map(|(at, _)| plain[..at].into()).collect();
        for byte in 0..128_u8 {
            for before in [0, 1, 6, 7, 8, 15, 16, 63, 64, 100] {
                texts.push(format!("{}{}b", "a".repeat(before), char::from(byte)));
            }
        }
        for text in texts {
            let mut out = b"before".to_vec();
            push_json_string(&text, &mut out);
            let expected = serde_json::to_string(&text).unwrap();
            assert_eq!(out, format!("before{expected}").into_bytes(), "{text:?}");
        }
    }
}
