//! Binds UPDATE and DELETE, and parts common to all changes: the checks of a table, RETURNING.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Change, Returning, Rules, Statement};
use folio_engine::expression::coerce::assign;
use folio_engine::expression::{Column, ColumnId, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::{Relation, RelationKind};
use folio_types::ColumnType;
use sqlparser::ast;

use super::expression::place;
use super::operator::condition;
use super::scope::{Allowed, Scope, ScopeColumn};
use super::written::{read_as_written, read_type};
use super::{Binder, refuse, unsupported};

impl Binder<'_> {
    /// Binds UPDATE.
    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Statement> {
        unsupported::update_clauses(update)?;
        refuse(!update.table.joins.is_empty(), "a join as the target of UPDATE")?;
        let others: &[ast::TableWithJoins] = match &update.from {
            None => &[],
            Some(
                ast::UpdateTableFromKind::AfterSet(tables)
                | ast::UpdateTableFromKind::BeforeSet(tables),
            ) => tables,
        };
        let target = self.target(&update.table.relation, others)?;
        let scope = Scope::new(target.columns, None);
        scope.enter("WHERE", Allowed::Columns);
        let plan = self.target_rows(target.plan, update.selection.as_ref(), &scope)?;
        scope.enter("SET", Allowed::Columns);
        let changes = self.assignments(&update.assignments, &target.table, &target.row, &scope)?;
        let changed = changes.iter().map(|(index, _)| *index).collect();
        let returning = match &update.returning {
            Some(items) => {
                let others = &scope.columns[target.table.schema.columns.len()..];
                Some(self.returning(items, &target.table, target.alias.as_deref(), others)?)
            }
            None => None,
        };
        let values = changes.into_iter().map(|(_, value)| value);
        let values = values.chain(returning.iter().flat_map(Returning::others)).collect();
        let input =
            self.target_outputs(plan, target.row, values, !others.is_empty(), &target.table);
        let rules = self.rules(&target.table)?;
        Ok(Statement::Update(Change {
            table: target.table,
            input,
            changed,
            rules,
            returning,
            read: None,
        }))
    }

    /// Binds DELETE.
    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Statement> {
        unsupported::delete_clauses(delete)?;
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [only] = &from[..] else { return Err(Error::unsupported("DELETE takes one table")) };
        refuse(!only.joins.is_empty(), "a join as the target of DELETE")?;
        let others = delete.using.as_deref().unwrap_or_default();
        let target = self.target(&only.relation, others)?;
        let scope = Scope::new(target.columns, None);
        scope.enter("WHERE", Allowed::Columns);
        let plan = self.target_rows(target.plan, delete.selection.as_ref(), &scope)?;
        let returning = match &delete.returning {
            Some(items) => {
                let others = &scope.columns[target.table.schema.columns.len()..];
                Some(self.returning(items, &target.table, target.alias.as_deref(), others)?)
            }
            None => None,
        };
        let values = returning.iter().flat_map(Returning::others).collect();
        let input =
            self.target_outputs(plan, target.row, values, !others.is_empty(), &target.table);
        let (changed, rules) = (Vec::new(), Rules::default());
        Ok(Statement::Delete(Change {
            table: target.table,
            input,
            changed,
            rules,
            returning,
            read: None,
        }))
    }

    /// The table that an UPDATE or DELETE changes, joined with what else it reads.
    pub(super) fn target(
        &mut self,
        factor: &ast::TableFactor,
        others: &[ast::TableWithJoins],
    ) -> Result<Target> {
        let (name, alias) = unsupported::target_clauses(factor)?;
        let table = self.table(name)?;
        let named = self.scan_to_change(&table);
        self.note_links(&table, &named);
        let alias = alias.map(|alias| alias.value.clone());
        let known_as: Arc<str> = alias.as_deref().unwrap_or(&table.schema.name).into();
        let mut plan = named.plan;
        let mut row = plan.columns();
        row.truncate(table.schema.columns.len());
        if table.schema.primary_key.is_empty() {
            let number = self.column("row_number", ColumnType::Int64);
            if let Plan::Scan(scan) = &mut plan {
                scan.row_number = Some(number.clone());
            }
            row.push(number);
        }
        let mut columns: Vec<ScopeColumn> = named
            .columns
            .into_iter()
            .enumerate()
            .map(|(index, (name, column))| ScopeColumn {
                table: Some(Arc::clone(&known_as)),
                name: name.into(),
                column,
                hidden: false,
                unlisted: !table.is_listed(index),
                key: None,
                optional: None,
                twins: table.paths.twins().cloned(),
            })
            .collect();
        if !others.is_empty() {
            let from = self.from(others, None)?;
            let (left, right) = (Box::new(plan), Box::new(from.plan));
            plan = Plan::Join {
                kind: JoinKind::Inner,
                left,
                right,
                terms: Vec::new(),
                lateral: false,
            };
            columns.extend(from.columns);
        }
        Ok(Target { table, alias, plan, columns, row })
    }

    fn target_rows(
        &mut self,
        plan: Plan,
        selection: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Plan> {
        let Some(selection) = selection else { return Ok(plan) };
        let bound = self.expression(selection, scope)?;
        let term = condition(bound, "WHERE").map_err(|error| error.at(place(selection)))?;
        Ok(plan.filtered(term.into_conjuncts()))
    }

    /// The old row, then the new values. Each row of the table comes once.
    fn target_outputs(
        &mut self,
        plan: Plan,
        row: Vec<Column>,
        values: Vec<Expr>,
        may_repeat: bool,
        table: &Relation,
    ) -> Plan {
        let key: Vec<Expr> = match &table.schema.primary_key[..] {
            [] => row.last().cloned().map(Expr::Column).into_iter().collect(),
            key => key.iter().map(|index| Expr::Column(row[*index].clone())).collect(),
        };
        let mut outputs: Vec<_> = row.into_iter().map(Column::passed_on).collect();
        for value in values {
            outputs.push((self.column("new", value.ty()), value));
        }
        let plan = Plan::Project { input: Box::new(plan), outputs };
        if may_repeat { Plan::Distinct { input: Box::new(plan), on: Some(key) } } else { plan }
    }

    /// Generated columns and checks of a table, over one of its rows.
    pub(crate) fn rules(&mut self, table: &Relation) -> Result<Rules> {
        let generated = self.generated(table)?;
        if table.constraints.checks.is_empty() {
            return Ok(Rules { generated, checks: Vec::new() });
        }
        let scope = Scope::new(row_columns(table, None, 0), None);
        scope.enter("CHECK", Allowed::Columns);
        let checks = table.constraints.checks.iter().map(|check| {
            let bound = self.stored_expression(&check.text, &scope)?;
            Ok((check.name.clone(), condition(bound, "CHECK")?))
        });
        Ok(Rules { generated, checks: checks.collect::<Result<_>>()? })
    }

    /// Generated columns of a table, over one of its rows.
    pub(super) fn generated(&mut self, table: &Relation) -> Result<Vec<(usize, Expr)>> {
        if table.constraints.generated.is_empty() {
            return Ok(Vec::new());
        }
        let scope = Scope::new(row_columns(table, None, 0), None);
        scope.enter("a generated column", Allowed::Columns);
        let generated = table.constraints.generated.iter().map(|(name, text)| {
            let index = column_of(table, name, Span::NONE)?;
            let bound = self.stored_expression(text, &scope)?;
            Ok((index, assign(bound, table.column_type(index), name)?))
        });
        generated.collect()
    }

    /// RETURNING, over the written or deleted row and the columns of other tables that it reads,
    /// which come after the row.
    pub(super) fn returning(
        &mut self,
        items: &[ast::SelectItem],
        table: &Relation,
        alias: Option<&str>,
        others: &[ScopeColumn],
    ) -> Result<Returning> {
        let mut columns = row_columns(table, Some(alias.unwrap_or(&table.schema.name)), 0);
        let width = columns.len();
        let place = |index: usize| ColumnId(u32::try_from(width + index).unwrap_or(u32::MAX));
        columns.extend(others.iter().enumerate().map(|(index, other)| {
            let column = Column { id: place(index), ..other.column.clone() };
            ScopeColumn { column, key: None, ..other.clone() }
        }));
        let scope = Scope::new(columns, None);
        scope.enter("RETURNING", Allowed::Columns);
        let (mut outputs, mut names, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for item in self.items(items, &scope)? {
            let mut output = item.expression;
            if output.has_subquery() {
                let error = Error::unsupported("a subquery in RETURNING is not supported");
                return Err(error.at(item.span).help("read it with a SELECT of its own"));
            }
            output.transform(&mut |part| {
                if let Expr::Column(column) = part
                    && let Some(index) = (column.id.0 as usize).checked_sub(width)
                {
                    let known = read.iter().position(|other| *other == index);
                    column.id = place(known.unwrap_or(read.len()));
                    if known.is_none() {
                        read.push(index);
                    }
                }
            });
            read_as_written(&mut output, table, 1);
            outputs.push((self.column(&item.name, output.ty()), output));
            names.push(item.name);
        }
        let others = read.into_iter().map(|index: usize| others[index].column.clone()).collect();
        Ok(Returning { outputs, names, others })
    }
}

/// The rows that an UPDATE or DELETE changes.
pub(super) struct Target {
    pub(super) table: Arc<Relation>,
    alias: Option<String>,
    pub(super) plan: Plan,
    pub(super) columns: Vec<ScopeColumn>,
    /// The table's columns, and the row number if it has no key.
    pub(super) row: Vec<Column>,
}

/// Columns of a row whose ids are already positions, for expressions over single rows that are
/// never planned.
pub(super) fn row_columns(
    table: &Relation,
    known_as: Option<&str>,
    first: usize,
) -> Vec<ScopeColumn> {
    let known_as: Option<Arc<str>> = known_as.map(Into::into);
    let columns = table.schema.columns.iter().enumerate().map(|(index, column)| ScopeColumn {
        table: known_as.clone(),
        name: (&*column.name).into(),
        column: Column {
            id: ColumnId(u32::try_from(first + index).unwrap_or(u32::MAX)),
            ty: read_type(table, index),
            name: (&*column.name).into(),
        },
        hidden: false,
        unlisted: !table.is_listed(index),
        key: None,
        optional: None,
        twins: table.paths.twins().cloned(),
    });
    columns.collect()
}

/// The position of a column.
pub(super) fn column_of(table: &Relation, name: &str, span: Span) -> Result<usize> {
    table.column_index(name).ok_or_else(|| {
        if let Some(twin) = table.paths.twin(name)
            && let Some(column) = table.schema.column_index(name)
        {
            return twin.error(&table.schema.columns[column].name).at(span);
        }
        let names = table.schema.columns.iter().map(|column| &*column.name);
        let own = &table.schema.name;
        if table.kind == RelationKind::Collection {
            let text = format!("no document of collection {own:?} has a field {name:?}");
            let error = Error::not_found(text).near(name, names).at(span);
            return match error.hint() {
                Some(_) => error,
                None => error.help(format!(
                    "to name fields that are new, write ALTER TABLE {own:?} SET (open = true)"
                )),
            };
        }
        Error::not_found(format!("table {own:?} has no column {name:?}"))
            .near_or_all(name, names)
            .at(span)
    })
}
