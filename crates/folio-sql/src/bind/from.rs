//! Binds FROM: tables, views, named queries, files, functions, joins.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::expression::{ColumnId, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::{FileReading, Relation, RelationKind};
use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::join::{check_names, join, span_of};
use super::scope::{From, Scope, ScopeColumn};
use super::table_function::TableCall;
use super::{
    Binder, EASY_TABLES, Named, TABLES_MAX, VIEW_DEPTH_MAX, VIEWS_MAX, refuse, too_many,
    unsupported,
};
use crate::place::Place;

impl Binder<'_> {
    /// Binds a FROM clause. Without one there is one row.
    pub(super) fn from(
        &mut self,
        tables: &[ast::TableWithJoins],
        parent: Option<&Scope<'_>>,
    ) -> Result<From> {
        let mut whole: Option<From> = None;
        let joins = tables.iter().map(|table| 1 + table.joins.len());
        self.check_tables(joins.sum())?;
        for table in tables {
            let next =
                self.joined(table, whole.as_ref().map_or(&[], |whole| &whole.columns), parent)?;
            whole = Some(match whole {
                None => next,
                Some(left) => join(left, next, JoinKind::Inner, Vec::new()),
            });
        }
        Ok(whole.unwrap_or(From { plan: Plan::OneRow, columns: Vec::new() }))
    }

    /// Binds a table and its joins. LATERAL also sees `before`.
    fn joined(
        &mut self,
        table: &ast::TableWithJoins,
        before: &[ScopeColumn],
        parent: Option<&Scope<'_>>,
    ) -> Result<From> {
        self.descend(|| Span::NONE)?;
        let ast::TableWithJoins { relation: first, joins } = table;
        self.check_tables(1 + joins.len())?;
        let mut left = self.factor(first, before, parent)?;
        check_names(before, &left.columns, first)?;
        for ast::Join { relation, global, join_operator } in joins {
            refuse(*global, "GLOBAL JOIN")?;
            let visible: Vec<ScopeColumn> = before.iter().chain(&left.columns).cloned().collect();
            let right = self.factor(relation, &visible, parent)?;
            check_names(&visible, &right.columns, relation)?;
            let operator = (join_operator, span_of(relation));
            left = self.join_step(left, right, operator, parent)?;
        }
        Ok(left)
    }

    /// Refuses too many tables in one FROM, since their plan nests.
    fn check_tables(&self, count: usize) -> Result<()> {
        if count > TABLES_MAX {
            return Err(too_many(TABLES_MAX, "tables in FROM", Span::NONE));
        }
        match count > EASY_TABLES && !self.limits.has_large_stack() {
            true => Err(self.limits.too_deep(Span::NONE)),
            false => Ok(()),
        }
    }

    pub(super) fn factor(
        &mut self,
        factor: &ast::TableFactor,
        before: &[ScopeColumn],
        parent: Option<&Scope<'_>>,
    ) -> Result<From> {
        use ast::TableFactor as Sql;
        unsupported::factor_clauses(factor)?;
        match factor {
            Sql::Table { name, alias, args: None, .. } => {
                let (named, own_name) = self.named_table(name)?;
                aliased(named, alias.as_ref(), Some(&own_name))
            }
            Sql::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                let (name, span) = super::last_name(name)?;
                let call = TableCall {
                    name: &name,
                    arguments: &args.args,
                    ordinality: *with_ordinality,
                    span,
                };
                self.table_function(&call, alias.as_ref(), before, parent)
            }
            Sql::Function { name, args, alias, with_ordinality, .. } => {
                let (name, span) = super::last_name(name)?;
                let call =
                    TableCall { name: &name, arguments: args, ordinality: *with_ordinality, span };
                self.table_function(&call, alias.as_ref(), before, parent)
            }
            Sql::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let scope = Scope::new(before.to_vec(), parent);
                let arguments = array_exprs.iter().map(|array| self.expression(array, &scope));
                let arguments = arguments.collect::<Result<_>>()?;
                self.unnest("unnest", arguments, *with_ordinality, alias.as_ref(), Span::NONE)
            }
            Sql::Derived { lateral, subquery, alias, .. } => {
                let named = if *lateral {
                    let scope = Scope::new(before.to_vec(), parent);
                    self.query(subquery, Some(&scope))?
                } else {
                    self.query(subquery, parent)?
                };
                aliased(named, alias.as_ref(), None)
            }
            Sql::NestedJoin { table_with_joins, alias } => {
                let mut inner = self
                    .deeper(Span::NONE, |binder| binder.joined(table_with_joins, before, parent))?;
                if let Some(alias) = alias {
                    let name: Arc<str> = (&*alias.name.value).into();
                    inner
                        .columns
                        .iter_mut()
                        .for_each(|column| column.table = Some(Arc::clone(&name)));
                }
                Ok(inner)
            }
            other => Err(Error::unsupported(format!("{other} in FROM is not supported"))),
        }
    }

    /// Looks up a table, view, named query or file by name.
    fn named_table(&mut self, name: &ast::ObjectName) -> Result<(Named, String)> {
        if let Some(relation) = self.named_file(name)? {
            let own_name = relation.schema.name.clone();
            return Ok((self.scanned(&relation), own_name));
        }
        let (plain, span) = super::last_name(name)?;
        if name.0.len() == 1
            && let Some(named) = self.common_table(&plain, span)?
        {
            return Ok((named, plain));
        }
        if let Some(inside) = plain.strip_prefix("information_schema.") {
            return Ok((self.information(inside, span)?, inside.to_owned()));
        }
        let relation = self.relation(&plain, span)?;
        match relation.kind {
            RelationKind::View => Ok((self.view(&relation, span)?, plain)),
            _ => Ok((self.scanned(&relation), plain)),
        }
    }

    /// The relation in the file of a name in single quotes; `None` for other names.
    pub(super) fn named_file(&mut self, name: &ast::ObjectName) -> Result<Option<Arc<Relation>>> {
        let [ast::ObjectNamePart::Identifier(ident)] = &name.0[..] else { return Ok(None) };
        if ident.quote_style != Some('\'') {
            return Ok(None);
        }
        self.file(&ident.value, FileReading::default(), ident.span.to_span()).map(Some)
    }

    /// The relation in a file. Files change without notice, so the statement is not cached.
    pub(super) fn file(
        &mut self,
        path: &str,
        reading: FileReading<'_>,
        span: Span,
    ) -> Result<Arc<Relation>> {
        self.reads.files = true;
        self.source.file(path, reading).map_err(|error| error.at(span))
    }

    /// A scan of a relation, with its links in scope.
    pub(super) fn scanned(&mut self, relation: &Arc<Relation>) -> Named {
        let named = self.scan(relation);
        self.note_links(relation, &named);
        named
    }

    /// Puts the links of a scanned relation in scope, and remembers whether its paths are open.
    pub(super) fn note_links(&mut self, relation: &Arc<Relation>, named: &Named) {
        if let ([key], false) =
            (&relation.schema.primary_key[..], relation.constraints.links.is_empty())
        {
            self.structs.push((named.columns[*key].1.id, Arc::clone(relation)));
        }
        if relation.constraints.has_open_paths {
            self.open.extend(named.columns.iter().map(|(_, column)| column.id));
        }
    }

    /// The query of a view.
    pub(super) fn view(&mut self, view: &Relation, span: Span) -> Result<Named> {
        let text = view.constraints.view.clone().unwrap_or_default();
        let name = &view.schema.name;
        if self.view_depth >= VIEW_DEPTH_MAX {
            return Err(Error::invalid(format!("view {name:?} reads itself")).at(span));
        }
        let broken = |error: Error| {
            if error.wants_stack() {
                return error;
            }
            let code = error.code();
            Error::new(code, format!("view {name:?} cannot be read: {}", error.message()))
                .at(span)
                .help("create it again")
        };
        if let Some(known) = self.shared_views.get(&name.to_lowercase()).cloned() {
            return Ok(self.read_again(&known));
        }
        let parsed = crate::parse::parse(&text, &self.limits).map_err(broken)?;
        let [ast::Statement::Query(query)] = &parsed.statements[..] else {
            return Err(Error::invalid(format!("view {name:?} is not a query")).at(span));
        };
        self.view_depth += 1;
        self.view_count += 1;
        let outside = std::mem::take(&mut self.ctes);
        let bound = self.query(query, None).map_err(broken);
        self.ctes = outside;
        self.view_depth -= 1;
        let mut named = bound?;
        if self.view_count > VIEWS_MAX {
            let (shared, known) = self.shared(named, name, false);
            self.shared_views.extend(known.map(|known| (name.to_lowercase(), known)));
            named = shared;
        }
        for ((column, _), declared) in named.columns.iter_mut().zip(&view.schema.columns) {
            column.clone_from(&declared.name);
        }
        Ok(named)
    }
}

