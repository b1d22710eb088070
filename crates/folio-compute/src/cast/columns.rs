//! Casts whole columns of numbers and dates.
//!
//! Supports the few types that SQL has here. Arrow's own kernel handles every pair of its types
//! and takes three megabytes of machine code.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use folio_types::{ColumnType, temporal};

use super::{range, rescale};
use crate::error::Result;

/// Casts a column; `None` if it has to be cast value by value.
///
/// # Errors
/// `invalid_input` for values that do not fit, unless they become null.
pub(super) fn cast(
    array: &ArrayRef,
    from: &ColumnType,
    to: &ColumnType,
    is_try: bool,
) -> Result<Option<ArrayRef>> {
    use ColumnType as Type;
    let to = Target { ty: to, is_try };
    match (from, to.ty) {
        (Type::Int16, _) => to.of_integers(array.as_primitive::<Int16Type>()),
        (Type::Int32, _) => to.of_integers(array.as_primitive::<Int32Type>()),
        (Type::Int64, _) => to.of_integers(array.as_primitive::<Int64Type>()),
        (Type::Decimal { scale, .. }, _) => to.of_decimals(array.as_primitive(), *scale),
        (Type::Float32, Type::Float64) => {
            Ok(every::<_, Float64Type>(array.as_primitive::<Float32Type>(), f64::from))
        }
        (Type::Float64, Type::Float32) => {
            to.fitting::<_, Float32Type>(array.as_primitive::<Float64Type>(), single).map(some)
        }
        (Type::Date, Type::Timestamp { utc: false }) => to
            .fitting::<_, TimestampMicrosecondType>(array.as_primitive::<Date32Type>(), |day| {
                i64::from(day).checked_mul(temporal::DAY)
            })
            .map(some),
        _ => Ok(None),
    }
}

/// The target of a cast.
struct Target<'a> {
    ty: &'a ColumnType,
    /// Whether values that do not fit become null.
    is_try: bool,
}

impl Target<'_> {
    #[allow(clippy::cast_precision_loss, reason = "that precision is what was asked for")]
    fn of_integers<T>(&self, array: &PrimitiveArray<T>) -> Result<Option<ArrayRef>>
    where
        T: ArrowPrimitiveType,
        T::Native: Into<i64>,
    {
        use ColumnType as Type;
        Ok(Some(match self.ty {
            Type::Int16 => Arc::new(
                self.fitting::<T, Int16Type>(array, |value| i16::try_from(value.into()).ok())?,
            ),
            Type::Int32 => Arc::new(
                self.fitting::<T, Int32Type>(array, |value| i32::try_from(value.into()).ok())?,
            ),
            Type::Int64 => Arc::new(array.unary::<_, Int64Type>(Into::into)),
            Type::Float32 => Arc::new(array.unary::<_, Float32Type>(|value| value.into() as f32)),
            Type::Float64 => Arc::new(array.unary::<_, Float64Type>(|value| value.into() as f64)),
            Type::Decimal { precision, scale } => {
                return self.decimals(array, *precision, *scale, |value| {
                    rescale(value.into().into(), 0, *scale)
                });
            }
            Type::Boolean => {
                let set = |row: usize| array.value(row).into() != 0;
                let values = BooleanBuffer::collect_bool(array.len(), set);
                Arc::new(BooleanArray::new(values, array.nulls().cloned()))
            }
            Type::Text => text_of_integers(array),
            _ => return Ok(None),
        }))
    }

    fn of_decimals(
        &self,
        array: &PrimitiveArray<Decimal128Type>,
        own: i8,
    ) -> Result<Option<ArrayRef>> {
        match self.ty {
            ColumnType::Decimal { precision, scale } => {
                self.decimals(array, *precision, *scale, |digits| rescale(digits, own, *scale))
            }
            ColumnType::Float64 => Ok(every::<_, Float64Type>(array, |digits| float(digits, own))),
            ColumnType::Float32 => {
                let nearest = |digits| single(float(digits, own));
                Ok(some(self.fitting::<_, Float32Type>(array, nearest)?))
            }
            ColumnType::Int64 => {
                let whole = |digits| i64::try_from(rescale(digits, own, 0)?).ok();
                Ok(some(self.fitting::<_, Int64Type>(array, whole)?))
            }
            _ => Ok(None),
        }
    }

    fn decimals<T: ArrowPrimitiveType>(
        &self,
        array: &PrimitiveArray<T>,
        precision: u8,
        scale: i8,
        digits: impl Fn(T::Native) -> Option<i128>,
    ) -> Result<Option<ArrayRef>> {
        let limit = 10u128.pow(precision.into());
        let array = self.fitting::<T, Decimal128Type>(array, |value| {
            digits(value).filter(|digits| digits.unsigned_abs() < limit)
        })?;
        Ok(some(array.with_precision_and_scale(precision, scale)?))
    }

    /// Converts each value. Values that do not fit become null or an error.
    fn fitting<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
        &self,
        array: &PrimitiveArray<F>,
        convert: impl Fn(F::Native) -> Option<T::Native>,
    ) -> Result<PrimitiveArray<T>> {
        if self.is_try {
            return Ok(array.unary_opt(convert));
        }
        array.try_unary(|value| convert(value).ok_or_else(|| range(self.ty)))
    }
}

