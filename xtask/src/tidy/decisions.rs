//! The index of `docs/decisions` has a row for every decision, once, in the order of their numbers.

use super::Finding;
use super::allowance::Allowances;
use super::tree::Tree;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let rows = listed(tree.text(INDEX).unwrap_or_default());
    let pairs = rows.iter().zip(rows.iter().skip(1));
    let disordered = pairs.filter(|(before, own)| before.1 >= own.1).map(|(_, (line, name))| {
        Finding::new(INDEX, *line, format!("`{name}` is named twice, or out of order"))
    });
    let names = tree.files().iter().filter_map(|file| file.path.strip_prefix(FOLDER));
    let decisions = names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    let missing = decisions.filter(|name| rows.iter().all(|(_, listed)| listed != name));
    let missing =
        missing.map(|name| Finding::new(INDEX, 1, format!("`{name}` has no row in the index")));
    disordered.chain(missing).collect()
}

/// The files of the index's rows, with their lines: `| [0001](0001-dependencies.md) | …`.
fn listed(index: &str) -> Vec<(usize, &str)> {
    let rows = index.lines().enumerate().filter_map(|(at, line)| {
        let (_, file) = line.strip_prefix("| [")?.split_once("](")?;
        Some((at + 1, file.split_once(')')?.0))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn the_index_has_each_decision_once() {
        let files =
            [("docs/decisions/0001-a.md", "# 0001"), ("docs/decisions/0002-b.md", "# 0002")];
        let whole = "| [0001](0001-a.md) | a |\n| [0002](0002-b.md) | b |\n";
        expect(check, &[files[0], files[1], (INDEX, whole)], &[]);
        let twice = "| [0002](0002-b.md) | b |\n| [0002](0002-b.md) | b |\n";
        let found = [
            "docs/decisions/README.md:1: `0001-a.md` has no row in the index",
            "docs/decisions/README.md:2: `0002-b.md` is named twice, or out of order",
        ];
        expect(check, &[files[0], files[1], (INDEX, twice)], &found);
    }
}
