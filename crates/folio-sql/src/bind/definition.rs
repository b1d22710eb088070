//! Binds CREATE of tables, views and indexes.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Create, Statement};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::assign;
use folio_engine::source::{IndexInfo, Relation, RelationKind};
use folio_engine::{Check, Constraints, Limits, OnDelete, OnUpdate, Reference};
use folio_types::{Column as TableColumn, ColumnType, TableSchema, same_name};
use sqlparser::ast;

use super::change::{column_of, row_columns};
use super::operator::condition;
use super::scope::{Allowed, Scope};
use super::types::column_type;
use super::{Binder, field_index, ident_name, last_name, refuse, unsupported};
use crate::parse::parse;
use crate::place::Place;

/// A table while its definition is read.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) columns: Vec<TableColumn>,
    pub(super) key: Vec<String>,
    pub(super) constraints: Constraints,
    /// UNIQUE constraints: names and columns.
    pub(super) unique: Vec<(Option<String>, Vec<String>)>,
}

impl Binder<'_> {
    /// Binds CREATE TABLE.
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<Statement> {
        if create.temporary {
            return Err(Error::unsupported("a temporary table is not supported")
                .at(span_of(&create.name))
                .help("name the query with WITH, register the program's rows, or drop the table"));
        }
        unsupported::table_clauses(create).map_err(|error| error.at(span_of(&create.name)))?;
        refuse(create.like.is_some() || create.clone.is_some(), "CREATE TABLE … LIKE")?;
        let (name, _) = last_name(&create.name)?;
        let mut draft = Draft::default();
        for column in &create.columns {
            draft.add_column(column, &name)?;
        }
        for constraint in &create.constraints {
            draft.add_constraint(constraint, &name)?;
        }
        if create.without_rowid && draft.key.is_empty() {
            return Err(Error::invalid("a table WITHOUT ROWID needs a primary key")
                .at(span_of(&create.name))
                .help("declare one; the rows are stored in its order"));
        }
        let mut rows = None;
        if let Some(query) = &create.query {
            let named = self.query(query, None)?;
            let given = draft.columns.len();
            if given > 0 && given != named.columns.len() {
                let there = named.columns.len();
                return Err(Error::invalid(format!("{given} columns for a query of {there}")));
            }
            if given == 0 {
                let columns = named.columns.iter();
                draft.columns = columns
                    .map(|(name, column)| TableColumn::optional(name.clone(), column.ty.clone()))
                    .collect();
            }
            refuse(
                !draft.constraints.generated.is_empty(),
                "a generated column of CREATE TABLE … AS",
            )?;
            let types: Vec<ColumnType> =
                draft.columns.iter().map(|column| column.column_type.clone()).collect();
            let plan = self.converted(named, &types).plan;
            let has_data = create.with_data.as_ref().is_none_or(|with| with.data);
            rows = has_data.then_some(plan);
        }
        let (schema, indexes) = draft.finish(&name)?;
        self.check_definition(&schema)?;
        Ok(Statement::Create(Create {
            schema,
            indexes,
            rows,
            if_not_exists: create.if_not_exists,
            or_replace: create.or_replace,
        }))
    }

    /// Binds the expressions that the definition stores as text, so that errors appear now.
    pub(super) fn check_definition(&mut self, schema: &TableSchema) -> Result<()> {
        schema.check().map_err(|error| Error::invalid(error.to_string()))?;
        let table = relation_of(schema);
        let scope = Scope::new(row_columns(&table, Some(&schema.name), 0), None);
        scope.enter("CHECK", Allowed::Columns);
        for check in &table.constraints.checks {
            let bound = condition(self.stored_expression(&check.text, &scope)?, "CHECK")?;
            if bound.has_subquery() {
                return Err(Error::invalid("CHECK takes the values of one row, not a subquery")
                    .help("write REFERENCES for rows of other tables"));
            }
        }
        self.check_generated(&table)?;
        let nothing = Scope::new(Vec::new(), None);
        nothing.enter("DEFAULT", Allowed::Columns);
        for (name, text) in &table.constraints.defaults {
            let column = &schema.columns[column_of(&table, name, Span::NONE)?];
            let bound = self.stored_expression(text, &nothing)?;
            if bound.has_subquery() {
                let text = format!("the default of column {name:?} must not be a subquery");
                return Err(Error::invalid(text).help("give the value with INSERT … SELECT"));
            }
            assign(bound, &column.column_type, name)?;
        }
        table
            .constraints
            .references
            .iter()
            .try_for_each(|reference| self.check_reference(&table, reference))
    }

    /// Checks that a generated column depends only on its row and on no generated column, and that
    /// no reference changes it.
    fn check_generated(&mut self, table: &Relation) -> Result<()> {
        let generated = &table.constraints.generated;
        for (index, value) in self.generated(table)? {
            let name = &table.schema.columns[index].name;
            let passes = value.any(&mut |part| {
                matches!(part, Expr::Function { function, .. }
                    if function.is_volatile || function.is_stable)
            });
            if passes || value.has_subquery() {
                let text = format!("column {name:?} is computed from its own row only");
                return Err(Error::invalid(text)
                    .help("leave out queries, the current time and random values"));
            }
            let mut read = Vec::new();
            value.collect_columns(&mut read);
            let names = read.iter().filter_map(|id| table.schema.columns.get(id.0 as usize));
            if let Some(other) = names.map(|own| &own.name).find(|own| generated.contains_key(*own))
            {
                let text =
                    format!("column {name:?} is computed from {other:?}, which is computed itself");
                return Err(Error::invalid(text).help("write out the expression of that column"));
            }
        }
        let acts = |reference: &&Reference| {
            reference.on_update != OnUpdate::Restrict
                || matches!(reference.on_delete, OnDelete::SetNull | OnDelete::SetDefault)
        };
        let pointing = table.constraints.references.iter().filter(acts);
        let mut columns = pointing.flat_map(|reference| &reference.columns);
        match columns.find(|own| generated.keys().any(|name| same_name(name, own))) {
            None => Ok(()),
            Some(own) => {
                let text = format!("column {own:?} is computed, so no reference can change it");
                Err(Error::invalid(text).help("leave out the actions of ON UPDATE and ON DELETE"))
            }
        }
    }

    /// Checks that a reference targets a key of the same types.
    fn check_reference(&mut self, table: &Relation, reference: &Reference) -> Result<()> {
        let is_own = same_name(&reference.table, &table.schema.name);
        let found = if is_own { None } else { Some(self.relation(&reference.table, Span::NONE)?) };
        let target = found.as_deref().unwrap_or(table);
        let names: Vec<String> = match &reference.target[..] {
            [] => {
                let key = target.schema.primary_key.iter();
                key.map(|index| target.schema.columns[*index].name.clone()).collect()
            }
            names => names.to_vec(),
        };
        if names.len() != reference.columns.len() || names.is_empty() {
            let name = &reference.table;
            return Err(Error::invalid(format!(
                "the reference does not fit the key of table {name:?}"
            ))
            .help("name as many columns as its key has"));
        }
        let key = names.iter().map(|name| column_of(target, name, Span::NONE));
        let key: Vec<usize> = key.collect::<Result<_>>()?;
        let is_unique = target.schema.primary_key == key
            || target.indexes.iter().any(|index| {
                index.unique
                    && index.columns.iter().map(|(column, _)| *column).eq(key.iter().copied())
            });
        if !is_unique && !is_own {
            let name = &reference.table;
            return Err(Error::invalid(format!(
                "the referenced columns are not a key of table {name:?}"
            ))
            .help("declare them PRIMARY KEY or UNIQUE"));
        }
        for (own, other) in reference.columns.iter().zip(&key) {
            let own = &table.schema.columns[column_of(table, own, Span::NONE)?];
            let other = &target.schema.columns[*other];
            if own.column_type != other.column_type {
                let (one, two) = (&own.name, &other.name);
                return Err(Error::mismatch(format!(
                    "column {one:?} and {two:?}, which it references, differ in type"
                ))
                .help("give both the same"));
            }
        }
        Ok(())
    }

    /// Binds CREATE VIEW.
    pub(super) fn create_view(&mut self, create: &ast::CreateView) -> Result<Statement> {
        unsupported::view_clauses(create).map_err(|error| error.at(span_of(&create.name)))?;
        refuse(create.temporary, "CREATE TEMPORARY VIEW")?;
        let (name, _) = last_name(&create.name)?;
        self.is_view = true;
        let named = self.query(&create.query, None)?;
        if create.columns.len() > named.columns.len() {
            let (given, there) = (create.columns.len(), named.columns.len());
            return Err(Error::invalid(format!("{given} column names for a query of {there}")));
        }
        let columns = named.columns.iter().enumerate().map(|(index, (own, column))| {
            let name =
                create.columns.get(index).map_or(own.clone(), |column| ident_name(&column.name));
            TableColumn::optional(name, column.ty.clone())
        });
        let schema = view_schema(name, columns.collect(), &create.query);
        schema.check().map_err(|error| {
            Error::invalid(error.to_string()).help("name the columns: CREATE VIEW v (a, b) AS …")
        })?;
        Ok(Statement::Create(Create {
            schema,
            indexes: Vec::new(),
            rows: None,
            if_not_exists: create.if_not_exists,
            or_replace: create.or_replace,
        }))
    }

    /// Binds CREATE INDEX.
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<Statement> {
        unsupported::index_clauses(create)
            .map_err(|error| error.at(span_of(&create.table_name)))?;
        let table = self.table(&create.table_name)?;
        if table.kind == RelationKind::Collection {
            return field_index::bind(create, table);
        }
        let is_columns = create.using.as_ref().is_some_and(unsupported::is_columns);
        refuse(create.predicate.is_some(), "a partial index of a table")
            .map_err(|error| error.at(span_of(&create.table_name)))?;
        if is_columns {
            return columns_index(create, &table);
        }
        let columns = create.columns.iter().map(|column| {
            let (name, descending) = unsupported::index_column(column)?;
            Ok((column_of(&table, &name.value, name.span.to_span())?, descending))
        });
        let columns: Vec<(usize, bool)> = columns.collect::<Result<_>>()?;
        let name = match &create.name {
            Some(name) => last_name(name)?.0,
            None => {
                let positions: Vec<usize> = columns.iter().map(|(column, _)| *column).collect();
                default_name(&table.schema.name, &names_of(&table.schema, &positions), "idx")
            }
        };
        let index = IndexInfo::new(name, columns, create.unique);
        let if_not_exists = create.if_not_exists;
        Ok(Statement::CreateIndex { table: table.schema.name.clone(), index, if_not_exists })
    }
}

