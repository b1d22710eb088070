//! The types of a collection's documents, with the version of the collection they belong to.
//!
//! ```text
//! same version               the known types
//! lines were only appended   the new lines are read, and merged into the known types
//! anything else              the types in the file (`file`), if they fit: then as above
//!                            otherwise all documents are read, by several threads if there are many
//! ```
//!
//! Types are kept in a file for the next process: at once if many lines were read for them,
//! otherwise at a flush after enough lines were added, and when the collection is closed. Types of
//! few lines are not worth a file, and a collection with a file per document has none: only reading
//! all of them would show that they are unchanged.
//!
//! Types only widen by what is appended, so no write makes a statement read everything. A replaced
//! or deleted document still counts: a path may have a type that is wider than its documents need,
//! and counts are estimates (`Tree::document_count` is then more than the documents there are). The
//! types of the documents there are, no wider, are found where everything is read anyway: at a
//! compaction, a reindex, after an edit by hand, and in a collection of few lines, which every
//! process reads.

mod file;
mod source;

use std::sync::{Arc, Mutex};

use folio_document::{Collection, Documents, Error, Result, Scan, Stamp, Version};
use folio_json::Tree;

use crate::lock::lock;
use crate::threads;

pub use source::TypeLanguage;
pub(crate) use source::source;

/// Types of less than this many bytes of lines are not kept: each process reads these lines, and reads
/// them again after a document was replaced or deleted.
const KEPT_SIZE_MIN: u64 = 256 << 10;

/// After this many bytes of lines were read, the types are kept at once.
const READ_SIZE_TO_KEEP: u64 = 4 << 20;

/// Between two flushes that keep types, at least this many times as many bytes of lines are added
/// as the file of types has: it is written as a whole.
const ADDED_PER_KEPT: u64 = 16;

/// The minimum number of bytes of lines per thread.
const PART_SIZE_MIN: u64 = 1 << 20;

/// The known types of one open collection.
#[derive(Debug, Default)]
pub(crate) struct KnownTypes(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    version: Version,
    types: Arc<Tree>,
    kept: Kept,
}

/// What is in the file of types.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    version: Option<Version>,
    file_size: u64,
    /// Bytes of lines at the last attempt to write it.
    tried_size: u64,
}

impl KnownTypes {
    /// The current types of the collection, and its version. Concurrent callers wait.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn of(&self, collection: &Collection) -> Result<(Arc<Tree>, Version)> {
        let mut known = lock(&self.0);
        let version = collection.version()?;
        if let Some(known) = known.as_ref().filter(|known| known.version == version) {
            return Ok((Arc::clone(&known.types), version));
        }
        if known.as_ref().is_none_or(|known| !version.has_grown_from(&known.version)) {
            *known = Known::in_file(collection, &version);
        }
        let is_extended = match known.as_mut() {
            Some(known) if known.version == version => true,
            Some(known) => known.extend(collection)?,
            None => false,
        };
        if !is_extended {
            *known = Some(Known::of_all(collection)?);
        }
        let now = known.as_mut().expect("they are known by now");
        if now.added_size() >= READ_SIZE_TO_KEEP {
            now.keep(collection);
        }
        Ok((Arc::clone(&now.types), now.version))
    }

    /// Keeps the types in the file if enough was added since, or if they are to be forgotten and
    /// the file has others. Does nothing while a thread finds them out, and cannot fail: the next
    /// process can do without.
    pub(crate) fn keep(&self, collection: &Collection, is_last: bool) {
        let Ok(mut known) = self.0.try_lock() else { return };
        let Some(known) = known.as_mut() else { return };
        let is_worthwhile = match is_last {
            true => known.kept.version != Some(known.version),
            false => known.added_size() >= KEPT_SIZE_MIN.max(known.kept.file_size * ADDED_PER_KEPT),
        };
        if is_worthwhile {
            known.keep(collection);
        }
    }

    /// Brings the types to what another process finds: those in the file, with what was appended
    /// since. Types depend on when they were first found out, as documents that were replaced since
    /// count.
    ///
    /// # Errors
    /// Errors of the scan.
    #[cfg(feature = "sql")]
    pub(crate) fn settle(&self, collection: &Collection) -> Result<()> {
        self.of(collection)?;
        let mut known = lock(&self.0);
        let Some(now) = known.as_mut().filter(|now| now.kept.version != Some(now.version)) else {
            return Ok(());
        };
        now.keep(collection);
        let is_narrow = now.types.document_count() == now.version.document_count();
        if now.kept.version.is_none() && !is_narrow {
            *known = None;
        }
        Ok(())
    }

    /// Forgets the types, so that they are found out again as by another process.
    #[cfg(feature = "sql")]
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }

    /// Finds the types of the documents there are, without those replaced and deleted since, if
    /// somebody has asked for types. Replaces a damaged file, also where few documents are not worth
    /// one.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn renew(&self, collection: &Collection) -> Result<()> {
        let is_damaged = file::is_damaged(collection);
        let is_asked_for = lock(&self.0).is_some();
        if !is_damaged && !is_asked_for && collection.read_types()?.is_none() {
            return Ok(());
        }
        let (types, version) = self.of(collection)?;
        let is_narrow = types.document_count() == version.document_count();
        let mut known = lock(&self.0);
        if !is_narrow {
            *known = Some(Known::of_all(collection)?);
        }
        match known.as_mut() {
            Some(known) if is_damaged => known.write(collection),
            Some(known) if known.kept.version != Some(known.version) => known.keep(collection),
            _ => {}
        }
        Ok(())
    }
}

