//! Bound statements: names and types are resolved, nothing is planned.

pub mod entity;

use std::sync::Arc;

use folio_compute::{Result, Span};
use folio_types::TableSchema;

use self::entity::{EntityAdd, EntityChange};
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::Plan;
use crate::source::{CsvOptions, FieldIndex, IndexInfo, Relation};

/// A query with the names of its columns.
#[derive(Debug, Clone)]
pub struct Query {
    /// The plan.
    pub plan: Plan,
    /// Its columns' names.
    pub names: Vec<String>,
}

/// The file that COPY … TO writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTarget {
    /// The place of the table, for errors about the file.
    pub span: Span,
    /// The path of the file.
    pub path: String,
    /// The name of its format; `None` if the file name decides.
    pub format: Option<String>,
    /// CSV options.
    pub csv: CsvOptions,
}

/// What EXPLAIN shows besides the plan.
#[derive(Clone, Copy, Default)]
pub struct Explained {
    /// The statement is run, and timed.
    pub analyze: bool,
    /// The rows expected of scans and joins.
    pub estimates: bool,
    /// The indexes that scans lack.
    pub advice: bool,
}

/// A bound statement.
pub enum Statement {
    /// A query.
    Query(Query),
    /// EXPLAIN.
    Explain {
        /// What is shown besides the plan.
        shows: Explained,
        /// The statement explained.
        statement: Box<Statement>,
    },
    /// COPY … TO: writes rows to a file.
    CopyTo {
        /// The query.
        query: Query,
        /// The file.
        target: CopyTarget,
    },
    /// INSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Change),
    /// DELETE.
    Delete(Change),
    /// MERGE.
    Merge(Merge),
    /// CREATE of a table or view, with or without rows.
    Create(Create),
    /// CREATE INDEX.
    CreateIndex {
        /// The table.
        table: String,
        /// The index.
        index: IndexInfo,
        /// Whether an existing index is no error.
        if_not_exists: bool,
    },
    /// CREATE INDEX of a collection.
    CreateFieldIndex {
        /// The collection.
        collection: Arc<Relation>,
        /// The index.
        index: FieldIndex,
        /// Whether an existing index is no error.
        if_not_exists: bool,
    },
    /// DROP INDEX of a collection.
    DropFieldIndex {
        /// The collection.
        collection: Arc<Relation>,
        /// The index.
        name: String,
    },
    /// DROP of tables or views.
    Drop {
        /// Their names.
        names: Vec<String>,
        /// Whether they are views; otherwise tables.
        is_view: bool,
        /// Whether missing ones are skipped.
        if_exists: bool,
        /// Whether what references them is dropped too.
        cascade: bool,
    },
    /// DROP of a collection.
    DropCollection(Arc<Relation>),
    /// DROP INDEX.
    DropIndex {
        /// Their names.
        names: Vec<String>,
        /// Whether missing ones are skipped.
        if_exists: bool,
    },
    /// TRUNCATE.
    Truncate {
        /// The tables.
        tables: Vec<Arc<Relation>>,
        /// Whether identity columns restart from 1.
        restart: bool,
    },
    /// ALTER TABLE.
    Alter {
        /// The table.
        table: Arc<Relation>,
        /// Its new schema.
        schema: TableSchema,
        /// How new columns are computed from old ones; `None` if types and columns do not change.
        columns: Option<Vec<Expr>>,
        /// The rules that the rows must pass afterwards.
        rules: Rules,
    },
    /// A statement that the session runs itself.
    Control(Control),
    /// SHOW of a setting.
    Show(Setting),
    /// Several statements about entities. Each may name the set it found for later ones.
    Steps(Vec<Step>),
}

/// A statement about the transaction or the settings of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// BEGIN.
    Begin {
        /// Whether the transaction is read-only.
        read_only: bool,
    },
    /// COMMIT.
    Commit,
    /// ROLLBACK, of the transaction or to a savepoint.
    Rollback {
        /// The savepoint.
        savepoint: Option<String>,
    },
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE of a savepoint.
    Release(String),
    /// SET of a setting; `None` restores the session's own value.
    Set(Setting, Option<usize>),
}

/// One of several statements about entities.
pub struct Step<P = Plan, Q = Query> {
    /// The statement.
    pub body: StepBody<P, Q>,
    /// Whether it is explained instead of run.
    pub explain: bool,
    /// The working table that stores its keys.
    pub set: Option<usize>,
    /// Its place in the text.
    pub place: Span,
}

/// The statement of a step.
pub enum StepBody<P = Plan, Q = Query> {
    /// A query that answers rows.
    Rows(Q),
    /// A query for keys, which is not the last step.
    Keys(P),
    /// ADD.
    Add(EntityAdd<P>),
    /// UPDATE.
    Update(EntityChange<P>),
    /// DELETE.
    Delete(EntityChange<P>),
}

/// A setting of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Threads for scans of large tables.
    Threads,
    /// The timeout of a statement, in milliseconds.
    Timeout,
    /// The memory limit of a statement, in bytes.
    MemoryLimit,
}

impl Setting {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Threads, Self::Timeout, Self::MemoryLimit];

    /// Its name in statements.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Timeout => "statement_timeout",
            Self::MemoryLimit => "memory_limit",
        }
    }

    /// What its values are, for messages.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Threads => "a whole number, at least 1",
            Self::Timeout => "a number of milliseconds, or a time such as '5s'; 0 is no limit",
            Self::MemoryLimit => "a number of bytes, or a size such as '2GB'; 0 is no limit",
        }
    }

    /// The suffixes that a number may have, and how many of the setting's units each is.
    pub fn units(self) -> &'static [(&'static str, usize)] {
        match self {
            Self::Threads => &[("", 1)],
            Self::Timeout => &[
                ("", 1),
                ("ms", 1),
                ("s", 1_000),
                ("min", 60_000),
                ("h", 3_600_000),
                ("d", 86_400_000),
            ],
            Self::MemoryLimit => &[
                ("", 1),
                ("b", 1),
                ("kb", 1 << 10),
                ("mb", 1 << 20),
                ("gb", 1 << 30),
                ("tb", 1 << 40),
            ],
        }
    }
}

