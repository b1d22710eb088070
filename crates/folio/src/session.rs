//! SQL and ZiQL over everything in a database.
//!
//! A [`Session`] runs one statement at a time. Outside a transaction, each statement that changes
//! data is its own transaction, and each query sees the newest commit. Between BEGIN and COMMIT,
//! all statements see one snapshot plus the changes made so far. A failed statement keeps the
//! effects of the statements before it.
//!
//! ```text
//! answer       a text: the statement it was before (statements), or its template's, or …
//! run_text     … parsed (script) and run, statement by statement; deep ones on a larger stack (deep)
//! run_new      compile → remember → run
//! run_known    run, unless definitions have changed since it was compiled
//! run          by kind: rows of a query, a file (copy), a change, control of transactions
//! change       in the transaction that is open, or in one of its own, whole or not at all
//! many         a prepared statement for many sets of parameters, as a whole
//! check        compiled and not run, for editors
//! ```

mod change;
mod check;
mod copy;
mod database;
mod deep;
mod facet;
mod hold;
mod links;
mod many;
mod order;
mod parameters;
mod relations;
mod run;
mod schema;
mod script;
mod statements;
mod transaction;
mod views;
mod window;

use std::sync::Arc;
use std::time::Duration;

use folio_compute::Error as QueryError;
use folio_engine::{Interrupt, Level, Limits, OnProgress, Rows, Signature, WORK_MEMORY, Watch};
use folio_types::{ErrorCode, Value};

use crate::error::{Error, Result};
use crate::handle::Handle;
pub use check::{check_schema_syntax, check_syntax};
pub use facet::{Facet, Histogram};
pub use links::RelationLink;
pub use many::Many;
pub use order::WindowOrder;
pub use parameters::{Parameters, list_of};
use parameters::{named, signature_of};
pub use relations::{RelationKind, RelationSummary};
use script::{Language, Request};
use statements::{Known, Statements};
use transaction::Open;
pub use window::{Window, WindowTest, column_path};

/// Runs SQL and ZiQL statements, one at a time.
pub struct Session {
    handle: Arc<Handle>,
    transaction: Option<Open>,
    statements: Statements,
    interrupt: Interrupt,
    watch: Option<Watch>,
    on_progress: Option<OnProgress>,
    work_memory: usize,
    timeout: Option<Duration>,
    memory_limit: Option<usize>,
    threads: Option<usize>,
    autocommit: bool,
    is_confined: bool,
    is_reading: bool,
    level: Level,
    hold: hold::Hold,
    wait_limit: Option<Duration>,
}

/// The result of a statement.
#[derive(Default)]
pub struct Answer {
    /// Rows inserted, changed or deleted; `None` for statements that change nothing.
    pub count: Option<u64>,
    /// The rows of a query or of RETURNING.
    pub rows: Option<Rows>,
}

