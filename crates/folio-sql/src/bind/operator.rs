//! Binds operators: finds the operation of a symbol for the operand types.

use folio_compute::arithmetic::Arithmetic;
use folio_compute::cast::json::is_document;
use folio_compute::pattern::MatchKind;
use folio_compute::type_rules::{is_integer, is_numeric, is_temporal, scale_of};
use folio_compute::{Error, Result, Span, arithmetic, type_name};
pub(super) use folio_engine::expression::coerce::by_order;
use folio_engine::expression::coerce::{self, coerce, coerce_pair};
use folio_engine::expression::{Expr, function};
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};
use sqlparser::ast::{BinaryOperator, UnaryOperator};

/// The comparison of a symbol.
pub(super) fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// Binds `left op right`.
///
/// # Errors
/// `type_mismatch` if there is no such operation.
pub(super) fn binary(op: &BinaryOperator, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    use BinaryOperator as Sql;
    if let Some(comparison) = comparison(op) {
        return compare(comparison, left, right, span);
    }
    match op {
        Sql::Plus => arithmetic(Arithmetic::Add, left, right, span),
        Sql::Minus if is_object(&left) => without(left, right, span),
        Sql::Minus => arithmetic(Arithmetic::Subtract, left, right, span),
        Sql::Multiply => arithmetic(Arithmetic::Multiply, left, right, span),
        Sql::Divide => arithmetic(Arithmetic::Divide, left, right, span),
        Sql::Modulo => arithmetic(Arithmetic::Remainder, left, right, span),
        Sql::BitwiseAnd => arithmetic(Arithmetic::BitAnd, left, right, span),
        Sql::BitwiseOr => arithmetic(Arithmetic::BitOr, left, right, span),
        Sql::BitwiseXor | Sql::PGBitwiseXor => arithmetic(Arithmetic::BitXor, left, right, span),
        Sql::PGBitwiseShiftLeft => arithmetic(Arithmetic::ShiftLeft, left, right, span),
        Sql::PGBitwiseShiftRight => arithmetic(Arithmetic::ShiftRight, left, right, span),
        Sql::PGExp => function::resolve("power", vec![left, right], span),
        Sql::And => Ok(Expr::And(vec![condition(left, "and")?, condition(right, "and")?])),
        Sql::Or => Ok(Expr::Or(vec![condition(left, "or")?, condition(right, "or")?])),
        Sql::StringConcat => concat(left, right, span),
        Sql::PGRegexMatch => matches(MatchKind::Regex, left, right, None),
        Sql::PGRegexIMatch => matches(MatchKind::IRegex, left, right, None),
        Sql::PGRegexNotMatch => Ok(not(matches(MatchKind::Regex, left, right, None)?)),
        Sql::PGRegexNotIMatch => Ok(not(matches(MatchKind::IRegex, left, right, None)?)),
        Sql::PGLikeMatch => matches(MatchKind::Like, left, right, None),
        Sql::PGILikeMatch => matches(MatchKind::ILike, left, right, None),
        Sql::PGNotLikeMatch => Ok(not(matches(MatchKind::Like, left, right, None)?)),
        Sql::PGNotILikeMatch => Ok(not(matches(MatchKind::ILike, left, right, None)?)),
        Sql::PGStartsWith => matches(MatchKind::Prefix, left, right, None),
        Sql::Arrow | Sql::LongArrow => arrow(left, right, matches!(op, Sql::LongArrow), span),
        Sql::HashArrow => function::resolve("json_path", vec![left, json_path(right)?], span),
        Sql::HashLongArrow => {
            function::resolve("json_path_text", vec![left, json_path(right)?], span)
        }
        Sql::HashMinus => function::resolve("json_remove_path", vec![left, right], span),
        Sql::AtArrow => contains(op, left, right, span),
        Sql::ArrowAt => contains(op, right, left, span),
        Sql::PGOverlap => of_lists("array_overlap", op, left, right, span),
        Sql::Question => function::resolve("json_contains_key", vec![left, right], span),
        other => Err(Error::unsupported(format!("operator {other} is not supported")).at(span)),
    }
}

