//! Which types go together: an int with a float by value, a date with a datetime as its
//! midnight, and otherwise only equal types.

use folio_compute::arithmetic::Arithmetic;
use folio_compute::type_rules::{is_integer, is_numeric, unify};
use folio_compute::{Error, Result, Span, arithmetic, member_type_name};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::{as_json, by_order, cast_to_if, text_as_member};
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

/// Help for JSON, whose values each have their own type.
pub(super) const JSON_HELP: &str = "search in JSON with SQL: `tags @> '[\"red\"]'`";

/// The value `none`.
pub(super) fn none(span: Span) -> Expr {
    Expr::Literal { value: Value::Null, ty: ColumnType::Text, untyped: true, span }
}

/// Converts a value to the type that its place needs, if the conversion loses nothing.
///
/// # Errors
/// `type_mismatch`.
pub(super) fn as_type(value: Expr, wanted: &ColumnType, place: &str, span: Span) -> Result<Expr> {
    let given = value.ty();
    if given == *wanted && !value.is_untyped() {
        return Ok(value);
    }
    if value.is_untyped() {
        if let Expr::Parameter { index, .. } = value {
            return Ok(Expr::Parameter { index, ty: wanted.clone(), untyped: false });
        }
        return match value.as_literal() {
            Some(Value::Null) => Ok(Expr::null(wanted.clone())),
            // An empty list, or a list of `none`.
            Some(Value::List(items)) if matches!(wanted, ColumnType::List(_)) => {
                Ok(Expr::literal(Value::List(items.clone()), wanted.clone()))
            }
            _ => Err(wrong(place, wanted, &given).at(span)),
        };
    }
    if *wanted == ColumnType::Json {
        // Some languages give objects and lists as text.
        return match value {
            Expr::Parameter { ty: ColumnType::Text, .. } => text_as_member(value),
            _ => as_json(value),
        };
    }
    let widens = unify(wanted, &given).is_some_and(|common| common == *wanted)
        || (is_integer(&given) && is_integer(wanted))
        || (is_numeric(&given)
            && matches!(wanted, ColumnType::Decimal { .. } | ColumnType::Float32))
        || matches!((&given, wanted), (ColumnType::Timestamp { .. }, ColumnType::Timestamp { .. }));
    if is_read_as(&value, wanted) {
        return Ok(Expr::Cast { input: Box::new(value), to: wanted.clone(), is_try: false, span });
    }
    if widens {
        return Ok(cast_to_if(value, wanted));
    }
    Err(wrong(place, wanted, &given).at(span))
}

/// Whether a value is text, or a list of text, for a type that can be written only as text: a
/// parameter in JSON and some languages, or a literal of a type of SQL.
fn is_read_as(value: &Expr, wanted: &ColumnType) -> bool {
    use ColumnType::{Binary, Date, Interval, List, Map, Struct, Text, Time, Timestamp, Uuid};
    let is_parameter = matches!(value, Expr::Parameter { .. });
    if !is_parameter && value.as_literal().is_none() {
        return false;
    }
    let is_read = |given: &ColumnType, wanted: &ColumnType| {
        *given == Text
            && match wanted {
                Binary | Interval | Map(_) | Struct(_) => true,
                Date | Time | Timestamp { .. } | Uuid => is_parameter,
                _ => false,
            }
    };
    match (&value.ty(), wanted) {
        (List(given), List(wanted)) => is_read(given, wanted),
        (given, wanted) => is_read(given, wanted),
    }
}

/// What a place takes, and what it was given.
pub(super) fn wrong(place: &str, wanted: &ColumnType, given: &ColumnType) -> Error {
    let (wanted, given) = (member_type_name(wanted), member_type_name(given));
    Error::mismatch(format!("{place} takes {wanted}, not {given}"))
}

