//! A position in binary Ion, and the numbers and headers found there.

use crate::error::{Error, Result};

/// A position in bytes of binary Ion. Reads never go beyond `end`, the end of the current
/// container.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    /// Whether the stream ends where `bytes` end.
    pub(crate) last: bool,
}

/// The type codes of the binary encoding, as the high nibble of a value's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    PositiveInt,
    NegativeInt,
    Float,
    Decimal,
    Timestamp,
    Symbol,
    String,
    Clob,
    Blob,
    List,
    SExp,
    Struct,
    Annotation,
    Reserved,
}

const KINDS: [Kind; 16] = [
    Kind::Null,
    Kind::Bool,
    Kind::PositiveInt,
    Kind::NegativeInt,
    Kind::Float,
    Kind::Decimal,
    Kind::Timestamp,
    Kind::Symbol,
    Kind::String,
    Kind::Clob,
    Kind::Blob,
    Kind::List,
    Kind::SExp,
    Kind::Struct,
    Kind::Annotation,
    Kind::Reserved,
];

/// For each first byte, the length of the content; or that a number after the byte gives it, or
/// that more must be known.
const EXTENT: [u8; 256] = {
    let mut extent = [ODD; 256];
    let mut byte = 0;
    while byte < 0xf0 {
        let (kind, nibble) = (byte >> 4, byte & 15);
        extent[byte] = match (kind, nibble) {
            (0x1, 0 | 1) => 0,
            (0x1, _) | (0x4, 14) | (0xd, 1) | (0xe, 15) => ODD,
            (_, 15) => 0,
            (_, 14) => SAID,
            _ => nibble as u8,
        };
        byte += 1;
    }
    extent
};
const SAID: u8 = 14;
const ODD: u8 = 255;

/// The content of a value's first bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The low nibble: a length, the value of a boolean, or 15 for a null.
    pub(crate) nibble: u8,
    /// The end of the content, which starts at the cursor after the header was read.
    pub(crate) end: usize,
}

impl Header {
    pub(crate) fn is_null(&self) -> bool {
        self.nibble == 15
    }

