//! The test of a condition over values that are in columns already.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Float64Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};
use folio_types::{ColumnType, Comparison, Value};

use super::condition::{
    Check, PathCondition, PathTest, Test, boolean_of, by_size, canonical, float_of, text_of,
};

/// A test of columns of one type. For those of documents it has the same outcome as
/// [`super::PathColumns`] has for lines.
#[derive(Debug)]
pub struct ArrayTest(Kind);

#[derive(Debug)]
enum Kind {
    Boolean(Test<bool>),
    /// Also what is stored as an integer: dates and times.
    Integer(Test<i64>),
    Decimal(Test<i128>),
    Float(Test<f64>),
    Text(Test<Box<[u8]>>),
}

impl ArrayTest {
    /// `None` if the test does not suit the type ([`super::PathTest::suits`]).
    #[must_use]
    pub fn new(condition: &PathCondition) -> Option<Self> {
        Some(Self(match Check::new(condition) {
            Check::Boolean(test) => Kind::Boolean(test),
            Check::Integer(test) => Kind::Integer(test),
            Check::Float(test) => Kind::Float(test),
            Check::Text(test) => Kind::Text(test),
            Check::Never => return None,
        }))
    }

    /// A test of values of a column; `None` if values of the type are not tested here. Those of the
    /// test are of the same type.
    #[must_use]
    pub fn of_column(ty: &ColumnType, test: &PathTest) -> Option<Self> {
        Some(Self(match ty {
            ColumnType::Boolean => Kind::Boolean(test.map(boolean_of, bool::cmp)?),
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Date
            | ColumnType::Timestamp { .. } => Kind::Integer(test.map(stored_integer, i64::cmp)?),
            ColumnType::Decimal { .. } => Kind::Decimal(test.map(decimal_of, i128::cmp)?),
            ColumnType::Text => Kind::Text(test.map(text_of, |a, b| by_size(a, b))?),
            _ => return None,
        }))
    }

    /// A test of values by the order of sorts, where NaN is the greatest float; `None` if values of
    /// the type are not tested here.
    #[must_use]
    pub fn of_order(ty: &ColumnType, comparison: Comparison, value: &Value) -> Option<Self> {
        match ty {
            ColumnType::Float64 => {
                Some(Self(Kind::Float(Test::Compare(comparison, float_of(value)?))))
            }
            _ => Self::of_column(ty, &PathTest::Compare(comparison, value.clone())),
        }
    }

    /// Which values of a column satisfy it; nulls do not. `None` for a column of another type.
    #[must_use]
    pub fn passes(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let count = column.len();
        let passed = match (&self.0, column.data_type()) {
            (Kind::Text(test), DataType::Utf8) => {
                let texts = column.as_string::<i32>();
                BooleanBuffer::collect_bool(count, |row| {
                    test.holds_for(texts.value(row).as_bytes())
                })
            }
            (Kind::Integer(test), DataType::Int64) => integers::<Int64Type>(test, column),
            (Kind::Integer(test), DataType::Int32) => integers::<Int32Type>(test, column),
            (Kind::Integer(test), DataType::Int16) => integers::<Int16Type>(test, column),
            (Kind::Integer(test), DataType::Date32) => integers::<Date32Type>(test, column),
            (Kind::Integer(test), DataType::Timestamp(TimeUnit::Microsecond, _)) => {
                integers::<TimestampMicrosecondType>(test, column)
            }
            (Kind::Decimal(test), DataType::Decimal128(..)) => {
                let values = column.as_primitive::<Decimal128Type>().values();
                each(test, values, |own, value| own.cmp(value))
            }
            (Kind::Decimal(test), DataType::Decimal64(..)) => {
                let values = column.as_primitive::<Decimal64Type>().values();
                match test.try_map(|own| i64::try_from(*own).ok()) {
                    Some(test) => each(&test, values, |own, value| own.cmp(value)),
                    None => each(test, values, |own, value| own.cmp(&i128::from(*value))),
                }
            }
            (Kind::Float(test), DataType::Float64) => {
                let values = column.as_primitive::<Float64Type>().values();
                each(test, values, |own, value| own.total_cmp(&canonical(*value)))
            }
            (Kind::Boolean(test), DataType::Boolean) => {
                let values: &BooleanArray = column.as_boolean();
                BooleanBuffer::collect_bool(count, |row| {
                    test.holds(|own| own.cmp(&values.value(row)))
                })
            }
            _ => return None,
        };
        Some(match column.nulls() {
            Some(nulls) => &passed & nulls.inner(),
            None => passed,
        })
    }

