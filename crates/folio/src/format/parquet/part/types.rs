//! The types of the columns of a part: as they are noted in it, and as a scan wants them.

use folio_types::ColumnType;

/// Whether no struct in a type lacks members: Parquet has none of those.
pub(super) fn has_members(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Struct(members) => {
            !members.is_empty() && members.iter().all(|(_, ty)| has_members(ty))
        }
        ColumnType::List(item) | ColumnType::Map(item) => has_members(item),
        _ => true,
    }
}

pub(super) fn type_to_json(ty: &ColumnType) -> serde_json::Value {
    match ty {
        ColumnType::List(item) => serde_json::json!({"list": type_to_json(item)}),
        ColumnType::Map(value) => serde_json::json!({"map": type_to_json(value)}),
        ColumnType::Struct(members) => {
            let member =
                |(name, ty): &(String, ColumnType)| serde_json::json!([name, type_to_json(ty)]);
            serde_json::json!({"struct": members.iter().map(member).collect::<Vec<_>>()})
        }
        ColumnType::Decimal { precision, scale } => {
            serde_json::json!({"decimal": [precision, scale]})
        }
        ty => ty.to_string().into(),
    }
}

pub(super) fn type_of_json(json: &serde_json::Value) -> Option<ColumnType> {
    let plain = [
        ColumnType::Boolean,
        ColumnType::Int16,
        ColumnType::Int32,
        ColumnType::Int64,
        ColumnType::Float32,
        ColumnType::Float64,
        ColumnType::Text,
        ColumnType::Json,
        ColumnType::Binary,
        ColumnType::Uuid,
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp { utc: false },
        ColumnType::Timestamp { utc: true },
    ];
    if let Some(name) = json.as_str() {
        return plain.into_iter().find(|ty| ty.to_string() == name);
    }
    let (kind, inner) = json.as_object()?.iter().next()?;
    match &**kind {
        "decimal" => Some(ColumnType::Decimal {
            precision: inner.get(0)?.as_u64()?.try_into().ok()?,
            scale: inner.get(1)?.as_i64()?.try_into().ok()?,
        }),
        "list" => type_of_json(inner).map(|item| ColumnType::List(Box::new(item))),
        "map" => type_of_json(inner).map(|value| ColumnType::Map(Box::new(value))),
        "struct" => {
            let member = |member: &serde_json::Value| {
                Some((member.get(0)?.as_str()?.to_owned(), type_of_json(member.get(1)?)?))
            };
            let members = inner.as_array()?.iter().map(member);
            members.collect::<Option<_>>().map(ColumnType::Struct)
        }
        _ => None,
    }
}

/// Whether values of a part's type are those of a wanted one, with members left out or added.
pub(super) fn fits(own: &ColumnType, wanted: &ColumnType) -> bool {
    match (own, wanted) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted)) => wanted.iter().all(|(name, ty)| {
            own.iter().find(|(own, _)| own == name).is_none_or(|(_, own)| fits(own, ty))
        }),
        (ColumnType::List(own), ColumnType::List(wanted))
        | (ColumnType::Map(own), ColumnType::Map(wanted)) => fits(own, wanted),
        (own, wanted) => own == wanted,
    }
}

/// Whether a leaf is read for a value of a wanted type, by the names on the way to it in the file. Of a
/// struct that has none of the wanted members, the first says which are null.
pub(super) fn is_read(leaf: &[String], own: &ColumnType, wanted: &ColumnType) -> bool {
    match (own, wanted, leaf) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted), [name, below @ ..]) => {
            let of = |all: &[(String, ColumnType)], name: &String| {
                all.iter().position(|(other, _)| other == name)
            };
            let Some(at) = of(own, name) else { return true };
            match of(wanted, name) {
                Some(place) => is_read(below, &own[at].1, &wanted[place].1),
                None => at == 0 && !wanted.iter().any(|(name, _)| of(own, name).is_some()),
            }
        }
        // Between a list and its elements, and a map and its values, there are two names.
        (ColumnType::List(own), ColumnType::List(wanted), [_, _, below @ ..]) => {
            is_read(below, own, wanted)
        }
        (ColumnType::Map(own), ColumnType::Map(wanted), [_, side, below @ ..]) => {
            side == "key" || is_read(below, own, wanted)
        }
        _ => true,
    }
}
