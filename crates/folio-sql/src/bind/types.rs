//! SQL's names of types.

use folio_compute::type_rules::COMPUTED_PRECISION;
use folio_compute::{Error, Result, Span};
use folio_engine::Limits;
use folio_types::ColumnType;
use sqlparser::ast::{
    self, ArrayElemTypeDef, CharLengthUnits, CharacterLength, DataType, ExactNumberInfo,
    ObjectName, TimezoneInfo,
};

use super::refuse;
use crate::parse::parse;

/// The scale of `numeric` without an explicit one.
const PLAIN_SCALE: i8 = 9;

/// Maximum nesting of lists and structs in one type.
const NESTING_MAX: usize = 64;

/// Refuses types that nest too deep: every expression of the type copies all levels.
///
/// # Errors
/// `unsupported`.
pub(super) fn check_nesting(ty: &ColumnType, span: Span) -> Result<()> {
    fn fits(ty: &ColumnType, levels: usize) -> bool {
        match ty {
            _ if levels == 0 => false,
            ColumnType::List(part) | ColumnType::Map(part) => fits(part, levels - 1),
            ColumnType::Struct(fields) => fields.iter().all(|(_, ty)| fits(ty, levels - 1)),
            _ => true,
        }
    }
    if fits(ty, NESTING_MAX) {
        return Ok(());
    }
    let text = format!("the value nests too deep: lists and rows nest {NESTING_MAX} levels");
    Err(Error::unsupported(text).at(span).help("store it as JSON"))
}

/// The type with this SQL name: `bigint`, `numeric(10, 2)`, `text[]`.
///
/// # Errors
/// `syntax` if it is not a type; otherwise the same errors as for a column of the type.
pub fn parse_type(name: &str) -> Result<ColumnType> {
    let no_type = || Error::syntax(format!("{name:?} is not the name of a type"));
    let parsed = parse(&format!("select cast(null as {name})"), &Limits::default())
        .map_err(|_| no_type())?;
    let [ast::Statement::Query(query)] = &parsed.statements[..] else { return Err(no_type()) };
    let ast::SetExpr::Select(select) = &*query.body else { return Err(no_type()) };
    match &select.projection[..] {
        [ast::SelectItem::UnnamedExpr(ast::Expr::Cast { data_type, .. })] => {
            column_type(data_type).map(|(ty, _)| ty)
        }
        _ => Err(no_type()),
    }
}

/// The type, and the maximum length of text if one is given.
///
/// # Errors
/// `unsupported` for a type that does not exist; `invalid_input` for an invalid precision.
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
        Sql::Double(ExactNumberInfo::None) | Sql::DoublePrecision | Sql::Float8 | Sql::Float64 => {
            plain(ColumnType::Float64)
        }
        Sql::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => plain(ColumnType::Float32),
        Sql::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(_)) => {
            plain(ColumnType::Float64)
        }
        Sql::Numeric(info) | Sql::Decimal(info) | Sql::Dec(info) => plain(numeric(info)?),
        Sql::Text => plain(ColumnType::Text),
        Sql::String(length) | Sql::Clob(length) => Ok((ColumnType::Text, characters(*length)?)),
        Sql::Varchar(length) | Sql::CharacterVarying(length) | Sql::CharVarying(length) => {
            Ok((ColumnType::Text, size(length.as_ref())?))
        }
        Sql::Char(length) | Sql::Character(length) => {
            Ok((ColumnType::Text, Some(size(length.as_ref())?.unwrap_or(1))))
        }
        Sql::Bytea
        | Sql::Blob(None)
        | Sql::Bytes(None)
        | Sql::Binary(None)
        | Sql::Varbinary(None) => plain(ColumnType::Binary),
        Sql::Blob(_) | Sql::Bytes(_) | Sql::Binary(_) | Sql::Varbinary(_) => {
            Err(Error::unsupported(format!("a length of bytes is not supported, as in {ty}"))
                .help("write bytea, and CHECK (octet_length(…) <= 16)"))
        }
        Sql::JSON | Sql::JSONB => plain(ColumnType::Json),
        Sql::Uuid => plain(ColumnType::Uuid),
        Sql::Date => plain(ColumnType::Date),
        Sql::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            microseconds(*digits)?;
            plain(ColumnType::Time)
        }
        Sql::Timestamp(digits, zone) => {
            microseconds(*digits)?;
            let utc = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
            plain(ColumnType::Timestamp { utc })
        }
        Sql::Datetime(digits) => {
            microseconds(*digits)?;
            plain(ColumnType::Timestamp { utc: false })
        }
        Sql::Interval { fields: None, precision } => {
            microseconds(*precision)?;
            plain(ColumnType::Interval)
        }
        Sql::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => plain(ColumnType::List(Box::new(whole_type(element)?))),
        Sql::Struct(fields, _) => {
            let fields = fields.iter().enumerate().map(|(index, field)| {
                let ast::StructField { field_name, field_type, options } = field;
                refuse(options.is_some(), "OPTIONS of a field")?;
                let name = field_name.as_ref();
                let name = name.map_or_else(|| format!("f{}", index + 1), |name| name.value.clone());
                Ok((name, whole_type(field_type)?))
            });
            plain(ColumnType::Struct(fields.collect::<Result<_>>()?))
        }
        Sql::Custom(name, arguments) => custom(name, arguments),
        other => Err(Error::unsupported(format!("type {other} is not supported"))
            .help("use one of boolean, smallint, integer, bigint, real, double precision, numeric, text, varchar, bytea, date, time, timestamp, timestamptz, interval, uuid, json, and arrays of them")),
    }
}

