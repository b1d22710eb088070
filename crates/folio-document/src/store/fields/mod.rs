//! The indexes on fields of a collection: which there are, and how far each covers the data.
//!
//! ```text
//! mod        definitions; what files fit the data; lines after them, read when first needed
//! build      files written by whoever holds the writer's lock; create, drop
//! lookup     documents by the keys of an index, in order
//! unique     the checks of a put and of a batch
//! check      compares an index with the documents
//! ```
//!
//! A collection without such indexes pays one relaxed load per put.

mod build;
mod check;
mod lookup;
mod unique;

use std::cmp::Reverse;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use folio_types::IndexMethod;

pub(crate) use lookup::FieldScan;
pub use lookup::Only;
pub(super) use unique::PendingKeys;

use super::load::forget_file;
use super::scan::ScanState;
use super::stamp::stamp_at;
use super::view::View;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::field_index::{Covered, Extractor, FieldFault, FieldFile, IndexDefinition, file_number};
use crate::index::{Entry, IndexFault, id_hash, line_sum};
use crate::line::id_of_valid_line;
use crate::manifest::{Manifest, manifest_path};
use crate::report::IndexStats;

/// Up to this many bytes of lines after the files are read into memory by whoever looks up.
const READ_LIMIT: u64 = 4 << 20;

/// How often to list files that a writer replaces at the same time.
const RETRIES: usize = 8;

/// The indexes of a collection.
#[derive(Debug, Default)]
pub(super) struct Fields {
    defined: RwLock<Defined>,
    has_any: AtomicBool,
    has_unique: AtomicBool,
}

/// The indexes, and the definitions of all indexes, also of columns: statements ask for those each
/// time they run.
#[derive(Debug, Default)]
struct Defined {
    indexes: Arc<[Arc<FieldIndex>]>,
    definitions: Arc<[IndexDefinition]>,
}

/// One index, with what is known of it.
#[derive(Debug)]
pub(super) struct FieldIndex {
    pub(super) definition: IndexDefinition,
    covered: RwLock<Covered>,
    /// Damaged files, by name and inode.
    damaged: Mutex<Vec<(String, u64)>>,
}

