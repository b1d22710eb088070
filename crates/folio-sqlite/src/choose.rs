//! Chooses the type of a column: the declared one if every value has it, otherwise one that fits
//! every value without loss.

use folio_types::ColumnType;

use crate::declared::Intent;
use crate::observe::{Facts, MomentKind};

/// A chosen type, and remarks about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) ty: ColumnType,
    /// The maximum number of characters, if imported.
    pub(crate) length: Option<u32>,
    /// Why it differs from the declared type.
    pub(crate) reason: Option<String>,
    /// Whether distinct values stay distinct, so that a key stays a key.
    pub(crate) keeps_apart: bool,
}

/// The scale of `numeric` without arguments.
const PLAIN_DECIMAL: (u8, i8) = (38, 9);

/// Chooses a type.
pub(crate) fn choose(intent: Intent, facts: &Facts, is_key: bool) -> Choice {
    let [has_number, has_text, has_blob] = facts.classes();
    match (has_number, has_text, has_blob) {
        (false, false, false) => plain(default_type(intent, is_key), length_of(intent)),
        (true, false, false) => of_numbers(intent, facts, is_key),
        (false, true, false) => of_texts(intent, facts, is_key),
        (false, false, true) => of_blobs(intent, facts),
        (_, _, true) => mixed(ColumnType::Binary, facts, "text and numbers became their bytes"),
        _ if intent == Intent::Json && facts.is_json && facts.is_finite && !is_key => {
            plain(ColumnType::Json, None)
        }
        _ => mixed(ColumnType::Text, facts, "numbers became text"),
    }
}

/// The type of a column without values.
fn default_type(intent: Intent, is_key: bool) -> ColumnType {
    match intent {
        Intent::Boolean => ColumnType::Boolean,
        Intent::Integer => ColumnType::Int64,
        Intent::Real => ColumnType::Float64,
        Intent::Decimal(arguments) => decimal(arguments.unwrap_or(PLAIN_DECIMAL)),
        Intent::Text(_) | Intent::Any => ColumnType::Text,
        Intent::Blob => ColumnType::Binary,
        Intent::Date => ColumnType::Date,
        Intent::Time => ColumnType::Time,
        Intent::Timestamp => ColumnType::Timestamp { utc: false },
        Intent::Json if is_key => ColumnType::Text,
        Intent::Json => ColumnType::Json,
        Intent::Uuid => ColumnType::Uuid,
    }
}

fn of_numbers(intent: Intent, facts: &Facts, is_key: bool) -> Choice {
    let is_whole = facts.real_count == 0;
    match intent {
        Intent::Boolean if is_whole && facts.is_boolean => plain(ColumnType::Boolean, None),
        Intent::Json if facts.is_finite && !is_key => plain(ColumnType::Json, None),
        Intent::Real if facts.fits_double => plain(ColumnType::Float64, None),
        Intent::Decimal(arguments) => match decimal_for(arguments, facts) {
            Some(ty) => plain(ty, None),
            None => of_other_numbers(facts, "its values need more digits"),
        },
        Intent::Integer | Intent::Any if is_whole => plain(ColumnType::Int64, None),
        Intent::Any if facts.fits_double => plain(ColumnType::Float64, None),
        _ => of_other_numbers(facts, "it holds other numbers"),
    }
}

/// The choice for numbers in a column that was declared for something else.
fn of_other_numbers(facts: &Facts, reason: &str) -> Choice {
    let (ty, keeps_apart) = if facts.real_count == 0 {
        (ColumnType::Int64, true)
    } else if facts.fits_double {
        (ColumnType::Float64, true)
    } else if let Some(ty) = decimal_for(None, facts) {
        (ty, true)
    } else {
        (ColumnType::Text, false)
    };
    Choice { ty, length: None, reason: Some(reason.to_owned()), keeps_apart }
}

