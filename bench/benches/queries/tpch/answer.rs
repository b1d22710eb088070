//! Answers, and when two of them are the same.

use facade::{ColumnType, Value};
use folio_bench::Result;
use rusqlite::types::ValueRef;

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Number(f64),
    Text(String),
}

/// The rows of an answer.
pub(crate) struct Answer(pub(crate) Vec<Vec<Cell>>);

/// A value of FolioDB's.
pub(crate) fn cell(value: &Value, ty: &ColumnType) -> Cell {
    match (value, ty) {
        (Value::Null, _) => Cell::Null,
        (Value::Integer(number), _) => Cell::Number(*number as f64),
        (Value::Float(number), _) => Cell::Number(*number),
        (Value::Decimal(digits), ColumnType::Decimal { scale, .. }) => {
            Cell::Number(*digits as f64 / 10f64.powi(i32::from(*scale)))
        }
        (Value::Text(text), _) => Cell::Text(text.trim_end().to_owned()),
        (Value::Date(days), _) => Cell::Text(day(*days)),
        (other, _) => Cell::Text(format!("{other:?}")),
    }
}

/// A value of SQLite's.
pub(crate) fn of_sqlite(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number as f64),
        ValueRef::Real(number) => Cell::Number(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Cell::Text(String::from_utf8_lossy(text).trim_end().to_owned())
        }
    }
}

/// A day as `1998-12-01`, by Howard Hinnant's `civil_from_days`.
fn day(days: i32) -> String {
    let shifted = i64::from(days) + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

impl Answer {
    /// Whether this is the other's answer: as many rows, and each the same as one
    /// of the other's not met before. Sums of floats may differ in their last digits.
    ///
    /// # Errors
    /// Where they differ, in a sentence.
    pub(crate) fn compare(&self, other: &Self) -> Result<()> {
        if self.0.len() != other.0.len() {
            return Err(format!("{} rows instead of {}", self.0.len(), other.0.len()).into());
        }
        let mut left: Vec<&Vec<Cell>> = other.0.iter().collect();
        for (number, row) in self.0.iter().enumerate() {
            // Rows that are equal in what the query orders by may come in either order.
            match left.iter().position(|theirs| is_same(row, theirs)) {
                Some(place) => drop(left.remove(place)),
                None => {
                    let theirs = other.0.get(number);
                    return Err(format!("row {number} is {row:?}, not {theirs:?}").into());
                }
            }
        }
        Ok(())
    }
}

fn is_same(left: &[Cell], right: &[Cell]) -> bool {
    let mut cells = left.iter().zip(right);
    left.len() == right.len()
        && cells.all(|cells| match cells {
            (Cell::Number(left), Cell::Number(right)) => {
                (left - right).abs() <= 1e-6 * left.abs().max(right.abs()).max(1.0)
            }
            (left, right) => left == right,
        })
}
