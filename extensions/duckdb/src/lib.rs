//! Amazon Ion for DuckDB.
//!
//! ```text
//! load          entry: functions registered on the database
//! bind          read_ion(path, …) → files → sample → columns
//! scan          thread: take a block (file, decompression, cut) → batch → vectors
//! read_folio    a collection: its lines are a file's; a table: parts → Arrow arrays → vectors
//! ```
//!
//! Code that does not depend on DuckDB is in `folio-ion` and `folio`. This crate has the options,
//! files, types and vectors. DuckDB has two C interfaces; each is a thin module named `host`.
//! `stable` makes one build that loads in DuckDB 1.5.6 and 2.0.0. `pinned`, with the feature of
//! that name, loads in DuckDB 2.0.0 only and does more. Every callback runs inside [`guard`], so
//! that no panic reaches the host process.

mod background;
mod bind;
mod copy;
mod emit;
mod emit_arrow;
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
mod host_type;
mod options;
mod origin;
mod path;
mod pieces;
mod profile;
mod pushed;
mod relation;
mod row_writer;
mod sample;
mod scan;
mod string_view;
mod table;
mod type_name;
mod vector_value;

#[cfg(not(feature = "pinned"))]
pub use host::ion_init_c_api;
#[cfg(feature = "pinned")]
pub use host::ion_init_c_api_v2;
