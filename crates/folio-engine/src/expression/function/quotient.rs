//! The whole part of a quotient: `cast(floor(x / 3600000000.0) as bigint)`, where `x` is a column of
//! integers. Times are grouped by it.
//!
//! Step by step, each value becomes a decimal, is divided with nine digits more than it has, rounded,
//! cut, and divided again. Here one division of 64 bits gives the same answer. If a value might need
//! more, it is left to the steps, and so are their errors.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use folio_compute::Batch;
use folio_compute::arithmetic::Arithmetic;
use folio_compute::type_rules::scale_of;
use folio_types::{ColumnType, Value};

use super::{Body, Function};
use crate::expression::Expr;

/// The digits that the decimal of a 64-bit integer can have more without an overflow.
const SCALES_MAX: i8 = 19;

/// The digits of a decimal that every 64-bit integer fits in.
const PRECISION_MIN: u8 = 19;

/// The values of a cast to a type; `None` if it is no whole part of a quotient, or a value might need
/// more than 64 bits.
pub(in crate::expression) fn evaluate(
    input: &Expr,
    to: &ColumnType,
    batch: &Batch,
) -> Option<ArrayRef> {
    let Expr::Function { function, arguments, .. } = input else { return None };
    let [Expr::Arithmetic { op: Arithmetic::Divide, left, right, ty, .. }] = &arguments[..] else {
        return None;
    };
    let Expr::Cast { input: dividend, to: ColumnType::Decimal { precision, scale: 0 }, .. } =
        &**left
    else {
        return None;
    };
    let (Expr::Column(column), Expr::Literal { value: Value::Decimal(divisor), .. }) =
        (&**dividend, &**right)
    else {
        return None;
    };
    if !is_floor(function) || *to != ColumnType::Int64 || *precision < PRECISION_MIN {
        return None;
    }
    let values = batch.columns[column.id.0 as usize].as_primitive_opt::<Int64Type>()?;
    let division = Division::new(*divisor, scale_of(&right.ty()), scale_of(ty))?;
    let fits = values.values().iter().all(|value| division.fits(*value));
    fits.then(|| Arc::new(values.unary::<_, Int64Type>(|value| division.floor(value))) as ArrayRef)
}

fn is_floor(function: &Function) -> bool {
    function.name == "floor" && !matches!(function.body, Body::Program(_))
}

/// A division by a decimal. The quotient is first rounded half away from zero to its scale, as all
/// quotients are, and then down.
///
/// With `d` the digits of the divisor and `s` the scale of the quotient, that is one division of the
/// dividend's digits after something has been added to them: `d / (2 · 10^s)` to those of a positive
/// one; to the size of a negative one, whose quotient is rounded up, `d - d / (2 · 10^s)`.
struct Division {
    divisor: u64,
    /// What makes digits of the dividend those of the scale of the divisor.
    factor: u64,
    /// Dividends of more than this have too many digits.
    largest: u64,
    above: u64,
    below: u64,
}

impl Division {
    fn new(divisor: i128, own_scale: i8, scale: i8) -> Option<Self> {
        let divisor = i64::try_from(divisor).ok().filter(|divisor| *divisor > 0)? as u64;
        if own_scale < 0 || scale < 0 || own_scale + scale > SCALES_MAX {
            return None;
        }
        let factor = 10u64.pow(own_scale.unsigned_abs().into());
        let half = 2 * 10u128.pow(scale.unsigned_abs().into());
        let above = u64::try_from(u128::from(divisor) / half).ok()?;
        let below = u64::try_from(u128::from(divisor) * (half - 1) / half).ok()?;
        let largest = (u64::MAX - divisor) / factor;
        // A quotient has to fit, too.
        let largest = largest.min((i64::MAX as u64 / factor).saturating_mul(divisor));
        Some(Self { divisor, factor, largest, above, below })
    }

    fn fits(&self, value: i64) -> bool {
        value.unsigned_abs() <= self.largest
    }

    fn floor(&self, value: i64) -> i64 {
        let digits = value.unsigned_abs() * self.factor;
        match value {
            0.. => ((digits + self.above) / self.divisor) as i64,
            _ => -(((digits + self.below) / self.divisor) as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: the digits of the quotient, rounded half away from zero, and then down.
    fn expected(value: i64, divisor: i128, own_scale: i8, scale: i8) -> i128 {
        let unit = 10i128.pow(scale.unsigned_abs().into());
        let digits = i128::from(value) * unit * 10i128.pow(own_scale.unsigned_abs().into());
        let (size, divisor) = (digits.unsigned_abs(), divisor.unsigned_abs());
        let rounded = size / divisor + u128::from(size % divisor >= divisor - size % divisor);
        let rounded = i128::try_from(rounded).unwrap() * digits.signum();
        rounded.div_euclid(unit)
    }

    #[test]
    fn whole_parts_are_those_of_rounded_quotients() {
        let divisors = [1, 2, 3, 7, 10, 99, 36_000_000_000, 999_999_999_999, i128::from(i64::MAX)];
        let edges =
            [0, 1, 2, 5, 1_732_206_349_000_167, i64::MAX - 1, i64::MAX, i64::MIN, i64::MIN + 1];
        let mut found = 0;
        for (divisor, scales) in divisors.into_iter().flat_map(|divisor| {
            [(0, 9), (1, 9), (9, 9), (10, 9), (0, 0), (2, 2), (0, 19)]
                .map(|scales| (divisor, scales))
        }) {
            let division = Division::new(divisor, scales.0, scales.1).unwrap();
            // Multiples of the divisor and their neighbours, where rounding matters.
            let near = [1, 2, 1_000, 77_777_777].into_iter().flat_map(|count: i64| {
                let multiple = count.saturating_mul(i64::try_from(divisor).unwrap());
                (-3..=3).map(move |more| {
                    multiple.saturating_add(more) / 10i64.pow(scales.0.unsigned_abs().into())
                })
            });
            for value in near.chain(edges).flat_map(|value| [value, value.saturating_neg()]) {
                let expected = expected(value, divisor, scales.0, scales.1);
                match division.fits(value) {
                    true => assert_eq!(
                        i128::from(division.floor(value)),
                        expected,
                        "{value} / {divisor} {scales:?}"
                    ),
                    false => continue,
                }
                found += 1;
            }
        }
        assert!(found > 2_000, "{found}");
    }

    #[test]
    fn a_quotient_just_below_a_whole_number_is_rounded_to_it() {
        let division = Division::new(10_000_000_000, 0, 9).unwrap();
        let floors =
            [19_999_999_994, 19_999_999_995, -1, -5, -6, i64::MIN].map(|v| division.floor(v));
        assert_eq!(floors, [1, 2, 0, -1, -1, -922_337_204]);
    }

    #[test]
    fn what_may_overflow_is_left_to_the_steps() {
        let made = |divisor, own_scale| Division::new(divisor, own_scale, 9).is_some();
        assert!(made(1, 10) && !made(1, 11), "digits of the dividend");
        assert!(!made(0, 0) && !made(-3, 0) && !made(i128::from(i64::MAX) + 1, 0));
        // A thousandth: quotients have to fit, and so have the digits of the dividend.
        let thousandth = Division::new(1, 3, 9).unwrap();
        assert!(thousandth.fits(i64::MAX / 1_000) && !thousandth.fits(i64::MAX / 1_000 + 1));
        assert!(Division::new(1, 0, 9).unwrap().fits(i64::MAX));
        assert!(!Division::new(1, 0, 9).unwrap().fits(i64::MIN));
        assert!(Division::new(2, 0, 9).unwrap().fits(i64::MIN));
    }
}
