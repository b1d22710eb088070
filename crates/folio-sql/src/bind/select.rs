//! Binds one SELECT.

use std::cell::RefCell;

use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::resolve_type;
use folio_engine::expression::{Column, ColumnId, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::SortKey;
use folio_types::{Value, same_name};
use sqlparser::ast;

use super::expression::place;
use super::operator::{by_order, condition, ordered};
use super::order::check_distinct_on;
use super::row::starred;
use super::scope::{Allowed, Item, Scope};
use super::table_function::beside;
use super::{Binder, Named, star, unsupported};
use crate::place::Place;
use crate::tokens::without_numbers;

/// A SELECT with its order, which may need columns that are not in the result.
pub(super) struct Selected {
    pub(super) named: Named,
    pub(super) keys: Vec<SortKey>,
}

/// An item of the SELECT list.
fn selected(name: String, expression: Expr, syntax: &ast::Expr) -> Item {
    let own = expression.has_subquery().then(|| Box::new(syntax.clone()));
    Item { name, expression, span: place(syntax), syntax: own }
}

/// Refuses a star over FROM without columns.
fn refuse_star(projection: &[ast::SelectItem]) -> Result<()> {
    let star = projection.iter().find_map(|item| match item {
        ast::SelectItem::Wildcard(options) | ast::SelectItem::QualifiedWildcard(_, options) => {
            Some(options.wildcard_token.0.span.to_span())
        }
        _ => None,
    });
    let error = Error::invalid("the file is empty, so it has no columns");
    star.map_or(Ok(()), |span| Err(error.at(span).help("count(*) counts its rows")))
}

impl Binder<'_> {
    /// Binds a SELECT and the ORDER BY that follows it. Columns that only the order needs come
    /// after the named ones.
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        order: &[ast::OrderByExpr],
        parent: Option<&Scope<'_>>,
    ) -> Result<Selected> {
        unsupported::select_clauses(select)?;
        let from = self.from(&select.from, parent)?;
        let mut scope = Scope::new(from.columns, parent);
        scope.named_windows.clone_from(&select.named_window);
        scope.optional_rows = RefCell::new(Some(Vec::new()));
        let mut plan = from.plan;
        if let Some(filter) = &select.selection {
            scope.enter("WHERE", Allowed::Columns);
            let bound = self.expression(filter, &scope)?;
            let term = condition(bound, "WHERE").map_err(|error| error.at(place(filter)))?;
            plan = plan.filtered(term.into_conjuncts());
        }
        scope.enter("the SELECT list", Allowed::Windows);
        scope.listed_functions = RefCell::new(Some(Vec::new()));
        let all = [ast::SelectItem::Wildcard(ast::WildcardAdditionalOptions::default())];
        // FROM without SELECT returns all columns.
        let projection = if select.projection.is_empty() { &all } else { &select.projection[..] };
        if scope.columns.is_empty() && !select.from.is_empty() {
            refuse_star(projection)?;
        }
        let mut items = self.items(projection, &scope)?;
        let listed = scope.listed_functions.take().unwrap_or_default();
        let groups = self.groups(&select.group_by, &items, &scope)?;
        scope.enter("HAVING", Allowed::Aggregates);
        let mut having = match &select.having {
            Some(having) => {
                let bound = self.expression(having, &scope)?;
                Some(condition(bound, "HAVING").map_err(|error| error.at(place(having)))?)
            }
            None => None,
        };
        scope.enter("ORDER BY", Allowed::Windows);
        let mut keys = self.order(order, &items, &scope)?;
        let mut distinct_on = self.distinct_on(select.distinct.as_ref(), &items, &scope)?;
        scope.enter("QUALIFY", Allowed::Windows);
        let mut qualify = match &select.qualify {
            Some(qualify) => Some(condition(self.expression(qualify, &scope)?, "QUALIFY")?),
            None => None,
        };
        let mut calls = scope.windows.take();
        super::row::make_optional_rows(&mut plan, &scope)?;
        let is_grouped = groups.are_needed(&scope) || having.is_some();
        plan = beside(plan, listed, is_grouped || !calls.is_empty())?;
        if is_grouped {
            let mut over: Vec<(&mut Expr, Span)> = Vec::new();
            over.extend(items.iter_mut().map(|item| (&mut item.expression, item.span)));
            over.extend(having.iter_mut().map(|having| (having, Span::NONE)));
            over.extend(keys.iter_mut().map(|key| (&mut key.expression, Span::NONE)));
            over.extend(qualify.iter_mut().map(|qualify| (qualify, Span::NONE)));
            over.extend(distinct_on.iter_mut().flatten().map(|on| (on, Span::NONE)));
            for (_, call) in &mut calls {
                over.extend(call.expressions_mut().into_iter().map(|part| (part, Span::NONE)));
            }
            plan = self.grouped(plan, groups, over, &scope)?;
        }
        plan = plan.filtered(having.map(Expr::into_conjuncts).unwrap_or_default());
        if !calls.is_empty() {
            plan = Plan::Window { input: Box::new(plan), calls };
        }
        plan = plan.filtered(qualify.map(Expr::into_conjuncts).unwrap_or_default());
        self.project(plan, items, keys, select.distinct.as_ref(), distinct_on)
    }

    /// Binds the SELECT list and expands its stars.
    pub(super) fn items(
        &mut self,
        projection: &[ast::SelectItem],
        scope: &Scope<'_>,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for item in projection {
            match item {
                ast::SelectItem::UnnamedExpr(syntax) if let Some(row) = starred(syntax) => {
                    items.extend(self.fields(row, scope)?);
                }
                ast::SelectItem::UnnamedExpr(syntax) => {
                    let expression = resolve_type(self.expression(syntax, scope)?);
                    items.push(selected(name_of(syntax), expression, syntax));
                }
                ast::SelectItem::ExprWithAlias { expr, alias }
                    if alias.quote_style == Some('\'') =>
                {
                    let text = &alias.value;
                    return Err(Error::syntax(format!(
                        "a name is expected, found the text '{text}'"
                    ))
                    .at(place(expr))
                    .help("text is joined with ||, names are written in \"double quotes\""));
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    let expression = resolve_type(self.expression(expr, scope)?);
                    items.push(selected(alias.value.clone(), expression, expr));
                }
                ast::SelectItem::Wildcard(options) => {
                    let span = options.wildcard_token.0.span.to_span();
                    self.star(None, options, span, scope, &mut items)?;
                }
                ast::SelectItem::QualifiedWildcard(kind, options) => {
                    let span = options.wildcard_token.0.span.to_span();
                    let ast::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
                        return Err(
                            Error::unsupported("a star of an expression is not supported").at(span)
                        );
                    };
                    let (table, name_span) = super::last_name(name)?;
                    if !scope.has_table(&table) {
                        return Err(scope
                            .resolve(Some(&table), "*", name_span)
                            .err()
                            .unwrap_or_else(|| {
                                Error::not_found(format!(
                                    "table {table:?} is not in the FROM clause"
                                ))
                            }));
                    }
                    self.star(Some(&table), options, span, scope, &mut items)?;
                }
                other @ ast::SelectItem::ExprWithAliases { .. } => {
                    return Err(Error::unsupported(format!("{other} is not supported")));
                }
            }
        }
        Ok(items)
    }

    /// The columns of a star, of one table or of all.
    fn star(
        &mut self,
        table: Option<&str>,
        options: &ast::WildcardAdditionalOptions,
        span: Span,
        scope: &Scope<'_>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let mut changes = star::changes(options)?;
        let before = items.len();
        let mut names = Vec::new();
        for column in &scope.columns {
            let is_meant = match table {
                Some(table) => column.table.as_deref().is_some_and(|own| same_name(own, table)),
                None => !column.hidden,
            };
            if !is_meant || column.unlisted {
                continue;
            }
            names.push(&*column.name);
            let mut item = Item {
                name: column.name.to_string(),
                expression: Expr::Column(column.column.clone()),
                span,
                syntax: None,
            };
            match star::change_of(&mut changes, column) {
                None => {}
                Some(star::What::LeftOut) => continue,
                Some(star::What::Replaced(value)) => {
                    item.expression = resolve_type(self.expression(value, scope)?);
                    item.span = place(value);
                }
                Some(star::What::Renamed(name)) => item.name.clone_from(&name.value),
            }
            items.push(item);
        }
        star::check_used(&changes, &names)?;
        if items.len() == before && (scope.columns.is_empty() || !changes.is_empty()) {
            let error = match scope.columns.is_empty() {
                true => Error::invalid("the star has no table to expand").help("add FROM"),
                false => Error::invalid("EXCLUDE leaves no column").help("keep one"),
            };
            return Err(error.at(span));
        }
        Ok(())
    }

    /// Projects the result columns and those the order needs, and applies DISTINCT.
    fn project(
        &mut self,
        plan: Plan,
        items: Vec<Item>,
        mut keys: Vec<SortKey>,
        distinct: Option<&ast::Distinct>,
        mut distinct_on: Option<Vec<Expr>>,
    ) -> Result<Selected> {
        let inside = plan.column_ids();
        let mut outputs: Vec<(Column, Expr)> = Vec::new();
        let mut columns = Vec::new();
        for item in items {
            let column = self.output(&item.name, item.expression, &inside, &mut outputs);
            columns.push((item.name, column));
        }
        let answered = outputs.len();
        let needed = keys.iter_mut().map(|key| &mut key.expression);
        for expression in needed.chain(distinct_on.iter_mut().flatten()) {
            let by = ordered(expression);
            let known = outputs.iter().find(|(_, output)| output == by);
            let column = match known {
                Some((column, _)) => column.clone(),
                None => self.output("", by.clone(), &inside, &mut outputs),
            };
            let is_wrapped = !std::ptr::eq(by, &*expression);
            let column = Expr::Column(column);
            *expression = if is_wrapped { by_order(column) } else { column };
        }
        let is_distinct = matches!(distinct, Some(ast::Distinct::Distinct));
        if is_distinct && outputs.len() > answered {
            return Err(Error::invalid(
                "with DISTINCT, ORDER BY takes columns of the SELECT list only",
            )
            .help("add the expression to the list"));
        }
        let mut plan = Plan::Project { input: Box::new(plan), outputs };
        if is_distinct {
            plan = Plan::Distinct { input: Box::new(plan), on: None };
        }
        if let Some(on) = distinct_on {
            check_distinct_on(&on, &keys)?;
            // DISTINCT ON takes the first row of each key in the order, so rows are sorted before
            // it too.
            plan = plan.sorted(&keys);
            plan = Plan::Distinct { input: Box::new(plan), on: Some(on) };
        }
        Ok(Selected { named: Named { plan, columns }, keys })
    }

    /// A result column. A column of the input keeps its id. An outer column gets a new one, since
    /// it would otherwise be mistaken for a column of this query.
    fn output(
        &mut self,
        name: &str,
        expression: Expr,
        inside: &[ColumnId],
        outputs: &mut Vec<(Column, Expr)>,
    ) -> Column {
        let column = match &expression {
            Expr::Column(column) if inside.contains(&column.id) => column.clone(),
            other => self.column(name, other.ty()),
        };
        outputs.push((column.clone(), expression));
        column
    }
}

