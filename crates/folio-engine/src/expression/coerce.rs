//! Which types go together, and implicit casts.
//!
//! Numbers widen if they keep their meaning: integers to wider integers, to numeric, to double
//! precision. Text is never cast implicitly. A quoted literal has no type yet and takes the one
//! its place needs, as in PostgreSQL: `day > '2024-01-31'` compares dates.

use folio_compute::type_rules::{aligned, is_numeric, is_temporal, unify};
use folio_compute::{Error, Result, Span, cast, order_keys, type_name};
use folio_types::{ColumnType, Value};

use super::{Expr, function};

/// Casts several expressions to a common type: arms of a CASE, rows of VALUES.
///
/// # Errors
/// `type_mismatch` if there is no common type.
pub fn unify_all<'e>(
    expressions: impl Iterator<Item = &'e Expr> + Clone,
    place: &str,
) -> Result<ColumnType> {
    let mut found: Option<ColumnType> = None;
    for expression in expressions.clone().filter(|expression| !expression.is_untyped()) {
        let ty = expression.ty();
        found = Some(match found {
            None => ty,
            Some(other) => unify(&other, &ty).ok_or_else(|| {
                let (left, right) = (type_name(&other), type_name(&ty));
                Error::mismatch(format!("{place} cannot be both {left} and {right}"))
                    .at(expression.span())
                    .help("cast one of them")
            })?,
        });
    }
    let guess = || {
        let mut guesses = expressions.map(Expr::ty);
        let first = guesses.next().unwrap_or(ColumnType::Text);
        guesses.fold(first, |first, other| unify(&first, &other).unwrap_or(ColumnType::Text))
    };
    Ok(found.unwrap_or_else(guess))
}

/// Casts an expression implicitly to the type that its place needs.
///
/// # Errors
/// `type_mismatch` if there is no implicit cast; errors of a literal that takes the type.
pub fn coerce(expression: Expr, to: &ColumnType, place: &str) -> Result<Expr> {
    let from = expression.ty();
    if from == *to && !matches!(expression, Expr::Parameter { .. }) {
        return Ok(resolve_type(expression));
    }
    if expression.is_untyped() {
        return take_type(expression, to);
    }
    let fits = unify(to, &from).is_some_and(|wider| wider == *to)
        || matches!((&from, to), (ColumnType::Decimal { .. }, ColumnType::Decimal { .. }));
    if fits && from.is_nested() && *to == ColumnType::Json {
        return as_document(expression);
    }
    if fits || from == *to {
        return Ok(cast_to(expression, to));
    }
    let (from, wanted) = (type_name(&from), type_name(to));
    let error = Error::mismatch(format!("{place} takes {wanted}, not {from}"));
    Err(error.at(expression.span()).help(format!("cast it: cast(… as {wanted})")))
}

/// A list, struct or map as JSON. A member of a struct that is null was missing in its document, and
/// is left out.
///
/// # Errors
/// None for nested types.
pub fn as_document(nested: Expr) -> Result<Expr> {
    let (span, may_lack_members) = (nested.span(), may_lack_members(&nested.ty()));
    let whole = cast_to(nested, &ColumnType::Json);
    match may_lack_members {
        true => function::resolve("json_strip_nulls", vec![whole], span),
        false => Ok(whole),
    }
}

/// Whether a null inside of a nested type can mean that a member was missing. In a map it cannot.
fn may_lack_members(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Map(value) => value.is_nested() && may_lack_members(value),
        _ => true,
    }
}

/// A value as JSON, for a comparison by value: a text is a JSON string.
///
/// # Errors
/// None for values of any type.
pub fn as_json(value: Expr) -> Result<Expr> {
    let value = resolve_type(value);
    match value.ty() {
        ColumnType::Json => Ok(value),
        ty if ty.is_nested() => as_document(value),
        _ => {
            let span = value.span();
            function::resolve("to_json", vec![value], span)
        }
    }
}

/// A value as a document has it. A text without a type, from the statement or a parameter, is an
/// object or array if it reads as one, otherwise a string.
///
/// # Errors
/// None for values of any type.
pub fn as_member(value: Expr) -> Result<Expr> {
    match &value {
        Expr::Literal { value: Value::Null, untyped: true, .. } => Ok(Expr::null(ColumnType::Json)),
        other if other.is_untyped() && other.ty() == ColumnType::Text => text_as_member(value),
        _ => as_json(value),
    }
}

/// A text as an object or array if it reads as one, otherwise as a string.
///
/// # Errors
/// None for a text.
pub fn text_as_member(text: Expr) -> Result<Expr> {
    let span = text.span();
    match resolve_type(text) {
        Expr::Literal { value: Value::Text(text), .. } => {
            let value = Value::Text(cast::json::from_text(&text));
            Ok(Expr::Literal { value, ty: ColumnType::Json, untyped: false, span })
        }
        text => function::resolve("json_from_text", vec![text], span),
    }
}

