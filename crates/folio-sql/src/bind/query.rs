//! Binds queries: WITH, set operations, VALUES, ORDER BY, LIMIT.

use std::collections::HashMap;
use std::sync::Arc;

use folio_compute::type_rules::unify;
use folio_compute::{Error, Result, Span, type_name};
use folio_engine::expression::coerce::{as_document, cast_to_if, coerce, resolve_type, unify_all};
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::{SetKind, SortKey};
use folio_types::ColumnType;
use sqlparser::ast;

use super::expression::place;
use super::from::listed;
use super::scope::{Allowed, Scope, ScopeColumn};
use super::select::Selected;
use super::{Binder, Cte, KEYS_MAX, Named, NamedQueries, too_many, unsupported};
use crate::parse::{WITH_DEPTH_MAX, withs_too_deep};
use crate::place::Place;

/// Names that are hidden while a query of WITH is bound, to be restored.
struct Hidden {
    own: Option<Cte>,
    from: usize,
}

impl Binder<'_> {
    /// Binds a query.
    pub(super) fn query(
        &mut self,
        query: &ast::Query,
        parent: Option<&Scope<'_>>,
    ) -> Result<Named> {
        self.descend(|| Span::NONE)?;
        unsupported::query_clauses(query)?;
        self.deeper(Span::NONE, |binder| {
            binder.under(query.with.as_ref(), |binder| binder.query_body(query, parent))
        })
    }

    /// Binds what follows a WITH clause, if there is one.
    pub(super) fn under<T>(
        &mut self,
        with: Option<&ast::With>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(with) = with else { return bind(self) };
        if self.with_depth > WITH_DEPTH_MAX {
            return Err(withs_too_deep(with.with_token.0.span.to_span()));
        }
        self.with(with)?;
        self.with_depth += 1;
        let bound = bind(self);
        // Unused queries are not run but must still be valid.
        let unused = if bound.is_ok() { self.bind_unused() } else { Ok(()) };
        self.with_depth -= 1;
        self.ctes.pop();
        unused.and(bound)
    }

    /// Binds the unused queries of the innermost WITH, to report their errors.
    fn bind_unused(&mut self) -> Result<()> {
        let open = self.ctes.last().into_iter().flat_map(|open| &open.by_name);
        let unused = open.filter(|(_, cte)| !cte.is_used).map(|(name, cte)| (cte.number, name));
        let mut unused: Vec<(usize, String)> =
            unused.map(|(number, name)| (number, name.clone())).collect();
        unused.sort();
        unused.into_iter().try_for_each(|(_, name)| self.common_table(&name, Span::NONE).map(drop))
    }

    fn query_body(&mut self, query: &ast::Query, parent: Option<&Scope<'_>>) -> Result<Named> {
        let order: &[ast::OrderByExpr] = match query.order_by.as_ref().map(|order| &order.kind) {
            None => &[],
            Some(ast::OrderByKind::Expressions(keys)) => keys,
            Some(ast::OrderByKind::All(_)) => {
                return Err(Error::unsupported("ORDER BY ALL is not supported"));
            }
        };
        if let Some(key) = order.get(KEYS_MAX) {
            return Err(too_many(KEYS_MAX, "keys in ORDER BY", place(&key.expr)));
        }
        let selected = match &*query.body {
            ast::SetExpr::Select(select) => self.select(select, order, parent)?,
            body => {
                let named = self.set_expression(body, parent)?;
                let keys = self.output_order(order, &named)?;
                Selected { named, keys }
            }
        };
        let Selected { named: Named { mut plan, columns }, keys } = selected;
        let ties = ties(query, &keys)?;
        if !keys.is_empty() {
            plan = Plan::Sort { input: Box::new(plan), keys };
        }
        let (limit, offset) = self.bounds(query)?;
        if limit.is_some() || offset.is_some() {
            plan = Plan::Limit { input: Box::new(plan), limit, offset, ties };
        }
        // Drops columns that only the order needed.
        if plan.columns().len() > columns.len() {
            plan = plan.only(columns.iter().map(|(_, column)| column.clone()));
        }
        Ok(Named { plan, columns })
    }

    fn bounds(&mut self, query: &ast::Query) -> Result<(Option<Expr>, Option<Expr>)> {
        let mut limit = None;
        let mut offset = None;
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset { limit: rows, offset: skipped, .. }) => {
                limit = rows.as_ref().map(|rows| self.row_count(rows, "LIMIT")).transpose()?;
                offset = skipped
                    .as_ref()
                    .map(|skipped| self.row_count(&skipped.value, "OFFSET"))
                    .transpose()?;
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset: skipped, limit: rows }) => {
                limit = Some(self.row_count(rows, "LIMIT")?);
                offset = Some(self.row_count(skipped, "OFFSET")?);
            }
        }
        if let Some(fetch) = &query.fetch {
            limit = match &fetch.quantity {
                Some(rows) => Some(self.row_count(rows, "FETCH")?),
                None => Some(super::select::literal(folio_types::Value::Integer(1))),
            };
        }
        Ok((limit, offset))
    }

    /// Binds the order of a set operation or VALUES, over its own columns only.
    fn output_order(&mut self, order: &[ast::OrderByExpr], named: &Named) -> Result<Vec<SortKey>> {
        let columns = named.columns.iter().map(|(name, column)| ScopeColumn {
            table: None,
            name: (&**name).into(),
            column: column.clone(),
            hidden: false,
            unlisted: false,
            key: None,
            optional: None,
            twins: None,
        });
        let scope = Scope::new(columns.collect(), None);
        scope.enter("ORDER BY", Allowed::Columns);
        let keys = order.iter().map(|key| {
            unsupported::key_options(key)?;
            if let ast::Expr::Value(value) = &key.expr
                && let ast::Value::Number(digits, _) = &value.value
            {
                let number = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let Some((_, column)) = number.and_then(|number| named.columns.get(number)) else {
                    let count = named.columns.len();
                    return Err(Error::invalid(format!(
                        "ORDER BY {digits} is not one of {count} columns"
                    ))
                    .at(place(&key.expr)));
                };
                return Ok(super::aggregate::sort_key(Expr::Column(column.clone()), &key.options));
            }
            self.sort_key(key, &scope)
        });
        keys.collect()
    }

    fn set_expression(&mut self, body: &ast::SetExpr, parent: Option<&Scope<'_>>) -> Result<Named> {
        self.descend(|| Span::NONE)?;
        match body {
            ast::SetExpr::Select(select) => Ok(self.select(select, &[], parent)?.named),
            ast::SetExpr::Query(query) => self.query(query, parent),
            ast::SetExpr::Values(values) => self.values(values, parent),
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let (left, right) =
                    (self.set_expression(left, parent)?, self.set_expression(right, parent)?);
                let kind = match op {
                    ast::SetOperator::Union => SetKind::Union,
                    ast::SetOperator::Intersect => SetKind::Intersect,
                    ast::SetOperator::Except | ast::SetOperator::Minus => SetKind::Except,
                };
                let all = match set_quantifier {
                    ast::SetQuantifier::All => true,
                    ast::SetQuantifier::None | ast::SetQuantifier::Distinct => false,
                    other => return Err(Error::unsupported(format!("{other} is not supported"))),
                };
                self.combine(kind, all, left, right)
            }
            ast::SetExpr::Table(table) => {
                let name = table.table_name.clone().unwrap_or_default();
                let relation = self.relation(&name, Span::NONE)?;
                Ok(listed(self.scanned(&relation)))
            }
            _ => Err(Error::unsupported(
                "statements that change data are not allowed inside a query",
            )),
        }
    }

    /// A set operation of two queries, whose columns are matched by position.
    fn combine(&mut self, kind: SetKind, all: bool, left: Named, right: Named) -> Result<Named> {
        let (own, other) = (left.columns.len(), right.columns.len());
        if own != other {
            return Err(Error::invalid(format!(
                "the sides of the set operation have {own} and {other} columns"
            ))
            .help("select the same number on both sides"));
        }
        let types = left.columns.iter().zip(&right.columns).map(|((name, one), (_, other))| {
            let guess = |plan: &Plan, column: &Column| is_bare_null(plan, column);
            match (guess(&left.plan, one), guess(&right.plan, other)) {
                (true, false) => Ok(other.ty.clone()),
                (false, true) => Ok(one.ty.clone()),
                _ => unify(&one.ty, &other.ty).ok_or_else(|| {
                    let (one, other) = (type_name(&one.ty), type_name(&other.ty));
                    Error::mismatch(format!(
                        "column {name:?} of the set operation is {one} and {other}"
                    ))
                    .help("cast one side")
                }),
            }
        });
        let types: Vec<ColumnType> = types.collect::<Result<_>>()?;
        let columns = left.columns.iter().zip(&types).map(|((name, _), ty)| (&**name, ty.clone()));
        let columns = self.columns(columns);
        let (left, right) = (self.converted(left, &types), self.converted(right, &types));
        let (left, right) = (Box::new(left.plan), Box::new(right.plan));
        Ok(Named::of(columns, |columns| Plan::SetOperation { kind, all, left, right, columns }))
    }

    /// Casts the columns of a query to these types, and drops all others.
    pub(super) fn converted(&mut self, named: Named, types: &[ColumnType]) -> Named {
        let fits = named.columns.iter().zip(types).all(|((_, column), ty)| column.ty == *ty);
        let is_exact = named
            .plan
            .columns()
            .iter()
            .map(|column| column.id)
            .eq(named.columns.iter().map(|(_, column)| column.id));
        if fits && is_exact {
            return named;
        }
        let (mut outputs, mut columns) = (Vec::new(), Vec::new());
        for ((name, column), ty) in named.columns.into_iter().zip(types) {
            let expression = match column.ty.is_nested() && *ty == ColumnType::Json {
                true => as_document(Expr::Column(column)).expect("what is nested becomes JSON"),
                false => cast_to_if(Expr::Column(column), ty),
            };
            let column = self.column(&name, ty.clone());
            outputs.push((column.clone(), expression));
            columns.push((name, column));
        }
        Named { plan: Plan::Project { input: Box::new(named.plan), outputs }, columns }
    }

    /// `values (…), (…)`
    fn values(&mut self, values: &ast::Values, parent: Option<&Scope<'_>>) -> Result<Named> {
        let scope = Scope::new(Vec::new(), parent);
        scope.enter("VALUES", Allowed::Columns);
        let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(values.rows.len());
        let given = unsupported::values_clauses(values);
        for row in given {
            let bound = row.content.iter().map(|value| self.expression(value, &scope));
            let bound: Vec<Expr> = bound.collect::<Result<_>>()?;
            if let Some(first) = rows.first()
                && first.len() != bound.len()
            {
                let (wanted, given) = (first.len(), bound.len());
                let span = row.content.first().map_or(Span::NONE, place);
                return Err(Error::invalid(format!(
                    "a row of VALUES has {given} values, the first has {wanted}"
                ))
                .at(span)
                .help("give every row the same number"));
            }
            rows.push(bound);
        }
        let width = rows.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for index in 0..width {
            let column: Vec<&Expr> = rows.iter().map(|row| &row[index]).collect();
            let ty = unify_all(column.into_iter(), "a column of VALUES")?;
            let name = format!("column{}", index + 1);
            for row in &mut rows {
                let value = std::mem::replace(&mut row[index], Expr::boolean(true));
                row[index] = coerce(value, &ty, "VALUES")?;
            }
            columns.push((name.clone(), self.column(&name, ty)));
        }
        let rows =
            rows.into_iter().map(|row| row.into_iter().map(resolve_type).collect()).collect();
        Ok(Named::of(columns, |columns| Plan::Values { columns, rows }))
    }

    /// Opens a WITH clause. Its queries are bound where they are used.
    fn with(&mut self, with: &ast::With) -> Result<()> {
        unsupported::with_clauses(with)?;
        self.ctes.push(NamedQueries { by_name: HashMap::new(), hidden_from: usize::MAX });
        for (number, cte) in with.cte_tables.iter().enumerate() {
            let name = cte.alias.name.value.to_lowercase();
            let known = Cte {
                query: Arc::new((*cte.query).clone()),
                columns: cte.alias.columns.iter().map(|column| column.name.value.clone()).collect(),
                depth: self.ctes.len(),
                work_table: None,
                is_recursive: with.recursive,
                number,
                is_used: false,
                bound: None,
            };
            let Some(open) = self.ctes.last_mut() else { break };
            if open.by_name.insert(name, known).is_some() {
                let name = &cte.alias.name.value;
                self.ctes.pop();
                return Err(Error::conflict(format!("WITH names {name:?} twice")).at(cte
                    .alias
                    .name
                    .span
                    .to_span()));
            }
        }
        Ok(())
    }

    /// Looks up a query named by WITH.
    pub(super) fn common_table(&mut self, name: &str, span: Span) -> Result<Option<Named>> {
        let lower = name.to_lowercase();
        let found = self.ctes.iter_mut().rev().find_map(|open| open.get_mut(&lower));
        let Some(cte) = found else { return Ok(None) };
        cte.is_used = true;
        if let Some(bound) = &cte.bound {
            let (bound, names) = (bound.clone(), cte.columns.clone());
            return renamed(self.read_again(&bound), &names, name, span).map(Some);
        }
        let cte = cte.clone();
        if let Some((number, columns)) = &cte.work_table {
            let columns = self.columns(columns.iter().map(|(name, ty)| (&**name, ty.clone())));
            let number = *number;
            return Ok(Some(Named::of(columns, |columns| Plan::WorkTable { number, columns })));
        }
        // It sees queries named before it and outside of it, not those after it. It sees itself
        // only if it is recursive.
        let inner: Vec<_> = self.ctes.drain(cte.depth..).collect();
        let hidden = self.hide(&cte, &lower);
        let bound = if cte.is_recursive {
            self.recursive(&cte, &lower)
        } else {
            self.query(&cte.query, None)
        };
        if let Some(open) = self.ctes.last_mut() {
            open.hidden_from = hidden.from;
            open.by_name.extend(hidden.own.map(|own| (lower, own)));
        }
        let in_round = self.ctes.iter().any(NamedQueries::has_round);
        let bound = bound.map(|named| self.shared(named, name, in_round));
        let own = self.ctes.last_mut().and_then(|open| open.by_name.get_mut(&name.to_lowercase()));
        if let (Some(own), Ok((_, known))) = (own, &bound) {
            own.bound.clone_from(known);
        }
        self.ctes.extend(inner);
        renamed(bound?.0, &cte.columns, name, span).map(Some)
    }

    /// Hides what a query of WITH does not see: itself, and without RECURSIVE those after it.
    fn hide(&mut self, cte: &Cte, name: &str) -> Hidden {
        let Some(open) = self.ctes.last_mut() else { return Hidden { own: None, from: 0 } };
        let from = open.hidden_from;
        if cte.is_recursive {
            return Hidden { own: open.by_name.remove(name), from };
        }
        open.hidden_from = cte.number;
        Hidden { own: None, from }
    }

    /// `with recursive`: a base, UNION [ALL], and a step that reads the query's own name.
    fn recursive(&mut self, cte: &Cte, name: &str) -> Result<Named> {
        let ast::SetExpr::SetOperation { left, op: ast::SetOperator::Union, set_quantifier, right } =
            &*cte.query.body
        else {
            return self.query(&cte.query, None);
        };
        let mut base = self.set_expression(left, None)?;
        for ((column, _), renamed) in base.columns.iter_mut().zip(&cte.columns) {
            column.clone_from(renamed);
        }
        let number = self.number();
        let described =
            base.columns.iter().map(|(name, column)| (name.clone(), column.ty.clone())).collect();
        let inside = Cte { work_table: Some((number, described)), ..cte.clone() };
        if let Some(open) = self.ctes.last_mut() {
            open.by_name.insert(name.to_owned(), inside);
        }
        let step = self.set_expression(right, None);
        if let Some(open) = self.ctes.last_mut() {
            open.by_name.remove(name);
        }
        let step = step?;
        if step.columns.len() != base.columns.len() {
            return Err(Error::invalid(
                "the step of the recursive query has a different number of columns",
            ));
        }
        let types: Vec<ColumnType> =
            base.columns.iter().map(|(_, column)| column.ty.clone()).collect();
        for ((_, column), ty) in step.columns.iter().zip(&types) {
            if unify(&column.ty, ty).is_none() {
                let (one, other) = (type_name(ty), type_name(&column.ty));
                return Err(Error::mismatch(format!(
                    "column {:?} of the recursive query is {one} and {other}",
                    column.name
                )));
            }
        }
        let columns = base.columns.iter().map(|(name, column)| (&**name, column.ty.clone()));
        let columns = self.columns(columns);
        let (base, step) = (self.converted(base, &types), self.converted(step, &types));
        let (base, step) = (Box::new(base.plan), Box::new(step.plan));
        let distinct = !matches!(set_quantifier, ast::SetQuantifier::All);
        Ok(Named::of(columns, |columns| Plan::Recursive { number, columns, base, step, distinct }))
    }
}

