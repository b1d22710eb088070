//! The query engine: bound statements to plans, plans to rows.
//!
//! It reads and writes through the traits of [`source`] only; it knows no file, no page, no
//! offset, and no language: those are bound by crates above it. One statement, step by step:
//!
//! 1. A language binds its text ([`bind`]): names and types settled, a logical plan over columns
//!    with unique numbers ([`plan::logical`]), together a [`bound::Statement`];
//! 2. rewritten by rules, a file each (`optimize`);
//! 3. lowered to operators over positions (`plan::lower`, `plan::physical`): a
//!    [`Statement`], to be kept and run again with other parameters.
//! 4. [`Statement::query`]: operators, a file each (`execute`), hand batches of
//!    Arrow arrays to each other (`batch`), expressions are evaluated by Arrow's
//!    kernels ([`expression`]); [`Rows`] are pulled from the topmost.
//! 5. [`Statement::execute`]: statements that change gather their rows the same
//!    way, check them and write them through [`source::Changes`] (`change`).
//!
//! A query by key that needs no expression takes the short path: no operator, no
//! array, one row of values; so does a change of one row by its key.

mod array;
mod batch;
pub mod bind;
pub mod bound;
mod change;
mod constraint;
mod context;
mod error;
mod execute;
pub mod expression;
mod json_rows;
mod limits;
mod optimize;
pub mod plan;
mod rows;
mod signature;
pub mod source;
mod span;
mod statement;
mod type_name;

pub use array::{to_array, value_at};
pub use batch::{BATCH_SIZE, Batch};
pub use bound::{CopyTarget, Setting};
pub use change::{Writing, check_row, rebuild};
pub use constraint::{Check, Constraints, Link, OnDelete, OnUpdate, Reference};
pub use context::{Context, WORK_MEMORY};
pub use error::{Error, Result, lower_first, nearest};
pub use expression::cast::{format as format_value, parse as parse_value, returned_value};
pub use expression::function::function_names;
pub use expression::json::{from_json as read_json, write_json, write_string as write_json_string};
pub use json_rows::JsonRows;
pub use limits::{Interrupt, Limits, Watch};
pub use optimize::Level;
pub use rows::{Rows, make_unique};
pub use signature::Signature;
pub use source::{ScalarBody, ScalarFunction};
pub use span::Span;
pub use statement::{Kind, Outcome, Statement};
pub use type_name::{member_type_name, type_name};