/// `whole @> part`, for JSON and arrays.
fn contains(op: &BinaryOperator, whole: Expr, part: Expr, span: Span) -> Result<Expr> {
    if whole.ty() == ColumnType::Json || part.ty() == ColumnType::Json {
        return function::resolve("json_contains", vec![whole, part], span);
    }
    of_lists("array_contains_all", op, whole, part, span)
}

/// A function of two arrays, for an operator.
fn of_lists(name: &str, op: &BinaryOperator, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let is_list = |side: &Expr| side.is_untyped() || matches!(side.ty(), ColumnType::List(_));
    if !is_list(&left) || !is_list(&right) || (left.is_untyped() && right.is_untyped()) {
        let (left, right) = (type_name(&left.ty()), type_name(&right.ty()));
        return Err(Error::mismatch(format!("operator does not exist: {left} {op} {right}"))
            .at(span)
            .help("it takes arrays, or JSON"));
    }
    function::resolve(name, vec![left, right], span)
}

/// Whether an operand is JSON, or an object of a document.
fn is_object(operand: &Expr) -> bool {
    use ColumnType::{Json, Map, Struct};
    !operand.is_untyped() && matches!(operand.ty(), Json | Struct(_) | Map(_))
}

/// `json - name`, `json - position`, `json - array of names`.
fn without(left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let names = ColumnType::List(Box::new(ColumnType::Text));
    let ty = right.ty();
    if !right.is_untyped() && ty != ColumnType::Text && ty != names && !is_integer(&ty) {
        let (left, right) = (type_name(&left.ty()), type_name(&ty));
        return Err(Error::mismatch(format!("operator does not exist: {left} - {right}"))
            .at(span)
            .help("take a name, a position or an array of names from it, or cast it to a number"));
    }
    function::resolve("json_remove", vec![left, right], span)
}

/// `json -> step`, `json ->> step`. A member of a struct is taken without making JSON of the whole.
fn arrow(left: Expr, right: Expr, as_text: bool, span: Span) -> Result<Expr> {
    let right = json_step(right);
    let nested = coerce::nested_in(&left).unwrap_or(&left);
    let is_member = |name: &str| match nested.ty() {
        ColumnType::Struct(fields) => fields.iter().any(|(field, _)| field == name),
        ColumnType::Map(_) => true,
        _ => false,
    };
    if let Some(Value::Text(name)) = right.as_literal()
        && is_member(name)
    {
        let member = as_json(super::member::member(nested.clone(), name, span)?, span)?;
        return if as_text { plain_text(member) } else { Ok(member) };
    }
    let name = if as_text { "json_get_text" } else { "json_get" };
    function::resolve(name, vec![left, right], span)
}

/// The right side of `->`: a number is a position, anything else a name.
fn json_step(step: Expr) -> Expr {
    match step {
        Expr::Literal { value: value @ Value::Text(_), span, .. } => {
            Expr::Literal { value, ty: ColumnType::Text, untyped: false, span }
        }
        other => other,
    }
}

/// The right side of `#>`: `'{a,b}'` or an array of texts.
fn json_path(path: Expr) -> Result<Expr> {
    coerce(path, &ColumnType::List(Box::new(ColumnType::Text)), "a path")
}

/// Binds a comparison.
///
/// # Errors
/// `type_mismatch` if the sides have no common type.
pub(super) fn compare(op: Comparison, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let what = format!("a comparison with {}", op.symbol());
    let (left, right) = compared(left, right, &what, span)?;
    Ok(Expr::compare(op, left, right))
}

/// What two sides compare by: JSON by value, with a side of any type.
///
/// # Errors
/// `type_mismatch` if the sides have no common type.
pub(super) fn compared(left: Expr, right: Expr, what: &str, span: Span) -> Result<(Expr, Expr)> {
    let is_json = |side: &Expr| side.ty() == ColumnType::Json && !side.is_untyped();
    let (left, right) = match is_json(&left) || is_json(&right) {
        true => (as_json(left, span)?, as_json(right, span)?),
        false => coerce_pair(left, right, what, span)?,
    };
    Ok((by_order(left), by_order(right)))
}

