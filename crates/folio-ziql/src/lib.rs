//! ZiQL, a small language of entities and links: from text to statements of the engine.
//!
//! ```text
//! Ziql::parse    text → syntax (tokenize, parse; tuples, literal_buffer: literals of large ADDs)
//! Ziql::compile  syntax → bind → a statement of several steps, which the engine plans
//! print          syntax → text
//! schema         structs declared in a text, and their tables
//! ```

mod ast;
mod bind;
mod lexer;
mod literal_buffer;
mod moment;
mod parse;
mod print;
mod schema;
mod script;
mod token;
mod tokenize;
mod tuple_places;
mod tuples;

pub use schema::{Migration, check_declarations, show_schema, whole_schema};
pub use script::Ziql;
