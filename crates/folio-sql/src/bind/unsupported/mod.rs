//! Refuses, by name, clauses that the grammar accepts and the engine does not support.
//!
//! Each function destructures a syntax node without `..`, so that a clause that a new release of
//! the parser adds is a compile error here until it is handled; CREATE TABLE, which has dozens of
//! other systems, is compared with a plain one. A leading underscore marks what the binder reads
//! elsewhere, and what has no effect: optional words, hints in comments, `CONCURRENTLY`, the
//! isolation level (writing transactions are serial, which satisfies every level).
//!
//! ```text
//! query       SELECT and its clauses, items of FROM, stars, orders
//! change      INSERT, UPDATE, DELETE, TRUNCATE
//! call        calls of functions, and forms that look like calls
//! definition  CREATE, ALTER, constraints
//! statement   all others
//! ```

mod call;
mod change;
mod definition;
mod query;
mod statement;

use folio_compute::{Error, Result};

use super::refuse;
pub(super) use call::{
    call_clauses, ceil_clauses, interval_clauses, plain_call_clauses, slice_clauses, trim_clauses,
    window_call_clauses,
};
pub(super) use change::{
    assignment_clauses, conflict_clauses, delete_clauses, insert_clauses, merge_clauses,
    target_clauses, truncate_clauses, update_clauses,
};
pub(super) use definition::{
    alter_clauses, check_clauses, collation, column_definition, drop_behavior, identity_clauses,
    index_clauses, index_column, index_field, index_type, is_columns, key_clauses, path,
    reference_clauses, table_clauses, unique_clauses, view_clauses,
};
pub(super) use query::{
    factor_clauses, key_options, query_clauses, select_clauses, star_clauses, values_clauses,
    with_clauses,
};
pub(super) use statement::{
    begin_clauses, commit_clauses, copy_clauses, describe_clauses, drop_clauses, explain_clauses,
    show_clauses,
};

fn unsupported(what: &str, help: &str) -> Error {
    Error::unsupported(format!("{what} is not supported")).help(help)
}

/// Refuses the first of these clauses that is present.
fn refuse_each<const N: usize>(clauses: [(bool, &str); N]) -> Result<()> {
    clauses.into_iter().try_for_each(|(is_there, what)| refuse(is_there, what))
}
