//! Whether a filter implies a condition of an index.
//!
//! Values are compared by their keys as JSON, as the index compares them. The answer is no where it
//! is not obvious: an index is then not used.

use std::cmp::Ordering;

use folio_compute::type_rules::is_integer;
use folio_json::{push_boolean_key, push_number_key, push_order_key, push_text_key};
use folio_types::{ColumnType, Value};

use super::{Column, Expr};
use crate::source::{Comparison, FieldTest, Literal};

/// What a filter says of a column.
#[derive(Debug, PartialEq)]
enum Known {
    Null,
    /// Not null.
    Present,
    /// One of these keys.
    OneOf(Vec<Vec<u8>>),
    /// Compares so with a key.
    Compare(Comparison, Vec<u8>),
}

/// Whether every row that passes a filter fulfils a test of a column.
pub(crate) fn implies(filter: &Expr, column: &Column, test: &FieldTest) -> bool {
    let Some(known) = known(filter, column) else { return false };
    match test {
        FieldTest::Null => known == Known::Null,
        FieldTest::NotNull => known != Known::Null,
        FieldTest::Compare(comparison, literal) => key_of(literal, &column.ty)
            .is_some_and(|wanted| is_implied(&known, *comparison, &wanted)),
        FieldTest::OneOf(list) => {
            let Known::OneOf(values) = known else { return false };
            let list: Vec<_> = list.iter().map(|literal| key_of(literal, &column.ty)).collect();
            values.into_iter().all(|value| list.contains(&Some(value)))
        }
    }
}

/// Whether a filter says exactly what a test does, as far as it is obvious.
pub(crate) fn states(filter: &Expr, column: &Column, test: &FieldTest) -> bool {
    let Some(known) = known(filter, column) else { return false };
    match test {
        FieldTest::Null => known == Known::Null,
        FieldTest::NotNull => {
            matches!(filter, Expr::Not(inner) if matches!(&**inner, Expr::IsNull(_)))
        }
        FieldTest::Compare(Comparison::Equal, literal) => {
            let key = key_of(literal, &column.ty);
            matches!(&known, Known::OneOf(values) if values.len() == 1 && values.first() == key.as_ref())
        }
        FieldTest::Compare(comparison, literal) => {
            let key = key_of(literal, &column.ty);
            matches!(&known, Known::Compare(own, value) if own == comparison && Some(value) == key.as_ref())
        }
        FieldTest::OneOf(_) => false,
    }
}

fn is_implied(known: &Known, comparison: Comparison, wanted: &[u8]) -> bool {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    match known {
        Known::Null | Known::Present => false,
        Known::OneOf(values) => {
            values.iter().all(|value| comparison.holds(value.as_slice().cmp(wanted)))
        }
        Known::Compare(own, value) => {
            let order = value.as_slice().cmp(wanted);
            match (own, comparison) {
                (Greater, Greater | GreaterOrEqual | NotEqual)
                | (GreaterOrEqual, GreaterOrEqual) => order != Ordering::Less,
                (GreaterOrEqual, Greater | NotEqual) => order == Ordering::Greater,
                (Less, Less | LessOrEqual | NotEqual) | (LessOrEqual, LessOrEqual) => {
                    order != Ordering::Greater
                }
                (LessOrEqual, Less | NotEqual) => order == Ordering::Less,
                (NotEqual, NotEqual) => order == Ordering::Equal,
                _ => false,
            }
        }
    }
}

fn known(filter: &Expr, column: &Column) -> Option<Known> {
    let is_it =
        |side: &Expr| matches!(side.uncast_integer(), Expr::Column(own) if own.id == column.id);
    let is_boolean = column.ty == ColumnType::Boolean;
    let truth = |truth: bool| is_boolean.then(|| Known::OneOf(vec![boolean(truth)]));
    let value = |side: &Expr| side.as_literal().and_then(|value| value_key(value, &side.ty()));
    match filter {
        Expr::IsNull(inner) if is_it(inner) => Some(Known::Null),
        Expr::Column(own) if own.id == column.id => truth(true),
        Expr::IsTrue(inner) if is_it(inner) => truth(true),
        Expr::Not(inner) if is_it(inner) => truth(false),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(inner) if is_it(inner) => Some(Known::Present),
            _ => None,
        },
        Expr::Compare { op: Comparison::Distinct | Comparison::NotDistinct, .. } => None,
        Expr::Compare { op, left, right } => {
            let (op, other) = match (is_it(left), is_it(right)) {
                (true, false) => (*op, right),
                (false, true) => (op.mirrored(), left),
                _ => return None,
            };
            // Types other than these are compared after a cast of the column, which is another expression.
            let is_same =
                other.ty() == column.ty || is_integer(&other.ty()) && is_integer(&column.ty);
            let Some(key) = value(other).filter(|_| is_same) else { return Some(Known::Present) };
            Some(match op {
                Comparison::Equal => Known::OneOf(vec![key]),
                op => Known::Compare(op, key),
            })
        }
        Expr::InList { input, list } if is_it(input) => {
            let keys: Option<Vec<_>> = list.iter().map(value).collect();
            Some(keys.map_or(Known::Present, Known::OneOf))
        }
        Expr::InSet { input, set } if is_it(input) => {
            let keys: Option<Vec<_>> =
                set.values.iter().map(|value| value_key(value, &set.ty)).collect();
            Some(keys.map_or(Known::Present, Known::OneOf))
        }
        Expr::Match { input, .. } if is_it(input) => Some(Known::Present),
        _ => None,
    }
}