/// Columns under the name of an alias, or under their own names.
pub(super) fn aliased(
    named: Named,
    alias: Option<&ast::TableAlias>,
    own_name: Option<&str>,
) -> Result<From> {
    let table: Option<Arc<str>> =
        alias.map(|alias| &*alias.name.value).or(own_name).map(Into::into);
    let renamed = alias.map_or(&[][..], |alias| &alias.columns);
    if renamed.len() > named.columns.len() {
        let (given, there) = (renamed.len(), named.columns.len());
        return Err(Error::invalid(format!("{given} column names for {there} columns"))
            .at(renamed[there].name.span.to_span())
            .help("name as many as there are"));
    }
    let (key, unlisted) = (key_of(&named.plan), unlisted(&named));
    let twins = match &named.plan {
        Plan::Scan(scan) => scan.relation.paths.twins().cloned(),
        _ => None,
    };
    let columns =
        named.columns.into_iter().enumerate().map(|(index, (name, column))| ScopeColumn {
            table: table.clone(),
            name: renamed.get(index).map_or(&*name, |alias| &*alias.name.value).into(),
            hidden: false,
            unlisted: unlisted.contains(&column.id),
            column,
            key: key.clone(),
            optional: None,
            twins: twins.clone(),
        });
    Ok(From { plan: named.plan, columns: columns.collect() })
}

