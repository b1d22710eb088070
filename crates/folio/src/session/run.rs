//! From the text of a statement to its result.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_engine::source::DOCUMENT;
use folio_engine::{Context, Kind, Level, Limits, Rows, Signature, Statement};
use folio_sql::Template;
use folio_types::{ColumnType, ErrorCode, Value};

use super::script::{Language, Request, Script};
use super::statements::{Found, Known};
use super::{Answer, Parameters, Prepared, Session, copy, transaction};
use crate::condition_cache::{Answers, Compiled};
use crate::error::{Error, Result};
use crate::source::{ID, View};

impl Session {
    /// Runs the statements of a text and returns the result of the last one.
    pub(super) fn answer(&mut self, request: Request<'_>) -> Result<Answer> {
        self.interrupt.store(false, Ordering::Relaxed);
        if request.language == Language::Sql
            && request.values.is_empty()
            && let Some(control) = transaction::control_word(request.text)
        {
            self.control(&control)?;
            return Ok(Answer::default());
        }
        if let Some(statement) = self.statements.of_text(request) {
            if let Some(answer) = self.run_known(&statement, request)? {
                return Ok(answer);
            }
            self.statements.forget(request);
        } else if let Some(answer) = self.answer_template(request) {
            return answer;
        }
        self.run_text(request)
    }

