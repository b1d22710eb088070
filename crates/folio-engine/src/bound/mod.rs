//! Bound statements: all names resolved, all types settled, nothing planned yet.

pub mod entity;

use std::sync::Arc;

use folio_types::TableSchema;

use self::entity::{EntityAdd, EntityChange};
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::Plan;
use crate::source::{CsvOptions, IndexInfo, Relation};
use crate::span::Span;

/// A query with the names of its columns.
#[derive(Debug, Clone)]
pub struct Query {
    /// What answers it.
    pub plan: Plan,
    /// Its columns' names.
    pub names: Vec<String>,
}

/// The file that COPY … TO writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTarget {
    /// The place of the table, for errors about the file.
    pub span: Span,
    /// Where it is.
    pub path: String,
    /// The name of its format; `None` is told by the name of the file.
    pub format: Option<String>,
    /// What is said of CSV.
    pub csv: CsvOptions,
}

/// A statement.
pub enum Statement {
    /// Rows.
    Query(Query),
    /// The plan of another.
    Explain {
        /// Whether it is run too.
        analyze: bool,
        /// Which.
        statement: Box<Statement>,
    },
    /// Rows into a file.
    CopyTo {
        /// Which.
        query: Query,
        /// Where to.
        target: CopyTarget,
    },
    /// New rows.
    Insert(Insert),
    /// Other values.
    Update(Change),
    /// Fewer rows.
    Delete(Change),
    /// Some of each.
    Merge(Merge),
    /// A table or a view, perhaps with rows.
    Create(Create),
    /// An index.
    CreateIndex {
        /// Of which table.
        table: String,
        /// The index.
        index: IndexInfo,
        /// Whether one that is there already is enough.
        if_not_exists: bool,
    },
    /// Tables or views to be dropped.
    Drop {
        /// Their names.
        names: Vec<String>,
        /// Whether they are views, or else tables.
        is_view: bool,
        /// Whether those that are not there are passed over.
        if_exists: bool,
        /// Whether what points at them goes too.
        cascade: bool,
    },
    /// A collection to be dropped.
    DropCollection(Arc<Relation>),
    /// Indexes to be dropped.
    DropIndex {
        /// Their names.
        names: Vec<String>,
        /// Whether those that are not there are passed over.
        if_exists: bool,
    },
    /// Tables to be emptied.
    Truncate {
        /// Which.
        tables: Vec<Arc<Relation>>,
        /// Whether they number rows from 1 again.
        restart: bool,
    },
    /// A table with other names or constraints.
    Alter {
        /// Which.
        table: Arc<Relation>,
        /// What it is to be.
        schema: TableSchema,
        /// How the new columns are made of the old ones, where types or columns change.
        columns: Option<Vec<Expr>>,
        /// What the rows must pass then.
        rules: Rules,
    },
    /// The beginning of a transaction.
    Begin {
        /// Whether it only reads.
        read_only: bool,
    },
    /// Its end.
    Commit,
    /// Its end, nothing done; or a return to a savepoint.
    Rollback {
        /// Which.
        savepoint: Option<String>,
    },
    /// A place to return to.
    Savepoint(String),
    /// Giving one up.
    Release(String),
    /// Another value for a setting of the session; its own where there is none.
    Set(Setting, Option<usize>),
    /// The value of one.
    Show(Setting),
    /// Several statements about entities, each of which may name what it found for those
    /// behind it.
    Steps(Vec<Step>),
}

/// One of several statements about entities.
pub struct Step {
    /// What is done.
    pub body: StepBody,
    /// Whether only its plan is asked for.
    pub explain: bool,
    /// The working table its keys are kept in.
    pub set: Option<usize>,
    /// Where it stands.
    pub place: Span,
}

/// What such a statement does.
pub enum StepBody {
    /// Rows, answered.
    Rows(Query),
    /// Keys alone: of a statement that is not the last.
    Keys(Plan),
    /// New entities.
    Add(EntityAdd<Plan>),
    /// Other values.
    Update(EntityChange<Plan, Change>),
    /// Fewer of them.
    Delete(EntityChange<Plan, Change>),
}

/// What a session can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Threads that large tables are read with.
    Threads,
    /// Milliseconds that a statement may take.
    Timeout,
    /// Bytes that a statement may hold.
    MemoryLimit,
}

