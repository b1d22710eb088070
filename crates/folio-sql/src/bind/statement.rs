//! Binds statements by kind.

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::bound::{Control, Explained, Query, Statement};
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::source::{Relation, RelationKind};
use folio_types::{ColumnType, ErrorCode, Value};
use sqlparser::ast;

use super::copy::{CopyFile, span_of};
use super::from::text;
use super::select::literal;
use super::setting::setting;
use super::{Binder, Named, last_name, refuse, unsupported};

/// The columns of DESCRIBE.
const DESCRIBED: [(&str, ColumnType); 5] = [
    ("column_name", ColumnType::Text),
    ("data_type", ColumnType::Text),
    ("is_nullable", ColumnType::Boolean),
    ("is_key", ColumnType::Boolean),
    ("column_default", ColumnType::Text),
];

/// Binds a statement.
///
/// # Errors
/// Every error that is known before the statement runs.
pub(crate) fn bind(binder: &mut Binder<'_>, syntax: &ast::Statement) -> Result<Statement> {
    use ast::Statement as Sql;
    match syntax {
        Sql::Query(query) => binder.query_statement(query),
        Sql::Insert(insert) => binder.insert(insert),
        Sql::Update(update) => binder.update(update),
        Sql::Delete(delete) => binder.delete(delete),
        Sql::Merge(merge) => binder.merge(merge),
        Sql::CreateTable(create) => binder.create_table(create),
        Sql::CreateView(create) => binder.create_view(create),
        Sql::CreateIndex(create) => binder.create_index(create),
        Sql::AlterTable(alter) => binder.alter_table(alter),
        Sql::Drop { object_type, if_exists, names, cascade, .. } => {
            unsupported::drop_clauses(syntax)?;
            binder.drop_statement(object_type, *if_exists, names, *cascade)
        }
        Sql::Copy { source, to, target, options, legacy_options, .. } => {
            unsupported::copy_clauses(syntax)?;
            let file = CopyFile::new(target, options, legacy_options);
            let file = file.map_err(|error| error.at(span_of(source)))?;
            if *to { binder.copy_to(source, file) } else { binder.copy_from(source, &file) }
        }
        Sql::Truncate(truncate) => {
            unsupported::truncate_clauses(truncate)?;
            let tables = truncate.table_names.iter().map(|target| binder.table(&target.name));
            let is_passed_over = |table: &Result<_>| match table {
                Err(error) => truncate.if_exists && error.code() == ErrorCode::NotFound,
                Ok(_) => false,
            };
            let tables = tables.filter(|table| !is_passed_over(table));
            let tables = tables.collect::<Result<Vec<_>>>()?;
            if tables.len() > 1 && tables.iter().any(|table| table.kind == RelationKind::Collection)
            {
                return Err(Error::unsupported("TRUNCATE takes one collection at a time"));
            }
            let restart = matches!(truncate.identity, Some(ast::TruncateIdentityOption::Restart));
            Ok(Statement::Truncate { tables, restart })
        }
        Sql::Explain { statement, .. } => {
            let clauses = unsupported::explain_clauses(syntax)?;
            binder.explain(statement, clauses)
        }
        other => transaction(other)
            .map(|control| Ok(Statement::Control(control?)))
            .or_else(|| setting(other))
            .unwrap_or_else(|| binder.inspection(other)),
    }
}

/// BEGIN, COMMIT, ROLLBACK and savepoints.
fn transaction(syntax: &ast::Statement) -> Option<Result<Control>> {
    use ast::Statement as Sql;
    Some(Ok(match syntax {
        Sql::StartTransaction { .. } => {
            let begun = unsupported::begin_clauses(syntax);
            return Some(begun.map(|read_only| Control::Begin { read_only }));
        }
        Sql::Commit { .. } => {
            return Some(unsupported::commit_clauses(syntax).map(|_| Control::Commit));
        }
        Sql::Rollback { .. } => {
            let savepoint = unsupported::commit_clauses(syntax);
            let lower = |name: &ast::Ident| name.value.to_lowercase();
            return Some(savepoint.map(|name| Control::Rollback { savepoint: name.map(lower) }));
        }
        Sql::Savepoint { name } => Control::Savepoint(name.value.to_lowercase()),
        Sql::ReleaseSavepoint { name } => Control::Release(name.value.to_lowercase()),
        _ => return None,
    }))
}

