//! Converts single rows between batches and stores.

use folio_compute::array::{to_array, value_at};
use folio_compute::{Batch, Error, Result, order_keys};
use folio_types::{ColumnType, ErrorCode, Value, borrowed};

use super::{Run, types_of};
use crate::source::{Bound, DOCUMENT, Relation, ScanRequest};

/// The values of a row of a batch.
pub(super) fn values_of(batch: &Batch, row: usize, table: &Relation) -> Vec<Value> {
    let types = table.schema.columns.iter().map(|column| &column.column_type);
    batch.columns.iter().zip(types).map(|(column, ty)| value_at(column, row, ty)).collect()
}

/// The key of a row: its primary key, or its row number, which is the column after the table's
/// columns.
pub(super) fn key_of(batch: &Batch, row: usize, table: &Relation) -> Vec<Value> {
    match &table.schema.primary_key[..] {
        [] => {
            let number = &batch.columns[table.schema.columns.len()];
            vec![value_at(number, row, &ColumnType::Int64)]
        }
        key => values_in(batch, row, table, key),
    }
}

/// The values of a row in some columns.
pub(super) fn values_in(
    batch: &Batch,
    row: usize,
    table: &Relation,
    columns: &[usize],
) -> Vec<Value> {
    let value = |at: &usize| value_at(&batch.columns[*at], row, table.column_type(*at));
    columns.iter().map(value).collect()
}

/// Rows as a batch of a table's columns.
pub(super) fn batch_of(rows: &[Vec<Value>], table: &Relation) -> Result<Batch> {
    let types = types_of(table);
    let columns = types.iter().enumerate().map(|(index, ty)| {
        let column: Vec<&Value> = rows.iter().map(|row| &row[index]).collect();
        to_array(column.into_iter(), ty)
    });
    Ok(Batch::new(columns.collect::<Result<_>>()?, rows.len()))
}

/// Puts columns into the row of a document that was written, as the store has them now.
///
/// # Errors
/// `invalid_input` for a member whose type is not that of its column.
pub(super) fn read_written(
    row: &mut [Value],
    columns: &[usize],
    table: &Relation,
    run: &Run<'_>,
) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let key: Vec<Value> = table.schema.primary_key.iter().map(|at| row[*at].clone()).collect();
    for column in columns {
        let mut found = Vec::with_capacity(1);
        let read = run.changes.get(table, &borrowed(&key), &[*column], &mut found);
        read.map_err(|error| match error.code() {
            ErrorCode::Conflict => of_another_type(&table.schema.columns[*column].name),
            _ => error,
        })?;
        row[*column] = found.pop().unwrap_or(Value::Null);
    }
    Ok(())
}

fn of_another_type(name: &str) -> Error {
    Error::invalid(format!("column {name:?} has another type in the document that is written"))
        .help(format!("read it as JSON: {DOCUMENT} -> '{name}'"))
}

/// Whether two values of a column are equal; JSON is by value.
pub(super) fn is_same(one: &Value, other: &Value, ty: &ColumnType) -> bool {
    order_keys::of_value(one, ty) == order_keys::of_value(other, ty)
}

/// Finds the row of a table that has these values in some columns, and its key in the store.
pub(super) fn find(
    run: &Run<'_>,
    table: &Relation,
    columns: &[usize],
    values: &[Value],
) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
    if values.iter().any(|value| matches!(value, Value::Null)) {
        return Ok(None);
    }
    if columns == table.schema.primary_key {
        let all: Vec<usize> = (0..table.schema.columns.len()).collect();
        let mut row = Vec::with_capacity(all.len());
        let found = run.changes.get(table, &borrowed(values), &all, &mut row)?;
        return Ok(found.then(|| (values.to_vec(), row)));
    }
    let index = table.indexes.iter().position(|index| {
        index.is_whole()
            && index.columns.iter().map(|(column, _)| *column).eq(columns.iter().copied())
    });
    let bound = match index {
        Some(_) => Bound::Included(values.to_vec()),
        None => Bound::Unbounded,
    };
    let request =
        ScanRequest { index, from: bound.clone(), to: bound, ..ScanRequest::whole(table) };
    let mut rows = run.changes.scan(table, &request)?;
    while let Some(batch) = rows.next()? {
        run.context().check()?;
        for row in 0..batch.row_count {
            let is_it = columns.iter().zip(values).all(|(column, value)| {
                let ty = table.column_type(*column);
                is_same(&value_at(&batch.columns[*column], row, ty), value, ty)
            });
            if is_it {
                return Ok(Some((key_of(&batch, row, table), values_of(&batch, row, table))));
            }
        }
    }
    Ok(None)
}
