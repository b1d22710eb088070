//! File formats: one table of names, and a folder with a reader and a writer for each.
//!
//! ```text
//! json/      JSON Lines, and JSON arrays
//! csv/       CSV and TSV (RFC 4180)
//! ion/       Amazon Ion, text and binary
//! arrow/     Arrow IPC files and streams (Feather 2)
//! parquet/   Apache Parquet
//!
//! records       a file as JSON records:   import, restore
//! relation      a file as a relation:     FROM 'file', COPY … FROM
//! rows          batches of rows as bytes: COPY … TO, export, dump
//! output        the file that is written: compressed, then renamed into place
//! ```
//!
//! **Names.** The name decides the format. `x.csv.gz` is CSV inside gzip. Writing refuses a name
//! without a known extension unless a format is given, and refuses a given format that contradicts
//! the extension. Reading prefers the given format, then the extension, then the first bytes.
//! Compression (`folio_stream`) is always recognised by the first bytes.
//!
//! **NULL.** CSV and TSV: an empty cell is NULL, `""` is the empty string. In a file of one column,
//! an empty line is not a row, so a cell of one space is NULL. JSON, Ion: `null`. Parquet and
//! Arrow: their own nulls. A NULL that becomes a member of a document is `null`.

#[cfg(feature = "sql")]
pub(crate) mod arrow;
pub(crate) mod csv;
#[cfg(feature = "sql")]
mod guard;
mod guess;
mod input;
pub(crate) mod ion;
pub(crate) mod json;
#[cfg(feature = "sql")]
pub(crate) mod members;
mod output;
#[cfg(feature = "sql")]
pub(crate) mod parquet;
mod record;
#[cfg(feature = "sql")]
mod record_file;
mod records;
#[cfg(feature = "sql")]
mod relation;
#[cfg(feature = "sql")]
mod row_file;
#[cfg(feature = "sql")]
mod row_records;
#[cfg(feature = "sql")]
mod row_writer;
#[cfg(feature = "sql")]
mod rows;
mod source;
mod source_list;
#[cfg(feature = "sql")]
mod whole;

use std::path::Path;

use folio_stream::Compression;

pub(crate) use output::OutputFile;
pub(crate) use record::{Reading, Record};
pub(crate) use records::Records;
#[cfg(feature = "sql")]
pub(crate) use relation::{forget_damaged, relation, watched};
#[cfg(feature = "sql")]
pub(crate) use row_file::file_of;
#[cfg(feature = "sql")]
pub(crate) use row_writer::RowWriter;
#[cfg(feature = "sql")]
pub(crate) use rows::{column_writer, row_writer};
pub use source::Source;
pub(crate) use source_list::Place;
pub use source_list::SourceList;

use crate::error::{Error, Result};

/// The format of a file of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One JSON object per line.
    #[default]
    JsonLines,
    /// One JSON array of objects. A reader also takes objects one after another.
    Json,
    /// Comma-separated values under a header (RFC 4180, with line feeds).
    Csv,
    /// Tab-separated values: CSV with a tab between cells.
    Tsv,
    /// Amazon Ion text, a struct per line. A reader also takes the binary form.
    Ion,
    /// Binary Amazon Ion.
    IonBinary,
    /// Arrow's IPC file format, which is Feather 2. A reader also takes the stream format.
    Arrow,
    /// Apache Parquet.
    Parquet,
    /// A directory with the collection in the ZDS layout. Export only.
    Zds,
}

/// A format, the name that options use, and the extensions of its files.
struct Entry(Format, &'static str, &'static [&'static str]);

const FORMATS: [Entry; 9] = [
    Entry(Format::JsonLines, "jsonl", &["jsonl", "ndjson"]),
    Entry(Format::Json, "json", &["json"]),
    Entry(Format::Csv, "csv", &["csv"]),
    Entry(Format::Tsv, "tsv", &["tsv"]),
    Entry(Format::Ion, "ion", &["ion"]),
    Entry(Format::IonBinary, "ion-binary", &["10n"]),
    Entry(Format::Arrow, "arrow", &["arrow", "arrows", "feather", "ipc"]),
    Entry(Format::Parquet, "parquet", &["parquet"]),
    Entry(Format::Zds, "zds", &[]),
];

const COMPRESSIONS: [(Compression, &[&str]); 2] =
    [(Compression::Gzip, &["gz", "gzip"]), (Compression::Zstd, &["zst", "zstd"])];

/// The extensions, as listed in messages.
const KNOWN: &str =
    ".jsonl, .json, .csv, .tsv, .ion, .10n, .parquet or .arrow, each also with .gz or .zst";

impl Format {
    /// The names that [`Format::named`] accepts, files first; the last is a directory.
    pub const NAMES: [&'static str; 9] = {
        let mut names = [""; 9];
        let mut at = 0;
        while at < 9 {
            names[at] = FORMATS[at].1;
            at += 1;
        }
        names
    };

    /// The format of a name such as `"csv"` or `"ion-binary"`, or of an extension.
    ///
    /// # Errors
    /// `invalid_input` for other names.
    pub fn named(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase().replace('_', "-");
        let is_it = |entry: &&Entry| entry.1 == lower || entry.2.contains(&&*lower);
        FORMATS.iter().find(is_it).map(|entry| entry.0).ok_or_else(|| {
            let known = Self::NAMES.join(", ");
            Error::Invalid(format!("the format {name:?} is unknown; use one of {known}"))
        })
    }

    /// The name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|entry| entry.0 == self).map_or("", |entry| entry.1)
    }

    /// The default extension of its files.
    #[cfg(feature = "sql")]
    pub(crate) fn extension(self) -> &'static str {
        let entry = FORMATS.iter().find(|entry| entry.0 == self);
        entry.and_then(|entry| entry.2.first()).copied().unwrap_or_default()
    }

    /// The format given by a file name, whatever the compression.
    #[must_use]
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        split(path.as_ref()).0
    }

    /// The delimiter, if the format determines it.
    fn delimiter(self) -> Option<u8> {
        (self == Self::Tsv).then_some(b'\t')
    }

    /// Whether files of this format may have an extension of `other`.
    fn may_be_called(self, other: Self) -> bool {
        use Format::{Ion, IonBinary, Json, JsonLines};
        self == other
            || matches!((self, other), (JsonLines, Json) | (IonBinary, Ion) | (Ion, IonBinary))
    }
}