/// The columns of a scan that `*` leaves out: the whole document, and parts of other columns.
fn unlisted(named: &Named) -> Vec<ColumnId> {
    let Plan::Scan(scan) = &named.plan else { return Vec::new() };
    let document = scan.relation.document_column();
    let is_unlisted = |own: usize| document == Some(own) || scan.relation.is_partial(own);
    let columns = scan.columns.iter().filter(|(own, _)| is_unlisted(*own));
    columns.map(|(_, column)| column.id).collect()
}

/// Removes the columns that `*` leaves out.
pub(super) fn listed(mut named: Named) -> Named {
    let unlisted = unlisted(&named);
    named.columns.retain(|(_, column)| !unlisted.contains(&column.id));
    named
}

/// The columns of the primary key, if a plan is a scan of a table.
fn key_of(plan: &Plan) -> Option<Arc<[ColumnId]>> {
    let Plan::Scan(scan) = plan else { return None };
    let key = scan.relation.schema.primary_key.iter();
    let ids = key.map(|index| scan.column(*index).map(|column| column.id));
    ids.collect::<Option<Arc<[ColumnId]>>>().filter(|key| !key.is_empty())
}

/// A text literal.
pub(super) fn text(value: &str) -> Expr {
    Expr::literal(Value::Text(value.to_owned()), ColumnType::Text)
}
