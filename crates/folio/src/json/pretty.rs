//! Indentation.

/// Valid JSON text spread over lines, two spaces per level; strings and numbers
/// stay as they are written. Empty objects and arrays stay on one line.
///
/// ```
/// assert_eq!(folio::json::pretty(r#"{"a":[1.10,{}]}"#), "{\n  \"a\": [\n    1.10,\n    {}\n  ]\n}");
/// ```
#[must_use]
pub fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let mut rest = json;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '"' => {
                taken = string_size(rest);
                out.push_str(&rest[..taken]);
            }
            '{' | '[' => {
                out.push(character);
                let inner = rest[1..].trim_start();
                if inner.starts_with(['}', ']']) {
                    out.push_str(&inner[..1]);
                    taken = rest.len() - inner.len() + 1;
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' | '\t' | '\n' | '\r' => {}
            _ => out.push(character),
        }
        rest = &rest[taken..];
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// The size in bytes of the string that the text starts with, quotes included.
fn string_size(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn only_white_space_changes() {
        for json in [
            r#"{"a":{},"b":[],"c":[ ],"d":{"e":"{[,:]}\"","f":[1,[2,3]]},"é":"ü\\"}"#,
            "[]",
            "1.10",
            r#""text""#,
        ] {
            let spread = pretty(json);
            let (before, after): (Value, Value) =
                (serde_json::from_str(json).unwrap(), serde_json::from_str(&spread).unwrap());
            assert_eq!(before, after, "{spread}");
            assert_eq!(pretty(&spread), spread, "indenting twice changes nothing");
        }
    }

    #[test]
    fn text_that_is_not_json_neither_panics_nor_hangs() {
        for text in ["", "{", "\"", "\"\\", "}}]]", "[1,", "é{\"", "{ "] {
            let _ = pretty(text);
        }
    }
}