    /// Whether a value between these two may satisfy it. Both may lie beyond the values that there
    /// are. What is stored as an integer may be given as one, and so may the digits of a decimal.
    #[must_use]
    pub fn may_pass(&self, least: &Value, greatest: &Value) -> bool {
        let may = match &self.0 {
            Kind::Text(test) => text_of(least)
                .zip(text_of(greatest))
                .map(|ends| in_range(test, ends, |own, value| own.cmp(value))),
            Kind::Integer(test) => stored_integer(least)
                .zip(stored_integer(greatest))
                .map(|ends| in_range(test, ends, |own, value| own.cmp(value))),
            Kind::Decimal(test) => decimal_of(least)
                .zip(decimal_of(greatest))
                .map(|ends| in_range(test, ends, |own, value| own.cmp(value))),
            Kind::Float(test) => float_of(least)
                .zip(float_of(greatest))
                .map(|ends| in_range(test, ends, |own, value| own.total_cmp(value))),
            Kind::Boolean(test) => boolean_of(least)
                .zip(boolean_of(greatest))
                .map(|ends| in_range(test, ends, |own, value| own.cmp(value))),
        };
        may.unwrap_or(true)
    }
}

fn stored_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) | Value::Time(value) | Value::Timestamp(value) => Some(*value),
        Value::Date(days) => Some(i64::from(*days)),
        _ => None,
    }
}

fn decimal_of(value: &Value) -> Option<i128> {
    match value {
        Value::Decimal(digits) => Some(*digits),
        Value::Integer(digits) => Some(i128::from(*digits)),
        _ => None,
    }
}

fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(
    test: &Test<i64>,
    column: &ArrayRef,
) -> BooleanBuffer {
    each(test, column.as_primitive::<T>().values(), |own, value| own.cmp(&(*value).into()))
}

/// Which values satisfy a test. The comparison is chosen once, not for each value.
#[inline]
fn each<T, V>(test: &Test<T>, values: &[V], order: impl Fn(&T, &V) -> Ordering) -> BooleanBuffer {
    let all = |passes: &dyn Fn(&V) -> bool| {
        BooleanBuffer::collect_bool(values.len(), |row| passes(&values[row]))
    };
    macro_rules! compared {
        ($own:ident, $method:ident) => {
            BooleanBuffer::collect_bool(values.len(), |row| order($own, &values[row]).$method())
        };
    }
    match test {
        Test::OneOf(only) if only.len() == 1 => {
            let own = &only[0];
            compared!(own, is_eq)
        }
        Test::Compare(Comparison::Less, own) => compared!(own, is_gt),
        Test::Compare(Comparison::LessOrEqual, own) => compared!(own, is_ge),
        Test::Compare(Comparison::Greater, own) => compared!(own, is_lt),
        Test::Compare(Comparison::GreaterOrEqual, own) => compared!(own, is_le),
        _ => all(&|value| test.holds(|own| order(own, value))),
    }
}

