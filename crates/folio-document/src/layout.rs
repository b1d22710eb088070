//! The same operations on both layouts of a collection: one file of lines, or a file per document.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, WriterLock};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::fetched::Chunk;
use crate::field_index::{IndexDefinition, KeyRange};
use crate::files::{FileBatch, FilePaths, FileScan, FileStore};
use crate::held::Held;
use crate::line::{self, EncodedLine};
use crate::manifest::Manifest;
use crate::options::{CollectionOptions, Layout, Progress};
use crate::range::{DocumentRange, Position};
use crate::report::{
    BatchCounts, CheckReport, CompactReport, History, IndexCheck, IndexStats, Notice, Put, Stats,
};
use crate::store::columns::ColumnParts;
use crate::store::{FieldScan, LineBatch, LineScan, LineStore, Only, Paths, SelectedScan};
use crate::version::{Stamp, Version};

/// The store of a collection, shared by all its handles.
#[derive(Debug, Clone)]
pub(crate) enum AnyStore {
    Lines(Arc<LineStore>),
    Files(Arc<FileStore>),
}

/// Runs the same expression on the store, batch or scan of either layout.
macro_rules! either {
    ($this:expr, $inner:ident => $run:expr) => {
        match $this {
            Self::Lines($inner) => $run,
            Self::Files($inner) => $run,
        }
    };
}

impl AnyStore {
    pub(crate) fn open(
        layout: Layout,
        files: Arc<dyn FileSystem>,
        database: &Path,
        name: &str,
        options: &CollectionOptions,
        lock: Arc<WriterLock>,
        manifest: Manifest,
    ) -> Result<Self> {
        Ok(match layout {
            Layout::Lines => {
                let paths = Paths::new(database, name);
                Self::Lines(LineStore::open(files, paths, name, options, lock, manifest)?)
            }
            Layout::Files => {
                let paths = FilePaths::new(database, name);
                Self::Files(FileStore::open(files, paths, name, options, lock, manifest)?)
            }
        })
    }

    pub(crate) fn is_created(&self) -> bool {
        either!(self, store => store.is_created())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        either!(self, store => store.handle.check_writable())
    }

    pub(crate) fn put_line(&self, line: EncodedLine<'_>) -> Result<Put> {
        either!(self, store => store.put_line(line))
    }

    pub(crate) fn insert_line(&self, line: EncodedLine<'_>) -> Result<bool> {
        either!(self, store => store.insert_line(line))
    }

    pub(crate) fn take(&self, id: &str) -> Result<Option<Vec<u8>>> {
        either!(self, store => store.take(id))
    }

    pub(crate) fn update(
        &self,
        id: &str,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        either!(self, store => store.update(id, make))
    }

    pub(crate) fn begin_turn(&self) -> Result<Held> {
        either!(self, store => store.begin_turn())
    }

    pub(crate) fn end_turn(&self, held: Held) {
        either!(self, store => store.end_turn(held));
    }

    #[inline]
    pub(crate) fn get(&self, id: &str, line: &mut Vec<u8>) -> Result<bool> {
        either!(self, store => store.get(id, line))
    }

    #[inline]
    pub(crate) fn try_get(&self, id: &str, line: &mut Vec<u8>) -> bool {
        match self {
            Self::Lines(store) => store.try_get(id, line),
            Self::Files(_) => false, // each lookup reads its file
        }
    }

