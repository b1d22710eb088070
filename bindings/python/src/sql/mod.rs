//! SQL and ZiQL: parameters in, a statement without the interpreter's lock, rows out.
//!
//! ```text
//! db.sql(text, params)   parameter: objects to values with types → session: an idle session of
//!                        the database runs it, without the lock → answer: rows, not yet read
//! for row in answer      answer: a batch of columns without the lock → value: a tuple per row
//! answer.arrow()         stream: the batches as they are, through the C data interface
//! Ctrl-C                 watcher: looked for now and then, by the thread that runs the statement
//! ```

mod answer;
mod function;
mod parameter;
mod prepared;
mod session;
mod stream;
mod value;

pub(crate) use answer::Answer;
pub(crate) use function::scalar_function;
pub(crate) use parameter::parameters;
pub(crate) use prepared::Prepared;
pub(crate) use session::{Idle, Limits, MemoryLimit, Session};
