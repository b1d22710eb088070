//! SQL and ZiQL over everything in a database.
//!
//! A [`Session`] runs statements one after the other. Outside of a transaction each
//! statement that changes something is a transaction of its own; one that reads sees the
//! newest commit. Between BEGIN and COMMIT all statements see one state with the changes
//! made so far, and a statement that fails leaves what came before it as it was.
//!
//! ```text
//! answer       a text: the statement it was before (statements), or its template's, or …
//! run_text     … parsed (script) and run, statement by statement; deep ones on a larger stack (deep)
//! run_new      compile → remember → run
//! run_known    run, unless definitions have changed since it was compiled
//! run          by kind: rows of a query, a file (copy), a change, control of transactions
//! change       in the transaction that is open, or in one of its own, whole or not at all
//! ```

mod change;
mod copy;
mod database;
mod deep;
mod hold;
mod parameters;
mod relations;
mod run;
mod schema;
mod script;
mod statements;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use folio_engine::{
    Error as QueryError, Interrupt, Level, Limits, Rows, Signature, WORK_MEMORY, Watch,
};
use folio_types::{ErrorCode, Value};

use crate::error::{Error, Result};
use crate::handle::Handle;
pub use parameters::{Parameters, list_of};
use parameters::{named, signature_of};
pub use relations::{RelationKind, RelationSummary};
use script::{Language, Request};
use statements::{Known, Statements};
use transaction::Open;

/// Runs statements of SQL and ZiQL, one after the other.
pub struct Session {
    handle: Arc<Handle>,
    transaction: Option<Open>,
    statements: Statements,
    interrupt: Interrupt,
    watch: Option<Watch>,
    work_memory: usize,
    timeout: Option<Duration>,
    memory_limit: Option<usize>,
    threads: Option<usize>,
    autocommit: bool,
    level: Level,
    hold: hold::Hold,
}

/// What a statement answered.
#[derive(Default)]
pub struct Answer {
    /// Rows inserted, changed or deleted; `None` for statements that change none.
    pub count: Option<u64>,
    /// Rows: of a query, or of RETURNING.
    pub rows: Option<Rows>,
}

/// A statement to be run again and again with other parameters.
#[derive(Clone)]
pub struct Prepared {
    text: Arc<str>,
    /// The last one compiled, and for which types.
    compiled: Option<Known>,
}

impl Prepared {
    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Session {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        let (interrupt, level) = (Interrupt::default(), Level::Full);
        Self {
            handle,
            transaction: None,
            statements: Statements::default(),
            interrupt,
            watch: None,
            work_memory: WORK_MEMORY,
            timeout: None,
            memory_limit: None,
            threads: None,
            autocommit: true,
            level,
            hold: hold::Hold::default(),
        }
    }

