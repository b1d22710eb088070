//! The elements of an array, and the value at a path, as pieces of valid JSON text.
//!
//! Like all readers by [`Tokens`], this repeats no check and has no maximum depth: the text is
//! skipped over, not parsed.

use crate::token::{Kind, Tokens};

/// A step of a path: a member by name, an element by position, from the end if negative, or
/// either of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member.
    Member(String),
    /// An element.
    Element(i64),
    /// A member of an object, or an element of an array, whose position the text is.
    Either(String),
}

/// The text of the value at a path; `None` if the path does not exist. If a key occurs twice, the
/// last value counts.
///
/// ```
/// use folio_json::{Step, at_path};
/// let path = [Step::Member("a".into()), Step::Element(-1)];
/// assert_eq!(at_path(r#"{"a": [1, {"b": 1.10}]}"#, &path), Some(r#"{"b": 1.10}"#));
/// assert_eq!(at_path(r#"{"a": 1}"#, &path), None);
/// ```
#[must_use]
pub fn at_path<'a>(json: &'a str, steps: &[Step]) -> Option<&'a str> {
    steps.iter().try_fold(json.trim_ascii(), |value, step| match step {
        Step::Member(name) => last_member(value, name),
        Step::Element(index) => element(value, *index),
        Step::Either(text) if value.starts_with('[') => element(value, text.parse().ok()?),
        Step::Either(name) => last_member(value, name),
    })
}

fn element(json: &str, index: i64) -> Option<&str> {
    let elements = elements(json)?;
    elements.get(place_of(index, elements.len())?).copied()
}

/// The place that an index of an array of `count` elements means, from the end if it is negative;
/// `None` before the first.
pub(crate) fn place_of(index: i64, count: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// The texts of the elements of an array; `None` for any other value.
#[must_use]
pub fn elements(json: &str) -> Option<Vec<&str>> {
    let mut tokens = Tokens::new(json.as_bytes());
    let mut elements = Vec::new();
    if tokens.peek() != Ok(Kind::Array) {
        return None;
    }
    let mut has_more = tokens.enter().ok()?;
    while has_more {
        elements.push(std::str::from_utf8(tokens.raw().ok()?).ok()?);
        has_more = tokens.more().ok()?;
    }
    Some(elements)
}

fn last_member<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut tokens = Tokens::new(json.as_bytes());
    let mut found = None;
    if tokens.peek() != Ok(Kind::Object) {
        return None;
    }
    let mut has_more = tokens.enter().ok()?;
    while has_more {
        let is_it = tokens.key().ok()? == name;
        let value = tokens.raw().ok()?;
        if is_it {
            found = Some(value);
        }
        has_more = tokens.more().ok()?;
    }
    std::str::from_utf8(found?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Step {
        Step::Member(name.to_owned())
    }

    #[test]
    fn paths_lead_to_pieces_of_the_text() {
        let json = r#" {"a": {"b\n": [1.10, "x", [ ]]}, "a": {"b\n": [2.0]}, "e": {}} "#;
        let path = [member("a"), member("b\n"), Step::Element(0)];
        assert_eq!(at_path(json, &path), Some("2.0"), "the last of two");
        assert_eq!(at_path(json, &path[..2]), Some("[2.0]"));
        assert_eq!(at_path(json, &[]), Some(json.trim()));
        assert_eq!(at_path(json, &[member("e"), member("x")]), None);
        assert_eq!(at_path(json, &[Step::Element(0)]), None, "not an array");
        assert_eq!(at_path("[1]", &[member("a")]), None, "not an object");
    }

    #[test]
    fn elements_count_from_both_ends() {
        let at = |index| at_path(r#"[ "a" ,{"b":[1,2]}, -3e1 ]"#, &[Step::Element(index)]);
        assert_eq!(
            [0, 1, 2, 3].map(at),
            [Some(r#""a""#), Some(r#"{"b":[1,2]}"#), Some("-3e1"), None]
        );
        assert_eq!([-1, -3, -4, i64::MIN].map(at), [Some("-3e1"), Some(r#""a""#), None, None]);
        assert_eq!(elements("[]"), Some(Vec::new()));
        assert_eq!(elements("7"), None);
    }

    #[test]
    fn depth_is_not_limited() {
        let deep = format!("[{}{}, 1]", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at_path(&deep, &[Step::Element(1)]), Some("1"));
    }
}
