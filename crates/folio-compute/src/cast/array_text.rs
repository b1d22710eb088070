//! Parses arrays in PostgreSQL's notation: `{1,2,NULL}`, `{"a, b","say \"hi\""}`, `{{1,2},{3}}`.

use folio_types::{ColumnType, Value};

use super::parse;

/// Parses an array; `None` if the text is not an array of these elements.
pub(super) fn read(text: &str, element: &ColumnType) -> Option<Value> {
    let mut reader = Reader { rest: text };
    let list = reader.list(element)?;
    reader.rest.trim().is_empty().then_some(list)
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn list(&mut self, element: &ColumnType) -> Option<Value> {
        self.skip('{')?;
        let mut values = Vec::new();
        if self.skip('}').is_some() {
            return Some(Value::List(values));
        }
        loop {
            values.push(self.element(element)?);
            if self.skip('}').is_some() {
                return Some(Value::List(values));
            }
            self.skip(',')?;
        }
    }

    fn element(&mut self, ty: &ColumnType) -> Option<Value> {
        if let ColumnType::List(element) = ty {
            return self.list(element);
        }
        let (text, is_plain) = match self.skip('"') {
            Some(()) => (self.quoted()?, false),
            None => (self.plain()?, true),
        };
        if is_plain && text.eq_ignore_ascii_case("null") {
            return Some(Value::Null);
        }
        parse(&text, ty).ok()
    }

    /// Reads a quoted element, after its opening quote.
    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[place + 1..];
                    return Some(text);
                }
                '\\' => text.push(letters.next()?.1),
                letter => text.push(letter),
            }
        }
        None
    }

    /// Reads an unquoted element, which is not empty.
    fn plain(&mut self) -> Option<String> {
        let mut text = String::new();
        // The end of the last significant character. An escaped space is significant.
        let mut end = 0;
        let mut letters = self.rest.char_indices();
        loop {
            let (place, letter) = letters.next()?;
            match letter {
                ',' | '}' => {
                    self.rest = &self.rest[place..];
                    break;
                }
                '{' | '"' => return None,
                '\\' => {
                    text.push(letters.next()?.1);
                    end = text.len();
                }
                letter => {
                    text.push(letter);
                    if !letter.is_ascii_whitespace() {
                        end = text.len();
                    }
                }
            }
        }
        text.truncate(end);
        (!text.is_empty()).then_some(text)
    }

    /// Skips white space and then a sign.
    fn skip(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start_matches(|next: char| next.is_ascii_whitespace());
        self.rest = self.rest.strip_prefix(sign)?;
        Some(())
    }
}
