//! A text in one of the languages: the request to a session, and its parsed form.

use folio_compute::Result as QueryResult;
use folio_engine::{Level, Limits, Signature, Statement};
use folio_sql::Stored;
use folio_types::Value;
use folio_ziql::Ziql;

use crate::source::View;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Sql,
    Ziql,
}

/// A text to run, with values for its parameters and their types.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) language: Language,
    pub(super) text: &'a str,
    pub(super) values: &'a [Value],
    pub(super) signature: &'a Signature,
}

impl Request<'_> {
    /// The nesting depth of the text; an error beyond what any large stack can hold.
    pub(super) fn depth(&self) -> QueryResult<usize> {
        match self.language {
            Language::Sql => folio_sql::Script::depth(self.text),
            Language::Ziql => Ok(0),
        }
    }
}

/// The statements of a text.
pub(super) enum Script {
    Sql(folio_sql::Script),
    Ziql(Ziql),
}

impl Script {
    pub(super) fn parse(request: Request<'_>, limits: &Limits) -> QueryResult<Self> {
        Ok(match request.language {
            Language::Sql => Self::Sql(folio_sql::Script::parse(request.text, limits)?),
            Language::Ziql => {
                let script = Ziql::parse(request.text, limits)?;
                script.check_given(request.signature)?;
                Self::Ziql(script)
            }
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Sql(script) => script.len(),
            Self::Ziql(script) => script.len(),
        }
    }

    pub(super) fn compile(
        &self,
        index: usize,
        view: &View,
        signature: &Signature,
        options: (Level, &Limits),
    ) -> QueryResult<Statement> {
        match self {
            Self::Sql(script) => script.compile(index, view, signature, options),
            Self::Ziql(script) => script.compile(index, view, &Stored, signature, options),
        }
    }

    /// Compiles every statement, whatever values the parameters will get.
    pub(super) fn check(&self, view: &View, options: (Level, &Limits)) -> QueryResult<()> {
        (0..self.len()).try_for_each(|index| match self {
            Self::Sql(script) => script.check(index, view, options),
            Self::Ziql(script) => script.check(index, view, &Stored, options),
        })
    }

    /// Whether the same statement is likely to be run again. A ZiQL change without parameters holds
    /// rows as literals, and rarely is.
    pub(super) fn may_come_again(&self, statement: &Statement, signature: &Signature) -> bool {
        let is_change_by_literals =
            matches!(self, Self::Ziql(_)) && !statement.is_query() && signature.types.is_empty();
        self.len() == 1 && statement.is_lasting() && !is_change_by_literals
    }
}
