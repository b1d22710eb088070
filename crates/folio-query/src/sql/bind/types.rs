//! The types of SQL as ours.

use folio_types::ColumnType;
use sqlparser::ast::{
    self, ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo,
};

use crate::error::{Error, Result};
use crate::expression::coerce::COMPUTED_PRECISION;
use crate::sql::parse::parse;

/// Digits after the point of a numeric that does not say.
const PLAIN_SCALE: i8 = 9;

/// The type that SQL calls so: `bigint`, `numeric(10, 2)`, `text[]`.
///
/// # Errors
/// `syntax` for what is no type; otherwise as for a column of it.
pub fn parse_type(name: &str) -> Result<ColumnType> {
    let no_type = || Error::syntax(format!("{name:?} is not the name of a type"));
    let parsed = parse(&format!("select cast(null as {name})")).map_err(|_| no_type())?;
    let [ast::Statement::Query(query)] = &parsed.statements[..] else { return Err(no_type()) };
    let ast::SetExpr::Select(select) = &*query.body else { return Err(no_type()) };
    match &select.projection[..] {
        [ast::SelectItem::UnnamedExpr(ast::Expr::Cast { data_type, .. })] => {
            column_type(data_type).map(|(ty, _)| ty)
        }
        _ => Err(no_type()),
    }
}

/// The type, and the greatest length of text where one is given.
///
/// # Errors
/// `unsupported` for a type there is not; `invalid_input` for impossible digits.
pub(super) fn column_type(ty: &DataType) -> Result<(ColumnType, Option<u32>)> {
    use DataType as Sql;
    let plain = |ty: ColumnType| Ok((ty, None));
    match ty {
        Sql::Boolean | Sql::Bool => plain(ColumnType::Boolean),
        Sql::SmallInt(_) | Sql::Int2(_) | Sql::TinyInt(_) | Sql::Int16 => plain(ColumnType::Int16),
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) | Sql::MediumInt(_) | Sql::Int32 => {
            plain(ColumnType::Int32)
        }
        Sql::BigInt(_) | Sql::Int8(_) | Sql::Int64 => plain(ColumnType::Int64),
        Sql::Real | Sql::Float4 | Sql::Float32 => plain(ColumnType::Float32),
        Sql::Double(_) | Sql::DoublePrecision | Sql::Float8 | Sql::Float64 => {
            plain(ColumnType::Float64)
        }
        Sql::Float(info) => plain(match info {
            ExactNumberInfo::Precision(bits) if *bits <= 24 => ColumnType::Float32,
            _ => ColumnType::Float64,
        }),
        Sql::Numeric(info) | Sql::Decimal(info) | Sql::Dec(info) => plain(numeric(info)?),
        Sql::Text | Sql::String(_) | Sql::Clob(_) => plain(ColumnType::Text),
        Sql::Varchar(length) | Sql::CharacterVarying(length) | Sql::CharVarying(length) => {
            Ok((ColumnType::Text, size(length.as_ref())?))
        }
        Sql::Char(length) | Sql::Character(length) => {
            Ok((ColumnType::Text, Some(size(length.as_ref())?.unwrap_or(1))))
        }
        Sql::Bytea | Sql::Blob(_) | Sql::Bytes(_) | Sql::Binary(_) | Sql::Varbinary(_) => {
            plain(ColumnType::Binary)
        }
        Sql::JSON | Sql::JSONB => plain(ColumnType::Json),
        Sql::Uuid => plain(ColumnType::Uuid),
        Sql::Date => plain(ColumnType::Date),
        Sql::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => plain(ColumnType::Time),
        Sql::Timestamp(_, zone) => {
            let utc = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
            plain(ColumnType::Timestamp { utc })
        }
        Sql::Datetime(_) => plain(ColumnType::Timestamp { utc: false }),
        Sql::Interval { .. } => plain(ColumnType::Interval),
        Sql::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => plain(ColumnType::List(Box::new(column_type(element)?.0))),
        Sql::Struct(fields, _) => {
            let fields = fields.iter().enumerate().map(|(index, field)| {
                let name = field.field_name.as_ref();
                let name = name.map_or_else(|| format!("f{}", index + 1), |name| name.value.clone());
                Ok((name, column_type(&field.field_type)?.0))
            });
            plain(ColumnType::Struct(fields.collect::<Result<_>>()?))
        }
        Sql::Custom(name, arguments) => plain(custom(name, arguments)?),
        other => Err(Error::unsupported(format!("type {other} is not supported"))
            .help("use one of boolean, smallint, integer, bigint, real, double precision, numeric, text, varchar, bytea, date, time, timestamp, timestamptz, interval, uuid, json, and arrays of them")),
    }
}

fn custom(name: &ObjectName, arguments: &[String]) -> Result<ColumnType> {
    let name = name.to_string().to_lowercase();
    Ok(match (&*name, arguments) {
        ("serial" | "serial4", []) => ColumnType::Int32,
        ("bigserial" | "serial8", []) => ColumnType::Int64,
        ("smallserial" | "serial2", []) => ColumnType::Int16,
        ("string" | "name" | "bpchar", _) => ColumnType::Text,
        ("long", []) => ColumnType::Int64,
        _ => {
            let types = [
                "boolean",
                "bool",
                "smallint",
                "int",
                "integer",
                "bigint",
                "real",
                "double precision",
                "numeric",
                "text",
                "varchar",
                "bytea",
                "date",
                "time",
                "timestamp",
                "timestamptz",
                "interval",
                "uuid",
                "json",
            ];
            return Err(
                Error::not_found(format!("type {name:?} does not exist")).near(&name, types)
            );
        }
    })
}

fn numeric(info: &ExactNumberInfo) -> Result<ColumnType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (COMPUTED_PRECISION.into(), PLAIN_SCALE.into()),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let is_possible =
        (1..=38).contains(&precision) && (0..=precision.cast_signed()).contains(&scale);
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if is_possible => Ok(ColumnType::Decimal { precision, scale }),
        _ => Err(Error::invalid(format!("numeric({precision},{scale}) is not possible"))
            .help("at most 38 digits in all, and no more of them after the point")),
    }
}

fn size(length: Option<&CharacterLength>) -> Result<Option<u32>> {
    match length {
        None | Some(CharacterLength::Max) => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => match u32::try_from(*length) {
            Ok(length) if length > 0 => Ok(Some(length)),
            _ => Err(Error::invalid(format!("a text of {length} characters is not possible"))),
        },
    }
}
