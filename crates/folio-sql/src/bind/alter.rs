//! ALTER TABLE: renames, and added or dropped columns. Types and constraints are handled in
//! [`super::alter_rules`].

use folio_compute::{Error, Result};
use folio_engine::bound::{Rules, Statement};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::assign;
use folio_engine::source::{Relation, RelationKind};
use folio_engine::{Constraints, mentions};
use folio_types::{ErrorCode, TableSchema, same_name};
use sqlparser::ast;

use super::alter_rules::{Altered, check_kind, drop_constraint, rename_constraint};
use super::change::{column_of, row_columns};
use super::definition::Draft;
use super::scope::Scope;
use super::{Binder, last_name, refuse, unsupported};
use crate::place::Place;

impl Binder<'_> {
    /// Binds ALTER TABLE.
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<Statement> {
        use ast::AlterTableOperation as Sql;
        unsupported::alter_clauses(alter)?;
        let table = match self.table(&alter.name) {
            // IF EXISTS: nothing to do.
            Err(error) if alter.if_exists && error.code() == ErrorCode::NotFound => {
                return Ok(Statement::Truncate { tables: Vec::new(), restart: false });
            }
            found => found?,
        };
        let is_of_any = matches!(
            alter.operations[..],
            [Sql::RenameTable { .. } | Sql::SetOptionsParens { .. }]
        );
        if !(is_of_any && table.kind == RelationKind::Collection) {
            check_kind(&table, last_name(&alter.name)?.1)?;
        }
        let [operation] = &alter.operations[..] else {
            return Err(Error::unsupported("ALTER TABLE does one thing at a time"));
        };
        let (schema, constraints) = (table.schema.clone(), table.constraints.clone());
        let mut altered = Altered { table: &table, schema, constraints, columns: None };
        let instead = match operation {
            Sql::AlterColumn { column_name, op } => {
                self.alter_column(&mut altered, column_name, op)?;
                None
            }
            Sql::AddConstraint { constraint, not_valid } => {
                refuse(*not_valid, "NOT VALID")?;
                self.add_constraint(&mut altered, constraint)?
            }
            Sql::DropConstraint { name, if_exists, drop_behavior } => {
                unsupported::drop_behavior(drop_behavior.as_ref())?;
                drop_constraint(&mut altered, name, *if_exists)?
            }
            Sql::RenameConstraint { old_name, new_name } => {
                rename_constraint(&mut altered, old_name, new_name)?;
                None
            }
            other => {
                self.alter_names(&mut altered, other)?;
                None
            }
        };
        if let Some(statement) = instead {
            return Ok(statement);
        }
        let Altered { mut schema, constraints, columns, .. } = altered;
        schema.properties = constraints.to_properties();
        schema.check().map_err(|error| Error::invalid(error.to_string()))?;
        let keeps_rows = matches!(
            operation,
            Sql::RenameTable { .. } | Sql::RenameColumn { .. } | Sql::SetOptionsParens { .. }
        );
        let rules = if keeps_rows { Rules::default() } else { self.altered_rules(&schema)? };
        Ok(Statement::Alter { table, schema, columns, rules })
    }

    /// Binds renames, and added or dropped columns.
    fn alter_names(
        &mut self,
        altered: &mut Altered<'_>,
        operation: &ast::AlterTableOperation,
    ) -> Result<()> {
        use ast::AlterTableOperation as Sql;
        let table = altered.table;
        let (schema, constraints) = (&mut altered.schema, &mut altered.constraints);
        match operation {
            Sql::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::To(name) | ast::RenameTableNameKind::As(name)) =
                    table_name;
                schema.name = last_name(name)?.0;
            }
            Sql::RenameColumn { old_column_name, new_column_name } => {
                let index =
                    column_of(table, &old_column_name.value, old_column_name.span.to_span())?;
                let (old, new) =
                    (schema.columns[index].name.clone(), new_column_name.value.clone());
                rename_in(constraints, &old, &new)?;
                schema.columns[index].name = new;
            }
            Sql::AddColumn { column_keyword: _, if_not_exists, column_def, column_position } => {
                refuse(column_position.is_some(), "FIRST and AFTER of a new column")?;
                if *if_not_exists && table.column_index(&column_def.name.value).is_some() {
                    return Ok(());
                }
                altered.columns = Some(self.add_column(column_def, table, schema, constraints)?);
            }
            Sql::DropColumn { has_column_keyword: _, column_names, if_exists, drop_behavior } => {
                unsupported::drop_behavior(drop_behavior.as_ref())?;
                let dropped = dropped(table, column_names, *if_exists)?;
                drop_columns(schema, constraints, table, &dropped)?;
                let row = altered.same_columns().into_iter().enumerate();
                let kept = row.filter(|(index, _)| !dropped.contains(index));
                altered.columns = Some(kept.map(|(_, column)| column).collect());
            }
            Sql::SetOptionsParens { options } if table.kind == RelationKind::Collection => {
                constraints.has_open_paths = open_option(options)?;
            }
            other => {
                return Err(Error::unsupported(format!("ALTER TABLE … {other} is not supported"))
                    .help(
                        "use ADD, ALTER, DROP or RENAME of columns and constraints, or RENAME TO",
                    ));
            }
        }
        Ok(())
    }

    /// The table's columns with a new one, and the expression for each.
    fn add_column(
        &mut self,
        column: &ast::ColumnDef,
        table: &Relation,
        schema: &mut TableSchema,
        constraints: &mut Constraints,
    ) -> Result<Vec<Expr>> {
        let mut draft = Draft::default();
        draft.add_column(column, &schema.name)?;
        refuse(!draft.key.is_empty() || !draft.unique.is_empty(), "a new column as a key")?;
        let added = draft.columns.remove(0);
        if table.column_index(&added.name).is_some() {
            return Err(Error::conflict(format!("column {:?} already exists", added.name))
                .at(column.name.span.to_span())
                .help("choose another name"));
        }
        let value = match draft.constraints.defaults.get(&added.name) {
            Some(text) => {
                let scope = Scope::new(Vec::new(), None);
                assign(self.stored_expression(text, &scope)?, &added.column_type, &added.name)?
            }
            None => Expr::null(added.column_type.clone()),
        };
        let row = row_columns(table, None, 0).into_iter();
        let mut values: Vec<Expr> = row.map(|column| Expr::Column(column.column)).collect();
        values.push(value);
        schema.columns.push(added);
        merge(constraints, draft.constraints);
        Ok(values)
    }
}

