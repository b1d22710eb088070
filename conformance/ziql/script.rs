//! Reads and runs the scripts of this folder, for the library and for the command.
//!
//! ```text
//! == section               a new, empty database
//! schema                   applies the schema in the `|` lines; `schema drop` may drop
//! | User ( name: str )
//! : + struct User          a line of what changed
//! show                     prints the structs; `:` lines are expected
//! $ who="Ann"              a parameter of the next statement: JSON
//! ? GRAB User [name]       a statement; `> ` lines go on with it
//! = [{"name":"Ann"}]       its answer, as it stands
//! ~ 3                      or how many rows it has
//! ! expected a field       or the error, line for line
//! sql select 1 as n        SQL on the same database, answered the same way
//! ```
//!
//! With `UPDATE_ZIQL=1` what was answered is written into the files, to be read in
//! review.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What is asked of a surface.
pub(crate) enum Ask {
    Schema { text: String, allow_drop: bool },
    Show,
    Ziql { text: String, parameters: Vec<(String, String)> },
    Sql(String),
}

/// What it answers: lines, or rows as JSON; or the text of an error.
pub(crate) type Answer = Result<Answered, String>;

/// An answer without an error.
pub(crate) enum Answered {
    Lines(Vec<String>),
    /// One JSON array, and how many rows it has.
    Rows(String, usize),
}

/// A surface with an empty database.
pub(crate) trait Surface {
    fn ask(&mut self, ask: &Ask) -> Answer;
}

/// Runs all scripts; every section gets a surface of its own.
pub(crate) fn run<S: Surface>(new: impl Fn() -> S) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = [folder.join("../../conformance/ziql"), folder.join("../conformance/ziql")];
    let folder = folder.iter().find(|folder| folder.is_dir()).expect("the scripts are there");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder can be read")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    assert!(paths.len() > 5, "there are scripts");
    let mut differences = String::new();
    for path in paths {
        let expected = fs::read_to_string(&path).expect("a script can be read");
        let found = replay(&expected, &new);
        if std::env::var_os("UPDATE_ZIQL").is_some() {
            fs::write(&path, &found).expect("a script can be written");
        } else if found != expected {
            difference(&path, &expected, &found, &mut differences);
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

/// The lines around the first difference of every section.
fn difference(path: &Path, expected: &str, found: &str, out: &mut String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for (expected, found) in expected.split("\n== ").zip(found.split("\n== ")) {
        if expected == found {
            continue;
        }
        let section = expected.lines().next().unwrap_or_default();
        let (mut left, mut right) = (expected.lines(), found.lines());
        let mut before = "";
        loop {
            let (line, other) = (left.next(), right.next());
            if line != other {
                let (line, found) = (line.unwrap_or("nothing"), other.unwrap_or("nothing"));
                let _ = writeln!(
                    out,
                    "{name}: {section}\n  after    {before}\n  expected {line}\n  found    {found}"
                );
                break;
            }
            let Some(line) = line else { break };
            before = line;
        }
    }
}

/// The script with what is answered in place of what is expected.
fn replay<S: Surface>(script: &str, new: &impl Fn() -> S) -> String {
    let (mut out, mut surface) = (String::new(), None);
    let mut parameters = Vec::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        let mut more = |prefix: &str, out: &mut String, text: &mut String| {
            while let Some(line) = lines.next_if(|line| line.starts_with(prefix)) {
                let _ = writeln!(out, "{line}");
                text.push_str(line.get(2..).unwrap_or_default());
                text.push('\n');
            }
        };
        let ask = if line.starts_with("== ") {
            surface = Some(new());
            continue;
        } else if let Some(given) = line.strip_prefix("$ ") {
            let (name, value) = given.split_once('=').expect("a parameter has a value");
            parameters.push((name.to_owned(), value.to_owned()));
            continue;
        } else if line == "schema" || line == "schema drop" {
            let mut text = String::new();
            more("| ", &mut out, &mut text);
            Ask::Schema { text, allow_drop: line.ends_with("drop") }
        } else if line == "show" {
            Ask::Show
        } else if let Some(first) = line.strip_prefix("? ") {
            let mut text = format!("{first}\n");
            more("> ", &mut out, &mut text);
            let parameters = std::mem::take(&mut parameters);
            Ask::Ziql { text: text.trim_end().to_owned(), parameters }
        } else if let Some(text) = line.strip_prefix("sql ") {
            Ask::Sql(text.to_owned())
        } else {
            continue;
        };
        let mut counts = false;
        while let Some(line) =
            lines.next_if(|line| ["= ", "~ ", "! ", ": "].iter().any(|mark| line.starts_with(mark)))
        {
            counts |= line.starts_with("~ ");
        }
        let surface = surface.as_mut().expect("a section begins with ==");
        match surface.ask(&ask) {
            Ok(Answered::Lines(lines)) => {
                lines.iter().for_each(|line| writeln!(out, ": {line}").unwrap_or_default());
            }
            Ok(Answered::Rows(_, count)) if counts => {
                let _ = writeln!(out, "~ {count}");
            }
            Ok(Answered::Rows(json, _)) => {
                let _ = writeln!(out, "= {json}");
            }
            Err(error) => {
                error.lines().for_each(|line| writeln!(out, "! {line}").unwrap_or_default());
            }
        }
    }
    out
}
