//! Errors of statements, worded so that the user can fix the statement.
//!
//! An error has a stable code, one sentence, the place in the text and, where possible, a
//! hint. Once the text of the statement is known ([`Error::in_text`]) the error prints with
//! the line and a caret:
//!
//! ```text
//! column "nam" does not exist
//!   select nam from users
//!          ^^^  help: did you mean "name"?
//! ```

use std::collections::HashSet;
use std::fmt;

use arrow_schema::ArrowError;
use folio_types::{ErrorCode, legible, near_match};

use crate::span::Span;

const DIVISION: &str = "division by zero";

const OUT_OF_RANGE: &str = "the result is out of range for its type";

/// The range of a ZiQL int, and how to compute with floats instead.
const RANGES: &str = "the largest int is 9223372036854775807; `1.0 * member` is a float, up to \
                      1.8e308";

/// The result of every fallible operation in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a statement.
#[derive(Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    code: ErrorCode,
    message: String,
    span: Span,
    help: Option<String>,
    /// Message and hint in the words of ZiQL, used when a ZiQL statement fails.
    of_entities: Option<(String, String)>,
    /// The line, columns before the mark, columns marked.
    excerpt: Option<(String, usize, usize)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Whether a retry on a thread with a larger stack may succeed.
    wants_stack: bool,
}

