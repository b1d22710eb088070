//! ALTER TABLE: types, defaults and constraints. Existing rows must satisfy the new rules: the
//! table is rebuilt from them, and each is checked.

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::Constraints;
use folio_engine::bound::{Rules, Statement};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::assign;
use folio_engine::source::{Relation, RelationKind};
use folio_types::{ColumnType, TableSchema, same_name};
use sqlparser::ast;

use super::Binder;
use super::change::{column_of, row_columns};
use super::definition::{Draft, relation_of};
use super::expression::place;
use super::scope::{Allowed, Scope};
use super::types::column_type;
use crate::place::Place;

/// A table while it is altered.
pub(super) struct Altered<'t> {
    pub(super) table: &'t Relation,
    pub(super) schema: TableSchema,
    pub(super) constraints: Constraints,
    /// The expressions of the new columns over the old ones, if rows are rebuilt.
    pub(super) columns: Option<Vec<Expr>>,
}

impl Altered<'_> {
    /// The unchanged columns.
    pub(super) fn same_columns(&self) -> Vec<Expr> {
        let row = row_columns(self.table, None, 0).into_iter();
        row.map(|column| Expr::Column(column.column)).collect()
    }

    fn position(&self, name: &ast::Ident) -> Result<usize> {
        column_of(self.table, &name.value, name.span.to_span())
    }
}

impl Binder<'_> {
    /// `ALTER COLUMN a …`
    pub(super) fn alter_column(
        &mut self,
        altered: &mut Altered<'_>,
        name: &ast::Ident,
        operation: &ast::AlterColumnOperation,
    ) -> Result<()> {
        use ast::AlterColumnOperation as Sql;
        let index = altered.position(name)?;
        let column = altered.schema.columns[index].name.clone();
        match operation {
            Sql::SetDefault { .. } if altered.constraints.generated.contains_key(&column) => {
                let text = format!("column {column:?} is computed and takes no other value");
                return Err(Error::conflict(text)
                    .at(name.span.to_span())
                    .help("drop the column, and add another"));
            }
            Sql::SetDefault { value } => {
                altered.constraints.defaults.insert(column, value.to_string());
            }
            Sql::DropDefault => drop(altered.constraints.defaults.remove(&column)),
            Sql::SetNotNull => {
                altered.schema.columns[index].nullable = false;
                altered.columns = Some(altered.same_columns());
            }
            Sql::DropNotNull => {
                let is_numbered = altered.constraints.identity.contains_key(&column);
                if altered.schema.primary_key.contains(&index) || is_numbered {
                    let text = format!(
                        "column {column:?} is a key or an identity column and is never null"
                    );
                    return Err(Error::conflict(text).at(name.span.to_span()));
                }
                altered.schema.columns[index].nullable = true;
                altered.columns = Some(altered.same_columns());
            }
            Sql::SetDataType { data_type, using, .. } => {
                self.change_type(altered, index, data_type, using.as_ref(), name.span.to_span())?;
            }
            other @ Sql::AddGenerated { .. } => {
                return Err(Error::unsupported(format!("{other} is not supported"))
                    .at(name.span.to_span())
                    .help("declare it where the column is created"));
            }
        }
        Ok(())
    }

    /// `ALTER COLUMN a TYPE t [USING …]`
    fn change_type(
        &mut self,
        altered: &mut Altered<'_>,
        index: usize,
        data_type: &ast::DataType,
        using: Option<&ast::Expr>,
        span: Span,
    ) -> Result<()> {
        let (ty, length) = column_type(data_type).map_err(|error| error.at(span))?;
        let name = altered.schema.columns[index].name.clone();
        if self.is_pointed_at(altered.table, index)? {
            return Err(Error::conflict(format!("rows reference column {name:?}"))
                .at(span)
                .help("drop the constraint first"));
        }
        let value = match using {
            None => altered.same_columns().swap_remove(index),
            Some(using) => {
                let columns = row_columns(altered.table, Some(&altered.table.schema.name), 0);
                let scope = Scope::new(columns, None);
                scope.enter("USING", Allowed::Columns);
                let bound = self.expression(using, &scope)?;
                if bound.has_subquery() {
                    return Err(
                        Error::unsupported("a subquery in USING is not supported").at(place(using))
                    );
                }
                bound
            }
        };
        let value = assign(value, &ty, &name).map_err(|error| {
            error.at(span).help(format!("add a conversion: USING {name}::{data_type}"))
        })?;
        self.convert_default(altered, index, &ty, span)?;
        altered.constraints.lengths.remove(&name);
        if let Some(length) = length {
            altered.constraints.lengths.insert(name, length);
        }
        altered.schema.columns[index].column_type = ty;
        let mut columns = altered.same_columns();
        columns[index] = value;
        altered.columns = Some(columns);
        Ok(())
    }

    /// The default of a column whose type changes: what it is as a value of the old type.
    fn convert_default(
        &mut self,
        altered: &mut Altered<'_>,
        index: usize,
        ty: &ColumnType,
        span: Span,
    ) -> Result<()> {
        let column = &altered.table.schema.columns[index];
        let Some(text) = altered.constraints.defaults.get_mut(&column.name) else { return Ok(()) };
        let value = self.default_of(altered.table, index)?;
        let (name, old) = (&column.name, &column.column_type);
        if assign(value, ty, name).is_err() {
            let (ty, problem) = (type_name(ty), format!("the default of column {name:?}, {text},"));
            return Err(Error::mismatch(format!("{problem} does not become {ty}"))
                .at(span)
                .help(format!("drop it first: ALTER COLUMN {name} DROP DEFAULT")));
        }
        if self.stored_expression(text, &Scope::new(Vec::new(), None))?.ty() != *old {
            *text = format!("CAST({text} AS {old})");
        }
        Ok(())
    }

    /// Whether a reference of any table uses a column as target.
    fn is_pointed_at(&self, table: &Relation, index: usize) -> Result<bool> {
        let name = &table.schema.columns[index].name;
        let in_key = table.schema.primary_key.contains(&index);
        let referrers = self.source.referrers(table)?;
        let mut references = referrers.iter().flat_map(|other| &other.constraints.references);
        Ok(references.any(|reference| {
            same_name(&reference.table, &table.schema.name)
                && match &reference.target[..] {
                    [] => in_key,
                    target => target.iter().any(|other| same_name(other, name)),
                }
        }))
    }

    /// `ADD CONSTRAINT …`. UNIQUE becomes an index.
    pub(super) fn add_constraint(
        &mut self,
        altered: &mut Altered<'_>,
        constraint: &ast::TableConstraint,
    ) -> Result<Option<Statement>> {
        let name = altered.schema.name.clone();
        let mut draft = Draft::default();
        draft.add_constraint(constraint, &name)?;
        if !draft.unique.is_empty() {
            draft.columns.clone_from(&altered.schema.columns);
            let (_, mut indexes) = draft.finish(&name)?;
            let index = indexes.remove(0);
            return Ok(Some(Statement::CreateIndex { table: name, index, if_not_exists: false }));
        }
        if !draft.key.is_empty() {
            if !altered.schema.primary_key.is_empty() {
                return Err(Error::invalid(format!("table {name:?} already has a primary key")));
            }
            for column in &draft.key {
                let index = column_of(altered.table, column, Span::NONE)?;
                altered.schema.primary_key.push(index);
                altered.schema.columns[index].nullable = false;
            }
        }
        for mut check in draft.constraints.checks {
            if let ast::TableConstraint::Check(ast::CheckConstraint { name: None, .. }) = constraint
            {
                let mut number = altered.constraints.checks.len();
                while is_named(&altered.constraints, &check.name) {
                    number += 1;
                    check.name = format!("{name}_check_{number}");
                }
            }
            free_name(altered, &check.name)?;
            altered.constraints.checks.push(check);
        }
        for reference in draft.constraints.references {
            free_name(altered, &reference.name)?;
            altered.constraints.references.push(reference);
        }
        altered.columns = Some(altered.same_columns());
        Ok(None)
    }

    /// The rules that rows must satisfy in the altered table.
    pub(super) fn altered_rules(&mut self, schema: &TableSchema) -> Result<Rules> {
        self.check_definition(schema)?;
        self.rules(&relation_of(schema))
    }
}

