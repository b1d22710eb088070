//! ZiQL in a session: a chain is one transaction, or part of the one that is open.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use folio_engine::{Level, Limits, Rows, Statement};
use folio_sql::Stored;
use folio_types::{ColumnType, ErrorCode, Value};
use folio_ziql::{Migration, Ziql, show_schema};

use super::parameters::{list_of, type_of};
use super::{QueryError, Session, deep};
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::source::{SharedTransaction, Tables, View};

/// Chains remembered at most, and the longest text worth it.
const COUNT_MAX: usize = 256;
const TEXT_SIZE_MAX: usize = 16 << 10;

/// Names and types of parameters.
type Types = Vec<(String, Option<ColumnType>)>;

/// Parameters with their types; a list has one for all that is in it.
fn typed(text: &str, parameters: &[(&str, Value)]) -> Result<(Types, Vec<Value>)> {
    let (mut types, mut values) = (Types::new(), Vec::new());
    for (name, value) in parameters {
        let (value, ty) = match value {
            Value::List(items) => {
                let items = items.iter().map(|item| (item.clone(), type_of(item))).collect();
                list_of(items).ok_or_else(|| {
                    let error = format!("parameter `${name}` is a list of values of several types");
                    QueryError::new(ErrorCode::TypeMismatch, error).in_statement(text)
                })?
            }
            value => (value.clone(), type_of(value)),
        };
        types.push(((*name).to_owned(), ty));
        values.push(value);
    }
    Ok((types, values))
}

fn no_statement() -> Error {
    QueryError::new(ErrorCode::Syntax, "expected a statement, found the end of the text").into()
}

/// Chains ready to run, by their text.
pub(super) type Chains = HashMap<Box<str>, (Types, Arc<Statement>)>;

impl Session {
    /// Runs a script of ZiQL and answers its last statement. Nothing is run when the
    /// text cannot be read; a chain that fails changes nothing and ends the script.
    ///
    /// # Errors
    /// What is wrong with a statement, with its place; constraints that would be
    /// broken; what the stores say.
    pub fn ziql(&mut self, text: &str, parameters: &[(&str, Value)]) -> Result<Rows> {
        self.check_begun()?;
        self.interrupt.store(false, Ordering::Relaxed);
        let limits = self.limits();
        let (types, values) = typed(text, parameters)?;
        let view = self.view()?;
        if let Some(chain) = self.remembered_chain(text, &types, &view)? {
            return self.run_chain(&chain, view, &values, &limits, |view, level| {
                Ziql::parse(text, &limits)?.compile(0, view, &Stored, &types, (level, &limits))
            });
        }
        drop(view);
        let script = match Ziql::parse(text, &limits) {
            Ok(script) => script,
            Err(error) if error.wants_stack() => {
                return deep::on_large_stack(&limits, |limits| {
                    let script = Ziql::parse(text, limits)?;
                    let mut rows = self.ziql_script(text, &script, &types, &values, limits)?;
                    rows.gather()?;
                    self.chains.remove(text);
                    Ok(rows)
                });
            }
            Err(error) => return Err(error.into()),
        };
        self.ziql_script(text, &script, &types, &values, &limits)
    }

    fn ziql_script(
        &mut self,
        text: &str,
        script: &Ziql,
        types: &Types,
        values: &[Value],
        limits: &Limits,
    ) -> Result<Rows> {
        let (mut last, mut limits) = (None, limits.clone());
        for index in 0..script.len() {
            last = Some(match self.ziql_part((text, script), index, types, values, &limits) {
                Err(Error::Query(error)) if error.wants_stack() => {
                    deep::on_large_stack(&limits, |limits| {
                        let mut rows =
                            self.ziql_part((text, script), index, types, values, limits)?;
                        rows.gather()?;
                        self.chains.remove(text);
                        Ok(rows)
                    })?
                }
                rows => rows?,
            });
            limits = limits.begin_again();
        }
        last.ok_or_else(no_statement)
    }

    /// Compiles one chain of a script, and runs it.
    fn ziql_part(
        &mut self,
        (text, script): (&str, &Ziql),
        index: usize,
        types: &Types,
        values: &[Value],
        limits: &Limits,
    ) -> Result<Rows> {
        let view = self.view()?;
        let chain = Arc::new(script.compile(index, &view, &Stored, types, (self.level, limits))?);
        let rows = self.run_chain(&chain, view, values, limits, |view, level| {
            script.compile(index, view, &Stored, types, (level, limits))
        })?;
        // What literals change seldom comes again.
        if script.len() == 1 && (chain.is_query() || !types.is_empty()) {
            self.remember_chain(text, types, chain);
        }
        Ok(rows)
    }

