//! Finds the end of values in text that is read in pieces, such as the elements of a large array.
//!
//! It follows brackets and strings only: whether a value is JSON is for the caller to check.

/// The state inside a value.
#[derive(Debug, Default)]
pub struct Splitter {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Whether white space was just dropped.
    had_space: bool,
}

/// What was taken of a piece of the text.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// Its size in bytes.
    pub size: usize,
    /// The number of line ends in it.
    pub line_end_count: u64,
    /// Whether the value ends here.
    pub is_end: bool,
}

impl Splitter {
    /// Copies the part of `window` that belongs to the value, without white space between tokens.
    pub fn take(&mut self, window: &[u8], element: &mut Vec<u8>) -> Taken {
        let mut at = 0;
        let mut line_end_count = 0;
        let mut is_end = false;
        while at < window.len() && !is_end {
            if self.in_string {
                at += self.string_piece(&window[at..], element, &mut line_end_count);
                is_end = !self.in_string && self.depth == 0;
                continue;
            }
            let byte = window[at];
            match byte {
                b',' | b'}' | b']' if self.depth == 0 => {
                    is_end = true; // a number or word ends in front of it
                    break;
                }
                _ if byte.is_ascii_whitespace() => {
                    line_end_count += u64::from(byte == b'\n');
                    self.had_space = true;
                    is_end = self.depth == 0;
                }
                _ => {
                    self.token_byte(byte, element);
                    is_end = self.depth == 0 && matches!(byte, b'}' | b']');
                }
            }
            at += 1;
        }
        Taken { size: at, line_end_count, is_end }
    }

    /// Whether a value could end here that has no end of its own: a number or a word.
    #[must_use]
    pub fn is_between_tokens(&self) -> bool {
        self.depth == 0 && !self.in_string
    }

    fn token_byte(&mut self, byte: u8, element: &mut Vec<u8>) {
        let is_plain = |byte: u8| !matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"');
        if self.had_space && is_plain(byte) && element.last().is_some_and(|&last| is_plain(last)) {
            element.push(b' ');
        }
        self.had_space = false;
        element.push(byte);
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }

    /// Copies a string up to its end or the window's. Returns the number of bytes taken.
    fn string_piece(
        &mut self,
        window: &[u8],
        element: &mut Vec<u8>,
        line_end_count: &mut u64,
    ) -> usize {
        let mut at = 0;
        if self.is_escaped {
            self.is_escaped = false;
            at = 1;
        }
        while let Some(found) = memchr::memchr3(b'"', b'\\', b'\n', &window[at..]) {
            at += found + 1;
            match window[at - 1] {
                b'"' => {
                    self.in_string = false;
                    break;
                }
                b'\\' if at == window.len() => {
                    self.is_escaped = true;
                    break;
                }
                b'\\' => at += 1,
                _ => *line_end_count += 1, // wrong inside a string, which a check of the value reports
            }
        }
        let taken = if self.in_string { window.len() } else { at };
        element.extend_from_slice(&window[..taken]);
        taken
    }
}
