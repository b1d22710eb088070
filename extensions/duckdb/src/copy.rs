//! The options of `COPY … TO 'x.ion' (FORMAT ION)`.

use crate::files::Compression;
use crate::host::HostValue;
use crate::options::unknown;
use crate::row_writer::{Names, RowFormat};
use crate::vector_value::Shape;
use folio_ion::Symbol;

const NAMES: [&str; 5] = ["binary", "array", "pretty", "compression", "columns"];

/// Reads the statement's options, whose values may be bare, lists, or omitted for true. Also
/// returns the names given by COLUMNS.
pub(crate) fn read_options(
    options: &[(String, Vec<String>)],
) -> Result<(RowFormat, Option<Vec<String>>), String> {
    let mut format = RowFormat::default();
    let mut names = None;
    for (name, texts) in options {
        let flag = || match texts.first().map(|text| text.to_ascii_lowercase()).as_deref() {
            None | Some("true" | "1" | "on") => Ok(true),
            Some("false" | "0" | "off") => Ok(false),
            Some(other) => Err(format!("option {name} is '{other}'; use true or false")),
        };
        match name.to_ascii_lowercase().as_str() {
            "binary" => format.binary = flag()?,
            "array" => format.array = flag()?,
            "pretty" => format.pretty = flag()?,
            "compression" => {
                format.compression =
                    Compression::parse(texts.first().map_or("auto", String::as_str))?;
            }
            "columns" => names = Some(distinct(texts)?),
            "format" => {}
            _ => return Err(unknown(name, &NAMES)),
        }
    }
    if format.binary && format.pretty {
        return Err("option PRETTY is for text; remove it or BINARY".to_owned());
    }
    Ok((format, names))
}

/// The names of COLUMNS. Of two fields with one name, readers take the first.
fn distinct(names: &[String]) -> Result<Vec<String>, String> {
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => Err(format!("option COLUMNS names '{name}' twice; choose another name")),
        None => Ok(names.to_vec()),
    }
}

/// A value as texts: itself, or the elements of a list of any depth.
pub(crate) fn texts(value: &HostValue) -> Vec<String> {
    match () {
        () if value.is_null() => Vec::new(),
        () if value.is_list() => value.elements().iter().flat_map(texts).collect(),
        () => value.text().into_iter().collect(),
    }
}

/// The names of the columns: from COLUMNS; or none if one struct column is the record itself; or
/// from DuckDB, if it has them.
pub(crate) fn names_for(
    given: Option<Vec<String>>,
    known: Option<Vec<String>>,
    shapes: &[Shape],
) -> Result<Names, String> {
    let columns = |names: Vec<String>| {
        Names::Columns(names.iter().map(|name| Symbol::from(name.as_str())).collect())
    };
    match (given, known, shapes) {
        (Some(names), ..) if names.len() == shapes.len() => Ok(columns(names)),
        (Some(names), ..) => Err(format!(
            "option COLUMNS names {} columns, the query has {}",
            names.len(),
            shapes.len()
        )),
        (None, _, [Shape::Struct(_)]) => Ok(Names::Record),
        (None, Some(names), _) => Ok(columns(names)),
        (None, None, _) => {
            Err("this DuckDB interface does not give column names to COPY: add COLUMNS ['a', 'b', \
                 …], or select one struct, COPY (SELECT {a: a, b: b} FROM …) TO …"
                .to_owned())
        }
    }
}
