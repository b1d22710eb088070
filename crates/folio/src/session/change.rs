//! Statements that change data: in the open transaction, or in one of their own.

use std::sync::{Arc, Mutex};

use folio_engine::source::Relation;
use folio_engine::{Limits, Statement};
use folio_types::ErrorCode;

use super::script::{Request, Script};
use super::{Answer, QueryError, Session};
use crate::error::Result;
use crate::lock::lock;
use crate::source::{SharedDocuments, SharedTransaction, Tables, View};

impl Session {
    /// Runs a statement that changes tables, atomically. If definitions have changed since it was
    /// compiled, its script compiles it again within the transaction, where they cannot change any
    /// more. Without a script the result is then `None`.
    pub(super) fn change(
        &mut self,
        statement: &Statement,
        request: Request<'_>,
        again: Option<(&Script, &Limits)>,
    ) -> Result<Option<Answer>> {
        if self.transaction.is_none() && !self.autocommit {
            self.check_writable()?;
            self.begin(false)?;
        }
        self.in_transaction(statement.needs_savepoint(), |session, view| {
            let limits = again.map(|(_, limits)| limits);
            if statement.is_current(view)? {
                return session.execute_in(statement, request, view, limits).map(Some);
            }
            let Some((script, limits)) = again else { return Ok(None) };
            let given = (request.signature, limits);
            let statement = session.compile(script, statement.position(), view, given)?;
            if !statement.changes_tables() {
                return Err(mixed().into());
            }
            session.execute_in(&statement, request, view, Some(limits)).map(Some)
        })
    }

    /// Runs a statement that changes documents, atomically: in a turn of its own, so that nobody
    /// writes to the collection between what it reads and what it writes. If the types of the
    /// documents have changed since it was compiled, its script compiles it again. Without a script
    /// the result is then `None`.
    pub(super) fn change_documents(
        &self,
        statement: &Statement,
        collection: &Relation,
        request: Request<'_>,
        again: Option<(&Script, &Limits)>,
    ) -> Result<Option<Answer>> {
        self.check_collections_change()?;
        self.handle.store.keep_promise();
        let _turn = self.view()?.collection_of(collection)?.turn()?;
        let documents = SharedDocuments::default();
        let view = self.view()?.with_documents(Arc::clone(&documents));
        let limits = again.map(|(_, limits)| limits);
        let result = if statement.is_current(&view)? {
            self.execute_in(statement, request, &view, limits)
        } else {
            let Some((script, limits)) = again else { return Ok(None) };
            let given = (request.signature, limits);
            let statement = self.compile(script, statement.position(), &view, given)?;
            self.execute_in(&statement, request, &view, Some(limits))
        };
        let mut documents = lock(&documents);
        match result {
            Ok(_) => documents.commit()?,
            Err(_) => documents.undo(),
        }
        result.map(Some)
    }

    /// Runs a statement that defines something of a collection.
    pub(super) fn define_in_collection(
        &self,
        statement: &Statement,
        request: Request<'_>,
        view: &View,
        limits: &Limits,
    ) -> Result<Answer> {
        self.check_collections_change()?;
        self.execute_in(statement, request, view, Some(limits))
    }

    fn check_collections_change(&self) -> Result<()> {
        self.check_writable()?;
        if self.transaction.is_some() { Err(mixed().into()) } else { Ok(()) }
    }

    /// Runs a statement that changes what a view shows. Limits start now unless already running.
    fn execute_in(
        &self,
        statement: &Statement,
        request: Request<'_>,
        view: &View,
        limits: Option<&Limits>,
    ) -> Result<Answer> {
        let context = || {
            let limits = limits.cloned().unwrap_or_else(|| self.limits());
            self.context(view.clone(), request.values, limits)
        };
        let outcome = statement.execute(view, request.values, &context)?;
        Ok(Answer { count: Some(outcome.count), rows: outcome.rows })
    }

    /// Changes tables atomically: within the open transaction, or in one of its own. Without a
    /// mark, a failing change must not have changed anything.
    pub(super) fn in_transaction<T>(
        &mut self,
        needs_savepoint: bool,
        change: impl FnOnce(&Self, &View) -> Result<T>,
    ) -> Result<T> {
        self.check_writable()?;
        let Some(open) = &self.transaction else {
            let transaction: SharedTransaction = Arc::new(Mutex::new(Some(self.begin_writing()?)));
            let tables = Tables::Transaction(Arc::clone(&transaction));
            let view = View::new(Arc::clone(&self.handle)).with_tables(tables);
            let answer = change(self, &view)?;
            if let Some(transaction) = lock(&transaction).take() {
                self.commit(transaction)?;
            }
            return Ok(answer);
        };
        let Tables::Transaction(transaction) = open.tables.clone() else {
            let error = QueryError::new(ErrorCode::ReadOnly, "the transaction is read-only");
            return Err(error.help("start another without READ ONLY").into());
        };
        let view = View::new(Arc::clone(&self.handle)).with_tables(open.tables.clone());
        if !needs_savepoint {
            return change(self, &view);
        }
        let mark = lock(&transaction).as_mut().map(|open| open.savepoint());
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

fn mixed() -> QueryError {
    QueryError::new(
        ErrorCode::Unsupported,
        "a transaction changes only tables; collections are changed outside of transactions",
    )
    .help("commit first")
}
