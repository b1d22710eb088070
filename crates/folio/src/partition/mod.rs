//! Partitions: parts of a collection or a table that other processes and machines read.
//!
//! [`Database::partitions`] plans at most a number of them, aligned to documents and rows, of about
//! the same size. Each is a short text that a scheduler hands to its workers:
//!
//! ```text
//! uri, relation      the directory of the database, and the name in it
//! start, end         bytes of the data file (documents where each is a file)
//! from, to           or keys of the table, in hexadecimal
//! rows               the number of documents or rows, before the filter
//! generation         of a collection the sum of its columns, of tables the number of the commit
//! checksum           of a collection what proves that the lines are the same
//! added              whether it is of the documents put between two positions, of which those that
//!                    are replaced or deleted meanwhile are left out
//! columns, filter    what is read of it
//! ```
//!
//! [`Session::read_partition`] runs `SELECT columns FROM part WHERE filter` over the range, so types
//! and conditions mean what they mean in other statements. Columns of which paths name a part are
//! narrow (`fields`). A worker whose data is not what was
//! planned fails with `conflict`, and reads nothing.
//!
//! It does not schedule, and it does not move data.

mod fields;
mod text;
mod writer;

use std::path::Path;
use std::sync::Arc;

use folio_compute::Error as QueryError;
use folio_document::{DocumentRange, Position};
use folio_engine::source::{Relation, RelationKind, Source};
use folio_engine::{Context, Interrupt, Level, Limits, Rows, Signature, Statement};
use folio_file::is_url;
use folio_sql::{Script, check_condition};
use folio_sqlite::quoted_name;
use folio_types::ErrorCode;
use xxhash_rust::xxh3::xxh3_64;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::location::{is_unlisted, names_like};
use crate::session::Session;
use crate::source::{PART, Part, PartRange, View};
use fields::ReadColumn;
pub use writer::{PartWriter, PartitionedWriter, WrittenPart};

/// What is read of each partition.
#[derive(Debug, Clone, Default)]
pub struct PartitionOptions {
    /// The wanted columns, in order; `None` for all that `SELECT *` has. A path within nested values
    /// (`commit.collection`, `cart[].sku`, `visits.*.day`, `"a.b".c`) wants no more of its column:
    /// `commit` is a struct of the members that paths name then, and only those are read.
    pub columns: Option<Vec<String>>,
    /// A condition of SQL about the columns, without subqueries.
    pub filter: Option<String>,
    /// Of a collection, only the documents that were put after this position.
    pub since: Option<Position>,
    /// Of a collection, only the documents that were put before this position.
    pub until: Option<Position>,
}

impl PartitionOptions {
    fn has_positions(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }
}

/// A part of a collection or a table. Its text ([`std::fmt::Display`], [`std::str::FromStr`]) is what other
/// processes receive: below 300 bytes, plus those of the options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    uri: String,
    relation: String,
    range: PartRange,
    row_count: u64,
    generation: u64,
    columns: Option<Vec<String>>,
    filter: Option<String>,
}

impl Partition {
    /// The absolute path of the database, or its URL without secrets, as the planner saw it.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The name of the collection or the table.
    #[must_use]
    pub fn relation(&self) -> &str {
        &self.relation
    }