fn of_texts(intent: Intent, facts: &Facts, is_key: bool) -> Choice {
    if facts.broken_count > 0 {
        let count = facts.broken_count;
        let reason = format!("{count} of its texts had invalid bytes, which became U+FFFD");
        let ty = ColumnType::Text;
        return Choice { ty, length: None, reason: Some(reason), keeps_apart: false };
    }
    let moment = facts.moments.kind(is_key).map(|kind| match kind {
        MomentKind::Date => (Intent::Date, ColumnType::Date),
        MomentKind::Time => (Intent::Time, ColumnType::Time),
        MomentKind::Timestamp => (Intent::Timestamp, ColumnType::Timestamp { utc: false }),
        MomentKind::Instant => (Intent::Timestamp, ColumnType::Timestamp { utc: true }),
    });
    let text = |reason: String| Choice {
        ty: ColumnType::Text,
        length: None,
        reason: Some(reason),
        keeps_apart: true,
    };
    match intent {
        Intent::Text(Some(length)) if facts.length > length as usize => {
            text(format!("it was declared for {length} characters and holds {}", facts.length))
        }
        Intent::Text(_) | Intent::Any => plain(ColumnType::Text, length_of(intent)),
        Intent::Json if facts.is_json && !is_key => plain(ColumnType::Json, None),
        Intent::Json if facts.is_json => text("a key cannot be json".to_owned()),
        Intent::Uuid if facts.uuids.kind(is_key).is_some() => plain(ColumnType::Uuid, None),
        Intent::Date | Intent::Time | Intent::Timestamp => match moment {
            Some((own, ty)) if own == intent => plain(ty, None),
            Some((_, ty)) => Choice {
                ty,
                length: None,
                reason: Some(format!("it was declared {} and holds others", intent.word())),
                keeps_apart: true,
            },
            None => text(format!("not every value is a {} in one form", intent.word())),
        },
        _ => text(format!("it was declared {} and holds text", intent.word())),
    }
}

fn of_blobs(intent: Intent, facts: &Facts) -> Choice {
    match intent {
        Intent::Blob | Intent::Any => plain(ColumnType::Binary, None),
        Intent::Uuid if facts.uuids.kind(true).is_some() => plain(ColumnType::Uuid, None),
        _ => Choice {
            reason: Some(format!("it was declared {} and holds blobs", intent.word())),
            ..plain(ColumnType::Binary, None)
        },
    }
}

