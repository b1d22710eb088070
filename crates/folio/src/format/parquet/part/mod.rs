//! Parts of columns indexes as Parquet files: what a collection's lines become, and how a scan reads
//! them back.
//!
//! | file | holds |
//! |---|---|
//! | this one | what is known of an open part: its columns, and where it has a path |
//! | `types` | the types of columns as they are noted, and as they are wanted |
//! | `layout` | the columns of new parts of collections |
//! | `table` | the columns of new parts of tables |
//! | `writer` | the bytes of new parts |
//! | `encoding` | how their columns are encoded |
//! | `request` | what a scan wants, and the row groups that may have it |
//! | `rows` | the rows of a row group |
//! | `codes` | columns that are dictionaries, as the pages have them |
//! | `statistics` | what footers say about the values of a column |
//! | `dictionaries` | texts that are read as dictionaries |
//! | `copied` | whether a part has the values of its lines |
//!
//! A file has a column for each member of the documents, with structs, lists and maps as such, and
//! mixed values as JSON text. The types are those that the collection had when the file was
//! written, and are noted in its metadata under [`NOTE`]. A scan asks for paths with the types that
//! they have now: a part serves it if all are found with the same types, or are known to be missing.
//!
//! The shredder of lines makes the arrays that are written, so a value reads the same from either.

mod codes;
mod copied;
mod dictionaries;
mod encoding;
mod layout;
mod request;
mod rows;
mod statistics;
mod table;
mod types;
mod writer;

use std::sync::Arc;

use bytes::Bytes;
use folio_compute::Error as QueryError;
use folio_file::SummedMap;
use folio_types::ColumnType;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use super::{damaged, guarded};
use dictionaries::with_dictionaries;
pub(crate) use layout::PartLayout;
pub(crate) use request::{PartGroup, PartRequest, PartTest};
pub(crate) use rows::PartRows;
pub(crate) use statistics::column_values;
pub(crate) use table::{Encoded, TableLayout, column_at, column_path, column_type, key_positions};
use types::{fits, is_read, type_of_json};

/// The key of the metadata that has paths and types.
const NOTE: &str = "folio.columns";

/// The number of bytes of a file that its footer ends with: its size, and the magic number.
const END_SIZE: u64 = 8;

/// A column of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartColumn {
    path: Vec<String>,
    /// Its name in the file.
    name: String,
    ty: ColumnType,
}

/// What is known of an open part.
struct Decoded {
    metadata: ArrowReaderMetadata,
    columns: Vec<PartColumn>,
    is_whole: bool,
}

/// The bytes of a part, as long as somebody reads them.
struct PartBytes(Arc<SummedMap>);

impl AsRef<[u8]> for PartBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// Footer, paths and types of a part; `None` if it is damaged.
fn decoded(part: &SummedMap) -> Option<&Decoded> {
    part.decoded(|part| {
        let decoded = decode(part);
        if decoded.is_none() {
            part.mark_damaged();
        }
        decoded
    })
}

fn decode(part: &SummedMap) -> Option<Decoded> {
    let bytes = part.bytes();
    let size = bytes.len() as u64;
    let end = size.checked_sub(END_SIZE).filter(|end| part.is_intact(*end..size))?;
    let footer = u32::from_le_bytes(bytes.get(end as usize..)?.get(..4)?.try_into().ok()?);
    let start = end.checked_sub(u64::from(footer)).filter(|start| part.is_intact(*start..end))?;
    let footer = Bytes::copy_from_slice(&bytes[start as usize..]);
    let mut reader = parquet::file::metadata::ParquetMetaDataReader::new();
    let metadata = guarded("part", || {
        reader.try_parse_sized(&footer, size)?;
        let metadata = Arc::new(reader.finish()?);
        with_dictionaries(&ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new())?)
    });
    let metadata = metadata.ok()?;
    let noted = metadata.metadata().file_metadata().key_value_metadata()?;
    let note = noted.iter().find(|pair| pair.key == NOTE)?.value.as_ref()?;
    let note: serde_json::Value = serde_json::from_str(note).ok()?;
    let column = |column: &serde_json::Value| {
        let path = column.get("path")?.as_array()?.iter();
        let path = path.map(|name| name.as_str().map(str::to_owned));
        let path = path.collect::<Option<Vec<_>>>()?;
        let name = column.get("name").and_then(serde_json::Value::as_str);
        let name = name.map_or_else(|| path.join("."), str::to_owned);
        Some(PartColumn { path, name, ty: type_of_json(column.get("type")?)? })
    };
    let columns = note.get("columns")?.as_array()?.iter().map(column);
    Some(Decoded {
        columns: columns.collect::<Option<_>>()?,
        is_whole: note.get("whole")?.as_bool()?,
        metadata,
    })
}

/// Where a part has a path.
enum Spot<'p> {
    /// In no document.
    Missing,
    /// In a column, below these members, with this type, as this type is wanted of it.
    At { column: usize, members: &'p [String], ty: &'p ColumnType, wanted: &'p ColumnType },
}

impl Decoded {
    /// Where a path is; `None` if the part does not tell, or tells it in another type.
    fn spot<'p>(&'p self, path: &'p [String], wanted: &'p ColumnType) -> Option<Spot<'p>> {
        let found = self.columns.iter().enumerate().find(|(_, own)| path.starts_with(&own.path));
        let Some((column, own)) = found else {
            return self.is_whole.then_some(Spot::Missing);
        };
        let members = &path[own.path.len()..];
        let mut ty = &own.ty;
        for name in members {
            let ColumnType::Struct(all) = ty else { return None };
            match all.iter().find(|(own, _)| own == name) {
                Some((_, member)) => ty = member,
                None => return Some(Spot::Missing),
            }
        }
        fits(ty, wanted).then_some(Spot::At { column, members, ty, wanted })
    }
}

/// The leaves of the columns in a file that spots need.
fn leaves(known: &Decoded, spots: &[Spot<'_>]) -> Vec<usize> {
    let schema = known.metadata.parquet_schema();
    let mut found = Vec::new();
    for (number, leaf) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(number);
        let is_wanted = |spot: &Spot<'_>| match spot {
            Spot::Missing => false,
            Spot::At { column, members, ty, wanted } => {
                let below = leaf.path().parts()[1..].strip_prefix(*members);
                *column == root && below.is_some_and(|below| is_read(below, ty, wanted))
            }
        };
        if spots.iter().any(is_wanted) {
            found.push(number);
        }
    }
    found
}

/// The error for a part that cannot be read although its checksums are right.
#[cold]
fn unread(part: &SummedMap) -> QueryError {
    part.mark_damaged();
    damaged("part of columns", "it is not as it was written").help("run the statement again")
}
