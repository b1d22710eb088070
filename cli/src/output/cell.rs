//! The display form of one value.

use std::borrow::Cow;

use folio::json::unquote;

/// A value to print, and its alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) is_number: bool,
}

/// A JSON value as a cell: text without its quotes and on one line.
pub(crate) fn display(value: Option<&str>) -> Cell {
    let value = value.unwrap_or_default();
    let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let text =
        unquote(value).map_or_else(|| value.to_owned(), |text| on_one_line(&text).into_owned());
    Cell { text, is_number }
}

/// Escapes control characters as in JSON: they would break the layout, or the terminal.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |character: char| match character {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        _ if character.is_control() => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    };
    Cow::Owned(text.chars().map(escape).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_people_read_them() {
        for (value, text, is_number) in [
            (Some(r#""a\nb""#), "a\\nb", false),
            (Some(r#""\u001b[31m""#), "\\u001b[31m", false),
            (Some("-1.50"), "-1.50", true),
            (Some(r#""12""#), "12", false),
            (Some(r#"{"a":[1]}"#), r#"{"a":[1]}"#, false),
            (Some("null"), "null", false),
            (None, "", false),
        ] {
            assert_eq!(display(value), Cell { text: text.to_owned(), is_number });
        }
    }
}