/// Converts both sides to one type.
///
/// # Errors
/// `type_mismatch`.
pub(super) fn pair(
    (left, left_span): (Expr, Span),
    (right, right_span): (Expr, Span),
    span: Span,
) -> Result<(Expr, Expr)> {
    let common = match (left.is_untyped(), right.is_untyped()) {
        (true, false) => Some(right.ty()),
        (false, true) => Some(left.ty()),
        _ if is_read_as(&left, &right.ty()) => Some(right.ty()),
        _ if is_read_as(&right, &left.ty()) => Some(left.ty()),
        // JSON can hold any type, so no single type fits both sides.
        _ if (left.ty() == ColumnType::Json) != (right.ty() == ColumnType::Json) => None,
        _ => unify(&left.ty(), &right.ty()),
    };
    let Some(common) = common else {
        let (one, other) = (member_type_name(&left.ty()), member_type_name(&right.ty()));
        let error = Error::mismatch(format!("{one} and {other} cannot be compared")).at(span);
        let is_text = left.ty() == ColumnType::Text || right.ty() == ColumnType::Text;
        let holds = |list: &Expr, item: &Expr| matches!(list.ty(), ColumnType::List(element) if unify(&element, &item.ty()).is_some());
        return Err(match is_text {
            _ if left.ty() == ColumnType::Json || right.ty() == ColumnType::Json => {
                error.help(JSON_HELP)
            }
            _ if holds(&left, &right) || holds(&right, &left) => {
                error.help("use IN: `member IN [value]`")
            }
            true => error.help("strings are quoted, all other values are not"),
            false => error,
        });
    };
    let side = |side: Expr, span: Span| as_type(side, &common, "the comparison", span);
    Ok((side(left, left_span)?, side(right, right_span)?))
}

/// Compares two values, JSON by value with any type. Null, which counts as false, if one is none.
///
/// # Errors
/// As [`pair`].
pub(super) fn compare(
    op: Comparison,
    left: (Expr, Span),
    right: (Expr, Span),
    span: Span,
) -> Result<Expr> {
    let is_json = |side: &Expr| side.ty() == ColumnType::Json && !side.is_untyped();
    if is_json(&left.0) || is_json(&right.0) {
        let (left, right) = (as_json(left.0)?, as_json(right.0)?);
        return Ok(Expr::compare(op, by_order(left), by_order(right)));
    }
    let (left, right) = pair(left, right, span)?;
    let is_equality = matches!(op, Comparison::Equal | Comparison::NotEqual);
    if matches!(left.ty(), ColumnType::Struct(_) | ColumnType::Map(_))
        || (!is_equality && matches!(left.ty(), ColumnType::List(_)))
    {
        let ty = member_type_name(&left.ty());
        return Err(Error::mismatch(format!("{ty} has no order to compare by")).at(span));
    }
    Ok(Expr::compare(op, by_order(left), by_order(right)))
}

/// Binds arithmetic.
///
/// # Errors
/// `type_mismatch`.
pub(super) fn compute(op: Arithmetic, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let (left, right) = match (left.is_untyped(), right.is_untyped()) {
        (true, false) => (as_type(left, &right.ty(), "the operation", span)?, right),
        (false, true) => {
            let ty = left.ty();
            (left, as_type(right, &ty, "the operation", span)?)
        }
        _ => (left, right),
    };
    let (left_type, right_type, ty) =
        arithmetic::signature(op, &left.ty(), &right.ty()).map_err(|_| {
            let (one, other) = (member_type_name(&left.ty()), member_type_name(&right.ty()));
            Error::mismatch(format!("`{}` cannot take {one} and {other}", op.symbol())).at(span)
        })?;
    let left = Box::new(cast_to_if(left, &left_type));
    let right = Box::new(cast_to_if(right, &right_type));
    Ok(Expr::Arithmetic { op, left, right, ty, span })
}

/// Converts a value to a wider type.
pub(super) fn widened(value: Expr, ty: &ColumnType) -> Expr {
    cast_to_if(value, ty)
}
