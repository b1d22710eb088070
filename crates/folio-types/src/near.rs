//! Finds the name nearest to a mistyped one.

/// The name that a person most likely meant, if any is near enough: about one mistake for every
/// three characters. Ignores case.
#[must_use]
pub fn near_match<'n, S>(asked: &str, names: impl IntoIterator<Item = &'n S>) -> Option<&'n str>
where
    S: AsRef<str> + ?Sized + 'n,
{
    let size = asked.chars().count();
    let allowed = if size == 0 { 0 } else { ((size + 1) / 3).max(1) };
    let asked = asked.to_lowercase();
    names
        .into_iter()
        .map(AsRef::as_ref)
        .map(|name| (distance(&asked, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance. A swap of two neighbours counts as one mistake (Damerau 1964, as
/// optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, character) in left.iter().enumerate() {
        let mut next = vec![at + 1];
        for (column, other) in right.iter().enumerate() {
            let replaced = row[column] + usize::from(character != other);
            let mut least = replaced.min(row[column + 1] + 1).min(next[column] + 1);
            if at > 0 && column > 0 && left[at - 1] == *other && *character == right[column - 1] {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("users", "users", 0),
            ("usres", "users", 1),
            ("user", "users", 1),
            ("abc", "", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }

    #[test]
    fn nearest_name_or_none() {
        let names = ["train", "users", "größe", "cities", "visits"];
        for (asked, expected) in [
            ("usesr", Some("users")),
            ("user", Some("users")),
            ("Train", Some("train")),
            ("grösse", Some("größe")),
            ("citys", Some("cities")),
            ("movies", None),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(near_match(asked, names), expected, "{asked}");
        }
        assert_eq!(near_match("nmae", &["name".to_owned(), "id".to_owned()]), Some("name"));
    }
}
