//! Binds functions with their own syntax (EXTRACT … FROM, TRIM BOTH …), intervals, and access to
//! parts of values.

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::expression::{Expr, function};
use folio_types::{ColumnType, Interval, Value, temporal};
use sqlparser::ast;

use super::expression::place;
use super::scope::Scope;
use super::{Binder, unsupported};
use crate::place::Place;

impl Binder<'_> {
    /// Binds functions with their own syntax.
    pub(super) fn special_syntax(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        use ast::Expr as Sql;
        match syntax {
            Sql::Extract { field, syntax: _, expr } => {
                let field = field.to_string().to_lowercase().replace('\'', "");
                let part = Expr::literal(Value::Text(field), ColumnType::Text);
                let operand = self.expression(expr, scope)?;
                function::resolve("date_part", vec![part, operand], self.place(syntax))
            }
            Sql::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                let parts = [Some(&**expr), substring_from.as_deref(), substring_for.as_deref()];
                let mut arguments: Vec<Expr> = Vec::new();
                for part in parts.into_iter().flatten() {
                    arguments.push(self.expression(part, scope)?);
                }
                if substring_from.is_none() && substring_for.is_some() {
                    arguments.insert(1, Expr::literal(Value::Integer(1), ColumnType::Int64));
                }
                function::resolve("substring", arguments, self.place(syntax))
            }
            Sql::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let set = unsupported::trim_clauses(
                    trim_what.as_deref(),
                    trim_characters.as_deref(),
                    place(syntax),
                )?;
                let mut arguments = vec![self.expression(expr, scope)?];
                if let Some(set) = set {
                    arguments.push(self.expression(set, scope)?);
                }
                function::resolve(name, arguments, self.place(syntax))
            }
            Sql::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let parts = [expr, overlay_what, overlay_from].map(|part| &**part);
                let mut arguments = Vec::with_capacity(4);
                for part in parts.into_iter().chain(overlay_for.as_deref()) {
                    arguments.push(self.expression(part, scope)?);
                }
                function::resolve("overlay", arguments, self.place(syntax))
            }
            Sql::Position { expr, r#in } => {
                let arguments = vec![self.expression(expr, scope)?, self.expression(r#in, scope)?];
                function::resolve("position", arguments, self.place(syntax))
            }
            Sql::Ceil { expr, field } | Sql::Floor { expr, field } => {
                unsupported::ceil_clauses(field, place(syntax))?;
                let operand = self.expression(expr, scope)?;
                let name = if matches!(syntax, Sql::Ceil { .. }) { "ceil" } else { "floor" };
                function::resolve(name, vec![operand], self.place(syntax))
            }
            Sql::AtTimeZone { timestamp, time_zone } => {
                let arguments =
                    vec![self.expression(timestamp, scope)?, self.expression(time_zone, scope)?];
                function::resolve("at_time_zone", arguments, self.place(syntax))
            }
            other => Err(Error::unsupported(format!("the expression {other} is not supported"))
                .at(place(other))),
        }
    }

    pub(super) fn interval(&mut self, interval: &ast::Interval) -> Result<Expr> {
        let (value, unit) = unsupported::interval_clauses(interval, place(&interval.value))?;
        let span = place(value);
        let ast::Expr::Value(value) = value else {
            return Err(
                Error::unsupported("an interval is written as text: interval '1 day'").at(span)
            );
        };
        let text = match self.literal(value)?.as_literal() {
            Some(Value::Text(text)) => text.clone(),
            Some(Value::Integer(number)) => number.to_string(),
            _ => return Err(Error::invalid("an interval is written as text").at(span)),
        };
        let parsed = match unit {
            None => temporal::parse_interval(&text),
            Some(unit) => text.trim().parse().ok().and_then(|number| {
                let mut interval = Interval::default();
                temporal::add_unit(&mut interval, number, &unit.to_string())?;
                Some(interval)
            }),
        };
        let parsed = parsed.ok_or_else(|| {
            Error::invalid(format!("{text:?} is not an interval"))
                .at(span)
                .help("write '1 day 02:00'")
        })?;
        Ok(Expr::literal(Value::Interval(parsed), ColumnType::Interval))
    }

    /// `a[1]`, `a[1:2]`, `a.field`, `(row).field`
    pub(super) fn access(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let mut found = self.expression(root, scope)?;
        for step in chain {
            found = match step {
                ast::AccessExpr::Dot(ast::Expr::Identifier(name)) => {
                    self.member(found, &name.value, name.span.to_span())?
                }
                ast::AccessExpr::Subscript(ast::Subscript::Index { index }) => {
                    let index = self.expression(index, scope)?;
                    let name = match found.ty() {
                        ColumnType::Json => "json_get",
                        ColumnType::Map(_) if is_text(&index) => "map_get",
                        ColumnType::Map(_) => {
                            let ty = type_name(&index.ty());
                            return Err(Error::mismatch(format!(
                                "a key of a map is text, not {ty}"
                            ))
                            .at(span)
                            .help("write m['key']"));
                        }
                        _ => "array_get",
                    };
                    function::resolve(name, vec![found, index], span)?
                }
                ast::AccessExpr::Subscript(ast::Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride,
                }) => {
                    unsupported::slice_clauses(stride.as_ref(), span)?;
                    let mut bound = |bound: &Option<ast::Expr>, otherwise: i64| match bound {
                        Some(bound) => self.expression(bound, scope),
                        None => Ok(Expr::literal(Value::Integer(otherwise), ColumnType::Int64)),
                    };
                    let (from, to) = (bound(lower_bound, 1)?, bound(upper_bound, i64::MAX)?);
                    function::resolve("array_slice", vec![found, from, to], span)?
                }
                other => {
                    return Err(
                        Error::unsupported(format!("the access {other} is not supported")).at(span)
                    );
                }
            };
        }
        Ok(found)
    }
}

/// Whether an expression is text, or can be.
fn is_text(expression: &Expr) -> bool {
    expression.is_untyped() || expression.ty() == ColumnType::Text
}