/// A side of a comparison with JSON. A text is a JSON string, unless it is quoted in the statement
/// and an object or array.
pub(super) fn as_json(side: Expr, span: Span) -> Result<Expr> {
    if side.is_untyped() && (is_json(&side) || side.as_literal() == Some(&Value::Null)) {
        return coerce(side, &ColumnType::Json, "a comparison").map_err(|error| error.at(span));
    }
    coerce::as_json(side).map_err(|error| error.at(span))
}

/// The reverse of [`by_order`]: the original expression.
pub(super) fn ordered(expression: &Expr) -> &Expr {
    match expression {
        Expr::Function { function, arguments, .. } if function.name == "json_order" => {
            &arguments[0]
        }
        other => other,
    }
}

pub(crate) fn arithmetic(op: Arithmetic, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let (left, right) = guess_operands(op, left, right, span)?;
    let (left_type, right_type, ty) = arithmetic::signature(op, &left.ty(), &right.ty())
        .map_err(|error| error.at(span).help("cast an operand: cast(… as integer)"))?;
    Ok(Expr::Arithmetic {
        op,
        left: Box::new(coerce::cast_to_if(left, &left_type)),
        right: Box::new(coerce::cast_to_if(right, &right_type)),
        ty,
        span,
    })
}

/// An untyped operand takes the type of the other, or becomes an interval beside a time.
fn guess_operands(op: Arithmetic, left: Expr, right: Expr, span: Span) -> Result<(Expr, Expr)> {
    let guess = |untyped: Expr, other: &Expr| -> Result<Expr> {
        let is_null = matches!(untyped.as_literal(), Some(Value::Null));
        let ty = match other.ty() {
            ty if is_temporal(&ty) && !is_null => match (op, ty) {
                (Arithmetic::Subtract, ty @ ColumnType::Date) => ty,
                _ => ColumnType::Interval,
            },
            ty if other.is_untyped() => {
                if is_null {
                    ColumnType::Int32
                } else {
                    numeric_guess(&untyped, ty)
                }
            }
            ty => ty,
        };
        coerce(untyped, &ty, "an operand").map_err(|error| error.at(span))
    };
    Ok(match (left.is_untyped(), right.is_untyped()) {
        (true, true) => {
            let left = guess(left, &right)?;
            let right = guess(right, &left)?;
            (left, right)
        }
        (true, false) => (guess(left, &right)?, right),
        (false, true) => {
            let right = guess(right, &left)?;
            (left, right)
        }
        _ => (left, right),
    })
}

fn numeric_guess(untyped: &Expr, otherwise: ColumnType) -> ColumnType {
    match untyped.as_literal() {
        Some(Value::Text(text)) if text.trim().parse::<i64>().is_ok() => ColumnType::Int64,
        Some(Value::Text(text)) if text.trim().parse::<f64>().is_ok() => ColumnType::Float64,
        Some(_) => otherwise,
        None => ColumnType::Int64,
    }
}

fn concat(left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let is_list = |expression: &Expr| matches!(expression.ty(), ColumnType::List(_));
    match (is_list(&left), is_list(&right)) {
        (true, true) => return function::resolve("array_cat", vec![left, right], span),
        (true, false) => return function::resolve("array_append", vec![left, right], span),
        (false, true) => return function::resolve("array_prepend", vec![left, right], span),
        _ => {}
    }
    if is_json(&left) && is_json(&right) && !(left.is_untyped() && right.is_untyped()) {
        return function::resolve("json_concat", vec![left, right], span);
    }
    let is_text = |expression: &Expr| {
        expression.is_untyped() || matches!(expression.ty(), ColumnType::Text | ColumnType::Json)
    };
    if !is_text(&left) && !is_text(&right) {
        let (left, right) = (type_name(&left.ty()), type_name(&right.ty()));
        return Err(Error::mismatch(format!("operator does not exist: {left} || {right}"))
            .at(span)
            .help("one side must be text"));
    }
    let text =
        |expression: Expr| coerce::cast_to_if(coerce::resolve_type(expression), &ColumnType::Text);
    function::resolve("textcat", vec![text(left), text(right)], span)
}

