//! The vocabulary every other crate shares: identifiers with their rules, and
//! the stable error codes that Rust, the command, Python and Node all report.
//!
//! Nothing here touches a file. A rule that guards the directory layout (an id
//! becomes a file name, a collection name becomes a folder) lives here so that
//! no surface can forget it.

mod code;
mod name;

pub use code::ErrorCode;
pub use name::{MAX_NAME_SIZE, NameError, check_collection_name, check_document_id};