    /// Whether the bytes are padding: a null that has a length.
    #[inline(always)]
    pub(crate) fn is_padding(&self) -> bool {
        self.kind == Kind::Null && self.nibble != 15
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize, last: bool) -> Cursor<'a> {
        Cursor { bytes, at, last }
    }

    #[cold]
    pub(crate) fn end(&self) -> Error {
        if self.last {
            return Error::syntax(self.at, "the input ends inside a value");
        }
        Error::incomplete(self.at)
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<u8> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.end()) };
        self.at += 1;
        Ok(byte)
    }

    /// Reads the header here. The whole value must end before `limit`.
    #[inline(always)]
    pub(crate) fn header(&mut self, limit: usize) -> Result<Header> {
        let start = self.at;
        let byte = self.next()?;
        let kind = KINDS[usize::from(byte >> 4)];
        let nibble = byte & 15;
        let length = match EXTENT[usize::from(byte)] {
            SAID => self.var_uint()?,
            ODD => self.odd_length(start, kind, nibble)?,
            length => usize::from(length),
        };
        let end = self.at.saturating_add(length);
        if end > limit {
            return Err(self.beyond(start, limit));
        }
        Ok(Header { kind, nibble, end })
    }

    fn odd_length(&mut self, start: usize, kind: Kind, nibble: u8) -> Result<usize> {
        match (kind, nibble) {
            (Kind::Float, 14) => {
                Err(Error::syntax(start, "a float is neither 0, 4 nor 8 bytes long"))
            }
            (Kind::Reserved, _) | (Kind::Annotation, 15) => {
                Err(Error::syntax(start, "a reserved type code"))
            }
            (Kind::Bool, 0 | 1 | 15) | (_, 15) => Ok(0),
            (Kind::Bool, _) => {
                Err(Error::syntax(start, "a boolean that is neither true nor false"))
            }
            (Kind::Struct, 1) => match self.var_uint()? {
                0 => Err(Error::syntax(start, "a sorted struct without fields")),
                length => Ok(length),
            },
            (_, 14) => self.var_uint(),
            (_, nibble) => Ok(usize::from(nibble)),
        }
    }

    /// The error for a value that ends after `limit`: the end of the stream, or of its container.
    #[cold]
    fn beyond(&self, start: usize, limit: usize) -> Error {
        if limit >= self.bytes.len() {
            return if self.last {
                Error::syntax(start, "the input ends inside a value")
            } else {
                Error::incomplete(start)
            };
        }
        Error::syntax(start, "a value reaches beyond the end of its container")
    }

    /// A VarUInt: seven bits per byte, most significant first. The high bit marks the last byte.
    #[inline(always)]
    pub(crate) fn var_uint(&mut self) -> Result<usize> {
        let byte = self.next()?;
        if byte >= 0x80 {
            return Ok(usize::from(byte & 0x7f));
        }
        self.long_var_uint(usize::from(byte))
    }

    fn long_var_uint(&mut self, mut value: usize) -> Result<usize> {
        let start = self.at;
        loop {
            let byte = self.next()?;
            if value > usize::MAX >> 8 || self.at - start > 64 {
                return Err(Error::syntax(start, "a length or symbol number is out of range"));
            }
            value = value << 7 | usize::from(byte & 0x7f);
            if byte >= 0x80 {
                return Ok(value);
            }
        }
    }

    /// A VarInt: like a VarUInt, with the sign in the first byte. Returns sign and magnitude, since
    /// a negative zero has a meaning in a timestamp's offset.
    pub(crate) fn var_int(&mut self) -> Result<(bool, i64)> {
        let start = self.at;
        let mut byte = self.next()?;
        let negative = byte & 0x40 != 0;
        let mut value = i64::from(byte & 0x3f);
        while byte < 0x80 {
            byte = self.next()?;
            if value > i64::MAX >> 8 || self.at - start > 64 {
                return Err(Error::syntax(start, "a number is out of range"));
            }
            value = value << 7 | i64::from(byte & 0x7f);
        }
        Ok((negative, value))
    }

    /// Returns the bytes from here to `end`, which a header has checked, and skips them.
    #[inline(always)]
    pub(crate) fn take(&mut self, end: usize) -> &'a [u8] {
        let bytes = self.bytes.get(self.at..end).unwrap_or_default();
        self.at = end;
        bytes
    }
}

/// The VarUInt at `at`, and the start of the bytes after it; `None` if it is broken.
#[inline(always)]
pub(crate) fn var_uint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let byte = *bytes.get(at)?;
    if byte >= 0x80 {
        return Some((usize::from(byte & 0x7f), at + 1));
    }
    let mut cursor = Cursor::new(bytes, at + 1, true);
    let value = cursor.long_var_uint(usize::from(byte)).ok()?;
    Some((value, cursor.at))
}

/// The same, but padding also needs more to be known.
const SHORT_EXTENT: [u8; 256] = {
    let mut extent = EXTENT;
    let mut byte = 0;
    while byte < 15 {
        extent[byte] = ODD;
        byte += 1;
    }
    extent
};

/// The end of the value at `at`, if its first two bytes give it and it is not padding. The end may
/// be after the bytes.
#[inline(always)]
pub(crate) fn short_end(bytes: &[u8], at: usize) -> Option<usize> {
    match SHORT_EXTENT[usize::from(*bytes.get(at)?)] {
        length @ 0..SAID => Some(at + 1 + usize::from(length)),
        SAID => {
            let length = bytes.get(at + 1)?.checked_sub(0x80)?;
            Some(at + 2 + usize::from(length))
        }
        _ => None,
    }
}

/// The end of the value at `at`; `None` if it is after the bytes.
#[inline(always)]
pub(crate) fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    let end = match EXTENT[usize::from(*bytes.get(at)?)] {
        SAID => {
            let (length, content) = var_uint(bytes, at + 1)?;
            content.checked_add(length)?
        }
        ODD => Cursor::new(bytes, at, true).header(bytes.len()).ok()?.end,
        length => at + 1 + usize::from(length),
    };
    (end <= bytes.len()).then_some(end)
}
