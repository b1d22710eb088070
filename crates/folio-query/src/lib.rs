//! The query engine: SQL to plans, plans to rows.
//!
//! It reads and writes through the traits of [`source`] only; it knows no file, no
//! page and no offset. One statement, step by step:
//!
//! 1. [`Script::parse`]: text to syntax (`sql::parse`), errors with their place.
//! 2. [`Script::compile`]: names and types settled (`sql::bind`), a logical plan
//!    over columns with unique numbers (`plan::logical`);
//! 3. rewritten by rules, a file each (`optimize`);
//! 4. lowered to operators over positions (`plan::lower`, `plan::physical`): a
//!    [`Statement`], to be kept and run again with other parameters.
//! 5. [`Statement::query`]: operators, a file each (`execute`), hand batches of
//!    Arrow arrays to each other (`batch`), expressions are evaluated by Arrow's
//!    kernels (`expression`); [`Rows`] are pulled from the topmost.
//! 6. [`Statement::execute`]: statements that change gather their rows the same
//!    way, check them and write them through [`source::Changes`] (`change`).
//!
//! A query by key that needs no expression takes the short path: no operator, no
//! array, one row of values; so does a change of one row by its key. A [`Template`]
//! finds the statement that differs from the text at hand by its literals alone.

mod batch;
mod change;
mod constraint;
mod engine;
mod error;
mod execute;
mod expression;
mod json_rows;
mod json_text;
mod limits;
mod optimize;
mod plan;
mod rows;
mod short;
mod signature;
pub mod source;
mod span;
mod sql;
mod ziql;

pub use batch::{BATCH_SIZE, Batch};
pub use change::check_row;
pub use constraint::{Check, Constraints, Link, OnDelete, OnUpdate, Reference};
pub use engine::{Kind, Outcome, Script, Statement};
pub use error::{Error, Result};
pub use execute::context::{Context, WORK_MEMORY};
pub use expression::cast::{format as format_value, parse as parse_value};
pub use expression::function::function_names;
pub use expression::function::program::{ScalarBody, ScalarFunction, returned_value};
pub use expression::json::{from_json as read_json, write_json, write_string as write_json_string};
pub use expression::type_name;
pub use expression::value::{to_array, value_at};
pub use json_rows::JsonRows;
pub use limits::{Interrupt, Limits, Watch};
pub use optimize::Level;
pub use rows::Rows;
pub use signature::Signature;
pub use span::Span;
pub use sql::bind::{is_taken as is_taken_function_name, types::parse_type};
pub use sql::show::show_relation;
pub use sql::statement::{CopyTarget, Setting};
pub use sql::template::Template;
pub use ziql::{Chain as ZiqlChain, Migration, Ziql, show_schema};
