//! From syntax to plans: resolves names and types. Every error has its place.
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
pub(crate) mod definition;
mod expression;
pub(crate) mod field_index;
mod from;
mod group;
mod insert;
mod join;
mod link;
mod literal;
mod member;
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
mod special_syntax;
mod star;
mod statement;
pub(crate) mod stored;
mod subquery;
mod table_function;
pub(crate) mod types;
mod unsupported;
mod window;
mod written;

use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::Signature;
use folio_engine::bind::{Binding, Named};
use folio_engine::expression::{ColumnId, function};
use folio_engine::source::{Relation, ScalarFunction};
use folio_types::ColumnType;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::parameters::Taken;
use crate::place::Place;
pub use aggregate::is_taken;
pub(crate) use literal::number;
use shared::Bound;
pub(crate) use statement::bind;
use written::Unseen;

/// Maximum nesting of views.
const VIEW_DEPTH_MAX: usize = 32;

/// Maximum number of keys in one ORDER BY or GROUP BY, and of windows in one SELECT. Each is
/// compared with all others.
const KEYS_MAX: usize = 1664;

/// Maximum number of aggregates in one SELECT.
const AGGREGATES_MAX: usize = 10_000;

/// Maximum number of tables in one FROM. Beyond a few, each is a level of the plan.
const TABLES_MAX: usize = 256;
const EASY_TABLES: usize = 48;

/// Maximum nesting of calls, cases and queries.
const LEVELS_MAX: usize = 1024;

/// Maximum number of views that are expanded in place; further uses share one plan.
const VIEWS_MAX: usize = 64;

/// The state of binding one statement.
pub(crate) struct Binder<'s> {
    /// The state that binding needs in any language.
    binding: Binding<'s>,
    /// Current nesting of calls, cases and queries.
    level: usize,
    with_depth: usize,
    /// The parameters given, and those used so far.
    given: &'s Signature,
    taken: Taken,
    /// WITH clauses in scope, innermost last.
    ctes: Vec<NamedQueries>,
    view_depth: usize,
    /// Number of views bound so far, and the shared views by name.
    view_count: usize,
    shared_views: HashMap<String, Bound>,
    /// Whether the expression is stored with a table.
    is_stored: bool,
    /// Whether the query becomes a view.
    is_view: bool,
    /// Structs scanned whose to-many links are in scope, by their key.
    structs: Vec<(ColumnId, Arc<Relation>)>,
    /// Columns of collections in which every path can be named.
    open: HashSet<ColumnId>,
    /// What the statement writes that no document of its collection has had.
    unseen: Unseen,
}

/// The queries that a WITH clause names.
struct NamedQueries {
    by_name: HashMap<String, Cte>,
    /// The first query that is not visible: the one being bound, and those after it.
    hidden_from: usize,
}

impl NamedQueries {
    fn get_mut(&mut self, name: &str) -> Option<&mut Cte> {
        self.by_name.get_mut(name).filter(|cte| cte.number < self.hidden_from)
    }

    /// Whether the recursive step of one of these queries is being bound.
    fn has_round(&self) -> bool {
        self.by_name.values().any(|cte| cte.work_table.is_some())
    }
}

/// A query named by WITH.
#[derive(Clone)]
struct Cte {
    /// Its query. It may be bound again at each use, so that columns stay unique.
    query: Arc<sqlparser::ast::Query>,
    columns: Vec<String>,
    /// How many WITH clauses were open when it was named: it sees only those.
    depth: usize,
    /// The working table, while its recursive step is bound.
    work_table: Option<(usize, Vec<(String, ColumnType)>)>,
    is_recursive: bool,
    /// Its position in its WITH clause.
    number: usize,
    /// Whether it is used.
    is_used: bool,
    /// The plan bound at its first use, which later uses share.
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
    /// A binder that continues an existing binding.
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
            is_view: false,
            structs: Vec::new(),
            open: HashSet::new(),
            unseen: Unseen::default(),
        }
    }

    /// Binds a nesting level that is not just an operator. Their number is limited, since some
    /// rules visit everything within each of them.
    ///
    /// # Errors
    /// As [`Binder::descend`], and errors of what is bound.
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

    /// The binding, for another language or the planner to continue with.
    pub(crate) fn into_binding(self) -> Binding<'s> {
        self.binding
    }

    /// Checks that the given parameters are those that the statement takes.
    ///
    /// # Errors
    /// `invalid_input` if they differ.
    pub(crate) fn check_parameters(&self) -> Result<()> {
        self.taken.check(self.given)
    }

    /// The function of the program with this name, unless the library has one.
    fn program_function(&self, name: &str, span: Span) -> Result<Option<Arc<ScalarFunction>>> {
        // Most programs have none. The library's names are searched only for those that do.
        let found = self.source.function(name).filter(|_| !function::is_library(name));
        if found.is_some() && self.is_stored {
            let text =
                format!("function {name} belongs to the program and cannot be stored with a table");
            return Err(Error::unsupported(text).at(span).help("call it in statements"));
        }
        Ok(found)
    }

    /// Looks up a table that statements may change.
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
                let text = format!("{name:?} is registered by the program and is read-only");
                Err(Error::unsupported(text)
                    .at(span)
                    .help("store its rows with CREATE TABLE … AS SELECT"))
            }
            _ => Ok(self.unseen.in_relation(relation)),
        }
    }
}

/// The error for too many of something in a statement.
fn too_many(most: usize, what: &str, place: Span) -> Error {
    Error::unsupported(format!("there are more than {most} {what}")).at(place).help("split it")
}

/// The name of an object without its schema. The only schema is `main`, which PostgreSQL's clients
/// call `public`.
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
                .help("leave it out: a database has one schema"));
        }
    }
    if schemas.iter().any(|schema| schema.value.eq_ignore_ascii_case("information_schema")) {
        return Ok((format!("information_schema.{}", last.value), last.span.to_span()));
    }
    Ok((last.value.clone(), last.span.to_span()))
}

/// A name as it was written.
fn ident_name(ident: &Ident) -> String {
    ident.value.clone()
}

/// Refuses what the parser accepts and this release does not support.
fn refuse(is_there: bool, what: &str) -> Result<()> {
    let refusal = || Error::unsupported(format!("{what} is not supported")).help("leave it out");
    if is_there { Err(refusal()) } else { Ok(()) }
}