/// The format and compression to write: as asked, else from the file name.
///
/// # Errors
/// `invalid_input` for a name without a known extension when no format is asked for, and for a
/// format that contradicts the extension.
pub(crate) fn to_write(path: &Path, asked: Option<Format>) -> Result<(Format, Compression)> {
    let (named, compression) = split(path);
    let format = match (asked, named) {
        (Some(asked), Some(named)) if !asked.may_be_called(named) => {
            let (asked, named) = (asked.name(), named.name());
            return Err(Error::Invalid(format!(
                "the format is {asked}, but the name {path:?} means {named}; give the file the \
                 extension of its format, or leave the format out"
            )));
        }
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => {
            return Err(Error::Invalid(format!(
                "the name {path:?} has no extension of a known format; use {KNOWN}, or name the \
                 format"
            )));
        }
    };
    Ok((format, compression))
}

/// The format and compression given by the extensions of a name.
fn split(path: &Path) -> (Option<Format>, Compression) {
    let extension = |path: &Path| {
        path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase()
    };
    let outer = extension(path);
    let found = COMPRESSIONS.iter().find(|(_, extensions)| extensions.contains(&&*outer));
    let (inner, compression) = match found {
        Some((compression, _)) => {
            (extension(Path::new(path.file_stem().unwrap_or_default())), *compression)
        }
        None => (outer, Compression::None),
    };
    let entry = FORMATS.iter().find(|entry| entry.2.contains(&&*inner));
    (entry.map(|entry| entry.0), compression)
}

/// The name of the relation that a file holds: `events` for `logs/events.csv.gz`.
#[cfg(feature = "sql")]
fn stem(path: &str) -> String {
    let path = Path::new(path);
    let mut name = path.file_name().map_or(path.to_string_lossy(), |name| name.to_string_lossy());
    if split(path).1 != Compression::None {
        name =
            Path::new(&*name).file_stem().unwrap_or_default().to_string_lossy().into_owned().into();
    }
    Path::new(&*name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_format_and_compression() {
        for (name, format, compression) in [
            ("a.jsonl", Some(Format::JsonLines), Compression::None),
            ("dir.csv/A.TSV.GZ", Some(Format::Tsv), Compression::Gzip),
            ("a.b.parquet.zst", Some(Format::Parquet), Compression::Zstd),
            ("a.feather", Some(Format::Arrow), Compression::None),
            ("a.10n", Some(Format::IonBinary), Compression::None),
            ("a.gz", None, Compression::Gzip),
            ("a.xlsx", None, Compression::None),
            ("csv", None, Compression::None),
        ] {
            assert_eq!(split(Path::new(name)), (format, compression), "{name}");
        }
        for entry in &FORMATS {
            assert_eq!(Format::named(entry.1).unwrap(), entry.0);
            assert_eq!(entry.0.name(), entry.1);
        }
        assert!(Format::named("xlsx").unwrap_err().to_string().contains("jsonl, json, csv"));
    }

    #[test]
    fn a_file_to_write_is_what_its_name_says() {
        let write = |name: &str, asked| to_write(Path::new(name), asked);
        let of = |name: &str, asked| write(name, asked).unwrap().0;
        assert_eq!(of("a.csv", None), Format::Csv);
        assert_eq!(of("a.txt", Some(Format::Csv)), Format::Csv);
        assert_eq!(of("a.json", Some(Format::JsonLines)), Format::JsonLines);
        for (name, asked) in [("a.xlsx", None), ("a", None), ("a.gz", None)] {
            let error = write(name, asked).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(".parquet"), "{error}");
        }
        let error = write("a.parquet", Some(Format::Csv)).unwrap_err().to_string();
        assert!(error.contains("csv") && error.contains("parquet"), "{error}");
    }
}