/// Whether an operand of `||` is JSON: by its type, or a quoted text that is an object or array.
/// With any other text the result is text.
fn is_json(operand: &Expr) -> bool {
    match operand.as_literal() {
        Some(Value::Text(text)) if operand.is_untyped() => is_document(text),
        Some(Value::Null) if operand.is_untyped() => true,
        _ => operand.ty() == ColumnType::Json,
    }
}

/// JSON as text: strings without their quotes.
fn plain_text(json: Expr) -> Result<Expr> {
    let span = json.span();
    let whole = ColumnType::List(Box::new(ColumnType::Text));
    let whole = Expr::literal(Value::List(Vec::new()), whole);
    function::resolve("json_path_text", vec![json, whole], span)
}

/// Binds LIKE and other pattern matches.
///
/// # Errors
/// `type_mismatch` for operands that are not text.
pub(super) fn matches(
    kind: MatchKind,
    input: Expr,
    pattern: Expr,
    escape: Option<char>,
) -> Result<Expr> {
    let place = kind.symbol();
    let input = match input.ty() {
        ColumnType::Json if !input.is_untyped() => plain_text(input)?,
        _ => coerce(input, &ColumnType::Text, place)?,
    };
    let pattern = coerce(pattern, &ColumnType::Text, place)?;
    Ok(Expr::Match { kind, input: Box::new(input), pattern: Box::new(pattern), escape })
}

/// Binds `op operand`.
///
/// # Errors
/// `type_mismatch` if there is no such operation.
pub(super) fn unary(op: UnaryOperator, operand: Expr, span: Span) -> Result<Expr> {
    match op {
        UnaryOperator::Plus => {
            let is_number = is_numeric(&operand.ty()) || operand.is_untyped();
            if is_number { Ok(operand) } else { Err(Error::mismatch("+ takes a number").at(span)) }
        }
        UnaryOperator::Minus => negate(operand, span),
        UnaryOperator::Not | UnaryOperator::BangNot => Ok(not(condition(operand, "not")?)),
        UnaryOperator::BitwiseNot => function::resolve("bit_not", vec![operand], span),
        UnaryOperator::PGAbs => function::resolve("abs", vec![operand], span),
        UnaryOperator::PGSquareRoot => function::resolve("sqrt", vec![operand], span),
        UnaryOperator::PGCubeRoot => function::resolve("cbrt", vec![operand], span),
        other => Err(Error::unsupported(format!("operator {other} is not supported")).at(span)),
    }
}

fn negate(operand: Expr, span: Span) -> Result<Expr> {
    if let Expr::Literal { value, ty, untyped: false, .. } = &operand {
        let negated = match value {
            // -9223372036854775808 parses as the negation of a numeric.
            Value::Decimal(digits) if *digits == 1 << 63 && scale_of(ty) == 0 => {
                Some((Value::Integer(i64::MIN), ColumnType::Int64))
            }
            Value::Integer(_) if *ty == ColumnType::Int16 => None,
            Value::Integer(value) => value.checked_neg().map(|value| {
                // -2147483648 parses as the negation of a bigint.
                let is_least = value == i64::from(i32::MIN);
                (Value::Integer(value), if is_least { ColumnType::Int32 } else { ty.clone() })
            }),
            Value::Decimal(digits) => Some((Value::Decimal(-digits), ty.clone())),
            Value::Float(value) => Some((Value::Float(-value), ty.clone())),
            _ => None,
        };
        if let Some((value, ty)) = negated {
            return Ok(Expr::Literal { value, ty, untyped: false, span });
        }
    }
    let operand = if operand.is_untyped() {
        let ty = numeric_guess(&operand, ColumnType::Int32);
        coerce(operand, if ty == ColumnType::Text { &ColumnType::Float64 } else { &ty }, "-")?
    } else {
        operand
    };
    function::resolve("negate", vec![operand], span)
}

/// NOT.
pub(super) fn not(expression: Expr) -> Expr {
    Expr::Not(Box::new(expression))
}

/// Checks that an expression is boolean.
///
/// # Errors
/// `type_mismatch` for anything else.
pub(super) fn condition(expression: Expr, place: &str) -> Result<Expr> {
    coerce(expression, &ColumnType::Boolean, place)
}
