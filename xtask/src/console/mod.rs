//! Documentation that runs: the console blocks of Markdown files as tests.
//!
//! ````text
//! ```console
//! $ folio put ./mydata -c users u1 --data '{"name": "Alice"}'
//! $ folio get ./mydata -c users u1
//! {"_id":"u1","name":"Alice"}
//! ```
//! ````
//!
//! A line that begins with `$ ` is a command, one that begins with `> `
//! continues it; the lines below are what it prints, standard error included.
//! `[..]` stands for any text within a line, `...` alone for any lines. A
//! command must succeed; an example of a failure says so itself
//! (`… || echo "exit $?"`). The blocks of one file run in order in one empty
//! folder, each command in a new shell.
//!
//! `--bless` writes what the commands print into the files, for review.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod example;
mod pattern;

use example::Example;

#[derive(Default)]
struct Options {
    /// The folder searched first for the commands.
    bin: Option<PathBuf>,
    bless: bool,
    files: Vec<String>,
}

/// Runs the examples of the given files. True when all print what they say.
///
/// # Errors
///
/// A file cannot be read or written, or none of them holds an example.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let mut passed_count = 0;
    let mut failed_count = 0;
    for file in &options.files {
        let (passed, failed) = run_file(root, file, &options)?;
        passed_count += passed;
        failed_count += failed;
    }
    println!("console: {passed_count} passed, {failed_count} failed");
    if passed_count + failed_count == 0 {
        return Err("no example found: is the block marked `console`?".to_owned());
    }
    Ok(failed_count == 0)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bless" => options.bless = true,
                "--bin" => {
                    let folder = arguments.next().ok_or("--bin needs a folder")?;
                    let folder = fs::canonicalize(folder)
                        .map_err(|error| format!("--bin {folder}: {error}"))?;
                    options.bin = Some(folder);
                }
                file => options.files.push(file.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Runs one file's examples; returns how many passed and failed.
fn run_file(root: &Path, file: &str, options: &Options) -> Result<(usize, usize), String> {
    let path = root.join(file);
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {file}: {error}"))?;
    let folder = WorkingFolder::create()?;
    let mut blessed = text.clone();
    let mut passed = 0;
    let mut failed = 0;

    let examples = example::parse(&text);
    for example in &examples {
        let outcome = execute(example, &folder.path, options)?;
        if outcome.status == 0 && pattern::matches(&example.expected, &outcome.printed) {
            passed += 1;
        } else {
            failed += 1;
            report(file, example, &outcome);
        }
    }
    if options.bless && failed > 0 {
        // From the last example up, so that line numbers stay true.
        let folder = WorkingFolder::create()?;
        let mut printed = Vec::new();
        for example in &examples {
            printed.push(execute(example, &folder.path, options)?.printed);
        }
        for (example, printed) in examples.iter().zip(&printed).rev() {
            if !pattern::matches(&example.expected, printed) {
                blessed = example::replace_expected(&blessed, example, printed);
            }
        }
        fs::write(&path, blessed).map_err(|error| format!("cannot write {file}: {error}"))?;
    }
    Ok((passed, failed))
}

struct Outcome {
    status: i32,
    printed: Vec<String>,
}

fn execute(example: &Example, folder: &Path, options: &Options) -> Result<Outcome, String> {
    let mut command = Command::new("bash");
    // Both streams through one pipe keep the order in which they were written.
    command.arg("-c").arg(format!("exec 2>&1\n{}", example.command));
    command.current_dir(folder).stdin(Stdio::null()).env("NO_COLOR", "1");
    if let Some(bin) = &options.bin {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display()));
    }
    let output = command.output().map_err(|error| format!("cannot run bash: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(Outcome {
        status: output.status.code().unwrap_or(-1),
        printed: printed.lines().map(|line| line.trim_end().to_owned()).collect(),
    })
}

fn report(file: &str, example: &Example, outcome: &Outcome) {
    println!("{file}:{}: $ {}", example.line, example.command);
    for line in &example.expected {
        println!("  expected | {line}");
    }
    for line in &outcome.printed {
        println!("  printed  | {line}");
    }
    if outcome.status != 0 {
        println!("  exit status {}", outcome.status);
    }
}

/// An empty folder that is gone when the value is.
struct WorkingFolder {
    path: PathBuf,
}

impl WorkingFolder {
    fn create() -> Result<Self, String> {
        let parent = std::env::temp_dir();
        for attempt in 0..1000 {
            let path = parent.join(format!("console-{}-{attempt}", std::process::id()));
            if fs::create_dir(&path).is_ok() {
                return Ok(WorkingFolder { path });
            }
        }
        Err(format!("cannot create a folder under {}", parent.display()))
    }
}

impl Drop for WorkingFolder {
    fn drop(&mut self) {
        // A leftover in the temporary folder is no reason to fail.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a Markdown text as a file of a fresh folder; returns the outcome
    /// and the text afterwards.
    fn run_text(text: &str, arguments: &[&str]) -> (Result<bool, String>, String) {
        let folder = WorkingFolder::create().expect("the temporary folder is writable");
        let file = folder.path.join("page.md");
        fs::write(&file, text).expect("the temporary folder is writable");
        let mut all: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        all.push("page.md".to_owned());
        let outcome = run(&folder.path, &all);
        (outcome, fs::read_to_string(&file).expect("the page is still there"))
    }

    #[test]
    fn examples_share_a_folder_and_pass() {
        let text =
            "```console\n$ echo a > f\n$ cat f\na\n```\ntext\n```console\n$ wc -c < f\n2\n```\n";
        assert_eq!(run_text(text, &[]).0, Ok(true));
    }

    #[test]
    fn other_output_and_failure_are_noticed() {
        assert_eq!(run_text("```console\n$ echo a\nb\n```\n", &[]).0, Ok(false));
        assert_eq!(run_text("```console\n$ echo a\n```\n", &[]).0, Ok(false));
        assert_eq!(run_text("```console\n$ false\n```\n", &[]).0, Ok(false));
        assert!(run_text("```sh\n$ false\n```\n", &[]).0.is_err());
    }

    #[test]
    fn standard_error_counts() {
        assert_eq!(run_text("```console\n$ echo a >&2; echo b\na\nb\n```\n", &[]).0, Ok(true));
    }

    #[test]
    fn bless_writes_what_was_printed() {
        let text = "```console\n$ echo a\nb\nc\n$ echo d\n[..]\n```\nend\n";
        let (outcome, after) = run_text(text, &["--bless"]);
        assert_eq!(outcome, Ok(false));
        assert_eq!(after, "```console\n$ echo a\na\n$ echo d\n[..]\n```\nend\n");
    }
}