    /// Runs a chain; `compile` makes it again if definitions have changed before its
    /// transaction begins.
    fn run_chain(
        &mut self,
        chain: &Statement,
        view: View,
        values: &[Value],
        limits: &Limits,
        compile: impl FnOnce(&View, Level) -> folio_engine::Result<Statement>,
    ) -> Result<Rows> {
        if chain.is_query() {
            return Ok(chain.query(self.context(view, values, limits.clone()))?);
        }
        // A snapshot held meanwhile would keep the commit from a checkpoint.
        drop(view);
        self.in_transaction(|session, view| {
            let context = || session.context(view.clone(), values, limits.clone());
            let done = match chain.is_current(view)? {
                true => chain.execute(view, values, &context)?,
                false => compile(view, session.level)?.execute(view, values, &context)?,
            };
            done.rows.ok_or_else(no_statement)
        })
    }

    /// A chain seen before, if it still fits.
    fn remembered_chain(
        &self,
        text: &str,
        types: &Types,
        view: &View,
    ) -> Result<Option<Arc<Statement>>> {
        // A long text is not among them, and hashing it was a twentieth of storing what it adds.
        if text.len() > TEXT_SIZE_MAX {
            return Ok(None);
        }
        let Some((known, chain)) = self.chains.get(text) else { return Ok(None) };
        let is_fit = known == types && chain.is_current(view)?;
        Ok(is_fit.then(|| Arc::clone(chain)))
    }

    fn remember_chain(&mut self, text: &str, types: &Types, chain: Arc<Statement>) {
        if text.len() > TEXT_SIZE_MAX {
            return;
        }
        if self.chains.len() >= COUNT_MAX {
            self.chains.clear();
        }
        self.chains.insert(text.into(), (types.clone(), chain));
    }

    /// The structs there are, as the text that declares them.
    ///
    /// # Errors
    /// What the store says.
    pub fn schema(&mut self) -> Result<String> {
        Ok(show_schema(&self.view()?, &Stored)?)
    }

    /// What a schema would change, a line each.
    ///
    /// # Errors
    /// As [`Session::apply_schema`].
    pub fn check_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        Ok(Migration::plan(text, &self.view()?, &Stored, allow_drop)?.lines)
    }

    /// Makes the structs a schema declares, in one transaction; answers what changed,
    /// a line each.
    ///
    /// # Errors
    /// `syntax` and names that mean nothing, with their place; `conflict` for what
    /// cannot be migrated, and for what would be dropped unless `allow_drop`.
    pub fn apply_schema(&mut self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        self.interrupt.store(false, Ordering::Relaxed);
        // A schema that is there already writes nothing.
        if Migration::plan(text, &self.view()?, &Stored, allow_drop)?.is_empty() {
            return Ok(Vec::new());
        }
        self.in_transaction(|session, view| {
            let migration = Migration::plan(text, view, &Stored, allow_drop)?;
            let done = migration.apply(view, &session.context(view.clone(), &[], session.limits()));
            done.map_err(|error| error.in_schema(text))?;
            Ok(migration.lines)
        })
    }

    /// Changes tables, whole or not at all: within the transaction that is open, or in
    /// one of its own.
    pub(super) fn in_transaction<T>(
        &mut self,
        change: impl FnOnce(&Self, &View) -> Result<T>,
    ) -> Result<T> {
        self.handle.check_writable()?;
        let Some(open) = &self.transaction else {
            let store = self.handle.store.tables_to_write()?;
            let transaction: SharedTransaction = Arc::new(Mutex::new(Some(store.begin()?)));
            let tables = Tables::Transaction(Arc::clone(&transaction));
            let view = View::new(Arc::clone(&self.handle), tables);
            let answer = change(self, &view)?;
            if let Some(transaction) = lock(&transaction).take() {
                transaction.commit()?;
            }
            return Ok(answer);
        };
        let Tables::Transaction(transaction) = open.tables.clone() else {
            let error = QueryError::new(ErrorCode::ReadOnly, "the transaction only reads");
            return Err(error.help("begin another without READ ONLY").into());
        };
        let mark = lock(&transaction).as_mut().map(|open| open.savepoint());
        let view = View::new(Arc::clone(&self.handle), open.tables.clone());
        let result = change(self, &view);
        if let (Some(mark), Some(open)) = (mark, lock(&transaction).as_mut()) {
            if result.is_err() {
                open.rollback_to(mark)?;
            }
            open.release(mark)?;
        }
        result
    }
}
