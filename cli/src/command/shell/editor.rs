//! The line editor: reedline, configured for our languages.

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, ValidationResult, Validator,
    default_emacs_keybindings,
};

use super::complete::Suggestions;
use super::highlight::Colours;
use super::input::is_incomplete;
use super::names::SharedNames;

/// The number of statements in the history.
const HISTORY_SIZE: usize = 10_000;

const MENU: &str = "completions";

/// An editor for statements over these names.
pub(super) fn editor(
    names: &SharedNames,
    history: Option<FileBackedHistory>,
    has_color: bool,
) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let menu_or_next = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(menu_or_next));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline);
    let menu = ColumnarMenu::default().with_name(MENU).with_columns(4).with_marker("");
    let hint = Style::new().fg(Color::DarkGray);
    let mut editor = Reedline::create()
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_validator(Box::new(Ending { names: names.clone() }))
        .with_completer(Box::new(Suggestions { names: names.clone() }))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_hinter(Box::new(DefaultHinter::default().with_style(hint).with_min_chars(2)))
        .with_highlighter(Box::new(Colours { names: names.clone() }))
        .with_ansi_colors(has_color)
        .use_bracketed_paste(true);
    if let Some(history) = history {
        editor = editor.with_history(Box::new(history));
    }
    editor
}

/// Makes Enter begin another line until a statement has its semicolon.
struct Ending {
    names: SharedNames,
}

impl Validator for Ending {
    fn validate(&self, text: &str) -> ValidationResult {
        let language = self.names.lock().language;
        if is_incomplete(text, language) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}

/// The history on disk; `None` if it has no place.
///
/// # Errors
/// When the file cannot be read or created.
pub(super) fn history() -> io::Result<Option<FileBackedHistory>> {
    let Some(path) = history_path() else { return Ok(None) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    make_private(&path)?;
    let history = FileBackedHistory::with_file(HISTORY_SIZE, path);
    history.map(Some).map_err(|error| io::Error::other(error.to_string()))
}

/// Makes the history unreadable for other users, because typed text can be secret.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// `$FOLIO_HISTORY`, where an empty value means none; otherwise `folio/history` in the state folder
/// of the XDG base directory specification.
fn history_path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("FOLIO_HISTORY") {
        return (!path.is_empty()).then(|| path.into());
    }
    let is_set = |path: &std::ffi::OsString| Path::new(path).is_absolute();
    let state = env::var_os("XDG_STATE_HOME").filter(is_set).map(PathBuf::from);
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    Some(state.join("folio/history"))
}
