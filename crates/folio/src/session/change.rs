//! Statements that change: in the transaction that is open, or in one of their own.

use std::sync::{Arc, Mutex};

use folio_engine::{Kind, Signature, Statement};
use folio_types::{ErrorCode, Value};

use super::{Answer, QueryError, Session};
use crate::error::Result;
use crate::lock::lock;
use crate::source::{SharedDocuments, SharedTransaction, Tables, View};

impl Session {
    /// Runs a statement that changes what a view shows.
    pub(super) fn execute_in(
        &self,
        statement: &Statement,
        parameters: &[Value],
        view: &View,
    ) -> Result<Answer> {
        let context = || self.context(view.clone(), parameters, self.limits());
        let outcome = statement.execute(view, parameters, &context)?;
        Ok(Answer { count: Some(outcome.count), rows: outcome.rows })
    }

    /// Runs a statement that changes a collection, whole or not at all.
    pub(super) fn change_documents(
        &self,
        statement: &Statement,
        parameters: &[Value],
        view: View,
    ) -> Result<Answer> {
        let documents = SharedDocuments::default();
        let view = View { documents: Some(Arc::clone(&documents)), ..view };
        let result = self.execute_in(statement, parameters, &view);
        let mut documents = lock(&documents);
        match result {
            Ok(_) => documents.commit()?,
            Err(_) => documents.undo(),
        }
        result
    }

    /// Runs a statement that changes tables, whole or not at all, in the transaction
    /// that is open.
    pub(super) fn change(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        view: &View,
    ) -> Result<Answer> {
        self.handle.check_writable()?;
        let Tables::Transaction(transaction) = &view.tables else {
            return Err(QueryError::new(ErrorCode::ReadOnly, "the transaction only reads")
                .help("begin another without READ ONLY")
                .into());
        };
        if !statement.needs_mark() {
            return self.execute_in(statement, parameters, view);
        }
        let mark = lock(transaction).as_mut().map(|open| open.savepoint());
        let result = self.execute_in(statement, parameters, view);
        if let (Some(mark), Some(open)) = (mark, lock(transaction).as_mut()) {
            if result.is_err() {
                open.rollback_to(mark)?;
            }
            open.release(mark)?;
        }
        result
    }

    /// Runs a statement that changes tables where no transaction is open: in one of its
    /// own, or in one that stays open.
    pub(super) fn change_outside(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        if self.autocommit {
            return match self.change_alone(statement, parameters)? {
                Some(answer) => Ok(answer),
                None => self.change_anew(statement, parameters, signature),
            };
        }
        self.handle.check_writable()?;
        self.begin(false)?;
        match self.run_current(statement, parameters, signature)? {
            Some(answer) => Ok(answer),
            None => self.run_again(statement, parameters, signature),
        }
    }

    /// A transaction of one statement, unless definitions have changed since it was
    /// made ready.
    pub(super) fn change_alone(
        &self,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Option<Answer>> {
        self.handle.check_writable()?;
        let store = self.handle.store.tables_to_write()?;
        let transaction: SharedTransaction = Arc::new(Mutex::new(Some(store.begin()?)));
        let tables = Tables::Transaction(Arc::clone(&transaction));
        let view = View::new(Arc::clone(&self.handle), tables);
        if !statement.is_current(&view)? {
            return Ok(None);
        }
        let answer = self.execute_in(statement, parameters, &view)?;
        if let Some(transaction) = lock(&transaction).take() {
            transaction.commit()?;
        }
        Ok(Some(answer))
    }

    /// Another writer changed definitions between looking and writing, or a file is read:
    /// once more, inside of a transaction, where that cannot happen.
    fn change_anew(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        signature: &Signature,
    ) -> Result<Answer> {
        self.control(Kind::Begin { read_only: false })?;
        let result = self.run_again(statement, parameters, signature);
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
}
