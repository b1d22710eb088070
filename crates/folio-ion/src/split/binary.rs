//! Finds the ends of binary values from their headers.

use super::{Format, Splitter, Step, Stop};
use crate::binary::{self, Kind, value_end};
use crate::error::{Error, Result};
use crate::text::TopLevel;
use std::io::Read;

impl<R: Read> Splitter<R> {
    /// Skips binary values. Returns where and why it stopped, and how many values there were.
    pub(super) fn scan_binary(&mut self, bytes: &[u8]) -> Result<(Stop, u64)> {
        let mut cursor = binary::Cursor::new(bytes, 0, self.last);
        let mut count = 0;
        self.ends.clear();
        let places_fit = bytes.len() <= u32::MAX as usize;
        // The header gives a list's end; its elements are before it.
        let limit = match self.list {
            Some(end) => usize::try_from(end - self.base).unwrap_or(usize::MAX).min(bytes.len()),
            None => bytes.len(),
        };
        let ends_here = self.list.is_some_and(|end| end - self.base <= bytes.len() as u64);
        while cursor.at < limit {
            if places_fit && (self.list.is_some() || self.format != Format::List) {
                (cursor.at, count) = self.stretch_of_structs(&bytes[..limit], cursor.at, count);
            }
            let start = cursor.at;
            let Some(&byte) = bytes[..limit].get(start) else { break };
            let step = match byte {
                0xe0 if self.list.is_none() => Ok(Step::System),
                0xb0..=0xbe if self.list.is_none() && self.opens_list(count) => Ok(Step::System),
                _ => self.step_binary(&mut cursor, limit),
            };
            match step {
                Ok(Step::Value) => {
                    count += 1;
                    if places_fit {
                        self.ends.push(cursor.at as u32);
                    }
                }
                // Padding stays in the block, or is left for the next one.
                Ok(Step::End) => {}
                Ok(Step::System) => return Ok((Stop::System(start), count)),
                Err(error) if error.is_incomplete() && !ends_here => {
                    return Ok((Stop::Incomplete(start), count));
                }
                Err(_) if count > 0 => return Ok((Stop::Incomplete(start), count)),
                Err(error) => return Err(error),
            }
        }
        let stop = match (ends_here, self.last) {
            (true, _) => Stop::System(limit),
            (false, true) => Stop::End(limit),
            (false, false) => Stop::Incomplete(limit),
        };
        Ok((stop, count))
    }

    /// Skips plain structs from `at` on. Returns the position after them and the new count.
    #[inline(always)]
    fn stretch_of_structs(&mut self, bytes: &[u8], mut at: usize, mut count: u64) -> (usize, u64) {
        while let Some(0xd0 | 0xd2..=0xde) = bytes.get(at)
            && let Some(end) = value_end(bytes, at)
        {
            self.ends.push(end as u32);
            count += 1;
            at = end;
        }
        (at, count)
    }

    #[inline(always)]
    fn step_binary(&self, cursor: &mut binary::Cursor<'_>, limit: usize) -> Result<Step> {
        let start = cursor.at;
        let header = cursor.header(limit)?;
        if self.list.is_none() && self.is_system(cursor.clone(), start, header.kind)? {
            return Ok(Step::System);
        }
        if self.format == Format::List && self.list.is_none() && !header.is_padding() {
            let message = "expected a list of records; use format := 'newline_delimited'";
            return Err(Error::syntax(cursor.at, message));
        }
        cursor.at = header.end;
        Ok(if header.is_padding() { Step::End } else { Step::Value })
    }

    /// Whether the value at `start` is not data. A symbol table is a struct whose first annotation
    /// is symbol 3. The version marker's name as a symbol has no meaning. The cursor is after the
    /// value's header.
    fn is_system(&self, mut cursor: binary::Cursor<'_>, start: usize, kind: Kind) -> Result<bool> {
        match kind {
            Kind::Annotation => {
                cursor.var_uint()?;
                if cursor.var_uint()? != 3 {
                    return Ok(false);
                }
                cursor.at = start;
                Ok(!self.is_value(&cursor.top_level(self.context())?))
            }
            // The reader of the block reports a symbol that is in no table.
            Kind::Symbol => {
                cursor.at = start;
                Ok(matches!(cursor.top_level(self.context()), Ok(TopLevel::Nop)))
            }
            _ => Ok(false),
        }
    }

    pub(super) fn system_binary(&mut self, bytes: &[u8], at: usize) -> Result<usize> {
        let mut cursor = binary::Cursor::new(bytes, at, self.last);
        if self.list.is_some() {
            self.list = None;
            return Ok(at);
        }
        if matches!(bytes.get(at), Some(0xb0..=0xbe)) {
            let limit = usize::MAX;
            let header = cursor.header(limit)?;
            self.list = Some(self.base + header.end as u64);
            return Ok(cursor.at);
        }
        let found = cursor.top_level(self.context())?;
        self.define(found, at)?;
        Ok(cursor.at)
    }
}
