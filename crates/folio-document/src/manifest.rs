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

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use folio_file::{FileKind, FileSystem};
use jiff::Timestamp;
use serde_json::{Map, Value};

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
    /// The indexes on fields.
    pub(crate) indexes: Vec<IndexDefinition>,
    /// Whether statements may name paths that no document has.
    pub(crate) has_open_paths: bool,
    /// How documents are stored on disk; `None` if a foreign manifest does not say.
    pub(crate) layout: Option<Layout>,
    /// The number of documents when the manifest was last written. Only for people and other
    /// readers.
    pub(crate) document_count: u64,
    /// Whether the file exists.
    pub(crate) is_stored: bool,
    /// All keys as read, in order.
    object: Map<String, Value>,
}

impl Manifest {
    /// The manifest of a new collection.
    pub(crate) fn new(collection: &str, layout: Layout, now: SystemTime) -> Self {
        let created_at = Timestamp::try_from(now)
            .and_then(|now| now.round(jiff::Unit::Second))
            .unwrap_or(Timestamp::UNIX_EPOCH);
        let mut object = Map::new();
        object.insert("version".to_owned(), VERSION.into());
        object.insert("collection".to_owned(), collection.into());
        object.insert("strict".to_owned(), false.into());
        object.insert("created_at".to_owned(), created_at.to_string().into());
        object.insert("doc_count".to_owned(), 0.into());
        // ZDS counts schemas, and its readers may require the key.
        object.insert("schema_count".to_owned(), 1.into());
        Self { layout: Some(layout), object, ..Self::fallback() }
    }

    /// The defaults without a readable manifest: any document, in the layout that is found.
    pub(crate) fn fallback() -> Self {
        Self {
            strict: false,
            schema: None,
            indexes: Vec::new(),
            has_open_paths: false,
            layout: None,
            document_count: 0,
            is_stored: false,
            object: Map::new(),
        }
    }

    /// Changes the collection name in the manifest.
    pub(crate) fn set_collection(&mut self, name: &str) {
        self.object.insert("collection".to_owned(), name.into());
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

    /// The text of the manifest file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.to_object())
            .expect("a map with text keys is always JSON");
        text.push('\n');
        text
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let mark = bytes.len() - text.len();
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            let offset = mark + offset_of(text, error.line(), error.column());
            damaged(path, offset, format!("not valid JSON: {error}"))
        })?;
        let Value::Object(object) = value else {
            return Err(damaged(path, mark, "a manifest is a JSON object".to_owned()));
        };
        check_version(path, &object)?;
        Ok(Self {
            strict: flag(path, &object, "strict")?,
            schema: object.get("schema").filter(|schema| !schema.is_null()).cloned(),
            indexes: indexes(path, &object)?,
            has_open_paths: flag(path, &object, "open")?,
            layout: layout(path, &object)?,
            document_count: object.get("doc_count").and_then(Value::as_u64).unwrap_or(0),
            is_stored: true,
            object,
        })
    }

    /// The keys as read, with changed values updated in place.
    fn to_object(&self) -> Map<String, Value> {
        let mut object = self.object.clone();
        object.entry("version").or_insert_with(|| VERSION.into());
        object.insert("strict".to_owned(), self.strict.into());
        object.insert("doc_count".to_owned(), self.document_count.into());
        if let Some(layout) = self.layout {
            object.insert("layout".to_owned(), layout_name(layout).into());
        }
        match self.indexes.is_empty() {
            true => drop(object.shift_remove("indexes")),
            false => {
                let indexes = self.indexes.iter().map(IndexDefinition::to_json).collect();
                object.insert("indexes".to_owned(), Value::Array(indexes));
            }
        }
        match self.has_open_paths {
            true => drop(object.insert("open".to_owned(), true.into())),
            false => drop(object.shift_remove("open")),
        }
        match &self.schema {
            Some(schema) => drop(object.insert("schema".to_owned(), schema.clone())),
            None => drop(object.shift_remove("schema")),
        }
        object
    }
}

/// Rejects a format that this release may misread. ZDS writes the version as text (`"0.1.0"`);
/// others may write a number.
fn check_version(path: &Path, object: &Map<String, Value>) -> Result<()> {
    let text = match object.get("version") {
        None => return Ok(()),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return Err(damaged(path, 0, format!("\"version\" is {other}, not text"))),
    };
    let major = text.trim_start_matches('v').split('.').next().unwrap_or_default();
    match major.parse::<u64>() {
        Ok(found) if found <= KNOWN_VERSION => Ok(()),
        Ok(found) => Err(Error::Version { path: path.to_owned(), found, known: KNOWN_VERSION }),
        Err(_) => Err(damaged(path, 0, format!("\"version\" is {text:?}, not like {VERSION:?}"))),
    }
}

fn flag(path: &Path, object: &Map<String, Value>, key: &str) -> Result<bool> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(damaged(path, 0, format!("{key:?} is {other}, not true or false"))),
    }
}

fn layout(path: &Path, object: &Map<String, Value>) -> Result<Option<Layout>> {
    match object.get("layout") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if name == layout_name(Layout::Lines) => Ok(Some(Layout::Lines)),
        Some(Value::String(name)) if name == layout_name(Layout::Files) => Ok(Some(Layout::Files)),
        Some(other) => {
            Err(damaged(path, 0, format!("\"layout\" is {other}, not \"lines\" or \"files\"")))
        }
    }
}

fn indexes(path: &Path, object: &Map<String, Value>) -> Result<Vec<IndexDefinition>> {
    let all = match object.get("indexes") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(all) => all,
    };
    let definitions: Option<Vec<_>> =
        all.as_array().and_then(|all| all.iter().map(IndexDefinition::from_json).collect());
    definitions.ok_or_else(|| {
        let reason = format!("\"indexes\" is {all}, not a list of names and fields");
        damaged(path, 0, reason)
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
        repair: "fix it in an editor, or move it away to continue without a schema".to_owned(),
    }
}

/// The byte offset of a line and column, both counted from 1 as in `serde_json`.
fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive(|&byte| byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
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
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Presence::Absent),
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
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Presence::Absent),
        Err(error) => Err(Error::io("list", &docs)(error)),
    }
}

#[cfg(test)]
mod tests;
