//! SQL over everything in a database.
//!
//! A [`Session`] runs statements one after the other and remembers those it has
//! seen, ready to run, by their text. Outside of a transaction each statement that
//! changes something is a transaction of its own; one that reads sees the newest
//! commit. Between BEGIN and COMMIT all statements see one state with the changes
//! made so far, and a statement that fails leaves what came before it as it was.

mod database;
mod relations;
mod statements;
mod ziql;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use folio_query::{
    Context, EASY_DEPTH, Error as QueryError, Interrupt, Kind, Level, Rows, Script, Statement,
    Template,
};
use folio_table::Savepoint;
use folio_types::{ColumnType, ErrorCode, Value};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::source::{SharedTransaction, Tables, View, lock};
pub use relations::{RelationKind, RelationSummary};
use statements::{Found, Known, Statements};

/// Stack for each level of a statement that nests deep, and for all the rest.
const STACK_PER_LEVEL: usize = 64 << 10;
const STACK_BASE: usize = 16 << 20;

/// Runs SQL statements, one after the other.
pub struct Session {
    handle: Arc<Handle>,
    transaction: Option<Open>,
    statements: Statements,
    chains: ziql::Chains,
    interrupt: Interrupt,
    level: Level,
}

/// The transaction between BEGIN and COMMIT.
struct Open {
    tables: Tables,
    savepoints: Vec<(String, Savepoint)>,
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
        let interrupt = Interrupt::default();
        Self { handle, transaction: None, statements, chains, interrupt, level: Level::Full }
    }

    /// Ends the statement under way when set from another thread.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        Arc::clone(&self.interrupt)
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
    pub fn execute(&mut self, text: &str, parameters: &[Value]) -> Result<Answer> {
        self.interrupt.store(false, Ordering::Relaxed);
        let types = types_of(parameters);
        if let Some(statement) = self.statements.of_text(text, &types) {
            return self.run(&statement, parameters);
        }
        if parameters.is_empty()
            && self.level == Level::Full
            && let Some(answer) = self.run_template(text)
        {
            return answer;
        }
        match Script::depth(text)? {
            depth if depth > EASY_DEPTH => self.on_large_stack(depth, text, parameters, &types),
            _ => self.run_script(text, parameters, &types),
        }
    }

    /// Makes a statement ready to run.
    ///
    /// # Errors
    /// `syntax`, and `invalid_input` for a text that is not one statement.
    pub fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let script = Script::parse(text)?;
        if script.len() != 1 {
            return Err(Error::Invalid(format!(
                "a prepared text is one statement, not {}",
                script.len()
            )));
        }
        Ok(Prepared { text: text.into(), compiled: None })
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute_prepared(
        &mut self,
        prepared: &mut Prepared,
        parameters: &[Value],
    ) -> Result<Answer> {
        self.interrupt.store(false, Ordering::Relaxed);
        let is_fit = |known: &Known| {
            known.types.len() == parameters.len()
                && known.types.iter().zip(parameters).all(|(ty, value)| *ty == type_of(value))
        };
        if let Some(known) = prepared.compiled.as_ref().filter(|known| is_fit(known)) {
            let statement = Arc::clone(&known.statement);
            if let Some(answer) = self.run_current(&statement, parameters)? {
                return Ok(answer);
            }
        }
        let types = types_of(parameters);
        let script = Script::parse(&prepared.text)?;
        let view = self.view()?;
        let statement = Arc::new(script.compile(0, &view, &types, self.level)?);
        prepared.compiled = Some(Known { types, statement: Arc::clone(&statement) });
        self.run_in(&statement, parameters, view)
    }

    fn run(&mut self, statement: &Arc<Statement>, parameters: &[Value]) -> Result<Answer> {
        if let Some(answer) = self.run_current(statement, parameters)? {
            return Ok(answer);
        }
        // Definitions have changed: whatever was remembered is void.
        self.statements.clear();
        self.run_script(statement.text(), parameters, &types_of(parameters))
    }

    /// Runs a statement unless definitions have changed since it was made ready.
    fn run_current(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Option<Answer>> {
        let view = self.view()?;
        if !statement.is_current(&view)? {
            return Ok(None);
        }
        self.run_in(statement, parameters, view).map(Some)
    }

    fn run_script(
        &mut self,
        text: &str,
        parameters: &[Value],
        types: &[Option<ColumnType>],
    ) -> Result<Answer> {
        let script = Script::parse(text)?;
        let mut last = Answer { count: None, rows: None };
        for index in 0..script.len() {
            let view = self.view()?;
            let statement = Arc::new(script.compile(index, &view, types, self.level)?);
            if script.len() == 1 {
                self.statements.remember(text, types, &statement);
            }
            last = self.run_in(&statement, parameters, view)?;
        }
        Ok(last)
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
        match self.run_current(&statement, &template.values) {
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
        let script = Script::parse(&template.text).ok()?;
        let view = self.view().ok()?;
        let statement = script.compile(0, &view, &template.types, self.level).ok()?;
        (script.len() == 1 && statement.is_template()).then(|| Arc::new(statement))
    }

    /// Runs a text that nests deep on a thread whose stack has room for it.
    fn on_large_stack(
        &mut self,
        depth: usize,
        text: &str,
        parameters: &[Value],
        types: &[Option<ColumnType>],
    ) -> Result<Answer> {
        let size = STACK_BASE + depth * STACK_PER_LEVEL;
        thread::scope(|scope| {
            let work = || {
                let mut answer = self.run_script(text, parameters, types)?;
                if let Some(rows) = &mut answer.rows {
                    rows.gather()?;
                }
                self.statements.forget(text);
                Ok(answer)
            };
            let started = thread::Builder::new().stack_size(size).spawn_scoped(scope, work);
            let thread = started.map_err(|_| {
                Error::Invalid(
                    "there is no memory for a statement that nests so deep; split it".to_owned(),
                )
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// What the next statement sees.
    fn view(&self) -> Result<View> {
        self.handle.check_open()?;
        let tables = match &self.transaction {
            Some(open) => open.tables.clone(),
            None => match self.handle.store.tables()? {
                Some(store) => Tables::Snapshot(Arc::new(store.snapshot())),
                None => Tables::None,
            },
        };
        Ok(View { handle: Arc::clone(&self.handle), tables })
    }

    fn context(&self, view: View, parameters: &[Value]) -> Context {
        Context::new(Arc::new(view), parameters, self.interrupt())
    }

    fn run_in(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        view: View,
    ) -> Result<Answer> {
        match statement.kind() {
            Kind::Query => {
                let rows = statement.query(self.context(view, parameters))?;
                Ok(Answer { count: None, rows: Some(rows) })
            }
            Kind::Change if statement.is_for_collection() => {
                self.handle.check_writable()?;
                if self.transaction.is_some() {
                    return Err(unsupported_mix().into());
                }
                let outcome = statement.execute(&view, &self.context(view.clone(), parameters))?;
                Ok(Answer { count: Some(outcome.count), rows: outcome.rows })
            }
            Kind::Change => {
                // A snapshot held meanwhile would keep the commit from a checkpoint.
                drop(view);
                self.change(statement, parameters)
            }
            control => {
                drop(view);
                self.control(control)?;
                Ok(Answer { count: None, rows: None })
            }
        }
    }

    /// Runs a statement that changes tables, whole or not at all.
    fn change(&mut self, statement: &Statement, parameters: &[Value]) -> Result<Answer> {
        self.handle.check_writable()?;
        let Some(open) = &self.transaction else { return self.change_alone(statement, parameters) };
        let Tables::Transaction(transaction) = open.tables.clone() else {
            return Err(QueryError::new(ErrorCode::ReadOnly, "the transaction only reads")
                .help("begin another without READ ONLY")
                .into());
        };
        let mark = lock(&transaction)
            .as_mut()
            .filter(|_| statement.needs_mark())
            .map(|open| open.savepoint());
        let view = View { handle: Arc::clone(&self.handle), tables: open.tables.clone() };
        let context = self.context(view.clone(), parameters);
        let result = statement.execute(&view, &context);
        if let (Some(mark), Some(open)) = (mark, lock(&transaction).as_mut()) {
            match &result {
                Ok(_) => open.release(mark)?,
                Err(_) => {
                    open.rollback_to(mark)?;
                    open.release(mark)?;
                }
            }
        }
        let outcome = result?;
        Ok(Answer { count: Some(outcome.count), rows: outcome.rows })
    }

    /// A transaction of one statement.
    fn change_alone(&mut self, statement: &Statement, parameters: &[Value]) -> Result<Answer> {
        let store = self.handle.store.tables_to_write()?;
        let transaction: SharedTransaction = Arc::new(std::sync::Mutex::new(Some(store.begin()?)));
        let tables = Tables::Transaction(Arc::clone(&transaction));
        let view = View { handle: Arc::clone(&self.handle), tables };
        if !statement.is_current(&view)? {
            let text = statement.text().to_owned();
            lock(&transaction).take();
            return self.change_anew(&text, parameters);
        }
        let outcome = statement.execute(&view, &self.context(view.clone(), parameters))?;
        if let Some(transaction) = lock(&transaction).take() {
            transaction.commit()?;
        }
        Ok(Answer { count: Some(outcome.count), rows: outcome.rows })
    }

    /// Another writer changed definitions between looking and writing: once more,
    /// inside of a transaction, where that cannot happen.
    fn change_anew(&mut self, text: &str, parameters: &[Value]) -> Result<Answer> {
        self.control(Kind::Begin { read_only: false })?;
        let result = self.run_script(text, parameters, &types_of(parameters));
        match result {
            Ok(answer) => {
                self.control(Kind::Commit)?;
                Ok(answer)
            }
            Err(error) => {
                self.control(Kind::Rollback { savepoint: None })?;
                Err(error)
            }
        }
    }

    /// BEGIN, COMMIT, ROLLBACK and savepoints.
    fn control(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Begin { read_only } => self.begin(read_only),
            Kind::Commit => {
                let open = self.transaction.take().ok_or_else(no_transaction)?;
                if let Tables::Transaction(transaction) = &open.tables
                    && let Some(transaction) = lock(transaction).take()
                {
                    transaction.commit()?;
                }
                Ok(())
            }
            Kind::Rollback { savepoint: None } => {
                let open = self.transaction.take().ok_or_else(no_transaction)?;
                if let Tables::Transaction(transaction) = &open.tables
                    && let Some(transaction) = lock(transaction).take()
                {
                    transaction.rollback();
                }
                Ok(())
            }
            Kind::Savepoint(name) => {
                let open = self.transaction.as_mut().ok_or_else(no_transaction)?;
                if let Tables::Transaction(transaction) = &open.tables
                    && let Some(transaction) = lock(transaction).as_mut()
                {
                    open.savepoints.push((name, transaction.savepoint()));
                }
                Ok(())
            }
            Kind::Rollback { savepoint: Some(name) } => self.find_savepoint(&name, true),
            Kind::Release(name) => self.find_savepoint(&name, false),
            Kind::Query | Kind::Change => Ok(()),
        }
    }

    fn begin(&mut self, read_only: bool) -> Result<()> {
        if self.transaction.is_some() {
            return Err(QueryError::new(ErrorCode::Conflict, "a transaction is open already")
                .help("commit it or roll it back first; SAVEPOINT nests")
                .into());
        }
        let tables = if read_only || !self.handle.is_writable() {
            match self.handle.store.tables()? {
                Some(store) => Tables::Snapshot(Arc::new(store.snapshot())),
                None => Tables::None,
            }
        } else {
            self.handle.check_writable()?;
            let transaction = self.handle.store.tables_to_write()?.begin()?;
            Tables::Transaction(Arc::new(std::sync::Mutex::new(Some(transaction))))
        };
        self.transaction = Some(Open { tables, savepoints: Vec::new() });
        Ok(())
    }

    /// Returns to a savepoint, or gives it up; those made after it are gone.
    fn find_savepoint(&mut self, name: &str, returns: bool) -> Result<()> {
        let open = self.transaction.as_mut().ok_or_else(no_transaction)?;
        let Some(position) = open.savepoints.iter().rposition(|(own, _)| own == name) else {
            let error =
                QueryError::new(ErrorCode::NotFound, format!("savepoint {name:?} does not exist"));
            return Err(error.into());
        };
        let savepoint = open.savepoints[position].1;
        if let Tables::Transaction(transaction) = &open.tables
            && let Some(transaction) = lock(transaction).as_mut()
        {
            if returns {
                transaction.rollback_to(savepoint)?;
            } else {
                transaction.release(savepoint)?;
            }
        }
        open.savepoints.truncate(position + usize::from(returns));
        Ok(())
    }
}

/// Whether an error says something about the statement, not about the store.
fn is_of_statement(error: &Error) -> bool {
    use ErrorCode::{Conflict, InvalidInput, NotFound, TypeMismatch, Unsupported};
    matches!(error.code(), Conflict | InvalidInput | NotFound | TypeMismatch | Unsupported)
}

fn no_transaction() -> Error {
    QueryError::new(ErrorCode::Conflict, "there is no transaction").help("write BEGIN first").into()
}

fn unsupported_mix() -> QueryError {
    QueryError::new(
        ErrorCode::Unsupported,
        "a transaction changes tables; collections change by themselves",
    )
    .help("commit first")
}

fn types_of(parameters: &[Value]) -> Vec<Option<ColumnType>> {
    parameters.iter().map(type_of).collect()
}

/// The type a parameter is taken for; text and null take the type their place wants.
fn type_of(value: &Value) -> Option<ColumnType> {
    Some(match value {
        Value::Boolean(_) => ColumnType::Boolean,
        Value::Integer(_) => ColumnType::Int64,
        Value::Float(_) => ColumnType::Float64,
        Value::Decimal(_) => ColumnType::Decimal { precision: 38, scale: 0 },
        Value::Text(_) => ColumnType::Text,
        Value::Bytes(_) => ColumnType::Binary,
        Value::Uuid(_) => ColumnType::Uuid,
        Value::Date(_) => ColumnType::Date,
        Value::Time(_) => ColumnType::Time,
        Value::Timestamp(_) => ColumnType::Timestamp { utc: true },
        Value::Interval(_) => ColumnType::Interval,
        Value::Null | Value::List(_) | Value::Struct(_) => return None,
    })
}
