//! Finds the fields of one CSV row.

use std::borrow::Cow;

/// One field of a row, as a byte range without the surrounding quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    start: usize,
    end: usize,
    /// Whether it is in quotes.
    pub(crate) is_quoted: bool,
    /// Whether it contains doubled quotes.
    has_quotes: bool,
}

impl Field {
    /// The field's text, or `None` when it is not UTF-8.
    pub(crate) fn text<'a>(&self, row: &'a [u8]) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(&row[self.start..self.end]).ok()?;
        if self.has_quotes {
            return Some(Cow::Owned(text.replace("\"\"", "\"")));
        }
        Some(Cow::Borrowed(text))
    }
}

/// A resumable scan of one row.
#[derive(Debug, Default)]
pub(crate) struct RowScan {
    /// The fields found so far; complete once `step` has found the end.
    pub(crate) fields: Vec<Field>,
    /// Line feeds inside the row, including its own.
    pub(crate) line_end_count: u64,
    /// Why the row cannot be used.
    pub(crate) fault: Option<&'static str>,
    at: usize,
    field_start: usize,
    has_quotes: bool,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    FieldStart,
    Bare,
    Quoted,
    /// After a quote inside quotes: it ends the field, or is the first of two.
    QuoteSeen,
}

impl RowScan {
    /// Starts a new row.
    pub(crate) fn begin(&mut self) {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        *self = Self { fields, ..Self::default() };
    }

    /// Continues the scan in `window`, which begins at the start of the row. Returns the row's size
    /// with its line end once found.
    pub(crate) fn step(&mut self, window: &[u8], delimiter: u8) -> Option<usize> {
        while self.at < window.len() {
            match self.state {
                State::FieldStart => self.start_field(window[self.at]),
                State::Bare => {
                    let Some(found) = memchr::memchr2(delimiter, b'\n', &window[self.at..]) else {
                        self.at = window.len();
                        return None;
                    };
                    self.at += found;
                    self.push_field(without_return(window, self.field_start, self.at), false);
                    if self.pass_separator(window[self.at]) {
                        return Some(self.at);
                    }
                }
                State::Quoted => {
                    let Some(found) = memchr::memchr2(b'"', b'\n', &window[self.at..]) else {
                        self.at = window.len();
                        return None;
                    };
                    self.at += found + 1;
                    match window[self.at - 1] {
                        b'"' => self.state = State::QuoteSeen,
                        _ => self.line_end_count += 1,
                    }
                }
                State::QuoteSeen => {
                    if self.after_quote(window, delimiter)? {
                        return Some(self.at);
                    }
                }
            }
        }
        None
    }

    /// Ends the row at the end of the source, after `size` bytes.
    pub(crate) fn end(&mut self, size: usize) {
        match self.state {
            State::FieldStart if size == 0 => {}
            State::FieldStart => {
                self.field_start = size;
                self.push_field(size, false);
            }
            State::Bare => self.push_field(size, false),
            State::QuoteSeen => self.push_field(self.at - 1, true),
            State::Quoted => self.fault = Some("a quote that is opened here is not closed"),
        }
    }

    fn start_field(&mut self, byte: u8) {
        self.has_quotes = false;
        self.state = if byte == b'"' { State::Quoted } else { State::Bare };
        self.at += usize::from(byte == b'"');
        self.field_start = self.at;
    }

    /// `Some(true)` at the end of the row, `None` when more bytes are needed.
    fn after_quote(&mut self, window: &[u8], delimiter: u8) -> Option<bool> {
        let byte = window[self.at];
        match byte {
            b'"' => {
                self.has_quotes = true;
                self.at += 1;
                self.state = State::Quoted;
            }
            b'\r' if window.get(self.at + 1)? == &b'\n' => {
                self.push_field(self.at - 1, true);
                self.at += 1;
                return Some(self.pass_separator(b'\n'));
            }
            _ if byte == delimiter || byte == b'\n' => {
                self.push_field(self.at - 1, true);
                return Some(self.pass_separator(byte));
            }
            _ => {
                self.fault = Some("text after a closing quote");
                self.state = State::Bare;
            }
        }
        Some(false)
    }

    /// Steps over a separator; `true` when it ends the row too.
    fn pass_separator(&mut self, byte: u8) -> bool {
        self.at += 1;
        self.state = State::FieldStart;
        let ends_row = byte == b'\n';
        if ends_row {
            // Not `+= u64::from(ends_row)`: rustc 1.95 loses the sum where a
            // branch on the same comparison follows by inlining.
            self.line_end_count += 1;
        }
        ends_row
    }

    fn push_field(&mut self, end: usize, is_quoted: bool) {
        let (start, has_quotes) = (self.field_start, self.has_quotes);
        self.fields.push(Field { start, end, is_quoted, has_quotes: has_quotes && is_quoted });
    }
}

/// The end of a bare field, without the carriage return of a CRLF.
fn without_return(window: &[u8], start: usize, end: usize) -> usize {
    let has_return = end > start && window[end] == b'\n' && window[end - 1] == b'\r';
    end - usize::from(has_return)
}
