//! Amazon Ion for DuckDB.
//!
//! ```text
//! load          entry: functions registered on the database
//! bind          read_ion(path, …) → files → sample → columns
//! scan          thread: take a block (file, decompression, cut) → batch → vectors
//! ```
//!
//! Everything that is not about DuckDB is in `folio-ion`; here are its options, its files, its
//! types and its vectors. DuckDB has two C interfaces, and each is a thin module under the name `host`:
//! `stable`, so that one build loads in DuckDB 1.5.6 and 2.0.0, and, with the feature of that name,
//! `pinned`, which loads in DuckDB 2.0.0 alone and does what the other cannot. Every callback runs
//! inside [`guard`], so that no panic reaches the host process.

mod background;
mod bind;
mod copy;
mod emit;
mod files;
mod functions;
mod guard;
mod handle;
#[cfg(feature = "pinned")]
#[path = "pinned/mod.rs"]
mod host;
#[cfg(not(feature = "pinned"))]
#[path = "stable/mod.rs"]
mod host;
mod options;
mod origin;
mod path;
mod pieces;
mod profile;
mod row_writer;
mod scan;
mod type_name;
mod vector_value;