impl Setting {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Threads, Self::Timeout, Self::MemoryLimit];

    /// What statements call it.
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

    /// What may stand behind a number, and how many of the setting's units it is.
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

/// New rows for a table.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows, a column for each of the table's, in their types.
    pub input: Plan,
    /// Whether a column of the input leaves its value to the table.
    pub numbered: Vec<usize>,
    /// What a row that is in the way does.
    pub on_conflict: OnConflict,
    /// What every row must pass.
    pub rules: Rules,
    /// The answer, over the columns of the new row.
    pub returning: Option<Returning>,
}

/// What happens to a row whose key is taken.
#[derive(Debug, Clone)]
pub enum OnConflict {
    /// The statement fails.
    Fail,
    /// The row is passed over, if it is one of these keys; of any where empty.
    Nothing(Vec<Vec<usize>>),
    /// The row that is there changes.
    Update {
        /// The key.
        key: Vec<usize>,
        /// All its columns anew, over those of the old row and then of the new.
        values: Vec<Expr>,
        /// Only where this is true.
        condition: Option<Expr>,
    },
}

/// Rows of a table to be changed or deleted.
#[derive(Debug, Clone)]
pub struct Change {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows: the old values of all columns, then the row number where the table
    /// has no key, then the new values where rows change, then what of other tables
    /// is returned.
    pub input: Plan,
    /// Which columns change.
    pub changed: Vec<usize>,
    /// What every new row must pass.
    pub rules: Rules,
    /// The answer, over the new row or the deleted one.
    pub returning: Option<Returning>,
    /// Which of the old values there are, where not all are looked at.
    pub read: Option<Vec<usize>>,
}

/// Rows of a table beside those of a source, and what becomes of them.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The table.
    pub table: Arc<Relation>,
    /// The rows: the old values of all columns, then the row number where the table has no
    /// key, then the number of the action, then the values of all actions.
    pub input: Plan,
    /// What becomes of a row.
    pub actions: Vec<MergeAction>,
    /// What every new row must pass.
    pub rules: Rules,
}

/// What MERGE does to a row.
#[derive(Debug, Clone)]
pub enum MergeAction {
    /// It stays.
    Nothing,
    /// These columns get other values.
    Update(Vec<usize>),
    /// It goes.
    Delete,
    /// It comes, a value for each column of the table. These may leave theirs to the table.
    Insert(Vec<usize>),
}

/// An answer made of the rows a statement touched.
#[derive(Debug, Clone)]
pub struct Returning {
    /// The columns answered.
    pub outputs: Vec<(Column, Expr)>,
    /// Their names.
    pub names: Vec<String>,
    /// What of other tables is read: it stands at the end of the input, and behind the
    /// row in what the outputs are made of.
    pub others: Vec<Column>,
}

impl Returning {
    /// The column of a table's key, under its name.
    pub fn key_of(table: &Relation, key: usize) -> Self {
        let name = table.schema.columns[key].name.clone();
        let column = Column {
            id: ColumnId(u32::try_from(key).unwrap_or(u32::MAX)),
            ty: table.column_type(key).clone(),
            name: (&*name).into(),
        };
        let outputs = vec![(column.clone(), Expr::Column(column))];
        Self { outputs, names: vec![name], others: Vec::new() }
    }

    /// What of other tables is read.
    pub fn others(&self) -> impl Iterator<Item = Expr> {
        self.others.iter().cloned().map(Expr::Column)
    }
}

/// What rows of a table are made of and must pass, bound over its columns.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Columns that are computed of the others, and how.
    pub generated: Vec<(usize, Expr)>,
    /// Names and conditions.
    pub checks: Vec<(String, Expr)>,
}

impl Rules {
    /// Whether nothing is computed, and everything passes.
    pub fn is_empty(&self) -> bool {
        self.generated.is_empty() && self.checks.is_empty()
    }
}

/// A table or view to be made.
#[derive(Debug, Clone)]
pub struct Create {
    /// Name, columns, key, properties.
    pub schema: TableSchema,
    /// Indexes that keep keys unique.
    pub indexes: Vec<IndexInfo>,
    /// Rows to begin with.
    pub rows: Option<Plan>,
    /// Whether one that is there already is enough.
    pub if_not_exists: bool,
    /// Whether one that is there already goes first.
    pub or_replace: bool,
}