impl Error {
    /// An error with a code and a message.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                code,
                message: legible(message.into()),
                span: Span::NONE,
                help: None,
                of_entities: None,
                excerpt: None,
                source: None,
                wants_stack: false,
            }),
        }
    }

    /// The text does not follow the grammar.
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Syntax, message)
    }

    /// A type does not fit.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TypeMismatch, message)
    }

    /// A value breaks a rule.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidInput, message)
    }

    /// This release does not support it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message)
    }

    /// A name does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// A constraint would be broken, or a name is taken.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    /// The caller asked for the work to stop.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorCode::Cancelled, "the statement was cancelled")
    }

    /// An error of a library below. Its text means nothing to the author of the statement, so it
    /// becomes the source of a message of ours.
    fn foreign(source: ArrowError) -> Self {
        let mut error = Self::unsupported("this cannot be computed for these values");
        error.inner.source = Some(Box::new(source));
        error.help("report the statement; casting its operands may help")
    }

    /// Wraps an error of the layer below, with its code and message.
    pub fn from_source(
        code: ErrorCode,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let mut error = Self::new(code, source.to_string());
        error.inner.source = Some(Box::new(source));
        error
    }

    /// Sets the place, unless the error has one.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        if !self.inner.span.is_known() {
            self.inner.span = span;
        }
        self
    }

    /// Removes the place.
    pub fn nowhere(mut self) -> Self {
        self.inner.span = Span::NONE;
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help = legible(help.into());
        if let Some((_, other)) = &mut self.inner.of_entities {
            other.clone_from(&help);
        }
        self.inner.help = Some(help);
        self
    }

    /// Adds a second wording for ZiQL statements, of members and entities instead of columns
    /// and rows.
    #[must_use]
    pub fn of_entities(mut self, message: impl Into<String>, help: impl Into<String>) -> Self {
        self.inner.of_entities = Some((legible(message.into()), legible(help.into())));
        self
    }

    /// Adds a hint if a similar name exists.
    pub fn near<'n>(self, name: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        match near_match(name, names) {
            Some(near) => self.help(format!("did you mean {near:?}?")),
            None => self,
        }
    }

    /// Adds a hint: a similar name, or all names if they are few.
    pub fn near_or_all<'n>(self, name: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        const SHOWN_MAX: usize = 8;
        let mut names: Vec<&str> = names.into_iter().collect();
        let mut known = HashSet::new();
        names.retain(|name| known.insert(*name));
        let error = self.near(name, names.iter().copied());
        if error.hint().is_none() && (1..=SHOWN_MAX).contains(&names.len()) {
            return error.help(format!("available: {}", names.join(", ")));
        }
        error
    }

    /// Adds the line of the statement that contains the place.
    #[must_use]
    pub fn in_text(mut self, text: &str) -> Self {
        if self.inner.excerpt.is_none() {
            self.inner.excerpt = self.inner.span.excerpt(text);
        }
        self
    }

    /// Places the error in a ZiQL statement that begins at `place`, and uses the wording for ZiQL.
    /// A more precise place wins.
    #[must_use]
    pub fn in_ziql(mut self, place: Span, text: &str) -> Self {
        use ErrorCode as Code;
        let is_about_text = matches!(
            self.inner.code,
            Code::TypeMismatch | Code::InvalidInput | Code::Unsupported | Code::Conflict
        );
        self.say_of_entities();
        if is_about_text && self.inner.excerpt.is_none() {
            self = self.at(place);
        }
        self.in_text(text)
    }

    fn say_of_entities(&mut self) {
        if let Some((message, help)) = self.inner.of_entities.take() {
            (self.inner.message, self.inner.help) = (message, Some(help));
        }
    }

    /// Places the error in a schema. Without a place, uses the first name that the message
    /// mentions and the text contains.
    #[must_use]
    pub fn in_schema(mut self, text: &str) -> Self {
        self.say_of_entities();
        if !self.inner.span.is_known() {
            let names = self.inner.message.split(['"', '`']).skip(1).step_by(2);
            let place = names.filter_map(|name| Span::of_word(name, text)).next();
            self = self.at(place.unwrap_or_default());
        }
        self.in_text(text)
    }

    /// Places the error in a statement that is alone in its text. Without a place, uses the first
    /// name that the message mentions and the text contains, or else the first word. If a lower
    /// layer's message has a semicolon, the part after it becomes the hint.
    #[must_use]
    pub fn in_statement(mut self, text: &str) -> Self {
        use ErrorCode as Code;
        let is_about_text = matches!(
            self.inner.code,
            Code::Syntax
                | Code::TypeMismatch
                | Code::InvalidInput
                | Code::Unsupported
                | Code::NotFound
                | Code::Conflict
        );
        let is_alone = !text.trim_end().trim_end_matches(';').contains(';');
        if is_about_text && is_alone && self.inner.excerpt.is_none() {
            let found = self.inner.message.rsplit_once("; ");
            if let (None, Some((message, help))) = (&self.inner.help, found) {
                (self.inner.help, self.inner.message) = (Some(help.into()), message.into());
            }
            let names = self.inner.message.split('"').skip(1).step_by(2);
            let place = names.filter_map(|name| Span::of_word(name, text)).next();
            self = self.at(place.or_else(|| Span::of_first_word(text)).unwrap_or_default());
        }
        // What is wrong is cut, and what to do is not.
        const MESSAGE_MAX: usize = 300;
        let message = &mut self.inner.message;
        let end = message.rfind("; ").unwrap_or(message.len());
        if let Some((cut, _)) = message[..end].char_indices().nth(MESSAGE_MAX) {
            message.replace_range(cut..end, "…");
        }
        self.in_text(text)
    }

    /// Marks the error as one that a larger stack may avoid.
    #[must_use]
    pub fn for_larger_stack(mut self) -> Self {
        self.inner.wants_stack = true;
        self
    }

    /// Whether the caller retries the statement on a thread with a larger stack before it
    /// reports the error.
    #[must_use]
    pub fn wants_stack(&self) -> bool {
        self.inner.wants_stack
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.inner.code
    }

    /// The message without place and hint.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The hint.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.inner.help.as_deref()
    }

    /// The place in the text.
    #[must_use]
    pub fn span(&self) -> Span {
        self.inner.span
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, help, excerpt, .. } = &*self.inner;
        out.write_str(message)?;
        match (excerpt, help) {
            (None, None) => Ok(()),
            (None, Some(help)) => write!(out, "; {help}"),
            (Some((line, before, marked)), help) => {
                let (line, before) = window(line, *before);
                let marked = (*marked).min(line.chars().count().saturating_sub(before).max(1));
                write!(out, "\n  {line}\n  {:before$}{}", "", "^".repeat(marked))?;
                match help {
                    Some(help) => write!(out, "  help: {help}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The part of a long line around the mark, and the number of columns before the mark in it.
fn window(line: &str, before: usize) -> (String, usize) {
    const WIDTH: usize = 100;
    let length = line.chars().count();
    if length <= WIDTH {
        return (line.chars().map(shown).collect(), before);
    }
    let start = before.saturating_sub(WIDTH / 2).min(length - WIDTH.min(length));
    (line.chars().skip(start).take(WIDTH).map(shown).collect(), before - start)
}

/// A character of an excerpt, one column wide: control characters become symbols.
fn shown(character: char) -> char {
    match character {
        '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or(' '),
        '\u{7f}' => '\u{2421}',
        other if other.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_ref().map(|source| &**source as _)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::DivideByZero => Self::invalid(DIVISION)
                .help("guard it: nullif(divisor, 0)")
                .of_entities(DIVISION, "exclude a divisor of 0 by a condition in braces"),
            ArrowError::ArithmeticOverflow(_) => Self::invalid(OUT_OF_RANGE)
                .help("cast an operand to a wider type first")
                .of_entities(OUT_OF_RANGE, RANGES),
            ArrowError::ExternalError(source) => match source.downcast::<Self>() {
                Ok(error) => *error,
                Err(source) => Self::foreign(ArrowError::ExternalError(source)),
            },
            other => Self::foreign(other),
        }
    }
}

impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// Makes the first letter lower case, unless the word is in capitals.
pub fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next();
    if characters.clone().next().is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    first.map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_points_at_its_place() {
        let span = Span { line: 1, column: 8, end_line: 1, end_column: 11 };
        let error = Error::not_found("column \"nam\" does not exist")
            .near("nam", ["id", "name"])
            .at(span)
            .in_text("select nam from users");
        let expected = "column \"nam\" does not exist\n  select nam from users\n         \
                        ^^^  help: did you mean \"name\"?";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_long_error_is_cut_and_what_to_do_is_not() {
        for code in [ErrorCode::InvalidInput, ErrorCode::Io] {
            let error =
                Error::new(code, format!("{} goes on; set the variable", "a word ".repeat(99)));
            let shown = error.in_statement("select 1").to_string();
            assert!(shown.contains('…') && shown.ends_with("set the variable"), "{shown}");
            assert!(shown.chars().count() < 360, "{shown}");
        }
    }
}
