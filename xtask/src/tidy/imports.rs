//! The crate graph is the architecture: a crate imports only what stands below
//! it.
//!
//! Cargo refuses cycles but not a shortcut from the query engine into a page
//! file, and a shortcut once taken is found by nobody. The manifests are read
//! line by line; only the names of our own packages matter here.

use super::Finding;
use super::allowance::Allowances;
use super::tree::{SourceFile, Tree};

/// Bottom first.
const LAYERS: [&str; 14] = [
    "folio-types",
    "folio-file",
    "folio-stream",
    "folio-remote",
    "folio-sqlite",
    "folio-ion",
    "folio-json",
    "folio-document",
    "folio-table",
    "folio-compute",
    "folio-engine",
    "folio-sql",
    "folio-ziql",
    "folio",
];

/// Pairs that the order alone would permit, with the reason they are refused.
const STRANGERS: [(&str, &str, &str); 17] = [
    ("folio-table", "folio-document", "the two stores do not know each other"),
    ("folio-compute", "folio-file", "columns are given to it"),
    ("folio-compute", "folio-sqlite", "columns are given to it"),
    ("folio-compute", "folio-document", "columns are given to it"),
    ("folio-compute", "folio-table", "columns are given to it"),
    ("folio-engine", "folio-document", "the query engine reads through `Source`"),
    ("folio-engine", "folio-table", "the query engine reads through `Source`"),
    ("folio-sql", "folio-document", "the query engine reads through `Source`"),
    ("folio-sql", "folio-table", "the query engine reads through `Source`"),
    ("folio-ziql", "folio-document", "the query engine reads through `Source`"),
    ("folio-ziql", "folio-table", "the query engine reads through `Source`"),
    ("folio-ziql", "folio-sql", "the two languages do not know each other"),
    ("folio-ion", "folio-types", "folio-ion is independent"),
    ("folio-ion", "folio-file", "folio-ion is independent"),
    ("folio-json", "folio-file", "lines are given to it"),
    ("folio-json", "folio-ion", "the two formats do not know each other"),
    ("folio-engine", "folio-sqlite", "the query engine reads through `Source`"),
];

/// Packages that users touch: they convert and delegate to the facade.
const SURFACES: [&str; 3] = ["cli/", "bindings/", "studio/"];

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        for dependency in our_dependencies(file) {
            if let Some(reason) = refusal(file, &dependency) {
                let message = format!("must not depend on {}: {reason}", dependency.name);
                findings.push(Finding::new(&file.path, dependency.line, message));
            }
        }
    }
    findings
}

struct Dependency {
    name: &'static str,
    line: usize,
    /// A dependency of tests only.
    is_dev: bool,
}

fn our_dependencies(file: &SourceFile) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = "";
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            continue;
        }
        let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if let Some(name) = LAYERS.iter().find(|name| **name == key)
            && section.ends_with("dependencies")
        {
            let is_dev = section.ends_with("dev-dependencies");
            found.push(Dependency { name, line: index + 1, is_dev });
        }
    }
    found
}

fn refusal(file: &SourceFile, dependency: &Dependency) -> Option<&'static str> {
    if SURFACES.iter().any(|surface| file.path.starts_with(surface)) {
        let direct = dependency.name != "folio" && !dependency.is_dev;
        return direct.then_some("a surface imports the facade `folio` only");
    }
    let importer = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    let stranger = STRANGERS.iter().find(|(a, b, _)| *a == importer && *b == dependency.name);
    if let Some((_, _, reason)) = stranger {
        return Some(reason);
    }
    let height = |name| LAYERS.iter().position(|layer| *layer == name);
    let above = height(dependency.name) >= height(importer);
    above.then_some("it is above in the crate map")
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn downward_is_fine() {
        let planted = [
            ("crates/folio/Cargo.toml", "[dependencies]\nfolio-document.workspace = true\n"),
            ("cli/Cargo.toml", "[dependencies]\nfolio = { path = \"../crates/folio\" }\n"),
            ("cli/Cargo.toml", "[dev-dependencies]\nfolio-file.workspace = true\n"),
        ];
        expect(check, &planted, &[]);
    }

    #[test]
    fn upward_sideways_and_past_the_facade_are_not() {
        let planted = [
            ("crates/folio-document/Cargo.toml", "[dependencies]\nfolio.workspace = true\n"),
            ("crates/folio-table/Cargo.toml", "[dependencies]\nfolio-document.workspace = true\n"),
            ("crates/folio-document/Cargo.toml", "[dev-dependencies]\nfolio-table = \"1\"\n"),
            ("crates/folio-ion/Cargo.toml", "[build-dependencies]\nfolio-types = \"1\"\n"),
            ("cli/Cargo.toml", "[dependencies]\nfolio-file.workspace = true\n"),
        ];
        let found = [
            "cli/Cargo.toml:2: must not depend on folio-file: a surface imports the facade `folio` only",
            "crates/folio-document/Cargo.toml:2: must not depend on folio-table: it is above in the crate map",
            "crates/folio-document/Cargo.toml:2: must not depend on folio: it is above in the crate map",
            "crates/folio-ion/Cargo.toml:2: must not depend on folio-types: folio-ion is independent",
            "crates/folio-table/Cargo.toml:2: must not depend on folio-document: the two stores do not know each other",
        ];
        expect(check, &planted, &found);
    }
}
