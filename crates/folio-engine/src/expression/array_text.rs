//! Arrays as PostgreSQL spells them: `{1,2,NULL}`, `{"a, b","say \"hi\""}`, `{{1,2},{3}}`.

use folio_types::{ColumnType, Value};

use super::cast::parse;

/// The array that a text spells; `None` where it is not one of these elements.
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

    /// What stands in quotes, whose first is behind us.
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

    /// What stands without quotes, which is something.
    fn plain(&mut self) -> Option<String> {
        let mut text = String::new();
        // Behind the last letter that counts, as a space that is escaped does.
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

    /// Goes past a sign, and the space before it.
    fn skip(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start_matches(|next: char| next.is_ascii_whitespace());
        self.rest = self.rest.strip_prefix(sign)?;
        Some(())
    }
}
