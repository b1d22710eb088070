//! SQL: from text to statements of the engine.
//!
//! 1. [`Script::parse`]: text to syntax (`parse`), errors with their place.
//! 2. [`Script::compile`]: names and types settled (`bind`); the engine plans the rest.
//!
//! A [`Template`] finds the statement that differs from the text at hand by its literals alone.
//! [`Stored`] reads the expressions that tables keep, which are SQL whatever language a
//! statement is written in.

mod bind;
mod dialect;
mod from_first;
mod parameters;
mod parse;
mod place;
mod script;
mod show;
mod template;
mod tokens;

pub use bind::is_taken as is_taken_function_name;
pub use bind::stored::Stored;
pub use bind::types::parse_type;
pub use script::Script;
pub use show::show_relation;
pub use template::Template;