/// The expression to compare or order by: JSON by value, not by text, in nested values too.
pub fn by_order(expression: Expr) -> Expr {
    match order_keys::holds_json(&expression.ty()) {
        true => {
            let key = function::resolve("json_order", vec![expression], Span::NONE);
            key.expect("it takes any type")
        }
        false => expression,
    }
}

/// The reverse of [`as_document`]: the nested value.
pub fn nested_in(expression: &Expr) -> Option<&Expr> {
    let (cast, is_stripped) = match expression {
        Expr::Function { function, arguments, .. } if function.name == "json_strip_nulls" => {
            (arguments.first()?, true)
        }
        other => (other, false),
    };
    match cast {
        Expr::Cast { input, to: ColumnType::Json, is_try: false, .. }
            if input.ty().is_nested() && may_lack_members(&input.ty()) == is_stripped =>
        {
            Some(input)
        }
        _ => None,
    }
}

/// Casts an expression to the type of the column that stores it. Assignment also allows
/// narrower numbers, if the value fits.
///
/// # Errors
/// As [`coerce`].
pub fn assign(expression: Expr, to: &ColumnType, column: &str) -> Result<Expr> {
    let from = expression.ty();
    let is_assignable = (is_numeric(&from) && is_numeric(to))
        || (is_temporal(&from) && is_temporal(to))
        || matches!((&from, to), (ColumnType::Json, ColumnType::Text))
        || matches!((&from, to), (ColumnType::Text, ColumnType::Json))
        || matches!((&from, to), (ColumnType::List(_), ColumnType::List(_)))
        || matches!((&from, to), (ColumnType::Map(_), ColumnType::Map(_)))
        || matches!((&from, to), (ColumnType::Struct(a), ColumnType::Struct(b)) if aligned(a, b).is_some());
    if from != *to && is_assignable && !expression.is_untyped() {
        return Ok(cast_to(expression, to));
    }
    coerce(expression, to, &format!("column {column:?}"))
}

/// Adds a cast unconditionally. Folds it if the operand is a literal that can be cast.
pub fn cast_to(expression: Expr, to: &ColumnType) -> Expr {
    let span = expression.span();
    if let Expr::Literal { value, ty, .. } = &expression
        && let Ok(value) = cast::cast_value(value, ty, to)
    {
        return Expr::Literal { value, ty: to.clone(), untyped: false, span };
    }
    Expr::Cast { input: Box::new(expression), to: to.clone(), is_try: false, span }
}

/// Gives an untyped expression a type.
fn take_type(expression: Expr, to: &ColumnType) -> Result<Expr> {
    match expression {
        Expr::Literal { value: Value::Null, span, .. } => {
            Ok(Expr::Literal { value: Value::Null, ty: to.clone(), untyped: false, span })
        }
        Expr::Literal { value, ty, span, .. } => {
            let value = cast::cast_value(&value, &ty, to).map_err(|error| error.at(span))?;
            Ok(Expr::Literal { value, ty: to.clone(), untyped: false, span })
        }
        Expr::Parameter { index, ty, .. } if ty == *to => {
            Ok(Expr::Parameter { index, ty, untyped: false })
        }
        other => Ok(Expr::Cast {
            input: Box::new(resolve_type(other)),
            to: to.clone(),
            is_try: false,
            span: Span::NONE,
        }),
    }
}

/// Makes the guessed type of an expression final.
pub fn resolve_type(mut expression: Expr) -> Expr {
    if let Expr::Literal { untyped, .. } | Expr::Parameter { untyped, .. } = &mut expression {
        *untyped = false;
    }
    expression
}

/// Casts both sides to a common type.
///
/// # Errors
/// `type_mismatch` if there is no common type.
pub fn coerce_pair(left: Expr, right: Expr, what: &str, span: Span) -> Result<(Expr, Expr)> {
    let (left_type, right_type) = (left.ty(), right.ty());
    let wanted = match (left.is_untyped(), right.is_untyped()) {
        (true, false) => Some(right_type.clone()),
        (false, true) => Some(left_type.clone()),
        _ => unify(&left_type, &right_type),
    };
    let Some(wanted) = wanted else {
        let (left, right) = (type_name(&left_type), type_name(&right_type));
        return Err(Error::mismatch(format!("{what} cannot take {left} and {right}"))
            .at(span)
            .help("cast one side to the type of the other"));
    };
    let at = |error: Error| error.at(span);
    let left = coerce(left, &wanted, what).map_err(at)?;
    let right = coerce(right, &wanted, what).map_err(at)?;
    Ok((left, right))
}

/// Casts an expression unless it has the type.
pub fn cast_to_if(expression: Expr, to: &ColumnType) -> Expr {
    if expression.ty() == *to { expression } else { cast_to(expression, to) }
}
