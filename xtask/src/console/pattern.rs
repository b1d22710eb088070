//! Compares printed lines with expected ones that may leave parts open.
//!
//! `[..]` matches any text within a line; a line `...` matches any number of
//! lines. Times and sizes differ from run to run, the rest must not.

const ANY_TEXT: &str = "[..]";
const ANY_LINES: &str = "...";

pub(super) fn matches(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == ANY_LINES => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others)),
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split(ANY_TEXT);
    let head = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(head) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The earliest place leaves the most for the parts behind.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &[&str], printed: &[&str], matched: bool) {
        let own = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
        assert_eq!(matches(&own(expected), &own(printed)), matched, "{expected:?} {printed:?}");
    }

    #[test]
    fn lines() {
        check(&["a 12 ms"], &["a 12 ms"], true);
        check(&["a [..] ms"], &["a 12 ms"], true);
        check(&["a [..] ms"], &["a 12 s"], false);
        check(&["[..]b[..]"], &["abc"], true);
        check(&["[..]b[..]b"], &["ab"], false);
        check(&["a"], &["ab"], false);
    }

    #[test]
    fn runs_of_lines() {
        check(&["a", "...", "z"], &["a", "b", "c", "z"], true);
        check(&["a", "..."], &["a"], true);
        check(&["...", "z"], &["a"], false);
        check(&["a"], &["a", "b"], false);
        check(&[], &[], true);
    }
}