/// The name of a column without an alias.
pub(super) fn name_of(syntax: &ast::Expr) -> String {
    match syntax {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(names) => {
            names.last().map_or_else(String::new, |name| name.value.clone())
        }
        ast::Expr::Nested(inner) => name_of(inner),
        ast::Expr::Cast { expr, .. } => name_of(expr),
        ast::Expr::Function(call) => super::last_name(&call.name)
            .map_or_else(|_| "function".to_owned(), |(name, _)| name.to_lowercase()),
        ast::Expr::Case { .. } => "case".to_owned(),
        ast::Expr::CompoundFieldAccess { access_chain, root } => match access_chain.last() {
            Some(ast::AccessExpr::Dot(ast::Expr::Identifier(name))) => name.value.clone(),
            _ => name_of(root),
        },
        ast::Expr::Extract { .. } => "extract".to_owned(),
        ast::Expr::Exists { .. } => "exists".to_owned(),
        ast::Expr::Tuple(_) => "row".to_owned(),
        other => {
            let text = without_numbers(&other.to_string());
            if text.chars().count() > 40 { "?column?".to_owned() } else { text }
        }
    }
}

/// A literal of a known type.
pub(super) fn literal(value: Value) -> Expr {
    let ty = match &value {
        Value::Integer(_) => folio_types::ColumnType::Int64,
        Value::Boolean(_) => folio_types::ColumnType::Boolean,
        _ => folio_types::ColumnType::Text,
    };
    Expr::literal(value, ty)
}
