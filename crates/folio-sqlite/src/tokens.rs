//! Splits SQLite's SQL into tokens, and writes tokens as standard SQL.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word without quotes: a keyword or a name.
    Word(String),
    /// A name in quotes of any kind.
    Quoted(String),
    /// Text between single quotes.
    Text(String),
    /// A number, as written.
    Number(String),
    /// The digits between the quotes of `x'…'`.
    Blob(String),
    /// Anything else.
    Symbol(&'static str),
}

/// Longest first: `<` must not hide `<=`.
const SYMBOLS: [&str; 32] = [
    "->>", "||", "<=", ">=", "<>", "!=", "==", "<<", ">>", "->", "(", ")", ",", ".", ";", "+", "-",
    "*", "/", "%", "<", ">", "=", "&", "|", "~", "?", ":", "@", "$", "#", "!",
];

impl Token {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self, Self::Symbol(own) if *own == symbol)
    }

    /// The token as a name; a text in single quotes is accepted where a name is required.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Quoted(name) | Self::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// The tokens of a text; `None` if it is invalid.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut rest = text;
    let mut found = Vec::new();
    loop {
        rest = without_space(rest);
        let Some(first) = rest.chars().next() else { return Some(found) };
        let (token, after) = match first {
            '\'' => quoted(rest, '\'').map(|(text, after)| (Token::Text(text), after))?,
            '"' | '`' => quoted(rest, first).map(|(name, after)| (Token::Quoted(name), after))?,
            '[' => {
                let (name, after) = rest[1..].split_once(']')?;
                (Token::Quoted(name.to_owned()), after)
            }
            'x' | 'X' if rest[1..].starts_with('\'') => {
                quoted(&rest[1..], '\'').map(|(digits, after)| (Token::Blob(digits), after))?
            }
            _ if first.is_ascii_digit() || begins_fraction(rest) => {
                let (number, after) = rest.split_at(number_size(rest));
                (Token::Number(number.to_owned()), after)
            }
            _ if is_of_word(first) => {
                let end = rest.find(|part| !is_of_word(part)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), &rest[end..])
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol))?;
                (Token::Symbol(symbol), &rest[symbol.len()..])
            }
        };
        found.push(token);
        rest = after;
    }
}

/// Tokens as a text of standard SQL: names in double quotes, no comments.
pub(crate) fn to_text(tokens: &[Token]) -> String {
    let mut out = String::new();
    for token in tokens {
        let is_tight = token.is_symbol(".")
            || token.is_symbol(")")
            || token.is_symbol(",")
            || out.ends_with(['(', '.']);
        if !out.is_empty() && !is_tight {
            out.push(' ');
        }
        match token {
            Token::Word(text) | Token::Number(text) => out.push_str(text),
            Token::Quoted(name) => out.push_str(&quoted_name(name)),
            Token::Text(text) => out.push_str(&quoted_text(text)),
            Token::Blob(digits) => out.extend(["X'", digits, "'"]),
            Token::Symbol("==") => out.push('='),
            Token::Symbol(symbol) => out.push_str(symbol),
        }
    }
    out
}

/// A quoted name, for a statement.
#[must_use]
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A quoted text, for a statement.
pub(crate) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Names as a list.
#[must_use]
pub fn name_list(names: &[String]) -> String {
    names.iter().map(|name| quoted_name(name)).collect::<Vec<_>>().join(", ")
}

/// Skips white space and comments.
fn without_space(mut text: &str) -> &str {
    loop {
        let trimmed = text.trim_start();
        text = if trimmed.starts_with("--") {
            trimmed.find('\n').map_or("", |end| &trimmed[end..])
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            comment.find("*/").map_or("", |end| &comment[end + 2..])
        } else {
            return trimmed;
        };
    }
}

/// The text up to the closing quote, with doubled quotes resolved, and the rest.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text.strip_prefix(quote)?;
    loop {
        let (part, after) = rest.split_once(quote)?;
        out.push_str(part);
        match after.strip_prefix(quote) {
            Some(more) => {
                out.push(quote);
                rest = more;
            }
            None => return Some((out, after)),
        }
    }
}

fn begins_fraction(text: &str) -> bool {
    text.strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

fn number_size(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_hex = text.len() > 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X');
    let mut size = 0;
    while let Some(byte) = bytes.get(size) {
        let is_sign = matches!(byte, b'+' | b'-')
            && !is_hex
            && size > 0
            && matches!(bytes[size - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_sign) {
            break;
        }
        size += 1;
    }
    size
}

fn is_of_word(part: char) -> bool {
    part.is_ascii_alphanumeric() || matches!(part, '_' | '$') || !part.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_standard() {
        for (text, standard) in [
            ("a == [b c] -- no\n  and `d``e` <> 'it''s'", "a = \"b c\" and \"d`e\" <> 'it''s'"),
            (
                "length(x)>=1.5e-3 /* no */ or t.\"q\"\"\" = x'0a'",
                "length (x) >= 1.5e-3 or t.\"q\"\"\" = X'0a'",
            ),
            ("a->>'$.b'||.5 != 0xfF-1", "a ->> '$.b' || .5 != 0xfF - 1"),
            ("größe in (1,2)", "größe in (1, 2)"),
        ] {
            assert_eq!(to_text(&tokens(text).unwrap()), standard);
        }
        for text in ["'open", "[open", "\"open", "\\"] {
            assert_eq!(tokens(text), None);
        }
        assert_eq!(tokens("a /* open"), Some(vec![Token::Word("a".to_owned())]));
    }
}
