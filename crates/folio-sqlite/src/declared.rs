//! The declared type of a column, and SQLite's interpretation of it.

use crate::definition::ColumnDefinition;

/// How SQLite converts values put into a column, by the words of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Affinity {
    Integer,
    Text,
    Blob,
    Real,
    Numeric,
}

/// What the author of the type probably meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    Boolean,
    Integer,
    Real,
    /// Total digits and digits after the point, if both are given.
    Decimal(Option<(u8, i8)>),
    /// The maximum number of characters.
    Text(Option<u32>),
    Blob,
    Date,
    Time,
    Timestamp,
    Json,
    Uuid,
    /// Anything.
    Any,
}

impl Affinity {
    /// Applies SQLite's rules, in their order.
    pub(crate) fn of(type_name: &str) -> Self {
        let name = type_name.to_ascii_uppercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text
        } else if name.is_empty() || has(&["BLOB"]) {
            Self::Blob
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Self::Real
        } else {
            Self::Numeric
        }
    }
}

impl Intent {
    pub(crate) fn of(column: &ColumnDefinition) -> Self {
        let name = column.type_name.to_ascii_uppercase();
        let argument = |at: usize| column.type_arguments.get(at).and_then(|text| text.parse().ok());
        match name.split(' ').next().unwrap_or_default() {
            "BOOL" | "BOOLEAN" => Self::Boolean,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "DATETIME" | "TIMESTAMP" | "TIMESTAMPTZ" => Self::Timestamp,
            "JSON" | "JSONB" => Self::Json,
            "UUID" | "GUID" => Self::Uuid,
            "DECIMAL" | "NUMERIC" | "DEC" => Self::Decimal(decimal(argument(0), argument(1))),
            "BYTEA" | "BINARY" | "VARBINARY" => Self::Blob,
            _ => match Affinity::of(&name) {
                Affinity::Integer => Self::Integer,
                Affinity::Text => Self::Text(argument(0).filter(|length| *length > 0)),
                Affinity::Blob if name.is_empty() => Self::Any,
                Affinity::Blob => Self::Blob,
                Affinity::Real => Self::Real,
                Affinity::Numeric => Self::Any,
            },
        }
    }

    /// Its name, for messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer => "bigint",
            Self::Real => "double precision",
            Self::Decimal(_) => "numeric",
            Self::Text(_) | Self::Any => "text",
            Self::Blob => "bytea",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Json => "json",
            Self::Uuid => "uuid",
        }
    }
}

/// A valid precision and scale.
fn decimal(precision: Option<u32>, scale: Option<u32>) -> Option<(u8, i8)> {
    let precision = u8::try_from(precision?).ok().filter(|digits| (1..=38).contains(digits))?;
    let scale = i8::try_from(scale.unwrap_or(0)).ok()?;
    (scale.cast_unsigned() <= precision).then_some((precision, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_types() {
        for (name, arguments, affinity, intent) in [
            ("INTEGER", &[][..], Affinity::Integer, Intent::Integer),
            ("unsigned big int", &[], Affinity::Integer, Intent::Integer),
            ("varchar", &["20"], Affinity::Text, Intent::Text(Some(20))),
            ("TEXT", &[], Affinity::Text, Intent::Text(None)),
            ("FLOATING POINT", &[], Affinity::Integer, Intent::Integer),
            ("double precision", &[], Affinity::Real, Intent::Real),
            ("DECIMAL", &["10", "2"], Affinity::Numeric, Intent::Decimal(Some((10, 2)))),
            ("DECIMAL", &["10"], Affinity::Numeric, Intent::Decimal(Some((10, 0)))),
            ("NUMERIC", &["99", "2"], Affinity::Numeric, Intent::Decimal(None)),
            ("BOOLEAN", &[], Affinity::Numeric, Intent::Boolean),
            ("timestamp with time zone", &[], Affinity::Numeric, Intent::Timestamp),
            ("json", &[], Affinity::Numeric, Intent::Json),
            ("", &[], Affinity::Blob, Intent::Any),
            ("BLOB", &[], Affinity::Blob, Intent::Blob),
            ("STRING", &[], Affinity::Numeric, Intent::Any),
        ] {
            let type_arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
            let type_name = name.to_owned();
            let column =
                ColumnDefinition { type_name, type_arguments, ..ColumnDefinition::default() };
            assert_eq!((Affinity::of(name), Intent::of(&column)), (affinity, intent), "{name}");
        }
    }
}
