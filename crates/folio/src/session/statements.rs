//! The statements a session has seen, ready to run.
//!
//! They are found by their text and the types of their parameters, or by their
//! template: the text without its literals. A template is compiled when it comes for
//! the second time; one that cannot be, or whose answer would show the difference, is
//! remembered as unfit.

use std::collections::HashMap;
use std::sync::Arc;

use folio_engine::{Signature, Statement};
use folio_sql::Template;
use folio_types::Value;

use super::parameters::type_of;

/// Statements remembered at most, of either kind.
const COUNT_MAX: usize = 256;

/// Texts longer than this are not worth remembering, nor worth hashing.
const TEXT_SIZE_MAX: usize = 16 << 10;

/// A statement for the parameters it was compiled for.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) signature: Arc<Signature>,
    pub(super) statement: Arc<Statement>,
}

impl Known {
    /// Whether it is for these values by position.
    pub(super) fn is_fit(&self, values: &[Value]) -> bool {
        let Signature { types, names } = &*self.signature;
        names.is_empty()
            && types.len() == values.len()
            && types.iter().zip(values).all(|(ty, value)| *ty == type_of(value))
    }
}

/// What is known of a template.
enum Kept {
    /// It came once.
    Once,
    Known(Vec<Known>),
    Unfit,
}

/// What a template was found as.
pub(super) enum Found {
    /// A statement to run.
    Statement(Arc<Statement>),
    /// It came before, perhaps with literals of other types: time to compile it.
    Seen,
    /// It came for the first time, or must not be used.
    Unfit,
}

/// The statements of a session.
#[derive(Default)]
pub(super) struct Statements {
    texts: HashMap<Box<str>, Vec<Known>>,
    templates: HashMap<Box<str>, Kept>,
}

impl Statements {
    /// Forgets all: definitions have changed.
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.templates.clear();
    }

    /// The statement of a text.
    pub(super) fn of_text(&self, text: &str, signature: &Signature) -> Option<Arc<Statement>> {
        if text.len() > TEXT_SIZE_MAX {
            return None;
        }
        let known = self.texts.get(text)?.iter().find(|known| *known.signature == *signature)?;
        Some(Arc::clone(&known.statement))
    }

    pub(super) fn remember(
        &mut self,
        text: &str,
        signature: &Signature,
        statement: &Arc<Statement>,
    ) {
        if text.len() > TEXT_SIZE_MAX {
            return;
        }
        if self.texts.len() >= COUNT_MAX {
            self.texts.clear();
        }
        let signature = Arc::new(signature.clone());
        let known = Known { signature, statement: Arc::clone(statement) };
        self.texts.entry(text.into()).or_default().push(known);
    }

    /// Forgets one text.
    pub(super) fn forget(&mut self, text: &str) {
        self.texts.remove(text);
    }

    /// The statement of a template.
    pub(super) fn of_template(&mut self, template: &Template) -> Found {
        match self.templates.get(&*template.text) {
            Some(Kept::Known(all)) => {
                match all.iter().find(|known| *known.signature == template.signature) {
                    Some(known) => Found::Statement(Arc::clone(&known.statement)),
                    None => Found::Seen,
                }
            }
            Some(Kept::Once) => Found::Seen,
            Some(Kept::Unfit) => Found::Unfit,
            None => {
                if self.templates.len() >= COUNT_MAX {
                    self.templates.clear();
                }
                self.templates.insert(template.text.as_str().into(), Kept::Once);
                Found::Unfit
            }
        }
    }

    /// Keeps what a template was compiled to; `None` where it is not to be used.
    pub(super) fn remember_template(
        &mut self,
        template: &Template,
        statement: Option<&Arc<Statement>>,
    ) {
        let kept = self.templates.entry(template.text.as_str().into()).or_insert(Kept::Once);
        let Some(statement) = statement else {
            *kept = Kept::Unfit;
            return;
        };
        let signature = Arc::new(template.signature.clone());
        let known = Known { signature, statement: Arc::clone(statement) };
        match kept {
            Kept::Known(all) => all.push(known),
            kept => *kept = Kept::Known(vec![known]),
        }
    }
}
