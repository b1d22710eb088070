//! Records: SQLite's encoding of the rows of a b-tree.
//!
//! A record is a header of serial types, each of which gives the class and size of one value,
//! followed by the values. Every size is checked against the available bytes before use.

use std::borrow::Cow;

/// A stored value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stored<'r> {
    Null,
    Integer(i64),
    Real(f64),
    /// Text in the encoding of the file, which may be invalid.
    Text(&'r [u8]),
    Blob(&'r [u8]),
}

/// The text encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl Encoding {
    /// The text, and whether all bytes were valid.
    pub(crate) fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        let from_bytes: fn([u8; 2]) -> u16 = match self {
            Self::Utf8 => {
                return match String::from_utf8_lossy(bytes) {
                    Cow::Borrowed(text) => (Cow::Borrowed(text), true),
                    Cow::Owned(text) => (Cow::Owned(text), false),
                };
            }
            Self::Utf16Little => u16::from_le_bytes,
            Self::Utf16Big => u16::from_be_bytes,
        };
        let (pairs, rest) = bytes.as_chunks::<2>();
        let mut is_whole = rest.is_empty();
        let text = char::decode_utf16(pairs.iter().copied().map(from_bytes)).map(|unit| {
            unit.unwrap_or_else(|_| {
                is_whole = false;
                char::REPLACEMENT_CHARACTER
            })
        });
        let text: String = text.collect();
        (Cow::Owned(text), is_whole)
    }
}

/// A number of one to nine bytes, and its size.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index == 8 {
            return Some((value << 8 | u64::from(*byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// The maximum number of values of a record in any build of SQLite.
const VALUES_MAX: usize = 32_767;

/// The values of a record.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode(payload: &[u8]) -> Result<Vec<Stored<'_>>, &'static str> {
    const CUT: &str = "a record is shorter than its header says";
    let (header_size, read) = varint(payload).ok_or(CUT)?;
    let header_size = usize::try_from(header_size).map_err(|_| CUT)?;
    let mut header = payload.get(read..header_size).ok_or(CUT)?;
    let mut body = &payload[header_size..];
    let mut values = Vec::with_capacity(header.len().min(64));
    while !header.is_empty() {
        if values.len() == VALUES_MAX {
            return Err("a record has more values than a table can have columns");
        }
        let (serial, read) = varint(header).ok_or(CUT)?;
        header = &header[read..];
        let size = size_of(serial).ok_or("a record has a value of a reserved type")?;
        let bytes = body.get(..size).ok_or(CUT)?;
        body = &body[size..];
        values.push(value_of(serial, bytes));
    }
    Ok(values)
}

/// The size of a value; `None` for reserved types.
fn size_of(serial: u64) -> Option<usize> {
    match serial {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(serial).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => Some(usize::try_from((serial - 12) / 2).unwrap_or(usize::MAX)),
    }
}

fn value_of(serial: u64, bytes: &[u8]) -> Stored<'_> {
    match serial {
        0 => Stored::Null,
        8 => Stored::Integer(0),
        9 => Stored::Integer(1),
        1..=6 => {
            // The first byte has the sign.
            let first = bytes.first().map_or(0, |byte| i64::from(byte.cast_signed()));
            let rest = bytes.iter().skip(1);
            Stored::Integer(rest.fold(first, |value, byte| value << 8 | i64::from(*byte)))
        }
        7 => {
            let bits = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            Stored::Real(f64::from_bits(bits))
        }
        _ if serial.is_multiple_of(2) => Stored::Blob(bytes),
        _ => Stored::Text(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_to_nine_bytes() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0x81, 0x00], 128),
            (&[0xff; 9], u64::MAX),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x05], 5),
        ] {
            assert_eq!(varint(bytes), Some((value, bytes.len())));
        }
        assert_eq!(varint(&[]), None);
        assert_eq!(varint(&[0x80]), None);
    }

    #[test]
    fn records_hold_every_class() {
        let record = [
            9, 0, 8, 9, 1, 2, 7, 17, 16, 0xff, 0xff, 0x7f, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, b'h',
            b'i', 1, 2,
        ];
        let values = [
            Stored::Null,
            Stored::Integer(0),
            Stored::Integer(1),
            Stored::Integer(-1),
            Stored::Integer(-129),
            Stored::Real(1.5),
            Stored::Text(b"hi"),
            Stored::Blob(&[1, 2]),
        ];
        assert_eq!(decode(&record).unwrap(), values);
        for end in 0..record.len() {
            assert!(decode(&record[..end]).is_err(), "{end}");
        }
        assert!(decode(&[2, 10]).is_err());
        assert!(decode(&[]).is_err());
    }

    #[test]
    fn texts_in_every_encoding() {
        let text = "aé𝄞";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (encoding, bytes) in [
            (Encoding::Utf8, text.as_bytes()),
            (Encoding::Utf16Little, &little),
            (Encoding::Utf16Big, &big),
        ] {
            assert_eq!(encoding.decode(bytes), (text.into(), true));
            assert!(!encoding.decode(&bytes[..bytes.len() - 1]).1);
        }
    }
}
