//! Binds literals and parameters.

use std::num::IntErrorKind;

use folio_compute::{Error, Result, Span, cast};
use folio_engine::expression::Expr;
use folio_types::{ColumnType, Value};
use sqlparser::ast::{self, ValueWithSpan};

use super::Binder;
use crate::place::Place;

impl Binder<'_> {
    /// Binds a literal or a parameter.
    ///
    /// # Errors
    /// `invalid_input` for numbers out of range; `unsupported` for literals of other dialects.
    pub(super) fn literal(&mut self, literal: &ValueWithSpan) -> Result<Expr> {
        use ast::Value as Sql;
        let span = literal.span.to_span();
        let text = |text: &str| Expr::Literal {
            value: Value::Text(text.to_owned()),
            ty: ColumnType::Text,
            untyped: true,
            span,
        };
        Ok(match &literal.value {
            Sql::Number(digits, _) => number(digits, span)?,
            Sql::SingleQuotedString(value)
            | Sql::EscapedStringLiteral(value)
            | Sql::UnicodeStringLiteral(value)
            | Sql::NationalStringLiteral(value) => text(value),
            Sql::DollarQuotedString(value) => text(&value.value),
            Sql::HexStringLiteral(digits) => {
                let value = cast::parse(&format!("\\x{digits}"), &ColumnType::Binary)
                    .map_err(|error| error.at(span))?;
                Expr::Literal { value, ty: ColumnType::Binary, untyped: false, span }
            }
            Sql::Boolean(value) => Expr::boolean(*value),
            Sql::Null => {
                Expr::Literal { value: Value::Null, ty: ColumnType::Text, untyped: true, span }
            }
            Sql::Placeholder(name) => self.parameter(name, span)?,
            other => {
                return Err(Error::unsupported(format!("the literal {other} is not supported"))
                    .at(span)
                    .help("text is written in single quotes"));
            }
        })
    }

    /// `?` goes by position, `$2` is the second, `:name` goes by name.
    fn parameter(&mut self, name: &str, span: Span) -> Result<Expr> {
        if self.is_stored || self.is_view || self.view_depth > 0 {
            return Err(Error::unsupported("a definition cannot store a parameter")
                .at(span)
                .help("write the value itself"));
        }
        let index = self.taken.position(name, self.given, span)?;
        let (ty, untyped) = self.given.ty(index);
        Ok(Expr::Parameter { index, ty, untyped })
    }
}

/// A number, as the narrowest of integer, bigint and numeric that can hold it; with an exponent as
/// double precision.
pub(crate) fn number(digits: &str, span: Span) -> Result<Expr> {
    let digits = digits.replace('_', "");
    let literal = |value, ty| Expr::Literal { value, ty, untyped: false, span };
    if let Some((radix, rest)) = radix(&digits) {
        let value = u128::from_str_radix(rest, radix).map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow => out_of_range(&digits, span),
            _ => Error::syntax(format!("{digits} is not a number")).at(span),
        })?;
        return number(&value.to_string(), span);
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Ok(literal(Value::Integer(value), integer_type(value)));
    }
    if digits.contains(['e', 'E']) {
        let value: f64 = digits.parse().map_err(|_| out_of_range(&digits, span))?;
        if value.is_infinite() {
            return Err(out_of_range(&digits, span));
        }
        return Ok(literal(Value::Float(value), ColumnType::Float64));
    }
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let scale = i8::try_from(scale).ok().filter(|scale| *scale <= 38);
    let scale = scale.ok_or_else(|| out_of_range(&digits, span))?;
    let ty = ColumnType::Decimal { precision: 38, scale };
    let value = cast::parse(&digits, &ty).map_err(|_| out_of_range(&digits, span))?;
    Ok(literal(value, ty))
}

/// The base and digits of a number that is not decimal.
fn radix(digits: &str) -> Option<(u32, &str)> {
    let (mark, rest) = digits.strip_prefix('0')?.split_at_checked(1)?;
    let radix = match mark {
        "x" | "X" => 16,
        "o" | "O" => 8,
        "b" | "B" => 2,
        _ => return None,
    };
    Some((radix, rest))
}

fn integer_type(value: i64) -> ColumnType {
    if i32::try_from(value).is_ok() { ColumnType::Int32 } else { ColumnType::Int64 }
}

fn out_of_range(digits: &str, span: Span) -> Error {
    Error::invalid(format!("the number {digits} is out of range"))
        .at(span)
        .help("exact numbers have at most 38 digits; write 1e40 for double precision")
}
