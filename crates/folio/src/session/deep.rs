//! Runs deeply nested statements on a thread with a large enough stack. Their rows are collected
//! there and nothing is cached, so that nested values are created, used and dropped on that thread.

use std::thread;

use folio_engine::Limits;

use super::script::Request;
use super::{Answer, Session};
use crate::error::{Error, Result};

/// Stack per level of nesting, with room for everything else: views, defaults and checks have their
/// own texts.
const STACK_PER_LEVEL: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };
const STACK_BASE: usize = 128 << 20;

impl Session {
    /// Runs the statements of a text on a thread with a large enough stack.
    pub(super) fn run_deep(
        &mut self,
        request: Request<'_>,
        limits: &Limits,
        run: impl FnOnce(&mut Self, &Limits) -> Result<Answer> + Send,
    ) -> Result<Answer> {
        self.deep(request, limits, |session, limits| {
            let answer = run(session, limits);
            session.statements.forget(request);
            let mut answer = answer?;
            if let Some(rows) = &mut answer.rows {
                rows.gather()?;
            }
            Ok(answer)
        })
    }

    /// Runs `work` on a thread with a stack large enough for a text.
    pub(super) fn deep<T: Send>(
        &mut self,
        request: Request<'_>,
        limits: &Limits,
        work: impl FnOnce(&mut Self, &Limits) -> Result<T> + Send,
    ) -> Result<T> {
        on_large_stack(request, limits, move |limits| work(self, limits))
    }
}

/// Runs `work` on a thread with a stack large enough for a text.
pub(super) fn on_large_stack<T: Send>(
    request: Request<'_>,
    limits: &Limits,
    work: impl FnOnce(&Limits) -> Result<T> + Send,
) -> Result<T> {
    let size = STACK_BASE + request.depth()? * STACK_PER_LEVEL;
    thread::scope(|scope| {
        let work = move || work(&limits.on_stack_of(size));
        let started = thread::Builder::new().stack_size(size).spawn_scoped(scope, work);
        let thread = started.map_err(|_| {
            Error::Invalid(
                "not enough memory for a statement that nests this deep; split it".to_owned(),
            )
        })?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
