//! How a collection is opened, written and scanned.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::Document;
use crate::failpoint::Failpoints;

/// When a write reaches the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The operating system decides; nothing is promised.
    None,
    /// At `flush`, `close` and the end of a batch.
    #[default]
    OnFlush,
    /// Before every `put` and `delete` returns. Concurrent writers share one sync.
    EveryPut,
}

/// Whether the handle may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read only. Nothing on disk changes, not even an index.
    Read,
    /// Read and write. The writer's lock is taken at the first write.
    #[default]
    ReadWrite,
}

/// How documents are stored on disk. Fixed when a collection is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One line each in `meta/data.jsonl`.
    #[default]
    Lines,
    /// One file each, `docs/<id>.json`, which suits version control.
    Files,
}

/// Whether documents must follow a schema.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Strict {
    /// As the collection's manifest says. A new collection accepts any document.
    #[default]
    AsStored,
    /// Every document must have the fields and types of the first.
    FirstDocument,
    /// Every document must follow this schema (a subset of JSON Schema).
    Schema(Value),
}

/// How long a write waits for another process. Clones share it: whoever has one may change it for the
/// writes to come.
#[derive(Debug, Clone)]
pub struct LockTimeout(Arc<AtomicU64>);

impl LockTimeout {
    /// The time.
    #[must_use]
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Changes it.
    pub fn set(&self, timeout: Duration) {
        self.0.store(nanoseconds(timeout), Ordering::Relaxed);
    }
}

impl From<Duration> for LockTimeout {
    fn from(timeout: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(nanoseconds(timeout))))
    }
}

/// At most half a millennium.
fn nanoseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)
}

/// Options of one collection. The defaults are what most people want.
#[derive(Debug, Clone)]
pub struct CollectionOptions {
    /// Whether the handle may write.
    pub access: Access,
    /// When a write reaches the device.
    pub durability: Durability,
    /// The layout of a new collection. An existing one keeps its own.
    pub layout: Layout,
    /// Whether documents must follow a schema. Stored in the manifest.
    pub strict: Strict,
    /// How long a write waits for another process to release the writer's lock.
    pub lock_timeout: LockTimeout,
    /// Bytes of recently read data to cache for point reads.
    pub cache_size: usize,
    /// A promise to break on purpose, for the test that proves that the suite notices.
    #[cfg(feature = "planted-bugs")]
    pub failpoint: Option<crate::Failpoint>,
    /// Indexes on fields get files for few lines too, so that tests with few documents have some.
    #[cfg(feature = "planted-bugs")]
    pub small_field_files: bool,
}

impl Default for CollectionOptions {
    fn default() -> Self {
        Self {
            access: Access::default(),
            durability: Durability::default(),
            layout: Layout::default(),
            strict: Strict::default(),
            lock_timeout: Duration::from_secs(5).into(),
            cache_size: 64 << 20,
            #[cfg(feature = "planted-bugs")]
            failpoint: None,
            #[cfg(feature = "planted-bugs")]
            small_field_files: false,
        }
    }
}

impl CollectionOptions {
    #[cfg(feature = "planted-bugs")]
    pub(crate) fn has_small_field_files(&self) -> bool {
        self.small_field_files
    }

    #[cfg(not(feature = "planted-bugs"))]
    #[allow(clippy::unused_self, reason = "the twin needs it")]
    pub(crate) fn has_small_field_files(&self) -> bool {
        false
    }

    pub(crate) fn failpoints(&self) -> Failpoints {
        Failpoints {
            #[cfg(feature = "planted-bugs")]
            failpoint: self.failpoint,
        }
    }
}

/// What a scan yields. The default is all documents, whole, in file order.
#[derive(Clone, Default)]
pub struct Scan {
    pub(crate) fields: Vec<String>,
    pub(crate) limit: Option<u64>,
    pub(crate) filter: Option<Filter>,
}

/// Decides whether a document is wanted.
pub type Filter = Arc<dyn Fn(&Document) -> bool + Send + Sync>;

impl Scan {
    /// Every document, whole.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Yields only these fields, named by dotted paths (`metadata.source`). `_id` is always
    /// included, first.
    #[must_use]
    pub fn fields<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.fields = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Stops after this many documents.
    #[must_use]
    pub fn limit(mut self, count: u64) -> Self {
        self.limit = Some(count);
        self
    }

    /// Yields only documents that the predicate accepts. It sees the whole document, before
    /// `fields` reduces it. If there are several predicates, all must accept; the last one given
    /// runs first.
    #[must_use]
    pub fn filter(mut self, accept: impl Fn(&Document) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(other) => Arc::new(move |document| accept(document) && other(document)),
            None => Arc::new(accept),
        });
        self
    }
}

impl fmt::Debug for Scan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Scan")
            .field("fields", &self.fields)
            .field("limit", &self.limit)
            .field("filter", &self.filter.is_some())
            .finish()
    }
}

/// Receives the progress of long work: bytes done, bytes in total. Returning `false` stops the work
/// with [`crate::Error::Cancelled`].
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;
