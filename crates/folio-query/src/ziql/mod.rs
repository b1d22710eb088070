//! ZiQL: a small language of entities and links.
//!
//! ```text
//! parse::script        text → syntax (lexer, parse; tuples and tape for large ADDs)
//! print                syntax → text
//! ```

pub(crate) mod ast;
pub(crate) mod bind;
mod engine;
pub(crate) mod entity;
mod lexer;
mod moment;
pub(crate) mod parse;
mod print;
mod schema;
pub(crate) mod tape;
pub(crate) mod token;
mod tuples;

pub use engine::{Chain, Ziql};
pub use schema::{Migration, show_schema};