/// The type of an element or field. It cannot have a length, which would not be stored.
fn whole_type(ty: &DataType) -> Result<ColumnType> {
    match column_type(ty)? {
        (ty, None) => Ok(ty),
        (_, Some(_)) => Err(Error::unsupported(format!("{ty} within a type is not supported"))
            .help("write text: only columns enforce lengths")),
    }
}

/// Refuses a precision other than microseconds.
fn microseconds(digits: Option<u64>) -> Result<()> {
    match digits {
        None | Some(6) => Ok(()),
        Some(digits) => {
            Err(Error::unsupported(format!("a precision of {digits} digits is not supported"))
                .help("leave it out: times have microseconds; date_trunc cuts them"))
        }
    }
}

fn characters(length: Option<u64>) -> Result<Option<u32>> {
    size(length.map(|length| CharacterLength::IntegerLength { length, unit: None }).as_ref())
}

fn custom(name: &ObjectName, arguments: &[String]) -> Result<(ColumnType, Option<u32>)> {
    let name = name.to_string().to_lowercase();
    let plain = |ty: ColumnType| Ok((ty, None));
    match (&*name, arguments) {
        ("serial" | "serial4", []) => plain(ColumnType::Int32),
        ("bigserial" | "serial8" | "long", []) => plain(ColumnType::Int64),
        ("smallserial" | "serial2", []) => plain(ColumnType::Int16),
        ("string" | "name" | "bpchar", []) => plain(ColumnType::Text),
        ("string" | "bpchar", [length]) => Ok((ColumnType::Text, characters(length.parse().ok())?)),
        ("map", [key, value]) => {
            let keys_are_text = parse_type(key)? == ColumnType::Text;
            refuse(!keys_are_text, "a map whose keys are not text")?;
            plain(ColumnType::Map(Box::new(parse_type(value)?)))
        }
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
            Err(Error::not_found(format!("type {name:?} does not exist")).near(&name, types))
        }
    }
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
        Some(CharacterLength::IntegerLength { unit: Some(CharLengthUnits::Octets), .. }) => {
            Err(Error::unsupported("a length in OCTETS is not supported")
                .help("leave it out: a length counts characters"))
        }
        Some(CharacterLength::IntegerLength { length, unit: _ }) => match u32::try_from(*length) {
            Ok(length) if length > 0 => Ok(Some(length)),
            _ => Err(Error::invalid(format!("a text of {length} characters is not possible"))),
        },
    }
}
