//! Binds INSERT: complete rows for a table, and what to do when a key is taken.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Insert, OnConflict, Statement};
use folio_engine::expression::coerce::assign;
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::source::{Relation, RelationKind};
use folio_types::same_name;
use sqlparser::ast::{self, Spanned};

use super::change::{column_of, row_columns};
use super::expression::place;
use super::member::member_place;
use super::operator::condition;
use super::scope::{Allowed, Scope, ScopeColumn};
use super::written::{read_as_written, unseen_field, written_columns};
use super::{Binder, Named, last_name, unsupported};
use crate::place::Place;

impl Binder<'_> {
    /// Binds INSERT.
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Statement> {
        unsupported::insert_clauses(insert)?;
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(Error::unsupported("INSERT takes the name of a table"));
        };
        let table = self.table(name)?;
        let targets = self.targets(&table, &insert.columns)?;
        let given = match &insert.source {
            Some(query) => Some(self.insert_source(query, &table, &targets)?),
            None => None,
        };
        if let Some(given) = &given
            && !insert.columns.is_empty()
            && given.columns.len() < targets.len()
        {
            let span = insert.columns.last().map_or(Span::NONE, place_of);
            return Err(wrong_count(&table, given.columns.len(), targets.len(), span));
        }
        let (input, numbered) = self.full_rows(&table, &targets, given)?;
        let alias = insert.table_alias.as_ref().map(|alias| &*alias.alias.value);
        let on_conflict = self.on_conflict(insert, &table, alias)?;
        let rules = self.rules(&table)?;
        let returning = match &insert.returning {
            Some(items) => Some(self.returning(items, &table, alias, &[])?),
            None => None,
        };
        Ok(Statement::Insert(Insert { table, input, numbered, on_conflict, rules, returning }))
    }

    /// The columns an INSERT names; all columns if it names none.
    fn targets(&mut self, table: &Relation, columns: &[ast::ObjectName]) -> Result<Vec<usize>> {
        if columns.is_empty() {
            let all = 0..table.schema.columns.len();
            return Ok(all.filter(|index| table.is_listed(*index)).collect());
        }
        let mut targets = Vec::with_capacity(columns.len());
        // All are looked up before one is refused: fields that are new are made together.
        let found: Vec<Result<_>> = columns
            .iter()
            .map(|column| {
                let (name, span) = last_name(column)?;
                Ok((self.written_column(table, &name, span)?, name, span))
            })
            .collect();
        for found in found {
            let (index, name, span) = found?;
            if targets.contains(&index) {
                return Err(Error::invalid(format!("column {name:?} is given twice"))
                    .at(span)
                    .help("name it once"));
            }
            targets.push(index);
        }
        Ok(targets)
    }

    /// Binds the rows of an INSERT. Those of VALUES take the types of their columns directly.
    fn insert_source(
        &mut self,
        query: &ast::Query,
        table: &Relation,
        targets: &[usize],
    ) -> Result<Named> {
        let plain = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none();
        let values = match &*query.body {
            ast::SetExpr::Values(values) if plain => values,
            _ => {
                let named = self.query(query, None)?;
                let given = targets.iter().take(named.columns.len());
                let span = query.body.span().to_span();
                given.copied().try_for_each(|target| takes_value(table, target, span))?;
                return Ok(named);
            }
        };
        unsupported::query_clauses(query)?;
        let given = unsupported::values_clauses(values);
        let scope = Scope::new(Vec::new(), None);
        scope.enter("VALUES", Allowed::Columns);
        let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(given.len());
        for row in given {
            // The last columns may be omitted, in all rows alike.
            let width = rows.first().map_or(row.content.len(), Vec::len);
            if row.content.len() > targets.len() || row.content.len() != width {
                return Err(wrong_count(
                    table,
                    row.content.len(),
                    targets.len(),
                    row.content.first().map_or(Span::NONE, place),
                ));
            }
            let mut bound = Vec::with_capacity(targets.len());
            for (syntax, target) in row.content.iter().zip(targets) {
                bound.push(self.assigned(syntax, table, *target, &scope)?);
            }
            rows.push(bound);
        }
        let width = rows.first().map_or(0, Vec::len);
        let columns = self.columns(targets[..width].iter().map(|target| {
            let column = &table.schema.columns[*target];
            (&*column.name, column.column_type.clone())
        }));
        Ok(Named::of(columns, |columns| Plan::Values { columns, rows }))
    }

    /// A value for a column. DEFAULT means the column's default.
    pub(super) fn assigned(
        &mut self,
        syntax: &ast::Expr,
        table: &Relation,
        target: usize,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let is_default = matches!(syntax, ast::Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"));
        if is_default {
            return self.default_of(table, target);
        }
        let bound = self.expression(syntax, scope)?;
        self.assigned_to(bound, table, target, place(syntax))
    }

    /// The value of a column that an insert leaves out.
    pub(crate) fn default_of(&mut self, table: &Relation, target: usize) -> Result<Expr> {
        let column = &table.schema.columns[target];
        match table.constraints.defaults.get(&column.name) {
            None => Ok(Expr::null(column.column_type.clone())),
            Some(text) => {
                let scope = Scope::new(Vec::new(), None);
                scope.enter("DEFAULT", Allowed::Columns);
                let bound = self.stored_expression(text, &scope)?;
                assign(bound, &column.column_type, &column.name)
            }
        }
    }

    /// Binds an expression that the catalog stores as text.
    pub(super) fn stored_expression(&mut self, text: &str, scope: &Scope<'_>) -> Result<Expr> {
        let parsed = crate::parse::parse(&format!("select {text}"), &self.limits)?;
        let broken = || Error::invalid(format!("the stored expression {text:?} cannot be read"));
        let [ast::Statement::Query(query)] = &parsed.statements[..] else { return Err(broken()) };
        let ast::SetExpr::Select(select) = &*query.body else { return Err(broken()) };
        let [ast::SelectItem::UnnamedExpr(syntax)] = &select.projection[..] else {
            return Err(broken());
        };
        let outside = std::mem::replace(&mut self.is_stored, true);
        let bound = self.expression(syntax, scope);
        self.is_stored = outside;
        // Places in the stored text are not places in the statement.
        let mut bound = bound.map_err(Error::nowhere)?;
        bound.transform(&mut |part| {
            if let Expr::Literal { span, .. }
            | Expr::Cast { span, .. }
            | Expr::Arithmetic { span, .. }
            | Expr::Function { span, .. } = part
            {
                *span = Span::NONE;
            }
        });
        Ok(bound)
    }

    /// Completes rows with defaults for the columns not given. Also returns the identity columns
    /// that number themselves.
    pub(super) fn full_rows(
        &mut self,
        table: &Arc<Relation>,
        targets: &[usize],
        given: Option<Named>,
    ) -> Result<(Plan, Vec<usize>)> {
        let given = given.unwrap_or(Named { plan: Plan::OneRow, columns: Vec::new() });
        if given.columns.len() > targets.len() {
            return Err(wrong_count(table, given.columns.len(), targets.len(), Span::NONE));
        }
        let mut outputs = Vec::with_capacity(table.schema.columns.len());
        let mut numbered = Vec::new();
        for (index, column) in table.schema.columns.iter().enumerate() {
            let source = targets.iter().position(|target| *target == index);
            let source = source.and_then(|position| given.columns.get(position));
            let value = match source {
                Some((_, source)) => self.selected_to(source, table, index)?,
                None => self.default_of(table, index)?,
            };
            if table.constraints.identity.contains_key(&column.name) {
                numbered.push(index);
            }
            outputs.push((self.column(&column.name, column.column_type.clone()), value));
        }
        // VALUES stay VALUES, so that inserting one row stays cheap.
        if let Plan::Values { columns, rows } = &given.plan {
            let full = rows.iter().map(|row| {
                let value = |(_, output): &(Column, Expr)| {
                    let mut output = output.clone();
                    output.replace_columns(&|id| {
                        let position = columns.iter().position(|column| column.id == id)?;
                        Some(row[position].clone())
                    });
                    output
                };
                outputs.iter().map(value).collect()
            });
            let rows = full.collect();
            let columns = outputs.into_iter().map(|(column, _)| column).collect();
            return Ok((Plan::Values { columns, rows }, numbered));
        }
        Ok((Plan::Project { input: Box::new(given.plan), outputs }, numbered))
    }

    fn on_conflict(
        &mut self,
        insert: &ast::Insert,
        table: &Arc<Relation>,
        alias: Option<&str>,
    ) -> Result<OnConflict> {
        let conflict = match (&insert.on, &insert.or) {
            (None, None) => return Ok(OnConflict::Fail),
            (None, Some(ast::SqliteOnConflict::Abort)) => return Ok(OnConflict::Fail),
            (None, Some(ast::SqliteOnConflict::Ignore)) => {
                let is_collection = table.kind == RelationKind::Collection;
                let keys = is_collection.then(|| table.unique_keys().collect());
                return Ok(OnConflict::Nothing(keys.unwrap_or_default()));
            }
            (Some(ast::OnInsert::OnConflict(conflict)), None) => conflict,
            _ => {
                return Err(Error::unsupported("this form of conflict handling is not supported")
                    .help("write ON CONFLICT"));
            }
        };
        let (target, update) = unsupported::conflict_clauses(conflict);
        let key = match target {
            None => None,
            Some(ast::ConflictTarget::Columns(names)) => {
                let key =
                    names.iter().map(|name| column_of(table, &name.value, name.span.to_span()));
                let key: Vec<usize> = key.collect::<Result<_>>()?;
                let span = names.first().map_or(Span::NONE, |name| name.span.to_span());
                Some(unique_key(table, &key, span)?)
            }
            Some(ast::ConflictTarget::OnConstraint(name)) => Some(named_key(table, name)?),
        };
        match update {
            // A collection refuses documents when the statement is done, so their keys are looked up.
            None if key.is_none() && table.kind == RelationKind::Collection => {
                Ok(OnConflict::Nothing(table.unique_keys().collect()))
            }
            None => Ok(OnConflict::Nothing(key.into_iter().collect())),
            Some((assignments, selection)) => {
                let key = key.ok_or_else(|| {
                    Error::syntax("ON CONFLICT DO UPDATE needs the columns of a key")
                        .help("write ON CONFLICT (id) DO UPDATE …")
                })?;
                let width = table.schema.columns.len();
                let known_as = alias.unwrap_or(&table.schema.name);
                let mut columns = row_columns(table, Some(known_as), 0);
                columns.extend(
                    row_columns(table, Some("excluded"), width)
                        .into_iter()
                        .map(|column| ScopeColumn { hidden: true, ..column }),
                );
                let scope = Scope::new(columns, None);
                scope.enter("DO UPDATE", Allowed::Columns);
                let row = written_columns(table);
                let changes = self.assignments(assignments, table, &row, &scope)?;
                let mut values: Vec<Expr> = row.into_iter().map(Expr::Column).collect();
                for (index, mut value) in changes {
                    read_as_written(&mut value, table, 2);
                    values[index] = value;
                }
                let mut condition = match selection {
                    Some(selection) => {
                        Some(condition(self.expression(selection, &scope)?, "WHERE")?)
                    }
                    None => None,
                };
                condition.iter_mut().for_each(|condition| read_as_written(condition, table, 2));
                if let Some(it) = values.iter().chain(&condition).find(|it| it.has_subquery()) {
                    let error = "a subquery in ON CONFLICT DO UPDATE is not supported";
                    let error = Error::unsupported(error).at(it.span());
                    return Err(error.help("write MERGE, with the subquery in USING"));
                }
                Ok(OnConflict::Update { key, values, condition })
            }
        }
    }

    /// `a = 1, (b, c) = (2, 3)`
    pub(super) fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Relation,
        row: &[Column],
        scope: &Scope<'_>,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut changes: Vec<(usize, Expr)> = Vec::new();
        for assignment in assignments {
            let (target, value) = unsupported::assignment_clauses(assignment);
            if let ast::AssignmentTarget::ColumnName(name) = target
                && let Some(place) = member_place(name, table)?
            {
                takes_value(table, place.column, place.span)?;
                let value = self.expression(value, scope)?;
                place.set(value, table, row, &mut changes)?;
                continue;
            }
            match (target, value) {
                (ast::AssignmentTarget::ColumnName(name), value) => {
                    let index = self.free_column(name, table, &changes)?;
                    changes.push((index, self.assigned(value, table, index, scope)?));
                }
                (ast::AssignmentTarget::Tuple(names), ast::Expr::Tuple(values))
                    if names.len() == values.len() =>
                {
                    for (name, value) in names.iter().zip(values) {
                        let index = self.free_column(name, table, &changes)?;
                        changes.push((index, self.assigned(value, table, index, scope)?));
                    }
                }
                (ast::AssignmentTarget::Tuple(names), row) => {
                    for (name, value) in names.iter().zip(self.row_for(row, names.len(), scope)?) {
                        let index = self.free_column(name, table, &changes)?;
                        let value = self.assigned_to(value, table, index, place(row))?;
                        changes.push((index, value));
                    }
                }
            }
        }
        Ok(changes)
    }

    /// The column of a name, unless it is set already.
    fn free_column(
        &mut self,
        name: &ast::ObjectName,
        table: &Relation,
        changes: &[(usize, Expr)],
    ) -> Result<usize> {
        if let Some((field, span)) = unseen_field(name, table) {
            return self.written_column(table, field, span);
        }
        let (name, span) = last_name(name)?;
        let index = self.written_column(table, &name, span)?;
        if changes.iter().any(|(other, _)| *other == index) {
            return Err(Error::invalid(format!("column {name:?} is set twice"))
                .at(span)
                .help("set it once"));
        }
        Ok(index)
    }
}

