//! Translates DEFAULT to our SQL.

use folio_types::{ColumnType, Value};

use crate::convert::{convert, number_text, text};
use crate::definition::ColumnDefinition;
use crate::record::Encoding;
use crate::rows::StoredColumn;
use crate::tokens::{Token, quoted_text, to_text};

/// The default of a column. Empty for null. A literal that the column cannot hold is returned as
/// written, for the statement to refuse.
pub(crate) fn default_text(
    column: &StoredColumn,
    declared: &ColumnDefinition,
    ty: &ColumnType,
    encoding: Encoding,
) -> Option<String> {
    let tokens = declared.default.as_ref()?;
    let Some(literal) = &column.default else {
        return Some(now(tokens, ty).unwrap_or_else(|| format!("({})", to_text(tokens))));
    };
    let stored = literal.as_stored();
    let value = convert(stored, ty, encoding);
    Some(match value {
        Some(Value::Null) => String::new(),
        Some(Value::Boolean(value)) => value.to_string(),
        Some(Value::Integer(_) | Value::Float(_) | Value::Decimal(_)) => {
            number_text(stored, true).unwrap_or_else(|| to_text(tokens))
        }
        Some(Value::Bytes(bytes)) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("X'{digits}'")
        }
        Some(_) if text(stored, encoding).is_some() => {
            quoted_text(&text(stored, encoding).unwrap_or_default())
        }
        _ => to_text(tokens),
    })
}

/// The time of the insert, in the type of its column. SQLite uses UTC and whole seconds.
fn now(tokens: &[Token], ty: &ColumnType) -> Option<String> {
    let written = to_text(tokens).to_ascii_lowercase().replace(' ', "");
    let is_date = matches!(&*written, "current_date" | "date('now')");
    let is_time = matches!(&*written, "current_time" | "time('now')");
    let is_both = matches!(&*written, "current_timestamp" | "datetime('now')" | "datetime()");
    let form = match (is_date, is_time, is_both) {
        (true, _, _) => "YYYY-MM-DD",
        (_, true, _) => "HH24:MI:SS",
        (_, _, true) => "YYYY-MM-DD HH24:MI:SS",
        _ => return None,
    };
    let moment = "(current_timestamp AT TIME ZONE 'UTC')";
    Some(match ty {
        ColumnType::Text => format!("to_char({moment}, '{form}')"),
        ColumnType::Date => format!("cast({moment} AS date)"),
        ColumnType::Time => format!("cast({moment} AS time)"),
        ColumnType::Timestamp { utc: true } => "current_timestamp".to_owned(),
        ColumnType::Timestamp { utc: false } => moment.to_owned(),
        _ => return None,
    })
}
