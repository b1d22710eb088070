//! ZiQL texts: from syntax to statements.
//!
//! ```text
//! Ziql::parse    text → syntax of each chain
//! Ziql::compile  a chain → bind → optimize → lower: one [`Statement`] of several steps
//! ```

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
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
    /// The names of its parameters.
    parameters: Vec<String>,
}

impl Ziql {
    /// Parses a text.
    ///
    /// # Errors
    /// `syntax`, with the place; errors of the limits.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let text: Arc<str> = text.into();
        let parsed = parse::script(&text, limits).map_err(|error| error.in_text(&text))?;
        let (script, parameters) = parsed;
        Ok(Self { text, script, parameters })
    }

    /// Refuses given parameters that are not in the text. Binding refuses those of the text that are
    /// not given, with their places.
    ///
    /// # Errors
    /// `invalid_input`, with the name.
    pub fn check_given(&self, given: &Signature) -> Result<()> {
        let is_whole = self.parameters.iter().all(|name| given.names.contains(name));
        match given.names.iter().find(|name| !self.parameters.contains(name)) {
            Some(name) if is_whole => {
                let error = format!("a value was given for `${name}`, which is not in the text");
                Err(Error::invalid(error).help("leave it out"))
            }
            _ => Ok(()),
        }
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
        let names = self.parameters.clone();
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
