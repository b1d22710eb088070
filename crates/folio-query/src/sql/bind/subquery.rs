//! Queries inside expressions.

use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::expression::place;
use super::operator;
use super::scope::Scope;
use super::{Binder, Named};
use crate::error::{Error, Result};
use crate::expression::coerce::{coerce, coerce_pair};
use crate::expression::{Comparison, Expr, Subquery, SubqueryBody, SubqueryKind};
use crate::plan::logical::Plan;
use crate::span::Span;

impl Binder<'_> {
    /// `(select …)` as a value.
    pub(super) fn scalar_subquery(
        &mut self,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let named = self.one_column(query, span, scope)?;
        let ty = named.columns[0].1.ty.clone();
        Ok(self.subquery(SubqueryKind::Scalar, None, named, ty, span))
    }

    /// `array(select …)`
    pub(super) fn array_subquery(
        &mut self,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let named = self.one_column(query, span, scope)?;
        let ty = ColumnType::List(Box::new(named.columns[0].1.ty.clone()));
        Ok(self.subquery(SubqueryKind::Array, None, named, ty, span))
    }

    /// `exists (select …)`
    pub(super) fn exists(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expr> {
        let named = self.query(query, Some(scope))?;
        Ok(self.subquery(SubqueryKind::Exists, None, named, ColumnType::Boolean, Span::NONE))
    }

    /// `x in (select …)`
    pub(super) fn in_subquery(
        &mut self,
        input: &ast::Expr,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        if let ast::Expr::Tuple(row) = input {
            return self.row_in_subquery(row, query, span, scope);
        }
        let operand = self.expression(input, scope)?;
        self.any(Comparison::Equal, operand, query, true, span, scope)
    }

    /// `(a, b) in (select …)`: whether there is an equal row, and else unknown where there
    /// is one that may be. A filter asks for the first alone, and makes it a join.
    fn row_in_subquery(
        &mut self,
        row: &[ast::Expr],
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let equal = self.row_found(row, query, span, scope, &|equal| equal)?;
        let is_unknown = |equal| Expr::IsNull(Box::new(equal));
        let maybe = self.row_found(row, query, span, scope, &is_unknown)?;
        let unknown = Expr::Case {
            branches: vec![(maybe, Expr::null(ColumnType::Boolean))],
            otherwise: Some(Box::new(super::select::literal(Value::Boolean(false)))),
            ty: ColumnType::Boolean,
        };
        Ok(Expr::Or(vec![equal, unknown]))
    }

    /// Whether a query has a row whose comparison with another passes a test.
    fn row_found(
        &mut self,
        row: &[ast::Expr],
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
        test: &dyn Fn(Expr) -> Expr,
    ) -> Result<Expr> {
        let named = self.query(query, Some(scope))?;
        let (given, there) = (row.len(), named.columns.len());
        if given != there {
            let text =
                format!("a row of {given} values is compared with a query of {there} columns");
            return Err(Error::invalid(text)
                .at(span)
                .help("select as many columns as the row has"));
        }
        let mut pairs = Vec::with_capacity(given);
        for (value, (_, column)) in row.iter().zip(&named.columns) {
            pairs.push((self.expression(value, scope)?, Expr::Column(column.clone())));
        }
        let equal = super::expression::rows_compare(Comparison::Equal, &pairs, span)?;
        let plan = named.plan.filtered(test(equal).into_conjuncts());
        let named = Named { plan, columns: named.columns };
        Ok(self.subquery(SubqueryKind::Exists, None, named, ColumnType::Boolean, Span::NONE))
    }

    /// `x > any (select …)`, `x = all (array[…])`
    pub(super) fn quantified(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        is_any: bool,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let Some(op) = operator::comparison(op) else {
            return Err(Error::unsupported(format!("{op} does not go with ANY or ALL")).at(span));
        };
        let operand = self.expression(left, scope)?;
        match right {
            ast::Expr::Subquery(query) => self.any(op, operand, query, is_any, span, scope),
            ast::Expr::Nested(inner) => {
                self.quantified_list(op, operand, inner, is_any, span, scope)
            }
            other => self.quantified_list(op, operand, other, is_any, span, scope),
        }
    }

    /// An array on the right: unnested, it is a query.
    fn quantified_list(
        &mut self,
        op: Comparison,
        operand: Expr,
        list: &ast::Expr,
        is_any: bool,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        if let ast::Expr::Subquery(query) = list {
            return self.any(op, operand, query, is_any, span, scope);
        }
        let list = self.expression(list, scope)?;
        let ColumnType::List(element) = list.ty() else {
            return Err(Error::mismatch("ANY and ALL take a query or an array").at(span));
        };
        // Of no array nothing is known; an array written out is one.
        let is_there = matches!(&list, Expr::Parameter { .. })
            || matches!(&list, Expr::Function { function, .. } if function.name == "array");
        let missing = (!is_there).then(|| Expr::IsNull(Box::new(list.clone())));
        let column = self.column("element", (*element).clone());
        let plan = Plan::TableFunction {
            function: crate::plan::logical::TableFunction::Unnest { ordinality: false },
            arguments: vec![list],
            columns: vec![column.clone()],
        };
        let named = Named { plan, columns: vec![("element".to_owned(), column)] };
        let compared = self.compared(op, operand, named, is_any, span)?;
        Ok(match missing {
            None => compared,
            Some(missing) => Expr::Case {
                branches: vec![(missing, Expr::null(ColumnType::Boolean))],
                otherwise: Some(Box::new(compared)),
                ty: ColumnType::Boolean,
            },
        })
    }

    fn any(
        &mut self,
        op: Comparison,
        operand: Expr,
        query: &ast::Query,
        is_any: bool,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let named = self.one_column(query, span, scope)?;
        self.compared(op, operand, named, is_any, span)
    }

    fn compared(
        &mut self,
        op: Comparison,
        operand: Expr,
        mut named: Named,
        is_any: bool,
        span: Span,
    ) -> Result<Expr> {
        let inner = named.columns[0].1.clone();
        let (operand, converted) =
            coerce_pair(operand, Expr::Column(inner), "a comparison with a query", span)?;
        if !matches!(converted, Expr::Column(_)) {
            let column = self.column("value", converted.ty());
            let input = Box::new(named.plan);
            named.plan = Plan::Project { input, outputs: vec![(column.clone(), converted)] };
            named.columns = vec![("value".to_owned(), column)];
        }
        let kind = if is_any { SubqueryKind::Any(op) } else { SubqueryKind::All(op) };
        Ok(self.subquery(kind, Some(operand), named, ColumnType::Boolean, span))
    }

    fn one_column(&mut self, query: &ast::Query, span: Span, scope: &Scope<'_>) -> Result<Named> {
        let named = self.query(query, Some(scope))?;
        match named.columns.len() {
            1 => Ok(named),
            count => Err(Error::invalid(format!("a subquery used as a value has {count} columns"))
                .at(span)
                .help("select one")),
        }
    }

    pub(super) fn subquery(
        &mut self,
        kind: SubqueryKind,
        operand: Option<Expr>,
        named: Named,
        ty: ColumnType,
        span: Span,
    ) -> Expr {
        let output = match named.columns.first() {
            Some((_, column)) => column.clone(),
            None => self.column("exists", ColumnType::Boolean),
        };
        let outer = named.plan.free_columns().into_iter().map(Expr::Column).collect();
        let number = self.number();
        let body = SubqueryBody::Logical(Box::new(named.plan));
        Expr::Subquery(Box::new(Subquery { kind, operand, body, output, outer, ty, number, span }))
    }

    /// The rows LIMIT and OFFSET name: constants.
    pub(super) fn row_count(&mut self, syntax: &ast::Expr, clause: &'static str) -> Result<Expr> {
        let scope = Scope::new(Vec::new(), None);
        scope.enter(clause, super::scope::Allowed::Columns);
        let bound = self.expression(syntax, &scope)?;
        coerce(bound, &ColumnType::Int64, clause).map_err(|error| error.at(place(syntax)))
    }
}
