//! Names.

use std::fmt;
use std::sync::Arc;

/// A name, or the place where its text would be if the table that has it were at hand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// Known text.
    Text(Arc<str>),
    /// Text that no table at hand defines.
    Unknown(Option<Arc<ImportLocation>>),
}

/// The place of a symbol in a shared table that is not at hand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImportLocation {
    /// The shared table's name.
    pub table: Arc<str>,
    /// The symbol's number there, from 1.
    pub position: usize,
}

impl Symbol {
    /// The symbol `$0`, whose text is unknown everywhere.
    pub const ZERO: Symbol = Symbol::Unknown(None);

    /// The text, if known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Symbol::Text(text) => Some(text),
            Symbol::Unknown(_) => None,
        }
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Symbol {
        Symbol::Text(text.into())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().unwrap_or("$0"))
    }
}
