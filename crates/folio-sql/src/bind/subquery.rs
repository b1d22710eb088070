//! Binds subqueries in expressions.

use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::coerce;
use folio_engine::expression::{Expr, Subquery, SubqueryKind};
use folio_types::ColumnType;
use sqlparser::ast;

use super::expression::place;
use super::scope::Scope;
use super::types::check_nesting;
use super::{Binder, Named};

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
        check_nesting(&named.columns[0].1.ty, span)?;
        let ty = ColumnType::List(Box::new(named.columns[0].1.ty.clone()));
        Ok(self.subquery(SubqueryKind::Array, None, named, ty, span))
    }

    /// `exists (select …)`
    pub(super) fn exists(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expr> {
        let named = self.query(query, Some(scope))?;
        Ok(self.subquery(SubqueryKind::Exists, None, named, ColumnType::Boolean, Span::NONE))
    }

    pub(super) fn one_column(
        &mut self,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Named> {
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
        let body = Box::new(named.plan);
        Expr::Subquery(Box::new(Subquery { kind, operand, body, output, outer, ty, number, span }))
    }

    /// The row counts of LIMIT and OFFSET, which are constants.
    pub(super) fn row_count(&mut self, syntax: &ast::Expr, clause: &'static str) -> Result<Expr> {
        let scope = Scope::new(Vec::new(), None);
        scope.enter(clause, super::scope::Allowed::Columns);
        let bound = self.expression(syntax, &scope)?;
        coerce(bound, &ColumnType::Int64, clause).map_err(|error| error.at(place(syntax)))
    }
}
