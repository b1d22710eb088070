//! Finds the ends of text values.
//!
//! Records with one line each are found line by line. The text cursor skips all others (spread over
//! lines, annotated, elements of a list) value by value.

use super::{Format, Splitter, Step, Stop};
use crate::error::Result;
use crate::kernel::skip_records;
use crate::text;
use std::io::Read;

/// After a run of fewer lines than this, the next few values are skipped one by one.
const SHORT_STRETCH: usize = 4;
const DETOUR: u32 = 64;

impl<R: Read> Splitter<R> {
    /// Skips text values. Returns where and why it stopped, and how many values there were.
    pub(super) fn scan_text(&mut self, bytes: &[u8]) -> Result<(Stop, u64)> {
        let mut cursor = text::Cursor::new(bytes, 0, self.last);
        let mut count = 0;
        let mut complete = 0;
        self.ends.clear();
        loop {
            if let Some(at) = self.stretch(bytes, cursor.at, count) {
                count = self.ends.len() as u64;
                complete = at;
                cursor.at = at;
            }
            match self.step_text(&mut cursor, count) {
                Ok(Step::Value) => {
                    count += 1;
                    complete = cursor.at;
                }
                Ok(Step::System) => return Ok((Stop::System(cursor.at), count)),
                Ok(Step::End) => return Ok((Stop::End(cursor.at), count)),
                Err(error) if error.is_incomplete() => {
                    return Ok((Stop::Incomplete(complete), count));
                }
                // The values before the error are fine; the error is reported after them.
                Err(_) if count > 0 => return Ok((Stop::Incomplete(complete), count)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Skips records with one line each, if the block started with such. Returns the position after
    /// them.
    #[inline(always)]
    fn stretch(&mut self, bytes: &[u8], at: usize, count: u64) -> Option<usize> {
        // Ends are recorded only for the first values of a block: for all of them or none.
        let possible = self.list.is_none() && self.format != Format::List;
        if !possible || self.ends.len() as u64 != count || bytes.len() > u32::MAX as usize {
            return None;
        }
        let blank = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if bytes.get(at + blank) != Some(&b'{') {
            return None;
        }
        if self.detour > 0 {
            self.detour -= 1;
            return None;
        }
        let next = skip_records(bytes, at + blank, &mut self.ends);
        let found = self.ends.len() as u64 - count;
        let plenty = bytes.len() - next > self.block_size / 2;
        if found < SHORT_STRETCH as u64 && plenty {
            self.detour = DETOUR;
        }
        (found > 0).then_some(next)
    }

    #[inline(always)]
    fn step_text(&self, cursor: &mut text::Cursor<'_>, count: u64) -> Result<Step> {
        cursor.space()?;
        let Some(byte) = cursor.byte() else {
            if !cursor.last {
                return Err(cursor.end());
            }
            if self.list.is_some() {
                return Err(cursor.end());
            }
            return Ok(Step::End);
        };
        if self.list.is_some() {
            return self.step_element(cursor, byte, count);
        }
        match byte {
            b'{' if cursor.ahead(1) != Some(b'{') => {
                cursor.at += 1;
                cursor.skip_open(1)?;
            }
            // May be a version marker or a symbol table, also with a quoted annotation.
            b'$' | b'\'' => {
                let mut ahead = cursor.clone();
                if !self.is_value(&ahead.top_level(self.context())?) {
                    return Ok(Step::System);
                }
                self.step_other(cursor)?;
            }
            b'[' if self.opens_list(count) => return Ok(Step::System),
            _ => self.step_other(cursor)?,
        }
        Ok(Step::Value)
    }

    /// A top-level value that is not a plain struct.
    fn step_other(&self, cursor: &mut text::Cursor<'_>) -> Result<()> {
        let start = cursor.at;
        if self.format == Format::List {
            return Err(cursor.unexpected("a list of records; use format := 'newline_delimited'"));
        }
        cursor.skip_value()?;
        cursor.check_complete()?;
        if cursor.at == start {
            return Err(cursor.unexpected("a value"));
        }
        if cursor.byte() == Some(b',') {
            return Err(cursor.unexpected("a value"));
        }
        Ok(())
    }

    fn step_element(&self, cursor: &mut text::Cursor<'_>, byte: u8, count: u64) -> Result<Step> {
        if byte == b']' {
            return Ok(Step::System);
        }
        // A comma belongs to the element after it, so that a block may start with one.
        let is_first = self.list == Some(self.rows + count);
        if byte == b',' && !is_first {
            cursor.at += 1;
            cursor.space()?;
            if cursor.need()? == b']' {
                return Ok(Step::System);
            }
        } else if !is_first {
            return Err(cursor.unexpected("`,` or `]`"));
        }
        let start = cursor.at;
        cursor.skip_value()?;
        if cursor.at == start {
            return Err(cursor.unexpected("a value"));
        }
        cursor.space()?;
        cursor.need()?;
        Ok(Step::Value)
    }

    pub(super) fn system_text(&mut self, bytes: &[u8], at: usize) -> Result<usize> {
        let mut cursor = text::Cursor::new(bytes, at, self.last);
        if self.list.is_some() {
            // The end, perhaps after a last comma.
            cursor.at += 1;
            self.list = None;
            return Ok(cursor.at);
        }
        if cursor.byte() == Some(b'[') {
            self.list = Some(self.rows);
            return Ok(at + 1);
        }
        let found = cursor.top_level(self.context())?;
        self.define(found, at)?;
        Ok(cursor.at)
    }
}
