//! DuckDB 2.0.0 through the interface that is pinned to exactly that version (its C API version 2).
//!
//! It has features that the stable one lacks. COPY gets the names of its columns and formats
//! batches of rows in all threads. Batches are numbered, so that scans in several threads keep the
//! order of the file. Filters on file names and folders skip files, and those on ids look documents
//! up. DuckDB expands path patterns.

mod copy_to;
mod files;
mod filter;
mod functions;
mod replacement;
mod row_file;
mod scan;
mod scope;
mod shape;
mod value;
mod vector;

pub(crate) use files::{File, FileSystem};
pub(crate) use value::HostValue;
pub(crate) use vector::{Vector, vector_size};

use crate::guard::guard;
use libduckdb_sys::v2 as duckdb;
use scope::Scope;

/// The only DuckDB version with this interface.
const VERSION: &str = "v2.0.0";

/// The entry point that DuckDB calls after loading the library.
///
/// # Safety
///
/// `input` comes from DuckDB and is valid for the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ion_init_c_api_v2(input: *const duckdb::duckdb_v2_extension_input) {
    // SAFETY: the pointer is DuckDB's and lives during this call.
    let input = unsafe { &*input };
    // SAFETY: as above. Where the functions are refused, DuckDB knows why, and nothing can be called.
    let ready = guard(|| unsafe {
        duckdb::duckdb_rs_extension_api_v2_init(input, VERSION).map_err(str::to_owned)
    });
    if ready != Ok(true) {
        return;
    }
    // SAFETY: the context and the error slot live as long as the call.
    unsafe {
        Scope::run(input.context, input.err, |scope| {
            scan::register(scope, input.extension)?;
            functions::register(scope, input.extension)?;
            copy_to::register(scope, input.extension)?;
            replacement::register(scope, input.extension)
        });
    }
}
