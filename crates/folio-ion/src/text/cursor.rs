//! A position in text Ion, and the basic steps of all readers.

use crate::error::{Error, Result};

/// Byte-order marks of UTF-8, and of UTF-16 and UTF-32 in either order.
const ORDER_MARKS: [&[u8]; 4] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"];

/// A position in bytes of text Ion.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    /// Whether the stream ends where `bytes` end.
    pub(crate) last: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize, last: bool) -> Cursor<'a> {
        Cursor { bytes, at, last }
    }

    /// The byte here, if there is one.
    #[inline(always)]
    pub(crate) fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The byte `ahead` bytes from here.
    #[inline(always)]
    pub(crate) fn ahead(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The byte here, inside a value that cannot end here.
    #[inline(always)]
    pub(crate) fn need(&self) -> Result<u8> {
        self.byte().ok_or_else(|| self.end())
    }

    /// The error for bytes that end inside a value.
    #[cold]
    pub(crate) fn end(&self) -> Error {
        if self.last {
            return Error::syntax(self.bytes.len(), "the input ends inside a value");
        }
        Error::incomplete(self.bytes.len())
    }

    /// Fails if more input could change the token here.
    pub(crate) fn check_complete(&self) -> Result<()> {
        if self.at >= self.bytes.len() && !self.last {
            return Err(self.end());
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn unexpected(&self, wanted: &str) -> Error {
        let Some(byte) = self.byte() else { return self.end() };
        let found = match byte {
            b' '..=b'~' => format!("`{}`", byte as char),
            _ if ORDER_MARKS.iter().any(|mark| self.rest().starts_with(mark)) => {
                "a byte order mark; write the text as UTF-8 without one".to_owned()
            }
            _ => format!("byte 0x{byte:02x}"),
        };
        Error::syntax(self.at, format!("expected {wanted}, found {found}"))
    }

    /// Skips `byte` if it is here.
    #[inline(always)]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Whether the bytes here start with `text`. Fails if more input is needed to decide.
    pub(crate) fn looking_at(&self, text: &[u8]) -> Result<bool> {
        let rest = self.rest();
        if rest.len() >= text.len() {
            return Ok(rest.starts_with(text));
        }
        if text.starts_with(rest) && !self.last {
            return Err(self.end());
        }
        Ok(false)
    }

    /// Skips white space and comments. The end of the bytes is not an error.
    #[inline(always)]
    pub(crate) fn space(&mut self) -> Result<()> {
        match self.byte() {
            Some(b'!'..=b'.' | b'0'..=b'~') => Ok(()),
            _ => self.long_space(),
        }
    }

    fn long_space(&mut self) -> Result<()> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'/') => {
                    if !self.comment()? {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Skips a comment, if the slash here starts one.
    fn comment(&mut self) -> Result<bool> {
        match self.ahead(1) {
            Some(b'/') => {
                let found = memchr::memchr2(b'\n', b'\r', self.rest());
                match found {
                    Some(length) => self.at += length,
                    None if self.last => self.at = self.bytes.len(),
                    None => return Err(self.end()),
                }
                Ok(true)
            }
            Some(b'*') => {
                let found = memchr::memmem::find(&self.bytes[self.at + 2..], b"*/");
                self.at += 4 + found.ok_or_else(|| self.end())?;
                Ok(true)
            }
            None if !self.last => Err(self.end()),
            _ => Ok(false),
        }
    }

    /// The identifier that starts here.
    pub(crate) fn identifier(&mut self) -> Result<&'a str> {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| is_identifier_part(**byte)).count();
        self.at += length;
        self.check_complete()?;
        std::str::from_utf8(&rest[..length])
            .map_err(|_| Error::syntax(self.at, "not an identifier"))
    }

    /// Whether two colons follow, which make the symbol before them an annotation. If so, skips
    /// them and the white space before them.
    pub(crate) fn colons(&mut self) -> Result<bool> {
        let start = self.at;
        self.space()?;
        if self.looking_at(b"::")? {
            self.at += 2;
            return Ok(true);
        }
        self.at = start;
        Ok(false)
    }
}

pub(crate) fn is_identifier_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$'
}

pub(crate) fn is_identifier_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
