//! ZiQL texts: from syntax to statements.
//!
//! ```text
//! Ziql::parse    text → syntax of each chain
//! Ziql::compile  a chain → bind → optimize → lower: one [`Statement`] of several steps
//! ```

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use folio_compute::{Result, Span};
use folio_engine::bind::{Binding, StoredExpressions};
use folio_engine::source::Source;
use folio_engine::{Level, Limits, Signature, Statement};

use crate::ast::Script;
use crate::bind::{self, Binder};
use crate::parse;

/// A parsed text: a list of chains.
pub struct Ziql {
    text: Arc<str>,
    script: Script,
}

impl Ziql {
    /// Parses a text.
    ///
    /// # Errors
    /// `syntax`, with the place; errors of the limits.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let text: Arc<str> = text.into();
        let script = parse::script(&text, limits).map_err(|error| error.in_text(&text))?;
        Ok(Self { text, script })
    }

    /// Number of chains.
    #[must_use]
    pub fn len(&self) -> usize {
        self.script.chains.len()
    }

    /// Whether there are no chains.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.script.chains.is_empty()
    }

    /// Compiles a chain. `stored` parses the expressions that tables store as text.
    ///
    /// # Errors
    /// Every error that is known before the chain runs.
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

    /// Compiles a chain whose parameters have no values yet.
    ///
    /// # Errors
    /// Every error that is known before the values are.
    pub fn check(
        &self,
        index: usize,
        source: &dyn Source,
        stored: &'static dyn StoredExpressions,
        options: (Level, &Limits),
    ) -> Result<()> {
        let names = parse::parameters(&self.text)?;
        let given = Signature { types: vec![None; names.len()], names, ..Signature::default() };
        self.compile(index, source, stored, &given, options).map(drop)
    }
}

/// Prints the text in its standard form, which parses to the same script.
impl Display for Ziql {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.script.fmt(out)
    }
}