    /// Runs the cached statement of the same template, if there is one. If the statement itself
    /// fails, having changed nothing, the original text runs instead, so that the error has the
    /// right position.
    fn answer_template(&mut self, request: Request<'_>) -> Option<Result<Answer>> {
        if request.language != Language::Sql
            || !request.values.is_empty()
            || self.level != Level::Full
        {
            return None;
        }
        let template = Template::of(request.text)?;
        let statement = match self.statements.of_template(&template) {
            Found::Statement(statement) => statement,
            Found::Seen => {
                let statement = match self.compile_template(&template) {
                    Ok(statement) => statement,
                    Err(error) => return Some(Err(error.into())),
                };
                self.statements.remember_template(&template, statement.as_ref());
                statement?
            }
            Found::Unfit => return None,
        };
        let Template { text, values, signature } = &template;
        let request = Request { language: Language::Sql, text, values, signature };
        match self.run_known(&statement, request) {
            Ok(None) => {
                self.statements.forget_template(&template);
                None
            }
            Ok(answer) => answer.map(Ok),
            Err(error) if is_of_statement(&error) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// The statement of a template; `None` if the text itself has to be compiled.
    ///
    /// # Errors
    /// `cancelled`, `timeout`.
    fn compile_template(&self, template: &Template) -> QueryResult<Option<Arc<Statement>>> {
        let limits = self.limits();
        let Template { text, values, signature } = template;
        let request = Request { language: Language::Sql, text, values, signature };
        let (Ok(script), Ok(view)) = (Script::parse(request, &limits), self.view()) else {
            return Ok(None);
        };
        let Ok(statement) = self.compile(&script, 0, &view, (signature, &limits)) else {
            return limits.check().map(|()| None);
        };
        Ok((script.len() == 1 && statement.is_template()).then(|| Arc::new(statement)))
    }

    /// Runs a prepared statement. Compiles it again if definitions or parameter types have changed.
    pub(super) fn answer_prepared(
        &mut self,
        prepared: &mut Prepared,
        values: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        self.interrupt.store(false, Ordering::Relaxed);
        let text = Arc::clone(&prepared.text);
        let request = Request { language: Language::Sql, text: &text, values, signature };
        let known = prepared.compiled.as_ref().filter(|known| known.is_for(signature));
        if let Some(statement) = known.map(|known| Arc::clone(&known.statement))
            && let Some(answer) = self.run_known(&statement, request)?
        {
            return Ok(answer);
        }
        let limits = self.limits();
        let view = self.view()?;
        let compiled = Script::parse(request, &limits).and_then(|script| {
            Ok((self.compile(&script, 0, &view, (signature, &limits))?, script))
        });
        match compiled {
            Ok((statement, script)) => {
                let statement = Arc::new(statement);
                prepared.compiled = Some(Known::new(signature, &statement));
                self.run(&statement, request, view, (&script, &limits))
            }
            // Compiled each time: nested values are dropped on the thread that created them.
            Err(error) if error.wants_stack() => self.run_text(request),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a prepared statement changes tables, as far as it can be compiled.
    pub(super) fn changes_tables(
        &mut self,
        prepared: &mut Prepared,
        parameters: &Parameters,
    ) -> bool {
        let Parameters { values, signature } = parameters;
        if let Some(known) = prepared.compiled.as_ref().filter(|known| known.is_for(signature)) {
            return known.statement.changes_tables();
        }
        let (text, limits) = (Arc::clone(&prepared.text), self.limits());
        let request = Request { language: Language::Sql, text: &text, values, signature };
        let compile = |session: &mut Self, limits: &Limits| -> Result<Statement> {
            let (script, view) = (Script::parse(request, limits)?, session.view()?);
            Ok(session.compile(&script, 0, &view, (signature, limits))?)
        };
        match compile(self, &limits) {
            Ok(statement) => {
                let known = Known::new(signature, &Arc::new(statement));
                prepared.compiled.insert(known).statement.changes_tables()
            }
            Err(Error::Query(error)) if error.wants_stack() => {
                let check = |session: &mut Self, limits: &Limits| -> Result<bool> {
                    Ok(compile(session, limits)?.changes_tables())
                };
                self.deep(request, &limits, check).unwrap_or(false)
            }
            // Running it says what is wrong.
            Err(_) => false,
        }
    }

    /// Runs the query that a scan makes of its condition, and keeps it compiled. It is one statement
    /// that only reads: it begins with SELECT, and a prepared text is one statement.
    pub(crate) fn condition(
        &mut self,
        collection: &str,
        condition: &str,
        parameters: &Parameters,
    ) -> Result<(Answers, Rows)> {
        self.check_condition(condition)?;
        let mut ask = |column: &str| {
            let mut prepared = self.prepare(&query_of(column, collection, condition))?;
            let answer = self.sql_prepared(&mut prepared, parameters)?;
            Ok::<_, Error>((prepared.compiled, answer.rows.expect("a query answers rows")))
        };
        let (mut compiled, mut rows) = ask(ID)?;
        let mut answers = Answers::Ids;
        // A statement that finds at most one row by its key.
        if compiled.as_ref().is_some_and(|known| known.statement.is_template()) {
            let (by_line, lines) = ask(DOCUMENT)?;
            // Documents may have a member of that name.
            if *lines.types() == [ColumnType::Json] {
                (compiled, rows, answers) = (by_line, lines, Answers::Lines);
            }
        }
        if let Some(Known { signature, statement }) = compiled {
            let compiled = Compiled { statement, signature, answers };
            self.handle.conditions.insert(collection, condition, compiled);
        }
        Ok((answers, rows))
    }

    /// Refuses a condition that would end the brackets around it.
    fn check_condition(&mut self, text: &str) -> Result<()> {
        let (limits, signature) = (self.limits(), Signature::NONE);
        let request = Request { language: Language::Sql, text, values: &[], signature };
        match folio_sql::check_condition(text, &limits) {
            Err(error) if error.wants_stack() => self
                .deep(request, &limits, |_, limits| Ok(folio_sql::check_condition(text, limits)?)),
            checked => Ok(checked?),
        }
    }

    /// The number of statements in a text.
    pub(super) fn statement_count(&mut self, request: Request<'_>) -> Result<usize> {
        let limits = self.limits();
        match Script::parse(request, &limits) {
            Ok(script) => Ok(script.len()),
            Err(error) if error.wants_stack() => {
                self.deep(request, &limits, |_, limits| Ok(Script::parse(request, limits)?.len()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Parses a text and runs its statements.
    fn run_text(&mut self, request: Request<'_>) -> Result<Answer> {
        let limits = self.limits();
        match Script::parse(request, &limits) {
            Ok(script) => self.run_script(&script, request, &limits),
            Err(error) if error.wants_stack() => {
                self.run_deep(request, &limits, |session, limits| {
                    session.run_script(&Script::parse(request, limits)?, request, limits)
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn run_script(
        &mut self,
        script: &Script,
        request: Request<'_>,
        limits: &Limits,
    ) -> Result<Answer> {
        let (mut last, mut limits) = (Answer::default(), limits.clone());
        for index in 0..script.len() {
            if index > 0 {
                // The text cannot run again from its start.
                self.wait_limit = None;
                // An earlier statement of the script may have changed them.
                limits = limits.with_timeout(self.timeout).with_memory(self.memory_limit);
            }
            last = match self.run_new(script, index, request, &limits) {
                // Something that it reads is deeply nested, such as views.
                Err(Error::Query(error)) if error.wants_stack() => {
                    self.run_deep(request, &limits, |session, limits| {
                        session.run_new(script, index, request, limits)
                    })?
                }
                answer => answer?,
            };
        }
        Ok(last)
    }

    /// Compiles one statement of a script, and runs it.
    fn run_new(
        &mut self,
        script: &Script,
        index: usize,
        request: Request<'_>,
        limits: &Limits,
    ) -> Result<Answer> {
        let view = self.view()?;
        let statement = self.compile(script, index, &view, (request.signature, limits))?;
        let statement = Arc::new(statement);
        if script.may_come_again(&statement, request.signature) {
            self.statements.remember(request, &statement);
        }
        self.run(&statement, request, view, (script, limits))
    }

    pub(super) fn compile(
        &self,
        script: &Script,
        index: usize,
        view: &View,
        (signature, limits): (&Signature, &Limits),
    ) -> QueryResult<Statement> {
        limits.over(|| script.compile(index, view, signature, (self.level, limits)))
    }

    /// Runs a statement compiled earlier; `None` if definitions have changed since.
    fn run_known(&mut self, statement: &Statement, request: Request<'_>) -> Result<Option<Answer>> {
        // A change checks within its transaction, and needs no snapshot first.
        if statement.changes_tables() {
            return self.change(statement, request, None);
        }
        if let Some(collection) = statement.changed_collection() {
            return self.change_documents(statement, collection, request, None);
        }
        let view = self.view()?;
        if !statement.is_current(&view)? {
            return Ok(None);
        }
        self.run_in(statement, request, view, None).map(Some)
    }

    /// Runs a statement just compiled for a view; `script` can compile it again.
    fn run(
        &mut self,
        statement: &Statement,
        request: Request<'_>,
        view: View,
        (script, limits): (&Script, &Limits),
    ) -> Result<Answer> {
        let again = Some((script, limits));
        let answer = if let Some(collection) = statement.changed_collection() {
            self.change_documents(statement, collection, request, again)?
        } else if statement.changes_tables() {
            // A snapshot held during the commit would prevent a checkpoint.
            drop(view);
            self.change(statement, request, again)?
        } else {
            return self.run_in(statement, request, view, Some(limits));
        };
        Ok(answer.expect("a script compiles what has become old"))
    }

    /// Runs a statement that changes no table. Without given limits, they are made where something
    /// is subject to them: the row of a key is not.
    fn run_in(
        &mut self,
        statement: &Statement,
        request: Request<'_>,
        view: View,
        limits: Option<&Limits>,
    ) -> Result<Answer> {
        let limits = || limits.cloned().unwrap_or_else(|| self.limits());
        let rows = |view: &View| {
            let make = || self.context(view.clone(), request.values, limits());
            statement.query(view, request.values, &make)
        };
        match statement.kind() {
            Kind::Query => {
                let rows = rows(&view)?;
                Ok(Answer { count: None, rows: Some(rows) })
            }
            Kind::CopyTo => {
                let target = statement.copy_target().expect("a COPY … TO has a target");
                if self.is_confined {
                    return Err(confined("COPY … TO writes a file").at(target.span).into());
                }
                let mut rows = rows(&view)?;
                let count = copy::copy_to(&self.handle, target, &mut rows)?;
                Ok(Answer { count: Some(count), rows: None })
            }
            Kind::Change => self.define_in_collection(statement, request, &view, &limits()),
            Kind::Control(control) => {
                drop(view);
                self.control(control)?;
                Ok(Answer::default())
            }
        }
    }

    /// What the next statement sees.
    pub(crate) fn view(&self) -> Result<View> {
        self.handle.check_open()?;
        let view = View::new(Arc::clone(&self.handle));
        Ok(match &self.transaction {
            Some(open) => view.with_tables(open.tables.clone()),
            None => view,
        })
    }

    pub(crate) fn context(&self, view: View, parameters: &[Value], limits: Limits) -> Context {
        let context =
            Context::new(Arc::new(view), parameters, limits).with_work_memory(self.work_memory);
        match self.threads {
            Some(count) => context.with_threads(count),
            None => context,
        }
    }
}

/// The query for a column of the documents that satisfy a condition. That is on its own line, so that
/// a comment in it cannot hide the parenthesis.
fn query_of(column: &str, collection: &str, condition: &str) -> String {
    format!("select {column} from \"{collection}\" where (\n{condition}\n)")
}

/// Whether an error is about the statement rather than the store.
fn is_of_statement(error: &Error) -> bool {
    use ErrorCode::{Conflict, InvalidInput, NotFound, TypeMismatch, Unsupported};
    matches!(error.code(), Conflict | InvalidInput | NotFound | TypeMismatch | Unsupported)
}

/// A statement reaches beyond the database or the limits of a confined session.
pub(super) fn confined(what: &str) -> QueryError {
    QueryError::new(ErrorCode::ReadOnly, format!("{what}, and this session is confined"))
        .help("run it with `folio sql`, or in a session of a program")
}
