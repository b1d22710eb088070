//! Scopes: the columns that a name can mean, first those of FROM, then those of outer queries.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::expression::{Column, ColumnId, Expr};
use folio_engine::plan::aggregate::Aggregate;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::window::WindowCall;
use folio_engine::source::Twin;
use folio_types::same_name;
use sqlparser::ast;

/// A column with the name of its table.
#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    pub(super) table: Option<Arc<str>>,
    pub(super) name: Arc<str>,
    pub(super) column: Column,
    /// Not in `*`: a join merged it into another column, or it is internal.
    pub(super) hidden: bool,
    /// Not in `*`, but found by name: the whole document of a collection.
    pub(super) unlisted: bool,
    /// The columns of its table's primary key, if it belongs to a table.
    pub(super) key: Option<Arc<[ColumnId]>>,
    /// On the optional side of an outer join: the columns of that side.
    pub(super) optional: Option<Arc<[ColumnId]>>,
    /// Members of the documents of its table that a name may not mean.
    pub(super) twins: Option<Arc<[Twin]>>,
}

/// A plan with the columns in scope.
pub(super) struct From {
    pub(super) plan: Plan,
    pub(super) columns: Vec<ScopeColumn>,
}

/// An item of the SELECT list.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) expression: Expr,
    pub(super) span: Span,
    /// Its syntax if it has a subquery: the same text in another clause means this expression,
    /// which binding it once more would not give.
    pub(super) syntax: Option<Box<ast::Expr>>,
}

/// A row of a table on the optional side of an outer join, as a column.
pub(super) struct OptionalRow {
    /// The columns of the optional side.
    pub(super) side: Arc<[ColumnId]>,
    pub(super) column: Column,
    pub(super) row: Expr,
}

/// What an expression may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Only columns.
    Columns,
    /// Aggregates too.
    Aggregates,
    /// Window functions too.
    Windows,
}

/// The scope of one SELECT.
pub(super) struct Scope<'p> {
    pub(super) columns: Vec<ScopeColumn>,
    pub(super) parent: Option<&'p Scope<'p>>,
    /// Aggregates found so far, one column each.
    pub(super) aggregates: RefCell<Vec<(Column, Aggregate)>>,
    /// Expressions of GROUP BY that have a subquery, with their syntax: binding that once more would
    /// not give the same expression.
    grouped: RefCell<Vec<(ast::Expr, Expr)>>,
    /// Window functions found so far.
    pub(super) windows: RefCell<Vec<(Column, WindowCall)>>,
    pub(super) named_windows: Vec<ast::NamedWindowDefinition>,
    /// Optional rows found so far, if they are allowed here.
    pub(super) optional_rows: RefCell<Option<Vec<OptionalRow>>>,
    /// Table functions found so far, if the SELECT list may have one.
    pub(super) listed_functions: RefCell<Option<Vec<From>>>,
    pub(super) allowed: Cell<Allowed>,
    /// The clause being bound, for messages.
    pub(super) clause: Cell<&'static str>,
}

impl<'p> Scope<'p> {
    pub(super) fn new(columns: Vec<ScopeColumn>, parent: Option<&'p Scope<'p>>) -> Self {
        Self {
            columns,
            parent,
            aggregates: RefCell::default(),
            grouped: RefCell::default(),
            windows: RefCell::default(),
            named_windows: Vec::new(),
            optional_rows: RefCell::default(),
            listed_functions: RefCell::default(),
            allowed: Cell::new(Allowed::Columns),
            clause: Cell::new("this place"),
        }
    }

    /// Begins a clause: its name, and what it may contain.
    pub(super) fn enter(&self, clause: &'static str, allowed: Allowed) {
        self.clause.set(clause);
        self.allowed.set(allowed);
    }

    /// Notes an expression of GROUP BY, with its syntax if it has a subquery.
    pub(super) fn note_group(&self, syntax: Option<&ast::Expr>, bound: &Expr) {
        let own = syntax.map(|syntax| (syntax.clone(), bound.clone()));
        self.grouped.borrow_mut().extend(own);
    }

    /// The expression of GROUP BY with this syntax, if it has a subquery.
    pub(super) fn group_of(&self, syntax: &ast::Expr) -> Option<Expr> {
        let grouped = self.grouped.borrow();
        grouped.iter().find(|(own, _)| own == syntax).map(|(_, bound)| bound.clone())
    }

    /// Resolves a column name in this scope or an outer one.
    ///
    /// # Errors
    /// `not_found` with a similar name; `invalid_input` if it is ambiguous.
    pub(super) fn resolve(&self, table: Option<&str>, name: &str, span: Span) -> Result<Expr> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some(found) = current.find(table, name, span)? {
                return Ok(found);
            }
            scope = current.parent;
        }
        Err(self.unknown(table, name).at(span))
    }

    /// Resolves a column name in this scope only.
    pub(super) fn find(&self, table: Option<&str>, name: &str, span: Span) -> Result<Option<Expr>> {
        let mut hits = self.columns.iter().filter(|column| {
            same_name(&column.name, name)
                && match (table, &column.table) {
                    (None, _) => !column.hidden,
                    (Some(wanted), Some(table)) => same_name(table, wanted),
                    (Some(_), None) => false,
                }
        });
        let Some(first) = hits.next() else { return Ok(None) };
        if let Some(second) = hits.next() {
            let shown = |column: &ScopeColumn| match &column.table {
                Some(table) => format!("{table}.{}", column.name),
                None => column.name.to_string(),
            };
            return Err(Error::invalid(format!("column {name:?} is ambiguous"))
                .at(span)
                .help(format!("write {} or {}", shown(first), shown(second))));
        }
        let mut twins = first.twins.iter().flat_map(|twins| twins.iter());
        match twins.find(|twin| twin.name == name && *first.name != *name) {
            Some(twin) => Err(twin.error(&first.name).at(span)),
            None => Ok(Some(Expr::Column(first.column.clone()))),
        }
    }

    /// Whether this scope or an outer one has a table with this name.
    pub(super) fn has_table(&self, name: &str) -> bool {
        let here = self
            .columns
            .iter()
            .any(|column| column.table.as_deref().is_some_and(|table| same_name(table, name)));
        here || self.parent.is_some_and(|parent| parent.has_table(name))
    }

    fn unknown(&self, table: Option<&str>, name: &str) -> Error {
        let all =
            || self.columns.iter().chain(self.parent.iter().flat_map(|parent| &parent.columns));
        match table {
            Some(table) if !self.has_table(table) => {
                let tables = all().filter_map(|column| column.table.as_deref());
                Error::not_found(format!("table {table:?} is not in the FROM clause"))
                    .near_or_all(table, tables)
            }
            Some(table) => {
                let columns = all()
                    .filter(|column| {
                        column.table.as_deref().is_some_and(|other| same_name(other, table))
                    })
                    .map(|column| &*column.name);
                Error::not_found(format!("table {table:?} has no column {name:?}"))
                    .near_or_all(name, columns)
            }
            None => {
                let columns = all().filter(|column| !column.hidden).map(|column| &*column.name);
                let error = Error::not_found(format!("column {name:?} does not exist"));
                match columns.clone().next() {
                    Some(_) => error.near_or_all(name, columns),
                    None => error.help("add FROM; text is written in 'single quotes'"),
                }
            }
        }
    }
}
