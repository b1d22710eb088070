//! Amazon Ion, text or binary: values one after another, or the elements of one list.
//!
//! A value becomes the closest JSON, see [`folio_ion::write::to_json`]: integers and decimals keep
//! every digit; symbols, timestamps, clobs and blobs (base64) become text. A record that is broken
//! inside is rejected. If the end of one cannot be found, the import stops.

use std::collections::VecDeque;
use std::io::{self, Read};

use folio_ion::shred::Block;
use folio_ion::write::{JsonWriter, to_text, write_element};
use folio_ion::{Encoding, Limits, Splitter};

use crate::error::{Error, Result};
use crate::format::Record;
use crate::format::input::{Input, MAX_RECORD_SIZE};

/// Bytes of whole values per block.
const BLOCK_SIZE: usize = 256 << 10;

/// The values of an input.
pub(crate) struct IonValues {
    splitter: Splitter<Numbered>,
    block: Option<Block>,
    /// The position of the next value in the block.
    at: usize,
    /// The number of values read.
    count: u64,
    limits: Limits,
    json: String,
    raw: Vec<u8>,
}

impl IonValues {
    pub(crate) fn new(input: Input) -> Self {
        let limits = Limits { value_size: MAX_RECORD_SIZE, ..Limits::default() };
        let is_pipe = input.is_pipe();
        let source =
            Numbered { offset: input.position(), input, line_ends: VecDeque::new(), line: 1 };
        let mut splitter = Splitter::new(source, BLOCK_SIZE, folio_ion::Format::Auto, limits);
        splitter.set_eager(is_pipe);
        Self {
            splitter,
            block: None,
            at: 0,
            count: 0,
            limits,
            json: String::new(),
            raw: Vec::new(),
        }
    }

    pub(crate) fn input(&self) -> &Input {
        &self.splitter.get_ref().input
    }

    /// The number of values read. In a binary stream the meaning of a byte depends on what precedes
    /// it, so no byte offset is a place to resume from.
    pub(crate) fn position(&self) -> u64 {
        self.count
    }

    /// Continues after `count` values.
    pub(crate) fn resume_at(&mut self, count: u64) -> Result<()> {
        while self.count < count {
            if !self.find_value()? {
                let text = "it is shorter than it was when the import began; restart it";
                return Err(self.fault(self.splitter.offset(), text));
            }
            self.pass_value();
        }
        Ok(())
    }

    /// The next value, as JSON.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        if !self.find_value()? {
            return Ok(None);
        }
        let Some(block) = &self.block else { return Ok(None) };
        let start = block.seek(self.at).unwrap_or(self.at);
        let line = match block.encoding {
            Encoding::Text => self.splitter.get_mut().line_at(block.offset + start as u64),
            Encoding::Binary => self.count + 1,
        };
        let value = match block.element(self.at, &self.limits) {
            // Comments or padding after the last value of the source.
            Ok(None) => {
                self.block = None;
                return self.next();
            }
            Ok(Some((element, end))) => {
                let mut writer = JsonWriter::new();
                write_element(&mut writer, &element);
                self.json = writer.take_text();
                self.raw.clear();
                match block.encoding {
                    Encoding::Text => self.raw.extend_from_slice(&block.bytes[start..end]),
                    Encoding::Binary => self.raw.extend(to_text(&element).into_bytes()),
                }
                self.at = end;
                element.lost_symbol(true).map_or(Ok(self.json.as_bytes()), Err)
            }
            Err(error) => {
                self.raw.clear();
                self.pass_value();
                self.count -= 1;
                Err(error.to_string())
            }
        };
        self.count += 1;
        Ok(Some(Record { raw: &self.raw, line, json: value }))
    }

    /// Ensures that a value is at `at`; `false` at the end of the source.
    fn find_value(&mut self) -> Result<bool> {
        while self.block.as_ref().is_none_or(|block| self.at >= block.bytes.len()) {
            let recycled = self.block.take().map(|block| block.bytes).unwrap_or_default();
            match self.splitter.next_block(recycled) {
                Ok(Some(block)) => {
                    self.at = block.start;
                    self.block = Some(block);
                }
                Ok(None) => return Ok(false),
                Err(error) => return Err(self.fault(error.offset(), &error.to_string())),
            }
        }
        Ok(true)
    }

    /// Steps over the value at `at`, or over the rest of the block if its end cannot be found.
    fn pass_value(&mut self) {
        let Some(block) = &self.block else { return };
        self.at = block.skip(self.at).unwrap_or(block.bytes.len());
        self.count += 1;
    }

    fn fault(&mut self, offset: u64, reason: &str) -> Error {
        let source = self.splitter.get_mut();
        let line = source.line_at(offset);
        Error::Source {
            source_name: source.input.name().to_owned(),
            line,
            reason: reason.to_owned(),
        }
    }
}

