//! The functions of the library by name, and the resolution of calls.

use std::sync::Arc;

use folio_compute::function::{self as functions, Given, Overload, Returns, Takes, overloads};
use folio_compute::type_rules::{decimal, is_integer, is_numeric, scale_of, unify};
use folio_compute::{Error, Result, Span, order_keys};
use folio_types::ColumnType;

use super::{Body, Function};
use crate::expression::display::types_of;
use crate::expression::{Expr, coerce};

/// The names of the aggregates, for suggestions.
const AGGREGATES: [&str; 35] = [
    "any_value",
    "approx_distinct",
    "arg_max",
    "arg_min",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "json_agg",
    "json_object_agg",
    "max",
    "median",
    "min",
    "product",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "var_pop",
    "variance",
];

/// The names of the functions that need a window.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Functions that only syntax means, such as operators: no statement calls them by name.
const UNNAMED: [&str; 19] = [
    "array",
    "array_any_equal",
    "array_get",
    "array_pop",
    "array_remove_all",
    "array_remove_at",
    "at_time_zone",
    "bit_not",
    "json_contains_key",
    "json_from_text",
    "json_get",
    "json_get_text",
    "json_order",
    "json_path",
    "json_path_text",
    "json_remove",
    "json_remove_path",
    "map_get",
    "negate",
];

/// Whether the library has a function, aggregate or window function of this name.
pub fn is_library(name: &str) -> bool {
    let mut all = names().chain(AGGREGATES).chain(WINDOW_FUNCTIONS);
    all.any(|known| known.eq_ignore_ascii_case(name))
}

/// The names of all functions, aggregates and window functions, sorted.
#[must_use]
pub fn function_names() -> Vec<&'static str> {
    let mut all: Vec<_> = names().chain(AGGREGATES).chain(WINDOW_FUNCTIONS).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// All functions with their parameters, for tests that call each.
pub fn shapes() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    named().map(|overload| {
        let takes = overload.takes.iter().map(|takes| format!("{takes:?}"));
        (overload.name, takes.collect())
    })
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    named().map(|overload| overload.name)
}

/// The functions that statements may call by name.
fn named() -> impl Iterator<Item = &'static Overload> {
    overloads().filter(|overload| !UNNAMED.contains(&overload.name))
}

/// Resolves a call by the name that a statement has.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_named(name: &str, arguments: Vec<Expr>, span: Span) -> Result<Expr> {
    match UNNAMED.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        true => Err(unknown(name, span)),
        false => resolve(name, arguments, span),
    }
}

/// Resolves a call by name and casts its arguments to the parameter types.
///
/// # Errors
/// `not_found` for an unknown name; `type_mismatch` if no overload fits.
pub fn resolve(name: &str, arguments: Vec<Expr>, span: Span) -> Result<Expr> {
    let candidates: Vec<&Overload> =
        overloads().filter(|overload| overload.name.eq_ignore_ascii_case(name)).collect();
    if candidates.is_empty() {
        return Err(unknown(name, span));
    }
    let exact = candidates.iter().find_map(|overload| fit(overload, &arguments, true));
    let fitted = exact.map(|parameters| (parameters, true)).or_else(|| {
        candidates
            .iter()
            .find_map(|overload| fit(overload, &arguments, false))
            .map(|found| (found, false))
    });
    let Some((parameters, is_exact)) = fitted else {
        return Err(no_fit(name, &candidates, &arguments, span));
    };
    let overload = candidates
        .iter()
        .find(|overload| fit(overload, &arguments, is_exact).as_ref() == Some(&parameters))
        .expect("it has just been found");
    let place = format!("function {}", overload.name);
    let arguments = arguments
        .into_iter()
        .zip(&parameters)
        .map(|(argument, ty)| coerce::coerce(argument, ty, &place).map_err(|error| error.at(span)))
        .collect::<Result<Vec<_>>>()?;
    let returns = returned(overload.returns, &parameters);
    let function = resolved(overload, parameters, returns);
    Ok(Expr::Function { function: Arc::new(function), arguments, span })
}

fn unknown(name: &str, span: Span) -> Error {
    let error = Error::not_found(format!("function {name:?} does not exist")).at(span);
    match WINDOW_FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        true => error.help(format!("write {name}(…) OVER (…)")),
        false => error.near(name, names().chain(AGGREGATES).chain(WINDOW_FUNCTIONS)),
    }
}

fn resolved(
    overload: &'static Overload,
    parameters: Vec<ColumnType>,
    returns: ColumnType,
) -> Function {
    let given = match overload.body {
        functions::Body::Stated(given) => Some(given),
        _ => None,
    };
    Function {
        name: overload.name.into(),
        parameters,
        returns,
        body: Body::Library(overload.body),
        is_volatile: given.is_some_and(|given| given != Given::Now),
        is_stable: given == Some(Given::Now),
    }
}

