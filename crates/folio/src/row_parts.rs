//! Files of the columns indexes of tables.
//!
//! ```text
//! tables.columns/<index>/part-<n>.parquet    rows in columns, for us and for other programs
//! tables.columns/<index>.notes/<n>.idx       the note of a part: its row groups, and sums of its bytes
//! ```
//!
//! The index in the page file lists its parts by number, with the sum of each note
//! ([`folio_table::RowPart`]). So a snapshot knows its own parts and believes no other file; a part
//! that is missing, or is not the one that was made, is rows that are read from the pages. Files are
//! written once, under numbers that are not used again. A statement that replaces an index leaves the
//! files of the old one: they are removed after its transaction has ended, as those of the new one are
//! if it was rolled back.
//!
//! The note, which its sum proves:
//!
//! ```text
//! "FOLIOROW" version row_count file_size group_count       8 bytes each
//! for each row group: the size of the key of its last row (4 bytes), the key
//! the checksum of each 64 KiB of the part                  8 bytes each
//! ```
//!
//! `build` makes parts, `check` compares them with the rows of their tables, `changed` finds the rows
//! of a part that changed since. Scans are in `source/columns/tables.rs`.

mod build;
mod changed;
mod check;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use folio_document::Notice;
use folio_file::{FileSystem, OpenMode, SummedMap, remove_tree};
use folio_table::RowPart;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::format::parquet::part::Encoded;
use crate::location::COLUMNS_FOLDER;
use crate::lock::lock;
pub(crate) use build::{CHANGED_SHARE, create, extent, keep, remake, remove_unused};
pub(crate) use changed::KeyColumns;
pub(crate) use check::check;

const MAGIC: &[u8; 8] = b"FOLIOROW";
const VERSION: u64 = 1;
const HEADER_SIZE: usize = 40;

/// A part that is open for reading.
#[derive(Debug)]
pub(crate) struct OpenPart {
    pub(crate) file: Arc<SummedMap>,
    /// The key of the last row of each row group.
    pub(crate) group_keys: Vec<Vec<u8>>,
}

/// Index, number and sum of a part.
type PartKey = (String, u64, u64);

/// The open parts of a database, and what there is to say of the others.
#[derive(Debug, Default)]
pub(crate) struct OpenParts {
    parts: Mutex<HashMap<PartKey, Arc<OpenPart>>>,
    /// The parts that were found missing or damaged.
    faulty: Mutex<HashSet<PartKey>>,
    notices: Mutex<Vec<Notice>>,
    /// Whether a statement has created files, so that some have no use once its transaction ends.
    has_created: AtomicBool,
}

impl OpenParts {
    /// The notices since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *lock(&self.notices))
    }

    /// Closes the parts.
    pub(crate) fn close(&self) {
        lock(&self.parts).clear();
    }

    /// Whether there may be files without use since a statement created an index.
    pub(crate) fn has_created(&self) -> bool {
        self.has_created.load(Ordering::Acquire)
    }

    fn notice(&self, text: String) {
        let (mut notices, notice) = (lock(&self.notices), Notice(text));
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
}

/// Why a part is not read.
#[derive(Debug)]
pub(crate) enum PartFault {
    Missing(PathBuf),
    /// It has not the bytes that were written.
    Damaged(PathBuf),
    Unreadable(PathBuf, io::Error),
}

impl PartFault {
    fn path(&self) -> &Path {
        match self {
            Self::Missing(path) | Self::Damaged(path) | Self::Unreadable(path, _) => path,
        }
    }
}

/// What is wrong with the file.
impl fmt::Display for PartFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(_) => out.write_str("is missing"),
            Self::Damaged(_) => out.write_str("is damaged"),
            Self::Unreadable(_, error) => write!(out, "cannot be read ({error})"),
        }
    }
}

/// Where the columns indexes of a database are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartFolder<'s> {
    pub(crate) files: &'s dyn FileSystem,
    pub(crate) root: &'s Path,
    pub(crate) open: &'s OpenParts,
}

/// The files of one columns index.
#[derive(Debug)]
pub(crate) struct PartFiles<'s> {
    files: &'s dyn FileSystem,
    open: &'s OpenParts,
    name: String,
    /// The name of the index in names of files.
    index: String,
    folder: PathBuf,
    notes: PathBuf,
}