/// The choice for values of several classes in one column.
fn mixed(ty: ColumnType, facts: &Facts, outcome: &str) -> Choice {
    let parts = [
        (facts.integer_count, "integer"),
        (facts.real_count, "real"),
        (facts.text_count, "text"),
        (facts.blob_count, "blob"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    let mut reason = format!("it holds {}; {outcome}", parts.join(", "));
    if facts.broken_count > 0 {
        reason += &format!(", and the invalid bytes of {} texts became U+FFFD", facts.broken_count);
    }
    Choice { ty, length: None, reason: Some(reason), keeps_apart: false }
}

fn plain(ty: ColumnType, length: Option<u32>) -> Choice {
    Choice { ty, length, reason: None, keeps_apart: true }
}

fn length_of(intent: Intent) -> Option<u32> {
    match intent {
        Intent::Text(length) => length,
        _ => None,
    }
}

fn decimal((precision, scale): (u8, i8)) -> ColumnType {
    ColumnType::Decimal { precision, scale }
}

/// The decimal type that fits all numbers: the declared one, or one with more fractional digits.
fn decimal_for(arguments: Option<(u8, i8)>, facts: &Facts) -> Option<ColumnType> {
    let fits = |(precision, scale): (u8, i8)| {
        let scale = u32::from(scale.cast_unsigned());
        facts.is_finite
            && facts.fraction_digits <= scale
            && facts.whole_digits + scale <= u32::from(precision)
    };
    match arguments {
        Some(arguments) => fits(arguments).then(|| decimal(arguments)),
        None => fits(PLAIN_DECIMAL).then(|| decimal(PLAIN_DECIMAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Encoding, Stored};

    const ONE: Stored<'_> = Stored::Integer(1);
    const BIG: Stored<'_> = Stored::Integer(i64::MAX);
    const HALF: Stored<'_> = Stored::Real(0.5);
    const WORD: Stored<'_> = Stored::Text(b"word");
    const DAY: Stored<'_> = Stored::Text(b"2024-05-06");
    const NOON: Stored<'_> = Stored::Text(b"2024-05-06 12:00");
    const NOON_ALSO: Stored<'_> = Stored::Text(b"2024-05-06T12:00:00");
    const BLOB: Stored<'_> = Stored::Blob(b"\0");
    const NUMERIC: ColumnType = ColumnType::Decimal { precision: 5, scale: 2 };
    const PLAIN: ColumnType = ColumnType::Decimal { precision: 38, scale: 9 };
    const TIMESTAMP: ColumnType = ColumnType::Timestamp { utc: false };

    #[test]
    fn types_by_declaration_and_values() {
        use ColumnType::{Binary, Boolean, Date, Float64, Int64, Json, Text};
        for (intent, values, ty) in [
            (Intent::Integer, &[][..], Int64),
            (Intent::Integer, &[ONE, BIG, Stored::Null], Int64),
            (Intent::Integer, &[ONE, HALF], Float64),
            (Intent::Integer, &[BIG, HALF], PLAIN),
            (Intent::Integer, &[BIG, Stored::Real(1e300)], Text),
            (Intent::Integer, &[ONE, WORD], Text),
            (Intent::Integer, &[ONE, WORD, BLOB], Binary),
            (Intent::Boolean, &[ONE, Stored::Integer(0)], Boolean),
            (Intent::Boolean, &[Stored::Integer(2)], Int64),
            (Intent::Boolean, &[WORD], Text),
            (Intent::Decimal(Some((5, 2))), &[HALF, Stored::Integer(999)], NUMERIC),
            (Intent::Decimal(Some((5, 2))), &[HALF, Stored::Integer(1000)], Float64),
            (Intent::Decimal(None), &[HALF, BIG], PLAIN),
            (Intent::Decimal(None), &[Stored::Real(1e-10)], Float64),
            (Intent::Date, &[DAY], Date),
            (Intent::Date, &[DAY, NOON], Text),
            (Intent::Date, &[NOON], TIMESTAMP),
            (Intent::Timestamp, &[NOON, NOON_ALSO], TIMESTAMP),
            (Intent::Timestamp, &[ONE], Int64),
            (Intent::Json, &[Stored::Text(b"{\"a\":1}"), ONE], Json),
            (Intent::Json, &[Stored::Text(b"{a:1}")], Text),
            (Intent::Uuid, &[Stored::Blob(&[7; 16])], ColumnType::Uuid),
            (Intent::Uuid, &[WORD], Text),
            (Intent::Any, &[HALF, ONE], Float64),
            (Intent::Any, &[BLOB], Binary),
            (Intent::Text(Some(3)), &[WORD], Text),
        ] {
            let mut facts = Facts::new(intent);
            values.iter().for_each(|value| facts.observe(*value, Encoding::Utf8));
            assert_eq!(choose(intent, &facts, false).ty, ty, "{intent:?} {values:?}");
        }
    }

    #[test]
    fn keys_stay_apart() {
        let choice = |intent: Intent, values: &[Stored<'_>]| {
            let mut facts = Facts::new(intent);
            values.iter().for_each(|value| facts.observe(*value, Encoding::Utf8));
            choose(intent, &facts, true)
        };
        assert_eq!(choice(Intent::Timestamp, &[NOON]).ty, TIMESTAMP);
        // Two texts for the same instant.
        assert_eq!(choice(Intent::Timestamp, &[NOON, NOON_ALSO]).ty, ColumnType::Text);
        assert!(!choice(Intent::Any, &[ONE, Stored::Text(b"1")]).keeps_apart);
        assert!(!choice(Intent::Text(None), &[Stored::Text(b"\xff")]).keeps_apart);
    }
}