/// A view, with the text of its query.
fn view_schema(name: String, columns: Vec<TableColumn>, query: &ast::Query) -> TableSchema {
    let view = Some(query.to_string());
    let properties = Constraints { view, ..Constraints::default() }.to_properties();
    TableSchema { properties, ..TableSchema::new(name, columns, Vec::new()) }
}

/// The views that the statements CREATE VIEW of a text declare, whatever exists: what their queries
/// read may be missing. Each statement names the columns, whose types are unknown.
///
/// # Errors
/// `syntax`, with the place, also for other statements; errors of the limits.
pub fn declared_views(text: &str, limits: &Limits) -> Result<Vec<TableSchema>> {
    let view = |statement: &ast::Statement| {
        let ast::Statement::CreateView(create) = statement else {
            return Err(Error::syntax("expected CREATE VIEW"));
        };
        unsupported::view_clauses(create).map_err(|error| error.at(span_of(&create.name)))?;
        let (name, span) = last_name(&create.name)?;
        if create.columns.is_empty() {
            let error = Error::syntax(format!("view {name:?} has no names of columns")).at(span);
            return Err(error.help("write CREATE VIEW name (a, b) AS …"));
        }
        let columns = create.columns.iter().map(|column| ident_name(&column.name));
        let columns = columns.map(|name| TableColumn::optional(name, ColumnType::Text));
        Ok(view_schema(name, columns.collect(), &create.query))
    };
    let declared = || -> Result<Vec<TableSchema>> {
        parse(text, limits)?.statements.iter().map(view).collect()
    };
    declared().map_err(|error| error.in_statement(text))
}

