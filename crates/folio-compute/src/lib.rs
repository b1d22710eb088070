//! What is done with columns of values: the query engine without plans, rows to read or a
//! language.
//!
//! A column is an Arrow array together with a [`ColumnType`](folio_types::ColumnType). Values
//! and arrays convert to each other ([`mod@array`]), and columns of equal length are a [`Batch`].
//! An operand is one value per row or one for all rows, an [`Evaluated`]. On them work:
//!
//! - [`type_rules`]: the groups of types, and the common type of two;
//! - [`cast`]: from one type to another, to text and back, to JSON and back;
//! - [`arithmetic`], [`compare`], [`pattern`]: what the operators of a language compute;
//! - [`function`]: the library of scalar functions;
//! - [`keys`], [`ConstantSet`]: the distinct keys of rows, for grouping, joins and IN;
//! - [`KeyRuns`]: the runs of equal keys, where rows come in their order;
//! - [`order`]: the order of rows; [`order_keys`]: what values compare by, JSON by value;
//! - [`JsonRows`]: a batch as JSON.
//!
//! All of them take whole columns; what also takes single values gives the same answers.
//! Errors are those of statements ([`Error`]), with a place in the text ([`Span`]), so that the
//! layers above pass them on.
//!
//! It does not know where rows come from, expressions, or the limits of a statement: those are
//! in `folio-engine`. Nothing here starts threads, and nothing is kept between calls.

pub mod arithmetic;
pub mod array;
mod batch;
pub mod cast;
pub mod compare;
mod constant_set;
mod error;
mod evaluated;
pub mod function;
mod json_rows;
mod key_runs;
pub mod keys;
pub mod order;
pub mod order_keys;
pub mod pattern;
mod span;
mod type_name;
pub mod type_rules;

pub use batch::{BATCH_SIZE, Batch, take};
pub use constant_set::ConstantSet;
pub use error::{Error, Result, lower_first};
pub use evaluated::Evaluated;
pub use json_rows::JsonRows;
pub use key_runs::KeyRuns;
pub use span::Span;
pub use type_name::{member_type_name, type_name};