/// The key of a value of a column, as in an index on fields.
pub(crate) fn value_key(value: &Value, ty: &ColumnType) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    match value {
        Value::Text(json) if *ty == ColumnType::Json => push_order_key(json, &mut key),
        Value::Text(text) if *ty == ColumnType::Text => push_text_key(text, &mut key),
        Value::Boolean(truth) => push_boolean_key(*truth, &mut key),
        Value::Integer(number) => push_number_key(&number.to_string(), &mut key),
        Value::Float(number) if number.is_finite() => {
            push_number_key(&number.to_string(), &mut key);
        }
        _ => return None,
    }
    Some(key)
}

/// The key of a literal of a condition, compared with values of a column of this type. A column of
/// doubles has no values but doubles.
fn key_of(literal: &Literal, ty: &ColumnType) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    match literal {
        Literal::Text(text) => push_text_key(text, &mut key),
        Literal::Boolean(truth) => return Some(boolean(*truth)),
        Literal::Number(text) => {
            push_number_key(text, &mut key);
            let value: f64 = text.parse().ok()?;
            let mut exact = Vec::new();
            push_number_key(&value.to_string(), &mut exact);
            if *ty == ColumnType::Float64 && (!value.is_finite() || exact != key) {
                return None;
            }
        }
    }
    Some(key)
}

fn boolean(truth: bool) -> Vec<u8> {
    let mut key = Vec::new();
    push_boolean_key(truth, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::ColumnId;

    fn column(number: u32, ty: ColumnType) -> Column {
        Column { id: ColumnId(number), ty, name: "c".into() }
    }

    #[test]
    fn filters_imply_weaker_conditions() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let n = column(1, ColumnType::Int64);
        let filter = |op, value: i64| Expr::Compare {
            op,
            left: Box::new(Expr::Column(n.clone())),
            right: Box::new(Expr::literal(Value::Integer(value), ColumnType::Int64)),
        };
        let test = |op, text: &str| FieldTest::Compare(op, Literal::Number(text.to_owned()));
        for (own, value, other, literal, expected) in [
            (Equal, 5, Equal, "5.0", true),
            (Equal, 5, GreaterOrEqual, "5", true),
            (Equal, 5, Greater, "5", false),
            (Equal, 5, NotEqual, "6", true),
            (Greater, 5, Greater, "5", true),
            (Greater, 5, GreaterOrEqual, "5.5", false),
            (GreaterOrEqual, 5, Greater, "5", false),
            (GreaterOrEqual, 5, Greater, "4.5", true),
            (GreaterOrEqual, 5, Equal, "5", false),
            (Less, 5, LessOrEqual, "5", true),
            (LessOrEqual, 5, Less, "5", false),
            (LessOrEqual, 5, NotEqual, "5.5", true),
            (Less, 5, Greater, "5", false),
            (NotEqual, 5, NotEqual, "5", true),
            (NotEqual, 5, NotEqual, "6", false),
        ] {
            let filter = filter(own, value);
            let found = implies(&filter, &n, &test(other, literal));
            assert_eq!(found, expected, "{own:?} {value} -> {other:?} {literal}");
            assert!(implies(&filter, &n, &FieldTest::NotNull));
            assert!(!implies(&filter, &n, &FieldTest::Null));
        }
        let is_null = Expr::IsNull(Box::new(Expr::Column(n.clone())));
        assert!(implies(&is_null, &n, &FieldTest::Null));
        assert!(implies(&Expr::Not(Box::new(is_null)), &n, &FieldTest::NotNull));
        let truth = column(2, ColumnType::Boolean);
        let is_true = FieldTest::Compare(Equal, Literal::Boolean(true));
        assert!(implies(&Expr::Column(truth.clone()), &truth, &is_true));
        assert!(!implies(&Expr::Not(Box::new(Expr::Column(truth.clone()))), &truth, &is_true));
        assert!(!implies(&Expr::Column(n.clone()), &truth, &is_true), "another column");
    }
}
