//! The index of a collection: from an id to where its line is, usable without loading.
//!
//! ```text
//! folio.idx          head: which runs there are, the published state, and the delta:
//!                    checksummed records appended by each flush
//! folio.run-<n>.idx  runs: immutable tables sorted by hash, read through a map
//! ```
//!
//! A lookup asks the delta, then the runs from the newest to the oldest. Small
//! flushes append to the delta; when that is full, or a batch is large, a new
//! run is written and runs of similar size are merged into it, so that their
//! number stays logarithmic and a change costs a bounded share of rewriting.
//!
//! The index is never the truth. Each entry carries a checksum of its line, each
//! page of a run its own; an answer is given only after one of them was checked.
//! A miss is believed only when the pages that were probed are intact.
//!
//! The layout is written down to the byte in `docs/formats/document-store.md`.

mod blocks;
mod delta;
mod entry;
mod head;
mod lookup;
mod merge;
mod pages;
mod resolve;
mod run;
mod skips;

pub(crate) use blocks::{BLOCK_SIZE, BlockSums, block_sum};
pub(crate) use delta::Delta;
pub(crate) use entry::{Entry, id_hash, line_sum};
pub(crate) use head::{DELTA_LIMIT, HEAD_NAME, Head, RunName, delta_record, is_index_file};
pub(crate) use lookup::{Blocks, Found, Index, IndexFault, LineSource, Origin};
pub(crate) use merge::{merge_runs, runs_to_merge};
pub(crate) use pages::PAGE_SIZE;
pub(crate) use resolve::{Resolved, read_id, resolve};
pub(crate) use run::{Run, RunContent, RunSink};
pub(crate) use skips::SkipCursor;
