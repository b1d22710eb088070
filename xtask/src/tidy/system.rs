//! Only `folio-file` calls the operating system.
//!
//! A crash test is worth what it covers: one `std::fs` call beside the traits
//! is a write that the fault-injecting file system never sees. Test code may
//! touch the disk, and so may the surfaces, whose work is to read what users
//! hand them.

use super::Finding;
use super::allowance::Allowances;
use super::blank::{line_at, words};
use super::tree::{Language, SourceFile, Tree};

const REFUSED: [&str; 7] =
    ["std::fs", "std::os", "std::net", "process::Command", "rustix", "memmap2", "libc"];

pub(super) fn check(tree: &Tree, allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.in_language(Language::Rust).filter(|file| is_bound(&file.path)) {
        let calls = calls(file);
        if calls.is_empty() || allowances.allow("system", &file.path, calls.len()) {
            continue;
        }
        findings.extend(calls.into_iter().map(|(line, name)| {
            let message = format!("`{name}`: only folio-file calls the operating system");
            Finding::new(&file.path, line, message)
        }));
    }
    findings
}

fn is_bound(path: &str) -> bool {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    path.starts_with("crates/") && !path.starts_with("crates/folio-file/") && !is_test
}

/// The calls of a file with their lines. Unit tests stand last in a file, so
/// everything from the first `#[cfg(test)]` module on is test code.
fn calls(file: &SourceFile) -> Vec<(usize, &'static str)> {
    let code = file.code.find("#[cfg(test)]\nmod ").map_or(&*file.code, |end| &file.code[..end]);
    let mut found = Vec::new();
    for name in REFUSED {
        found.extend(words(code, name).map(|offset| (line_at(code, offset), name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn calls_outside_of_the_file_crate() {
        let planted = [
            (
                "crates/folio-document/src/segment.rs",
                "//! `std::fs` in words.\nuse std::fs::File;\n",
            ),
            ("crates/folio-file/src/disk.rs", "use std::fs;\n"),
            ("cli/src/main.rs", "use std::fs;\n"),
            ("crates/folio/src/lib.rs", "#[cfg(test)]\nmod tests {\nuse std::fs;\n}\n"),
            ("crates/folio/tests/kill.rs", "use std::process::Command;\n"),
            ("crates/folio/src/journey/tests.rs", "use std::fs;\n"),
        ];
        let found = [
            "crates/folio-document/src/segment.rs:2: `std::fs`: only folio-file calls the operating system",
        ];
        expect(check, &planted, &found);
    }
}
