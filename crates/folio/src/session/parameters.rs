//! Values for the parameters of a statement: by position or by name, each with its type. A value
//! alone does not always have one: digits lack the scale, an instant the zone, null any type.

use folio_compute::cast;
use folio_engine::Signature;
use folio_types::{ColumnType, ErrorCode, Value};

use super::QueryError;
use crate::error::Result;

/// Values for the parameters of a statement.
///
/// # Examples
///
/// ```
/// use folio::{ColumnType, Database, Parameters, Value};
///
/// # let folder = tempfile::tempdir()?;
/// let database = Database::open(folder.path().join("mydata"))?;
/// let mut parameters = Parameters::default();
/// let euros = ColumnType::Decimal { precision: 38, scale: 2 };
/// parameters.push_named("price", Value::Decimal(1250), Some(euros));
/// parameters.push_named("count", Value::Integer(3), Some(ColumnType::Int64));
/// let answer = database.sql("select :price * :count as total", &parameters)?;
/// assert_eq!(answer.rows.expect("a query").to_json()?, r#"[{"total":37.50}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    pub(super) values: Vec<Value>,
    pub(super) signature: Signature,
}

impl Parameters {
    /// Adds a value for the next `?`, or the next number (`$1`). Without a type, text, null and
    /// a list that is empty or has nothing but nulls take the type that their use in the statement
    /// requires; a number has its own.
    pub fn push(&mut self, value: Value, column_type: Option<ColumnType>) {
        let own = || match value {
            Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => type_of(&value),
            _ => None,
        };
        self.signature.push(&value, column_type.or_else(own));
        self.values.push(value);
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether they have the types and names that a statement was compiled for.
    pub(crate) fn are_of(&self, signature: &Signature) -> bool {
        self.signature == *signature
    }

    /// Adds a value for `:name`, or for `$name` in ZiQL. Use names or positions, not both.
    pub fn push_named(
        &mut self,
        name: impl Into<String>,
        value: Value,
        column_type: Option<ColumnType>,
    ) {
        self.push(value, column_type);
        self.signature.names.push(name.into());
    }

    /// Names and values, each with its type if it has one.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &Value, Option<&ColumnType>)> {
        let Signature { names, types, .. } = &self.signature;
        let values = self.values.iter().zip(types);
        names.iter().zip(values).map(|(name, (value, ty))| (name.as_str(), value, ty.as_ref()))
    }

    /// Names and values, as [`Session::ziql`](crate::Session::ziql) takes them. ZiQL has no
    /// decimals: they become floats.
    #[must_use]
    pub fn by_name(&self) -> Vec<(&str, Value)> {
        let values = self.values.iter().zip(&self.signature.types).map(|(value, ty)| match value {
            Value::Decimal(_) => as_float(value, ty.as_ref()),
            value => value.clone(),
        });
        self.signature.names.iter().map(String::as_str).zip(values).collect()
    }
}

fn as_float(decimal: &Value, ty: Option<&ColumnType>) -> Value {
    let ty = ty.cloned().or_else(|| type_of(decimal)).unwrap_or(ColumnType::Float64);
    cast::format(decimal, &ty).parse().map_or(Value::Null, Value::Float)
}

/// Converts a list of typed values to one common type: an int among floats becomes a float, and
/// decimals get one scale. `None` if there is no common type.
#[must_use]
pub fn list_of(items: Vec<(Value, Option<ColumnType>)>) -> Option<(Value, Option<ColumnType>)> {
    let mut element = None;
    for (_, ty) in &items {
        element = match (element, ty) {
            (None, ty) => ty.clone(),
            (element, None) => element,
            (Some(one), Some(other)) => Some(common(&one, other)?),
        };
    }
    let Some(element) = element else {
        return Some((Value::List(items.into_iter().map(|(value, _)| value).collect()), None));
    };
    let fitted = items.into_iter().map(|(value, ty)| match ty {
        Some(ty) => fit(value, &ty, &element),
        None => Some(value),
    });
    let values = fitted.collect::<Option<_>>()?;
    Some((Value::List(values), Some(ColumnType::List(Box::new(element)))))
}

/// The common type of two types.
fn common(one: &ColumnType, other: &ColumnType) -> Option<ColumnType> {
    use ColumnType::{Decimal, Float64, Int64, List};
    match (one, other) {
        (one, other) if one == other => Some(one.clone()),
        (Int64, Float64) | (Float64, Int64) => Some(Float64),
        (Decimal { scale: one, .. }, Decimal { scale: other, .. }) => {
            Some(Decimal { precision: 38, scale: *one.max(other) })
        }
        (List(one), List(other)) => common(one, other).map(|element| List(Box::new(element))),
        _ => None,
    }
}

/// Converts a value to another type that can hold it.
#[allow(clippy::cast_precision_loss)] // what a float among floats is
fn fit(value: Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
    use ColumnType::{Decimal, Float64, List};
    Some(match (value, from, to) {
        (value, from, to) if from == to => value,
        (Value::Integer(value), _, Float64) => Value::Float(value as f64),
        (Value::Decimal(digits), Decimal { scale: from, .. }, Decimal { scale: to, .. }) => {
            let zeros = u32::try_from(to - from).ok()?;
            Value::Decimal(digits.checked_mul(10i128.checked_pow(zeros)?)?)
        }
        (Value::List(values), List(from), List(to)) => {
            let values = values.into_iter().map(|value| fit(value, from, to));
            Value::List(values.collect::<Option<_>>()?)
        }
        (value, ..) => value,
    })
}

/// Values for the parameters of a ZiQL text. All elements of a list get one type.
pub(super) fn named(text: &str, given: &[(&str, Value)]) -> Result<Parameters> {
    let mut parameters = Parameters::default();
    for (name, value) in given {
        let (value, ty) = match value {
            Value::List(items) => {
                let items = items.iter().map(|item| (item.clone(), type_of(item))).collect();
                list_of(items).ok_or_else(|| {
                    let error = format!("parameter `${name}` is a list of mixed types");
                    QueryError::new(ErrorCode::TypeMismatch, error).in_statement(text)
                })?
            }
            value => (value.clone(), type_of(value)),
        };
        parameters.push_named(*name, value, ty);
    }
    Ok(parameters)
}

/// The types assumed for positional values.
pub(super) fn signature_of(values: &[Value]) -> Signature {
    let mut signature = Signature::default();
    values.iter().for_each(|value| signature.push(value, type_of(value)));
    signature
}

/// The type assumed for a value; text and null take the type that their use requires.
pub(super) fn type_of(value: &Value) -> Option<ColumnType> {
    Some(match value {
        Value::Boolean(_) => ColumnType::Boolean,
        Value::Integer(_) => ColumnType::Int64,
        Value::Float(_) => ColumnType::Float64,
        Value::Decimal(_) => ColumnType::Decimal { precision: 38, scale: 0 },
        Value::Text(_) => ColumnType::Text,
        Value::Bytes(_) => ColumnType::Binary,
        Value::Uuid(_) => ColumnType::Uuid,
        Value::Date(_) => ColumnType::Date,
        Value::Time(_) => ColumnType::Time,
        Value::Timestamp(_) => ColumnType::Timestamp { utc: true },
        Value::Interval(_) => ColumnType::Interval,
        Value::Null | Value::List(_) | Value::Struct(_) => return None,
    })
}
