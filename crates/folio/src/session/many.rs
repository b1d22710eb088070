//! A prepared statement for many sets of parameters, all or none of them.

use folio_engine::Control;

use super::{Parameters, Prepared, Session};
use crate::error::{Error, Result};
use crate::source::Tables;

/// The savepoint within a transaction that is open already.
const SAVEPOINT: &str = "before many";

/// Runs of a prepared statement for many sets of parameters, which take effect as a whole: in a
/// transaction of their own, or in the one that is open. A transaction changes only tables: a
/// statement that changes a collection takes effect with each run.
///
/// # Examples
///
/// ```
/// use folio::{Database, Many, Parameters, Value};
///
/// # let folder = tempfile::tempdir()?;
/// let database = Database::open(folder.path().join("mydata"))?;
/// let mut session = database.session()?;
/// session.execute("create table t (a int primary key)", &[])?;
/// let mut insert = session.prepare("insert into t values (?)")?;
/// let (mut many, mut ran) = (Many::default(), Ok(()));
/// for value in [1, 2, 1] {
///     let mut parameters = Parameters::default();
///     parameters.push(Value::Integer(value), None);
///     ran = ran.and_then(|()| many.run(&mut session, &mut insert, &parameters));
/// }
/// many.end(&mut session, ran.is_ok())?;
/// assert!(ran.unwrap_err().to_string().starts_with("element 3: "));
/// let count = session.execute("select count(*) as count from t", &[])?;
/// assert_eq!(count.rows.expect("a query").to_json()?, r#"[{"count":0}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Many {
    /// What takes the runs back, from the first one on.
    extent: Option<Extent>,
    /// The number of runs.
    number: u64,
    /// Rows changed.
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Nothing: each run is one of its own.
    Run,
    Savepoint,
    Transaction,
}

impl Many {
    /// Runs the statement for the next set of parameters. After an error call [`Many::end`].
    ///
    /// # Errors
    /// As [`Session::sql_prepared`], with the number of the run.
    pub fn run(
        &mut self,
        session: &mut Session,
        prepared: &mut Prepared,
        parameters: &Parameters,
    ) -> Result<()> {
        let extent = match self.extent {
            Some(extent) => extent,
            None => *self.extent.insert(session.begin_many(prepared, parameters)?),
        };
        self.number += 1;
        let answer = session.sql_prepared(prepared, parameters).map_err(|cause| {
            let is_kept = extent == Extent::Run && self.count > 0;
            Error::InElement { number: self.number, is_kept, cause: Box::new(cause) }
        })?;
        self.count += answer.count.unwrap_or(0);
        Ok(())
    }

    /// Ends the runs: keeps what they have changed, or takes it back. Returns the number of changed
    /// rows.
    ///
    /// # Errors
    /// Those of COMMIT.
    pub fn end(self, session: &mut Session, keep: bool) -> Result<u64> {
        let savepoint = || SAVEPOINT.to_owned();
        match self.extent {
            Some(Extent::Transaction) if !keep => {
                session.control(&Control::Rollback { savepoint: None })?;
            }
            Some(Extent::Transaction) if session.autocommit => {
                session.control(&Control::Commit)?;
            }
            Some(Extent::Savepoint) => {
                if !keep {
                    session.control(&Control::Rollback { savepoint: Some(savepoint()) })?;
                }
                session.control(&Control::Release(savepoint()))?;
            }
            _ => {}
        }
        Ok(self.count)
    }
}

impl Session {
    fn begin_many(&mut self, prepared: &mut Prepared, first: &Parameters) -> Result<Extent> {
        if !self.changes_tables(prepared, first) {
            return Ok(Extent::Run);
        }
        match &self.transaction {
            None => {
                self.check_writable()?;
                self.begin(false)?;
                Ok(Extent::Transaction)
            }
            Some(open) if matches!(open.tables, Tables::Transaction(_)) => {
                self.control(&Control::Savepoint(SAVEPOINT.to_owned()))?;
                Ok(Extent::Savepoint)
            }
            Some(_) => Ok(Extent::Run),
        }
    }
}
