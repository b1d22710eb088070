//! Why a record is rejected, in the words of the calling surface.
//!
//! The remedy is often an option, which is `--id-field` in a shell and `id_field` in a program. So
//! a reason is a value, and its text is made with the option names of the surface.

use std::fmt;

/// A surface's names for the options that import errors mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionNames {
    /// [`crate::import::ImportOptions::id_field`].
    pub id_field: &'static str,
    /// [`crate::import::ImportOptions::generate_ids`].
    pub generate_ids: &'static str,
    /// [`crate::import::ImportOptions::on_conflict`].
    pub on_conflict: &'static str,
}

/// The names in this library.
impl Default for OptionNames {
    fn default() -> Self {
        Self { id_field: "id_field", generate_ids: "generate_ids", on_conflict: "on_conflict" }
    }
}

/// Why a record cannot become a document. Its text uses the option names of this library;
/// [`Reason::message`] takes those of another surface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has no `_id`, and no other field was named.
    NoId,
    /// Its `_id` is neither text nor a number: `null`, `an object`, …
    IdOfKind(&'static str),
    /// Anything that no option can fix.
    Other(String),
}

impl Reason {
    /// The reason and the next step, in the words of a surface.
    #[must_use]
    pub fn message(&self, names: &OptionNames) -> String {
        let OptionNames { id_field, generate_ids, .. } = names;
        match self {
            Self::NoId => format!(
                "no \"_id\"; name the field that holds the id ({id_field}), or have ids made \
                 ({generate_ids})"
            ),
            Self::IdOfKind(kind) => format!(
                "\"_id\" is {kind}, not text; name the field that holds the id ({id_field})"
            ),
            Self::Other(text) => text.clone(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message(&OptionNames::default()))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}