/// The positions of the columns to drop.
fn dropped(table: &Relation, names: &[ast::Ident], if_exists: bool) -> Result<Vec<usize>> {
    let mut dropped = Vec::new();
    for name in names {
        match table.column_index(&name.value) {
            None if if_exists => {}
            _ => dropped.push(column_of(table, &name.value, name.span.to_span())?),
        }
    }
    Ok(dropped)
}

fn merge(constraints: &mut Constraints, more: Constraints) {
    constraints.defaults.extend(more.defaults);
    constraints.lengths.extend(more.lengths);
    constraints.identity.extend(more.identity);
    constraints.generated.extend(more.generated);
    constraints.checks.extend(more.checks);
    constraints.references.extend(more.references);
}

/// Renames a column in the constraints.
fn rename_in(constraints: &mut Constraints, old: &str, new: &str) -> Result<()> {
    let in_check = constraints.checks.iter().find(|check| mentions(&check.text, old));
    if let Some(check) = in_check {
        let name = &check.name;
        return Err(Error::conflict(format!("column {old:?} is used in constraint {name:?}"))
            .help("create the table again without it"));
    }
    let in_generated = constraints.generated.iter().find(|(_, text)| mentions(text, old));
    if let Some((name, _)) = in_generated {
        return Err(Error::conflict(format!("column {name:?} is computed from column {old:?}"))
            .help("drop that first"));
    }
    if let Some(generated) = constraints.generated.remove(old) {
        constraints.generated.insert(new.to_owned(), generated);
    }
    if let Some(default) = constraints.defaults.remove(old) {
        constraints.defaults.insert(new.to_owned(), default);
    }
    if let Some(length) = constraints.lengths.remove(old) {
        constraints.lengths.insert(new.to_owned(), length);
    }
    if let Some(always) = constraints.identity.remove(old) {
        constraints.identity.insert(new.to_owned(), always);
    }
    let columns = constraints.references.iter_mut().flat_map(|reference| &mut reference.columns);
    columns.filter(|column| same_name(column, old)).for_each(|column| new.clone_into(column));
    Ok(())
}

fn drop_columns(
    schema: &mut TableSchema,
    constraints: &mut Constraints,
    table: &Relation,
    dropped: &[usize],
) -> Result<()> {
    for index in dropped {
        let name = &table.schema.columns[*index].name;
        let in_key = table.schema.primary_key.contains(index);
        let in_index = table
            .indexes
            .iter()
            .any(|other| other.columns.iter().any(|(column, _)| column == index));
        let in_check = constraints.checks.iter().any(|check| mentions(&check.text, name));
        let in_reference =
            constraints.references.iter().any(|reference| reference.columns.contains(name));
        let mut others = constraints.generated.iter().filter(|(other, _)| *other != name);
        if let Some((other, _)) = others.find(|(_, text)| mentions(text, name)) {
            return Err(Error::conflict(format!(
                "column {other:?} is computed from column {name:?}"
            ))
            .help("drop that first"));
        }
        if in_key || in_index || in_check || in_reference {
            return Err(Error::conflict(format!(
                "column {name:?} is part of a key, an index or a constraint"
            ))
            .help("drop that first"));
        }
        constraints.defaults.remove(name);
        constraints.lengths.remove(name);
        constraints.identity.remove(name);
        constraints.generated.remove(name);
    }
    let key = table.schema.primary_key.iter();
    schema.primary_key =
        key.map(|index| index - dropped.iter().filter(|gone| *gone < index).count()).collect();
    let mut index = 0;
    schema.columns.retain(|_| {
        index += 1;
        !dropped.contains(&(index - 1))
    });
    if schema.columns.is_empty() {
        return Err(Error::invalid("a table needs at least one column").help("drop the table"));
    }
    Ok(())
}

/// `SET (open = true)`
fn open_option(options: &[ast::SqlOption]) -> Result<bool> {
    if let [ast::SqlOption::KeyValue { key, value: ast::Expr::Value(value) }] = options
        && same_name(&key.value, "open")
        && let ast::Value::Boolean(open) = value.value
    {
        return Ok(open);
    }
    Err(Error::unsupported("a collection has no such option").help("write SET (open = true)"))
}
