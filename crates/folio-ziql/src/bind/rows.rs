//! Entities in a plan: the plan itself, their columns, and the entities joined to them along
//! to-one links.

use std::sync::Arc;

use folio_compute::{Result, Span};
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::{JoinKind, SortKey};
use folio_engine::source::Comparison;
use folio_engine::source::entity::Entity;
use folio_types::ColumnType;

use super::Binder;

/// The columns of one entity in a row of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) entity: Arc<Entity>,
    /// One column for each column of the table.
    pub(crate) columns: Vec<Column>,
}

impl Row {
    /// A column of the entity.
    pub(crate) fn column(&self, index: usize) -> Expr {
        Expr::Column(self.columns[index].clone())
    }

    /// Its key.
    pub(crate) fn key(&self, span: Span) -> Result<Expr> {
        Ok(self.column(self.entity.key(span)?))
    }
}

/// Entities and the columns that belong to them.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) plan: Plan,
    pub(crate) row: Row,
    /// Joined entities, by path.
    pub(super) joined: Vec<(String, Row)>,
    /// The number of the parent's key in a nested shape.
    pub(crate) parent: Option<Column>,
    /// The default order of the rows.
    pub(crate) natural: Vec<Expr>,
}

impl Rows {
    pub(crate) fn new(plan: Plan, row: Row) -> Self {
        Self { plan, row, joined: Vec::new(), parent: None, natural: Vec::new() }
    }

    /// Wraps the plan in another one.
    pub(crate) fn wrap(&mut self, around: impl FnOnce(Box<Plan>) -> Plan) {
        let inside = Box::new(self.plan.take());
        self.plan = around(inside);
    }

    /// Keeps the rows for which all terms are true.
    pub(super) fn retain(&mut self, terms: Vec<Expr>) {
        self.plan = self.plan.take().filtered(terms);
    }

    /// Keeps the rows whose key is in the column of a plan, or with `Anti` the others.
    pub(super) fn retain_among(
        &mut self,
        kind: JoinKind,
        key: Expr,
        (keys, column): (Plan, Column),
    ) {
        let terms = vec![Expr::compare(Comparison::Equal, key, Expr::Column(column))];
        let right = Box::new(keys);
        self.wrap(|left| Plan::Join { kind, left, right, terms, lateral: false });
    }

    /// Sorts the rows: by parent, then by these keys, then by the default order.
    pub(crate) fn sort(&mut self, keys: Vec<SortKey>) {
        let ascending =
            |expression: Expr| SortKey { expression, descending: false, nulls_first: false };
        let parent = self.parent.clone().map(|parent| ascending(Expr::Column(parent)));
        let natural = self.natural.clone().into_iter().map(ascending);
        let keys: Vec<SortKey> = parent.into_iter().chain(keys).chain(natural).collect();
        if !keys.is_empty() {
            self.wrap(|input| Plan::Sort { input, keys });
        }
    }
}

impl Binder<'_> {
    /// All entities of a struct.
    pub(crate) fn all(&mut self, entity: &Arc<Entity>) -> Rows {
        let named = self.binding.scan(&entity.relation);
        let columns: Vec<Column> = named.columns.into_iter().map(|(_, column)| column).collect();
        let mut plan = named.plan;
        let schema = &entity.relation.schema;
        let mut natural: Vec<Expr> =
            schema.primary_key.iter().map(|key| Expr::Column(columns[*key].clone())).collect();
        let is_table = entity.relation.kind == folio_engine::source::RelationKind::Table;
        if !is_table {
            natural.clear();
        } else if natural.is_empty() && !entity.relation.indexes.is_empty() {
            let number = self.binding.column("row number", ColumnType::Int64);
            if let Plan::Scan(scan) = &mut plan {
                scan.row_number = Some(number.clone());
            }
            natural.push(Expr::Column(number));
        }
        let row = Row { entity: Arc::clone(entity), columns };
        Rows { natural, ..Rows::new(plan, row) }
    }

    /// Joins the target of a to-one link to each row, nulls if it has none. A path that is joined
    /// already is reused.
    pub(crate) fn join(
        &mut self,
        rows: &mut Rows,
        path: &str,
        link: Expr,
        target: &str,
        span: Span,
    ) -> Result<Row> {
        let path = path.to_lowercase();
        if let Some((_, row)) = rows.joined.iter().find(|(known, _)| *known == path) {
            return Ok(row.clone());
        }
        self.follow(span)?;
        let entity = self.entity(target, span)?;
        let other = self.all(&entity);
        let key = other.row.key(span)?;
        let (right, terms) =
            (Box::new(other.plan), vec![Expr::compare(Comparison::Equal, link, key)]);
        rows.wrap(|left| Plan::Join { kind: JoinKind::Left, left, right, terms, lateral: false });
        rows.joined.push((path, other.row.clone()));
        Ok(other.row)
    }
}