fn is_named(constraints: &Constraints, name: &str) -> bool {
    constraints.checks.iter().any(|check| same_name(&check.name, name))
        || constraints.references.iter().any(|reference| same_name(&reference.name, name))
}

fn free_name(altered: &Altered<'_>, name: &str) -> Result<()> {
    let is_taken = is_named(&altered.constraints, name)
        || altered.table.indexes.iter().any(|index| same_name(&index.name, name));
    match is_taken {
        true => Err(Error::conflict(format!("constraint {name:?} already exists"))
            .help("choose another name")),
        false => Ok(()),
    }
}

/// `DROP CONSTRAINT a`. For UNIQUE, drops the index.
pub(super) fn drop_constraint(
    altered: &mut Altered<'_>,
    name: &ast::Ident,
    if_exists: bool,
) -> Result<Option<Statement>> {
    let is_it = |own: &str| same_name(own, &name.value);
    if altered.table.indexes.iter().any(|index| index.unique && is_it(&index.name)) {
        return Ok(Some(Statement::DropIndex { names: vec![name.value.clone()], if_exists }));
    }
    let is_there = is_named(&altered.constraints, &name.value);
    altered.constraints.checks.retain(|check| !is_it(&check.name));
    altered.constraints.references.retain(|reference| !is_it(&reference.name));
    match is_there || if_exists {
        true => Ok(None),
        false => Err(unknown(altered, name)),
    }
}

/// `RENAME CONSTRAINT a TO b`
pub(super) fn rename_constraint(
    altered: &mut Altered<'_>,
    old: &ast::Ident,
    new: &ast::Ident,
) -> Result<()> {
    if !is_named(&altered.constraints, &old.value) {
        return Err(unknown(altered, old));
    }
    free_name(altered, &new.value)?;
    let checks = altered.constraints.checks.iter_mut().map(|check| &mut check.name);
    let references = altered.constraints.references.iter_mut().map(|other| &mut other.name);
    let found = checks.chain(references).filter(|name| same_name(name, &old.value));
    found.for_each(|name| name.clone_from(&new.value));
    Ok(())
}

fn unknown(altered: &Altered<'_>, name: &ast::Ident) -> Error {
    let table = &altered.table.schema.name;
    let checks = altered.constraints.checks.iter().map(|check| &*check.name);
    let references = altered.constraints.references.iter().map(|other| &*other.name);
    let indexes = altered.table.indexes.iter().filter(|index| index.unique);
    let names = checks.chain(references).chain(indexes.map(|index| &*index.name));
    Error::not_found(format!(
        "table {table:?} has no constraint {:?} that can be dropped",
        name.value
    ))
    .near_or_all(&name.value, names)
    .at(name.span.to_span())
}

/// Refuses relations that are not tables.
pub(super) fn check_kind(table: &Relation, span: Span) -> Result<()> {
    match table.kind {
        RelationKind::Table => Ok(()),
        _ => {
            let name = &table.schema.name;
            Err(Error::unsupported(format!(
                "{name:?} is a collection, whose columns are its fields"
            ))
            .at(span)
            .help("change its documents"))
        }
    }
}
