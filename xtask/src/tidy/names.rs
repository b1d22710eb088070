//! Names that say nothing about what is inside.
//!
//! `utils`, `common`, `helpers` and `manager` collect what nobody placed;
//! `fast_`, `new_` and `v2_` mean that two versions of one thing exist and the
//! reader must find out which one runs.

use super::Finding;
use super::allowance::Allowances;
use super::blank::{is_word_byte, line_at, words};
use super::tree::{Language, Tree};

const BANNED: [&str; 9] =
    ["utils", "util", "common", "helpers", "helper", "manager", "misc", "stuff", "v2"];
const BANNED_PREFIXES: [&str; 4] = ["fast_", "new_", "v2_", "old_"];
const BANNED_SUFFIXES: [&str; 5] = ["_utils", "_util", "_helpers", "_manager", "_v2"];

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        if let Some(name) = banned_part(&file.path) {
            findings.push(finding(&file.path, 1, name));
        }
    }
    for file in tree.in_language(Language::Rust) {
        for offset in words(&file.code, "mod") {
            let rest = file.code[offset + 3..].trim_start();
            let end = rest.bytes().position(|byte| !is_word_byte(byte)).unwrap_or(rest.len());
            let name = &rest[..end];
            let is_inline = rest[end..].trim_start().starts_with('{');
            if is_inline && is_banned(name) {
                findings.push(finding(&file.path, line_at(&file.code, offset), name));
            }
        }
    }
    findings
}

fn finding(path: &str, line: usize, name: &str) -> Finding {
    Finding::new(path, line, format!("`{name}` says nothing: name it for the noun it holds"))
}

/// The first folder or file of `path` with a banned name.
fn banned_part(path: &str) -> Option<&str> {
    path.split('/').map(|part| part.split('.').next().unwrap_or(part)).find(|stem| is_banned(stem))
}

fn is_banned(name: &str) -> bool {
    let name = name.replace('-', "_").to_lowercase();
    BANNED.contains(&name.as_str())
        || BANNED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || BANNED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn files_folders_and_modules() {
        let planted = [
            ("crates/a/src/fast_writer.rs", "//! A.\n"),
            ("crates/a/src/writer.rs", "//! A.\nmod buffer_manager {}\nmod newest {}\n"),
            ("crates/a/tests/common/mod.rs", "//! A.\n"),
        ];
        let found = [
            "crates/a/src/fast_writer.rs:1: `fast_writer` says nothing: name it for the noun it holds",
            "crates/a/src/writer.rs:2: `buffer_manager` says nothing: name it for the noun it holds",
            "crates/a/tests/common/mod.rs:1: `common` says nothing: name it for the noun it holds",
        ];
        expect(check, &planted, &found);
    }

    #[test]
    fn words_that_only_look_alike() {
        let planted = [("crates/a/src/newline.rs", "//! A.\n"), ("docs/command.md", "# A\n")];
        expect(check, &planted, &[]);
    }
}