/// Binds CREATE INDEX … USING columns of a table.
fn columns_index(create: &ast::CreateIndex, table: &Relation) -> Result<Statement> {
    let at = |error: Error| error.at(span_of(&create.table_name));
    refuse(create.unique, "a UNIQUE index USING columns").map_err(at)?;
    let mut columns = Vec::new();
    if !field_index::is_of_all(create) {
        for column in &create.columns {
            let (name, descending) = unsupported::index_column(column)?;
            refuse(descending, "DESC in an index USING columns").map_err(at)?;
            columns.push(column_of(table, &name.value, name.span.to_span())?);
        }
    }
    let given = create.name.as_ref().map(last_name).transpose()?;
    let name = given.map_or_else(|| format!("{}_columns_idx", table.schema.name), |(name, _)| name);
    Ok(Statement::CreateIndex {
        table: table.schema.name.clone(),
        index: IndexInfo::of_columns(name, columns),
        if_not_exists: create.if_not_exists,
    })
}

impl Draft {
    pub(super) fn add_column(&mut self, column: &ast::ColumnDef, table: &str) -> Result<()> {
        let (given_name, data_type, options) = unsupported::column_definition(column);
        let name = ident_name(given_name);
        let at = |error: Error| error.at(given_name.span.to_span());
        let (ty, length) = column_type(data_type).map_err(at)?;
        if let Some(length) = length {
            self.constraints.lengths.insert(name.clone(), length);
        }
        let is_serial = data_type.to_string().to_lowercase().contains("serial");
        if is_serial {
            self.constraints.identity.insert(name.clone(), false);
        }
        let mut nullable = !is_serial;
        for (label, option) in options {
            use ast::ColumnOption as Sql;
            match option {
                Sql::Null => nullable = true,
                Sql::NotNull => nullable = false,
                Sql::Default(default) => {
                    self.constraints.defaults.insert(name.clone(), default.to_string());
                }
                Sql::PrimaryKey(key) => {
                    unsupported::key_clauses(key).map_err(at)?;
                    if !self.key.is_empty() {
                        return Err(at(Error::invalid(format!(
                            "table {table:?} has two primary keys"
                        ))
                        .help("write PRIMARY KEY (a, b) after the columns")));
                    }
                    nullable = false;
                    self.key = vec![name.clone()];
                }
                Sql::Unique(unique) => {
                    let (own, _) = unsupported::unique_clauses(unique).map_err(at)?;
                    let label = label.or(own).map(ident_name);
                    self.unique.push((label, vec![name.clone()]));
                }
                Sql::Check(check) => self.add_check(label, check, table).map_err(at)?,
                Sql::ForeignKey(key) => {
                    self.add_reference(label, key, vec![name.clone()], table).map_err(at)?;
                }
                Sql::Generated {
                    generated_as,
                    sequence_options,
                    generation_expr: None,
                    generation_expr_mode: _,
                    generated_keyword: _,
                } => {
                    unsupported::identity_clauses(sequence_options.as_deref()).map_err(at)?;
                    let always = matches!(generated_as, ast::GeneratedAs::Always);
                    self.constraints.identity.insert(name.clone(), always);
                    nullable = false;
                }
                Sql::Generated {
                    generated_as: _,
                    sequence_options: _,
                    generation_expr: Some(value),
                    generation_expr_mode: mode,
                    generated_keyword: _,
                } => {
                    let is_virtual = *mode == Some(ast::GeneratedExpressionMode::Virtual);
                    refuse(is_virtual, "VIRTUAL")
                        .map_err(|error| at(error.help("write STORED")))?;
                    self.constraints.generated.insert(name.clone(), value.to_string());
                }
                Sql::Collation(name) => unsupported::collation(name).map_err(at)?,
                Sql::DialectSpecific(tokens) if is_autoincrement(tokens) => {
                    self.constraints.identity.insert(name.clone(), false);
                    nullable = false;
                }
                other => {
                    return Err(at(Error::unsupported(format!(
                        "the column option {other} is not supported"
                    ))));
                }
            }
        }
        let has_value = self.constraints.defaults.contains_key(&name)
            || self.constraints.identity.contains_key(&name);
        if has_value && self.constraints.generated.contains_key(&name) {
            let text = format!("column {name:?} is computed and takes no other value");
            return Err(at(Error::invalid(text).help("leave DEFAULT and IDENTITY out")));
        }
        self.columns.push(TableColumn { name, column_type: ty, nullable });
        Ok(())
    }

