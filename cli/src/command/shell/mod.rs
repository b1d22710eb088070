//! `folio shell`: statements typed one after the other, in SQL and ZiQL.
//!
//! ```text
//! terminal ─ editor ─┐  colours (highlight), Tab (complete), history,
//!                    │  Enter until the semicolon (input)
//! a pipe, a file ────┴─ input: statements and directives
//!                          ├─ a directive such as `.mode json` (directive)
//!                          └─ a statement (statement): language → session → output
//! ```
//!
//! The shell is one session: a transaction stays open from BEGIN to COMMIT, and an error ends its
//! line, not the shell. Ctrl-C interrupts the running statement through the session. While a line
//! is typed the terminal is raw, and Ctrl-C drops the line. Input that is not a terminal is run to
//! its end, or to its first error, as scripts expect, unless `.bail off` comes first. Each of its
//! statements runs when its line has arrived: a program may wait for the answer before it goes on.

mod complete;
mod directive;
mod editor;
mod highlight;
mod input;
mod names;
mod prompt;
mod statement;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use folio::{Database, Session};
use reedline::{Reedline, Signal};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::arguments::{Limits, Printing};
use crate::console::Console;
use crate::failure::Failure;
use crate::language::Language;
use crate::output::{self, Format, Style};
use crate::signals;
use crate::text::Lines;
use input::{Item, next_item};
use names::SharedNames;
use prompt::Begin;

/// Run SQL and ZiQL interactively
///
/// Statements end with a semicolon and may span lines; a statement that can only be ZiQL runs as
/// ZiQL, and one that can only be SQL as SQL. Tab completes keywords, tables and columns, the
/// history is saved, Ctrl-C cancels the running statement, .help lists the directives of the
/// shell, Ctrl-D leaves. The database is created when a statement writes to it. `folio PATH` is
/// short for this if PATH is a database.
///
/// Input that is not a terminal runs to its end, or to its first error, each statement as soon as
/// its line has arrived.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// Start in ZiQL
    #[arg(long)]
    ziql: bool,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio shell ./data
  $ echo 'select name from planets; .tables' | folio shell ./data
  $ folio shell ./data --ziql -o table < script.zq";

/// The maximum depth of files that read files.
const DEPTH_MAX: usize = 16;

/// Whether to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Quit,
}

/// A session with the shell's settings.
struct Shell<'c> {
    console: &'c Console,
    path: PathBuf,
    session: Session,
    database: Database,
    names: SharedNames,
    format: Option<Format>,
    /// The format to restore with `.vertical off`.
    format_before: Option<Format>,
    style: Style,
    has_timing: bool,
    /// Whether a text ends at its first error.
    has_bail: bool,
    /// Whether a statement failed and the text continued.
    has_failed: bool,
    depth: usize,
    /// When it was looked at what others have written, unless input was waited for since.
    looked: Option<Instant>,
    /// Whether the process was asked to end.
    is_ended: Arc<AtomicBool>,
}

