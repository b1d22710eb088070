//! The named parameters of `read_ion` and `read_folio`.

use crate::files::Compression;
use crate::host::HostValue;
use crate::host_type::Kind;
use crate::type_name;
use folio_ion::shred::{Field, Rules, Type};
use folio_ion::{Format, Limits};

/// The options of `read_ion`.
pub(crate) struct Options {
    pub(crate) format: Format,
    pub(crate) rules: Rules,
    pub(crate) limits: Limits,
    pub(crate) columns: Option<Vec<Field>>,
    /// The number of values to sample for the schema; `None` for all.
    pub(crate) sample_size: Option<u64>,
    pub(crate) sample_files: usize,
    pub(crate) compression: Compression,
    pub(crate) filename: bool,
    pub(crate) hive_partitioning: bool,
    pub(crate) ignore_errors: bool,
    pub(crate) annotations: bool,
    pub(crate) timestamp_type: Option<Type>,
    pub(crate) profile: bool,
    /// The ids of the documents to read; `None` for all.
    pub(crate) ids: Option<Vec<String>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: Format::Auto,
            rules: Rules::default(),
            limits: Limits::default(),
            columns: None,
            sample_size: Some(20_480),
            sample_files: 32,
            compression: Compression::Auto,
            filename: false,
            hive_partitioning: false,
            ignore_errors: false,
            annotations: false,
            timestamp_type: None,
            profile: false,
            ids: None,
        }
    }
}

/// Every option with the type of its value.
pub(crate) const NAMES: [(&str, Kind); 19] = [
    ("columns", Kind::Any),
    ("format", Kind::Varchar),
    ("records", Kind::Any),
    ("maximum_depth", Kind::Bigint),
    ("field_appearance_threshold", Kind::Double),
    ("map_inference_threshold", Kind::Bigint),
    ("sample_size", Kind::Bigint),
    ("maximum_sample_files", Kind::Bigint),
    ("union_by_name", Kind::Boolean),
    ("conflict_mode", Kind::Varchar),
    ("profile", Kind::Boolean),
    ("filename", Kind::Boolean),
    ("hive_partitioning", Kind::Boolean),
    ("compression", Kind::Varchar),
    ("ignore_errors", Kind::Boolean),
    ("annotations", Kind::Varchar),
    ("timestamp_type", Kind::Varchar),
    ("decimal_as", Kind::Varchar),
    ("maximum_object_size", Kind::Bigint),
];

/// The options of `read_folio`, most of them the same.
pub(crate) const FOLIO_NAMES: [(&str, Kind); 11] = [
    ("id", Kind::Any),
    ("columns", Kind::Any),
    ("maximum_depth", Kind::Bigint),
    ("field_appearance_threshold", Kind::Double),
    ("map_inference_threshold", Kind::Bigint),
    ("sample_size", Kind::Bigint),
    ("conflict_mode", Kind::Varchar),
    ("profile", Kind::Boolean),
    ("ignore_errors", Kind::Boolean),
    ("decimal_as", Kind::Varchar),
    ("maximum_object_size", Kind::Bigint),
];

