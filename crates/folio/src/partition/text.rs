//! The text of a partition, which a scheduler hands to its workers: a JSON object.

use std::fmt;
use std::str::FromStr;

use folio_document::DocumentRange;
use folio_table::RowRange;
use serde_json::{Value, json};

use super::Partition;
use crate::error::{Error, Result};
use crate::source::PartRange;

impl fmt::Display for Partition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = json!({"uri": self.uri, "relation": self.relation});
        let mut checksum = 0;
        match &self.range {
            PartRange::Documents(range) => {
                text["start"] = range.start.into();
                text["end"] = range.end.into();
                checksum = range.checksum;
                if range.omits_replaced {
                    text["added"] = true.into();
                }
            }
            PartRange::Rows(range) => {
                text["from"] = range.from.as_deref().map(hex).into();
                text["to"] = range.to.as_deref().map(hex).into();
            }
        }
        text["rows"] = self.row_count.into();
        text["generation"] = format!("{:x}", self.generation).into();
        text["checksum"] = format!("{checksum:x}").into();
        if let Some(columns) = &self.columns {
            text["columns"] = columns.clone().into();
        }
        if let Some(filter) = &self.filter {
            text["filter"] = filter.clone().into();
        }
        write!(out, "{text}")
    }
}

impl FromStr for Partition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text).map_err(|_| unknown("it is not JSON"))?;
        let number = |name: &'static str| value[name].as_u64().ok_or_else(|| unknown(name));
        let word = |name: &'static str| value[name].as_str().ok_or_else(|| unknown(name));
        let sum =
            |name: &'static str| u64::from_str_radix(word(name)?, 16).map_err(|_| unknown(name));
        let key = |name: &'static str| match &value[name] {
            Value::Null => Ok(None),
            other => other.as_str().and_then(bytes).map(Some).ok_or_else(|| unknown(name)),
        };
        let row_count = number("rows")?;
        let range = if value.get("start").is_some() {
            let (start, end) = (number("start")?, number("end")?);
            if start > end {
                return Err(unknown("end"));
            }
            PartRange::Documents(DocumentRange {
                start,
                end,
                document_count: row_count,
                checksum: sum("checksum")?,
                omits_replaced: value["added"] == Value::Bool(true),
            })
        } else {
            PartRange::Rows(RowRange { from: key("from")?, to: key("to")? })
        };
        let columns = match &value["columns"] {
            Value::Null => None,
            Value::Array(names) => {
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                Some(names.collect::<Option<_>>().ok_or_else(|| unknown("columns"))?)
            }
            _ => return Err(unknown("columns")),
        };
        let filter = match &value["filter"] {
            Value::Null => None,
            _ => Some(word("filter")?.to_owned()),
        };
        Ok(Self {
            uri: word("uri")?.to_owned(),
            relation: word("relation")?.to_owned(),
            range,
            row_count,
            generation: sum("generation")?,
            columns,
            filter,
        })
    }
}

fn unknown(member: &str) -> Error {
    Error::Invalid(format!("this is not the text of a partition ({member}); plan them again"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}