    /// Ends the statement under way when set from another thread.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        Arc::clone(&self.interrupt)
    }

    /// Asked now and then while a statement runs, on a thread that runs it: whether
    /// the statement is to end.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// Memory that each sort and each grouping of a statement may hold, in bytes, before it
    /// goes on with files: 256 MiB at first, and never more than a quarter of the limit of
    /// memory. What a statement needs in all is a few times that, and what it reads through.
    pub fn set_work_memory(&mut self, size: usize) {
        self.work_memory = size;
    }

    /// How long a statement may take, from its text to its last row; at first as long as it
    /// likes. One that takes longer ends with `timeout`. `SET statement_timeout TO '5s'` does
    /// the same, for the rest of the session.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// How many bytes a statement may hold, in what it is planned as and in rows it cannot
    /// leave to files; at first as many as it likes. One that needs more ends with
    /// `memory_limit`. What is counted is what operators keep: a statement takes a little
    /// more. `SET memory_limit TO '2GB'` does the same, for the rest of the session.
    pub fn set_memory_limit(&mut self, size: Option<usize>) {
        self.memory_limit = size;
    }

    /// What a statement may use that begins now.
    fn limits(&self) -> Limits {
        Limits::new(self.interrupt(), self.watch.clone())
            .with_timeout(self.timeout)
            .with_memory(self.memory_limit)
    }

    /// Threads that large tables are read with: one per processor at first. Answers are
    /// the same with any number. Within a transaction it is one. `SET threads TO 4` does
    /// the same, for the rest of the session.
    pub fn set_threads(&mut self, count: usize) {
        self.threads = Some(count.max(1));
    }

    /// Without it, the first statement that changes tables begins a transaction, which
    /// goes on until COMMIT or ROLLBACK. With it, as at first, each is one of its own.
    pub fn set_autocommit(&mut self, autocommit: bool) {
        self.autocommit = autocommit;
    }

    /// Whether each statement that changes tables is a transaction of its own.
    #[must_use]
    pub fn autocommit(&self) -> bool {
        self.autocommit
    }

    /// How much plans are rewritten: for tests that compare.
    pub fn set_level(&mut self, level: Level) {
        self.level = level;
        self.statements.clear();
    }

    /// Whether a transaction is open.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Runs the statements of a text and answers the last one. Nothing is run when
    /// the text cannot be read; a statement that fails ends it.
    ///
    /// # Errors
    /// What is wrong with a statement, with its place; constraints that would be
    /// broken; what the stores say.
    pub fn sql(&mut self, text: &str, parameters: &Parameters) -> Result<Answer> {
        self.sql_given(text, &parameters.values, &parameters.signature)
    }

    /// As [`Session::sql`], with values by position that say their types themselves.
    ///
    /// # Errors
    /// As [`Session::sql`].
    pub fn execute(&mut self, text: &str, parameters: &[Value]) -> Result<Answer> {
        self.sql_given(text, parameters, &signature_of(parameters))
    }

    fn sql_given(&mut self, text: &str, values: &[Value], signature: &Signature) -> Result<Answer> {
        let request = Request { language: Language::Sql, text, values, signature };
        match self.held(text, |session| session.answer(request)) {
            Ok(answer) => Ok(answer.unwrap_or_default()),
            Err(Error::Query(error)) => Err(Error::Query(error.in_statement(text))),
            Err(other) => Err(other),
        }
    }

    /// Runs a script of ZiQL and answers its last statement. Nothing is run when the
    /// text cannot be read; a chain that fails changes nothing and ends the script.
    ///
    /// # Errors
    /// What is wrong with a statement, with its place; constraints that would be
    /// broken; what the stores say.
    pub fn ziql(&mut self, text: &str, parameters: &[(&str, Value)]) -> Result<Rows> {
        self.check_begun()?;
        let Parameters { values, signature } = &named(text, parameters)?;
        let request = Request { language: Language::Ziql, text, values, signature };
        self.answer(request)?.rows.ok_or_else(|| {
            let error = "expected a statement, found the end of the text";
            QueryError::new(ErrorCode::Syntax, error).into()
        })
    }

    /// Makes a statement of SQL ready to run.
    ///
    /// # Errors
    /// `syntax`, and `invalid_input` for a text that is not one statement.
    pub fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let request =
            Request { language: Language::Sql, text, values: &[], signature: Signature::NONE };
        let count = self.statement_count(request)?;
        if count != 1 {
            return Err(Error::Invalid(format!("a prepared text is one statement, not {count}")));
        }
        Ok(Prepared { text: text.into(), compiled: None })
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// As [`Session::sql`].
    pub fn sql_prepared(
        &mut self,
        prepared: &mut Prepared,
        parameters: &Parameters,
    ) -> Result<Answer> {
        self.answer_prepared(prepared, &parameters.values, &parameters.signature)
    }

    /// As [`Session::sql_prepared`], with values by position that say their types
    /// themselves.
    ///
    /// # Errors
    /// As [`Session::sql`].
    pub fn execute_prepared(
        &mut self,
        prepared: &mut Prepared,
        parameters: &[Value],
    ) -> Result<Answer> {
        let known = prepared.compiled.as_ref().filter(|known| known.is_fit(parameters));
        let signature = match known {
            Some(known) => Arc::clone(&known.signature),
            None => Arc::new(signature_of(parameters)),
        };
        self.answer_prepared(prepared, parameters, &signature)
    }
}
