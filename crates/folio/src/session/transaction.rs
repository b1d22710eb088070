//! BEGIN, COMMIT, ROLLBACK and savepoints of a session.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use folio_engine::{Control, Setting};
use folio_file::LockError;
use folio_table::{Error as TableError, Savepoint, TableStore, Transaction};
use folio_types::ErrorCode;

use super::{Answer, Parameters, QueryError, Session};
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::source::Tables;

/// The transaction between BEGIN and COMMIT.
pub(super) struct Open {
    pub(super) tables: Tables,
    pub(super) savepoints: Vec<(String, Savepoint)>,
}

/// The control statement that is one plain word. It skips the parser, which would be most of the
/// cost of a small transaction.
pub(super) fn control_word(text: &str) -> Option<Control> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    match text.len() {
        5 if is("begin") => Some(Control::Begin { read_only: false }),
        6 if is("commit") => Some(Control::Commit),
        8 if is("rollback") => Some(Control::Rollback { savepoint: None }),
        _ => None,
    }
}

impl Session {
    /// Like [`Session::sql`], for callers without a lasting session: a transaction that the text
    /// begins must end in it, and settings are restored after it.
    ///
    /// # Errors
    /// As [`Session::sql`]; `invalid_input` for a transaction left open, which is rolled
    /// back.
    pub fn sql_alone(&mut self, text: &str, parameters: &Parameters) -> Result<Answer> {
        let settings = (self.threads, self.timeout, self.memory_limit);
        let result = self.sql(text, parameters);
        (self.threads, self.timeout, self.memory_limit) = settings;
        if self.is_in_transaction() {
            self.control(&Control::Rollback { savepoint: None })?;
            result?;
            return Err(Error::Invalid(
                "the text began a transaction and did not end it, so it was rolled back; end it \
                 with COMMIT in the same text, or begin it in a session"
                    .to_owned(),
            ));
        }
        result
    }

    /// Runs BEGIN, COMMIT, ROLLBACK, savepoints and settings.
    pub(super) fn control(&mut self, control: &Control) -> Result<()> {
        match control {
            Control::Begin { read_only } => self.begin(*read_only),
            Control::Commit => {
                let open = self.transaction.take().ok_or_else(no_transaction)?;
                self.handle.check_open()?;
                let Tables::Transaction(transaction) = &open.tables else { return Ok(()) };
                let transaction = lock(transaction).take();
                match transaction {
                    Some(transaction) => self.commit(transaction),
                    // Closing has rolled it back meanwhile.
                    None => self.handle.check_open(),
                }
            }
            Control::Rollback { savepoint: None } => {
                let open = self.transaction.take().ok_or_else(no_transaction)?;
                if let Tables::Transaction(transaction) = &open.tables
                    && let Some(transaction) = lock(transaction).take()
                {
                    let tables = transaction.store();
                    transaction.rollback();
                    self.keep_columns(&tables, false);
                }
                Ok(())
            }
            Control::Savepoint(name) => {
                let open = self.transaction.as_mut().ok_or_else(no_transaction)?;
                if let Tables::Transaction(transaction) = &open.tables
                    && let Some(transaction) = lock(transaction).as_mut()
                {
                    open.savepoints.push((name.clone(), transaction.savepoint()));
                }
                Ok(())
            }
            Control::Rollback { savepoint: Some(name) } => self.find_savepoint(name, true),
            Control::Release(name) => self.find_savepoint(name, false),
            Control::Set(..) if self.is_confined => {
                Err(super::run::confined("SET changes a limit").into())
            }
            Control::Set(Setting::Threads, count) => {
                self.threads = *count;
                Ok(())
            }
            Control::Set(Setting::Timeout, time_ms) => {
                let of_ms =
                    |time: usize| Duration::from_millis(u64::try_from(time).unwrap_or(u64::MAX));
                self.timeout = time_ms.map(of_ms);
                Ok(())
            }
            Control::Set(Setting::MemoryLimit, size) => {
                self.memory_limit = *size;
                Ok(())
            }
        }
    }

