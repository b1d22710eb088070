//! Which columns a name can mean: those of the FROM clause, then those of the
//! query around.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use folio_engine::expression::{Column, ColumnId, Expr};
use folio_engine::plan::aggregate::Aggregate;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::window::WindowCall;
use folio_engine::{Error, Result, Span};

/// A column with the table it is known under.
#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    pub(super) table: Option<Arc<str>>,
    pub(super) name: Arc<str>,
    pub(super) column: Column,
    /// Left out of `*`: a join merged it into another, or it is internal.
    pub(super) hidden: bool,
    /// Left out of `*` and found by its name: the whole document of a collection.
    pub(super) unlisted: bool,
    /// The columns of its table's primary key, where it is a table.
    pub(super) key: Option<Arc<[ColumnId]>>,
    /// Where an outer join may leave its table out: the columns of the side left out.
    pub(super) optional: Option<Arc<[ColumnId]>>,
}

/// A plan with the columns that names can mean.
pub(super) struct From {
    pub(super) plan: Plan,
    pub(super) columns: Vec<ScopeColumn>,
}

/// An item of the SELECT list.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) expression: Expr,
    pub(super) span: Span,
}

/// A row of a table that an outer join may leave out, as a column.
pub(super) struct OptionalRow {
    /// The side of the join that is left out.
    pub(super) side: Arc<[ColumnId]>,
    pub(super) column: Column,
    pub(super) row: Expr,
}

/// What can stand where an expression is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Columns alone.
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
    /// Aggregates met so far, each a column.
    pub(super) aggregates: RefCell<Vec<(Column, Aggregate)>>,
    /// Window functions met so far.
    pub(super) windows: RefCell<Vec<(Column, WindowCall)>>,
    pub(super) named_windows: Vec<sqlparser::ast::NamedWindowDefinition>,
    /// Rows of tables that a join may leave out, met so far, where they can be made.
    pub(super) optional_rows: RefCell<Option<Vec<OptionalRow>>>,
    /// Functions of many rows met so far, where a SELECT list may have one.
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
            windows: RefCell::default(),
            named_windows: Vec::new(),
            optional_rows: RefCell::default(),
            listed_functions: RefCell::default(),
            allowed: Cell::new(Allowed::Columns),
            clause: Cell::new("this place"),
        }
    }

    /// Binds a clause: what may stand there, and what it is called.
    pub(super) fn enter(&self, clause: &'static str, allowed: Allowed) {
        self.clause.set(clause);
        self.allowed.set(allowed);
    }

    /// The column of a name, here or further out.
    ///
    /// # Errors
    /// `not_found` with the nearest name; `invalid_input` where it could be several.
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

    /// The column of a name in this scope alone.
    pub(super) fn find(&self, table: Option<&str>, name: &str, span: Span) -> Result<Option<Expr>> {
        let mut hits = self.columns.iter().filter(|column| {
            same(&column.name, name)
                && match (table, &column.table) {
                    (None, _) => !column.hidden,
                    (Some(wanted), Some(table)) => same(table, wanted),
                    (Some(_), None) => false,
                }
        });
        let Some(first) = hits.next() else { return Ok(None) };
        if let Some(second) = hits.next() {
            let shown = |column: &ScopeColumn| match &column.table {
                Some(table) => format!("{table}.{}", column.name),
                None => column.name.to_string(),
            };
            return Err(Error::invalid(format!("column {name:?} could be several"))
                .at(span)
                .help(format!("write {} or {}", shown(first), shown(second))));
        }
        Ok(Some(Expr::Column(first.column.clone())))
    }

    /// Whether a table of this name is here or further out.
    pub(super) fn has_table(&self, name: &str) -> bool {
        let here = self
            .columns
            .iter()
            .any(|column| column.table.as_deref().is_some_and(|table| same(table, name)));
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
                        column.table.as_deref().is_some_and(|other| same(other, table))
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
                    None => error.help("add FROM; text stands in 'single quotes'"),
                }
            }
        }
    }
}

/// Whether two names are one: letters match in either case.
pub(super) fn same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}
