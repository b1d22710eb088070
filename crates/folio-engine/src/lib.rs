//! The query engine: bound statements to plans, plans to rows.
//!
//! It reads and writes only through the traits of [`source`]. It does not depend on files,
//! pages, offsets or languages: crates above it bind the languages. The steps of a statement:
//!
//! 1. A language binds its text ([`bind`]): it resolves names and types into a logical plan
//!    over columns with unique numbers ([`plan::logical`]), a [`bound::Statement`].
//! 2. Rules rewrite the plan, one file each (`optimize`).
//! 3. The plan is lowered to operators over positions (`plan::lower`, `plan::physical`). The
//!    result is a [`Statement`], which can be cached and run again with other parameters.
//! 4. [`Statement::query`] runs operators, one file each (`execute`). They pass batches of
//!    Arrow arrays to each other ([`folio_compute::Batch`]). Expressions are evaluated over
//!    them ([`expression`]). [`Rows`] are pulled from the topmost operator.
//! 5. [`Statement::execute`] runs statements that change: it collects rows the same way,
//!    checks them and writes them through [`source::Changes`] (`change`).
//!
//! What is computed on whole columns (casts, arithmetic, comparisons, keys, sorting) and the
//! errors of statements are in `folio-compute`.
//!
//! A query by key without expressions takes a short path without operators and arrays. So
//! does a change of one row by its key.

pub mod bind;
pub mod bound;
mod change;
mod constraint;
mod context;
mod execute;
pub mod expression;
mod limits;
mod optimize;
pub mod plan;
mod rows;
mod signature;
pub mod source;
mod statement;
mod times;

pub use bound::{Control, CopyTarget, Setting};
pub use change::{Writing, check_row, rebuild};
pub use constraint::{Check, Constraints, Link, OnDelete, OnUpdate, Reference, mentions};
pub use context::{Context, WORK_MEMORY};
pub use expression::function::function_names;
pub use limits::{Interrupt, Limits, OnProgress, Watch};
pub use optimize::Level;
pub use rows::{Rows, make_unique};
pub use signature::Signature;
pub use source::{ScalarBody, ScalarFunction};
pub use statement::{Kind, Outcome, Statement};
