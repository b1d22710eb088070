//! Converts stored values to a column's type: exactly, or not at all.

use std::borrow::Cow;

use folio_types::{ColumnType, Value};
use uuid::Uuid;

use crate::moment::Moment;
use crate::record::{Encoding, Stored};

/// The value in a column of a type; `None` if it does not fit.
pub(crate) fn convert(stored: Stored<'_>, ty: &ColumnType, encoding: Encoding) -> Option<Value> {
    let moment = || match stored {
        Stored::Text(bytes) => Moment::parse(&encoding.decode(bytes).0),
        _ => None,
    };
    Some(match (ty, stored) {
        (_, Stored::Null) => Value::Null,
        (ColumnType::Boolean, Stored::Integer(number @ 0..=1)) => Value::Boolean(number == 1),
        (ColumnType::Int64, Stored::Integer(number)) => Value::Integer(number),
        (ColumnType::Float64, Stored::Real(number)) => Value::Float(number),
        (ColumnType::Float64, Stored::Integer(number)) => Value::Float(as_double(number)?),
        (ColumnType::Decimal { precision, scale }, Stored::Integer(_) | Stored::Real(_)) => {
            decimal(&number_text(stored, true)?, *precision, *scale)?
        }
        (ColumnType::Text, stored) => Value::Text(text(stored, encoding)?.into_owned()),
        (ColumnType::Json, Stored::Integer(_) | Stored::Real(_) | Stored::Text(_)) => {
            Value::Text(text(stored, encoding)?.into_owned())
        }
        (ColumnType::Binary, Stored::Blob(bytes)) => Value::Bytes(bytes.to_owned()),
        (ColumnType::Binary, stored) => {
            Value::Bytes(text(stored, encoding)?.into_owned().into_bytes())
        }
        (ColumnType::Uuid, Stored::Blob(bytes)) => Value::Uuid(bytes.try_into().ok()?),
        (ColumnType::Uuid, Stored::Text(bytes)) => {
            Value::Uuid(hyphenated(&encoding.decode(bytes).0)?)
        }
        (ColumnType::Date, _) => match moment()? {
            Moment::Date(days) => Value::Date(days),
            _ => return None,
        },
        (ColumnType::Time, _) => match moment()? {
            Moment::Time(time) => Value::Time(time),
            _ => return None,
        },
        (ColumnType::Timestamp { utc }, _) => match (moment()?, utc) {
            (Moment::Timestamp(time), false) | (Moment::Instant(time), true) => {
                Value::Timestamp(time)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// A value as text: numbers as they are written. A blob is not text.
pub(crate) fn text(stored: Stored<'_>, encoding: Encoding) -> Option<Cow<'_, str>> {
    match stored {
        Stored::Text(bytes) => Some(encoding.decode(bytes).0),
        other => number_text(other, false).map(Cow::Owned),
    }
}

/// A number as the shortest text that is read back as the same number.
pub(crate) fn number_text(stored: Stored<'_>, is_plain: bool) -> Option<String> {
    match stored {
        Stored::Integer(number) => Some(number.to_string()),
        Stored::Real(number) if is_plain => number.is_finite().then(|| number.to_string()),
        Stored::Real(number) => Some(format!("{number:?}")),
        _ => None,
    }
}

/// An integer as a floating-point number, if exact.
pub(crate) fn as_double(number: i64) -> Option<f64> {
    const LIMIT: u64 = 1 << 53;
    #[allow(clippy::cast_precision_loss)] // what is beyond the limit is refused
    (number.unsigned_abs() <= LIMIT).then_some(number as f64)
}

/// The 16 bytes of a UUID with its hyphens.
pub(crate) fn hyphenated(text: &str) -> Option<[u8; 16]> {
    let uuid = Uuid::try_parse(text).ok().filter(|_| text.len() == 36)?;
    Some(uuid.into_bytes())
}

/// The number of digits before and after the point, of a text without exponent.
pub(crate) fn digit_counts(text: &str) -> (u32, u32) {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let count = |digits: &str| u32::try_from(digits.len()).unwrap_or(u32::MAX);
    (count(whole.trim_start_matches('0')), count(fraction))
}

/// Parses a text without exponent as a decimal.
fn decimal(text: &str, precision: u8, scale: i8) -> Option<Value> {
    let scale = u32::from(scale.cast_unsigned());
    let (whole, fraction) = digit_counts(text);
    if fraction > scale || whole + scale > u32::from(precision) {
        return None;
    }
    let mut digits: String = text.chars().filter(|part| *part != '.').collect();
    digits.extend((fraction..scale).map(|_| '0'));
    digits.parse().ok().map(Value::Decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_or_do_not() {
        let numeric = ColumnType::Decimal { precision: 5, scale: 2 };
        let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        for (ty, stored, value) in [
            (&numeric, Stored::Real(19.99), Some(Value::Decimal(1999))),
            (&numeric, Stored::Real(-0.5), Some(Value::Decimal(-50))),
            (&numeric, Stored::Integer(-7), Some(Value::Decimal(-700))),
            (&numeric, Stored::Integer(1000), None),
            (&numeric, Stored::Real(0.125), None),
            (&numeric, Stored::Real(f64::INFINITY), None),
            (&ColumnType::Boolean, Stored::Integer(2), None),
            (&ColumnType::Float64, Stored::Integer(i64::MAX), None),
            (&ColumnType::Float64, Stored::Integer(-3), Some(Value::Float(-3.0))),
            (&ColumnType::Text, Stored::Real(1.0), Some(Value::Text("1.0".to_owned()))),
            (&ColumnType::Text, Stored::Blob(b"a"), None),
            (&ColumnType::Binary, Stored::Text(b"a"), Some(Value::Bytes(b"a".to_vec()))),
            (&ColumnType::Uuid, Stored::Text(&uuid.as_bytes()[1..]), None),
            (&ColumnType::Uuid, Stored::Blob(&[1; 16]), Some(Value::Uuid([1; 16]))),
            (&ColumnType::Date, Stored::Text(b"1970-01-02"), Some(Value::Date(1))),
            (&ColumnType::Date, Stored::Text(b"1970-01-02 00:00"), None),
            (&ColumnType::Int64, Stored::Null, Some(Value::Null)),
        ] {
            assert_eq!(convert(stored, ty, Encoding::Utf8), value, "{ty:?} {stored:?}");
        }
        assert!(hyphenated(uuid).is_some());
        assert_eq!(number_text(Stored::Real(1e300), true).map(|text| text.len()), Some(301));
    }
}