    pub(super) fn add_constraint(
        &mut self,
        constraint: &ast::TableConstraint,
        table: &str,
    ) -> Result<()> {
        use ast::TableConstraint as Sql;
        match constraint {
            Sql::PrimaryKey(key) => {
                if !self.key.is_empty() {
                    return Err(Error::invalid(format!("table {table:?} has two primary keys")));
                }
                self.key = unsupported::key_clauses(key)?;
            }
            Sql::Unique(unique) => {
                let (name, columns) = unsupported::unique_clauses(unique)?;
                self.unique.push((name.map(ident_name), columns));
            }
            Sql::Check(check) => self.add_check(check.name.as_ref(), check, table)?,
            Sql::ForeignKey(key) => {
                let columns = key.columns.iter().map(ident_name).collect();
                self.add_reference(None, key, columns, table)?;
            }
            other => {
                return Err(Error::unsupported(format!("the constraint {other} is not supported")));
            }
        }
        Ok(())
    }

    fn add_check(
        &mut self,
        name: Option<&ast::Ident>,
        check: &ast::CheckConstraint,
        table: &str,
    ) -> Result<()> {
        unsupported::check_clauses(check)?;
        let number = self.constraints.checks.len() + 1;
        let name = name.map_or_else(|| format!("{table}_check_{number}"), ident_name);
        self.constraints.checks.push(Check { name, text: check.expr.to_string() });
        Ok(())
    }