/// Runs a shell on a database until its input ends.
pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let Arguments { database: path, ziql, limits, printing } = arguments;
    let console = &Console { jsonl: ".mode jsonl", ..*console };
    let database = Database::open(path)?;
    let _ = database.take_notices(); // of the place, which `init` and `import` tell
    let mut session = database.session()?;
    session.set_script(true);
    limits.set(&mut session)?;
    let names = SharedNames::new(if *ziql { Language::Ziql } else { Language::Sql });
    let is_ended = Arc::new(AtomicBool::new(false));
    listen(&session, &is_ended);
    let mut shell = Shell {
        console,
        path: path.clone(),
        session,
        database,
        names,
        format: printing.format(),
        format_before: None,
        style: Style { more: "`.rows all` shows all of them from here on", ..Style::new(console) },
        has_timing: false,
        has_bail: true,
        has_failed: false,
        depth: 0,
        looked: None,
        is_ended,
    };
    let result = match io::stdin().is_terminal() {
        true => {
            signals::end_with_terminal()?;
            shell.converse()
        }
        false => shell.run_input(),
    };
    let has_failed = shell.has_failed;
    shell.close()?;
    result.map(|()| if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Makes Ctrl-C end the statement, and TERM and HUP end the statement and the shell.
fn listen(session: &Session, is_ended: &Arc<AtomicBool>) {
    for signal in signals::ENDING {
        // If a signal cannot be handled it ends the process, which is safe too.
        let _ = flag::register(signal, session.interrupt());
        if signal != SIGINT {
            let _ = flag::register(signal, Arc::clone(is_ended));
        }
    }
}

impl Shell<'_> {
    /// Reads from the terminal until Ctrl-D.
    fn converse(&mut self) -> Result<(), Failure> {
        self.refresh_names();
        self.console.confirm(&format!(
            "folio {} on {}; .help shows help, Ctrl-D leaves",
            env!("CARGO_PKG_VERSION"),
            self.path.display()
        ))?;
        let mut editor = self.editor();
        while !self.is_ended.load(Ordering::Relaxed) {
            let begin = Begin {
                language: self.language(),
                is_in_transaction: self.session.is_in_transaction(),
            };
            let line = editor.read_line(&begin)?;
            self.looked = None;
            match line {
                Signal::Success(text) => {
                    // Saved at once, so that the line survives however the shell ends.
                    if let Err(error) = editor.sync_history() {
                        self.console.note(&format!("the history is not saved: {error}"));
                    }
                    match self.run_text(&text) {
                        Ok(Flow::Continue) => {}
                        Ok(Flow::Quit) => break,
                        Err(failure) => drop(failure.report(self.console)),
                    }
                }
                Signal::CtrlC => {}
                _ => break,
            }
        }
        Ok(())
    }

    fn editor(&self) -> Reedline {
        let history = editor::history().unwrap_or_else(|error| {
            self.console.note(&format!("the history is not saved: {error}"));
            None
        });
        editor::editor(&self.names, history, self.console.has_color)
            .with_break_signal(Arc::clone(&self.is_ended))
    }

    /// Runs standard input to its end or its first error, as its lines arrive.
    fn run_input(&mut self) -> Result<(), Failure> {
        let mut lines = Lines::of_input()?;
        let mut text = String::new();
        loop {
            let ending = [self.session.interrupt(), Arc::clone(&self.is_ended)];
            let is_ended = || ending.iter().any(|ending| ending.load(Ordering::Relaxed));
            let has_more = lines.read(&mut text, is_ended)?;
            self.looked = None;
            let (flow, length) = self.run_items(&text, has_more)?;
            if flow == Flow::Quit || !has_more {
                return Ok(());
            }
            text.drain(..length);
        }
    }

    /// Runs the statements and directives of a text, to its end or its first error.
    fn run_text(&mut self, text: &str) -> Result<Flow, Failure> {
        Ok(self.run_items(text, false)?.0)
    }

    /// Runs the statements and directives of a text and returns the size of what has run. If more
    /// follows, a statement without its semicolon waits for the rest.
    fn run_items(&mut self, text: &str, has_more: bool) -> Result<(Flow, usize), Failure> {
        let mut rest = text;
        while let Some((item, length)) = next_item(rest, self.language()) {
            let flow = match item {
                Item::Directive(line) => directive::run(self, line)?,
                Item::Statement { is_ended: false, .. } if has_more => break,
                Item::Statement { text, language, .. } => {
                    if let Err(failure) = self.run_statement(text, language) {
                        if self.has_bail || failure.is_cancelled() {
                            return Err(failure);
                        }
                        let _ = failure.report(self.console);
                        self.has_failed = true;
                    }
                    Flow::Continue
                }
            };
            rest = &rest[length..];
            if flow == Flow::Quit {
                return Ok((Flow::Quit, text.len() - rest.len()));
            }
        }
        Ok((Flow::Continue, text.len() - rest.len()))
    }

    /// Runs a file's text, which may read other files.
    fn run_nested(&mut self, text: &str) -> Result<Flow, Failure> {
        if self.depth == DEPTH_MAX {
            return Err(Failure::Usage("the files read each other in a cycle".to_owned()));
        }
        self.depth += 1;
        let result = self.run_text(text);
        self.depth -= 1;
        result
    }

    fn close(self) -> Result<(), Failure> {
        if self.session.is_in_transaction() {
            self.console.note("the open transaction was rolled back");
        }
        drop(self.session);
        Ok(self.database.close()?)
    }

    fn language(&self) -> Language {
        self.names.lock().language
    }

    fn set_language(&mut self, language: Language) {
        self.names.lock().language = language;
    }

    fn format(&self) -> Format {
        output::resolve(self.format, self.console)
    }

    fn refresh_names(&mut self) {
        self.names.refresh(&self.database, &mut self.session);
    }
}
