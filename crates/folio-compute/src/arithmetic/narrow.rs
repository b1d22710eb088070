//! Sums, differences and products of decimals with 64 bits, which scans of columns return where
//! nothing but exact sums reads them.
//!
//! A bound of the operands tells whether all results have 64 bits too. So no row is checked, and the
//! digits of money take half of the memory.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Decimal128Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DECIMAL64_MAX_SCALE, DataType};

use super::Arithmetic;
use super::numbers::each;
use crate::error::Result;
use crate::evaluated::Evaluated;

/// Digits below this fit in the type.
const LIMIT: i64 = 10i64.pow(DECIMAL64_MAX_PRECISION as u32);

/// `None` if no operand has 64 bits, or one of them or of the results might have more.
pub(super) fn evaluate(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
    (left_scale, right_scale, scale): (i8, i8, i8),
) -> Result<Option<ArrayRef>> {
    if scale > DECIMAL64_MAX_SCALE || !(is_narrow(left) || is_narrow(right)) {
        return Ok(None);
    }
    let Some((left, right)) = narrowed(left).zip(narrowed(right)) else { return Ok(None) };
    let common = left_scale.max(right_scale);
    let factor = |scale: i8| 10i64.checked_pow(u32::from(common.abs_diff(scale)));
    let Some((first, second)) = factor(left_scale).zip(factor(right_scale)) else {
        return Ok(None);
    };
    let fits = |bound: Option<i64>| bound.is_some_and(|bound| bound < LIMIT);
    let bounds = bound(&left).zip(bound(&right));
    let Some((left_bound, right_bound)) = bounds else { return Ok(None) };
    let of_sum = || left_bound.checked_mul(first)?.checked_add(right_bound.checked_mul(second)?);
    let array = match op {
        Arithmetic::Multiply
            if left_scale + right_scale == scale && fits(left_bound.checked_mul(right_bound)) =>
        {
            each::<Decimal64Type>(&left, &right, i64::wrapping_mul)?
        }
        Arithmetic::Add if fits(of_sum()) => {
            each::<Decimal64Type>(&left, &right, |left, right| left * first + right * second)?
        }
        Arithmetic::Subtract if fits(of_sum()) => {
            each::<Decimal64Type>(&left, &right, |left, right| left * first - right * second)?
        }
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(array.with_precision_and_scale(DECIMAL64_MAX_PRECISION, scale)?)))
}

fn is_narrow(operand: &Evaluated) -> bool {
    matches!(operand.inner().data_type(), DataType::Decimal64(..))
}

/// An operand with 64 bits: also a constant, if it has no more.
fn narrowed(operand: &Evaluated) -> Option<Evaluated> {
    if is_narrow(operand) {
        return Some(operand.clone());
    }
    let wide = operand.inner().as_primitive::<Decimal128Type>();
    if !operand.is_scalar() || wide.null_count() > 0 || i64::try_from(wide.value(0)).is_err() {
        return None;
    }
    Some(operand.with(Arc::new(wide.unary::<_, Decimal64Type>(|digits| digits as i64))))
}

/// What no digits exceed, negative ones neither; `None` beyond 62 bits.
fn bound(operand: &Evaluated) -> Option<i64> {
    let digits = operand.inner().as_primitive::<Decimal64Type>().values();
    let bits = digits.iter().fold(0, |all, own| all | (own ^ (own >> 63)));
    1i64.checked_shl(u64::BITS - bits.leading_zeros()).filter(|bound| *bound > 0)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal64Array, Decimal128Array};

    use super::*;
    use crate::arithmetic::decimals;
    use crate::array::plain;

    /// Computes with columns of 64 bits, and with the same of 128.
    fn check(
        op: Arithmetic,
        (left, right): (&[Option<i64>], &[Option<i64>]),
        scales: (i8, i8, i8),
    ) {
        let column = |digits: &[Option<i64>], scale: i8| {
            let column = Decimal64Array::from_iter(digits.iter().copied());
            let column = column.with_precision_and_scale(DECIMAL64_MAX_PRECISION, scale);
            Evaluated::Array(Arc::new(column.unwrap()))
        };
        let wide = |operand: &Evaluated| operand.with(plain(operand.inner()));
        let (left, right) = (column(left, scales.0), column(right, scales.1));
        let constant = Evaluated::Scalar(wide(&right).inner().slice(0, 1));
        for (left, right) in [(&left, &right), (&left, &constant), (&constant, &left)] {
            let expected = decimals(op, &wide(left), &wide(right), scales);
            let found = decimals(op, left, right, scales);
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let (found, expected) = (plain(&found), plain(&expected));
                    let digits = |array: &ArrayRef| -> Vec<Option<i128>> {
                        array.as_primitive::<Decimal128Type>().iter().collect()
                    };
                    assert_eq!(digits(&found), digits(&expected), "{op:?} {scales:?}");
                }
                (found, expected) => assert_eq!(found.is_err(), expected.is_err(), "{op:?}"),
            }
        }
    }

    #[test]
    fn digits_are_those_of_wide_decimals() {
        use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
        let small = [Some(0), Some(-1), None, Some(7), Some(123_456), Some(-99_999_999)];
        let large = [i64::MAX, i64::MIN, LIMIT, LIMIT - 1, 1 - LIMIT, -LIMIT].map(Some);
        let other = [Some(3), Some(-10), Some(5), None, Some(1), Some(-2)];
        for (left, right) in [(small, other), (large, other), (large, large), (small, large)] {
            for op in [Add, Subtract, Multiply] {
                for (one, two) in [(2, 2), (0, 4), (6, 0), (18, 0), (2, 18)] {
                    let scale = if op == Multiply {
                        (one + two).min(12.max(one.max(two)))
                    } else {
                        one.max(two)
                    };
                    check(op, (&left, &right), (one, two, scale));
                }
            }
            let right = right.map(|digits| digits.or(Some(1)));
            check(Divide, (&left, &right), (2, 2, 9));
            check(Remainder, (&left, &right), (2, 2, 2));
        }
    }

    #[test]
    fn results_have_64_bits_where_they_fit() {
        let narrow = |digits: Vec<i64>| -> Evaluated {
            let column = Decimal64Array::from(digits).with_precision_and_scale(18, 2).unwrap();
            Evaluated::Array(Arc::new(column))
        };
        let one = Decimal128Array::from(vec![1]).with_precision_and_scale(38, 0).unwrap();
        let one = Evaluated::Scalar(Arc::new(one));
        let ty = |op, left: &Evaluated, right: &Evaluated, scales| {
            decimals(op, left, right, scales).unwrap().data_type().clone()
        };
        let few = narrow(vec![5, -7]);
        assert_eq!(ty(Arithmetic::Subtract, &one, &few, (0, 2, 2)), DataType::Decimal64(18, 2));
        assert_eq!(ty(Arithmetic::Multiply, &few, &few, (2, 2, 4)), DataType::Decimal64(18, 4));
        let many = narrow(vec![LIMIT - 1, 1]);
        assert_eq!(ty(Arithmetic::Multiply, &few, &many, (2, 2, 4)), DataType::Decimal128(38, 4));
        assert_eq!(ty(Arithmetic::Add, &many, &many, (2, 2, 2)), DataType::Decimal128(38, 2));
    }
}
