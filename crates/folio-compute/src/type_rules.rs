//! Groups of types, and the common type of two.

use folio_types::ColumnType;

/// Precision of computed decimals.
pub const COMPUTED_PRECISION: u8 = 38;

/// Whether it is an integer type.
pub fn is_integer(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64)
}

/// Whether it is a numeric type.
pub fn is_numeric(ty: &ColumnType) -> bool {
    is_integer(ty)
        || matches!(ty, ColumnType::Decimal { .. } | ColumnType::Float32 | ColumnType::Float64)
}

/// Whether it is a date or time type.
pub fn is_temporal(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Date | ColumnType::Time | ColumnType::Timestamp { .. })
}

/// The scale: digits after the point.
pub fn scale_of(ty: &ColumnType) -> i8 {
    match ty {
        ColumnType::Decimal { scale, .. } => *scale,
        _ => 0,
    }
}

/// The type of computed decimals of this scale.
pub fn decimal(scale: i8) -> ColumnType {
    ColumnType::Decimal { precision: COMPUTED_PRECISION, scale }
}

/// The type that both can be cast to without a change of meaning. It begins with what the left
/// one has: `unify(wide, narrow)` is `wide` if it holds all that the other does.
pub fn unify(left: &ColumnType, right: &ColumnType) -> Option<ColumnType> {
    use ColumnType::{
        Date, Decimal, Float32, Float64, Int16, Int32, Int64, Json, List, Map, Struct, Text,
        Timestamp,
    };
    if left == right {
        return Some(left.clone());
    }
    Some(match (left, right) {
        (Float64, other) | (other, Float64) if is_numeric(other) => Float64,
        (Float32, other) | (other, Float32) if is_numeric(other) => Float64,
        (Decimal { .. }, other) | (other, Decimal { .. }) if is_numeric(other) => {
            decimal(scale_of(left).max(scale_of(right)))
        }
        (Int64, other) | (other, Int64) if is_integer(other) => Int64,
        (Int32, Int16) | (Int16, Int32) => Int32,
        (Date, Timestamp { utc }) | (Timestamp { utc }, Date) => Timestamp { utc: *utc },
        (Timestamp { .. }, Timestamp { .. }) => Timestamp { utc: true },
        (Json, Text) | (Text, Json) => Text,
        (Json, nested) | (nested, Json) if nested.is_nested() => Json,
        (List(left), List(right)) => List(Box::new(unify(left, right)?)),
        (Struct(left), Struct(right)) => {
            let mut members = left.clone();
            for (name, ty) in right {
                match members.iter_mut().find(|(own, _)| own == name) {
                    Some((_, own)) => *own = unify(own, ty)?,
                    None => members.push((name.clone(), ty.clone())),
                }
            }
            Struct(members)
        }
        (Map(left), Map(right)) => Map(Box::new(unify(left, right)?)),
        _ => return None,
    })
}

/// For each member of a struct, the position of the one it comes from in another struct, `None`
/// if that lacks it. Members have the same name, or the same position if no name is in both: the
/// values of `ROW(1, 2)` have no names that mean anything. `None` if a member would be lost.
#[must_use]
pub fn aligned(
    from: &[(String, ColumnType)],
    to: &[(String, ColumnType)],
) -> Option<Vec<Option<usize>>> {
    let find = |name: &str| from.iter().position(|(own, _)| own == name);
    let by_name: Vec<Option<usize>> = to.iter().map(|(name, _)| find(name)).collect();
    match by_name.iter().flatten().count() {
        0 if from.len() == to.len() => Some((0..to.len()).map(Some).collect()),
        found => (found == from.len()).then_some(by_name),
    }
}
