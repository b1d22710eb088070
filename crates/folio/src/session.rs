//! SQL over everything in a database.
//!
//! A [`Session`] runs statements one after the other and remembers those it has
//! seen, ready to run, by their text. Outside of a transaction each statement that
//! changes something is a transaction of its own; one that reads sees the newest
//! commit. Between BEGIN and COMMIT all statements see one state with the changes
//! made so far, and a statement that fails leaves what came before it as it was.

mod change;
mod copy;
mod database;
mod deep;
mod hold;
mod parameters;
mod relations;
mod statements;
mod transaction;
mod ziql;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use folio_engine::{
    Context, Error as QueryError, Interrupt, Kind, Level, Limits, Rows, Signature, Statement,
    WORK_MEMORY, Watch,
};
use folio_sql::{Script, Template};
use folio_types::{ErrorCode, Value};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::source::{Tables, View};
use parameters::signature_of;
pub use parameters::{Parameters, list_of};
pub use relations::{RelationKind, RelationSummary};
use statements::{Found, Known, Statements};
use transaction::Open;

/// Runs SQL statements, one after the other.
pub struct Session {
    handle: Arc<Handle>,
    transaction: Option<Open>,
    statements: Statements,
    chains: ziql::Chains,
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
        let (statements, chains) = (Statements::default(), ziql::Chains::default());
        let (interrupt, level) = (Interrupt::default(), Level::Full);
        Self {
            handle,
            transaction: None,
            statements,
            chains,
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
        self.chains.clear();
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
        self.execute_given(text, &parameters.values, &parameters.signature)
    }

    /// As [`Session::sql`], with values by position that say their types themselves.
    ///
    /// # Errors
    /// As [`Session::sql`].
    pub fn execute(&mut self, text: &str, parameters: &[Value]) -> Result<Answer> {
        self.execute_given(text, parameters, &signature_of(parameters))
    }

    fn execute_given(
        &mut self,
        text: &str,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        let answer = self.held(text, |session| session.run_text(text, parameters, signature));
        match answer {
            Ok(answer) => Ok(answer.unwrap_or(Answer { count: None, rows: None })),
            Err(Error::Query(error)) => Err(Error::Query(error.in_statement(text))),
            Err(other) => Err(other),
        }
    }

