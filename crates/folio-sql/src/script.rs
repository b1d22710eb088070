//! SQL texts: from syntax to statements.
//!
//! ```text
//! Script::parse    text → syntax of each statement
//! Script::compile  bind → optimize → lower: a [`Statement`] that can be cached and run again
//! ```

use std::sync::Arc;

use folio_compute::{Error, Result};
use folio_engine::bind::Binding;
use folio_engine::source::Source;
use folio_engine::{Level, Limits, Signature, Statement};
use sqlparser::ast;

use crate::bind::stored::Stored;
use crate::bind::{Binder, bind};
use crate::parse;

/// A parsed text: a list of statements.
pub struct Script {
    text: Arc<str>,
    statements: Vec<ast::Statement>,
}

impl Script {
    /// Parses a text.
    ///
    /// # Errors
    /// `syntax`, with the place; errors of the limits.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let parsed = parse::parse(text, limits).map_err(|error| error.in_statement(text))?;
        Ok(Self { text: text.into(), statements: parsed.statements })
    }

    /// An upper bound for the nesting of a text.
    ///
    /// # Errors
    /// `unsupported` if no stack can hold it.
    pub fn depth(text: &str) -> Result<usize> {
        parse::depth(text)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of statements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there are no statements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Compiles a statement.
    ///
    /// # Errors
    /// Every error that is known before the statement runs.
    pub fn compile(
        &self,
        index: usize,
        source: &dyn Source,
        given: &Signature,
        options: (Level, &Limits),
    ) -> Result<Statement> {
        self.compile_for(index, source, Some(given), options)
    }

    /// Compiles a statement whose parameters have no values yet.
    ///
    /// # Errors
    /// Every error that is known before the values are.
    pub fn check(
        &self,
        index: usize,
        source: &dyn Source,
        options: (Level, &Limits),
    ) -> Result<()> {
        self.compile_for(index, source, None, options).map(drop)
    }

    fn compile_for(
        &self,
        index: usize,
        source: &dyn Source,
        given: Option<&Signature>,
        (level, limits): (Level, &Limits),
    ) -> Result<Statement> {
        let in_text = |error: Error| error.in_statement(&self.text);
        let begin = || {
            let binding = Binding::new(source, &Stored, limits.clone());
            Binder::of(binding, given.unwrap_or(Signature::NONE))
        };
        let mut binder = begin();
        let mut bound = bind(&mut binder, &self.statements[index]);
        while let Some(unseen) = binder.take_unseen() {
            binder = begin();
            binder.know(unseen);
            bound = bind(&mut binder, &self.statements[index]);
        }
        let bound = bound.map_err(in_text)?;
        // Several statements may share the parameters.
        if given.is_some() && self.statements.len() == 1 {
            binder.check_parameters().map_err(in_text)?;
        }
        let origin = (&self.text, index);
        Statement::of(bound, origin, &binder.into_binding(), level).map_err(in_text)
    }
}
