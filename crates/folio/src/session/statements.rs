//! A cache of compiled statements of a session.
//!
//! They are found by text and parameter types, or by template: the text without its literals. A
//! template is compiled the second time it is seen. A template that cannot be compiled, or that
//! would give a different result, is marked as unfit.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use folio_engine::{Signature, Statement};
use folio_sql::Template;
use folio_types::Value;

use super::parameters::type_of;
use super::script::Request;

/// The maximum number of cached statements of either kind.
const COUNT_MAX: usize = 256;

/// Longer texts are not cached: hashing them costs too much.
const TEXT_SIZE_MAX: usize = 16 << 10;

/// A statement, and the parameters it was compiled for.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) signature: Arc<Signature>,
    pub(super) statement: Arc<Statement>,
}

impl Known {
    pub(super) fn new(signature: &Signature, statement: &Arc<Statement>) -> Self {
        Self { signature: Arc::new(signature.clone()), statement: Arc::clone(statement) }
    }

    /// Whether it was compiled for parameters of these types.
    pub(super) fn is_for(&self, signature: &Signature) -> bool {
        std::ptr::eq(&raw const *self.signature, signature) || *self.signature == *signature
    }

    /// Whether it was compiled for these positional values.
    pub(super) fn is_fit(&self, values: &[Value]) -> bool {
        let Signature { types, names, open_lists } = &*self.signature;
        names.is_empty()
            && open_lists.is_empty()
            && types.len() == values.len()
            && types.iter().zip(values).all(|(ty, value)| *ty == type_of(value))
            && !values.iter().any(|value| matches!(value, Value::List(_)))
    }
}

/// The state of a template.
enum Kept {
    /// Seen once.
    Once,
    Known(Vec<Known>),
    Unfit,
}

/// The result of a template lookup.
pub(super) enum Found {
    /// A statement to run.
    Statement(Arc<Statement>),
    /// Seen before, perhaps with literals of other types: time to compile it.
    Seen,
    /// Seen for the first time, or must not be used.
    Unfit,
}

/// The statement cache of a session.
#[derive(Default)]
pub(super) struct Statements {
    /// By text, one map per language.
    texts: [HashMap<Box<str>, Vec<Known>, RandomState>; 2],
    templates: HashMap<Box<str>, Kept, RandomState>,
}

impl Statements {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn of_text(&self, request: Request<'_>) -> Option<Arc<Statement>> {
        if request.text.len() > TEXT_SIZE_MAX {
            return None;
        }
        let known = self.texts[request.language as usize].get(request.text)?;
        let known = known.iter().find(|known| known.is_for(request.signature))?;
        Some(Arc::clone(&known.statement))
    }

    pub(super) fn remember(&mut self, request: Request<'_>, statement: &Arc<Statement>) {
        if request.text.len() > TEXT_SIZE_MAX {
            return;
        }
        let texts = &mut self.texts[request.language as usize];
        if texts.len() >= COUNT_MAX {
            texts.clear();
        }
        let known = Known::new(request.signature, statement);
        texts.entry(request.text.into()).or_default().push(known);
    }

    /// Removes a text: definitions have changed.
    pub(super) fn forget(&mut self, request: Request<'_>) {
        self.texts[request.language as usize].remove(request.text);
    }

    /// Removes a template: definitions have changed.
    pub(super) fn forget_template(&mut self, template: &Template) {
        self.templates.remove(&*template.text);
    }

    /// The statement of a template.
    pub(super) fn of_template(&mut self, template: &Template) -> Found {
        match self.templates.get(&*template.text) {
            Some(Kept::Known(all)) => {
                match all.iter().find(|known| known.is_for(&template.signature)) {
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

    /// Caches the compiled template; `None` marks it as unfit.
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
        let known = Known::new(&template.signature, statement);
        match kept {
            Kept::Known(all) => all.push(known),
            kept => *kept = Kept::Known(vec![known]),
        }
    }
}