impl Binder<'_> {
    fn drop_index(&mut self, names: Vec<String>, if_exists: bool) -> Result<Statement> {
        for name in &names {
            let Some(collection) = self.source.index_owner(name)? else { continue };
            if names.len() > 1 {
                let text = format!("{name:?} is an index of a collection");
                return Err(Error::unsupported(text).help("drop it in a statement of its own"));
            }
            let collection = self.relation(&collection.schema.name, Span::NONE)?;
            return Ok(Statement::DropFieldIndex { collection, name: name.clone() });
        }
        Ok(Statement::DropIndex { names, if_exists })
    }

    fn drop_statement(
        &mut self,
        object: &ast::ObjectType,
        if_exists: bool,
        names: &[ast::ObjectName],
        cascade: bool,
    ) -> Result<Statement> {
        let is_view = match object {
            ast::ObjectType::Table => false,
            ast::ObjectType::View => true,
            ast::ObjectType::Index => {
                let names = names.iter().map(|name| Ok(last_name(name)?.0));
                let names = names.collect::<Result<_>>()?;
                return self.drop_index(names, if_exists);
            }
            other => return Err(Error::unsupported(format!("DROP {other} is not supported"))),
        };
        for name in names.iter().filter(|_| !is_view) {
            let (text, span) = last_name(name)?;
            let found = self.source.relation(&text)?;
            let Some(found) = found.filter(|found| found.kind == RelationKind::Collection) else {
                continue;
            };
            if names.len() > 1 {
                let error = format!(
                    "{text:?} is a collection, which cannot be part of a \
                                    transaction"
                );
                return Err(Error::unsupported(error)
                    .at(span)
                    .help("drop it in a statement of its own"));
            }
            self.relation(&text, span)?; // remembers that the statement depends on it
            return Ok(Statement::DropCollection(found));
        }
        let names = names.iter().map(|name| Ok(last_name(name)?.0)).collect::<Result<_>>()?;
        Ok(Statement::Drop { names, is_view, if_exists, cascade })
    }

    /// Binds what EXPLAIN explains: a query, or the input rows of a change.
    fn explain(&mut self, syntax: &ast::Statement, clauses: Explained) -> Result<Statement> {
        let statement = bind(self, syntax)?;
        let help = match &statement {
            Statement::Query(_) => return Ok(explained(statement, clauses)),
            Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => {
                if !clauses.analyze {
                    return Ok(explained(statement, clauses));
                }
                "write EXPLAIN, or explain the query inside it"
            }
            _ => "explain a query, or INSERT, UPDATE, DELETE and MERGE",
        };
        let text = syntax.to_string();
        let word = text.split_whitespace().next().unwrap_or("this");
        let explain = if clauses.analyze { "EXPLAIN ANALYZE" } else { "EXPLAIN" };
        Err(Error::unsupported(format!("{explain} of {word} is not supported")).help(help))
    }

    /// A query, or a change after WITH, which the parser represents as a query.
    fn query_statement(&mut self, query: &ast::Query) -> Result<Statement> {
        use ast::SetExpr;
        if let SetExpr::Insert(change)
        | SetExpr::Update(change)
        | SetExpr::Delete(change)
        | SetExpr::Merge(change) = &*query.body
        {
            unsupported::query_clauses(query)?;
            let has_more =
                query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some();
            refuse(has_more, "ORDER BY or LIMIT after a change")?;
            return self.under(query.with.as_ref(), |binder| bind(binder, change));
        }
        let named = self.query(query, None)?;
        Ok(Statement::Query(to_query(named)))
    }

    /// SHOW and DESCRIBE: queries over the catalog.
    fn inspection(&mut self, syntax: &ast::Statement) -> Result<Statement> {
        use ast::Statement as Sql;
        let named = match syntax {
            Sql::ShowTables { .. } => {
                unsupported::show_clauses(syntax)?;
                self.information("tables", Span::NONE)?
            }
            Sql::ExplainTable { .. } | Sql::ShowColumns { .. } => {
                let table = match unsupported::describe_clauses(syntax)? {
                    Some(table) => Some(table),
                    None => unsupported::show_clauses(syntax)?,
                };
                let Some(table) = table else {
                    return Err(Error::syntax("SHOW COLUMNS needs FROM and a table"));
                };
                self.describe(table)?
            }
            other => {
                let text = other.to_string();
                let word = text.split_whitespace().next().unwrap_or("this");
                return Err(Error::unsupported(format!("the statement {word} is not supported"))
                    .help("docs/sql.md lists the supported statements"));
            }
        };
        Ok(Statement::Query(to_query(named)))
    }

    /// DESCRIBE of a table, view, collection or file.
    fn describe(&mut self, table: &ast::ObjectName) -> Result<Named> {
        let relation = match self.named_file(table)? {
            Some(file) => file,
            None => {
                let (name, span) = last_name(table)?;
                let relation = self.relation(&name, span)?;
                if relation.kind == RelationKind::View {
                    return self.describe_view(&relation, span);
                }
                relation
            }
        };
        let columns = relation.schema.columns.iter().enumerate();
        let listed = columns.filter(|(index, _)| relation.is_listed(*index));
        let rows = listed.map(|(index, column)| {
            let is_key = relation.schema.primary_key.contains(&index);
            let default = relation.constraints.defaults.get(&column.name);
            vec![
                text(&column.name),
                text(&type_name(relation.column_type(relation.read_at(index)))),
                literal(Value::Boolean(column.nullable)),
                literal(Value::Boolean(is_key)),
                default.map_or(Expr::null(ColumnType::Text), |default| text(default)),
            ]
        });
        let others = || {
            let (yes, no) = (literal(Value::Boolean(true)), literal(Value::Boolean(false)));
            let (name, ty) = (text("*"), text(&type_name(&ColumnType::Json)));
            vec![name, ty, yes, no, Expr::null(ColumnType::Text)]
        };
        // Of an open collection, any other name is a column.
        let others = relation.constraints.has_open_paths.then(others);
        let rows = rows.chain(others).collect();
        Ok(self.rows_named(&DESCRIBED, rows))
    }

    /// DESCRIBE of a view, whose columns are those of its query.
    fn describe_view(&mut self, view: &Relation, span: Span) -> Result<Named> {
        let named = self.view(view, span)?;
        let rows = named.columns.iter().map(|(name, column)| {
            let no_default = Expr::null(ColumnType::Text);
            let (yes, no) = (literal(Value::Boolean(true)), literal(Value::Boolean(false)));
            vec![text(name), text(&type_name(&column.ty)), yes, no, no_default]
        });
        let rows = rows.collect();
        Ok(self.rows_named(&DESCRIBED, rows))
    }

    /// A table of the information schema.
    pub(super) fn information(&mut self, table: &str, span: Span) -> Result<Named> {
        self.reads.definitions = true;
        match &*table.to_lowercase() {
            "tables" => self.information_tables(),
            "columns" => self.information_columns(),
            other => {
                let error =
                    Error::not_found(format!("table information_schema.{other} does not exist"));
                Err(error.near_or_all(other, ["tables", "columns"]).at(span))
            }
        }
    }

    fn information_tables(&mut self) -> Result<Named> {
        let mut rows = Vec::new();
        for name in self.source.names()? {
            let Some(relation) = self.source.relation(&name)? else { continue };
            let kind = match relation.kind {
                RelationKind::Table => "BASE TABLE",
                RelationKind::Collection => "COLLECTION",
                RelationKind::View => "VIEW",
                RelationKind::File => "FILE",
                RelationKind::Registered => "REGISTERED",
            };
            rows.push(vec![text("public"), text(&name), text(kind)]);
        }
        let columns = [
            ("table_schema", ColumnType::Text),
            ("table_name", ColumnType::Text),
            ("table_type", ColumnType::Text),
        ];
        Ok(self.rows_named(&columns, rows))
    }

    fn information_columns(&mut self) -> Result<Named> {
        let mut rows = Vec::new();
        for name in self.source.names()? {
            let Some(relation) = self.source.relation(&name)? else { continue };
            let columns = relation.schema.columns.iter().enumerate();
            for (index, column) in columns.filter(|(index, _)| relation.is_listed(*index)) {
                let position = i64::try_from(index + 1).unwrap_or(i64::MAX);
                let default = relation.constraints.defaults.get(&column.name);
                rows.push(vec![
                    text("public"),
                    text(&name),
                    text(&column.name),
                    literal(Value::Integer(position)),
                    default.map_or(Expr::null(ColumnType::Text), |default| text(default)),
                    text(if column.nullable { "YES" } else { "NO" }),
                    text(&type_name(relation.column_type(relation.read_at(index)))),
                ]);
            }
        }
        let columns = [
            ("table_schema", ColumnType::Text),
            ("table_name", ColumnType::Text),
            ("column_name", ColumnType::Text),
            ("ordinal_position", ColumnType::Int64),
            ("column_default", ColumnType::Text),
            ("is_nullable", ColumnType::Text),
            ("data_type", ColumnType::Text),
        ];
        Ok(self.rows_named(&columns, rows))
    }

    fn rows_named(&mut self, columns: &[(&str, ColumnType)], rows: Vec<Vec<Expr>>) -> Named {
        let columns = self.columns(columns.iter().cloned());
        Named::of(columns, |columns| Plan::Values { columns, rows })
    }
}

fn explained(statement: Statement, clauses: Explained) -> Statement {
    Statement::Explain { shows: clauses, statement: Box::new(statement) }
}

/// A query with exactly the named columns.
pub(super) fn to_query(named: Named) -> Query {
    let wanted: Vec<Column> = named.columns.iter().map(|(_, column)| column.clone()).collect();
    let is_exact = named.plan.columns() == wanted;
    let plan = if is_exact { named.plan } else { named.plan.only(wanted) };
    Query { plan, names: named.columns.into_iter().map(|(name, _)| name).collect() }
}