/// A statement to run repeatedly with different parameters.
#[derive(Clone)]
pub struct Prepared {
    text: Arc<str>,
    /// The last compiled plan, with the parameter types it was compiled for.
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
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        let (interrupt, level) = (Interrupt::default(), Level::Full);
        Self {
            handle,
            transaction: None,
            statements: Statements::default(),
            interrupt,
            watch: None,
            on_progress: None,
            work_memory: WORK_MEMORY,
            timeout: None,
            memory_limit: None,
            threads: None,
            autocommit: true,
            is_confined: false,
            is_reading: false,
            level,
            hold: hold::Hold::default(),
            wait_limit: None,
        }
    }

    /// Returns a flag. Setting it from another thread ends the running statement.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        Arc::clone(&self.interrupt)
    }

    /// Sets a callback that is called now and then while a statement runs, on a thread that runs
    /// it. It says whether the statement ends.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// Sets a callback that is called now and then while a statement creates an index that copies
    /// columns, or one on fields of documents, with the bytes read and those to read.
    pub fn set_progress(&mut self, on_progress: Option<OnProgress>) {
        self.on_progress = on_progress;
    }

    /// Sets the memory that each sort and each grouping of a statement may hold, in bytes, before
    /// it spills to files. The default is 256 MiB. It is at most a quarter of the memory limit. A
    /// whole statement needs a few times as much, plus what it reads through.
    pub fn set_work_memory(&mut self, size: usize) {
        self.work_memory = size;
    }

    /// Limits the time of a statement, from its text to its last row. There is no limit by default.
    /// A statement that takes longer ends with `timeout`. `SET statement_timeout TO '5s'` does the
    /// same, for the rest of the session.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Limits the bytes a statement may hold: its plan, and rows that cannot spill to files. There
    /// is no limit by default. A statement that needs more ends with `memory_limit`. Only memory
    /// held by operators counts; a statement uses a little more. `SET memory_limit TO '2GB'` does
    /// the same, for the rest of the session.
    pub fn set_memory_limit(&mut self, size: Option<usize>) {
        self.memory_limit = size;
    }

    /// The limits of a statement that begins now.
    pub(crate) fn limits(&self) -> Limits {
        Limits::new(self.interrupt(), self.watch.clone())
            .with_progress(self.on_progress.clone())
            .with_timeout(self.timeout)
            .with_memory(self.memory_limit)
    }

    /// Sets the number of threads that read large tables. The default is one per processor. The
    /// result is the same with any number. Within a transaction it is one. `SET threads TO 4` does
    /// the same, for the rest of the session.
    pub fn set_threads(&mut self, count: usize) {
        self.threads = Some(count.max(1));
    }

    /// Sets how long the first statement of the next text waits while another transaction writes
    /// tables, before it fails with [`Error::Writing`], having changed nothing: for callers that can
    /// wait without a thread. By default it waits for the handle's `lock_timeout`.
    pub fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.wait_limit = limit;
    }

    /// Turns autocommit on or off. With it, the default, each statement is its own transaction.
    /// Without it, the first statement that changes tables begins a transaction, which lasts until
    /// COMMIT or ROLLBACK.
    pub fn set_autocommit(&mut self, autocommit: bool) {
        self.autocommit = autocommit;
    }

    /// Confines the session to its database and its limits, for statements that somebody else
    /// wrote. From here on COPY … TO, which writes files, and SET of a limit are refused.
    pub fn confine(&mut self) {
        self.is_confined = true;
    }

    /// Refuses statements that change data or definitions from here on, with `read_only`, on a
    /// handle that takes writes too: for a text that nobody has asked to run.
    pub fn refuse_changes(&mut self) {
        self.is_reading = true;
    }

    /// Refuses a change where the session or its handle takes none.
    fn check_writable(&self) -> Result<()> {
        if self.is_reading {
            let error = "the statement changes the database, and this session only reads";
            return Err(QueryError::new(ErrorCode::ReadOnly, error).into());
        }
        self.handle.check_writable()
    }

    /// Whether autocommit is on.
    #[must_use]
    pub fn autocommit(&self) -> bool {
        self.autocommit
    }

    /// Sets how much plans are rewritten, for tests that compare.
    pub fn set_level(&mut self, level: Level) {
        self.level = level;
        self.statements.clear();
    }

    /// Whether a transaction is open.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Runs the statements of a text and returns the result of the last one. Nothing runs if the
    /// text does not parse. The first statement that fails ends the text.
    ///
    /// # Errors
    /// A statement that is wrong, with the position; a violated constraint; an error of the stores.
    pub fn sql(&mut self, text: &str, parameters: &Parameters) -> Result<Answer> {
        self.sql_given(text, &parameters.values, &parameters.signature)
    }

    /// Like [`Session::sql`], with positional values that carry their own types.
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

    /// Runs a ZiQL script and returns the result of its last statement. Nothing runs if the text
    /// does not parse. A statement that fails changes nothing and ends the script.
    ///
    /// # Errors
    /// A statement that is wrong, with the position; a violated constraint; an error of the stores.
    pub fn ziql(&mut self, text: &str, parameters: &[(&str, Value)]) -> Result<Rows> {
        self.check_begun()?;
        let Parameters { values, signature } = &named(text, parameters)?;
        let request = Request { language: Language::Ziql, text, values, signature };
        self.answer(request)?.rows.ok_or_else(|| {
            let error = "expected a statement, found the end of the text";
            QueryError::new(ErrorCode::Syntax, error).into()
        })
    }

    /// Prepares an SQL statement.
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

    /// Like [`Session::sql_prepared`], with positional values that carry their own types.
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