/// The parameter types of an overload for these arguments; `None` if they do not fit.
fn fit(overload: &Overload, arguments: &[Expr], exactly: bool) -> Option<Vec<ColumnType>> {
    let count = overload.takes.len();
    let fits_count =
        arguments.len() == count || (overload.variadic && arguments.len() + 1 >= count);
    if !fits_count {
        return None;
    }
    let takes = |index: usize| overload.takes[index.min(count.saturating_sub(1))];
    let typed = |wanted: Takes| {
        let all = arguments.iter().enumerate().filter(move |(index, _)| takes(*index) == wanted);
        all.map(|(_, argument)| argument).filter(|argument| !argument.is_untyped()).map(Expr::ty)
    };
    let mut same = typed(Takes::Same);
    let same = same.next().map(|first| same.try_fold(first, |left, right| unify(&left, &right)));
    let element = typed(Takes::List).find_map(|list| match list {
        ColumnType::List(element) => Some(*element),
        _ => None,
    });
    let mut parameters = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.iter().enumerate() {
        let ty = argument.ty();
        parameters.push(match takes(index) {
            Takes::Any => ty,
            Takes::Same => same.clone().unwrap_or(Some(ColumnType::Text))?,
            Takes::Element => element.clone()?,
            Takes::Number if is_numeric(&ty) => ty,
            Takes::Number if argument.is_untyped() && !exactly => ColumnType::Float64,
            Takes::List if matches!(ty, ColumnType::List(_)) => ty,
            Takes::Map if matches!(ty, ColumnType::Map(_)) => ty,
            Takes::Number | Takes::List | Takes::Map => return None,
            fixed => fit_fixed(fixed, argument, &ty, exactly)?,
        });
    }
    Some(parameters)
}

fn fit_fixed(takes: Takes, argument: &Expr, ty: &ColumnType, exactly: bool) -> Option<ColumnType> {
    let wanted = match takes {
        Takes::Boolean => ColumnType::Boolean,
        Takes::Text => ColumnType::Text,
        Takes::TextList => ColumnType::List(Box::new(ColumnType::Text)),
        Takes::Integer => ColumnType::Int64,
        Takes::Float => ColumnType::Float64,
        Takes::Date => ColumnType::Date,
        Takes::Time => ColumnType::Time,
        Takes::Timestamp => match ty {
            ColumnType::Timestamp { .. } => ty.clone(),
            _ => ColumnType::Timestamp { utc: false },
        },
        Takes::Interval => ColumnType::Interval,
        Takes::Bytes => ColumnType::Binary,
        _ => ColumnType::Json,
    };
    let is_exact = *ty == wanted
        || (takes == Takes::Integer && is_integer(ty))
        || (takes == Takes::Text && argument.is_untyped());
    let is_near = argument.is_untyped() || unify(ty, &wanted).is_some_and(|wider| wider == wanted);
    (is_exact || (!exactly && is_near)).then_some(wanted)
}

fn returned(returns: Returns, parameters: &[ColumnType]) -> ColumnType {
    match returns {
        Returns::Text => ColumnType::Text,
        Returns::Integer => ColumnType::Int64,
        Returns::Float => ColumnType::Float64,
        Returns::Boolean => ColumnType::Boolean,
        Returns::Date => ColumnType::Date,
        Returns::Time => ColumnType::Time,
        Returns::Timestamp => ColumnType::Timestamp { utc: false },
        Returns::Instant => ColumnType::Timestamp { utc: true },
        Returns::Interval => ColumnType::Interval,
        Returns::Bytes => ColumnType::Binary,
        Returns::OrderKey => order_keys::type_of(&parameters[0]),
        Returns::Json => ColumnType::Json,
        Returns::Uuid => ColumnType::Uuid,
        Returns::TextList => ColumnType::List(Box::new(ColumnType::Text)),
        Returns::As(index) => parameters.get(index).cloned().unwrap_or(ColumnType::Text),
        Returns::ListOf(index) => {
            ColumnType::List(Box::new(parameters.get(index).cloned().unwrap_or(ColumnType::Text)))
        }
        Returns::ElementOf(index) => match &parameters[index] {
            ColumnType::List(element) => (**element).clone(),
            other => other.clone(),
        },
        Returns::ValueOf(index) => value_of(&parameters[index]).clone(),
        Returns::ValuesOf(index) => {
            ColumnType::List(Box::new(value_of(&parameters[index]).clone()))
        }
        Returns::EntriesOf(index) => {
            ColumnType::List(Box::new(ColumnType::entry(value_of(&parameters[index]))))
        }
        Returns::OtherZone => {
            let is_instant = matches!(parameters[0], ColumnType::Timestamp { utc: true });
            ColumnType::Timestamp { utc: !is_instant }
        }
        Returns::Rounded => match &parameters[0] {
            ty @ (ColumnType::Float32 | ColumnType::Float64) => ty.clone(),
            ty => decimal(scale_of(ty)),
        },
    }
}

/// The type of the values of a map.
fn value_of(map: &ColumnType) -> &ColumnType {
    match map {
        ColumnType::Map(value) => value,
        other => other,
    }
}

fn no_fit(name: &str, candidates: &[&Overload], arguments: &[Expr], span: Span) -> Error {
    let forms: Vec<String> = candidates
        .iter()
        .map(|overload| {
            let takes: Vec<String> =
                overload.takes.iter().map(|takes| format!("{takes:?}").to_lowercase()).collect();
            let more = if overload.variadic { ", …" } else { "" };
            format!("{}({}{more})", overload.name, takes.join(", "))
        })
        .collect();
    Error::mismatch(format!("function {name} does not take ({})", types_of(arguments)))
        .at(span)
        .help(format!("available: {}", forms.join(", ")))
}
