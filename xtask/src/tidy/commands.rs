//! Every command of `folio` stands in `docs/cli.md`, and nothing else does.
//!
//! A command is a file or folder under `cli/src/command/`; its section is the
//! heading `## folio <name>`.

use std::collections::BTreeMap;

use super::Finding;
use super::allowance::Allowances;
use super::tree::Tree;

const FOLDER: &str = "cli/src/command/";
const REFERENCE: &str = "docs/cli.md";

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let commands = commands(tree);
    let sections = sections(tree.text(REFERENCE).unwrap_or_default());
    let undocumented = commands.iter().filter(|(name, _)| !sections.contains_key(*name));
    let stale = sections.iter().filter(|(name, _)| !commands.contains_key(*name));
    let undocumented = undocumented.map(|(name, path)| {
        Finding::new(path, 1, format!("no heading `## folio {name}` in {REFERENCE}"))
    });
    let stale = stale.map(|(name, line)| {
        Finding::new(REFERENCE, *line, format!("`folio {name}` has no file under {FOLDER}"))
    });
    undocumented.chain(stale).collect()
}

/// The commands with the path that holds each.
fn commands(tree: &Tree) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for file in tree.files() {
        let Some(rest) = file.path.strip_prefix(FOLDER) else { continue };
        let name = rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs");
        if name != "mod" {
            found.entry(name).or_insert(&*file.path);
        }
    }
    found
}

fn sections(reference: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for (index, line) in reference.lines().enumerate() {
        if let Some(name) =
            line.trim_start_matches('#').trim().trim_matches('`').strip_prefix("folio ")
            && line.starts_with("##")
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
    fn commands_and_sections_agree() {
        let planted = [
            ("cli/src/command/mod.rs", "//! Commands.\n"),
            ("cli/src/command/get.rs", "//! Get.\n"),
            ("cli/src/command/import/csv.rs", "//! CSV.\n"),
            ("docs/cli.md", "# Reference\n## folio get\n## `folio import`\n"),
        ];
        expect(check, &planted, &[]);
        let planted =
            [("cli/src/command/get.rs", "//! Get.\n"), ("docs/cli.md", "## folio put\ntext\n")];
        let found = [
            "cli/src/command/get.rs:1: no heading `## folio get` in docs/cli.md",
            "docs/cli.md:1: `folio put` has no file under cli/src/command/",
        ];
        expect(check, &planted, &found);
    }
}
