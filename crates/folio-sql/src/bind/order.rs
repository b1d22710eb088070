//! Binds ORDER BY and DISTINCT ON: positions, names and expressions.

use folio_compute::{Error, Result, Span};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::resolve_type;
use folio_engine::plan::terms::SortKey;
use folio_types::same_name;
use sqlparser::ast;

use super::aggregate::sort_key;
use super::expression::{called_as_name, place};
use super::operator::ordered;
use super::scope::{Item, Scope};
use super::{Binder, unsupported};

impl Binder<'_> {
    /// ORDER BY: positions and names of the SELECT list, or any expression.
    pub(super) fn order(
        &mut self,
        order: &[ast::OrderByExpr],
        items: &[Item],
        scope: &Scope<'_>,
    ) -> Result<Vec<SortKey>> {
        let keys = order.iter().map(|key| {
            unsupported::key_options(key)?;
            let named = match &key.expr {
                ast::Expr::Identifier(name) => {
                    items.iter().position(|item| same_name(&item.name, &name.value))
                }
                other => item_of(other, items, scope, "ORDER BY")?,
            };
            match named {
                Some(item) => Ok(sort_key(items[item].expression.clone(), &key.options)),
                None => self.sort_key(key, scope),
            }
        });
        keys.collect()
    }

    pub(super) fn distinct_on(
        &mut self,
        distinct: Option<&ast::Distinct>,
        items: &[Item],
        scope: &Scope<'_>,
    ) -> Result<Option<Vec<Expr>>> {
        let Some(ast::Distinct::On(on)) = distinct else { return Ok(None) };
        let mut bound = Vec::new();
        for syntax in on {
            bound.push(match item_of(syntax, items, scope, "DISTINCT ON")? {
                Some(item) => items[item].expression.clone(),
                None => resolve_type(self.expression(syntax, scope)?),
            });
        }
        Ok(Some(bound))
    }
}

/// The SELECT item that a position or alias refers to, or that has the same subquery. Columns of
/// the input have precedence.
pub(super) fn item_of(
    syntax: &ast::Expr,
    items: &[Item],
    scope: &Scope<'_>,
    clause: &str,
) -> Result<Option<usize>> {
    match syntax {
        ast::Expr::Value(value) => {
            let digits = match &value.value {
                ast::Value::Number(digits, _) => digits,
                ast::Value::SingleQuotedString(text) => {
                    return Err(Error::invalid(format!(
                        "{clause} '{text}' is the same for all rows"
                    ))
                    .at(place(syntax))
                    .help("names are written in \"double quotes\""));
                }
                _ => return Ok(None),
            };
            let number: usize = digits.parse().unwrap_or(0);
            if number == 0 || number > items.len() {
                let count = items.len();
                let error =
                    Error::invalid(format!("{clause} {digits} is not one of {count} columns"));
                return Err(error.at(place(syntax)).help("positions count from 1"));
            }
            Ok(Some(number - 1))
        }
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } if is_number(expr) => {
            let count = items.len();
            let error = Error::invalid(format!("{clause} {syntax} is not one of {count} columns"));
            Err(error.at(place(syntax)).help("positions count from 1"))
        }
        _ if let Some(name) = plain_name(syntax)
            && scope.find(None, &name.value, Span::NONE).ok().flatten().is_none() =>
        {
            Ok(items.iter().position(|item| same_name(&item.name, &name.value)))
        }
        _ => Ok(items.iter().position(|item| {
            item.syntax.as_deref().is_some_and(|own| in_brackets(own) == in_brackets(syntax))
        })),
    }
}

/// What is within the brackets around an expression.
pub(super) fn in_brackets(syntax: &ast::Expr) -> &ast::Expr {
    match syntax {
        ast::Expr::Nested(inner) => in_brackets(inner),
        _ => syntax,
    }
}

/// The name, if the expression is a plain name.
fn plain_name(syntax: &ast::Expr) -> Option<&ast::Ident> {
    match syntax {
        ast::Expr::Identifier(name) => Some(name),
        ast::Expr::Function(call) => called_as_name(call),
        _ => None,
    }
}

fn is_number(syntax: &ast::Expr) -> bool {
    matches!(syntax, ast::Expr::Value(value) if matches!(value.value, ast::Value::Number(..)))
}

/// Refuses DISTINCT ON if ORDER BY begins with other expressions: the first row of each key would
/// be arbitrary.
pub(super) fn check_distinct_on(on: &[Expr], keys: &[SortKey]) -> Result<()> {
    let first = &keys[..keys.len().min(on.len())];
    if first.iter().all(|key| on.contains(ordered(&key.expression))) {
        return Ok(());
    }
    Err(Error::invalid("the expressions of DISTINCT ON must come first in ORDER BY")
        .help("order by them, then by what decides which row comes first"))
}
