//! MERGE.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Error, Result};

use super::insert::insert_rows;
use super::update::{delete_rows_of, update_rows};
use super::{ChangePlan, Done, InsertPlan, Run, gather};
use crate::plan::physical::Physical;
use crate::source::Relation;

/// A MERGE ready to run. Each input row has the old row, the number of its clause, and the values
/// of all clauses.
pub(crate) struct MergePlan {
    pub(crate) input: Physical,
    pub(crate) table: Arc<Relation>,
    pub(crate) clauses: Vec<MergeClause>,
}

/// The action of a clause.
pub(crate) enum MergeClause {
    Nothing,
    Update(ChangePlan),
    Delete(ChangePlan),
    Insert(InsertPlan),
}

impl MergeClause {
    /// How many values of the input belong to it.
    fn width(&self) -> usize {
        match self {
            Self::Nothing | Self::Delete(_) => 0,
            Self::Update(plan) => plan.changed.len(),
            Self::Insert(plan) => plan.table.schema.columns.len(),
        }
    }
}

/// Updates, deletes and inserts the rows of a plan, in this order.
///
/// # Errors
/// A constraint that would be broken, by name; a row that two source rows match.
pub(crate) fn merge(plan: &MergePlan, run: &Run<'_>) -> Result<Done> {
    let rows = gather(&plan.input, run)?;
    if rows.row_count == 0 {
        return Ok(Done::default());
    }
    let table = &plan.table;
    let width = table.schema.columns.len() + usize::from(table.schema.primary_key.is_empty());
    check_once(plan, &rows, width)?;
    let mut count = 0;
    let mut done = |is_wanted: fn(&MergeClause) -> bool| -> Result<()> {
        let mut first = width + 1;
        for (number, clause) in plan.clauses.iter().enumerate() {
            let own = first..first + clause.width();
            first = own.end;
            if !is_wanted(clause) {
                continue;
            }
            let rows = rows_of(&rows, (width, number), own)?;
            count += match clause {
                MergeClause::Nothing => 0,
                MergeClause::Update(plan) => update_rows(plan, &rows, run)?.count,
                MergeClause::Delete(plan) => delete_rows_of(plan, rows, run)?.count,
                MergeClause::Insert(plan) => {
                    let new = Batch::new(rows.columns[width..].to_vec(), rows.row_count);
                    insert_rows(plan, &new, run)?.count
                }
            };
        }
        Ok(())
    };
    done(|clause| matches!(clause, MergeClause::Delete(_)))?;
    done(|clause| matches!(clause, MergeClause::Update(_)))?;
    done(|clause| matches!(clause, MergeClause::Insert(_)))?;
    Ok(Done { count, returned: None })
}

/// The rows of a clause: their old columns, and the clause's values.
fn rows_of(rows: &Batch, (width, clause): (usize, usize), own: Range<usize>) -> Result<Batch> {
    let numbers = rows.columns[width].as_primitive::<Int64Type>();
    let wanted = (0u32..).zip(numbers.iter());
    let wanted = wanted.filter(|(_, number)| *number == i64::try_from(clause).ok());
    let wanted: UInt32Array = wanted.map(|(row, _)| Some(row)).collect();
    let columns = rows.columns[..width].iter().chain(&rows.columns[own]).cloned().collect();
    Batch::new(columns, rows.row_count).take(&wanted)
}

/// Refuses to change a row of the table twice.
fn check_once(plan: &MergePlan, rows: &Batch, width: usize) -> Result<()> {
    let table = &plan.table;
    let numbers = rows.columns[width].as_primitive::<Int64Type>();
    let changes = |number: i64| {
        let clause = usize::try_from(number).ok().and_then(|number| plan.clauses.get(number));
        matches!(clause, Some(MergeClause::Update(_) | MergeClause::Delete(_)))
    };
    let changed = (0u32..).zip(numbers.iter());
    let changed = changed.filter(|(_, number)| number.is_some_and(changes));
    let changed: UInt32Array = changed.map(|(row, _)| Some(row)).collect();
    let (types, places) = match &table.schema.primary_key[..] {
        [] => (vec![folio_types::ColumnType::Int64], vec![width - 1]),
        key => {
            let types = key.iter().map(|index| table.column_type(*index).clone());
            (types.collect(), key.to_vec())
        }
    };
    let changed = rows.take(&changed)?;
    let keys: Vec<_> = places.iter().map(|at| changed.columns[*at].clone()).collect();
    let mut first = Vec::new();
    KeyTable::new(&types)?.intern(&keys, changed.row_count, &mut first)?;
    if first.len() == changed.row_count {
        return Ok(());
    }
    let name = &table.schema.name;
    Err(Error::conflict(format!("several rows of the source match one row of table {name:?}"))
        .help("group the source to have one row for each"))
}