    /// The number of documents or rows, before the filter.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Bytes of lines; `None` for tables, and where each document is a file.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match &self.range {
            PartRange::Documents(range) if range.end - range.start > range.document_count => {
                Some(range.end - range.start)
            }
            _ => None,
        }
    }

    /// The wanted columns, and paths in them; `None` for all.
    #[must_use]
    pub fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// The condition.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// The statement that reads it, and the part with the columns that the statement reads.
    fn statement(&self, part: Part) -> Result<(String, Part)> {
        let columns = match &self.columns {
            None => Vec::new(),
            Some(columns) => fields::read_columns(part.relation(), columns)?,
        };
        let narrow = |own: &ReadColumn| Some((own.name.clone(), own.part.clone()?));
        let (part, names) = part.with_narrow(columns.iter().filter_map(narrow).collect());
        let mut names = names.iter();
        let columns: Vec<String> = columns
            .iter()
            .map(|own| match own.part.as_ref().and_then(|_| names.next()) {
                Some(narrow) => format!("{} AS {}", quoted_name(narrow), quoted_name(&own.name)),
                None => quoted_name(&own.name),
            })
            .collect();
        let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
        Ok((self.selecting(&columns), part))
    }

    /// The statement that reads these columns of it.
    fn selecting(&self, columns: &str) -> String {
        let name = quoted_name(&self.relation);
        let mut text = format!("SELECT {columns} FROM {PART} AS {name}");
        if let Some(filter) = &self.filter {
            // On lines of its own: a comment ends, and an error shows no more than the filter.
            text.push_str(&format!(" WHERE (\n{filter}\n)"));
        }
        text
    }
}

impl Database {
    /// At most `count` partitions of a collection or a table, which together have all its rows. A
    /// collection is read in the order of its scan, a table by key. Reads the index, or the leaves
    /// of the table; no document. Waits for nobody, and reserves nothing: a partition whose
    /// documents are replaced or deleted before it is read cannot be read any more.
    ///
    /// Between two positions ([`crate::Collection::position`]) a collection has the documents that
    /// were put there. Each position ends one reading and begins the next, so a program that reads
    /// from position to position sees the newest version of each document, and each version once.
    /// Deletes are not seen. Such partitions can be read after their documents were replaced or
    /// deleted, and then do not have them. Where nothing was put between two positions, the columns
    /// and the filter are not looked at.
    ///
    /// # Errors
    /// `not_found` for the name; errors of the columns and the filter, as for a statement;
    /// `unsupported` for a filter with a subquery; `conflict` if the data file does not begin with
    /// what it had up to a position, after compaction or an edit; `invalid_input` for positions of
    /// a table, and of a collection with a file per document, and for no partitions.
    pub fn partitions(
        &self,
        relation: &str,
        count: usize,
        options: &PartitionOptions,
    ) -> Result<Vec<Partition>> {
        self.handle().check_open()?;
        if count == 0 {
            return Err(Error::Invalid(
                "0 partitions have no rows; ask for one or more".to_owned(),
            ));
        }
        if options.columns.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::Invalid("name one column at least, or none for all".to_owned()));
        }
        let (mut view, mut found) = self.found(relation)?;
        if found.kind == RelationKind::Collection {
            self.collection(&found.schema.name)?.settle_types()?;
            (view, found) = self.found(relation)?;
        }
        let partition = |(range, row_count): (PartRange, u64), generation: u64| Partition {
            uri: absolute(self.path()),
            relation: found.schema.name.clone(),
            range,
            row_count,
            generation,
            columns: options.columns.clone(),
            filter: options.filter.clone(),
        };
        let generation = generation(&view, &found)?;
        let ranges = self.ranges(&view, &found, (count, options))?;
        let partitions: Vec<_> =
            ranges.into_iter().map(|range| partition(range, generation)).collect();
        // A collection without documents has no columns. Who reads on from a position may name those
        // that it had.
        if partitions.is_empty() && options.has_positions() {
            return Ok(partitions);
        }
        // What is wrong with the columns or the filter is known here, not on a worker.
        let whole = partition((PartRange::Documents(NOTHING), 0), generation);
        let part = Part::new(view, &found, None, 0);
        compile(&whole, part, &Limits::new(Interrupt::default(), None))?;
        Ok(partitions)
    }

    /// The number of partitions for so many processors that divide the work: four for each, so that
    /// one slow task does not decide, but none below 4 MiB, and as many more as none above 128 MiB
    /// needs. Rows of tables count as if they were of 100 bytes.
    ///
    /// # Errors
    /// As [`Database::partitions`].
    pub fn partition_count(&self, relation: &str, processors: usize) -> Result<usize> {
        let all = self.partitions(relation, 1, &PartitionOptions::default())?;
        let size = |own: &Partition| own.size().unwrap_or(own.row_count() * ROW_SIZE);
        Ok(task_count(all.iter().map(size).sum(), processors))
    }

    /// What the next statement sees, and the relation of a name in it.
    fn found(&self, name: &str) -> Result<(View, Arc<Relation>)> {
        let view = View::new(Arc::clone(self.handle()));
        // A collection that others have changed is read again.
        let known = match self.collections() {
            Err(error) if is_unlisted(&error) => names_like(&**self.files(), self.root(), name)?,
            names => names?,
        };
        if known.iter().any(|other| other == name) {
            self.collection(name)?;
        }
        match view.relation(name)? {
            Some(found) if found.kind == RelationKind::View => Err(Error::Invalid(format!(
                "{name:?} is a view, which is a query; partition the tables and collections it reads"
            ))),
            Some(found) if matches!(found.kind, RelationKind::Table | RelationKind::Collection) => {
                Ok((view, found))
            }
            // Names what there is.
            _ => {
                self.relation(name)?;
                Err(Error::Invalid(format!("{name:?} is neither a table nor a collection")))
            }
        }
    }

    fn ranges(
        &self,
        view: &View,
        relation: &Relation,
        (count, options): (usize, &PartitionOptions),
    ) -> Result<Vec<(PartRange, u64)>> {
        if relation.kind == RelationKind::Table {
            if options.has_positions() {
                let name = &relation.schema.name;
                return Err(Error::Invalid(format!(
                    "{name:?} is a table, and only collections have positions"
                )));
            }
            let ranges = view.row_ranges(relation, count)?;
            return Ok(ranges.into_iter().map(|(range, n)| (PartRange::Rows(range), n)).collect());
        }
        let collection = self.collection(&relation.schema.name)?;
        let ranges = match options.has_positions() {
            false => collection.ranges(count)?,
            true => {
                let (since, until) = (options.since.as_ref(), options.until.as_ref());
                collection.ranges_between(since, until, count)?
            }
        };
        let part = |range: DocumentRange| {
            let row_count = range.document_count;
            (PartRange::Documents(range), row_count)
        };
        Ok(ranges.into_iter().map(part).collect())
    }
}

