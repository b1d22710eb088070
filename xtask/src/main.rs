//! Chores of the FolioDB tree, run as `cargo xtask <chore>`.
//!
//! | chore | what it does |
//! |---|---|
//! | `tidy` | style as a test: lengths, names, docs, unsafe, imports, links |
//! | `circles [FOLDER]` | prints the modules of each crate that import each other, with the imports |
//! | `console FILE…` | runs the console blocks of Markdown files and compares what they print |
//!
//! `tidy` and `console` print one line per finding and a summary, and exit with
//! 1 when something is wrong, so that a person and `make test` read the same output.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod console;
mod tidy;

const USAGE: &str =
    "usage: cargo xtask tidy | circles [FOLDER] | console [--bin DIR] [--bless] FILE...";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((chore, [])) if chore == "tidy" => tidy::run(&repository_root()),
        Some((chore, rest)) if chore == "circles" && rest.len() < 2 => {
            tidy::print_circles(&repository_root(), rest.first().map_or("", |wanted| wanted))
        }
        Some((chore, rest)) if chore == "console" => console::run(&repository_root(), rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}

/// The directory that holds the workspace's `Cargo.toml`.
fn repository_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the xtask package is a folder of the repository").to_owned()
}