    fn add_reference(
        &mut self,
        label: Option<&ast::Ident>,
        key: &ast::ForeignKeyConstraint,
        columns: Vec<String>,
        table: &str,
    ) -> Result<()> {
        unsupported::reference_clauses(key)?;
        let on_delete = match key.on_delete {
            None | Some(ast::ReferentialAction::Restrict | ast::ReferentialAction::NoAction) => {
                OnDelete::Restrict
            }
            Some(ast::ReferentialAction::Cascade) => OnDelete::Cascade,
            Some(ast::ReferentialAction::SetNull) => OnDelete::SetNull,
            Some(ast::ReferentialAction::SetDefault) => OnDelete::SetDefault,
        };
        let on_update = match key.on_update {
            None | Some(ast::ReferentialAction::Restrict | ast::ReferentialAction::NoAction) => {
                OnUpdate::Restrict
            }
            Some(ast::ReferentialAction::Cascade) => OnUpdate::Cascade,
            Some(ast::ReferentialAction::SetNull) => OnUpdate::SetNull,
            Some(ast::ReferentialAction::SetDefault) => OnUpdate::SetDefault,
        };
        let default = default_name(table, &columns, "fkey");
        self.constraints.references.push(Reference {
            name: label.or(key.name.as_ref()).map_or(default, ident_name),
            columns,
            table: last_name(&key.foreign_table)?.0,
            target: key.referred_columns.iter().map(ident_name).collect(),
            on_delete,
            on_update,
        });
        Ok(())
    }

    /// The schema, and its unique indexes.
    pub(super) fn finish(mut self, table: &str) -> Result<(TableSchema, Vec<IndexInfo>)> {
        let position = |columns: &[TableColumn], name: &str| {
            columns.iter().position(|column| same_name(&column.name, name)).ok_or_else(|| {
                let names = columns.iter().map(|column| &*column.name);
                Error::not_found(format!("table {table:?} has no column {name:?}"))
                    .near_or_all(name, names)
            })
        };
        let key = self.key.iter().map(|name| position(&self.columns, name));
        let key: Vec<usize> = key.collect::<Result<_>>()?;
        key.iter().for_each(|index| self.columns[*index].nullable = false);
        let mut indexes = Vec::new();
        for (name, columns) in &self.unique {
            let positions = columns.iter().map(|name| Ok((position(&self.columns, name)?, false)));
            let name = name.clone().unwrap_or_else(|| default_name(table, columns, "key"));
            indexes.push(IndexInfo::new(name, positions.collect::<Result<_>>()?, true));
        }
        let mut schema = TableSchema::new(table, self.columns, key);
        schema.properties = self.constraints.to_properties();
        Ok((schema, indexes))
    }
}

/// The keywords of SQLite and MySQL for identity columns.
fn is_autoincrement(tokens: &[sqlparser::tokenizer::Token]) -> bool {
    matches!(tokens, [token] if matches!(
        token.to_string().to_ascii_uppercase().as_str(),
        "AUTOINCREMENT" | "AUTO_INCREMENT"
    ))
}

fn names_of(schema: &TableSchema, positions: &[usize]) -> Vec<String> {
    positions.iter().map(|index| schema.columns[*index].name.clone()).collect()
}

fn default_name(table: &str, columns: &[String], suffix: &str) -> String {
    format!("{table}_{}_{suffix}", columns.join("_"))
}

fn span_of(name: &ast::ObjectName) -> Span {
    last_name(name).map_or(Span::NONE, |(_, span)| span)
}

/// A relation for a table that does not exist yet.
pub(super) fn relation_of(schema: &TableSchema) -> Relation {
    Relation {
        constraints: Constraints::from_properties(&schema.properties).unwrap_or_default(),
        ..Relation::new(RelationKind::Table, schema.clone(), Arc::new(()))
    }
}
