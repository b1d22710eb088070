//! Blanks comments and string contents, so that the checks see code only.
//!
//! Every blanked byte becomes a space and newlines stay, so an offset or a
//! line number in the result is one in the source. Rust is covered in full
//! (nested comments, raw strings, characters against lifetimes); Python and
//! JavaScript by the simple rules their checks need: a regular expression
//! literal that holds a quote blanks to the end of its line and no further.

use super::tree::Language;

pub(super) fn blank(text: &str, language: Language) -> String {
    if !matches!(language, Language::Rust | Language::Python | Language::Script) {
        return text.to_owned();
    }
    let mut scanner =
        Scanner { bytes: text.as_bytes(), at: 0, code: Vec::with_capacity(text.len()) };
    while scanner.at < scanner.bytes.len() {
        match language {
            Language::Rust => scanner.rust_token(),
            Language::Python => scanner.python_token(),
            _ => scanner.script_token(),
        }
    }
    String::from_utf8(scanner.code).expect("whole tokens are blanked, so characters stay whole")
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
}

impl Scanner<'_> {
    fn rust_token(&mut self) {
        if self.starts_with(b"//") {
            self.blank_line();
        } else if self.starts_with(b"/*") {
            self.blank_nested_comment();
        } else if let Some(hash_count) = self.raw_string_hashes() {
            self.blank_raw_string(hash_count);
        } else if self.starts_with(b"\"") {
            self.blank_quoted(b"\"", true);
        } else if self.starts_with(b"'") && self.is_character_literal() {
            self.blank_quoted(b"'", false);
        } else {
            self.keep();
        }
    }

    fn python_token(&mut self) {
        if self.starts_with(b"#") {
            self.blank_line();
        } else if self.starts_with(b"\"\"\"") || self.starts_with(b"'''") {
            let quotes = [self.bytes[self.at]; 3];
            self.blank_quoted(&quotes, true);
        } else if self.starts_with(b"\"") || self.starts_with(b"'") {
            let quote = [self.bytes[self.at]];
            self.blank_quoted(&quote, false);
        } else {
            self.keep();
        }
    }

    fn script_token(&mut self) {
        if self.starts_with(b"//") {
            self.blank_line();
        } else if self.starts_with(b"/*") {
            self.blank_until(b"*/", 2);
        } else if self.starts_with(b"`") {
            self.blank_quoted(b"`", true);
        } else if self.starts_with(b"\"") || self.starts_with(b"'") {
            let quote = [self.bytes[self.at]];
            self.blank_quoted(&quote, false);
        } else {
            self.keep();
        }
    }

    fn starts_with(&self, prefix: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(prefix)
    }

    fn keep(&mut self) {
        self.code.push(self.bytes[self.at]);
        self.at += 1;
    }

    fn blank_byte(&mut self) {
        if let Some(&byte) = self.bytes.get(self.at) {
            self.code.push(if byte == b'\n' { b'\n' } else { b' ' });
            self.at += 1;
        }
    }

    fn blank_bytes(&mut self, count: usize) {
        for _ in 0..count {
            self.blank_byte();
        }
    }

    fn blank_line(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.blank_byte();
        }
    }

    /// Blanks `skip` bytes and everything up to and including `end`.
    fn blank_until(&mut self, end: &[u8], skip: usize) {
        self.blank_bytes(skip);
        while self.at < self.bytes.len() && !self.starts_with(end) {
            self.blank_byte();
        }
        self.blank_bytes(end.len());
    }

    fn blank_nested_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.starts_with(b"/*") {
                depth += 1;
                self.blank_bytes(2);
            } else if self.starts_with(b"*/") {
                depth -= 1;
                self.blank_bytes(2);
            } else {
                self.blank_byte();
            }
            if depth == 0 || self.at >= self.bytes.len() {
                return;
            }
        }
    }

    /// Blanks a literal with backslash escapes; one that may not span lines
    /// ends with its line.
    fn blank_quoted(&mut self, quote: &[u8], spans_lines: bool) {
        self.blank_bytes(quote.len());
        while self.at < self.bytes.len() && !self.starts_with(quote) {
            if self.bytes[self.at] == b'\n' && !spans_lines {
                return;
            }
            let escaped = self.bytes[self.at] == b'\\';
            self.blank_bytes(1 + usize::from(escaped));
        }
        self.blank_bytes(quote.len());
    }

    /// The number of `#` of a raw string that starts here, prefix included
    /// (`r"`, `br##"`, `cr#"`).
    fn raw_string_hashes(&self) -> Option<usize> {
        let after_word = self.at > 0 && is_word_byte(self.bytes[self.at - 1]);
        let rest = &self.bytes[self.at..];
        let rest = rest.strip_prefix(b"b").or_else(|| rest.strip_prefix(b"c")).unwrap_or(rest);
        let rest = rest.strip_prefix(b"r")?;
        let hash_count = rest.iter().take_while(|byte| **byte == b'#').count();
        (!after_word && rest.get(hash_count) == Some(&b'"')).then_some(hash_count)
    }

    fn blank_raw_string(&mut self, hash_count: usize) {
        while self.bytes[self.at] != b'"' {
            self.blank_byte();
        }
        let mut end = vec![b'"'];
        end.resize(1 + hash_count, b'#');
        self.blank_until(&end, 1);
    }

    /// `'a'`, `'\n'` and `'é'` are characters; `'a` is a lifetime.
    fn is_character_literal(&self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        match rest.first() {
            Some(b'\\') => true,
            Some(first) => {
                let width = match first {
                    0x00..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    _ => 4,
                };
                rest.get(width) == Some(&b'\'')
            }
            None => false,
        }
    }
}

pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The offsets at which `word` stands in `code` with no letter, digit or
/// underscore on either side.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        let before = offset.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(offset + word.len()).copied();
        !before.is_some_and(is_word_byte) && !after.is_some_and(is_word_byte)
    })
}

/// The line, from 1, that holds the byte at `offset`.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(language: Language, source: &str, code: &str) {
        assert_eq!(blank(source, language), code);
    }

    #[test]
    fn rust_literals_and_comments() {
        expect(Language::Rust, "a /* b /* c */ d */ e", "a                   e");
        expect(Language::Rust, "let s = \"a\\\"b\"; x", "let s =       ; x");
        expect(Language::Rust, "r#\"a\" {\"#; x", "         ; x");
        expect(Language::Rust, "for_r\"a\"", "for_r   ");
        expect(Language::Rust, "f::<'a>('{', b'\\'')", "f::<'a>(   , b    )");
        expect(Language::Rust, "x // fn é\ny", "x         \ny");
    }

    #[test]
    fn python_docstrings() {
        expect(Language::Python, "\"\"\"a\n'\"\"\" x # y", "    \n     x    ");
        expect(Language::Python, "x = 'it\\'s'\ny", "x =        \ny");
    }

    #[test]
    fn script_templates() {
        expect(Language::Script, "a = `x\n{`; b", "a =   \n  ; b");
        expect(Language::Script, "/* { */ b", "        b");
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        expect(Language::Rust, "\"abc\\", "     ");
        expect(Language::Rust, "/* abc", "      ");
        expect(Language::Rust, "'\\", "  ");
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(words("unsafe_code unsafe{} xunsafe", "unsafe").collect::<Vec<_>>(), [12]);
    }
}
