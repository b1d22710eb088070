//! The same operations on both layouts of a collection: one file of lines, or a file per document.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, WriterLock};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::files::{FileBatch, FilePaths, FileScan, FileStore};
use crate::held::Held;
use crate::line::{self, EncodedLine};
use crate::manifest::Manifest;
use crate::options::{CollectionOptions, Layout};
use crate::range::DocumentRange;
use crate::report::{BatchCounts, Notice};
use crate::store::{LineBatch, LineScan, LineStore, Paths, SelectedScan};
use crate::version::Version;

/// The store of a collection, shared by all its handles.
#[derive(Debug, Clone)]
pub(crate) enum AnyStore {
    Lines(Arc<LineStore>),
    Files(Arc<FileStore>),
}

/// Runs the same expression on the store or the batch of either layout.
macro_rules! either {
    ($kind:ident, $this:expr, $inner:ident => $run:expr) => {
        match $this {
            $kind::Lines($inner) => $run,
            $kind::Files($inner) => $run,
        }
    };
}
pub(crate) use either;

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
        either!(Self, self, store => store.is_created())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        either!(Self, self, store => store.handle.check_writable())
    }

    pub(crate) fn update(
        &self,
        id: &str,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        either!(Self, self, store => store.update(id, make))
    }

    pub(crate) fn begin_turn(&self) -> Result<Held> {
        either!(Self, self, store => store.begin_turn())
    }

    pub(crate) fn end_turn(&self, held: Held) {
        either!(Self, self, store => store.end_turn(held));
    }

    pub(crate) fn count(&self) -> Result<u64> {
        either!(Self, self, store => store.count())
    }

    pub(crate) fn refresh(&self) -> Result<()> {
        either!(Self, self, store => store.refresh())
    }

    pub(crate) fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        either!(Self, self, store => store.handle.notice(notices));
    }

    pub(crate) fn set_schema(&self, schema: Value) -> Result<()> {
        either!(Self, self, store => store.set_schema(schema))
    }

    /// The store, if it can have indexes.
    pub(crate) fn with_indexes(&self) -> Result<&Arc<LineStore>> {
        match self {
            Self::Lines(store) => Ok(store),
            Self::Files(store) => Err(Error::Invalid(format!(
                "collection {:?} keeps a file per document, which has no indexes; import it into a \
                 collection of lines",
                store.handle.collection()
            ))),
        }
    }

    /// The store, if it has positions.
    pub(crate) fn with_positions(&self) -> Result<&Arc<LineStore>> {
        match self {
            Self::Lines(store) => Ok(store),
            Self::Files(store) => Err(Error::Invalid(format!(
                "collection {:?} keeps each document in a file, and positions are between lines; \
                 read all of it",
                store.handle.collection()
            ))),
        }
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
        either!(Self, self, batch => batch.push(line.id(), line.text(), false))
    }

    pub(crate) fn delete(&mut self, id: &str) -> Result<()> {
        either!(Self, self, batch => batch.push(id, &line::tombstone(id), true))
    }

    pub(crate) fn work_ahead(&mut self) {
        match self {
            Self::Lines(batch) => batch.work_ahead(),
            Self::Files(_) => (), // nothing to do before the commit
        }
    }

    pub(crate) fn exists(&mut self, id: &str) -> Result<bool> {
        either!(Self, self, batch => batch.exists(id))
    }

    pub(crate) fn find(&mut self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        either!(Self, self, batch => batch.find(id, text))
    }

    pub(crate) fn size(&self) -> u64 {
        either!(Self, self, batch => batch.size())
    }

    pub(crate) fn set_import_position(&mut self, source: u64, position: u64) {
        either!(Self, self, batch => batch.set_import_position(source, position));
    }

    pub(crate) fn commit(self) -> Result<BatchCounts> {
        either!(Self, self, batch => batch.commit())
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
