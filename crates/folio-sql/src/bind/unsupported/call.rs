//! Clauses of calls, and of expressions that look like calls.

use folio_compute::{Error, Result, Span};
use sqlparser::ast;

use super::{refuse, unsupported};

/// The clauses of any call that are not read elsewhere.
pub(in super::super) fn call_clauses(call: &ast::Function, span: Span) -> Result<()> {
    let ast::Function {
        name: _name,
        uses_odbc_syntax: _,
        parameters,
        args: _args,
        within_group: _within_group,
        filter: _filter,
        null_treatment: _null_treatment,
        over: _over,
    } = call;
    let is_plain = matches!(parameters, ast::FunctionArguments::None);
    refuse(!is_plain, "a call with two lists of arguments").map_err(|error| error.at(span))
}

/// The clauses of a scalar function's call: only arguments are allowed.
pub(in super::super) fn plain_call_clauses(
    call: &ast::Function,
    name: &str,
    span: Span,
) -> Result<()> {
    let found = match call {
        _ if call.filter.is_some() => "FILTER",
        _ if !call.within_group.is_empty() => "WITHIN GROUP",
        _ if crate::bind::aggregate::null_treatment(call).is_some() => {
            "IGNORE NULLS or RESPECT NULLS"
        }
        _ if has_order(call) => "ORDER BY among its arguments",
        _ if is_distinct(call) => "DISTINCT",
        _ if has_star(call) => "*",
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("function {name} is not an aggregate, and takes no {found}"))
        .at(span)
        .help("leave it out"))
}

/// The clauses of a window function's call.
pub(in super::super) fn window_call_clauses(
    call: &ast::Function,
    name: &str,
    span: Span,
) -> Result<()> {
    let (found, help) = match call {
        _ if call.filter.is_some() => ("FILTER", "write CASE in its argument"),
        _ if !call.within_group.is_empty() => ("WITHIN GROUP", "write it in OVER (ORDER BY …)"),
        _ if has_order(call) => ("ORDER BY", "write it in OVER (ORDER BY …)"),
        _ if is_distinct(call) => ("DISTINCT", "leave it out"),
        _ if has_star(call) => ("*", "leave it out"),
        _ => return Ok(()),
    };
    Err(unsupported(&format!("{found} of window function {name}"), help).at(span))
}

fn list(call: &ast::Function) -> Option<&ast::FunctionArgumentList> {
    match &call.args {
        ast::FunctionArguments::List(list) => Some(list),
        ast::FunctionArguments::None | ast::FunctionArguments::Subquery(_) => None,
    }
}

fn has_order(call: &ast::Function) -> bool {
    let is_order = |clause: &_| matches!(clause, ast::FunctionArgumentClause::OrderBy(_));
    list(call).is_some_and(|list| list.clauses.iter().any(is_order))
}

fn is_distinct(call: &ast::Function) -> bool {
    list(call).is_some_and(|list| {
        matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct))
    })
}

fn has_star(call: &ast::Function) -> bool {
    let is_star = |argument: &_| {
        matches!(argument, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard))
    };
    list(call).is_some_and(|list| list.args.iter().any(is_star))
}

/// The clauses of `ceil(x)` and `floor(x)`.
pub(in super::super) fn ceil_clauses(kind: &ast::CeilFloorKind, span: Span) -> Result<()> {
    match kind {
        ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => Ok(()),
        ast::CeilFloorKind::DateTimeField(_) => {
            Err(unsupported("a unit in ceil and floor", "write date_trunc").at(span))
        }
        ast::CeilFloorKind::Scale(_) => {
            let help = "write ceil(x * 100) / 100, or round(x, 2)";
            Err(unsupported("a number of digits in ceil and floor", help).at(span))
        }
    }
}

/// The clauses of `trim(…)`, with the characters to trim.
pub(in super::super) fn trim_clauses<'a>(
    what: Option<&'a ast::Expr>,
    characters: Option<&'a [ast::Expr]>,
    span: Span,
) -> Result<Option<&'a ast::Expr>> {
    match (what, characters.unwrap_or_default()) {
        (what, []) => Ok(what),
        (None, [only]) => Ok(Some(only)),
        _ => Err(Error::invalid("trim takes one set of characters")
            .at(span)
            .help("write all of them in one text: trim(name, ' .-')")),
    }
}

/// The clauses of `a[1:2]`.
pub(in super::super) fn slice_clauses(stride: Option<&ast::Expr>, span: Span) -> Result<()> {
    refuse(stride.is_some(), "a step in a slice").map_err(|error| error.at(span))
}

/// The value of an interval, and its unit.
pub(in super::super) fn interval_clauses(
    interval: &ast::Interval,
    span: Span,
) -> Result<(&ast::Expr, Option<&ast::DateTimeField>)> {
    let ast::Interval {
        value,
        leading_field,
        leading_precision,
        last_field,
        fractional_seconds_precision,
    } = interval;
    if last_field.is_some() {
        let help = "write the units: interval '1 year 2 months'";
        return Err(unsupported("an interval from one unit TO another", help).at(span));
    }
    let has_precision = leading_precision.is_some() || fractional_seconds_precision.is_some();
    refuse(has_precision, "a precision of an interval").map_err(|error| error.at(span))?;
    Ok((value, leading_field.as_ref()))
}
