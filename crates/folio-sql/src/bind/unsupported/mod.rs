//! Clauses that the grammar knows and the engine does not: refused by name.
//!
//! Each function takes a syntax node apart without `..`, so that a clause which a new release of
//! the parser adds is a compile error here until somebody decides about it. What the binder reads
//! elsewhere is named with a leading underscore, and so is what says nothing: a word that may be
//! left out, a hint in a comment, `CONCURRENTLY`, the kind of isolation (transactions that write
//! come one after the other, which is more than any level asks for).
//!
//! ```text
//! query       SELECT and its clauses, what stands in FROM, stars, orders
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

use folio_engine::{Error, Result};

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
    index_clauses, index_column, key_clauses, reference_clauses, table_clauses, unique_clauses,
    view_clauses,
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

/// Refuses the first of the clauses that is there.
fn refuse_each<const N: usize>(clauses: [(bool, &str); N]) -> Result<()> {
    clauses.into_iter().try_for_each(|(is_there, what)| refuse(is_there, what))
}