    /// Commits, and brings columns up to date if they have become old.
    pub(super) fn commit(&self, transaction: Transaction) -> Result<()> {
        let (tables, has_changed) = (transaction.store(), transaction.has_changed_copied_rows());
        transaction.commit()?;
        self.keep_columns(&tables, has_changed);
        Ok(())
    }

    /// Keeps the columns of tables after a transaction on these, which are not opened again: another
    /// process may have the lock by then.
    fn keep_columns(&self, tables: &TableStore, has_changed: bool) {
        let store = &self.handle.store;
        if has_changed || store.open_parts.has_created() {
            crate::row_parts::keep(store.part_folder(), tables);
        }
    }

    pub(super) fn begin(&mut self, read_only: bool) -> Result<()> {
        if self.transaction.is_some() {
            return Err(QueryError::new(ErrorCode::Conflict, "a transaction is already open")
                .help("commit it or roll it back first; SAVEPOINT nests")
                .into());
        }
        let tables = if read_only || self.is_reading || !self.handle.is_writable() {
            match self.handle.store.tables()? {
                Some(store) => Tables::Snapshot(Arc::new(store.snapshot())),
                None => Tables::None,
            }
        } else {
            self.check_writable()?;
            let transaction = Arc::new(Mutex::new(Some(self.begin_writing()?)));
            self.handle.note_transaction(&transaction);
            Tables::Transaction(transaction)
        };
        self.transaction = Some(Open { tables, savepoints: Vec::new() });
        Ok(())
    }

    /// Begins to write tables, after waiting for the transaction that does.
    pub(super) fn begin_writing(&self) -> Result<Transaction> {
        let start = Instant::now();
        let timeout = self.wait_limit.unwrap_or(self.handle.lock_timeout);
        let begin =
            |store: TableStore| Ok(store.begin_within(timeout.saturating_sub(start.elapsed()))?);
        let begun = self.handle.store.tables_to_write(timeout).and_then(begin);
        begun.map_err(|error| match (self.wait_limit, error) {
            (Some(_), Error::Table(TableError::Busy { .. })) => Error::Writing(None),
            (Some(_), Error::Table(TableError::Locked(held @ LockError::Held { .. }))) => {
                Error::Writing(Some(held))
            }
            (_, other) => other,
        })
    }

    /// Rolls back to a savepoint, or releases it; later savepoints are gone.
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

fn no_transaction() -> Error {
    QueryError::new(ErrorCode::Conflict, "there is no transaction").help("write BEGIN first").into()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::time::Duration;

    use crate::{Database, Session};

    /// The columns of an answer, as text.
    fn run(session: &mut Session, text: &str) -> String {
        let answer = session.execute(text, &[]).expect(text);
        let Some(mut rows) = answer.rows else { return String::new() };
        let mut seen = format!("{:?}", rows.take_row());
        while let Some(batch) = rows.next_batch().expect(text) {
            let _ = write!(seen, "{:?}", batch.columns);
        }
        seen
    }

    /// Another session that has just committed looks after the files of all columns indexes, and so
    /// finds those that this session is creating.
    #[test]
    fn columns_that_another_session_creates_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("data")).expect("it opens");
        let mut session = database.session().expect("a session");
        for text in [
            "create table t (a integer primary key, b integer)",
            "insert into t select value, value % 7 from generate_series(1, 20000) as s(value)",
            "begin",
            "create index p on t using columns",
        ] {
            run(&mut session, text);
        }
        let store = &session.handle.store;
        let tables = store.tables_to_write(Duration::ZERO).expect("the tables");
        crate::row_parts::keep(store.part_folder(), &tables);
        run(&mut session, "commit");
        let plan = run(&mut session, "explain select sum(b) from t");
        assert!(plan.contains("from columns p"), "{plan}");
        let sum = run(&mut session, "select sum(b) from t");
        assert!(sum.contains("59998"), "{sum}");
        assert!(database.take_notices().is_empty());
    }
}