    pub(crate) fn get_chunk(&self, ids: &[&str]) -> Result<Chunk> {
        either!(self, store => store.get_chunk(ids))
    }

    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        either!(self, store => store.delete(id))
    }

    pub(crate) fn count(&self) -> Result<u64> {
        either!(self, store => store.count())
    }

    pub(crate) fn version(&self) -> Result<Version> {
        either!(self, store => store.version())
    }

    pub(crate) fn stamp_of(&self, version: &Version) -> Result<Option<Stamp>> {
        match self {
            Self::Lines(store) => store.stamp_of(version),
            Self::Files(_) => Ok(None), // each file would have to be read to know that it is the same
        }
    }

    pub(crate) fn version_of(&self, stamp: &Stamp) -> Result<Option<Version>> {
        match self {
            Self::Lines(store) => store.version_of(stamp),
            Self::Files(_) => Ok(None),
        }
    }

    pub(crate) fn read_types(&self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Lines(store) => store.read_types(),
            Self::Files(_) => Ok(None), // without stamps, nothing can be derived for later
        }
    }

    pub(crate) fn replace_types(&self, bytes: &[u8]) -> Result<bool> {
        match self {
            Self::Lines(store) => store.replace_types(bytes),
            Self::Files(_) => Ok(false),
        }
    }

    pub(crate) fn flush(&self) -> Result<()> {
        either!(self, store => store.flush())
    }

    pub(crate) fn flush_pending(&self) -> Result<()> {
        either!(self, store => store.flush_pending())
    }

    pub(crate) fn write_pending(&self) -> Result<()> {
        match self {
            Self::Lines(store) => store.write_pending(),
            Self::Files(_) => Ok(()), // each put writes its file
        }
    }

    pub(crate) fn try_refresh(&self) -> Result<()> {
        either!(self, store => store.try_refresh())
    }

    pub(crate) fn refresh(&self) -> Result<()> {
        either!(self, store => store.refresh())
    }

    pub(crate) fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        either!(self, store => store.compact(progress))
    }

    pub(crate) fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        either!(self, store => store.check(progress))
    }

    pub(crate) fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        either!(self, store => store.reindex(progress))
    }

    pub(crate) fn stats(&self) -> Result<Stats> {
        either!(self, store => store.stats())
    }

    pub(crate) fn fingerprint(&self) -> Result<u64> {
        either!(self, store => store.fingerprint())
    }

    pub(crate) fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        either!(self, store => store.handle.notice(notices));
    }

    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        either!(self, store => store.handle.take_notices())
    }

    pub(crate) fn broken_lines(&self) -> Result<Vec<Notice>> {
        match self {
            Self::Lines(store) => store.broken_lines(),
            // A scan finds them in the files, and reports them.
            Self::Files(_) => Ok(Vec::new()),
        }
    }

    pub(crate) fn history(
        &self,
        id: &str,
        limit: usize,
        progress: Progress<'_>,
    ) -> Result<History> {
        match self {
            Self::Lines(store) => store.history(id, limit, progress),
            Self::Files(_) => Ok(History::default()), // a file is replaced as a whole
        }
    }

    pub(crate) fn import_position(&self, source: u64) -> Result<Option<u64>> {
        either!(self, store => store.import_position(source))
    }

    pub(crate) fn set_schema(&self, schema: Value) -> Result<()> {
        either!(self, store => store.set_schema(schema))
    }

    pub(crate) fn set_open_paths(&self, open: bool) -> Result<()> {
        either!(self, store => store.set_open_paths(open))
    }

    pub(crate) fn has_open_paths(&self) -> Result<bool> {
        either!(self, store => store.has_open_paths())
    }

    pub(crate) fn indexes(&self) -> Result<Arc<[IndexDefinition]>> {
        match self {
            Self::Lines(store) => store.indexes(),
            Self::Files(_) => Ok(Arc::default()),
        }
    }

    pub(crate) fn index_stats(&self) -> Result<Vec<IndexStats>> {
        match self {
            Self::Lines(store) => store.index_stats(),
            Self::Files(_) => Ok(Vec::new()),
        }
    }

    pub(crate) fn create(&self) -> Result<()> {
        match self {
            Self::Lines(store) => store.create(),
            Self::Files(_) => Ok(()), // the first document does
        }
    }

    pub(crate) fn create_index(
        &self,
        definition: &IndexDefinition,
        progress: Progress<'_>,
    ) -> Result<()> {
        self.lines()?.create_index(definition, progress)
    }

    pub(crate) fn prepare_index(&self, definition: &IndexDefinition) -> Result<()> {
        self.lines()?.prepare_index(definition)
    }

    pub(crate) fn column_parts(&self, definition: &IndexDefinition) -> Option<ColumnParts> {
        match self {
            Self::Lines(store) => Some(store.column_parts(definition)),
            Self::Files(_) => None,
        }
    }

    pub(crate) fn drop_index(&self, name: &str) -> Result<()> {
        self.lines()?.drop_index(name)
    }

    pub(crate) fn check_index(&self, name: &str) -> Result<IndexCheck> {
        self.lines()?.check_field_index(name)
    }

    pub(crate) fn find(
        &self,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
        by_key: bool,
    ) -> Result<FieldScan> {
        FieldScan::new(self.lines()?, index, range, reverse, limit, by_key)
    }

    pub(crate) fn find_only(&self, index: &str, key: &[u8], line: &mut Vec<u8>) -> Result<Only> {
        self.lines()?.find_only(index, key, line)
    }

    /// The store, for what needs lines.
    fn lines(&self) -> Result<&Arc<LineStore>> {
        match self {
            Self::Lines(store) => Ok(store),
            Self::Files(store) => Err(Error::Invalid(format!(
                "collection {:?} keeps a file per document, which has no indexes; import it into a \
                 collection of lines",
                store.handle.collection()
            ))),
        }
    }

    pub(crate) fn ranges(&self, count: usize) -> Result<Vec<DocumentRange>> {
        either!(self, store => store.ranges(count))
    }

    pub(crate) fn position(&self) -> Result<Position> {
        self.lines_with_positions()?.position()
    }

    pub(crate) fn ranges_between(
        &self,
        since: Option<&Position>,
        until: Option<&Position>,
        count: usize,
    ) -> Result<Vec<DocumentRange>> {
        self.lines_with_positions()?.ranges_between(since, until, count)
    }

    fn lines_with_positions(&self) -> Result<&Arc<LineStore>> {
        match self {
            Self::Lines(store) => Ok(store),
            Self::Files(store) => Err(Error::Invalid(format!(
                "collection {:?} keeps each document in a file, and positions are between lines; \
                 read all of it",
                store.handle.collection()
            ))),
        }
    }

    pub(crate) fn close(&self) -> Result<()> {
        either!(self, store => store.close())
    }
}

