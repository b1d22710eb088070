//! The index of a collection: from an id to the place of its line. It is used without being loaded.
//!
//! ```text
//! folio.idx          head: which runs there are, the published state, and the delta:
//!                    checksummed records appended by each flush
//! folio.run-<n>.idx  runs: immutable tables sorted by hash, read through a map
//! ```
//!
//! A lookup searches the delta, then the runs from newest to oldest. Small flushes append to the
//! delta. When the delta is full or a batch is large, a new run is written, and runs of similar
//! size are merged into it. So the number of runs stays logarithmic, and each change costs a
//! bounded amount of rewriting.
//!
//! The index is never authoritative. Each entry has a checksum of its line, and each page of a run
//! has one of its content. A result is returned only after one of them was checked, and a miss only
//! if the probed pages are intact.
//!
//! `docs/formats/document-store.md` specifies the layout to the byte.

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

pub(crate) use blocks::{BLOCK_SIZE, BlockSums, block_sum, has_block_sum, line_feeds};
pub(crate) use delta::Delta;
pub(crate) use entry::{Entry, id_hash, line_sum};
pub(crate) use head::{
    DELTA_LIMIT, HEAD_NAME, Head, RunName, State, delta_record, head_bytes, is_index_file,
    is_line_index_file,
};
pub(crate) use lookup::{Blocks, Found, Index, IndexFault, LineSource, Origin};
pub(crate) use merge::{merge_runs, runs_to_merge};
pub(crate) use pages::{CheckedPages, PAGE_SIZE, PAYLOAD_SIZE, PageWriter};
pub(crate) use resolve::{Resolved, read_id, resolve};
pub(crate) use run::{Run, RunContent, RunSink};
pub(crate) use skips::{DeadLines, SkipCursor};