/// New rows for a table. The plan is logical until it is lowered, here and below.
#[derive(Debug, Clone)]
pub struct Insert<P = Plan> {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows: one column for each of the table's, in its types.
    pub input: P,
    /// Input columns in which null means the next number of the table's identity column.
    pub numbered: Vec<usize>,
    /// What happens when a key is taken.
    pub on_conflict: OnConflict,
    /// The rules that every row must pass.
    pub rules: Rules,
    /// RETURNING, over the columns of the new row.
    pub returning: Option<Returning>,
}

impl<P> Insert<P> {
    /// The same with its plan lowered.
    pub(crate) fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<Insert<Q>> {
        let Self { table, input, numbered, on_conflict, rules, returning } = self;
        Ok(Insert { table, input: lower(input)?, numbered, on_conflict, rules, returning })
    }
}

/// What happens to a row whose key is taken.
#[derive(Debug, Clone)]
pub enum OnConflict {
    /// The statement fails.
    Fail,
    /// The row is skipped if the conflict is in one of these keys; in any key if empty.
    Nothing(Vec<Vec<usize>>),
    /// The existing row is updated.
    Update {
        /// The key.
        key: Vec<usize>,
        /// New values of all columns, over the columns of the old row and then of the new.
        values: Vec<Expr>,
        /// Update only where this is true.
        condition: Option<Expr>,
    },
}

/// Rows of a table to change or delete.
#[derive(Debug, Clone)]
pub struct Change<P = Plan> {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows: the old values of all columns; then the row number if the table has no key;
    /// then the new values if rows change; then the columns of other tables that RETURNING uses.
    pub input: P,
    /// The columns that change.
    pub changed: Vec<usize>,
    /// The rules that every new row must pass.
    pub rules: Rules,
    /// RETURNING, over the new row or the deleted one.
    pub returning: Option<Returning>,
    /// The old values that are read; `None` if all are.
    pub read: Option<Vec<usize>>,
}

impl<P> Change<P> {
    /// The same with its plan lowered.
    pub(crate) fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<Change<Q>> {
        let Self { table, input, changed, rules, returning, read } = self;
        Ok(Change { table, input: lower(input)?, changed, rules, returning, read })
    }
}

/// MERGE: rows of a table joined with those of a source, and what happens to each.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows: the old values of all columns; then the row number if the table has no key;
    /// then the number of the action; then the values of all actions.
    pub input: Plan,
    /// The actions.
    pub actions: Vec<MergeAction>,
    /// The rules that every new row must pass.
    pub rules: Rules,
}

/// What MERGE does to a row.
#[derive(Debug, Clone)]
pub enum MergeAction {
    /// The row stays.
    Nothing,
    /// These columns of the row change.
    Update(Vec<usize>),
    /// The row is deleted.
    Delete,
    /// The row is inserted. In these columns null means the next number of the identity column.
    Insert(Vec<usize>),
}

/// RETURNING: an answer computed from the rows that a statement changed.
#[derive(Debug, Clone)]
pub struct Returning {
    /// The columns answered.
    pub outputs: Vec<(Column, Expr)>,
    /// Their names.
    pub names: Vec<String>,
    /// Columns of other tables that it reads. They are the last columns of the input, and come
    /// after the row in what the outputs are computed from.
    pub others: Vec<Column>,
}

impl Returning {
    /// Returns the key column under its own name.
    pub fn key_of(table: &Relation, key: usize) -> Self {
        let name = table.schema.columns[key].name.clone();
        let column = Column {
            id: ColumnId(u32::try_from(key).unwrap_or(u32::MAX)),
            ty: table.column_type(key).clone(),
            name: (&*name).into(),
        };
        Self { outputs: vec![column.passed_on()], names: vec![name], others: Vec::new() }
    }

    /// The columns that it reads and that a written row does not have yet: the whole document, and
    /// if it is what was written, its members.
    pub(crate) fn missing(&self, table: &Relation, is_whole: bool) -> Vec<usize> {
        let Some(document) = table.document_column() else { return Vec::new() };
        let read: Vec<_> = self.outputs.iter().flat_map(|(_, output)| output.columns()).collect();
        let columns = (0..table.schema.columns.len()).filter(|at| is_whole || *at == document);
        columns.filter(|at| read.iter().any(|id| id.0 as usize == *at)).collect()
    }

    /// The columns of other tables that it reads.
    pub fn others(&self) -> impl Iterator<Item = Expr> {
        self.others.iter().cloned().map(Expr::Column)
    }
}

/// Generated columns and checks of a table, bound over its columns.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Generated columns and their expressions.
    pub generated: Vec<(usize, Expr)>,
    /// Checks: names and conditions.
    pub checks: Vec<(String, Expr)>,
}

impl Rules {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.generated.is_empty() && self.checks.is_empty()
    }
}

/// A table or view to create.
#[derive(Debug, Clone)]
pub struct Create {
    /// Name, columns, key, properties.
    pub schema: TableSchema,
    /// Its unique indexes.
    pub indexes: Vec<IndexInfo>,
    /// Its initial rows.
    pub rows: Option<Plan>,
    /// Whether an existing one is no error.
    pub if_not_exists: bool,
    /// Whether an existing one is dropped first.
    pub or_replace: bool,
}
