//! `meta/manifest.json`: the settings of a collection.
//!
//! ```json
//! {
//!   "version": "1.0.0",
//!   "collection": "users",
//!   "strict": true,
//!   "created_at": "2026-01-31T09:30:00Z",
//!   "doc_count": 2,
//!   "schema_count": 1,
//!   "layout": "lines",
//!   "schema": {"type": "object", "properties": {"age": {"type": "number"}}}
//! }
//! ```
//!
//! The file is shared with ZDS. So it uses the names of ZDS, `version` is text, and unknown keys
//! stay unchanged and in place. Only `version`, `strict`, `schema` and `layout` have a meaning
//! here, and two keys of our own: `indexes` lists the indexes on fields, and `"open": true` lets
//! statements name paths that no document has. A wrong `doc_count` or `collection` does no harm,
//! because documents are counted and the folder names the collection.
//!
//! No manifest is needed: a folder with only `data.jsonl` or `docs/` opens with defaults. A damaged
//! manifest is an error, because it may have required a schema. [`Manifest::fallback`] still lets
//! the documents be read.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use folio_file::{FileKind, FileSystem};
use folio_json::{elements, members, pretty, push_object, unquote};
use jiff::Timestamp;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::field_index::IndexDefinition;
use crate::{Layout, Notice, whole_file};

/// The newest supported format: the number before the first dot of `version`.
pub(crate) const KNOWN_VERSION: u64 = 1;

/// The version written into new manifests.
const VERSION: &str = "1.0.0";

/// A manifest holds at most a schema; a larger file is something else.
const SIZE_LIMIT: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The path of a collection's manifest.
pub(crate) fn manifest_path(folder: &Path) -> PathBuf {
    folder.join("meta").join("manifest.json")
}

/// The content of `meta/manifest.json`, or the defaults if there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    /// Whether every document must follow `schema`, or the first document if there is no schema
    /// yet.
    pub(crate) strict: bool,
    /// The schema as JSON; not checked here.
    pub(crate) schema: Option<Value>,
    /// The indexes.
    pub(crate) indexes: Arc<[IndexDefinition]>,
    /// Whether statements may name paths that no document has.
    pub(crate) has_open_paths: bool,
    /// How documents are stored on disk; `None` if a foreign manifest does not say.
    pub(crate) layout: Option<Layout>,
    /// The number of documents when the manifest was last written. Only for people and other
    /// readers.
    pub(crate) document_count: u64,
    /// Whether the file exists.
    pub(crate) is_stored: bool,
    /// The object as read, or as it begins.
    text: String,
}

/// Keys and the texts of their values, in order. The last of equal keys counts.
type Members<'a> = Vec<(Cow<'a, str>, &'a str)>;

impl Manifest {
    /// The manifest of a new collection.
    pub(crate) fn new(collection: &str, layout: Layout, now: SystemTime) -> Self {
        let created_at = Timestamp::try_from(now)
            .and_then(|now| now.round(jiff::Unit::Second))
            .unwrap_or(Timestamp::UNIX_EPOCH);
        let quoted = |text: &str| Value::from(text).to_string();
        let begins = [
            ("version", quoted(VERSION)),
            ("collection", quoted(collection)),
            ("strict", "false".to_owned()),
            ("created_at", quoted(&created_at.to_string())),
            ("doc_count", "0".to_owned()),
            // ZDS counts schemas, and its readers may require the key.
            ("schema_count", "1".to_owned()),
        ];
        let mut text = String::new();
        push_object(begins, &mut text);
        Self { layout: Some(layout), text, ..Self::fallback() }
    }

    /// The defaults without a readable manifest: any document, in the layout that is found.
    pub(crate) fn fallback() -> Self {
        Self {
            strict: false,
            schema: None,
            indexes: Arc::default(),
            has_open_paths: false,
            layout: None,
            document_count: 0,
            is_stored: false,
            text: "{}".to_owned(),
        }
    }

    /// Changes the collection name in the manifest.
    pub(crate) fn set_collection(&mut self, name: &str) {
        let mut object = self.object();
        set(&mut object, "collection", Some(Value::from(name).to_string()));
        let mut text = String::new();
        push_object(object, &mut text);
        self.text = text;
    }

    /// Reads the manifest of the collection in `folder`; [`Manifest::fallback`] if there is none.
    ///
    /// # Errors
    /// [`Error::Version`] for a newer format, [`Error::Corrupted`] for a file that is
    /// not a manifest, [`Error::Io`].
    pub(crate) fn load(files: &dyn FileSystem, folder: &Path) -> Result<Self> {
        let path = manifest_path(folder);
        match whole_file::read(files, &path, SIZE_LIMIT)? {
            None => Ok(Self::fallback()),
            Some(bytes) => Self::parse(&path, &bytes),
        }
    }

