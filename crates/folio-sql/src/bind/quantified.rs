//! Binds IN, ANY and ALL, over a query or an array.

use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::coerce;
use folio_engine::expression::{Expr, SubqueryKind, function};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::TableFunction;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::expression::negate_if;
use super::row::{Side, check_length, compare_sides, is_row};
use super::scope::Scope;
use super::{Binder, Named, operator};

/// `left op ANY (…)`, or ALL.
pub(super) struct Quantified<'s> {
    pub(super) left: &'s ast::Expr,
    pub(super) op: &'s ast::BinaryOperator,
    pub(super) is_any: bool,
    pub(super) span: Span,
}

/// Rows, and the test of each.
type Tested = (Named, Expr);

/// Whether the elements of a list are equal in SQL when their values are the same.
fn is_plain(list: &ColumnType) -> bool {
    let ColumnType::List(element) = list else { return false };
    matches!(**element, ColumnType::Text | ColumnType::Int64 | ColumnType::Boolean)
}

impl Binder<'_> {
    /// `x in (select …)`
    pub(super) fn in_subquery(
        &mut self,
        input: &ast::Expr,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let asked = Quantified { left: input, op: &ast::BinaryOperator::Eq, is_any: true, span };
        self.any_of_query(&asked, query, scope)
    }

    /// `x > any (select …)`, `x like all (array[…])`
    pub(super) fn quantified(
        &mut self,
        asked: &Quantified<'_>,
        right: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        match right {
            ast::Expr::Nested(inner) => self.quantified(asked, inner, scope),
            ast::Expr::Subquery(query) => self.any_of_query(asked, query, scope),
            _ if is_row(asked.left) => {
                Err(Error::unsupported("a row cannot be compared with ANY or ALL of an array")
                    .at(asked.span)
                    .help("write IN with rows, or a query"))
            }
            // Patterns may be listed with or without ARRAY.
            ast::Expr::Tuple(list) if operator::comparison(asked.op).is_none() => {
                let list = list.iter().map(|item| self.expression(item, scope));
                let list = function::resolve("array", list.collect::<Result<_>>()?, asked.span)?;
                self.any_of_array(asked, list, scope)
            }
            _ => {
                let list = self.array(asked, right, scope)?;
                self.any_of_array(asked, list, scope)
            }
        }
    }

    /// The array of `ANY (…)`. A quoted text is parsed as an array of the left side's type, and a list
    /// without a type of its own becomes one.
    fn array(
        &mut self,
        asked: &Quantified<'_>,
        right: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let list = self.expression(right, scope)?;
        let is_list = matches!(list.ty(), ColumnType::List(_));
        let is_text = matches!(list.as_literal(), Some(Value::Text(_) | Value::Null));
        if (is_list || is_text) && list.is_untyped() {
            let element = self.expression(asked.left, scope)?.ty();
            return coerce(list, &ColumnType::List(Box::new(element)), "ANY and ALL")
                .map_err(|error| error.at(asked.span).help("write ANY (ARRAY[…])"));
        }
        match list.ty() {
            ColumnType::List(_) => Ok(list),
            _ => Err(Error::mismatch("ANY and ALL take a query or an array")
                .at(asked.span)
                .help("write ANY (ARRAY[…])")),
        }
    }

    fn any_of_query(
        &mut self,
        asked: &Quantified<'_>,
        query: &ast::Query,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let Quantified { left, op, is_any, span } = *asked;
        match operator::comparison(op) {
            Some(op) if is_row(left) => self.tested(is_any, &mut |binder| {
                let named = binder.query(query, Some(scope))?;
                let row = binder.side(left, scope)?;
                let columns = named.columns.iter().map(|(_, column)| Expr::Column(column.clone()));
                if let Side::Row(row) = &row {
                    check_length(row.len(), named.columns.len(), span)?;
                }
                let test = compare_sides(op, &row, &Side::Row(columns.collect()), span)?;
                Ok((named, test))
            }),
            Some(op) => {
                let operand = self.expression(left, scope)?;
                let named = self.one_column(query, span, scope)?;
                self.compared(op, operand, named, is_any, "a comparison with a query", span)
            }
            None => self.tested(is_any, &mut |binder| {
                let named = binder.one_column(query, span, scope)?;
                let operand = binder.expression(left, scope)?;
                let column = Expr::Column(named.columns[0].1.clone());
                Ok((named, operator::binary(op, operand, column, span)?))
            }),
        }
    }

    /// Binds ANY or ALL of an array, which is unnested into a query.
    fn any_of_array(
        &mut self,
        asked: &Quantified<'_>,
        list: Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let Quantified { left, op, is_any, span } = *asked;
        // The result for a null array is null. A parameter or an array constructor needs no check.
        let is_there = matches!(&list, Expr::Parameter { .. }) || elements(&list).is_some();
        let missing = (!is_there).then(|| Expr::IsNull(Box::new(list.clone())));
        if is_any
            && operator::comparison(op) == Some(Comparison::Equal)
            && !list.columns().is_empty()
            && is_plain(&list.ty())
        {
            let operand = self.expression(left, scope)?;
            if ColumnType::List(Box::new(operand.ty())) == list.ty() || operand.is_untyped() {
                return function::resolve("array_any_equal", vec![list, operand], span);
            }
        }
        let found = match (operator::comparison(op), elements(&list)) {
            (Some(op), _) => {
                let operand = self.expression(left, scope)?;
                let named = self.unnested(list);
                self.compared(op, operand, named, is_any, "a comparison with an array", span)?
            }
            (None, Some(elements)) => {
                let operand = self.expression(left, scope)?;
                let tests = elements
                    .into_iter()
                    .map(|element| operator::binary(op, operand.clone(), element, span));
                let tests = tests.collect::<Result<_>>()?;
                if is_any { Expr::Or(tests) } else { Expr::And(tests) }
            }
            (None, None) => self.tested(is_any, &mut |binder| {
                let operand = binder.expression(left, scope)?;
                let named = binder.unnested(list.clone());
                let column = Expr::Column(named.columns[0].1.clone());
                Ok((named, operator::binary(op, operand, column, span)?))
            })?,
        };
        Ok(match missing {
            None => found,
            Some(missing) => Expr::Case {
                branches: vec![(missing, Expr::null(ColumnType::Boolean))],
                otherwise: Some(Box::new(found)),
                ty: ColumnType::Boolean,
            },
        })
    }

    /// Unnests an array into rows.
    fn unnested(&mut self, list: Expr) -> Named {
        let element = match list.ty() {
            ColumnType::List(element) => *element,
            other => other,
        };
        let column = self.column("element", element);
        let plan = Plan::TableFunction {
            function: TableFunction::Unnest { ordinality: false },
            arguments: vec![list],
            columns: vec![column.clone()],
        };
        Named { plan, columns: vec![("element".to_owned(), column)] }
    }

    /// Whether a test passes for any row, or for all. True if a row passes; otherwise unknown if
    /// the test is null for a row. A filter needs only the first part, which becomes a join. ALL is
    /// true if no row fails.
    fn tested(
        &mut self,
        is_any: bool,
        rows: &mut dyn FnMut(&mut Self) -> Result<Tested>,
    ) -> Result<Expr> {
        let mut exists = |is_unknown: bool| -> Result<Expr> {
            let (Named { plan, columns }, test) = rows(self)?;
            let test = negate_if(!is_any, test);
            let test = if is_unknown { Expr::IsNull(Box::new(test)) } else { test };
            let plan = plan.filtered(test.into_conjuncts());
            let named = Named { plan, columns };
            Ok(self.subquery(SubqueryKind::Exists, None, named, ColumnType::Boolean, Span::NONE))
        };
        let (found, maybe) = (exists(false)?, exists(true)?);
        let unknown = Expr::Case {
            branches: vec![(maybe, Expr::null(ColumnType::Boolean))],
            otherwise: Some(Box::new(Expr::boolean(false))),
            ty: ColumnType::Boolean,
        };
        Ok(negate_if(!is_any, Expr::Or(vec![found, unknown])))
    }

    fn compared(
        &mut self,
        op: Comparison,
        operand: Expr,
        mut named: Named,
        is_any: bool,
        what: &str,
        span: Span,
    ) -> Result<Expr> {
        let inner = named.columns[0].1.clone();
        let (operand, converted) = operator::compared(operand, Expr::Column(inner), what, span)?;
        if !matches!(converted, Expr::Column(_)) {
            let column = self.column("value", converted.ty());
            let input = Box::new(named.plan);
            named.plan = Plan::Project { input, outputs: vec![(column.clone(), converted)] };
            named.columns = vec![("value".to_owned(), column)];
        }
        let kind = if is_any { SubqueryKind::Any(op) } else { SubqueryKind::All(op) };
        Ok(self.subquery(kind, Some(operand), named, ColumnType::Boolean, span))
    }
}

/// The elements of an array constructor.
fn elements(list: &Expr) -> Option<Vec<Expr>> {
    match list {
        Expr::Function { function, arguments, .. } if function.name == "array" => {
            Some(arguments.clone())
        }
        Expr::Literal { value: Value::List(values), ty: ColumnType::List(element), .. } => {
            let element = |value: &Value| Expr::literal(value.clone(), (**element).clone());
            Some(values.iter().map(element).collect())
        }
        _ => None,
    }
}