/// Renames the columns of a WITH query to the names in the clause.
fn renamed(mut named: Named, names: &[String], name: &str, span: Span) -> Result<Named> {
    if names.len() > named.columns.len() {
        let (given, there) = (names.len(), named.columns.len());
        return Err(Error::invalid(format!(
            "WITH gives {name:?} {given} names for {there} columns"
        ))
        .at(span));
    }
    for ((column, _), renamed) in named.columns.iter_mut().zip(names) {
        column.clone_from(renamed);
    }
    Ok(named)
}

/// The expressions for FETCH … WITH TIES: the sort keys.
fn ties(query: &ast::Query, keys: &[SortKey]) -> Result<Vec<Expr>> {
    let Some(fetch) = query.fetch.as_ref().filter(|fetch| fetch.with_ties) else {
        return Ok(Vec::new());
    };
    if keys.is_empty() {
        let span = fetch.quantity.as_ref().map_or(Span::NONE, place);
        return Err(Error::invalid("WITH TIES needs ORDER BY: rows tie in its keys")
            .at(span)
            .help("add ORDER BY, or write ONLY"));
    }
    Ok(keys.iter().map(|key| key.expression.clone()).collect())
}

/// Whether a column is only a null literal, whose type was a guess.
fn is_bare_null(plan: &Plan, column: &Column) -> bool {
    match plan {
        Plan::Project { outputs, .. } => outputs.iter().any(|(own, output)| {
            let is_null = matches!(output.as_literal(), Some(folio_types::Value::Null));
            own.id == column.id && is_null && own.ty == ColumnType::Text
        }),
        _ => false,
    }
}