/// The file of types for lines with this stamp; `None` if they are not worth one.
pub(crate) fn file_for(stamp: &Stamp, types: &Tree) -> Option<Vec<u8>> {
    (stamp.size >= KEPT_SIZE_MIN).then(|| file::to_bytes(stamp, types))?
}

/// Whether the collection has a file of types that is damaged.
pub(crate) fn is_file_damaged(collection: &Collection) -> bool {
    file::is_damaged(collection)
}

impl Known {
    /// The types in the file, if they are those of this version, or of an earlier one after which
    /// lines were only appended.
    fn in_file(collection: &Collection, version: &Version) -> Option<Self> {
        if version.size() < KEPT_SIZE_MIN {
            return None;
        }
        let file::KeptTypes { version, types, file_size } = file::read(collection)?;
        let (file_size, tried_size) = (file_size as u64, version.size());
        let kept = Kept { version: Some(version), file_size, tried_size };
        Some(Self { version, types: Arc::new(types), kept })
    }

    /// Bytes of lines added since the file was written, or could not be.
    fn added_size(&self) -> u64 {
        self.version.size().saturating_sub(self.kept.tried_size)
    }

    /// Writes the file, unless the types are not worth one.
    fn keep(&mut self, collection: &Collection) {
        if self.version.size() >= KEPT_SIZE_MIN {
            self.write(collection);
        }
    }

    fn write(&mut self, collection: &Collection) {
        self.kept.tried_size = self.version.size();
        if let Some(size) = file::write(collection, &self.version, &self.types) {
            self.kept.version = Some(self.version);
            self.kept.file_size = size as u64;
        }
    }

    /// Adds what was appended since, in place unless somebody holds the types; `false` if all has to
    /// be read: lines were changed otherwise, or there are few.
    fn extend(&mut self, collection: &Collection) -> Result<bool> {
        let Some(mut added) = collection.scan_since(&self.version)? else { return Ok(false) };
        let mut later = Tree::default();
        match observe(&mut added, &mut later) {
            Err(Error::Edited { .. } | Error::Corrupted { .. }) => return Ok(false),
            observed => observed?,
        }
        let Some(version) = added.version() else { return Ok(false) };
        let seen_count = self.types.document_count() + later.document_count();
        if version.size() < KEPT_SIZE_MIN && seen_count > version.document_count() {
            return Ok(false);
        }
        Arc::make_mut(&mut self.types).merge(&later);
        self.version = version;
        Ok(true)
    }

    /// Reads all documents.
    fn of_all(collection: &Collection) -> Result<Self> {
        // In a collection with a file per document, which may change while it is read.
        let before = collection.version()?;
        let parts = match observe_parts(collection) {
            Err(Error::Edited { .. } | Error::Corrupted { .. }) => None, // a scan begins again
            parts => parts?,
        };
        let (types, version) = match parts {
            Some(found) => found,
            None => {
                let mut documents = collection.scan(Scan::new())?;
                let mut types = Tree::default();
                observe(&mut documents, &mut types)?;
                (types, documents.version())
            }
        };
        let version = version.unwrap_or(before);
        let (types, kept) = (Arc::new(types), Kept::default());
        Ok(Self { version, types, kept })
    }
}

fn observe(documents: &mut Documents, types: &mut Tree) -> Result<()> {
    while let Some(line) = documents.next_line()? {
        let reason = "not a JSON object";
        types.observe(line).map_err(|_| Error::Json { offset: 0, reason })?;
    }
    Ok(())
}

/// Finds the types with several threads, each on its part of the file; `None` if that is not
/// worthwhile.
fn observe_parts(collection: &Collection) -> Result<Option<(Tree, Option<Version>)>> {
    let threads = threads::count();
    if threads == 1 {
        return Ok(None);
    }
    let parts = collection.scan_parts(&Scan::new(), threads)?;
    let size: u64 = parts.iter().map(|part| part.progress().1).sum();
    if parts.len() < 2 || size < PART_SIZE_MIN * parts.len() as u64 {
        return Ok(None);
    }
    let version = parts[0].version();
    let trees = threads::each(parts, |mut part| {
        let mut types = Tree::default();
        observe(&mut part, &mut types).map(|()| types)
    });
    let Some(trees) = trees else { return Ok(None) };
    let mut types = Tree::default();
    for tree in trees {
        types.merge(&tree?);
    }
    Ok(Some((types, version)))
}
