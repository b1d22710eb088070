//! Indexes that a plan lacks, for EXPLAIN with advice.
//!
//! A scan that reads all rows of a large relation for few of them lacks an index on what it tests; one
//! that needs many of them, a copy in columns. How many it needs is an estimate, so this is advice.

use folio_types::{ColumnType, IndexMethod};

use super::display::inputs;
use super::physical::{Physical, Scan};
use super::terms::Path;
use crate::source::{Comparison, Relation, RelationKind, Source};

/// Smaller relations are read faster than an index is thought about.
const ROWS_MIN: u64 = 10_000;

/// An index is better where it leaves one row of so many.
const SHARE: u64 = 20;

/// Statements that create what the scans of a plan lack, each once. The plan has its estimates.
#[must_use]
pub(crate) fn advice(plan: &Physical, source: &dyn Source) -> Vec<String> {
    let mut found = Vec::new();
    advise(plan, source, &mut found);
    found
}

fn advise(plan: &Physical, source: &dyn Source, found: &mut Vec<String>) {
    if let Physical::Estimated(inner) = plan
        && let Physical::Scan(scan) = &inner.0
        && let Some(statement) = lacking(scan, inner.1, source)
        && !found.contains(&statement)
    {
        found.push(statement);
    }
    for (_, _, body) in plan.subqueries() {
        advise(&body, source, found);
    }
    if let Physical::Shared(query, _) = plan {
        advise(&query.plan, source, found);
    }
    inputs(plan).into_iter().for_each(|input| advise(input, source, found));
}

/// The statement that creates what a scan lacks.
fn lacking(scan: &Scan, expected: u64, source: &dyn Source) -> Option<String> {
    let relation = &*scan.relation;
    let is_stored = matches!(relation.kind, RelationKind::Table | RelationKind::Collection);
    let row_count = source.row_count(relation).ok().flatten()?;
    if !is_stored
        || !matches!(scan.path, Path::Full)
        || scan.limit.is_some()
        || row_count < ROWS_MIN
    {
        return None;
    }
    let name = written(&relation.schema.name)?;
    if expected <= row_count / SHARE {
        let columns = tested(scan);
        let first = *columns.first()?;
        if relation
            .indexes
            .iter()
            .any(|index| index.columns.first().is_some_and(|(own, _)| *own == first))
        {
            return None; // it was not worth following
        }
        let names = columns.iter().map(|column| written(relation.column_name(*column)));
        let names = names.collect::<Option<Vec<_>>>()?.join(", ");
        return Some(format!("create index on {name} ({names})"));
    }
    (!has_columns(relation)).then(|| format!("create index on {name} using columns"))
}

/// The columns that conditions compare with given values: those that must be equal, then one of which
/// a range is wanted.
fn tested(scan: &Scan) -> Vec<usize> {
    let compared: Vec<_> = scan
        .filters
        .iter()
        .filter_map(|filter| scan.compared(filter))
        .filter(|(column, _, value)| value.is_given() && is_indexable(&scan.relation, *column))
        .collect();
    let mut columns: Vec<usize> = Vec::new();
    for (column, ..) in compared.iter().filter(|(_, test, _)| *test == Comparison::Equal) {
        if !columns.contains(column) {
            columns.push(*column);
        }
    }
    let is_range = |test| {
        use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
        matches!(test, Less | LessOrEqual | Greater | GreaterOrEqual)
    };
    let range =
        compared.iter().find(|(column, test, _)| is_range(*test) && !columns.contains(column));
    columns.extend(range.map(|(column, ..)| *column));
    columns
}

fn is_indexable(relation: &Relation, column: usize) -> bool {
    use ColumnType as Type;
    let ty = relation.column_type(column);
    !matches!(ty, Type::Json | Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Interval)
}

fn has_columns(relation: &Relation) -> bool {
    let is_columns = |method: IndexMethod| method == IndexMethod::Columns;
    !relation.columns_indexes.is_empty()
        || relation.indexes.iter().any(|index| is_columns(index.method))
}

/// A name, or a path, as a statement has it, whatever words the language reserves; `None` if a step of
/// it may have a point.
fn written(name: &str) -> Option<String> {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|next| next.is_alphanumeric() || next == '_')
    };
    let steps: Vec<&str> = name.split('.').collect();
    let quoted = |step: &&str| format!("\"{step}\"");
    let is_path = steps.iter().all(|step| is_word(step));
    is_path.then(|| steps.iter().map(quoted).collect::<Vec<_>>().join("."))
}