fn in_range<T>(
    test: &Test<T>,
    (least, greatest): (T, T),
    order: impl Fn(&T, &T) -> Ordering,
) -> bool {
    match test {
        Test::Compare(
            comparison @ (Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual
            | Comparison::NotEqual),
            own,
        ) => [least, greatest].iter().any(|end| comparison.holds(order(own, end).reverse())),
        Test::Compare(..) => true,
        Test::OneOf(all) => {
            all.iter().any(|own| order(own, &least).is_ge() && order(own, &greatest).is_le())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;
    use crate::path_columns::{PathColumns, PathField};
    use crate::types::Type;

    /// Compares with the outcome for lines, and with the outcome for ranges.
    fn check(column: &ArrayRef, field_type: &Type, values: &[(String, Value)], test: &PathTest) {
        let path = vec!["v".to_owned()];
        let condition = PathCondition {
            path: path.clone(),
            field_type: field_type.clone(),
            test: test.clone(),
        };
        let own = ArrayTest::new(&condition).unwrap();
        let passed = own.passes(column).unwrap();
        let field = PathField { path, field_type: field_type.clone() };
        for (row, (text, value)) in values.iter().enumerate() {
            let mut lines = PathColumns::new(from_ref(&field), from_ref(&condition), true);
            let expected = lines.push(format!("{{\"v\":{text}}}").as_bytes()).unwrap();
            assert_eq!(passed.value(row), expected, "{text} {test:?}");
            let is_null = *value == Value::Null;
            assert!(is_null || !expected || own.may_pass(value, value), "{text} {test:?}");
            // A bound beyond the values never makes a row disappear.
            if let (true, Some((_, first))) = (expected, values.first()) {
                let last = &values[values.len() - 2].1;
                assert!(own.may_pass(first, last), "{text} {test:?}");
            }
        }
    }

    #[test]
    fn columns_pass_as_lines_do() {
        let comparisons = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
            Comparison::NotDistinct,
        ];
        let all = |values: &[(String, Value)], column: ArrayRef, field_type: Type| {
            for (_, value) in values.iter().filter(|(_, value)| *value != Value::Null) {
                for comparison in comparisons {
                    let test = PathTest::Compare(comparison, value.clone());
                    check(&column, &field_type, values, &test);
                }
                let few = PathTest::OneOf(vec![value.clone(), values[0].1.clone()]);
                check(&column, &field_type, values, &few);
            }
        };
        let integers = [-5, 0, 7, i64::MAX];
        let values = integers.map(|value| (value.to_string(), Value::Integer(value)));
        let values = [&values[..], &[("null".to_owned(), Value::Null)]].concat();
        let column = Int64Array::from_iter(integers.map(Some).into_iter().chain([None]));
        all(&values, Arc::new(column), Type::Int64);
        let floats = [-1.5, -0.0, 0.0, 2.25];
        let values = floats.map(|value: f64| (format!("{value:?}"), Value::Float(value)));
        let values = [&values[..], &[("null".to_owned(), Value::Null)]].concat();
        let column = Float64Array::from_iter(floats.map(Some).into_iter().chain([None]));
        all(&values, Arc::new(column), Type::Float64);
        let texts = ["", "a", "ab", "b", "é"];
        let values = texts.map(|value| (format!("{value:?}"), Value::from(value)));
        let values = [&values[..], &[("null".to_owned(), Value::Null)]].concat();
        let column = StringArray::from_iter(texts.map(Some).into_iter().chain([None]));
        all(&values, Arc::new(column), Type::Text);
    }

    #[test]
    fn ranges_without_such_a_value_are_left_out() {
        let test = |comparison, value: i64| {
            let test = PathTest::Compare(comparison, Value::Integer(value));
            let path = vec!["v".to_owned()];
            ArrayTest::new(&PathCondition { path, field_type: Type::Int64, test }).unwrap()
        };
        let may = |test: ArrayTest| test.may_pass(&Value::Integer(10), &Value::Integer(20));
        for (comparison, value, expected) in [
            (Comparison::Equal, 9, false),
            (Comparison::Equal, 10, true),
            (Comparison::Equal, 21, false),
            (Comparison::Less, 10, false),
            (Comparison::Less, 11, true),
            (Comparison::Greater, 20, false),
            (Comparison::GreaterOrEqual, 20, true),
            (Comparison::NotEqual, 10, true),
        ] {
            assert_eq!(may(test(comparison, value)), expected, "{comparison:?} {value}");
        }
    }
}
