//! Style as a test: what review would otherwise repeat, said by a program.
//!
//! The tree is read once ([`Tree`]); each check is a function from the tree to
//! its findings and lives in the file of its name. A finding prints as
//! `path:line: message`, so that an editor can jump to it. The reasons for the
//! rules stand in `CONTRIBUTING.md`.
//!
//! What a rule cannot have today goes to `xtask/tidy-allow.txt` with a number
//! and a reason ([`allowance`]); that list may only shrink.
//!
//! The checks read text, not syntax trees: comments and strings are blanked
//! ([`blank`]) and the rest is matched by words. That is exact enough for these
//! rules, needs no dependency and takes milliseconds.

use std::path::Path;
use std::time::Instant;

mod allowance;
mod blank;
mod circles;
mod commands;
mod decisions;
mod dependencies;
mod function;
mod imports;
mod length;
mod links;
mod names;
mod story;
mod system;
mod tree;
mod unsafety;
mod words;

use allowance::Allowances;
use tree::Tree;

/// One place where the tree breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// From 1.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

type Check = fn(&Tree, &mut Allowances) -> Vec<Finding>;

/// Every check with the name it reports under. `allowance` comes last: by then
/// each entry of the allow-list has been used or has not.
const CHECKS: &[(&str, Check)] = &[
    ("length", length::check),
    ("story", story::check),
    ("names", names::check),
    ("unsafe", unsafety::check),
    ("imports", imports::check),
    ("circles", circles::check),
    ("system", system::check),
    ("decisions", decisions::check),
    ("dependencies", dependencies::check),
    ("links", links::check),
    ("words", words::check),
    ("commands", commands::check),
    ("allowance", allowance::check),
];

/// Prints which modules import each other, of the crates whose folder contains `wanted`.
///
/// # Errors
///
/// The list of files cannot be read.
pub(crate) fn print_circles(root: &Path, wanted: &str) -> Result<bool, String> {
    circles::print(&Tree::load(root)?, wanted);
    Ok(true)
}

/// Runs every check over the repository at `root` and prints what it found.
/// True when nothing was.
///
/// # Errors
///
/// The list of files cannot be read, or the allow-list does not parse.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let started = Instant::now();
    let tree = Tree::load(root)?;
    let mut allowances = Allowances::parse(tree.text(allowance::LIST).unwrap_or_default())?;

    let mut finding_count = 0;
    let mut failed_count = 0;
    for (name, check) in CHECKS {
        let mut findings = check(&tree, &mut allowances);
        findings.sort();
        for finding in &findings {
            println!("{}:{}: {} [{name}]", finding.path, finding.line, finding.message);
        }
        finding_count += findings.len();
        failed_count += usize::from(!findings.is_empty());
    }

    println!(
        "tidy: {} passed, {failed_count} failed ({} files, {finding_count} findings, {} ms)",
        CHECKS.len() - failed_count,
        tree.files().len(),
        started.elapsed().as_millis(),
    );
    Ok(finding_count == 0)
}

/// Runs one check over a planted tree and compares the findings as
/// `path:line: message` lines.
#[cfg(test)]
fn expect(check: Check, files: &[(&str, &str)], expected: &[&str]) {
    expect_allowing(check, "", files, expected);
}

/// As [`expect`], with an allow-list.
#[cfg(test)]
fn expect_allowing(check: Check, list: &str, files: &[(&str, &str)], expected: &[&str]) {
    let tree = Tree::from_files(files);
    let mut allowances = Allowances::parse(list).expect("the planted allow-list parses");
    let mut findings = check(&tree, &mut allowances);
    findings.sort();
    let printed: Vec<String> =
        findings.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.message)).collect();
    assert_eq!(printed, expected);
}
