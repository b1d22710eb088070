//! Literals of DEFAULT: the values of rows stored before their column was added, and of rows
//! inserted later.

use crate::declared::Affinity;
use crate::record::{Encoding, Stored};
use crate::tokens::Token;

/// An owned value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Integer(i64),
    Real(f64),
    /// In the encoding of the file.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Literal {
    /// The value of a literal, as stored in a column; `None` for other expressions.
    pub(crate) fn read(tokens: &[Token], affinity: Affinity, encoding: Encoding) -> Option<Self> {
        let mut tokens = tokens;
        while let [open, inside @ .., close] = tokens
            && open.is_symbol("(")
            && close.is_symbol(")")
        {
            tokens = inside;
        }
        let literal = match tokens {
            [Token::Number(text)] => number(text, false)?,
            [sign, Token::Number(text)] if sign.is_symbol("-") => number(text, true)?,
            [sign, Token::Number(text)] if sign.is_symbol("+") => number(text, false)?,
            [Token::Blob(digits)] => Self::Blob(blob(digits)?),
            [Token::Text(text) | Token::Quoted(text)] => Self::Text(encode(text, encoding)),
            [token] if token.is("NULL") => Self::Null,
            [token] if token.is("TRUE") => Self::Integer(1),
            [token] if token.is("FALSE") => Self::Integer(0),
            _ => return None,
        };
        Some(literal.converted(affinity, encoding))
    }

    pub(crate) fn as_stored(&self) -> Stored<'_> {
        match self {
            Self::Null => Stored::Null,
            Self::Integer(number) => Stored::Integer(*number),
            Self::Real(number) => Stored::Real(*number),
            Self::Text(bytes) => Stored::Text(bytes),
            Self::Blob(bytes) => Stored::Blob(bytes),
        }
    }

    /// Converts the value as the column would.
    fn converted(self, affinity: Affinity, encoding: Encoding) -> Self {
        match (affinity, self) {
            (Affinity::Text, number @ (Self::Integer(_) | Self::Real(_))) => {
                let text = crate::convert::number_text(number.as_stored(), false);
                Self::Text(encode(&text.unwrap_or_default(), encoding))
            }
            (Affinity::Integer | Affinity::Numeric | Affinity::Real, Self::Text(bytes)) => {
                let text = encoding.decode(&bytes).0;
                match text.trim().parse() {
                    Ok(number) => Self::Integer(number).converted(affinity, encoding),
                    Err(_) => match text.trim().parse::<f64>() {
                        Ok(number) if number.is_finite() => Self::Real(number),
                        _ => Self::Text(bytes),
                    },
                }
            }
            #[allow(clippy::cast_precision_loss)] // SQLite rounds, too
            (Affinity::Real, Self::Integer(number)) => Self::Real(number as f64),
            (_, other) => other,
        }
    }
}

fn number(text: &str, is_negative: bool) -> Option<Literal> {
    let digits: String = text.chars().filter(|part| *part != '_').collect();
    let sign = if is_negative { "-" } else { "" };
    let lower = digits.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        let value = u64::from_str_radix(hex, 16).ok()?.cast_signed();
        return Some(Literal::Integer(if is_negative { value.checked_neg()? } else { value }));
    }
    let signed = format!("{sign}{digits}");
    match signed.parse() {
        Ok(number) => Some(Literal::Integer(number)),
        Err(_) => signed.parse().ok().map(Literal::Real),
    }
}

fn blob(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_owned(),
        Encoding::Utf16Little => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Big => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokens;

    #[test]
    fn literals_become_what_their_column_makes_of_them() {
        let text = |text: &str| Some(Literal::Text(text.as_bytes().to_owned()));
        for (written, affinity, literal) in [
            ("5", Affinity::Integer, Some(Literal::Integer(5))),
            ("5", Affinity::Text, text("5")),
            ("'5'", Affinity::Numeric, Some(Literal::Integer(5))),
            ("'x'", Affinity::Integer, text("x")),
            ("\"x\"", Affinity::Text, text("x")),
            ("5", Affinity::Real, Some(Literal::Real(5.0))),
            ("(-1.5)", Affinity::Blob, Some(Literal::Real(-1.5))),
            ("+ 0xFF", Affinity::Integer, Some(Literal::Integer(255))),
            ("-9223372036854775808", Affinity::Integer, Some(Literal::Integer(i64::MIN))),
            ("x'0aFF'", Affinity::Blob, Some(Literal::Blob(vec![10, 255]))),
            ("x'0'", Affinity::Blob, None),
            ("true", Affinity::Numeric, Some(Literal::Integer(1))),
            ("null", Affinity::Text, Some(Literal::Null)),
            ("current_timestamp", Affinity::Text, None),
            ("1 + 1", Affinity::Integer, None),
        ] {
            let read = Literal::read(&tokens(written).unwrap(), affinity, Encoding::Utf8);
            assert_eq!(read, literal, "{written}");
        }
    }
}