impl FieldIndex {
    fn new(definition: IndexDefinition) -> Self {
        Self { definition, covered: RwLock::default(), damaged: Mutex::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Covered> {
        self.covered.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn damaged(&self) -> MutexGuard<'_, Vec<(String, u64)>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Covered> {
        self.covered.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fields {
    /// Sets the definitions. Unchanged indexes keep what is known of them.
    pub(super) fn set(&self, definitions: &Arc<[IndexDefinition]>) {
        if definitions.is_empty() && self.defined().definitions.is_empty() {
            return;
        }
        let mut defined = self.defined.write().unwrap_or_else(PoisonError::into_inner);
        let known = Arc::clone(&defined.indexes);
        let index = |definition: &IndexDefinition| {
            let same = known.iter().find(|index| index.definition == *definition);
            same.map_or_else(|| Arc::new(FieldIndex::new(definition.clone())), Arc::clone)
        };
        let is_of_fields = |own: &&IndexDefinition| own.method == IndexMethod::Fields;
        let indexes: Arc<[_]> = definitions.iter().filter(is_of_fields).map(index).collect();
        self.has_any.store(!indexes.is_empty(), Ordering::Release);
        *defined = Defined { indexes, definitions: Arc::clone(definitions) };
        let has_unique = definitions.iter().any(|definition| definition.unique);
        self.has_unique.store(has_unique, Ordering::Release);
    }

    fn defined(&self) -> RwLockReadGuard<'_, Defined> {
        self.defined.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self) -> Arc<[Arc<FieldIndex>]> {
        Arc::clone(&self.defined().indexes)
    }

    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn has_unique(&self) -> bool {
        self.has_unique.load(Ordering::Acquire)
    }

    fn get(&self, name: &str) -> Option<Arc<FieldIndex>> {
        let defined = self.defined();
        defined.indexes.iter().find(|index| index.definition.name == name).cloned()
    }
}

/// The stamp of the data up to an offset, as files have it.
fn stamp(view: &View, end: u64) -> Result<Option<(u64, u64)>, IndexFault> {
    let stamp = stamp_at(view, end, 0)?;
    Ok(stamp.map(|stamp| (stamp.blocks_sum, stamp.tail_sum)))
}

/// The entry of a live line at an offset.
fn entry_at(offset: u64, line: &[u8]) -> Option<Entry> {
    let id = id_of_valid_line(line)?;
    Some(Entry::document(id_hash(&id), offset, line.len() as u32, line_sum(line)))
}

impl LineStore {
    /// The definitions of all indexes.
    pub(crate) fn indexes(&self) -> Result<Arc<[IndexDefinition]>> {
        self.handle.check_open()?;
        Ok(Arc::clone(&self.fields.defined().definitions))
    }

    fn field_index(&self, name: &str) -> Result<Arc<FieldIndex>> {
        self.fields.get(name).ok_or_else(|| Error::NoIndex {
            collection: self.handle.collection().to_owned(),
            index: name.to_owned(),
        })
    }

    /// Does as a manifest says.
    pub(in crate::store) fn follow_settings(&self, manifest: &Manifest) {
        self.fields.set(&manifest.indexes);
        self.columns.set(&manifest.indexes);
        self.handle.set_open_paths(manifest.has_open_paths);
    }

    /// Reads the definitions again if the manifest has changed.
    pub(super) fn follow_definitions(&self, writer: &mut Writer) -> Result<()> {
        let stat = self.files.stat(&manifest_path(&self.paths.folder)).ok();
        if stat == writer.manifest_stat {
            return Ok(());
        }
        let manifest = Manifest::load(&*self.files, &self.paths.folder)?;
        if manifest.is_stored {
            self.follow_settings(&manifest);
            writer.manifest = manifest;
        }
        writer.manifest_stat = stat;
        Ok(())
    }

    /// Brings an index up to the end of the view's data; `false` if too much is missing for a
    /// reader to wait for.
    fn catch_up(&self, view: &View, index: &FieldIndex) -> Result<bool, FieldFault> {
        let end = view.index.state.data_end;
        let is_current =
            |covered: &Covered| covered.generation == Some(view.generation) && covered.end == end;
        if is_current(&index.read()) {
            return Ok(true);
        }
        let mut covered = index.write();
        if covered.generation != Some(view.generation) {
            *covered = self.proven(view, index)?;
        }
        if covered.end == end {
            return Ok(true);
        }
        if covered.is_open {
            covered.without_recent();
        }
        if end.saturating_sub(covered.end) > READ_LIMIT {
            // A writer may have written a file since.
            *covered = self.proven(view, index)?;
        }
        if end.saturating_sub(covered.end) > READ_LIMIT {
            return Ok(false);
        }
        let mut extractor = Extractor::new([&index.definition]);
        let Some(mut lines) = ScanState::range(view, covered.end, u64::MAX)? else {
            return Ok(true);
        };
        let recent = Arc::make_mut(&mut covered.recent);
        while let Some((offset, line)) = lines.next_located()? {
            if let Some(entry) = entry_at(offset, line) {
                extractor.keys(line, |_, key, _| recent.push(key, entry));
            }
        }
        covered.end = end;
        covered.is_open = view.index.state.unterminated == 1;
        Ok(true)
    }

    /// The files that fit the data.
    fn proven(&self, view: &View, index: &FieldIndex) -> Result<Covered, FieldFault> {
        let mut covered = Covered { generation: Some(view.generation), ..Covered::default() };
        if view.segment.is_none() {
            return Ok(covered);
        }
        let mut files = self.files_of(index)?;
        let fingerprint = index.definition.fingerprint();
        files.retain(|file| {
            let header = &file.header;
            let is_damaged =
                |(name, inode): &(String, u64)| *name == file.name && *inode == file.inode;
            header.fingerprint == fingerprint
                && header.start < header.end
                && !index.damaged().iter().any(is_damaged)
        });
        files.sort_by_key(|file| (file.header.start, Reverse(file.header.end)));
        for file in files {
            let header = &file.header;
            if header.start == covered.end && stamp(view, header.horizon)? == Some(header.stamp) {
                covered.end = header.end;
                covered.files.push(Arc::new(file));
            }
        }
        Ok(covered)
    }

    /// Opens all files of an index.
    fn files_of(&self, index: &FieldIndex) -> io::Result<Vec<FieldFile>> {
        'again: for _ in 0..RETRIES {
            let mut files = Vec::new();
            for (name, _) in self.field_file_names(&index.definition.name)? {
                match FieldFile::open(&*self.files, &self.paths.meta, name) {
                    Ok(file) => files.extend(file),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue 'again,
                    Err(error) => return Err(error),
                }
            }
            return Ok(files);
        }
        Ok(Vec::new())
    }

    /// Names and numbers of the files of an index.
    fn field_file_names(&self, index: &str) -> io::Result<Vec<(String, u64)>> {
        let number = |name: String| file_number(index, &name).map(|number| (name, number));
        Ok(self.names_in(&self.paths.meta)?.into_iter().filter_map(number).collect())
    }

    /// A damaged file is not used again. Whoever may write removes it.
    fn discard(&self, index: &FieldIndex, file: &str, inode: u64) {
        index.damaged().push((file.to_owned(), inode));
        forget_file(&*self.files, &self.paths.meta.join(file));
        self.handle.notice([crate::report::Notice(format!(
            "{}: {file} is damaged; the index {:?} is built again",
            self.paths.data.display(),
            index.definition.name
        ))]);
        if self.handle.check_writable().is_ok() {
            let _ = self.files.remove_file(&self.paths.meta.join(file));
        }
        *index.write() = Covered::default();
    }

    /// The error for a fault of an index on fields, after a repair has failed.
    fn field_error(&self, fault: FieldFault) -> Error {
        match fault {
            FieldFault::Index(fault) => super::publish::fault_error(fault, &self.paths),
            FieldFault::Cancelled => Error::Cancelled,
            FieldFault::File { file, .. } => Error::Corrupted {
                path: self.paths.meta.join(file),
                offset: 0,
                reason: "a page of an index on fields has a wrong checksum".to_owned(),
                repair: "remove the file; it is built again".to_owned(),
            },
        }
    }

    /// Runs a read of an index. After a fault, repairs what is at fault and repeats it. The caller
    /// may be the writer.
    fn repairing_field<T>(
        &self,
        mut writer: Option<&mut Writer>,
        index: &FieldIndex,
        mut read: impl FnMut(&View) -> Result<T, FieldFault>,
    ) -> Result<T> {
        for _ in 0..RETRIES {
            let fault = match read(&*self.open_view()?) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            match fault {
                FieldFault::File { file, inode } => self.discard(index, &file, inode),
                FieldFault::Cancelled => return Err(Error::Cancelled),
                fault @ FieldFault::Index(IndexFault::Io(_)) => return Err(self.field_error(fault)),
                FieldFault::Index(fault) => match writer.as_deref_mut() {
                    Some(writer) => self.repair_as(writer, &fault)?,
                    None => self.repair(&fault)?,
                },
            }
        }
        read(&*self.open_view()?).map_err(|fault| self.field_error(fault))
    }

    /// Size and state of every index.
    pub(crate) fn index_stats(self: &Arc<Self>) -> Result<Vec<IndexStats>> {
        self.handle.check_open()?;
        self.append_if_pending()?;
        let all = self.fields.all();
        let stats = |index: &Arc<FieldIndex>| {
            self.repairing_field(None, index, |view| {
                let is_ready = self.catch_up(view, index)?;
                let covered = index.read();
                let entries = covered.files.iter().map(|file| file.header.entry_count);
                Ok(IndexStats {
                    definition: index.definition.clone(),
                    size: covered.files.iter().map(|file| file.size()).sum(),
                    entry_count: entries.sum::<u64>() + covered.recent.len() as u64,
                    is_ready,
                })
            })
        };
        let mut found: Vec<IndexStats> = all.iter().map(stats).collect::<Result<_>>()?;
        found.extend(self.columns_stats()?);
        Ok(found)
    }
}
