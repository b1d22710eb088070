//! Values for parameters, from the JSON text that `../lib/parameter.js` writes.
//!
//! `{"values": [...]}` by position, `{"values": [...], "names": [...]}` by name. A value that JSON
//! represents exactly is passed as it is. Any other is an array of a letter and text: `["i",
//! "9007199254740993"]` an integer, `["f", "NaN"]` a float, `["b", "00ff"]` bytes, `["t",
//! 1700000000000]` an instant in milliseconds, `["j", "{}"]` JSON, `["l", [...]]` a list. Bytes beside
//! the text ([`Given`]) are `["b", 0]`, by their number, and are copied once.

use folio::{ColumnType, Error, Parameters, Result, Value, list_of};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use serde_json::Value as Json;

/// Values for parameters: their text, which may refer to bytes.
pub type Given = Either<String, TextBesideBytes>;

/// The text of values, and the bytes that it refers to.
#[napi(object)]
pub struct TextBesideBytes {
    /// JSON.
    pub text: String,
    /// Those of each value.
    pub bytes: Vec<Uint8Array>,
}

/// The parameters of a statement; the sign is the language's prefix of a name. They are read on the
/// thread of JavaScript, which may change bytes as soon as the call returns.
///
/// # Errors
/// `invalid_input`, with the number or the name of a value without a type.
pub(crate) fn parameters(given: Option<Given>, sign: char) -> Result<Parameters> {
    match given {
        Some(given) => read(given, &format!("parameter {sign}")),
        None => Ok(Parameters::default()),
    }
}

/// `kind` precedes a name in errors.
fn read(given: Given, kind: &str) -> Result<Parameters> {
    let (text, bytes) = match given {
        Either::A(text) => (text, Vec::new()),
        Either::B(TextBesideBytes { text, bytes }) => (text, bytes),
    };
    let mut parameters = Parameters::default();
    let given: Json = serde_json::from_str(&text).map_err(|error| invalid(&error.to_string()))?;
    let names = given.get("names").and_then(Json::as_array);
    let values = given.get("values").and_then(Json::as_array).map(Vec::as_slice);
    for (index, json) in values.unwrap_or_default().iter().enumerate() {
        let name = names.and_then(|names| names.get(index)).and_then(Json::as_str);
        let (value, ty) = typed(json, &bytes).map_err(|text| match name {
            Some(name) => invalid(&format!("{kind}{name} {text}")),
            None => invalid(&format!("parameter {} {text}", index + 1)),
        })?;
        match name {
            Some(name) => parameters.push_named(name, value, ty),
            None => parameters.push(value, ty),
        }
    }
    Ok(parameters)
}

/// Columns by name, in the form of [`parameters`]: each is a list.
///
/// # Errors
/// `invalid_input`, with the name of a column of several types.
pub(crate) fn columns(given: Given) -> Result<Parameters> {
    read(given, "column ")
}

/// The result of a function, and its type unless it is null.
pub(crate) fn answered(text: &str) -> std::result::Result<Typed, String> {
    let json: Json = serde_json::from_str(text).map_err(|_| "cannot be read".to_owned())?;
    typed(&json, &[])
}

fn invalid(text: &str) -> Error {
    Error::Invalid(text.to_owned())
}

pub(crate) type Typed = (Value, Option<ColumnType>);

fn typed(json: &Json, bytes: &[Uint8Array]) -> std::result::Result<Typed, String> {
    Ok(match json {
        Json::Null => (Value::Null, None),
        Json::Bool(value) => (Value::Boolean(*value), Some(ColumnType::Boolean)),
        Json::String(text) => (Value::Text(text.clone()), Some(ColumnType::Text)),
        Json::Number(number) => match number.as_i64() {
            Some(value) => (Value::Integer(value), Some(ColumnType::Int64)),
            None => (Value::Float(number.as_f64().unwrap_or(f64::NAN)), Some(ColumnType::Float64)),
        },
        Json::Array(marked) => match &marked[..] {
            [Json::String(mark), payload] => of_mark(mark, payload, bytes)?,
            _ => return Err("cannot be read".to_owned()),
        },
        Json::Object(_) => return Err("cannot be read".to_owned()),
    })
}

fn of_mark(mark: &str, payload: &Json, bytes: &[Uint8Array]) -> std::result::Result<Typed, String> {
    let text = payload.as_str().unwrap_or_default();
    Ok(match mark {
        "i" => match text.parse() {
            Ok(value) => (Value::Integer(value), Some(ColumnType::Int64)),
            Err(_) => {
                return Err("is a bigint beyond 64 bits, larger than any integer type; pass its \
                            digits as a string and cast it to numeric"
                    .to_owned());
            }
        },
        "f" => (Value::Float(text.parse().unwrap_or(f64::NAN)), Some(ColumnType::Float64)),
        "b" => {
            let beside = payload.as_u64().and_then(|number| bytes.get(number as usize));
            let content = beside.map_or_else(|| from_hex(text), |beside| beside.to_vec());
            (Value::Bytes(content), Some(ColumnType::Binary))
        }
        "t" => {
            let micros = payload.as_i64().and_then(|ms| ms.checked_mul(1_000));
            let micros = micros.ok_or("is a Date out of range")?;
            (Value::Timestamp(micros), Some(ColumnType::Timestamp { utc: true }))
        }
        "j" => (Value::Text(text.to_owned()), Some(ColumnType::Json)),
        _ => list(payload.as_array().map(Vec::as_slice).unwrap_or_default(), bytes)?,
    })
}

fn list(items: &[Json], bytes: &[Uint8Array]) -> std::result::Result<Typed, String> {
    let items = items.iter().map(|item| typed(item, bytes));
    let items = items.collect::<std::result::Result<_, _>>()?;
    list_of(items)
        .ok_or_else(|| "is an array of mixed types; all elements must have one type".to_owned())
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
