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
mod subquery;
mod table_function;
pub(crate) mod types;
mod unsupported;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

use folio_types::ColumnType;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::error::{Error, Result};
use crate::expression::function::{self, ScalarFunction};
use crate::expression::{Column, ColumnId};
use crate::limits::{Held, Limits};
use crate::plan::logical::Plan;
use crate::signature::{Signature, Taken};
use crate::source::{Relation, Source};
use crate::span::Span;
pub use aggregate::is_taken;
pub(crate) use literal::number;
use shared::Bound;
pub(crate) use statement::bind;

/// Views within views, at most.
const VIEW_DEPTH_MAX: usize = 32;

/// Expressions and queries between two looks at the time, and what one of them takes, about.
const STEPS: usize = 256;
const STEP_SIZE: usize = 1 << 10;

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
    source: &'s dyn Source,
    /// What the statement may use, and how many expressions were bound.
    pub(crate) limits: Limits,
    step_count: usize,
    memory: Held,
    /// Levels of calls, cases and queries around what is bound.
    level: usize,
    with_depth: usize,
    /// The parameters given, and those seen so far.
    given: &'s Signature,
    taken: Taken,
    next_column: u32,
    next_number: usize,
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
    /// What was named whose columns no version counts.
    reads: Reads,
}

/// Relations whose columns change without a change of definitions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    /// Collections, by name.
    pub(crate) collections: Vec<String>,
    /// Whether there are files.
    pub(crate) files: bool,
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

/// A plan and the names of its columns.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) plan: Plan,
    pub(crate) columns: Vec<(String, Column)>,
}

impl<'s> Binder<'s> {
    pub(crate) fn new(source: &'s dyn Source, given: &'s Signature) -> Self {
        Self::within(source, given, Limits::default())
    }

    /// A binder of a statement that may use so much.
    pub(crate) fn within(source: &'s dyn Source, given: &'s Signature, limits: Limits) -> Self {
        Self {
            source,
            memory: limits.hold(0).unwrap_or_default(),
            limits,
            step_count: 0,
            level: 0,
            with_depth: 0,
            given,
            taken: Taken::default(),
            next_column: 0,
            next_number: 0,
            ctes: Vec::new(),
            view_depth: 0,
            view_count: 0,
            shared_views: HashMap::new(),
            is_stored: false,
            structs: Vec::new(),
            reads: Reads::default(),
        }
    }

    /// Goes a level deeper: looks whether there is stack, and now and then for time and memory.
    ///
    /// # Errors
    /// `unsupported` for what nests too deep; `cancelled`, `timeout`, `memory_limit`.
    #[inline]
    pub(crate) fn descend(&mut self, place: impl FnOnce() -> Span) -> Result<()> {
        self.step_count += 1;
        if self.step_count.is_multiple_of(STEPS) {
            self.limits.check()?;
            self.memory.grow(STEPS * STEP_SIZE)?;
        }
        self.limits.descend(place)
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

    /// Whether the parameters given are those that the statement takes.
    ///
    /// # Errors
    /// `invalid_input` otherwise.
    pub(crate) fn check_parameters(&self) -> Result<()> {
        self.taken.check(self.given)
    }

    /// What was named whose columns no version counts.
    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    /// A column that no other of the statement is.
    pub(crate) fn column(&mut self, name: &str, ty: ColumnType) -> Column {
        self.next_column += 1;
        Column { id: ColumnId(self.next_column), ty, name: name.into() }
    }

    pub(crate) fn number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number
    }

    /// The relation of a name.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub(crate) fn relation(&mut self, name: &str, span: Span) -> Result<Arc<Relation>> {
        if let Some(relation) = self.source.relation(name)? {
            if relation.kind == crate::source::RelationKind::Collection {
                self.reads.collections.push(name.to_owned());
            }
            return Ok(relation);
        }
        let names = self.source.names()?;
        let error = Error::not_found(format!("table {name:?} does not exist"));
        Err(error.near_or_all(name, names.iter().map(String::as_str)).at(span))
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
            crate::source::RelationKind::View => {
                Err(Error::unsupported(format!("view {name:?} cannot be changed"))
                    .at(span)
                    .help("change the tables it reads"))
            }
            crate::source::RelationKind::File => {
                Err(Error::unsupported(format!("file {name:?} cannot be changed")).at(span))
            }
            crate::source::RelationKind::Registered => {
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
                .at(schema.span.into())
                .help("leave it out: a database is one schema"));
        }
    }
    if schemas.iter().any(|schema| schema.value.eq_ignore_ascii_case("information_schema")) {
        return Ok((format!("information_schema.{}", last.value), last.span.into()));
    }
    Ok((last.value.clone(), last.span.into()))
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
