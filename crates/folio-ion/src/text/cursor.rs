//! A place in a stretch of text Ion, and the small steps every reader takes from it.

use crate::error::{Error, Result};

/// What text in UTF-8, and in UTF-16 or UTF-32 of either order, may begin with elsewhere.
const ORDER_MARKS: [&[u8]; 4] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"];

/// A place in bytes that hold text Ion.
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

    /// The byte here, if the bytes reach that far.
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

    /// The byte here, where a value cannot end.
    #[inline(always)]
    pub(crate) fn need(&self) -> Result<u8> {
        self.byte().ok_or_else(|| self.end())
    }

    /// The error for bytes that end inside something.
    #[cold]
    pub(crate) fn end(&self) -> Error {
        if self.last {
            return Error::syntax(self.bytes.len(), "the input ends inside a value");
        }
        Error::incomplete(self.bytes.len())
    }

    /// Fails if more input could change what stands here.
    pub(crate) fn settled(&self) -> Result<()> {
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

    /// Steps over `byte` if it stands here.
    #[inline(always)]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Whether the bytes here start with `text`; fails while that is undecided.
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

    /// Steps over white space and comments. Reaching the end of the bytes is not an error.
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

    /// Steps over a comment if the slash here starts one.
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
        self.settled()?;
        std::str::from_utf8(&rest[..length])
            .map_err(|_| Error::syntax(self.at, "not an identifier"))
    }

    /// Whether the two colons that make the symbol before them an annotation stand here; steps over
    /// white space and them if so.
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
