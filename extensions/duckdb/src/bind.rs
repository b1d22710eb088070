//! Binds a call of `read_ion`, or of `read_folio` for a collection, to its source and columns.

use crate::files::FileSystem;
use crate::host::HostValue;
use crate::host_type::{HostType, Kind, make_distinct};
use crate::options::Options;
use crate::origin::Origin;
use crate::sample;
use folio::Collection;
use folio_ion::Format;
use folio_ion::shred::{Field, Layout, Type};

/// The arguments of a call, and the file systems it may use.
pub(crate) struct Call {
    pub(crate) positional: Vec<HostValue>,
    /// The given options.
    pub(crate) named: Vec<(&'static str, HostValue)>,
    pub(crate) files: FileSystem,
    /// The number of DuckDB's threads.
    pub(crate) threads: usize,
}

const ENDINGS: [&str; 6] = [".ion", ".10n", ".ion.gz", ".10n.gz", ".ion.zst", ".10n.zst"];

/// Options of `read_folio` that control how columns are found.
const RULES: [&str; 7] = [
    "columns",
    "maximum_depth",
    "field_appearance_threshold",
    "map_inference_threshold",
    "sample_size",
    "conflict_mode",
    "decimal_as",
];

/// Whether `path` is a pattern.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// Whether the name of a missing table is that of an Ion file.
pub(crate) fn is_file_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// The source and the columns of a scan.
pub(crate) struct Bound {
    pub(crate) options: Options,
    pub(crate) origin: Origin,
    pub(crate) files: Vec<String>,
    /// All columns from the values.
    pub(crate) layout: Layout,
    /// Every result column with its name, in order.
    pub(crate) outputs: Vec<(String, Output)>,
}

/// The source of a result column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    /// The column of the layout at this index.
    Column(usize),
    /// The record's annotations.
    Annotations,
    /// The file's name.
    Filename,
    /// A part of the file's path, `name=value`.
    Partition(String),
}

impl Bound {
    /// Binds a call of `read_ion`.
    pub(crate) fn of(call: Call) -> Result<Bound, String> {
        let options = Options::of(&call.named)?;
        let path = call.positional.first().ok_or("read_ion needs a path")?;
        let files = paths(path, &call.files)?;
        Bound::new(options, Origin::Files(call.files), files, call.threads)
    }

    /// Binds a call of `read_folio` for a collection; `place` is its database and its name. The
    /// columns are the same as on every surface, unless the call has options for finding others.
    pub(crate) fn of_collection(
        call: &Call,
        collection: Collection,
        place: String,
    ) -> Result<Bound, String> {
        let mut options = Options::of(&call.named)?;
        options.format = Format::Values;
        let types = match call.named.iter().any(|(name, _)| RULES.contains(name)) {
            true => None,
            false => Some(collection.types().map_err(|error| error.to_string())?),
        };
        if !options.ignore_errors {
            refuse_broken(&collection)?;
        }
        let exact = options.rules.decimal.is_some() || options.columns.is_some();
        let origin = Origin::Collection(collection);
        if let Some(types) = types.filter(|types| types.document_count() > 0) {
            let (layout, files) = (Layout::Records(fields_of(&types.fields())), vec![place]);
            let outputs = outputs(&layout, &files, &options)?;
            return Ok(Bound { options, origin, files, layout, outputs });
        }
        let mut bound = Bound::new(options, origin, vec![place], call.threads)?;
        if !exact {
            // A number with a point has the type its writer had, usually a double.
            bound.layout = with_types(bound.layout, &|found| match found {
                Type::Decimal { .. } => Type::Float(64),
                other => other,
            });
        }
        Ok(bound)
    }

    fn new(
        options: Options,
        origin: Origin,
        files: Vec<String>,
        threads: usize,
    ) -> Result<Bound, String> {
        let layout = match &options.columns {
            Some(fields) => Layout::Records(fields.clone()),
            None => infer(&files, &origin, &options, threads)?,
        };
        let outputs = outputs(&layout, &files, &options)?;
        Ok(Bound { options, origin, files, layout, outputs })
    }

    /// The result columns, in order.
    pub(crate) fn columns(&self) -> Vec<(String, HostType)> {
        let column = |(name, output): &(String, Output)| (name.clone(), self.output_type(output));
        self.outputs.iter().map(column).collect()
    }

    fn output_type(&self, output: &Output) -> HostType {
        let text = HostType::Simple(Kind::Varchar);
        match (output, &self.layout) {
            (Output::Column(index), Layout::Records(fields)) => {
                HostType::of_values(&fields[*index].field_type)
            }
            (Output::Column(_), Layout::Values(value_type)) => HostType::of_values(value_type),
            (Output::Annotations, _) => HostType::List(Box::new(text)),
            (Output::Filename | Output::Partition(_), _) => text,
        }
    }
}

