//! Texts of ZiQL: from syntax to statements.
//!
//! ```text
//! Ziql::parse    text → syntax of each chain
//! Ziql::compile  a chain → bind → optimize → lower: one [`Statement`] of several steps
//! ```

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use folio_engine::bind::{Binding, StoredExpressions};
use folio_engine::source::Source;
use folio_engine::{Level, Limits, Result, Signature, Span, Statement};

use crate::ast::Script;
use crate::bind::{self, Binder};
use crate::parse;

/// A text read as chains of ZiQL.
pub struct Ziql {
    text: Arc<str>,
    script: Script,
}

impl Ziql {
    /// Reads a text.
    ///
    /// # Errors
    /// `syntax`, with the place; what the limits say.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let text: Arc<str> = text.into();
        let script = parse::script(&text, limits).map_err(|error| error.in_text(&text))?;
        Ok(Self { text, script })
    }

    /// How many chains there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.script.chains.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.script.chains.is_empty()
    }

    /// Makes a chain ready to run. `stored` reads what tables keep as text.
    ///
    /// # Errors
    /// Everything that can be said about it without running it.
    pub fn compile(
        &self,
        index: usize,
        source: &dyn Source,
        stored: &'static dyn StoredExpressions,
        given: &Signature,
        (level, limits): (Level, &Limits),
    ) -> Result<Statement> {
        let mut binder = Binder::new(Binding::new(source, stored, limits.clone()), given);
        let bound = bind::chain(&mut binder, &self.script.chains[index])
            .map_err(|error| error.in_ziql(Span::NONE, &self.text))?;
        Statement::of(bound, (&self.text, index), &binder.binding, level)
    }
}

/// The text in one form, whatever it looked like; what is printed reads back as the same.
impl Display for Ziql {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.script.fmt(out)
    }
}