/// An open batch. Dropping it undoes it.
#[derive(Debug)]
pub(crate) enum AnyBatch {
    Lines(Box<LineBatch>),
    Files(Box<FileBatch>),
}

impl AnyBatch {
    pub(crate) fn begin(store: &AnyStore) -> Result<Self> {
        Ok(match store {
            AnyStore::Lines(store) => Self::Lines(Box::new(LineBatch::begin(store)?)),
            AnyStore::Files(store) => Self::Files(Box::new(FileBatch::begin(store)?)),
        })
    }

    #[inline]
    pub(crate) fn put(&mut self, line: EncodedLine<'_>) -> Result<()> {
        either!(self, batch => batch.push(line.id(), line.text(), false))
    }

    pub(crate) fn delete(&mut self, id: &str) -> Result<()> {
        either!(self, batch => batch.push(id, &line::tombstone(id), true))
    }

    pub(crate) fn work_ahead(&mut self) {
        match self {
            Self::Lines(batch) => batch.work_ahead(),
            Self::Files(_) => (), // nothing to do before the commit
        }
    }

    pub(crate) fn exists(&mut self, id: &str) -> Result<bool> {
        either!(self, batch => batch.exists(id))
    }

    pub(crate) fn find(&mut self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        either!(self, batch => batch.find(id, text))
    }

    pub(crate) fn size(&self) -> u64 {
        either!(self, batch => batch.size())
    }

    pub(crate) fn set_import_position(&mut self, source: u64, position: u64) {
        either!(self, batch => batch.set_import_position(source, position));
    }

    pub(crate) fn commit(self) -> Result<BatchCounts> {
        either!(self, batch => batch.commit())
    }
}

/// The live lines of a collection, in order.
#[derive(Debug)]
pub(crate) enum AnyScan {
    Lines(LineScan),
    Selected(SelectedScan),
    Given(GivenLines),
    Files(FileScan),
}

/// Lines that a query has read already.
#[derive(Debug)]
pub(crate) struct GivenLines {
    lines: std::vec::IntoIter<String>,
    /// The line that was returned last.
    line: String,
    given: u64,
}

impl GivenLines {
    pub(crate) fn new(lines: Vec<String>) -> Self {
        Self { lines: lines.into_iter(), line: String::new(), given: 0 }
    }

    fn next(&mut self) -> Option<&[u8]> {
        self.line = self.lines.next()?;
        self.given += 1;
        Some(self.line.as_bytes())
    }

    fn progress(&self) -> (u64, u64) {
        (self.given, self.given + self.lines.len() as u64)
    }
}

impl AnyScan {
    pub(crate) fn new(store: &AnyStore) -> Result<Self> {
        Ok(match store {
            AnyStore::Lines(store) => Self::Lines(LineScan::new(store)?),
            AnyStore::Files(store) => Self::Files(FileScan::new(store)?),
        })
    }

    /// The lines added since an earlier version; `None` if anything else has changed, or may have.
    pub(crate) fn since(store: &AnyStore, earlier: &Version) -> Result<Option<Self>> {
        match store {
            AnyStore::Lines(store) => Ok(LineScan::since(store, earlier)?.map(Self::Lines)),
            AnyStore::Files(_) => Ok(None), // it is not recorded which files changed
        }
    }

    pub(crate) fn parts(store: &AnyStore, count: usize) -> Result<Vec<Self>> {
        Ok(match store {
            AnyStore::Lines(store) => {
                LineScan::parts(store, count)?.into_iter().map(Self::Lines).collect()
            }
            AnyStore::Files(store) => {
                FileScan::parts(store, count)?.into_iter().map(Self::Files).collect()
            }
        })
    }

    /// The documents of a range.
    pub(crate) fn range(store: &AnyStore, range: &DocumentRange) -> Result<Self> {
        Ok(match store {
            AnyStore::Lines(store) => Self::Lines(LineScan::range(store, range)?),
            AnyStore::Files(store) => Self::Files(FileScan::range(store, range)?),
        })
    }

    /// The next live line, without its end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        match self {
            Self::Lines(scan) => scan.next(),
            Self::Selected(scan) => scan.next(),
            Self::Given(lines) => Ok(lines.next()),
            Self::Files(scan) => scan.next(),
        }
    }

    /// The version that the lines belong to, if they belong to one.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Lines(scan) => Some(scan.version()),
            Self::Selected(scan) => Some(scan.version()),
            // Each document is read as it is at that moment, or was read by something else.
            Self::Files(_) | Self::Given(_) => None,
        }
    }

    /// How much was read, and the total: bytes of the data file, or documents.
    pub(crate) fn progress(&self) -> (u64, u64) {
        match self {
            Self::Lines(scan) => scan.progress(),
            Self::Selected(scan) => scan.progress(),
            Self::Given(lines) => lines.progress(),
            Self::Files(scan) => scan.progress(),
        }
    }
}
