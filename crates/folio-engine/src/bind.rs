//! What binding needs in any language: ids for columns and plans, lookup of relations, and
//! limits on nesting and memory.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_types::ColumnType;

use crate::bound::Rules;
use crate::expression::{Column, ColumnId, Expr};
use crate::limits::{Held, Limits};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::Path;
use crate::source::{Reads, Relation, RelationKind, Source};

/// Steps between two checks of time and memory, and the approximate memory of one step.
const STEPS: usize = 256;
const STEP_SIZE: usize = 1 << 10;

/// One statement while it is bound.
pub struct Binding<'s> {
    /// The relations it reads.
    pub source: &'s dyn Source,
    /// Parses expressions that tables store as text.
    stored: &'static dyn StoredExpressions,
    /// Its limits.
    pub limits: Limits,
    /// Number of steps so far.
    step_count: usize,
    memory: Held,
    next_column: u32,
    next_number: usize,
    /// What it depends on so far.
    pub reads: Reads,
}

/// A plan and the names of its columns.
#[derive(Clone)]
pub struct Named {
    /// The plan.
    pub plan: Plan,
    /// Its columns, by name.
    pub columns: Vec<(String, Column)>,
}

impl Named {
    /// A plan that makes these columns.
    pub fn of(columns: Vec<(String, Column)>, plan: impl FnOnce(Vec<Column>) -> Plan) -> Self {
        let plan = plan(columns.iter().map(|(_, column)| column.clone()).collect());
        Self { plan, columns }
    }
}

/// Parses the expressions that tables store as text, in the language they were written in.
pub trait StoredExpressions: Sync {
    /// The value of a column that an insert leaves out.
    ///
    /// # Errors
    /// Errors in the stored text.
    fn default_of(
        &self,
        binding: &mut Binding<'_>,
        table: &Relation,
        column: usize,
    ) -> Result<Expr>;

    /// The generated columns and checks of a table.
    ///
    /// # Errors
    /// As [`StoredExpressions::default_of`].
    fn rules(&self, binding: &mut Binding<'_>, table: &Relation) -> Result<Rules>;
}

impl<'s> Binding<'s> {
    /// Begins to bind a statement within these limits.
    pub fn new(
        source: &'s dyn Source,
        stored: &'static dyn StoredExpressions,
        limits: Limits,
    ) -> Self {
        Self {
            source,
            stored,
            memory: Held::default(),
            limits,
            step_count: 0,
            next_column: 0,
            next_number: 0,
            reads: Reads::default(),
        }
    }

    /// Parses expressions that tables store as text.
    pub fn stored(&self) -> &'static dyn StoredExpressions {
        self.stored
    }

    /// The value of a column that an insert leaves out.
    ///
    /// # Errors
    /// Errors in the stored text.
    pub fn default_of(&mut self, table: &Relation, column: usize) -> Result<Expr> {
        let stored = self.stored;
        stored.default_of(self, table, column)
    }

    /// The generated columns and checks of a table.
    ///
    /// # Errors
    /// Errors in the stored text.
    pub fn rules(&mut self, table: &Relation) -> Result<Rules> {
        let stored = self.stored;
        stored.rules(self, table)
    }

    /// Enters a nesting level: checks the stack, and every `STEPS` calls time and memory.
    ///
    /// # Errors
    /// `unsupported` if it nests too deep; `cancelled`, `timeout`, `memory_limit`.
    #[inline]
    pub fn descend(&mut self, place: impl FnOnce() -> Span) -> Result<()> {
        self.step_count += 1;
        if self.step_count.is_multiple_of(STEPS) {
            self.limits.check()?;
            self.memory.charge(&self.limits, self.memory.size() + STEPS * STEP_SIZE)?;
        }
        self.limits.descend(place)
    }

    /// A new column, unique in the statement.
    pub fn column(&mut self, name: &str, ty: ColumnType) -> Column {
        self.next_column += 1;
        Column { id: ColumnId(self.next_column), ty, name: name.into() }
    }

    /// New columns, by name.
    pub fn columns<'n>(
        &mut self,
        named: impl IntoIterator<Item = (&'n str, ColumnType)>,
    ) -> Vec<(String, Column)> {
        let new = named.into_iter().map(|(name, ty)| (name.to_owned(), self.column(name, ty)));
        new.collect()
    }

    /// A new plan number, unique in the statement.
    pub fn number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number
    }

    /// Looks up a relation by name.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub fn relation(&mut self, name: &str, span: Span) -> Result<Arc<Relation>> {
        if let Some(relation) = self.find(name)? {
            return Ok(relation);
        }
        let names = self.source.names()?;
        let error = Error::not_found(format!("table {name:?} does not exist"));
        Err(error.near_or_all(name, names.iter().map(String::as_str)).at(span))
    }

    /// Like [`Binding::relation`], if there is one.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn find(&mut self, name: &str) -> Result<Option<Arc<Relation>>> {
        let found = self.source.relation(name)?;
        match &found {
            Some(relation) if relation.kind == RelationKind::Collection => {
                self.reads.collections.push(name.to_owned());
            }
            _ => self.reads.definitions = true,
        }
        Ok(found)
    }

    /// All rows of a relation, with the columns as they are read.
    pub fn scan(&mut self, relation: &Arc<Relation>) -> Named {
        let own = 0..relation.schema.columns.len();
        let read: Vec<usize> = own.map(|index| relation.read_at(index)).collect();
        self.scan_of(relation, read)
    }

    /// All rows of a relation that a statement changes. The plan has the columns as they are
    /// written, then the typed forms of nested ones. Names mean the columns as they are read.
    pub fn scan_to_change(&mut self, relation: &Arc<Relation>) -> Named {
        let own = 0..relation.schema.columns.len();
        let typed = own.clone().filter_map(|index| relation.paths.typed(index));
        let mut named = self.scan_of(relation, own.clone().chain(typed).collect());
        let Plan::Scan(scan) = &named.plan else { return named };
        let column = |at: usize| scan.columns.iter().find(|(own, _)| *own == at);
        let read = own.filter_map(|index| column(relation.read_at(index)));
        let names = relation.schema.columns.iter().map(|column| column.name.clone());
        named.columns = names.zip(read.map(|(_, column)| column.clone())).collect();
        named
    }

    /// All rows of a relation, with the columns as they are written.
    pub fn scan_as_written(&mut self, relation: &Arc<Relation>) -> Named {
        self.scan_of(relation, (0..relation.schema.columns.len()).collect())
    }

    fn scan_of(&mut self, relation: &Arc<Relation>, read: Vec<usize>) -> Named {
        let columns: Vec<Column> = read
            .iter()
            .map(|at| self.column(relation.column_name(*at), relation.column_type(*at).clone()))
            .collect();
        let named = columns.iter().map(|column| (column.name.to_string(), column.clone()));
        let named = named.collect();
        let plan = Plan::Scan(Scan {
            relation: Arc::clone(relation),
            columns: read.into_iter().zip(columns).collect(),
            row_number: None,
            filters: Vec::new(),
            only_filtered: Box::default(),
            path: Path::Full,
            reverse: false,
            is_in_order: false,
            is_narrowed: false,
            rival: None,
            limit: None,
        });
        Named { plan, columns: named }
    }
}