/// The range of a statement that is compiled but never run.
const NOTHING: DocumentRange =
    DocumentRange { start: 0, end: 0, document_count: 0, checksum: 0, omits_replaced: false };

/// About how many bytes a row is, of which no more is known.
const ROW_SIZE: u64 = 100;

const TASKS_PER_PROCESSOR: u64 = 4;

/// The sizes that tasks may have if their number is not given.
const TASK_SIZES: (u64, u64) = (4 << 20, 128 << 20);

/// The number of tasks that read so many bytes on so many processors.
fn task_count(size: u64, processors: usize) -> usize {
    let wanted = TASKS_PER_PROCESSOR * (processors as u64).max(1);
    let task_size = size.div_ceil(wanted).clamp(TASK_SIZES.0, TASK_SIZES.1);
    usize::try_from(size.div_ceil(task_size)).unwrap_or(usize::MAX).max(1)
}

/// The absolute form of a path. A URL is absolute, and a database shows it without its secrets.
fn absolute(path: &Path) -> String {
    if let Some(url) = path.to_str().filter(|path| is_url(path)) {
        return url.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

impl Session {
    /// Reads a partition of this database, or of one with the same content at another path. Reads the
    /// newest commit, also within a transaction.
    ///
    /// # Errors
    /// `conflict` if the database is not what it was when the partition was planned; `not_found`
    /// for its collection or table; errors of the filter.
    pub fn read_partition(&mut self, partition: &Partition) -> Result<Rows> {
        let database = Database::of(Arc::clone(self.handle()));
        database.handle().check_open()?;
        let (mut view, mut found) = database.found(&partition.relation)?;
        let is_other = |view: &View, found: &Relation| {
            Ok::<_, Error>(
                !partition.range.omits_replaced()
                    && generation(view, found)? != partition.generation,
            )
        };
        if found.kind == RelationKind::Collection && is_other(&view, &found)? {
            // What this process knows of the types may be older than the plan.
            database.collection(&found.schema.name)?.forget_types();
            (view, found) = database.found(&partition.relation)?;
        }
        if is_other(&view, &found)? {
            return Err(changed(&partition.relation).into());
        }
        match (&partition.range, found.kind) {
            // Fails now, not at the first batch.
            (PartRange::Documents(range), RelationKind::Collection) => {
                database.collection(&found.schema.name)?.scan_range(range)?;
            }
            (PartRange::Rows(_), RelationKind::Table) => {}
            _ => return Err(changed(&partition.relation).into()),
        }
        let limits = self.limits();
        let part = Part::new(view, &found, Some(partition.range.clone()), partition.row_count);
        let (statement, part) = compile(partition, part, &limits)?;
        let source: Arc<dyn Source> = Arc::new(part.clone());
        let context = || Context::new(Arc::clone(&source), &[], limits.clone());
        Ok(statement.query(&part, &[], &context)?)
    }
}

/// What must be the same for planner and worker beside the range: of tables the commit, of a
/// collection the columns. Documents between two positions are read beside others that are added, and
/// those may bring columns.
fn generation(view: &View, relation: &Relation) -> Result<u64> {
    if relation.kind == RelationKind::Table {
        return Ok(view.transaction()?);
    }
    let columns = relation.schema.columns.iter();
    let text: String =
        columns.map(|column| format!("{}\0{:?}\0", column.name, column.column_type)).collect();
    Ok(xxh3_64(text.as_bytes()))
}

fn compile(partition: &Partition, part: Part, limits: &Limits) -> Result<(Statement, Part)> {
    if let Some(filter) = &partition.filter {
        check_condition(filter, limits)?;
    }
    let whole = part.clone();
    let (text, part) = partition.statement(part)?;
    if partition.columns.is_some() && partition.filter.is_some() {
        // The filter is about the columns of the relation: it cannot name a narrow one, and neither
        // does what is said of an error.
        compile_text(&partition.selecting("1"), &whole, limits)?;
    }
    Ok((compile_text(&text, &part, limits)?, part))
}

fn compile_text(text: &str, part: &Part, limits: &Limits) -> Result<Statement> {
    let script = Script::parse(text, limits)?;
    let compiled = script.compile(0, part, Signature::NONE, (Level::Full, limits));
    Ok(compiled.map_err(without_statement)?)
}

/// An error whose place is in the statement, which nobody has written, without it. One in the filter
/// keeps its place.
fn without_statement(error: QueryError) -> QueryError {
    if error.span().line != 1 {
        return error;
    }
    let plain = QueryError::new(error.code(), error.message());
    match error.hint() {
        Some(hint) => plain.help(hint),
        None => plain,
    }
}

fn changed(relation: &str) -> QueryError {
    let text = format!("{relation:?} was changed since its partitions were planned");
    QueryError::new(ErrorCode::Conflict, text).help("plan them again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_use_the_processors_and_have_a_good_size() {
        const MIB: u64 = 1 << 20;
        for (size, processors, count) in [
            (0, 2, 1),
            (MIB, 2, 1),
            (10 * MIB, 2, 3),
            (400 * MIB, 2, 8),
            (400 * MIB, 0, 4),
            (10_240 * MIB, 2, 80),
            (10_240 * MIB, 64, 256),
        ] {
            assert_eq!(task_count(size, processors), count, "{size} on {processors}");
        }
    }
}
