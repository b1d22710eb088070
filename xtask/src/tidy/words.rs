//! Words that have no place in the tree: package registries' host names (a
//! mirror must do as well) and paths of somebody's machine.
//!
//! Lock files name the registry by design and are left out. The words are
//! written in two halves here, so that this file passes its own check.

use super::Finding;
use super::allowance::Allowances;
use super::blank::{is_word_byte, line_at};
use super::tree::{SourceFile, Tree};

const LOCK_FILES: [&str; 3] = ["Cargo.lock", "package-lock.json", "uv.lock"];

/// Found anywhere, in any case.
const HOSTS: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("proxy.golang", ".org"),
];

/// Found where a path starts, so that `src/work/` is no hit.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

pub(super) fn check(tree: &Tree, allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| !is_lock_file(&file.path)) {
        let hits = hits(file);
        if hits.is_empty() || allowances.allow("words", &file.path, hits.len()) {
            continue;
        }
        findings.extend(hits.into_iter().map(|(offset, word)| {
            let message = format!("`{word}` names a registry or a machine");
            Finding::new(&file.path, line_at(&file.text, offset), message)
        }));
    }
    findings
}

fn is_lock_file(path: &str) -> bool {
    LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

fn hits(file: &SourceFile) -> Vec<(usize, &'static str)> {
    let lower = file.text.to_ascii_lowercase();
    let hosts =
        HOSTS.iter().flat_map(|word| lower.match_indices(word).map(|(offset, _)| (offset, *word)));
    let starts_path = |offset: usize| {
        let before = offset.checked_sub(1).map(|index| file.text.as_bytes()[index]);
        !before.is_some_and(|byte| is_word_byte(byte) || matches!(byte, b'.' | b'/' | b'-' | b'~'))
    };
    let paths = MACHINE_PATHS.iter().flat_map(|word| {
        let found = file.text.match_indices(word).map(|(offset, _)| offset);
        found.filter(|offset| starts_path(*offset)).map(|offset| (offset, *word))
    });
    hosts.chain(paths).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{expect, expect_allowing};
    use super::*;

    const HOST_LINE: &str = concat!("\nsee https://Crates", ".io/x\n");

    #[test]
    fn hosts_and_paths() {
        let planted = [
            ("a.md", HOST_LINE),
            ("b.sh", concat!("cd /wo", "rk/main\nls \"/ro", "ot/x\"\n")),
            ("Cargo.lock", HOST_LINE),
            ("c.rs", "include!(\"src/work/a.rs\"); // ./root/x and x/home/y\n"),
        ];
        let found = [
            concat!("a.md:2: `crates", ".io` names a registry or a machine"),
            concat!("b.sh:1: `/wo", "rk/` names a registry or a machine"),
            concat!("b.sh:2: `/ro", "ot/` names a registry or a machine"),
        ];
        expect(check, &planted, &found);
    }

    #[test]
    fn an_allowance_counts() {
        let list = "words a.md 1 a release names its registry\n";
        expect_allowing(check, list, &[("a.md", HOST_LINE)], &[]);
    }
}
