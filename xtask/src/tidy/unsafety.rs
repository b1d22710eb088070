//! `unsafe` stands in the named places only, and every block says why it is
//! sound.
//!
//! The compiler denies it elsewhere through the workspace's lints; this check
//! keeps a crate from lifting that lint for itself, and covers the workspaces
//! that do not share the lints.

use super::Finding;
use super::allowance::Allowances;
use super::blank::{line_at, words};
use super::tree::{Language, SourceFile, Tree};

/// Where `unsafe` may stand: contact with the operating system, the buffer
/// pool's frames, Ion's kernels, and the borders to other languages and to the
/// stores that the benches compare with.
const PLACES: [&str; 6] = [
    "crates/folio-file/",
    "crates/folio-table/src/buffer/frame",
    "crates/folio-ion/src/kernel",
    "bindings/",
    "extensions/",
    "bench/src/store/",
];

pub(super) fn check(tree: &Tree, _allowances: &mut Allowances) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.in_language(Language::Rust) {
        let permitted = PLACES.iter().any(|place| file.path.starts_with(place));
        for offset in words(&file.code, "unsafe") {
            let line = line_at(&file.code, offset);
            if !permitted {
                let message = format!("`unsafe` outside of {}", PLACES.join(", "));
                findings.push(Finding::new(&file.path, line, message));
            } else if needs_argument(&file.code[offset..]) && !has_argument(file, line) {
                let message = "`unsafe` without a `// SAFETY:` comment above it";
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// A block or an implementation states why it is sound; a declaration states
/// its conditions under `# Safety`, which clippy checks.
fn needs_argument(code: &str) -> bool {
    let rest = code["unsafe".len()..].trim_start();
    rest.starts_with('{') || rest.starts_with("impl")
}

/// Looks upward from `line`, through the statement it belongs to, its
/// attributes and the comment above.
fn has_argument(file: &SourceFile, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().take(line).map(str::trim).collect();
    if lines[line - 1].contains("// SAFETY:") {
        return true;
    }
    for text in lines[..line - 1].iter().rev() {
        if text.starts_with("//") {
            if text.starts_with("// SAFETY:") {
                return true;
            }
        } else if text.is_empty() || text.ends_with([';', '{', '}', ',']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::*;

    const MAP: &str = "crates/folio-file/src/map.rs";
    const MISSING: &str = "`unsafe` without a `// SAFETY:` comment above it";

    #[test]
    fn blocks_argue() {
        expect(check, &[(MAP, "// SAFETY: the file is ours.\nlet a = unsafe { f() };\n")], &[]);
        expect(check, &[(MAP, "// SAFETY: long\n// story.\nlet a =\n    unsafe { f() };\n")], &[]);
        let planted = "// The file is ours.\nlet a = unsafe { f() };\n";
        expect(check, &[(MAP, planted)], &[&format!("{MAP}:2: {MISSING}")]);
    }

    #[test]
    fn an_argument_covers_one_statement() {
        let planted = "// SAFETY: the file is ours.\nunsafe { f() };\nunsafe { g() };\n";
        expect(check, &[(MAP, planted)], &[&format!("{MAP}:3: {MISSING}")]);
        let planted = "unsafe impl Send for A {}\n";
        expect(check, &[(MAP, planted)], &[&format!("{MAP}:1: {MISSING}")]);
    }

    #[test]
    fn elsewhere_it_is_refused() {
        let planted = "// SAFETY: no.\nunsafe { f() }; // unsafe\n#![deny(unsafe_code)]\n";
        let found = format!("cli/src/main.rs:2: `unsafe` outside of {}", PLACES.join(", "));
        expect(check, &[("cli/src/main.rs", planted)], &[&found]);
    }
}
