//! Reads the scripts under `conformance/` and runs them against a surface.
//!
//! The format is described in `README.md` beside this file. Both runners in Rust
//! include this module by its path: what a script means must not depend on who
//! runs it, and tests cannot share a module otherwise without a crate of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;

/// A part of a script that begins with an empty database.
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) needs: Vec<String>,
    steps: Vec<Step>,
}

/// One operation and what must come of it.
pub(crate) struct Step {
    line: usize,
    pub(crate) operation: String,
    pub(crate) arguments: Vec<Value>,
    pub(crate) text: Option<String>,
    expected: Outcome,
}

/// What came of an operation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Values as JSON text, in which the order of fields and the digits count.
    values: Vec<String>,
    text: Vec<String>,
    error: Option<String>,
}

/// Whatever can run operations.
pub(crate) trait Surface {
    fn run(&mut self, step: &Step) -> Outcome;
}

impl Outcome {
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    pub(crate) fn value(value: impl Into<Value>) -> Self {
        Self::values([value.into()])
    }

    pub(crate) fn values(values: impl IntoIterator<Item = Value>) -> Self {
        let values = values.into_iter().map(|value| value.to_string()).collect();
        Self { values, ..Self::default() }
    }

    /// Text whose last line end, if it has one, is not a line of its own.
    pub(crate) fn text(text: &str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text).split('\n');
        Self { text: text.map(str::to_owned).collect(), ..Self::default() }
    }

    pub(crate) fn error(code: impl Into<String>) -> Self {
        Self { error: Some(code.into()), ..Self::default() }
    }

    /// As a script writes it.
    fn describe(&self) -> String {
        let mut lines = String::new();
        for value in &self.values {
            writeln!(lines, "    = {value}").expect("memory takes text");
        }
        for text in &self.text {
            writeln!(lines, "    : {text}").expect("memory takes text");
        }
        if let Some(code) = &self.error {
            writeln!(lines, "    ! {code}").expect("memory takes text");
        }
        if lines.is_empty() { "    nothing\n".to_owned() } else { lines }
    }
}

impl Step {
    /// An argument that must be text.
    pub(crate) fn word(&self, index: usize) -> &str {
        let word = self.arguments.get(index).and_then(Value::as_str);
        word.unwrap_or_else(|| panic!("line {}: argument {index} is text", self.line))
    }

    /// The text behind the operation, or given as an argument.
    pub(crate) fn content(&self, index: usize) -> &str {
        self.text.as_deref().unwrap_or_else(|| self.word(index))
    }
}

impl Section {
    /// Runs every step; answers the first that differs.
    pub(crate) fn run(&self, surface: &mut impl Surface) -> Result<(), String> {
        for step in &self.steps {
            let outcome = surface.run(step);
            if outcome != step.expected {
                let arguments = Value::Array(step.arguments.clone());
                return Err(format!(
                    "line {}, in {:?}: {} {arguments}\n  expected\n{}  but got\n{}",
                    step.line,
                    self.name,
                    step.operation,
                    step.expected.describe(),
                    outcome.describe(),
                ));
            }
        }
        Ok(())
    }
}

/// Runs all scripts of a folder, each section against a surface of its own;
/// `open` answers `None` for a section whose needs it cannot meet. Answers how
/// many sections ran.
pub(crate) fn run_folder<S: Surface>(
    folder: &Path,
    mut open: impl FnMut(&Section) -> Option<S>,
) -> usize {
    let mut failures = String::new();
    let mut count = 0;
    for (name, text) in scripts(folder) {
        for section in parse(&text).unwrap_or_else(|error| panic!("{name}: {error}")) {
            let Some(mut surface) = open(&section) else { continue };
            count += 1;
            if let Err(failure) = section.run(&mut surface) {
                writeln!(failures, "{name}: {failure}").expect("memory takes text");
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    count
}

/// What people and their tools do to files behind the database's back.
pub(crate) fn change_file(folder: &Path, step: &Step) -> Outcome {
    let path = folder.join(step.word(0));
    match step.operation.as_str() {
        "read_file" => {
            return Outcome::text(&fs::read_to_string(&path).expect("the file is there"));
        }
        "write_file" => fs::write(&path, step.content(1)),
        "append_file" => fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(step.content(1).as_bytes())),
        "replace_file" => replace(&path, step.content(1)),
        "edit_file" => fs::read_to_string(&path).and_then(|text| {
            assert!(text.contains(step.word(1)), "line {}: the text is there", step.line);
            replace(&path, &text.replace(step.word(1), step.word(2)))
        }),
        _ => fs::remove_file(&path),
    }
    .unwrap_or_else(|error| panic!("line {}: {}: {error}", step.line, path.display()));
    Outcome::nothing()
}

/// As editors do: another file, renamed into its place.
fn replace(path: &Path, content: &str) -> io::Result<()> {
    let beside = path.with_extension("edited");
    fs::write(&beside, content)?;
    fs::rename(beside, path)
}

/// The scripts of a folder by name.
fn scripts(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("the scripts are there");
    let paths = entries.map(|entry| entry.expect("the folder is listed").path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|end| end == "txt"));
    scripts
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("it is text")))
        .collect()
}

/// The sections of a script.
pub(crate) fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let failed = |reason: &str| format!("line {number}: {reason}: {line}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix("== ") {
            sections.push(section(header));
            continue;
        }
        let section = sections.last_mut().ok_or_else(|| failed("no section has begun"))?;
        if line.starts_with(|first: char| first.is_ascii_lowercase()) {
            section.steps.push(step(line, number).map_err(|error| failed(&error.to_string()))?);
            continue;
        }
        let step = section.steps.last_mut().ok_or_else(|| failed("no operation stands above"))?;
        let (mark, rest) = line.split_at(1);
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        match mark {
            "|" => *step.text.get_or_insert_default() += &format!("{rest}\n"),
            ":" => step.expected.text.push(rest.to_owned()),
            "!" => step.expected.error = Some(rest.to_owned()),
            "=" => {
                let value: Value =
                    serde_json::from_str(rest).map_err(|error| failed(&error.to_string()))?;
                step.expected.values.push(value.to_string());
            }
            _ => return Err(failed("what is this line?")),
        }
    }
    Ok(sections)
}

fn section(header: &str) -> Section {
    let (name, needs) = match header.strip_suffix(']').and_then(|header| header.split_once(" [")) {
        Some((name, needs)) => (name, needs.split(' ').map(str::to_owned).collect()),
        None => (header, Vec::new()),
    };
    Section { name: name.to_owned(), needs, steps: Vec::new() }
}

fn step(line: &str, number: usize) -> Result<Step, serde_json::Error> {
    let (operation, arguments) = line.split_once(' ').unwrap_or((line, "[]"));
    Ok(Step {
        line: number,
        operation: operation.to_owned(),
        arguments: serde_json::from_str(arguments)?,
        text: None,
        expected: Outcome::default(),
    })
}