/// The columns of a constraint. The primary key has the name that PostgreSQL gives it.
fn named_key(table: &Relation, name: &ast::ObjectName) -> Result<Vec<usize>> {
    let (name, span) = last_name(name)?;
    let key = &table.schema.primary_key;
    let index = table.unique_indexes().find(|index| same_name(&index.name, &name));
    match index {
        Some(index) => Ok(index.columns.iter().map(|(column, _)| *column).collect()),
        None if !key.is_empty() && same_name(&format!("{}_pkey", table.schema.name), &name) => {
            Ok(key.clone())
        }
        None => Err(Error::not_found(format!("constraint {name:?} does not exist")).at(span)),
    }
}

/// Refuses values for generated columns and strict identity columns.
pub(super) fn takes_value(table: &Relation, target: usize, span: Span) -> Result<()> {
    let name = &table.schema.columns[target].name;
    let why = if table.constraints.identity.get(name) == Some(&true) {
        "is an identity column"
    } else if table.constraints.generated.contains_key(name) {
        "is computed"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("column {name:?} {why}"))
        .at(span)
        .help("leave it out, or write DEFAULT"))
}

fn place_of(name: &ast::ObjectName) -> Span {
    last_name(name).map_or(Span::NONE, |(_, span)| span)
}

/// Refuses columns that are not a unique key.
fn unique_key(table: &Relation, key: &[usize], span: Span) -> Result<Vec<usize>> {
    let is_same =
        |other: &[usize]| other.len() == key.len() && other.iter().all(|index| key.contains(index));
    if is_same(&table.schema.primary_key) {
        return Ok(table.schema.primary_key.clone());
    }
    let key = table.unique_keys().find(|own| is_same(own));
    match key {
        Some(key) => Ok(key),
        None => Err(Error::invalid("these columns are not a key")
            .at(span)
            .help("name the primary key or the columns of a unique constraint")),
    }
}

pub(super) fn wrong_count(table: &Relation, given: usize, wanted: usize, span: Span) -> Error {
    let name = &table.schema.name;
    Error::invalid(format!("{given} values for {wanted} columns of table {name:?}"))
        .at(span)
        .help("give one value for each column, or name the columns")
}