    /// Writes the manifest of the collection in `folder`, whose `meta/` must exist. The write is
    /// atomic, and durable if `synced`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn save(
        &mut self,
        files: &dyn FileSystem,
        folder: &Path,
        synced: bool,
    ) -> Result<()> {
        let text = self.to_text();
        whole_file::replace(files, &manifest_path(folder), text.as_bytes(), synced)?;
        self.is_stored = true;
        Ok(())
    }

    /// The text of the manifest file: the keys as read, with changed values in their places.
    pub(crate) fn to_text(&self) -> String {
        let mut object = self.object();
        if !object.iter().any(|(key, _)| key == "version") {
            set(&mut object, "version", Some(Value::from(VERSION).to_string()));
        }
        set(&mut object, "strict", Some(self.strict.to_string()));
        set(&mut object, "doc_count", Some(self.document_count.to_string()));
        if let Some(layout) = self.layout {
            set(&mut object, "layout", Some(Value::from(layout_name(layout)).to_string()));
        }
        let indexes = || self.indexes.iter().map(IndexDefinition::to_json).collect::<Value>();
        let has_indexes = !self.indexes.is_empty();
        set(&mut object, "indexes", has_indexes.then(|| indexes().to_string()));
        set(&mut object, "open", self.has_open_paths.then(|| "true".to_owned()));
        set(&mut object, "schema", self.schema.as_ref().map(Value::to_string));
        let mut text = String::new();
        push_object(object, &mut text);
        text = pretty(&text);
        text.push('\n');
        text
    }

    fn object(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        let object = members(&self.text).expect("it was read before, or written here");
        object.into_iter().map(|(key, value)| (key, value.into())).collect()
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let bytes_of_text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let mark = bytes.len() - bytes_of_text.len();
        let text = std::str::from_utf8(bytes_of_text)
            .map_err(|error| damaged(path, mark + error.valid_up_to(), "not UTF-8".to_owned()))?;
        let object = members(text).map_err(|fault| {
            let reason = format!("not a JSON object: {}", fault.reason);
            damaged(path, mark + fault.offset, reason)
        })?;
        check_version(path, &object)?;
        Ok(Self {
            strict: flag(path, &object, "strict")?,
            schema: schema(path, &object)?,
            indexes: indexes(path, &object)?,
            has_open_paths: flag(path, &object, "open")?,
            layout: layout(path, &object)?,
            document_count: of(&object, "doc_count")
                .and_then(|count| count.parse().ok())
                .unwrap_or(0),
            is_stored: true,
            text: text.to_owned(),
        })
    }
}

/// Sets the value of a key in its place, or at the end; `None` removes it.
fn set<'a>(
    object: &mut Vec<(Cow<'a, str>, Cow<'a, str>)>,
    key: &'static str,
    value: Option<String>,
) {
    let position = object.iter().rposition(|(own, _)| own == key);
    match (position, value) {
        (Some(position), Some(value)) => object[position].1 = value.into(),
        (None, Some(value)) => object.push((key.into(), value.into())),
        (_, None) => object.retain(|(own, _)| own != key),
    }
}

/// The text of a value; `None` for null, or if there is none.
fn of<'a>(object: &Members<'a>, key: &str) -> Option<&'a str> {
    let found = object.iter().rfind(|(own, _)| own == key);
    found.map(|(_, value)| *value).filter(|value| *value != "null")
}

/// Rejects a format that this release may misread. ZDS writes the version as text (`"0.1.0"`);
/// others may write a number.
fn check_version(path: &Path, object: &Members<'_>) -> Result<()> {
    let Some((_, value)) = object.iter().rfind(|(key, _)| key == "version") else { return Ok(()) };
    let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let text = match unquote(value) {
        Some(text) => text,
        None if is_number => (*value).into(),
        None => return Err(damaged(path, 0, format!("\"version\" is {value}, not text"))),
    };
    let major = text.trim_start_matches('v').split('.').next().unwrap_or_default();
    match major.parse::<u64>() {
        Ok(found) if found <= KNOWN_VERSION => Ok(()),
        Ok(found) => Err(Error::Version { path: path.to_owned(), found, known: KNOWN_VERSION }),
        Err(_) => Err(damaged(path, 0, format!("\"version\" is {text:?}, not like {VERSION:?}"))),
    }
}

fn flag(path: &Path, object: &Members<'_>, key: &str) -> Result<bool> {
    match of(object, key) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(damaged(path, 0, format!("{key:?} is {other}, not true or false"))),
    }
}