fn every<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &PrimitiveArray<F>,
    convert: impl Fn(F::Native) -> T::Native,
) -> Option<ArrayRef> {
    some(array.unary::<_, T>(convert))
}

fn some(array: impl Array + 'static) -> Option<ArrayRef> {
    Some(Arc::new(array))
}

fn text_of_integers<T>(array: &PrimitiveArray<T>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 8);
    for value in array {
        match value {
            Some(value) => {
                write!(texts, "{}", value.into()).expect("memory takes all text");
                texts.append_value("");
            }
            None => texts.append_null(),
        }
    }
    Arc::new(texts.finish())
}

/// The single nearest to a double; `None` if it is too large for one.
pub(super) fn single(value: f64) -> Option<f32> {
    #[allow(clippy::cast_possible_truncation, reason = "single precision was asked for")]
    let nearest = value as f32;
    (nearest.is_finite() || !value.is_finite()).then_some(nearest)
}

/// The double nearest to a decimal. If digits and power of ten are exact doubles, their quotient
/// is rounded correctly (Clinger, "How to read floating point numbers accurately", 1990). Others
/// are parsed from text.
#[allow(clippy::cast_precision_loss, reason = "integers up to 2^53 are doubles")]
pub(super) fn float(digits: i128, scale: i8) -> f64 {
    const EXACT_MAX: u128 = 1 << 53;
    const EXACT_SCALE_MAX: i8 = 22;
    // Quotients end in zeros.
    let (mut short, mut short_scale) = (digits, scale);
    while short.unsigned_abs() > EXACT_MAX && short_scale > 0 {
        let (tenth, last) = match i64::try_from(short) {
            Ok(short) => (i128::from(short / 10), i128::from(short % 10)),
            Err(_) => (short / 10, short % 10),
        };
        if last != 0 {
            break;
        }
        (short, short_scale) = (tenth, short_scale - 1);
    }
    if short.unsigned_abs() <= EXACT_MAX && (0..=EXACT_SCALE_MAX).contains(&short_scale) {
        return short as f64 / 10f64.powi(short_scale.into());
    }
    super::format_decimal(digits, scale).parse().expect("digits with a point are a number")
}

#[cfg(test)]
mod tests {
    use folio_types::Value;

    use super::super::{cast_array, cast_value};
    use super::*;
    use crate::array::{to_array, value_at};

    fn values(ty: &ColumnType) -> Vec<Value> {
        let integers = [0, 1, -1, 7, i64::from(i16::MAX), i64::from(i32::MAX) + 1, i64::MIN];
        let floats = [0.0, -0.5, 0.1, 1.5, 16_777_217.0, -3.4e38];
        let digits = [0, 1, -5, 12_345, -99_999_999, 10i128.pow(17) + 1];
        let all: Vec<Value> = match ty {
            ColumnType::Float32 | ColumnType::Float64 => {
                floats.into_iter().map(Value::Float).collect()
            }
            ColumnType::Decimal { .. } => digits.into_iter().map(Value::Decimal).collect(),
            ColumnType::Date => [0, -1, 20_000, 2_932_896].into_iter().map(Value::Date).collect(),
            _ => integers.into_iter().map(Value::Integer).collect(),
        };
        let fits = |value: &Value| ty.accepts(value.as_ref());
        all.into_iter().filter(fits).chain([Value::Null]).collect()
    }

    #[test]
    fn columns_are_cast_as_their_values_are() {
        let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
        let types = [
            ColumnType::Boolean,
            ColumnType::Int16,
            ColumnType::Int32,
            ColumnType::Int64,
            ColumnType::Float32,
            ColumnType::Float64,
            decimal(38, 0),
            decimal(18, 3),
            decimal(18, 1),
            decimal(6, 2),
            ColumnType::Text,
            ColumnType::Date,
            ColumnType::Timestamp { utc: false },
        ];
        let mut count = 0;
        for from in types.iter().filter(|ty| !matches!(ty, ColumnType::Boolean | ColumnType::Text))
        {
            let values = values(from);
            let array = to_array(values.iter(), from).unwrap();
            for to in types.iter().filter(|to| *to != from) {
                let Some(cast) = cast(&array, from, to, true).unwrap() else { continue };
                assert_eq!(*cast.data_type(), to.to_arrow());
                let mut do_all_fit = true;
                for row in 0..values.len() {
                    let value = value_at(&array, row, from);
                    let expected = cast_value(&value, from, to);
                    do_all_fit &= expected.is_ok();
                    let shown = format!("{value:?} from {from:?} to {to:?}");
                    assert_eq!(
                        value_at(&cast, row, to),
                        expected.unwrap_or(Value::Null),
                        "{shown}"
                    );
                    count += 1;
                }
                assert_eq!(
                    cast_array(&array, from, to, false).is_ok(),
                    do_all_fit,
                    "{from:?} to {to:?}"
                );
            }
        }
        assert!(count > 300, "{count} casts were looked at");
    }
}
