//! A text in one of the languages: what a session is asked, and what it parses it to.

use folio_engine::{Level, Limits, Result as QueryResult, Signature, Statement};
use folio_sql::Stored;
use folio_types::Value;
use folio_ziql::Ziql;

use crate::source::View;

/// What a text is written in.
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
    /// How deep the text may nest, beyond what any large stack has room for.
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
            Language::Ziql => Self::Ziql(Ziql::parse(request.text, limits)?),
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

    /// Whether its statement may come again as it is. A change of ZiQL without parameters
    /// holds rows as literals, and seldom does.
    pub(super) fn may_come_again(&self, statement: &Statement, signature: &Signature) -> bool {
        let is_change_by_literals =
            matches!(self, Self::Ziql(_)) && !statement.is_query() && signature.types.is_empty();
        self.len() == 1 && statement.is_lasting() && !is_change_by_literals
    }
}