impl<'s> PartFolder<'s> {
    /// The files of an index.
    pub(crate) fn of(self, name: &str) -> PartFiles<'s> {
        let (all, index) = (self.root.join(COLUMNS_FOLDER), file_name(name));
        let (folder, notes) = (all.join(&index), all.join(format!("{index}.notes")));
        PartFiles {
            files: self.files,
            open: self.open,
            name: name.to_owned(),
            index,
            folder,
            notes,
        }
    }

    /// Whether there may be any.
    pub(crate) fn exists(self) -> bool {
        self.files.stat(&self.root.join(COLUMNS_FOLDER)).is_ok()
    }

    /// The files and folders of indexes that are not among these.
    fn unused(self, indexes: &[&str]) -> Vec<String> {
        let used: Vec<String> = indexes.iter().map(|name| file_name(name)).collect();
        let entries = self.files.read_directory(&self.root.join(COLUMNS_FOLDER));
        let names = entries.unwrap_or_default().into_iter().map(|entry| entry.name);
        names.filter(|name| !used.iter().any(|used| used == index_of(name))).collect()
    }

    /// Removes the files of indexes that are not among these. The caller has the lock of the writer.
    fn retain(self, indexes: &[&str]) {
        let folder = self.root.join(COLUMNS_FOLDER);
        for name in self.unused(indexes) {
            lock(&self.open.parts).retain(|(index, ..), _| *index != index_of(&name));
            let _ = remove_tree(self.files, &folder.join(&name));
        }
        let _ = self.files.remove_directory(&folder); // unless there is something in it
    }
}

impl PartFiles<'_> {
    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("part-{number:06}.parquet"))
    }

    fn note_path(&self, number: u64) -> PathBuf {
        self.notes.join(format!("{number:06}.idx"))
    }

    /// A part, if its files are there and are those that were made, as far as sizes and the note
    /// show. One that was found damaged stays so.
    pub(crate) fn open(&self, part: &RowPart) -> std::result::Result<Arc<OpenPart>, PartFault> {
        let key = self.key(part);
        let known = lock(&self.open.parts).get(&key).map(Arc::clone);
        let open = match known {
            Some(known) => known,
            None => {
                let found = Arc::new(self.read(part)?);
                Arc::clone(lock(&self.open.parts).entry(key).or_insert(found))
            }
        };
        match open.file.is_damaged() {
            false => Ok(open),
            true => Err(PartFault::Damaged(self.path(part.number))),
        }
    }

    /// The same from the files as they are now.
    fn read(&self, part: &RowPart) -> std::result::Result<OpenPart, PartFault> {
        let map = |path: &PathBuf| {
            let map = self.files.open(path, OpenMode::Read).and_then(|file| file.map());
            map.map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => PartFault::Missing(path.clone()),
                _ => PartFault::Unreadable(path.clone(), error),
            })
        };
        let (path, note_path) = (self.path(part.number), self.note_path(part.number));
        let note = map(&note_path)?;
        let note = Note::of_bytes(&note).filter(|_| xxh3_64(&note) == part.sum);
        let note = note.filter(|note| note.row_count == part.row_count);
        let Some(note) = note else { return Err(PartFault::Damaged(note_path)) };
        let file = map(&path)?;
        let is_whole = note.file_size == file.len() as u64;
        let file = SummedMap::new(file, note.sums).filter(|_| is_whole).map(Arc::new);
        let Some(file) = file else { return Err(PartFault::Damaged(path)) };
        Ok(OpenPart { file, group_keys: note.group_keys })
    }

    /// Notes a part that is not read, with a notice the first time, if it is one of the current parts
    /// of its index: the files of older ones are removed.
    pub(crate) fn report(&self, part: &RowPart, fault: &PartFault, is_current: impl Fn() -> bool) {
        if lock(&self.open.faulty).insert(self.key(part)) && is_current() {
            let (path, name) = (fault.path().display(), &self.name);
            self.open.notice(format!(
                "{path}: it {fault}; the rows are read from the table until the next change of \
                 them, or `folio reindex`, makes this part of the index {name:?} again"
            ));
        }
    }

    fn key(&self, part: &RowPart) -> PartKey {
        (self.index.clone(), part.number, part.sum)
    }

    /// A number that no file has.
    fn next_number(&self, listed: &[RowPart]) -> Result<u64> {
        let mut last = listed.iter().map(|part| part.number).max().unwrap_or(0);
        for folder in [&self.folder, &self.notes] {
            last = self.numbers(folder)?.into_iter().max().map_or(last, |number| last.max(number));
        }
        Ok(last + 1)
    }

    fn numbers(&self, folder: &Path) -> Result<Vec<u64>> {
        let entries = match self.files.read_directory(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("read", folder))?,
        };
        Ok(entries.iter().filter_map(|entry| number(&entry.name)).collect())
    }

    /// Writes the files of a part.
    fn write(&self, number: u64, encoded: &Encoded) -> Result<RowPart> {
        let note = Note::to_bytes(encoded);
        for (path, bytes) in
            [(self.path(number), &encoded.columns), (self.note_path(number), &note)]
        {
            let file = self.files.open(&path, OpenMode::CreateNew);
            let written = file.and_then(|file| file.write_at(bytes, 0));
            written.map_err(Error::io("write", &path))?;
        }
        let last_key = encoded.group_keys.last().cloned().unwrap_or_default();
        Ok(RowPart { number, sum: xxh3_64(&note), row_count: encoded.row_count, last_key })
    }

    /// Whether none of its files were ever made here, as in a copy of the database.
    fn are_not_made(&self) -> bool {
        let is_missing = |folder: &PathBuf| {
            let found = self.files.stat(folder);
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        [&self.folder, &self.notes].into_iter().all(is_missing)
    }

    fn create_folders(&self) -> Result<()> {
        for folder in [&self.folder, &self.notes] {
            self.files.create_directory(folder).map_err(Error::io("create", folder))?;
        }
        Ok(())
    }

    /// Removes the files of parts that are not among these. Open readers keep theirs.
    fn retain(&self, parts: &[RowPart]) {
        self.retain_if(|number| parts.iter().any(|part| part.number == number));
    }

    /// The same for the numbers of parts.
    fn retain_if(&self, is_used: impl Fn(u64) -> bool) {
        lock(&self.open.parts)
            .retain(|(index, number, _), _| *index != self.index || is_used(*number));
        for folder in [&self.folder, &self.notes] {
            for entry in self.files.read_directory(folder).unwrap_or_default() {
                if number(&entry.name).is_some_and(|number| !is_used(number)) {
                    let _ = self.files.remove_file(&folder.join(&entry.name));
                }
            }
        }
    }
}

