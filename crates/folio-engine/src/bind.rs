//! What binding a statement needs in any language: numbers for columns and plans, the relations
//! of names, and how deep a text may nest and how much memory it may take.

use std::sync::Arc;

use folio_types::ColumnType;

use crate::bound::Rules;
use crate::error::{Error, Result};
use crate::expression::{Column, ColumnId, Expr};
use crate::limits::{Held, Limits};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::Path;
use crate::source::{Relation, RelationKind, Source};
use crate::span::Span;

/// Expressions and queries between two looks at the time, and what one of them takes, about.
const STEPS: usize = 256;
const STEP_SIZE: usize = 1 << 10;

/// One statement while it is bound.
pub struct Binding<'s> {
    /// What it reads.
    pub source: &'s dyn Source,
    /// What reads the expressions that tables keep as text.
    stored: &'static dyn StoredExpressions,
    /// What it may use.
    pub limits: Limits,
    /// How many expressions were bound.
    step_count: usize,
    memory: Held,
    next_column: u32,
    next_number: usize,
    /// What was named whose columns no version counts.
    pub reads: Reads,
}

/// Relations whose columns change without a change of definitions.
#[derive(Debug, Clone, Default)]
pub struct Reads {
    /// Collections, by name.
    pub collections: Vec<String>,
    /// Whether there are files.
    pub files: bool,
}

/// A plan and the names of its columns.
#[derive(Clone)]
pub struct Named {
    /// What answers it.
    pub plan: Plan,
    /// Its columns, by name.
    pub columns: Vec<(String, Column)>,
}

/// The expressions that tables keep as text, in the language they were written in.
pub trait StoredExpressions: Sync {
    /// What a column gets when it is left out.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn default_of(
        &self,
        binding: &mut Binding<'_>,
        table: &Relation,
        column: usize,
    ) -> Result<Expr>;

    /// What rows are made of and must pass.
    ///
    /// # Errors
    /// As [`StoredExpressions::default_of`].
    fn rules(&self, binding: &mut Binding<'_>, table: &Relation) -> Result<Rules>;
}

impl<'s> Binding<'s> {
    /// Of a statement that may use so much.
    pub fn new(
        source: &'s dyn Source,
        stored: &'static dyn StoredExpressions,
        limits: Limits,
    ) -> Self {
        Self {
            source,
            stored,
            memory: limits.hold(0).unwrap_or_default(),
            limits,
            step_count: 0,
            next_column: 0,
            next_number: 0,
            reads: Reads::default(),
        }
    }

    /// What reads the expressions that tables keep as text.
    pub fn stored(&self) -> &'static dyn StoredExpressions {
        self.stored
    }

    /// What a column gets when it is left out.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn default_of(&mut self, table: &Relation, column: usize) -> Result<Expr> {
        let stored = self.stored;
        stored.default_of(self, table, column)
    }

    /// What rows of a table are made of and must pass.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn rules(&mut self, table: &Relation) -> Result<Rules> {
        let stored = self.stored;
        stored.rules(self, table)
    }

    /// Goes a level deeper: looks whether there is stack, and now and then for time and memory.
    ///
    /// # Errors
    /// `unsupported` for what nests too deep; `cancelled`, `timeout`, `memory_limit`.
    #[inline]
    pub fn descend(&mut self, place: impl FnOnce() -> Span) -> Result<()> {
        self.step_count += 1;
        if self.step_count.is_multiple_of(STEPS) {
            self.limits.check()?;
            self.memory.grow(STEPS * STEP_SIZE)?;
        }
        self.limits.descend(place)
    }

    /// A column that no other of the statement is.
    pub fn column(&mut self, name: &str, ty: ColumnType) -> Column {
        self.next_column += 1;
        Column { id: ColumnId(self.next_column), ty, name: name.into() }
    }

    /// A number that no other plan of the statement has.
    pub fn number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number
    }

    /// The relation of a name.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub fn relation(&mut self, name: &str, span: Span) -> Result<Arc<Relation>> {
        if let Some(relation) = self.source.relation(name)? {
            if relation.kind == RelationKind::Collection {
                self.reads.collections.push(name.to_owned());
            }
            return Ok(relation);
        }
        let names = self.source.names()?;
        let error = Error::not_found(format!("table {name:?} does not exist"));
        Err(error.near_or_all(name, names.iter().map(String::as_str)).at(span))
    }

    /// All rows of a relation.
    pub fn scan(&mut self, relation: &Arc<Relation>) -> Named {
        let columns: Vec<_> = relation
            .schema
            .columns
            .iter()
            .map(|column| self.column(&column.name, column.column_type.clone()))
            .collect();
        let named = relation.schema.columns.iter().zip(&columns);
        let named = named.map(|(own, column)| (own.name.clone(), column.clone())).collect();
        let plan = Plan::Scan(Scan {
            relation: Arc::clone(relation),
            columns: columns.into_iter().enumerate().collect(),
            row_number: None,
            filters: Vec::new(),
            path: Path::Full,
            reverse: false,
            is_in_order: false,
            limit: None,
        });
        Named { plan, columns: named }
    }
}
