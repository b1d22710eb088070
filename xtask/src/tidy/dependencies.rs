//! Every dependency has its argument in `docs/decisions/0001-dependencies.md`,
//! and every argument there has its dependency.
//!
//! Adding a crate is a decision: somebody else's code, compiled by everybody,
//! for as long as the product lives.

use std::collections::BTreeMap;

use super::Finding;
use super::allowance::Allowances;
use super::tree::Tree;

const MANIFEST: &str = "Cargo.toml";
const DECISION: &str = "docs/decisions/0001-dependencies.md";

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let declared = declared(tree.text(MANIFEST).unwrap_or_default());
    let argued = argued(tree.text(DECISION).unwrap_or_default());
    let unargued = declared.iter().filter(|(name, _)| !argued.contains_key(*name));
    let undeclared = argued.iter().filter(|(name, _)| !declared.contains_key(*name));
    let unargued = unargued.map(|(name, line)| {
        Finding::new(MANIFEST, *line, format!("`{name}` has no line in {DECISION}"))
    });
    let undeclared = undeclared.map(|(name, line)| {
        Finding::new(DECISION, *line, format!("`{name}` is not a dependency of the workspace"))
    });
    unargued.chain(undeclared).collect()
}

/// The foreign packages under `[workspace.dependencies]` with their lines.
fn declared(manifest: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_section = line.trim() == "[workspace.dependencies]";
        } else if let Some((name, value)) = line.split_once('=')
            && in_section
            && !line.starts_with('#')
            && !value.contains("path =")
        {
            found.insert(name.trim(), index + 1);
        }
    }
    found
}

/// The names in the first column of the decision's tables: `` | `name` | … ``.
fn argued(decision: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for (index, line) in decision.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("| `")
            && let Some((name, _)) = rest.split_once('`')
        {
            found.insert(name, index + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn both_lists_agree() {
        let manifest = "[workspace.package]\nversion = \"1\"\n\n[workspace.dependencies]\n\
            folio = { path = \"crates/folio\" }\nmemchr = \"2\"\nrayon = \"1\"\n[profile.release]\n";
        let agreed = "| crate | why |\n|---|---|\n| `memchr` | a |\n| `rayon` | b |\n";
        expect(check, &[(MANIFEST, manifest), (DECISION, agreed)], &[]);
        let found = [
            "Cargo.toml:7: `rayon` has no line in docs/decisions/0001-dependencies.md",
            "docs/decisions/0001-dependencies.md:2: `sled` is not a dependency of the workspace",
        ];
        expect(
            check,
            &[(MANIFEST, manifest), (DECISION, "| `memchr` | a |\n| `sled` | b |\n")],
            &found,
        );
    }
}