impl Options {
    /// The options given in a call.
    pub(crate) fn of(named: &[(&str, HostValue)]) -> Result<Options, String> {
        let mut options = Options::default();
        for (name, value) in named {
            if value.is_null() {
                return Err(format!("option '{name}' is NULL; give it a value or leave it out"));
            }
            options.set(name, value)?;
        }
        if options.rules.records == Some(false) {
            if options.columns.is_some() {
                return Err(
                    "option 'columns' names fields of records; remove it or records := false"
                        .to_owned(),
                );
            }
            // Each value is then a row, even if the first one is a list.
            if options.format == Format::Auto {
                options.format = Format::Values;
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &HostValue) -> Result<(), String> {
        let text = value.text().unwrap_or_default();
        match name {
            "id" => self.ids = Some(ids(value)?),
            "columns" => self.columns = Some(columns(value)?),
            "format" => self.format = format(&text)?,
            "records" => self.rules.records = records(&text)?,
            "maximum_depth" => self.rules.depth = or_unbounded(name, &text)?.unwrap_or(usize::MAX),
            "field_appearance_threshold" => self.rules.field_appearance = share(name, &text)?,
            "map_inference_threshold" => self.rules.map_fields = or_unbounded(name, &text)?,
            "sample_size" => self.sample_size = or_all(name, &text)?.map(|size| size as u64),
            "maximum_sample_files" => {
                self.sample_files = or_all(name, &text)?.unwrap_or(usize::MAX);
            }
            // The schema is the union of the sampled files either way; this samples all of them.
            "union_by_name" if value.boolean() => self.sample_files = usize::MAX,
            "union_by_name" => {}
            "conflict_mode" => self.rules.conflict = conflict(&text)?,
            "profile" => self.profile = value.boolean(),
            "filename" => self.filename = value.boolean(),
            "hive_partitioning" => self.hive_partitioning = value.boolean(),
            "compression" => self.compression = Compression::parse(&text)?,
            "ignore_errors" => self.ignore_errors = value.boolean(),
            "annotations" => self.annotations = annotations(&text)?,
            "timestamp_type" => self.timestamp_type = Some(timestamp_type(&text)?),
            "decimal_as" => self.rules.decimal = Some(decimal(&text)?),
            "maximum_object_size" => {
                self.limits.value_size =
                    or_unbounded(name, &text)?.unwrap_or(usize::MAX / 4).max(1);
            }
            _ => return Err(unknown(name, &[])),
        }
        Ok(())
    }
}

/// The error for an unknown option, with the nearest name or a list.
pub(crate) fn unknown(asked: &str, names: &[&str]) -> String {
    let known: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    match folio::near_match(asked, &known) {
        Some(near) => format!("option '{asked}' is not known; did you mean '{near}'?"),
        None => format!("option '{asked}' is not known; the options are {}", names.join(", ")),
    }
}

/// One id, or a list of them.
fn ids(value: &HostValue) -> Result<Vec<String>, String> {
    let usage = || "option 'id' takes an id or a list of ids, such as ['ada', 'bob']".to_owned();
    if value.is_struct() {
        return Err(usage());
    }
    let given = match value.is_list() {
        true => value.elements(),
        false => return value.text().map(|id| vec![id]).ok_or_else(usage),
    };
    let text = |id: &HostValue| if id.is_null() { None } else { id.text() };
    given.iter().map(|id| text(id).ok_or_else(usage)).collect()
}

fn columns(value: &HostValue) -> Result<Vec<Field>, String> {
    let usage = || {
        "option 'columns' takes a struct of types, such as {id: 'BIGINT', name: 'VARCHAR'}"
            .to_owned()
    };
    if !value.is_struct() {
        return Err(usage());
    }
    let mut fields = Vec::new();
    for (name, value) in value.fields() {
        if value.is_null() || !value.is_text() {
            return Err(usage());
        }
        let named = type_name::parse(&value.text().unwrap_or_default());
        let field_type = named.map_err(|why| format!("column '{name}': {why}"))?;
        fields.push(Field { name, field_type });
    }
    if fields.is_empty() {
        return Err(usage());
    }
    Ok(fields)
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "auto" => Ok(Format::Auto),
        "newline_delimited" | "unstructured" => Ok(Format::Values),
        "array" => Ok(Format::List),
        _ => Err(format!("format '{text}' is not known; use auto, newline_delimited or array")),
    }
}

fn records(text: &str) -> Result<Option<bool>, String> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Ok(None),
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => Err(format!("records '{text}' is not known; use auto, true or false")),
    }
}

fn conflict(text: &str) -> Result<Type, String> {
    match text {
        "varchar" => Ok(Type::String),
        "json" => Ok(Type::Json),
        _ => Err(format!("conflict_mode '{text}' is not known; use varchar or json")),
    }
}

fn annotations(text: &str) -> Result<bool, String> {
    match text {
        "ignore" => Ok(false),
        "column" => Ok(true),
        _ => Err(format!("annotations '{text}' is not known; use ignore or column")),
    }
}

fn timestamp_type(text: &str) -> Result<Type, String> {
    match type_name::parse(text) {
        Ok(found @ (Type::Timestamp | Type::UtcTimestamp | Type::Date | Type::String)) => Ok(found),
        _ => Err(format!(
            "timestamp_type '{text}' is not known; use TIMESTAMPTZ, TIMESTAMP, DATE or VARCHAR"
        )),
    }
}

fn decimal(text: &str) -> Result<(u8, u8), String> {
    match type_name::parse(text) {
        Ok(Type::Decimal { precision, scale }) => Ok((precision, scale)),
        _ => Err(format!("decimal_as '{text}' is not a decimal type such as DECIMAL(18,3)")),
    }
}

/// A count; -1 means no limit.
fn or_unbounded(name: &str, text: &str) -> Result<Option<usize>, String> {
    match text.parse::<i64>() {
        Ok(-1) => Ok(None),
        Ok(count @ 0..) => Ok(Some(count as usize)),
        _ => Err(format!("option '{name}' is {text}; use a count, or -1 for no limit")),
    }
}

/// A sample count; -1 means all. Zero is refused, since nothing can be learnt from it.
fn or_all(name: &str, text: &str) -> Result<Option<usize>, String> {
    match or_unbounded(name, text)? {
        Some(0) => Err(format!("option '{name}' is 0; use a count of at least 1, or -1 for all")),
        count => Ok(count),
    }
}

fn share(name: &str, text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("option '{name}' is {text}; use a number from 0 to 1")),
    }
}
