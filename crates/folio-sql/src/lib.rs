//! SQL: from text to statements of the engine.
//!
//! 1. [`Script::parse`]: text to syntax (`parse`). Errors have their place.
//! 2. [`Script::compile`]: resolves names and types (`bind`); the engine plans the rest.
//!
//! A [`Template`] finds the cached statement that differs from a text only by its literals.
//! [`Stored`] parses the expressions that tables store, which are SQL whatever language a
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

pub use bind::definition::declared_views;
pub use bind::field_index::field_conditions;
pub use bind::is_taken as is_taken_function_name;
pub use bind::stored::Stored;
pub use bind::types::parse_type;
pub use parse::check_condition;
pub use script::Script;
pub use show::{show_field_index, show_open_paths, show_reference, show_relation};
pub use template::Template;
