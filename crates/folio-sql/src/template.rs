//! Finds statements that differ only by their literals, by their text: `where id = 7` and
//! `where id = 8` are one statement with a parameter.
//!
//! Only literals in places where a parameter means the same are replaced: after a comparison in
//! WHERE or SET, and as values of VALUES. Everything else stays in the text, which is the cache
//! key. A text with anything unusual (comments, parameters, quoted names, escapes, subqueries) has
//! no template. Nothing is parsed here; an invalid template is an error of the parser.

use folio_compute::Span;
use folio_engine::Signature;
use folio_engine::expression::Expr;
use folio_types::{ColumnType, Value};

use crate::bind::number;

/// Maximum size of a text with a template, in bytes.
const SIZE_MAX: usize = 4096;

/// Maximum number of literals to replace.
const LITERALS_MAX: usize = 64;

/// A statement without its literals.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The text with `$1`, `$2` in place of the literals.
    pub text: String,
    /// The literals.
    pub values: Vec<Value>,
    /// The types of the literals.
    pub signature: Signature,
}

/// The token before a literal.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Comparison,
    /// `(` or `,`.
    List,
    Other,
}

/// The part of the statement being read.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// The start of the statement: literals stay.
    Head,
    /// After WHERE or SET.
    Terms,
    /// After VALUES.
    Rows,
    /// After RETURNING, GROUP BY and so on.
    Tail,
}

