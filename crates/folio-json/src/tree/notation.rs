//! Paths as people write them: `geo.lat`, `tags[]`, `cart[].sku`, `visits.*.day`, `"a.b".c`.
//!
//! The rows of a tree, indexes on fields, windows and partitions have this notation. Names are
//! separated by points. One with other characters than letters, digits, `_`, `-`, `$` and `@` is in
//! double quotes, with a double quote doubled. `[]` are the elements of a list, `.*` the values of a
//! map. A path has as many levels as the tree, at most.

use super::DEPTH_MAX;

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPart {
    /// A member of an object.
    Member(String),
    /// The elements of a list.
    Elements,
    /// The values of a map.
    Values,
}

/// Why a text is no path.
pub type PathFault = &'static str;

/// Whether a name with this letter needs no quotes because of it.
#[must_use]
pub fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '@')
}

/// The path that a text is.
///
/// ```
/// use folio_json::{PathPart, parse_path};
/// let member = |name: &str| PathPart::Member(name.to_owned());
/// assert_eq!(parse_path("cart[].sku"), Ok(vec![member("cart"), PathPart::Elements, member("sku")]));
/// assert_eq!(parse_path("\"a.b\".*"), Ok(vec![member("a.b"), PathPart::Values]));
/// assert_eq!(parse_path("a..b"), Err("a name is expected"));
/// ```
///
/// # Errors
/// A text that is none.
pub fn parse_path(text: &str) -> Result<Vec<PathPart>, PathFault> {
    match take_path(text)? {
        (path, "") => Ok(path),
        _ => Err("put names with other characters than letters and digits in double quotes"),
    }
}

/// The path at the front of a text, and the text after it.
///
/// # Errors
/// A text that begins with none.
pub fn take_path(text: &str) -> Result<(Vec<PathPart>, &str), PathFault> {
    let (mut path, mut rest) = (Vec::new(), text);
    loop {
        match rest.strip_prefix('*').filter(|_| !path.is_empty()) {
            Some(after) => {
                add(&mut path, PathPart::Values)?;
                rest = after;
            }
            None => {
                let (name, after) = take_name(rest).ok_or("a name is expected")?;
                add(&mut path, PathPart::Member(name))?;
                rest = after;
            }
        }
        while let Some(after) = rest.strip_prefix("[]") {
            add(&mut path, PathPart::Elements)?;
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Ok((path, rest)),
        }
    }
}

fn add(path: &mut Vec<PathPart>, part: PathPart) -> Result<(), PathFault> {
    if path.len() >= DEPTH_MAX {
        return Err("a path has at most 64 levels");
    }
    path.push(part);
    Ok(())
}

/// The name at the front of a path, and the text after it.
fn take_name(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find(|letter| !is_name_letter(letter)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}

/// Appends a name, in quotes if it is no identifier of SQL.
pub(super) fn push_name(name: &str, out: &mut String) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_numeric());
    match is_plain && !name.is_empty() {
        true => out.push_str(name),
        false => {
            out.push('"');
            out.push_str(&name.replace('"', "\"\""));
            out.push('"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn the_paths_of_a_tree_are_read_back() {
        let mut tree = Tree::default();
        let line = br#"{"_id":"a","a.b":{"c d":[[{"$t":1,"":2}]],"5":{"\"x\"":3}},"tags":["a"]}"#;
        tree.observe(line).unwrap();
        for row in tree.paths() {
            let mut again = String::new();
            for part in parse_path(&row.path).unwrap() {
                match part {
                    PathPart::Member(name) => {
                        again.push_str(if again.is_empty() { "" } else { "." });
                        push_name(&name, &mut again);
                    }
                    PathPart::Elements => again.push_str("[]"),
                    PathPart::Values => again.push_str(".*"),
                }
            }
            assert_eq!(again, row.path);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in
            ["", ".", "a.", ".a", "a..b", "*", "*.a", "[]", "a[", "a[0]", "\"a", "a b", "a.[]"]
        {
            assert!(parse_path(text).is_err(), "{text}");
        }
        for more in [".a", "[]", ".*"] {
            let path = |count| parse_path(&format!("a{}", more.repeat(count)));
            assert_eq!(path(63).map(|path| path.len()), Ok(64), "{more}");
            for count in [64, 100_000] {
                assert_eq!(path(count), Err("a path has at most 64 levels"), "{more}");
            }
        }
        let (path, rest) = take_path("tags[] desc").unwrap();
        assert_eq!((path.len(), rest), (2, " desc"));
    }
}
