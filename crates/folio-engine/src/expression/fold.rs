//! Constant folding at bind time.

use folio_types::{ColumnType, Value, temporal};

use super::Expr;
use super::evaluate::constant;
use super::membership::make_set;
use crate::context::Context;

/// Folds every constant part of an expression. A part that fails stays, and fails when it is
/// evaluated: `case when false then 1 / 0 end` is not an error.
pub fn fold(expression: &mut Expr) {
    expression.for_each_part_mut(&mut fold);
    simplify(expression);
    compare_as_dates(expression);
    make_set(expression);
    if is_foldable(expression)
        && let Ok(value) = constant(expression, &Context::detached())
    {
        let (ty, span) = (expression.ty(), expression.span());
        *expression = Expr::Literal { value, ty, untyped: false, span };
    }
}

fn is_foldable(expression: &Expr) -> bool {
    let mut parts = 0;
    let mut all_literal = true;
    expression.for_each_part(&mut |part| {
        parts += 1;
        all_literal &= matches!(part, Expr::Literal { .. });
    });
    let is_pure = match expression {
        Expr::Function { function, .. } => !function.is_volatile && !function.is_stable,
        Expr::Subquery(_) | Expr::Column(_) | Expr::Outer(..) | Expr::Parameter { .. } => false,
        Expr::Literal { .. } => false,
        _ => true,
    };
    is_pure && all_literal && parts > 0
}

/// Compares dates as dates instead of timestamps: `day < midnight of d` is `day < d`. A source
/// can use a condition on a column, but not one on a cast.
fn compare_as_dates(expression: &mut Expr) {
    let Expr::Compare { left, right, .. } = expression else { return };
    let day_of = |side: &Expr| match side {
        Expr::Cast { input, to: ColumnType::Timestamp { utc: false }, is_try: false, .. }
            if input.ty() == ColumnType::Date && input.as_literal().is_none() =>
        {
            Some((**input).clone())
        }
        _ => None,
    };
    let midnight_of = |side: &Expr| match side {
        Expr::Literal { value: Value::Timestamp(time), span, .. } if time % temporal::DAY == 0 => {
            let value = Value::Date(i32::try_from(time / temporal::DAY).ok()?);
            Some(Expr::Literal { value, ty: ColumnType::Date, untyped: false, span: *span })
        }
        _ => None,
    };
    let sides = match (day_of(left), day_of(right)) {
        (Some(day), None) => midnight_of(right).map(|date| (day, date)),
        (None, Some(day)) => midnight_of(left).map(|date| (date, day)),
        _ => None,
    };
    if let Some((one, two)) = sides {
        (**left, **right) = (one, two);
    }
}

/// Drops terms that do not matter. If one term decides, drops all others.
fn simplify(expression: &mut Expr) {
    let is_and = match expression {
        Expr::And(_) => true,
        Expr::Or(_) => false,
        Expr::Not(inner) => {
            if let Expr::Not(twice) = &mut **inner {
                *expression = std::mem::replace(twice, Expr::null(ColumnType::Boolean));
            }
            return;
        }
        _ => return,
    };
    let (Expr::And(terms) | Expr::Or(terms)) = expression else { return };
    let literal = |term: &Expr| match term.as_literal() {
        Some(Value::Boolean(value)) => Some(*value),
        _ => None,
    };
    if terms.iter().any(|term| literal(term) == Some(!is_and)) {
        *expression = Expr::boolean(!is_and);
        return;
    }
    terms.retain(|term| literal(term) != Some(is_and));
    match terms.len() {
        0 => *expression = Expr::boolean(is_and),
        1 => *expression = terms.remove(0),
        _ => {}
    }
}
