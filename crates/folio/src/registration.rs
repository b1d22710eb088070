//! Rows and scalar functions that a program registers under a name, for statements through the same
//! handle. Statements read registered rows (Arrow batches) like tables, collections and files. Rows
//! stay in memory in their original form and are never written. They are dropped with the handle.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::Schema;
use folio_compute::array::to_array;
use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_engine::ScalarFunction;
use folio_engine::source::{RelationKind, Source as _};
use folio_sql::is_taken_function_name;
use folio_types::{ColumnType, ErrorCode, Value};

use crate::database::Database;
use crate::error::Result;
use crate::format::arrow::{batches_of, relation_of, schema};
use crate::session::Parameters;

impl Database {
    /// Registers rows under a name for statements through this handle and its clones. Returns the
    /// number of rows. Replaces whatever had the name. Names are case-insensitive, as in SQL.
    ///
    /// # Errors
    /// `conflict` when a table, view or collection has the name; `unsupported` for columns of types
    /// without a counterpart; `invalid_input` for an empty name, two columns of one name, and
    /// errors of the reader.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator};
    /// use folio::Database;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let database = Database::open(folder.path().join("mydata"))?;
    /// let ids = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("id", ids as _)])?;
    /// let schema = batch.schema();
    /// database.register("wanted", RecordBatchIterator::new([Ok(batch)], schema))?;
    /// let answer = database.session()?.execute("select sum(id) from wanted", &[])?;
    /// assert_eq!(answer.rows.expect("it is a query").to_json()?, r#"[{"sum":6}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register(&self, name: &str, rows: impl RecordBatchReader) -> Result<u64> {
        self.check_registrable(name)?;
        let schema = rows.schema();
        let batches = rows.map(|batch| batch.map_err(|error| refused(&error.to_string())));
        self.register_batches(name, &schema, batches.collect::<QueryResult<_>>()?)
    }

    /// Like [`Database::register`], from a file or stream in Arrow's IPC format.
    ///
    /// # Errors
    /// As [`Database::register`]; `corrupted` for content of another format, `unsupported` for
    /// compressed batches.
    pub fn register_ipc(&self, name: &str, content: &[u8]) -> Result<u64> {
        self.check_registrable(name)?;
        let (schema, batches) = batches_of(content)?;
        self.register_batches(name, &schema, batches)
    }

    /// Like [`Database::register`], from columns given as lists by name, all of one length.
    ///
    /// # Errors
    /// As [`Database::register`]; `invalid_input` for values that are not lists, or lists of
    /// different lengths.
    ///
    /// # Examples
    ///
    /// ```
    /// use folio::{ColumnType, Database, Parameters, Value};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let database = Database::open(folder.path().join("mydata"))?;
    /// let mut columns = Parameters::default();
    /// let ids = Value::List(vec![Value::Integer(1), Value::Integer(2)]);
    /// columns.push_named("id", ids, Some(ColumnType::List(Box::new(ColumnType::Int64))));
    /// assert_eq!(database.register_columns("wanted", &columns)?, 2);
    /// let answer = database.session()?.execute("select sum(id) from wanted", &[])?;
    /// assert_eq!(answer.rows.expect("it is a query").to_json()?, r#"[{"sum":3}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_columns(&self, name: &str, columns: &Parameters) -> Result<u64> {
        self.check_registrable(name)?;
        let (mut names, mut types, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        for (column, value, ty) in columns.named() {
            let ty = match ty {
                Some(ColumnType::List(element)) => (**element).clone(),
                _ => ColumnType::Text,
            };
            let Value::List(values) = value else {
                return Err(refused(&format!("column {column:?} of {name:?} is not a list")).into());
            };
            arrays.push(to_array(values.iter(), &ty)?);
            names.push(column.to_owned());
            types.push(ty);
        }
        let schema = Arc::new(schema(&names, &types));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
            .map_err(|error| refused(&error.to_string()))?;
        self.register_batches(name, &schema, vec![batch])
    }

    /// Refuses names that rows cannot have.
    fn check_registrable(&self, name: &str) -> Result<()> {
        self.handle().check_open()?;
        if name.is_empty() {
            return Err(refused("the name to register rows under is empty").into());
        }
        let stored = self.session()?.view()?.relation(name)?;
        if stored.is_some_and(|stored| stored.kind != RelationKind::Registered) {
            let text = format!("{name:?} already exists in the database");
            let error = QueryError::new(ErrorCode::Conflict, text);
            return Err(error.help("register the rows under another name").into());
        }
        Ok(())
    }

    fn register_batches(
        &self,
        name: &str,
        schema: &Schema,
        batches: Vec<RecordBatch>,
    ) -> Result<u64> {
        let count = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let relation = Arc::new(relation_of(name, schema, batches)?);
        self.handle().registered.insert_relation(name, relation);
        Ok(count)
    }

    /// Removes what was registered under a name. Returns whether there was anything. Running
    /// statements are not affected.
    ///
    /// # Errors
    /// `closed`.
    pub fn unregister(&self, name: &str) -> Result<bool> {
        self.handle().check_open()?;
        Ok(self.handle().registered.remove_relation(name))
    }

    /// Registers a scalar function for statements through this handle and its clones, replacing one
    /// of the same name. It is called on any thread that evaluates the statement, on several at a
    /// time unless `on_one_thread` is set.
    ///
    /// # Errors
    /// `conflict` for the name of a built-in SQL function, `invalid_input` for an empty name.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use folio::{ColumnType, Database, ScalarFunction, Value};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let database = Database::open(folder.path().join("mydata"))?;
    /// database.create_function(ScalarFunction {
    ///     name: "double".to_owned(),
    ///     parameters: vec![ColumnType::Int64],
    ///     returns: ColumnType::Int64,
    ///     is_volatile: false,
    ///     takes_null: false,
    ///     on_one_thread: false,
    ///     body: Arc::new(|arguments| match arguments {
    ///         [Value::Integer(n)] => n.checked_mul(2).map(Value::Integer).ok_or("too large".into()),
    ///         _ => Err("takes an integer".into()),
    ///     }),
    /// })?;
    /// let answer = database.session()?.execute("select double(21) as n", &[])?;
    /// assert_eq!(answer.rows.expect("it is a query").to_json()?, r#"[{"n":42}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_function(&self, function: ScalarFunction) -> Result<()> {
        self.handle().check_open()?;
        let name = &function.name;
        if name.is_empty() {
            return Err(refused("the name of the function is empty").into());
        }
        if is_taken_function_name(name) {
            let text = format!("{name}(…) is already defined in SQL");
            let error = QueryError::new(ErrorCode::Conflict, text);
            return Err(error.help("choose another name").into());
        }
        let name = name.clone();
        self.handle().registered.insert_function(&name, function);
        Ok(())
    }

    /// Removes a registered function. Returns whether there was one of this name.
    ///
    /// # Errors
    /// `closed`.
    pub fn drop_function(&self, name: &str) -> Result<bool> {
        self.handle().check_open()?;
        Ok(self.handle().registered.remove_function(name))
    }
}

fn refused(text: &str) -> QueryError {
    QueryError::new(ErrorCode::InvalidInput, text)
}