    fn run_text(
        &mut self,
        text: &str,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        self.interrupt.store(false, Ordering::Relaxed);
        if parameters.is_empty()
            && let Some(control) = transaction::control_word(text)
        {
            self.control(control)?;
            return Ok(Answer { count: None, rows: None });
        }
        if let Some(statement) = self.statements.of_text(text, signature) {
            return self.run(&statement, parameters, signature);
        }
        if parameters.is_empty()
            && self.level == Level::Full
            && let Some(answer) = self.run_template(text)
        {
            return answer;
        }
        let limits = self.limits();
        match Script::parse(text, &limits) {
            Ok(script) => self.run_script(&script, parameters, signature, &limits),
            Err(error) if error.wants_stack() => {
                self.run_deep(text, parameters, signature, &limits)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a statement ready to run.
    ///
    /// # Errors
    /// `syntax`, and `invalid_input` for a text that is not one statement.
    pub fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let limits = self.limits();
        let count = match Script::parse(text, &limits) {
            Ok(script) => script.len(),
            Err(error) if error.wants_stack() => {
                deep::on_stack_for(text, &limits, |limits| Ok(Script::parse(text, limits)?.len()))?
            }
            Err(error) => return Err(error.into()),
        };
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
        let Parameters { values, signature } = parameters;
        self.interrupt.store(false, Ordering::Relaxed);
        let known = prepared.compiled.as_ref().filter(|known| *known.signature == *signature);
        if let Some(statement) = known.map(|known| Arc::clone(&known.statement))
            && let Some(answer) = self.run_current(&statement, values, signature)?
        {
            return Ok(answer);
        }
        self.run_anew(prepared, values, signature.clone())
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
        self.interrupt.store(false, Ordering::Relaxed);
        let known = prepared.compiled.as_ref().filter(|known| known.is_fit(parameters));
        if let Some(known) = known {
            let Known { statement, signature } = known.clone();
            if let Some(answer) = self.run_current(&statement, parameters, &signature)? {
                return Ok(answer);
            }
        }
        self.run_anew(prepared, parameters, signature_of(parameters))
    }

    /// Compiles a prepared statement, and runs it.
    fn run_anew(
        &mut self,
        prepared: &mut Prepared,
        parameters: &[Value],
        signature: Signature,
    ) -> Result<Answer> {
        let limits = self.limits();
        let view = self.view()?;
        let compiled = Script::parse(&prepared.text, &limits).and_then(|script| {
            script.compile(0, &view, &signature, (self.level, &limits)).map(Arc::new)
        });
        let statement = match compiled {
            Ok(statement) => statement,
            // It is compiled anew each time.
            Err(error) if error.wants_stack() => {
                return self.run_deep(&prepared.text, parameters, &signature, &limits);
            }
            Err(error) => return Err(error.into()),
        };
        let answer = self.run_in(&statement, parameters, &signature, view, limits);
        prepared.compiled = Some(Known { signature: Arc::new(signature), statement });
        answer
    }

    fn run(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        if let Some(answer) = self.run_current(statement, parameters, signature)? {
            return Ok(answer);
        }
        // Definitions have changed: whatever was remembered is void.
        self.statements.clear();
        self.run_again(statement, parameters, signature)
    }

    /// Runs a statement unless definitions have changed since it was made ready.
    fn run_current(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Option<Answer>> {
        // A transaction of its own looks for itself, and needs no snapshot before.
        if self.transaction.is_none() && self.autocommit && statement.changes_tables() {
            return self.change_alone(statement, parameters);
        }
        let view = self.view()?;
        if !statement.is_current(&view)? {
            return Ok(None);
        }
        self.run_in(statement, parameters, signature, view, self.limits()).map(Some)
    }

    fn run_script(
        &mut self,
        script: &Script,
        parameters: &[Value],
        signature: &Signature,
        limits: &Limits,
    ) -> Result<Answer> {
        let mut last = Answer { count: None, rows: None };
        let mut limits = limits.clone();
        for index in 0..script.len() {
            last = match self.run_part(script, index, parameters, signature, &limits) {
                Err(Error::Query(error)) if error.wants_stack() => {
                    self.run_part_deep(script, index, parameters, signature, &limits)?
                }
                answer => answer?,
            };
            if index + 1 < script.len() {
                limits = limits.begin_again().with_timeout(self.timeout);
                limits = limits.with_memory(self.memory_limit);
            }
        }
        Ok(last)
    }

    /// Compiles one statement of a script, and runs it.
    fn run_part(
        &mut self,
        script: &Script,
        index: usize,
        parameters: &[Value],
        signature: &Signature,
        limits: &Limits,
    ) -> Result<Answer> {
        let view = self.view()?;
        let statement = Arc::new(script.compile(index, &view, signature, (self.level, limits))?);
        if script.len() == 1 {
            self.statements.remember(statement.text(), signature, &statement);
        }
        self.run_in(&statement, parameters, signature, view, limits.clone())
    }

    /// Compiles a statement again, and runs it; others of its text stay as they are.
    fn run_again(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        let limits = self.limits();
        let script = match Script::parse(statement.text(), &limits) {
            Err(error) if error.wants_stack() && statement.position() == 0 => {
                return self.run_deep(statement.text(), parameters, signature, &limits);
            }
            script => script?,
        };
        let index = statement.position();
        match self.run_part(&script, index, parameters, signature, &limits) {
            Err(Error::Query(error)) if error.wants_stack() => {
                self.run_part_deep(&script, index, parameters, signature, &limits)
            }
            answer => answer,
        }
    }

    /// Runs the statement that a text with other literals was, if there was one. Where
    /// it is the statement that fails, having changed nothing, the text itself runs
    /// and names its own place.
    fn run_template(&mut self, text: &str) -> Option<Result<Answer>> {
        let template = Template::of(text)?;
        let statement = match self.statements.of_template(&template) {
            Found::Statement(statement) => statement,
            Found::Seen => {
                let statement = self.compile_template(&template);
                self.statements.remember_template(&template, statement.as_ref());
                statement?
            }
            Found::Unfit => return None,
        };
        match self.run_current(&statement, &template.values, &template.signature) {
            Ok(None) => {
                self.statements.clear();
                None
            }
            Ok(answer) => answer.map(Ok),
            Err(error) if is_of_statement(&error) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn compile_template(&self, template: &Template) -> Option<Arc<Statement>> {
        let limits = self.limits();
        let script = Script::parse(&template.text, &limits).ok()?;
        let view = self.view().ok()?;
        let statement =
            script.compile(0, &view, &template.signature, (self.level, &limits)).ok()?;
        (script.len() == 1 && statement.is_template()).then(|| Arc::new(statement))
    }

    /// What the next statement sees.
    pub(crate) fn view(&self) -> Result<View> {
        self.handle.check_open()?;
        let tables = match &self.transaction {
            Some(open) => open.tables.clone(),
            None => match self.handle.store.tables()? {
                Some(store) => Tables::Snapshot(Arc::new(store.snapshot())),
                None => Tables::None,
            },
        };
        Ok(View::new(Arc::clone(&self.handle), tables))
    }

    fn context(&self, view: View, parameters: &[Value], limits: Limits) -> Context {
        let context =
            Context::new(Arc::new(view), parameters, limits).with_work_memory(self.work_memory);
        match self.threads {
            Some(count) => context.with_threads(count),
            None => context,
        }
    }

    fn run_in(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        signature: &Signature,
        view: View,
        limits: Limits,
    ) -> Result<Answer> {
        match statement.kind() {
            Kind::Query => {
                let rows = statement.query(self.context(view, parameters, limits))?;
                Ok(Answer { count: None, rows: Some(rows) })
            }
            Kind::CopyTo => {
                let mut rows = statement.query(self.context(view, parameters, limits))?;
                let target = statement.copy_target().expect("a COPY … TO has a target");
                let count = copy::copy_to(&self.handle, target, &mut rows)?;
                Ok(Answer { count: Some(count), rows: None })
            }
            Kind::Change if statement.is_for_collection() => {
                self.handle.check_writable()?;
                if self.transaction.is_some() {
                    return Err(unsupported_mix().into());
                }
                self.change_documents(statement, parameters, view)
            }
            Kind::Change if self.transaction.is_some() => self.change(statement, parameters, &view),
            Kind::Change => {
                // A snapshot held meanwhile would keep the commit from a checkpoint.
                drop(view);
                self.change_outside(statement, parameters, signature)
            }
            control => {
                drop(view);
                self.control(control)?;
                Ok(Answer { count: None, rows: None })
            }
        }
    }
}

/// Whether an error says something about the statement, not about the store.
fn is_of_statement(error: &Error) -> bool {
    use ErrorCode::{Conflict, InvalidInput, NotFound, TypeMismatch, Unsupported};
    matches!(error.code(), Conflict | InvalidInput | NotFound | TypeMismatch | Unsupported)
}

fn unsupported_mix() -> QueryError {
    QueryError::new(
        ErrorCode::Unsupported,
        "a transaction changes tables; collections change by themselves",
    )
    .help("commit first")
}
