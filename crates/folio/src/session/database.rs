//! Database methods that use a session: SQL, ZiQL and the schema.

use std::sync::Arc;

use folio_engine::Rows;
use folio_types::Value;

use super::{Answer, Parameters, Session};
use crate::database::Database;
use crate::error::Result;

impl Database {
    /// Opens a session that runs SQL over tables, collections and files. Each session has its own
    /// transaction. Any number may be open.
    ///
    /// # Errors
    /// `closed`.
    pub fn session(&self) -> Result<Session> {
        self.handle().check_open()?;
        Ok(Session::new(Arc::clone(self.handle())))
    }

    /// Runs SQL statements in a new session and returns the result of the last one.
    ///
    /// # Errors
    /// As [`Session::sql`]; `invalid_input` for a transaction left open, which is rolled back.
    pub fn sql(&self, text: &str, parameters: &Parameters) -> Result<Answer> {
        self.session()?.sql_alone(text, parameters)
    }

    /// Runs a ZiQL script and returns the result of its last statement. Parameters have names:
    /// `$name` in the text.
    ///
    /// # Errors
    /// As [`Session::ziql`].
    ///
    /// # Examples
    ///
    /// ```
    /// use folio::{Database, Value};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let database = Database::open(folder.path().join("mydata"))?;
    /// database.apply_schema("User ( name: str, age: int = 0, best_friend: User )", false)?;
    /// database.ziql("ADD User (name = 'Ann', age = 34) ('Bob', 20)", &[])?;
    /// database.ziql("UPDATE User {name = 'Bob'} TO (best_friend = {name = 'Ann'})", &[])?;
    ///
    /// let text = "GRAB User [name, best_friend [name]] {age < $limit}";
    /// let mut rows = database.ziql(text, &[("limit", Value::Integer(30))])?;
    /// assert_eq!(rows.to_json()?, r#"[{"name":"Bob","best_friend":{"name":"Ann"}}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ziql(&self, text: &str, parameters: &[(&str, Value)]) -> Result<Rows> {
        self.session()?.ziql(text, parameters)
    }

    /// The existing structs, as the text that declares them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn schema(&self) -> Result<String> {
        self.session()?.schema()
    }

    /// What applying a schema would change, one line each.
    ///
    /// # Errors
    /// As [`Database::apply_schema`].
    pub fn check_schema(&self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        self.session()?.check_schema(text, allow_drop)
    }

    /// Creates the structs that a schema declares, in one transaction. Returns what changed, one
    /// line each.
    ///
    /// # Errors
    /// `syntax` and unknown names, with their position; `conflict` for a change that cannot be
    /// migrated, and for one that drops data unless `allow_drop` is set.
    pub fn apply_schema(&self, text: &str, allow_drop: bool) -> Result<Vec<String>> {
        self.session()?.apply_schema(text, allow_drop)
    }
}