/// An input as a plain reader that maps offsets to lines.
struct Numbered {
    input: Input,
    /// Offset of the next byte.
    offset: u64,
    /// Offsets of the line feeds read but not counted in `line` yet.
    line_ends: VecDeque<u64>,
    /// The line of the last offset asked for.
    line: u64,
}

impl Numbered {
    /// The line, from 1, of an offset. Offsets must not decrease between calls.
    fn line_at(&mut self, offset: u64) -> u64 {
        while self.line_ends.front().is_some_and(|end| *end < offset) {
            self.line_ends.pop_front();
            self.line += 1;
        }
        self.line
    }
}

impl Read for Numbered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.input.window().is_empty() {
            self.input.fill().map_err(io::Error::other)?;
        }
        let size = self.input.window().len().min(buffer.len());
        let bytes = &self.input.window()[..size];
        buffer[..size].copy_from_slice(bytes);
        let before = self.line_ends.len();
        self.line_ends.extend(memchr::memchr_iter(b'\n', bytes).map(|at| self.offset + at as u64));
        let line_end_count = self.line_ends.len() - before;
        self.input.consume(size, line_end_count as u64);
        self.offset += size as u64;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn read(bytes: &[u8]) -> Vec<String> {
        let source = Source::reader("x", io::Cursor::new(bytes.to_vec()));
        let mut values = IonValues::new(Input::open(source).unwrap());
        let mut found = Vec::new();
        loop {
            match values.next() {
                Ok(Some(Record { line, json: Ok(json), .. })) => {
                    found.push(format!("{line}: {}", String::from_utf8_lossy(json)));
                }
                Ok(Some(Record { line, json: Err(reason), .. })) => {
                    found.push(format!("{line}: rejected, {reason}"));
                }
                Ok(None) => return found,
                Err(error) => {
                    found.push(error.to_string());
                    return found;
                }
            }
        }
    }

    #[test]
    fn values_become_json_with_their_lines() {
        let text =
            b"// a comment\n{_id: a, n: 1.10, t: 2024-02-29T, b: {{aGk=}}}\n\n{\n  _id: b,\n}\n";
        let expected =
            [r#"2: {"_id":"a","n":1.10,"t":"2024-02-29","b":"aGk="}"#, r#"4: {"_id":"b"}"#];
        assert_eq!(read(text), expected);
        assert_eq!(read(b"[\n{a: 1},\n{a: 2}\n]\n"), [r#"2: {"a":1}"#, r#"3: {"a":2}"#]);
        assert_eq!(read(b" // nothing\n"), Vec::<String>::new());
    }

    #[test]
    fn binary_values_are_numbered() {
        let values = folio_ion::read_all(b"{_id: a, n: 12345678901234567890} {_id: b}").unwrap();
        let binary = folio_ion::write::to_binary(&values);
        let expected = [r#"1: {"_id":"a","n":12345678901234567890}"#, r#"2: {"_id":"b"}"#];
        assert_eq!(read(&binary), expected);
    }

    #[test]
    fn what_is_broken_is_told_with_its_place() {
        let found = read(b"{a: 1}\n{a: 0x}\n{a: 2}\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[1].starts_with("2: rejected, ") && found[1].contains("byte"), "{found:?}");
        let found = read(b"{a: 1}\n{a: [\n");
        assert!(found[1].contains("line 3") && found[1].contains("byte 13"), "{found:?}");
    }

    #[test]
    fn reading_goes_on_after_a_count() {
        let source = Source::reader("x", &b"{a:1} {a:2}\n{a:3}"[..]);
        let mut values = IonValues::new(Input::open(source).unwrap());
        values.resume_at(2).unwrap();
        let record = values.next().unwrap().unwrap();
        assert_eq!((record.line, record.json.unwrap()), (2, &br#"{"a":3}"#[..]));
        assert!(values.resume_at(9).is_err());
    }
}
