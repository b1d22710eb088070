//! JSON Lines: one record per line.

use crate::error::Result;
use crate::format::Record;
use crate::format::input::{Input, MAX_RECORD_SIZE};

/// The non-blank lines of an input.
pub(crate) struct Lines {
    pub(crate) input: Input,
    /// Bytes of the last record and its line end, consumed once it is no longer borrowed.
    lent: usize,
}

impl Lines {
    pub(crate) fn new(input: Input) -> Self {
        Self { input, lent: 0 }
    }

    /// The position of the next record, in decompressed bytes.
    pub(crate) fn position(&self) -> u64 {
        self.input.position() + self.lent as u64
    }

    /// The next line, without its line end.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        let size = loop {
            self.return_borrowed();
            let Some((size, with_end)) = self.find_line()? else { return Ok(None) };
            if size > MAX_RECORD_SIZE {
                return self.skip_long_line().map(Some);
            }
            self.lent = with_end;
            if !self.input.window()[..size].trim_ascii_start().is_empty() {
                break size;
            }
        };
        let line = self.input.window()[..size].trim_ascii();
        Ok(Some(Record { raw: line, line: self.input.line(), json: Ok(line) }))
    }

    fn return_borrowed(&mut self) {
        let ends = self.input.window()[..self.lent].last() == Some(&b'\n');
        self.input.consume(self.lent, u64::from(ends));
        self.lent = 0;
    }

    /// Size of the line at the start of the window, without and with its end;
    /// `None` at the end of the source.
    fn find_line(&mut self) -> Result<Option<(usize, usize)>> {
        let mut searched = 0;
        loop {
            let window = self.input.window();
            if let Some(at) = memchr::memchr(b'\n', &window[searched..]) {
                return Ok(Some((searched + at, searched + at + 1)));
            }
            searched = window.len();
            if searched > MAX_RECORD_SIZE {
                return Ok(Some((searched, searched)));
            }
            if !self.input.fill()? {
                return Ok((searched > 0).then_some((searched, searched)));
            }
        }
    }

    /// Skips a line that is too long to hold.
    #[cold]
    fn skip_long_line(&mut self) -> Result<Record<'_>> {
        let line = self.input.line();
        loop {
            let window = self.input.window();
            if let Some(at) = memchr::memchr(b'\n', window) {
                self.input.consume(at + 1, 1);
                break;
            }
            self.input.consume(window.len(), 0);
            if !self.input.fill()? {
                break;
            }
        }
        let reason = format!("longer than {} MiB", MAX_RECORD_SIZE >> 20);
        Ok(Record { raw: b"", line, json: Err(reason) })
    }
}
