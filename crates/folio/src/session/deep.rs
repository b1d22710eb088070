//! Statements that nest deep run on a thread whose stack has room for them. Their rows are
//! gathered there, and nothing of theirs is kept: what nests is made, used and dropped on
//! that thread.

use std::thread;

use folio_engine::{Limits, Signature};
use folio_sql::Script;
use folio_types::Value;

use super::{Answer, Session};
use crate::error::{Error, Result};

/// Stack for each level of a text, and for all the rest: views, defaults and checks have
/// texts of their own.
const STACK_PER_LEVEL: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };
const STACK_BASE: usize = 128 << 20;

/// Runs work on a thread with room for a text.
pub(super) fn on_stack_for<T: Send>(
    text: &str,
    limits: &Limits,
    work: impl FnOnce(&Limits) -> Result<T> + Send,
) -> Result<T> {
    on_stack_of(STACK_BASE + Script::depth(text)? * STACK_PER_LEVEL, limits, work)
}

/// Runs work on a thread with room for whatever is no text of SQL.
pub(super) fn on_large_stack<T: Send>(
    limits: &Limits,
    work: impl FnOnce(&Limits) -> Result<T> + Send,
) -> Result<T> {
    on_stack_of(STACK_BASE, limits, work)
}

fn on_stack_of<T: Send>(
    size: usize,
    limits: &Limits,
    work: impl FnOnce(&Limits) -> Result<T> + Send,
) -> Result<T> {
    thread::scope(|scope| {
        let work = move || work(&limits.on_stack_of(size));
        let started = thread::Builder::new().stack_size(size).spawn_scoped(scope, work);
        let thread = started.map_err(|_| {
            Error::Invalid(
                "there is no memory for a statement that nests so deep; split it".to_owned(),
            )
        })?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Session {
    /// Runs a text.
    pub(super) fn run_deep(
        &mut self,
        text: &str,
        parameters: &[Value],
        signature: &Signature,
        limits: &Limits,
    ) -> Result<Answer> {
        on_stack_for(text, limits, |limits| {
            let script = Script::parse(text, limits)?;
            let mut answer = self.run_script(&script, parameters, signature, limits)?;
            if let Some(rows) = &mut answer.rows {
                rows.gather()?;
            }
            self.statements.forget(text);
            Ok(answer)
        })
    }

    /// Runs one statement of a script: what it reads nests, such as views.
    pub(super) fn run_part_deep(
        &mut self,
        script: &Script,
        index: usize,
        parameters: &[Value],
        signature: &Signature,
        limits: &Limits,
    ) -> Result<Answer> {
        on_large_stack(limits, |limits| {
            let mut answer = self.run_part(script, index, parameters, signature, limits)?;
            if let Some(rows) = &mut answer.rows {
                rows.gather()?;
            }
            self.statements.forget(script.text());
            Ok(answer)
        })
    }
}