/// Refuses a collection with lines that are not documents, which reads skip.
fn refuse_broken(collection: &Collection) -> Result<(), String> {
    let lines = collection.broken_lines().map_err(|error| error.to_string())?;
    let Some(line) = lines.first() else { return Ok(()) };
    // With a path as it may have been given.
    let here = std::env::current_dir().unwrap_or_default().join("");
    let line = match here.to_str() {
        Some(here) if here.len() > 2 => line.to_string().replace(here, ""),
        _ => line.to_string(),
    };
    Err(format!("{line}, but only with ignore_errors := true; `folio validate --fix` moves it out"))
}

/// The files in the first argument: a path, a pattern, or a list of both.
fn paths(value: &HostValue, system: &FileSystem) -> Result<Vec<String>, String> {
    let text = |value: &HostValue| if value.is_null() { None } else { value.text() };
    let given = match () {
        () if value.is_text() => vec![text(value)],
        () if value.is_list() => value.elements().iter().map(text).collect(),
        () if value.is_null() => vec![None],
        () => return Err("read_ion takes a path or a list of paths".to_owned()),
    };
    if value.is_null() || given.iter().any(Option::is_none) {
        return Err("a path given to read_ion is NULL".to_owned());
    }
    let mut files = Vec::new();
    for path in given.into_iter().flatten() {
        match is_pattern(&path) {
            true => files.extend(system.expand(&path)?),
            false => files.push(path),
        }
    }
    match files.is_empty() {
        true => Err("read_ion was given an empty list of paths".to_owned()),
        false => Ok(files),
    }
}

/// The columns that fit the first values.
fn infer(
    files: &[String],
    origin: &Origin,
    options: &Options,
    threads: usize,
) -> Result<Layout, String> {
    let layout = sample::look(files, origin, options, threads)?.layout(&options.rules);
    Ok(match &options.timestamp_type {
        Some(wanted) => with_types(layout, &|found| match found {
            Type::Timestamp => wanted.clone(),
            other => other,
        }),
        None => layout,
    })
}

fn outputs(
    layout: &Layout,
    files: &[String],
    options: &Options,
) -> Result<Vec<(String, Output)>, String> {
    let mut outputs: Vec<(String, Output)> = match layout {
        Layout::Records(fields) => {
            let named = fields.iter().enumerate();
            named.map(|(index, field)| (field.name.clone(), Output::Column(index))).collect()
        }
        Layout::Values(_) => vec![("ion".to_owned(), Output::Column(0))],
    };
    if options.annotations {
        outputs.push(("annotations".to_owned(), Output::Annotations));
    }
    if options.filename {
        outputs.push(("filename".to_owned(), Output::Filename));
    }
    if options.hive_partitioning {
        let names = partitions(&files[0]).map(|(name, _)| name.to_owned());
        let new =
            |name: &String| outputs.iter().all(|(known, _)| !known.eq_ignore_ascii_case(name));
        let names: Vec<String> = names.filter(new).collect();
        outputs.extend(names.into_iter().map(|name| (name.clone(), Output::Partition(name))));
    }
    if outputs.is_empty() {
        return Err(format!(
            "\"{}\" has no records to take columns from; name them with columns",
            files[0]
        ));
    }
    make_distinct(outputs.iter_mut().map(|(name, _)| name));
    Ok(outputs)
}

/// The `name=value` folders of a path.
pub(crate) fn partitions(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let folders = path.rsplit_once('/').map(|(folders, _)| folders).unwrap_or_default();
    folders.split('/').filter_map(|folder| folder.split_once('='))
}

/// Converts the fields of documents to columns.
fn fields_of(fields: &[folio::Field]) -> Vec<Field> {
    let field = |field: &folio::Field| {
        let folio::Field { name, field_type } = field;
        Field { name: name.clone(), field_type: type_of(field_type) }
    };
    fields.iter().map(field).collect()
}

fn type_of(found: &folio::Type) -> Type {
    match found {
        folio::Type::Boolean => Type::Bool,
        folio::Type::Int64 => Type::Int(64),
        folio::Type::Float64 => Type::Float(64),
        folio::Type::Text => Type::String,
        folio::Type::Null | folio::Type::Json | folio::Type::Empty => Type::Json,
        folio::Type::List(item) => Type::List(Box::new(type_of(item))),
        folio::Type::Struct(fields) => Type::Struct(fields_of(fields)),
        folio::Type::Map(value) => Type::Map(Box::new(type_of(value))),
    }
}

/// The layout, with `change` applied to every type that is not nested.
fn with_types(layout: Layout, change: &impl Fn(Type) -> Type) -> Layout {
    match layout {
        Layout::Records(fields) => Layout::Records(changed_fields(fields, change)),
        Layout::Values(value_type) => Layout::Values(changed(value_type, change)),
    }
}

fn changed_fields(fields: Vec<Field>, change: &impl Fn(Type) -> Type) -> Vec<Field> {
    let one = |field: Field| Field { field_type: changed(field.field_type, change), ..field };
    fields.into_iter().map(one).collect()
}

fn changed(found: Type, change: &impl Fn(Type) -> Type) -> Type {
    match found {
        Type::List(child) => Type::List(Box::new(changed(*child, change))),
        Type::Map(value) => Type::Map(Box::new(changed(*value, change))),
        Type::Struct(fields) => Type::Struct(changed_fields(fields, change)),
        other => change(other),
    }
}
