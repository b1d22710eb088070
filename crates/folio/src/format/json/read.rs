//! Reads a JSON array element by element, or values one after another.
//!
//! Only the outermost layer is parsed here, to find the end of an element. Its content is validated
//! when it is put. White space between tokens is dropped, so that an element over many lines
//! becomes one line. If dropping it would join two tokens, one space stays, so that an invalid
//! element stays invalid.

use folio_json::Splitter;

use crate::error::Result;
use crate::format::Record;
use crate::format::input::{Input, MAX_RECORD_SIZE};

/// The elements of an input.
pub(crate) struct Values {
    pub(crate) input: Input,
    is_array: bool,
    place: Place,
    element: Vec<u8>,
}

/// The position of the window in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    AfterElement,
    End,
}

impl Values {
    /// Checks whether it is an array.
    pub(crate) fn new(input: Input) -> Result<Self> {
        let mut values = Self { input, is_array: false, place: Place::Start, element: Vec::new() };
        if values.peek()? == Some(b'[') {
            values.input.consume(1, 0);
            values.is_array = true;
        }
        Ok(values)
    }

    /// Continues after an element.
    pub(crate) fn resume_at(&mut self, position: u64) -> Result<()> {
        if position > self.input.position() {
            self.place = Place::AfterElement;
        }
        self.input.skip_to(position)
    }

    pub(crate) fn position(&self) -> u64 {
        self.input.position()
    }

    /// The next element.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        if !self.find_element()? {
            return Ok(None);
        }
        let line = self.input.line();
        self.read_element()?;
        if self.element.is_empty() {
            return Err(self.input.fault("value expected"));
        }
        self.place = Place::AfterElement;
        Ok(Some(Record { raw: &self.element, line, json: Ok(&self.element) }))
    }

    /// Moves to the next element; `false` at the end.
    fn find_element(&mut self) -> Result<bool> {
        if self.place == Place::End {
            return Ok(false);
        }
        let next = self.peek()?;
        if !self.is_array {
            return Ok(next.is_some());
        }
        match (self.place, next) {
            (_, Some(b']')) => return self.end_array().map(|()| false),
            (_, None) => return Err(self.input.fault("the file ends inside the array")),
            (Place::AfterElement, Some(b',')) => self.input.consume(1, 0),
            (Place::AfterElement, _) => return Err(self.input.fault("\",\" or \"]\" expected")),
            (Place::Start | Place::End, _) => return Ok(true),
        }
        match self.peek()? {
            Some(b']' | b',') => Err(self.input.fault("element expected after \",\"")),
            Some(_) => Ok(true),
            None => Err(self.input.fault("the file ends inside the array")),
        }
    }

    fn end_array(&mut self) -> Result<()> {
        self.input.consume(1, 0);
        self.place = Place::End;
        if self.peek()?.is_some() {
            return Err(self.input.fault("text after the end of the array"));
        }
        Ok(())
    }

    /// The next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let window = self.input.window();
            let found = window.iter().position(|byte| !byte.is_ascii_whitespace());
            let space = found.unwrap_or(window.len());
            let byte = window.get(space).copied();
            let line_end_count = window[..space].iter().filter(|&&byte| byte == b'\n').count();
            self.input.consume(space, line_end_count as u64);
            if byte.is_some() || !self.input.fill()? {
                return Ok(byte);
            }
        }
    }

    /// Copies the element at the start of the window and moves past it.
    fn read_element(&mut self) -> Result<()> {
        let start_line = self.input.line();
        let mut splitter = Splitter::default();
        self.element.clear();
        loop {
            let taken = splitter.take(self.input.window(), &mut self.element);
            self.input.consume(taken.size, taken.line_end_count);
            if taken.is_end {
                return Ok(());
            }
            if self.element.len() > MAX_RECORD_SIZE {
                let limit = MAX_RECORD_SIZE >> 20;
                let text = format!(
                    "the value that begins in line {start_line} is longer than {limit} MiB"
                );
                return Err(self.input.fault(text));
            }
            if !self.input.fill()? {
                if splitter.is_between_tokens() {
                    return Ok(()); // a number or word at the very end
                }
                let text =
                    format!("the file ends inside the value that begins in line {start_line}");
                return Err(self.input.fault(text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use std::io::{self, Read};

    /// Returns a few bytes per read, so that every boundary is tested.
    struct Trickle(&'static [u8], usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(self.0.len()).min(buffer.len());
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn read(text: &'static str) -> std::result::Result<Vec<(u64, String)>, String> {
        let source = Source::reader("-", Trickle(text.as_bytes(), 3));
        let mut values =
            Values::new(Input::open(source).unwrap()).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        while let Some(record) = values.next().map_err(|error| error.to_string())? {
            found.push((record.line, String::from_utf8(record.json.unwrap().to_vec()).unwrap()));
        }
        Ok(found)
    }

    fn check(text: &'static str, expected: &[(u64, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }

    #[test]
    fn arrays_and_sequences() {
        check("[]", &[]);
        check(" [ ] \n", &[]);
        check("", &[]);
        check(
            "[{\"a\":1},\n{\"b\" :\n [1.10, {}]}]",
            &[(1, "{\"a\":1}"), (2, "{\"b\":[1.10,{}]}")],
        );
        check(
            "{\"a\":1}{\"a\":2}\n\n{\"a\":3}",
            &[(1, "{\"a\":1}"), (1, "{\"a\":2}"), (3, "{\"a\":3}")],
        );
        check(
            "[1, \"],\\\"\", null,true]",
            &[(1, "1"), (1, "\"],\\\"\""), (1, "null"), (1, "true")],
        );
    }

    #[test]
    fn white_space_never_joins_tokens() {
        check("[{\"a\":1 2}]", &[(1, "{\"a\":1 2}")]);
        check("[{\"a\":tr\nue}]", &[(1, "{\"a\":tr ue}")]);
    }

    #[test]
    fn broken_structure_is_told_with_its_line() {
        for (text, reason) in [
            ("[{}\n{}]", "line 2: \",\" or"),
            ("[{},]", "element expected"),
            ("[{}\n", "line 2: the file ends inside the array"),
            ("[\n{\"a\":\"", "the value that begins in line 2"),
            ("[{}] x", "text after the end"),
            ("[}", "value expected"),
            ("{} }", "value expected"),
            ("[,]", "value expected"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn goes_on_after_any_element() {
        let text = "[{\"a\":1},\n {\"a\":2} ,{\"a\":3}\n]";
        let mut positions = Vec::new();
        let open =
            || Values::new(Input::open(Source::reader("-", text.as_bytes())).unwrap()).unwrap();
        let mut values = open();
        while values.next().unwrap().is_some() {
            positions.push(values.position());
        }
        for (index, position) in positions.into_iter().enumerate() {
            let mut values = open();
            values.resume_at(position).unwrap();
            let mut rest = 0;
            while values.next().unwrap().is_some() {
                rest += 1;
            }
            assert_eq!(rest, 2 - index);
        }
    }
}
