//! From syntax to plans: every name found, every type settled, every error with
//! its place.
//!
//! ```text
//! statement   definition | change | query
//! query       WITH (query) → body (select, set operations, VALUES) → ORDER BY → LIMIT
//! select      FROM (from) → WHERE → GROUP BY (aggregate) → SELECT list → DISTINCT
//! expression  names through the scopes (scope), operators (operator), functions
//! ```

mod aggregate;
mod alter;
mod alter_rules;
mod change;
mod copy;
mod definition;
mod expression;
mod from;
mod group;
mod insert;
mod join;
mod link;
mod literal;
mod merge;
#[cfg(test)]
mod operands;
mod operator;
mod order;
mod quantified;
mod query;
mod row;
mod scope;
mod select;
mod setting;
mod shared;
mod spelled;
mod star;
mod statement;
pub(crate) mod stored;
mod subquery;
mod table_function;
pub(crate) mod types;
mod unsupported;
mod window;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use folio_engine::bind::{Binding, Named};
use folio_engine::expression::{ColumnId, function};
use folio_engine::source::{Relation, ScalarFunction};
use folio_engine::{Error, Result, Signature, Span};
use folio_types::ColumnType;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::parameters::Taken;
use crate::place::Place;
pub use aggregate::is_taken;
pub(crate) use literal::number;
use shared::Bound;
pub(crate) use statement::bind;

/// Views within views, at most.
const VIEW_DEPTH_MAX: usize = 32;

/// Keys of one ORDER BY or GROUP BY, and functions over different windows of one SELECT: each
/// is compared with the others.
const KEYS_MAX: usize = 1664;

/// Aggregates of one SELECT.
const AGGREGATES_MAX: usize = 10_000;

/// Tables of one FROM. Beyond a few, each is a level of the plan.
const TABLES_MAX: usize = 256;
const EASY_TABLES: usize = 48;

/// WITH clauses within queries that WITH names.
const WITH_DEPTH_MAX: usize = 64;

/// Calls, cases and queries within each other.
const LEVELS_MAX: usize = 1024;

/// Views that a statement reads as if each stood in its place; further uses share one.
const VIEWS_MAX: usize = 64;

/// What binding one statement needs and counts.
pub(crate) struct Binder<'s> {
    /// What any language needs to bind.
    binding: Binding<'s>,
    /// Levels of calls, cases and queries around what is bound.
    level: usize,
    with_depth: usize,
    /// The parameters given, and those seen so far.
    given: &'s Signature,
    taken: Taken,
    /// Named queries, innermost last.
    ctes: Vec<NamedQueries>,
    view_depth: usize,
    /// Views bound so far, and those that further uses share, by name.
    view_count: usize,
    shared_views: HashMap<String, Bound>,
    /// Whether what is bound is kept with a table.
    is_stored: bool,
    /// The structs scanned whose to-many links can be named, by their key.
    structs: Vec<(ColumnId, Arc<Relation>)>,
}

/// The queries that a WITH names.
struct NamedQueries {
    by_name: HashMap<String, Cte>,
    /// The first that is not seen: the one being bound, and those behind it.
    hidden_from: usize,
}

impl NamedQueries {
    fn get_mut(&mut self, name: &str) -> Option<&mut Cte> {
        self.by_name.get_mut(name).filter(|cte| cte.number < self.hidden_from)
    }

    /// Whether the step of a recursive query among these is being bound.
    fn has_round(&self) -> bool {
        self.by_name.values().any(|cte| cte.work_table.is_some())
    }
}

/// A query named by WITH.
#[derive(Clone)]
struct Cte {
    /// What it stands for; bound anew at each use so that columns stay unique.
    query: Arc<sqlparser::ast::Query>,
    columns: Vec<String>,
    /// How many WITH clauses were open when it was named: those are what it sees.
    depth: usize,
    /// While its own recursion is bound: the working table.
    work_table: Option<(usize, Vec<(String, ColumnType)>)>,
    is_recursive: bool,
    /// Which of its WITH clause it is.
    number: usize,
    /// Whether anything reads it.
    is_used: bool,
    /// What was bound at its first use, for the others to share.
    bound: Option<Bound>,
}

impl<'s> Deref for Binder<'s> {
    type Target = Binding<'s>;

    fn deref(&self) -> &Self::Target {
        &self.binding
    }
}

impl DerefMut for Binder<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.binding
    }
}

