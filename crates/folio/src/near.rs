//! Finds the name nearest to a mistyped one.

/// The name that a person most likely meant, if any is near enough: at most one mistake for every
/// three characters, and fewer than there are characters. Ignores case.
#[must_use]
pub fn near_match<'a>(asked: &str, names: &'a [String]) -> Option<&'a str> {
    let size = asked.chars().count();
    let allowed = size.div_ceil(3).min(size.saturating_sub(1));
    let asked = asked.to_lowercase();
    names
        .iter()
        .map(|name| (edit_distance(&asked, &name.to_lowercase()), name.as_str()))
        .filter(|&(distance, _)| distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Optimal string alignment distance: insertions, deletions, replacements and
/// swaps of neighbours (Damerau 1964, each piece edited once).
fn edit_distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = row[j] + usize::from(a != b);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, distance) in [
            ("", "", 0),
            ("users", "users", 0),
            ("usres", "users", 1),
            ("user", "users", 1),
            ("abc", "", 3),
        ] {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
            assert_eq!(edit_distance(to, from), distance, "{to} {from}");
        }
    }

    #[test]
    fn nearest_name_or_none() {
        let names = ["train", "users", "größe"].map(str::to_owned);
        assert_eq!(near_match("usesr", &names), Some("users"));
        assert_eq!(near_match("Train", &names), Some("train"));
        assert_eq!(near_match("grösse", &names), Some("größe"));
        assert_eq!(near_match("movies", &names), None);
        assert_eq!(near_match("t", &["u".to_owned()]), None);
        assert_eq!(near_match("", &names), None);
    }
}
