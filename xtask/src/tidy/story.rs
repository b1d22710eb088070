//! Every source file opens with its story: what it is, why, and what it does
//! not do. Rust with `//!`, Python with a docstring, scripts with a comment.

use super::Finding;
use super::allowance::Allowances;
use super::tree::{Language, SourceFile, Tree};

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let untold = |file: &&SourceFile| !file.is_generated() && !opens_with_story(file);
    tree.files().iter().filter(untold).map(finding).collect()
}

fn finding(file: &SourceFile) -> Finding {
    let opening = match file.language {
        Language::Rust => "`//!`",
        Language::Python => "a docstring",
        _ => "a comment",
    };
    Finding::new(
        &file.path,
        1,
        format!("the file does not open with {opening} that says what it is"),
    )
}

fn opens_with_story(file: &SourceFile) -> bool {
    let first = file.text.lines().find(|line| !line.starts_with("#!")).unwrap_or_default();
    match file.language {
        Language::Rust => first.strip_prefix("//!").is_some_and(says_something),
        Language::Python => {
            let first = first.strip_prefix('r').unwrap_or(first);
            first.starts_with("\"\"\"")
        }
        Language::Script => first.starts_with("//") || first.starts_with("/*"),
        Language::Shell => first.strip_prefix('#').is_some_and(says_something),
        Language::Markdown | Language::Other => true,
    }
}

fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    #[test]
    fn stories() {
        let reported = [
            ("a.rs", "//! A page.\nfn f() {}\n"),
            ("a.py", "#!/usr/bin/env python3\n\"\"\"A page.\"\"\"\n"),
            ("a.js", "// A page.\n"),
            ("a.sh", "#!/usr/bin/env bash\n# Builds a page.\n"),
            ("a.json", "{}\n"),
        ];
        expect(check, &reported, &[]);
        let untold = [
            ("a.rs", "/// Not the module's.\nfn f() {}\n"),
            ("b.rs", "//!\nfn f() {}\n"),
            ("c.py", "import os\n"),
            ("d.sh", "#!/usr/bin/env bash\nset -e\n"),
        ];
        let found = [
            "a.rs:1: the file does not open with `//!` that says what it is",
            "b.rs:1: the file does not open with `//!` that says what it is",
            "c.py:1: the file does not open with a docstring that says what it is",
            "d.sh:1: the file does not open with a comment that says what it is",
        ];
        expect(check, &untold, &found);
    }
}
