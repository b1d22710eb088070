//! Standard output and standard error, and whether a person reads them.

use std::env;
use std::io::{self, IsTerminal, Write};

use folio::{Collection, Database, Notice};

/// The output streams and their properties.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) is_quiet: bool,
    /// Standard output is read by a person.
    pub(crate) is_terminal: bool,
    /// Standard error is read by a person.
    pub(crate) has_progress: bool,
    /// Standard error shows colours.
    pub(crate) has_color: bool,
    /// What prints JSON Lines, for hints.
    pub(crate) jsonl: &'static str,
}

impl Console {
    pub(crate) fn new(is_quiet: bool) -> Self {
        let errors_to_terminal = io::stderr().is_terminal();
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            is_quiet,
            is_terminal: io::stdout().is_terminal(),
            has_progress: errors_to_terminal && !is_quiet && !is_dumb,
            has_color: errors_to_terminal && !is_set("NO_COLOR") && !is_dumb,
            jsonl: "-o jsonl",
        }
    }

    /// The terminal's width in columns, or `None` when a program reads.
    pub(crate) fn width(&self) -> Option<usize> {
        if !self.is_terminal {
            return None;
        }
        terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
    }

    /// Prints the requested output.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        writeln!(io::stdout(), "{}", from_here(text))
    }

    /// Confirms an action, on standard output.
    pub(crate) fn confirm(&self, text: &str) -> io::Result<()> {
        if self.is_quiet { Ok(()) } else { self.print(text) }
    }

    /// Prints a note on standard error.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.say("note:", "1;36", text);
        }
    }

    /// Prints an error on standard error.
    pub(crate) fn error(&self, text: &str) {
        self.say("error:", "1;31", text);
    }

    /// Prints each notice of the collection. A read-only handle does not store what it finds out
    /// about edited files, and finds it again the next time.
    pub(crate) fn print_notices(&self, collection: &Collection) {
        let notices = collection.take_notices();
        self.notices(&notices);
        if !notices.is_empty() && !collection.is_writable() {
            self.note("commands that read do not save the index; `folio reindex` saves it");
        }
    }

    /// Prints each notice of what statements have read.
    pub(crate) fn print_notices_of_statements(&self, database: &Database) {
        self.notices(&database.take_notices());
        if let Ok(tables) = database.tables() {
            self.notices(&tables.take_notices());
        }
    }

    pub(crate) fn notices(&self, notices: &[Notice]) {
        for notice in notices {
            self.note(&notice.to_string());
        }
    }

    fn say(&self, label: &str, style: &str, text: &str) {
        let (start, end) = if self.has_color {
            (format!("\x1b[{style}m"), "\x1b[0m")
        } else {
            (String::new(), "")
        };
        // If standard error is closed, the message cannot be shown.
        let _ = writeln!(io::stderr(), "{start}{label}{end} {}", from_here(text));
    }
}

/// A message with its paths relative to the current directory.
fn from_here(text: &str) -> String {
    match env::current_dir().ok().and_then(|here| here.to_str().map(|here| format!("{here}/"))) {
        Some(here) if here.len() > 2 => text.replace(&here, ""),
        _ => text.to_owned(),
    }
}