/// The index whose folder of parts or of notes has this name.
fn index_of(folder: &str) -> &str {
    folder.strip_suffix(".notes").unwrap_or(folder)
}

/// The number in the name of a part or a note.
fn number(name: &str) -> Option<u64> {
    let part = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet"));
    part.or_else(|| name.strip_suffix(".idx"))?.parse().ok()
}

/// The name of an index as one of files: what is neither a small letter nor a digit is written as
/// its bytes.
fn file_name(index: &str) -> String {
    let mut name = String::new();
    for byte in index.to_lowercase().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => name.push(byte.into()),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name
}

struct Note {
    row_count: u64,
    file_size: u64,
    group_keys: Vec<Vec<u8>>,
    sums: Box<[u64]>,
}

impl Note {
    fn to_bytes(encoded: &Encoded) -> Vec<u8> {
        let Encoded { columns, row_count, group_keys } = encoded;
        let mut bytes = MAGIC.to_vec();
        for word in [VERSION, *row_count, columns.len() as u64, group_keys.len() as u64] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for key in group_keys {
            bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        bytes.extend(SummedMap::sums(columns).flat_map(u64::to_le_bytes));
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let head = words(bytes.get(8..HEADER_SIZE)?);
        let [VERSION, row_count, file_size, group_count] = head[..] else { return None };
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let (mut rest, mut group_keys) = (&bytes[HEADER_SIZE..], Vec::new());
        for _ in 0..group_count {
            let (size, after) = rest.split_first_chunk::<4>()?;
            let (key, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
            group_keys.push(key.to_vec());
            rest = after;
        }
        Some(Self { row_count, file_size, group_keys, sums: words(rest).into() })
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
