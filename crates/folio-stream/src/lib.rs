//! Bytes that come in order, whatever they mean.
//!
//! ```text
//! file, pipe ── decompress ──────── rows, documents     gzip and Zstandard, by the first bytes
//! pipe ──────── thread, FlowReader ── the same          a reader that can be stopped
//! rows, documents ── Compressor ── file                 as the file's name says
//! ```
//!
//! The crate opens no file and knows no format of rows: `folio` has both.

mod compression;
mod flow;

pub use compression::{
    Compression, Compressor, ZstdEncoder, decompress, decompress_ahead, is_compressed,
};
pub use flow::{Flow, FlowReader};