fn layout(path: &Path, object: &Members<'_>) -> Result<Option<Layout>> {
    let Some(value) = of(object, "layout") else { return Ok(None) };
    let name = unquote(value);
    let known = [Layout::Lines, Layout::Files].into_iter();
    let found = known.into_iter().find(|layout| name.as_deref() == Some(layout_name(*layout)));
    found.map(Some).ok_or_else(|| {
        damaged(path, 0, format!("\"layout\" is {value}, not \"lines\" or \"files\""))
    })
}

fn schema(path: &Path, object: &Members<'_>) -> Result<Option<Value>> {
    let Some(value) = of(object, "schema") else { return Ok(None) };
    serde_json::from_str(value)
        .map(Some)
        .map_err(|error| damaged(path, 0, format!("\"schema\" is not valid JSON: {error}")))
}

fn indexes(path: &Path, object: &Members<'_>) -> Result<Arc<[IndexDefinition]>> {
    let Some(value) = of(object, "indexes") else { return Ok(Arc::default()) };
    let definitions =
        elements(value).and_then(|all| all.into_iter().map(IndexDefinition::from_json).collect());
    definitions.ok_or_else(|| {
        damaged(path, 0, format!("\"indexes\" is {value}, not a list of names and fields"))
    })
}

fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Lines => "lines",
        Layout::Files => "files",
    }
}

fn damaged(path: &Path, offset: usize, reason: String) -> Error {
    Error::Corrupted {
        path: path.to_owned(),
        offset: offset as u64,
        reason,
        repair: "fix it in an editor, or move it away to continue without the schema, the indexes \
                 (also UNIQUE ones) and the open setting that it holds"
            .to_owned(),
    }
}

/// What is found at the place where a layout stores its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Neither file nor folder.
    Absent,
    /// An empty file or folder. ZDS makes an empty `docs/` for every collection.
    Empty,
    /// Something to read.
    Filled,
}

/// Which layouts are found in a collection's folder. The layout that the manifest names is not
/// searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundLayouts {
    /// `meta/data.jsonl`
    pub(crate) lines: Presence,
    /// `docs/*.json`
    pub(crate) files: Presence,
}

impl FoundLayouts {
    /// Finds out what the manifest leaves open. Costs a call or two, and a listing of `docs/` if it
    /// exists and is not the manifest's layout.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn in_folder(
        files: &dyn FileSystem,
        folder: &Path,
        named: Option<Layout>,
    ) -> Result<Self> {
        let unless = |layout, look: fn(&dyn FileSystem, &Path) -> Result<Presence>| {
            if named == Some(layout) { Ok(Presence::Absent) } else { look(files, folder) }
        };
        Ok(Self {
            lines: unless(Layout::Lines, lines_in)?,
            files: unless(Layout::Files, files_in)?,
        })
    }

    /// Chooses the layout: the manifest's, else the one that holds documents, else `wanted`.
    /// Documents in the other layout are reported, never mixed in.
    pub(crate) fn choose(self, manifest: &Manifest, wanted: Layout) -> (Layout, Option<Notice>) {
        let layout = manifest.layout.unwrap_or(match (self.lines, self.files) {
            (Presence::Filled, _) => Layout::Lines,
            (_, Presence::Filled) => Layout::Files,
            (Presence::Empty, _) => Layout::Lines,
            (Presence::Absent, _) => wanted,
        });
        let (used, other, other_name) = match layout {
            Layout::Lines => ("meta/data.jsonl", self.files, "docs/"),
            Layout::Files => ("docs/", self.lines, "meta/data.jsonl"),
        };
        let notice = (other == Presence::Filled).then(|| {
            Notice(format!(
                "documents are read from {used}; those in {other_name} are not part of the \
                 collection (import them, or name the other layout in meta/manifest.json)"
            ))
        });
        (layout, notice)
    }
}

fn lines_in(files: &dyn FileSystem, folder: &Path) -> Result<Presence> {
    let data = folder.join("meta").join("data.jsonl");
    match files.stat(&data) {
        Ok(stat) if stat.size > 0 => Ok(Presence::Filled),
        Ok(_) => Ok(Presence::Empty),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Presence::Absent),
        Err(error) => Err(Error::io("look at", &data)(error)),
    }
}

fn files_in(files: &dyn FileSystem, folder: &Path) -> Result<Presence> {
    let docs = folder.join("docs");
    let is_document = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    match files.read_directory(&docs) {
        Ok(entries) => {
            let mut documents = entries.iter().filter(|entry| is_document(&entry.name));
            let found = documents.any(|entry| entry.kind == FileKind::File);
            Ok(if found { Presence::Filled } else { Presence::Empty })
        }
        // A place that lists no names shows no documents of this layout.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
            Ok(Presence::Absent)
        }
        Err(error) => Err(Error::io("list", &docs)(error)),
    }
}

#[cfg(test)]
mod tests;
