//! Converts trees into column values. All conversions are here.

use super::column::{Column, Data, ListEntry, StructColumn, name_of};
use super::schema::Type;
use crate::error::in_column;
use crate::value::{Element, IonType, Precision, Value};
use crate::write;
use std::collections::HashSet;

/// Why a value does not fit, as a sentence.
type Mismatch = String;

const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Whether `units` has at most `precision` digits.
#[inline]
pub(super) fn fits(units: i128, precision: u8) -> bool {
    units.unsigned_abs() < POWERS[usize::from(precision)] as u128
}

/// Whether `value` fits `bits` bits including the sign.
#[inline(always)]
pub(super) fn fits_signed(value: i64, bits: u8) -> bool {
    let shift = 64 - u32::from(bits);
    (value << shift) >> shift == value
}

impl Column {
    /// Appends `element`.
    pub(super) fn push(&mut self, element: &Element) -> Result<(), Mismatch> {
        if element.is_null() {
            self.push_null();
            return Ok(());
        }
        let mismatch = || {
            let found = write::to_text(element);
            let shown: String = found.chars().take(60).collect();
            let dots = if shown.len() < found.len() { "…" } else { "" };
            format!("{shown}{dots} does not fit {}", self.column_type)
        };
        let pushed = match &self.column_type {
            Type::String | Type::Json | Type::Blob => None,
            Type::List(_) | Type::Map(_) | Type::Struct(_) => None,
            scalar => Some(scalar_units(scalar, &element.value).ok_or_else(mismatch)?),
        };
        match pushed {
            Some(units) => self.push_units(units),
            None => return self.push_large(element),
        }
        Ok(())
    }

    fn push_units(&mut self, units: Units) {
        match (&mut self.data, units) {
            (Data::Bool(values), Units::Int(value)) => values.push(value as u8),
            (
                Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values),
                Units::Int(value),
            ) => {
                values.push(value as i64);
            }
            (Data::UInt(values), Units::Int(value)) => values.push(value as u64),
            (Data::Wide(values), Units::Int(value)) => values.push(value),
            (Data::Date(values), Units::Int(value)) => values.push(value as i32),
            (Data::Float(values), Units::Float(value)) => values.push(value),
            _ => unreachable!("a column's data follows its type"),
        }
    }

    fn push_large(&mut self, element: &Element) -> Result<(), Mismatch> {
        let shown = self.column_type.to_string();
        let wrong =
            || format!("a value of type {} does not fit {shown}", element.ion_type().name());
        match (&mut self.data, &element.value) {
            (Data::Text(text), value) => match (&self.column_type, value) {
                (Type::Json, _) => match element.lost_symbol(true) {
                    Some(why) => return Err(why),
                    None => text.push(write::to_json(element).as_bytes()),
                },
                (_, Value::String(value)) => text.push(value.as_bytes()),
                (_, Value::Symbol(value)) => text.push(value.text().ok_or_else(wrong)?.as_bytes()),
                (Type::Blob, Value::Blob(bytes) | Value::Clob(bytes)) => text.push(bytes),
                (Type::Blob, _) => return Err(wrong()),
                (_, Value::Clob(bytes)) => {
                    text.push(String::from_utf8_lossy(bytes).as_bytes());
                }
                (_, value) => {
                    let bare = Element::from(value.clone());
                    match bare.lost_symbol(false) {
                        Some(why) => return Err(why),
                        None => text.push(write::to_text(&bare).as_bytes()),
                    }
                }
            },
            (Data::List(entries, child), Value::List(elements) | Value::SExp(elements)) => {
                let offset = child.len() as u64;
                for element in elements {
                    child.push(element)?;
                }
                entries.push(ListEntry { offset, length: elements.len() as u64 });
            }
            (Data::Struct(fields), Value::Struct(_)) => fields.push_record(element)?,
            (Data::Map(entries, map), Value::Struct(fields)) => {
                let offset = map.keys.len();
                let mut taken = HashSet::new();
                for (name, element) in fields {
                    let name = name.text().ok_or_else(wrong)?;
                    if !taken.insert(name) {
                        continue;
                    }
                    map.values.push(element)?;
                    map.keys.push_text(name);
                }
                let length = (map.keys.len() - offset) as u64;
                entries.push(ListEntry { offset: offset as u64, length });
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn push_text(&mut self, value: &str) {
        if let Data::Text(text) = &mut self.data {
            text.push(value.as_bytes());
        }
    }
}

impl StructColumn {
    /// Appends a row from a struct. If fields have the same name, the first counts.
    pub(super) fn push_record(&mut self, element: &Element) -> Result<(), Mismatch> {
        let Value::Struct(fields) = &element.value else {
            let (null, found) = match element.value {
                Value::Null(IonType::Null) => ("", "null"),
                Value::Null(ty) => ("null.", ty.name()),
                _ => ("", element.ion_type().name()),
            };
            return Err(format!("a record is of type {null}{found}, not struct"));
        };
        let mut seen = 0;
        for (name, element) in fields {
            let target = name.text().and_then(|name| self.names.get(name)).copied();
            if let Some(index) = target
                && self.fields[index].len() == self.rows
            {
                let pushed = self.fields[index].push(element);
                pushed.map_err(|why| in_column(name_of(&self.names, index), &why))?;
                seen += 1;
            }
        }
        self.finish_row(seen);
        Ok(())
    }
}

enum Units {
    Int(i128),
    Float(f64),
}

/// The value in the units of a column of `wanted`, if it is exact and in range.
fn scalar_units(wanted: &Type, value: &Value) -> Option<Units> {
    let int = match wanted {
        Type::Bool => match value {
            Value::Bool(value) => i128::from(*value),
            _ => return None,
        },
        Type::Float(_) => return float_of(value).map(Units::Float),
        Type::Int(bits) => {
            let value = i64::try_from(whole(value)?).ok()?;
            i128::from(Some(value).filter(|value| fits_signed(*value, *bits))?)
        }
        Type::UInt(bits) => {
            let value = u64::try_from(whole(value)?).ok()?;
            i128::from(Some(value).filter(|value| *bits == 64 || value >> bits == 0)?)
        }
        Type::HugeInt => whole(value)?,
        Type::Decimal { precision, scale } => scaled(value, *precision, *scale)?,
        Type::Timestamp | Type::UtcTimestamp => match value {
            Value::Timestamp(value) => i128::from(value.to_micros()),
            _ => return None,
        },
        Type::Date => match value {
            Value::Timestamp(value) if value.precision() <= Precision::Day => {
                i128::from(value.to_days())
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Units::Int(int))
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) => value.to_i128(),
        Value::Decimal(value) => value.to_scaled(0),
        _ => None,
    }
}

fn scaled(value: &Value, precision: u8, scale: u8) -> Option<i128> {
    let units = match value {
        Value::Int(value) => value.to_i128()?.checked_mul(POWERS[usize::from(scale)])?,
        Value::Decimal(value) => value.to_scaled(scale)?,
        _ => return None,
    };
    fits(units, precision).then_some(units)
}

fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        Value::Int(value) => Some(value.to_f64()),
        Value::Decimal(value) => Some(value.to_f64()),
        _ => None,
    }
}