impl Template {
    /// The template of a text, if it has one.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        if text.len() > SIZE_MAX {
            return None;
        }
        Reader::new(text).read()
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How much of the text was copied into the template.
    copied: usize,
    part: Part,
    before: Before,
    template: Template,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let text = text.trim_end().trim_end_matches(';');
        let template = Template {
            text: String::with_capacity(text.len() + 8),
            values: Vec::new(),
            signature: Signature::default(),
        };
        Self { text, at: 0, copied: 0, part: Part::Head, before: Before::Other, template }
    }

    fn read(mut self) -> Option<Template> {
        let bytes = self.text.as_bytes();
        let mut is_first = true;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    self.word(is_first)?;
                    is_first = false;
                }
                _ if is_first => return None,
                b'0'..=b'9' => self.number(false)?,
                b'-' if self.before == Before::Comparison && self.digit_at(self.at + 1) => {
                    self.number(true)?;
                }
                b'\'' => self.string()?,
                b'=' | b'<' | b'>' => self.symbol(Before::Comparison),
                b'(' | b',' => self.symbol(Before::List),
                b'-' if matches!(bytes.get(self.at + 1), Some(b'-' | b'>')) => return None,
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => return None,
                b')' | b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b'!' => self.symbol(Before::Other),
                _ => return None,
            }
        }
        if self.template.values.is_empty() {
            return None;
        }
        self.template.text.push_str(&self.text[self.copied..]);
        Some(self.template)
    }

    fn symbol(&mut self, before: Before) {
        self.at += 1;
        self.before = before;
    }

    fn digit_at(&self, at: usize) -> bool {
        self.text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
    }

    /// Reads a name or keyword.
    fn word(&mut self, is_first: bool) -> Option<()> {
        let start = self.at;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        if bytes.get(self.at).is_some_and(|next| *next == b'\'' || !next.is_ascii()) {
            // A prefix such as E'…', or a name in another script.
            return None;
        }
        let word = &self.text[start..self.at];
        self.before = Before::Other;
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if is_first {
            let is_known = is("select") || is("insert") || is("update") || is("delete");
            return is_known.then_some(());
        }
        // Words longer or shorter than all keywords are names.
        if !(2..=9).contains(&word.len()) {
            return Some(());
        }
        if is("select") || is("union") || is("case") || is("interval") {
            return None;
        }
        match self.part {
            Part::Head if is("where") || is("set") => self.part = Part::Terms,
            Part::Head if is("values") => self.part = Part::Rows,
            Part::Terms | Part::Rows
                if is("returning")
                    || is("group")
                    || is("having")
                    || is("order")
                    || is("limit")
                    || is("offset")
                    || is("fetch")
                    || is("window")
                    || is("on")
                    || is("from")
                    || is("using") =>
            {
                self.part = Part::Tail;
            }
            _ => {}
        }
        Some(())
    }

    fn number(&mut self, is_negative: bool) -> Option<()> {
        let start = self.at;
        self.at += usize::from(is_negative);
        let first = self.at;
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
            self.at += 1;
        }
        if bytes.get(self.at).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_') {
            return None;
        }
        if self.takes_literal() {
            let Expr::Literal { value, ty, .. } =
                number(&self.text[first..self.at], Span::NONE).ok()?
            else {
                return None;
            };
            let value = match (value, is_negative) {
                (value, false) => value,
                (Value::Integer(value), true) => Value::Integer(-value),
                (Value::Decimal(value), true) => Value::Decimal(-value),
                _ => return None,
            };
            self.replace(start, value, Some(ty))?;
        }
        self.before = Before::Other;
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let start = self.at;
        let rest = &self.text[start + 1..];
        let length = rest.find('\'')?;
        let value = &rest[..length];
        self.at = start + length + 2;
        if value.contains('\\') || self.text.as_bytes().get(self.at) == Some(&b'\'') {
            return None;
        }
        if self.takes_literal() {
            self.replace(start, Value::Text(value.to_owned()), None)?;
        }
        self.before = Before::Other;
        Some(())
    }

    /// Whether a literal that ends here is replaced: it is the whole value of a comparison or of a
    /// list item.
    fn takes_literal(&self) -> bool {
        let next = self.text[self.at..].trim_start().bytes().next();
        match self.part {
            Part::Terms => {
                self.before == Before::Comparison
                    && next.is_none_or(|next| {
                        next == b',' || next == b')' || next.is_ascii_alphabetic()
                    })
            }
            Part::Rows => self.before == Before::List && matches!(next, Some(b',' | b')')),
            Part::Head | Part::Tail => false,
        }
    }

    fn replace(&mut self, start: usize, value: Value, ty: Option<ColumnType>) -> Option<()> {
        use std::fmt::Write as _;
        let template = &mut self.template;
        template.text.push_str(&self.text[self.copied..start]);
        template.values.push(value);
        template.signature.types.push(ty);
        write!(template.text, "${}", template.values.len()).ok()?;
        self.copied = self.at;
        (template.values.len() <= LITERALS_MAX).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Option<(&str, &[Value])>) {
        let found = Template::of(text);
        let found = found.as_ref().map(|found| (&*found.text, &*found.values));
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn literals_become_parameters() {
        let text = |text: &str| Value::Text(text.to_owned());
        check(
            "SELECT name, 5 FROM t WHERE id = 77 and kind<>'a b' limit 3;",
            Some((
                "SELECT name, 5 FROM t WHERE id = $1 and kind<>$2 limit 3",
                &[Value::Integer(77), text("a b")],
            )),
        );
        check(
            "insert into t (a, b) values (1, 'x'), (-2, f(3)) returning a = 4",
            Some((
                "insert into t (a, b) values ($1, $2), (-2, f($3)) returning a = 4",
                &[Value::Integer(1), text("x"), Value::Integer(3)],
            )),
        );
        check(
            "update t set a = -1.50, b = b + 1 where id >= 3",
            Some((
                "update t set a = $1, b = b + 1 where id >= $2",
                &[Value::Decimal(-150), Value::Integer(3)],
            )),
        );
        check(
            "delete from t where a = 1 or b = 2 + 3",
            Some(("delete from t where a = $1 or b = 2 + 3", &[Value::Integer(1)])),
        );
    }

    #[test]
    fn what_is_unusual_has_no_template() {
        for text in [
            "select 1",
            "select a from t where b = $1 and c = 2",
            "select a from t where b = 'it''s'",
            "select a from t where b = E'x'",
            "select a from t where b = 1 -- c",
            "select a from t where b = (select 1 from u where c = 2)",
            "select a from t where b = 1; drop table t",
            "select a from \"t\" where b = 1",
            "create table t (a int default 1)",
            "select a from t where b = 0x10",
            "select a from t where b = 'open",
            "select a from t where b = date '2026-01-01'",
            "select a from t where b -> 'c' = 'd'",
        ] {
            check(text, None);
        }
    }
}
