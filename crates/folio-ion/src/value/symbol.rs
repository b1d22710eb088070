//! Symbols.

use std::fmt;
use std::sync::Arc;

/// A name; or, if its text is unknown, the place of its definition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// Known text.
    Text(Arc<str>),
    /// Text that no available table defines.
    Unknown(Option<Arc<ImportLocation>>),
}

/// The place of a symbol in a shared table that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImportLocation {
    /// The shared table's name.
    pub table: Arc<str>,
    /// The symbol's number in it, from 1.
    pub position: usize,
}

impl Symbol {
    /// The symbol `$0`, whose text is always unknown.
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