impl<'s> Binder<'s> {
    /// A binder on top of what was bound before.
    pub(crate) fn of(binding: Binding<'s>, given: &'s Signature) -> Self {
        Self {
            binding,
            level: 0,
            with_depth: 0,
            given,
            taken: Taken::default(),
            ctes: Vec::new(),
            view_depth: 0,
            view_count: 0,
            shared_views: HashMap::new(),
            is_stored: false,
            structs: Vec::new(),
        }
    }

    /// Binds a level that is more than an operator: some rules look at all that is within
    /// each of them.
    ///
    /// # Errors
    /// As [`Binder::descend`], and of what is bound.
    pub(crate) fn deeper<T>(
        &mut self,
        place: Span,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.level += 1;
        if self.level > LEVELS_MAX {
            let text = format!("the statement nests too deep: more than {LEVELS_MAX} levels");
            return Err(Error::unsupported(text).at(place).help("split it"));
        }
        let bound = bind(self);
        self.level -= 1;
        bound
    }

    /// What was bound, for another language or the planner to go on with.
    pub(crate) fn into_binding(self) -> Binding<'s> {
        self.binding
    }

    /// Whether the parameters given are those that the statement takes.
    ///
    /// # Errors
    /// `invalid_input` otherwise.
    pub(crate) fn check_parameters(&self) -> Result<()> {
        self.taken.check(self.given)
    }

    /// The function of the program with a name that the library has not.
    fn program_function(&self, name: &str, span: Span) -> Result<Option<Arc<ScalarFunction>>> {
        // Most programs have none: the library's names are gone through for those that do.
        let found = self.source.function(name).filter(|_| !function::is_library(name));
        if found.is_some() && self.is_stored {
            let text = format!("function {name} is the program's, and is not stored with a table");
            return Err(Error::unsupported(text).at(span).help("call it in statements"));
        }
        Ok(found)
    }

    /// The table of a name, which must be one that statements change.
    fn table(&mut self, name: &ObjectName) -> Result<Arc<Relation>> {
        let (name, span) = last_name(name)?;
        let relation = self.relation(&name, span)?;
        match relation.kind {
            folio_engine::source::RelationKind::View => {
                Err(Error::unsupported(format!("view {name:?} cannot be changed"))
                    .at(span)
                    .help("change the tables it reads"))
            }
            folio_engine::source::RelationKind::File => {
                Err(Error::unsupported(format!("file {name:?} cannot be changed")).at(span))
            }
            folio_engine::source::RelationKind::Registered => {
                let text = format!("{name:?} are rows of the program, which are only read");
                Err(Error::unsupported(text)
                    .at(span)
                    .help("keep them with CREATE TABLE … AS SELECT"))
            }
            _ => Ok(relation),
        }
    }
}

/// That a statement has more of something than one may have.
fn too_many(most: usize, what: &str, place: Span) -> Error {
    Error::unsupported(format!("there are more than {most} {what}")).at(place).help("split it")
}

/// The name of an object, its schema left out: there is one schema, `main`, which
/// PostgreSQL's clients call `public`.
fn last_name(name: &ObjectName) -> Result<(String, Span)> {
    let mut parts = Vec::new();
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(ident),
            ObjectNamePart::Function(_) => {
                return Err(Error::unsupported("a name cannot be a function call"));
            }
        }
    }
    let (last, schemas) = parts.split_last().ok_or_else(|| Error::syntax("a name is empty"))?;
    for schema in schemas {
        let is_known = ["main", "public", "information_schema", "pg_catalog"]
            .iter()
            .any(|known| schema.value.eq_ignore_ascii_case(known));
        if !is_known {
            return Err(Error::not_found(format!("schema {:?} does not exist", schema.value))
                .at(schema.span.to_span())
                .help("leave it out: a database is one schema"));
        }
    }
    if schemas.iter().any(|schema| schema.value.eq_ignore_ascii_case("information_schema")) {
        return Ok((format!("information_schema.{}", last.value), last.span.to_span()));
    }
    Ok((last.value.clone(), last.span.to_span()))
}

/// A name as it was spelt.
fn ident_name(ident: &Ident) -> String {
    ident.value.clone()
}

/// Refuses what the parser accepts and this release does not do.
fn refuse(is_there: bool, what: &str) -> Result<()> {
    let refusal = || Error::unsupported(format!("{what} is not supported")).help("leave it out");
    if is_there { Err(refusal()) } else { Ok(()) }
}
