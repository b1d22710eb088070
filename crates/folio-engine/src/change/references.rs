//! Foreign keys: checks that referenced rows exist, and applies the actions when they are deleted
//! or their keys change.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use folio_compute::array::value_at;
use folio_compute::keys::{KeyTable, has_null};
use folio_compute::{Batch, Error, Result};
use folio_types::{Value, borrowed};

use super::row::{batch_of, find, key_of, values_in, values_of};
use super::{Run, types_of};
use crate::constraint::{OnDelete, OnUpdate, Reference};
use crate::expression::evaluate::constant;
use crate::source::{Bound, IndexInfo, Keys, Relation, RowStream, ScanRequest};

/// Up to this many keys, single lookups are as fast.
pub(super) const FEW: usize = 4;

/// Refuses rows with dangling references.
///
/// # Errors
/// `conflict`, with the name of the reference.
pub(super) fn check_targets(table: &Relation, rows: &Batch, run: &Run<'_>) -> Result<()> {
    check_of(table, &|_| true, rows, run)
}

/// The same for the references that use one of these columns. Other references of a row may point
/// at deleted rows whose actions are still to be applied.
fn check_changed(table: &Relation, columns: &[usize], rows: &Batch, run: &Run<'_>) -> Result<()> {
    check_of(table, &|own| own.iter().any(|index| columns.contains(index)), rows, run)
}

/// The same for the references whose columns pass a test.
fn check_of(
    table: &Relation,
    is_asked: &dyn Fn(&[usize]) -> bool,
    rows: &Batch,
    run: &Run<'_>,
) -> Result<()> {
    for reference in &table.constraints.references {
        let own = positions(table, &reference.columns);
        if is_asked(&own)
            && let Some((_, error)) =
                first_dangling_of(table, reference, &columns_of(rows, &own), run)?
        {
            return Err(error);
        }
    }
    Ok(())
}

fn columns_of(rows: &Batch, positions: &[usize]) -> Vec<ArrayRef> {
    positions.iter().map(|index| ArrayRef::clone(&rows.columns[*index])).collect()
}

/// The first row whose reference is dangling, and the error for it.
///
/// # Errors
/// Errors of the store.
pub(super) fn first_dangling_of(
    table: &Relation,
    reference: &Reference,
    columns: &[ArrayRef],
    run: &Run<'_>,
) -> Result<Option<(usize, Error)>> {
    let own = positions(table, &reference.columns);
    let (mut rows, mut keys) = (Vec::new(), Vec::new());
    for row in first_of_each(table, columns, &own)? {
        let row = row as usize;
        let cells = columns.iter().zip(&own);
        let start = keys.len();
        keys.extend(cells.map(|(column, index)| value_at(column, row, table.column_type(*index))));
        // A reference with a null is valid.
        match keys[start..].iter().any(|value| matches!(value, Value::Null)) {
            true => keys.truncate(start),
            false => rows.push(row),
        }
    }
    let dangling = first_dangling_key(reference, &keys, run)?;
    Ok(dangling.map(|(position, error)| (rows[position], error)))
}

/// The first dangling key, and the error for it. The keys are concatenated; none is null.
///
/// # Errors
/// Errors of the store.
pub(super) fn first_dangling_key(
    reference: &Reference,
    keys: &[Value],
    run: &Run<'_>,
) -> Result<Option<(usize, Error)>> {
    let Some(target) = run.changes.relation(&reference.table)? else { return Ok(None) };
    let missing = first_missing(run, &target, &target_key(&target, reference), keys)?;
    Ok(missing.map(|position| {
        let (name, target) = (&reference.name, &reference.table);
        let error = Error::conflict(format!(
            "a row references a missing row of table {target:?} and violates constraint {name:?}"
        ));
        let error = error.help(format!("insert the row of {target:?} first")).of_entities(
            format!("a link points to a `{target}` that does not exist"),
            "a link takes the id of an existing entity, or none",
        );
        (position, error)
    }))
}

/// The first key that no row of a table has. The keys are concatenated.
fn first_missing(
    run: &Run<'_>,
    target: &Relation,
    columns: &[usize],
    keys: &[Value],
) -> Result<Option<usize>> {
    /// Number of keys to look up at once.
    const MANY: usize = 1024;
    let width = columns.len().max(1);
    let is_primary = columns == target.schema.primary_key;
    if !is_primary || keys.len() <= FEW * width {
        for (position, key) in keys.chunks(width).enumerate() {
            let is_there = match is_primary {
                true => run.changes.get(target, &borrowed(key), &[], &mut Vec::new())?,
                false => find(run, target, columns, key)?.is_some(),
            };
            if !is_there {
                return Ok(Some(position));
            }
        }
        return Ok(None);
    }
    for (part, values) in keys.chunks(MANY * width).enumerate() {
        run.context().check()?;
        let wanted = Keys { index: None, width, values };
        let found = run.changes.look_up(target, wanted, &[])?.positions;
        let is_missing = |position: &usize| found.get(*position) != Some(&(*position as u32));
        if let Some(position) = (0..values.len() / width).find(is_missing) {
            return Ok(Some(part * MANY + position));
        }
    }
    Ok(None)
}

/// The first row of each distinct combination of values in some columns.
fn first_of_each(table: &Relation, arrays: &[ArrayRef], columns: &[usize]) -> Result<Vec<u32>> {
    let row_count = arrays.first().map_or(0, |array| array.len());
    if row_count <= 1 || arrays.iter().any(ascend) {
        return Ok((0..row_count as u32).collect());
    }
    let types: Vec<_> = columns.iter().map(|index| table.column_type(*index).clone()).collect();
    let mut first = Vec::new();
    KeyTable::new(&types)?.intern(arrays, row_count, &mut first)?;
    Ok(first)
}

/// Whether a column certainly has no duplicates: its UUIDs ascend, as ids in insertion order do.
fn ascend(column: &ArrayRef) -> bool {
    let uuids = column.as_fixed_size_binary_opt().filter(|uuids| uuids.null_count() == 0);
    uuids.is_some_and(|uuids| (1..uuids.len()).all(|row| uuids.value(row - 1) < uuids.value(row)))
}

fn positions(table: &Relation, names: &[String]) -> Vec<usize> {
    names.iter().filter_map(|name| table.column_index(name)).collect()
}

fn target_key(target: &Relation, reference: &Reference) -> Vec<usize> {
    match &reference.target[..] {
        [] => target.schema.primary_key.clone(),
        names => positions(target, names),
    }
}

/// The tables with references to this one, and the references.
fn referrers(table: &Relation, run: &Run<'_>) -> Result<Vec<(Arc<Relation>, Reference)>> {
    let mut found = Vec::new();
    for other in &*run.changes.referrers(table)? {
        let pointing = other.constraints.references.iter();
        let pointing =
            pointing.filter(|reference| reference.table.eq_ignore_ascii_case(&table.schema.name));
        found.extend(pointing.map(|reference| (Arc::clone(other), reference.clone())));
    }
    Ok(found)
}

/// The names of the other tables with references to this one.
///
/// # Errors
/// Errors of the store.
pub(super) fn pointing_tables(table: &Relation, run: &Run<'_>) -> Result<Vec<String>> {
    let all = referrers(table, run)?;
    let others = all.iter().map(|(other, _)| other.schema.name.clone());
    Ok(others.filter(|name| !name.eq_ignore_ascii_case(&table.schema.name)).collect())
}

/// Applies the actions of references to deleted rows, and to the rows deleted with them.
///
/// # Errors
/// `conflict` if a reference restricts.
pub(super) fn follow_deletion(table: &Relation, gone: &Batch, run: &Run<'_>) -> Result<()> {
    // A work list instead of recursion: chains of references can have any length.
    let mut waiting = Vec::new();
    follow(table, gone, run, &mut waiting)?;
    while let Some((table, gone)) = waiting.pop() {
        follow(&table, &gone, run, &mut waiting)?;
    }
    Ok(())
}

/// Deleted rows of a table.
type Gone = (Arc<Relation>, Batch);

fn follow(table: &Relation, gone: &Batch, run: &Run<'_>, waiting: &mut Vec<Gone>) -> Result<()> {
    if gone.row_count == 0 {
        return Ok(());
    }
    for (other, reference) in referrers(table, run)? {
        // Checked first, since collecting the deleted keys may be expensive.
        if run.changes.row_count(&other)? == Some(0) {
            continue;
        }
        let pointing = pointing_rows(&other, &reference, table, gone, run)?;
        if pointing.row_count == 0 {
            continue;
        }
        match reference.on_delete {
            OnDelete::Restrict => return Err(restricted(&other, &reference, table)),
            OnDelete::Cascade | OnDelete::CascadeOwner => {
                for row in 0..pointing.row_count {
                    run.changes.delete(&other, &borrowed(&key_of(&pointing, row, &other)))?;
                }
                if reference.on_delete == OnDelete::CascadeOwner {
                    waiting.extend(delete_owners(&other, &pointing, run)?);
                }
                waiting.push((other, pointing));
            }
            OnDelete::SetNull | OnDelete::SetDefault => {
                let own = positions(&other, &reference.columns);
                let is_default = reference.on_delete == OnDelete::SetDefault;
                let new = point_away(&other, &own, &pointing, is_default, run)?;
                follow_moved(&other, &own, &pointing, &new, run)?;
            }
        }
    }
    Ok(())
}

/// Deletes the rows that the first reference of some rows points at: the entities that own the
/// to-many links.
fn delete_owners(table: &Relation, rows: &Batch, run: &Run<'_>) -> Result<Option<Gone>> {
    let Some(reference) = table.constraints.references.first() else { return Ok(None) };
    let Some(owner) = run.changes.relation(&reference.table)? else { return Ok(None) };
    let (own, key) = (positions(table, &reference.columns), target_key(&owner, reference));
    let mut gone = Vec::new();
    for row in 0..rows.row_count {
        let values = values_in(rows, row, table, &own);
        // It may already be deleted by an earlier row.
        let Some((key, values)) = find(run, &owner, &key, &values)? else { continue };
        run.changes.delete(&owner, &borrowed(&key))?;
        gone.push(values);
    }
    let gone = batch_of(&gone, &owner)?;
    Ok(Some((owner, gone)))
}

/// The defaults of some columns.
fn defaults_of(table: &Relation, columns: &[usize], run: &Run<'_>) -> Result<Vec<Value>> {
    let mut binding = run.binding();
    let values = columns.iter().map(|column| constant(&binding.default_of(table, *column)?, run));
    values.collect()
}

/// Changes the referencing columns of rows to their defaults, or to null. Returns the new rows.
fn point_away(
    table: &Relation,
    columns: &[usize],
    pointing: &Batch,
    is_default: bool,
    run: &Run<'_>,
) -> Result<Batch> {
    let instead = match is_default {
        true => defaults_of(table, columns, run)?,
        false => vec![Value::Null; columns.len()],
    };
    let new = point_at(table, columns, pointing, &|_| instead.clone(), run)?;
    check_changed(table, columns, &new, run)?;
    Ok(new)
}

/// Changes the referencing columns of rows. Returns the new rows.
fn point_at(
    table: &Relation,
    columns: &[usize],
    pointing: &Batch,
    values: &dyn Fn(usize) -> Vec<Value>,
    run: &Run<'_>,
) -> Result<Batch> {
    let rules = run.binding().rules(table)?;
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(pointing.row_count);
    for row in 0..pointing.row_count {
        let mut changed_row = values_of(pointing, row, table);
        for (column, value) in columns.iter().zip(values(row)) {
            changed_row[*column] = value;
        }
        rows.push(changed_row);
    }
    super::compute(table, &rules, &mut rows, run)?;
    let batch = batch_of(&rows, table)?;
    super::check_rules(table, &rules, &batch, run)?;
    for (row, changed_row) in rows.iter().enumerate() {
        super::check_row(table, changed_row)?;
        let key = key_of(pointing, row, table);
        run.changes.update(table, &borrowed(&key), &borrowed(changed_row))?;
    }
    Ok(batch)
}

/// Changed rows of a table: before and after.
struct Moved {
    table: Arc<Relation>,
    changed: Vec<usize>,
    old: Batch,
    new: Batch,
}

/// Applies the actions of references to rows with changed keys, and to the rows changed with them.
/// Returns whether these include rows of the table itself.
///
/// # Errors
/// `conflict` if a reference restricts.
pub(super) fn follow_moved(
    table: &Relation,
    changed: &[usize],
    old: &Batch,
    new: &Batch,
    run: &Run<'_>,
) -> Result<bool> {
    // A work list, as for deletions.
    let mut waiting = Vec::new();
    follow_keys(table, changed, (old, new), run, &mut waiting)?;
    let mut is_own = false;
    while let Some(moved) = waiting.pop() {
        is_own |= moved.table.schema.name.eq_ignore_ascii_case(&table.schema.name);
        let Moved { table, changed, old, new } = moved;
        follow_keys(&table, &changed, (&old, &new), run, &mut waiting)?;
    }
    Ok(is_own)
}

fn follow_keys(
    table: &Relation,
    changed: &[usize],
    (old, new): (&Batch, &Batch),
    run: &Run<'_>,
    waiting: &mut Vec<Moved>,
) -> Result<()> {
    for (other, reference) in referrers(table, run)? {
        let key = target_key(table, &reference);
        if !key.iter().any(|index| changed.contains(index))
            || run.changes.row_count(&other)? == Some(0)
        {
            continue;
        }
        let key_in = |rows: &Batch, row: usize| values_in(rows, row, table, &key);
        let mut moved = Vec::new();
        for row in 0..old.row_count {
            let before = key_in(old, row);
            if before == key_in(new, row) {
                continue;
            }
            // A key may still exist because another row has it now.
            let restricts = reference.on_update == OnUpdate::Restrict;
            if !restricts || find(run, table, &key, &before)?.is_none() {
                moved.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        let moved = UInt32Array::from(moved);
        let (before, after) = (old.take(&moved)?, new.take(&moved)?);
        let pointing = pointing_rows(&other, &reference, table, &before, run)?;
        if pointing.row_count == 0 {
            continue;
        }
        let own = positions(&other, &reference.columns);
        let changed_rows = match reference.on_update {
            OnUpdate::Restrict => return Err(restricted(&other, &reference, table)),
            OnUpdate::SetNull => point_away(&other, &own, &pointing, false, run)?,
            OnUpdate::SetDefault => point_away(&other, &own, &pointing, true, run)?,
            OnUpdate::Cascade => {
                let types: Vec<_> = key.iter().map(|at| table.column_type(*at).clone()).collect();
                let (mut keys, mut first) = (KeyTable::new(&types)?, Vec::new());
                keys.intern(&columns_of(&before, &key), before.row_count, &mut first)?;
                let numbers = keys.find(&columns_of(&pointing, &own), pointing.row_count)?;
                let follow = |row: usize| {
                    let at = numbers[row].map_or(0, |number| first[number as usize]);
                    key_in(&after, at as usize)
                };
                point_at(&other, &own, &pointing, &follow, run)?
            }
        };
        waiting.push(Moved { table: other, changed: own, old: pointing, new: changed_rows });
    }
    Ok(())
}

fn restricted(other: &Relation, reference: &Reference, target: &Relation) -> Error {
    let (table, name, target) = (&other.schema.name, &reference.name, &target.schema.name);
    // The table of a to-many link is named like the link: `User.friends`.
    let columns = reference.columns.join(", ");
    let (owner, link) = table.split_once('.').unwrap_or((table, &columns));
    Error::conflict(format!(
        "rows of table {table:?} reference the row through constraint {name:?}"
    ))
    .help("delete them first, or declare ON DELETE CASCADE")
    .of_entities(
        format!("`{owner}.{link}` links to a `{target}` that would be deleted"),
        format!("delete the entities of `{owner}` first, or declare the link `on delete cascade`"),
    )
}

/// An index lookup of rows costs about as much as reading this many rows.
const ROWS_PER_LOOKUP: u64 = 8;

/// The scans that find the referencing rows of some targets: one for each target through the index
/// or key that begins with the referencing column, or one of all rows if that is cheaper.
fn requests(
    other: &Relation,
    own: &[usize],
    (targets, key, table): (&Batch, &[usize], &Relation),
    run: &Run<'_>,
) -> Result<Vec<ScanRequest>> {
    let request = ScanRequest::whole(other);
    let ([column], [target]) = (own, key) else { return Ok(vec![request]) };
    let begins = |index: &IndexInfo| index.columns.first() == Some(&(*column, false));
    let index = other.indexes.iter().position(begins);
    let is_key = other.schema.primary_key.first() == Some(column);
    let rows = run.changes.row_count(other)?.unwrap_or(u64::MAX);
    let is_dear = targets.row_count as u64 * ROWS_PER_LOOKUP > rows;
    if is_dear || (index.is_none() && !is_key) {
        return Ok(vec![request]);
    }
    let values = (0..targets.row_count)
        .map(|row| value_at(&targets.columns[*target], row, table.column_type(*target)))
        .filter(|value| !matches!(value, Value::Null));
    let bounded = values.map(|value| ScanRequest {
        index: if is_key { None } else { index },
        from: Bound::Included(vec![value.clone()]),
        to: Bound::Included(vec![value]),
        ..request.clone()
    });
    Ok(bounded.collect())
}

/// The rows of a table that reference any of these rows.
fn pointing_rows(
    other: &Relation,
    reference: &Reference,
    table: &Relation,
    targets: &Batch,
    run: &Run<'_>,
) -> Result<Batch> {
    let own = positions(other, &reference.columns);
    let key = target_key(table, reference);
    let key_types: Vec<_> = key.iter().map(|index| table.column_type(*index).clone()).collect();
    let mut keys = KeyTable::new(&key_types)?;
    keys.intern(&columns_of(targets, &key), targets.row_count, &mut Vec::new())?;
    let mut found = Vec::new();
    let mut requests = requests(other, &own, (targets, &key, table), run)?.into_iter();
    let mut rows: Option<Box<dyn RowStream>> = None;
    loop {
        let next = match &mut rows {
            Some(rows) => rows.next()?,
            None => None,
        };
        let Some(batch) = next else {
            let Some(request) = requests.next() else { break };
            rows = Some(run.changes.scan(other, &request)?);
            continue;
        };
        run.context().check()?;
        let columns = columns_of(&batch, &own);
        let numbers = keys.find(&columns, batch.row_count)?;
        let hits = numbers
            .into_iter()
            .zip(0u32..)
            .filter(|(number, row)| number.is_some() && !has_null(&columns, *row as usize));
        let hits: Vec<u32> = hits.map(|(_, row)| row).collect();
        if !hits.is_empty() {
            found.push(batch.take(&UInt32Array::from(hits))?);
        }
    }
    if found.is_empty() {
        let mut types = types_of(other);
        types.push(folio_types::ColumnType::Int64);
        return Ok(crate::execute::pairs::empty(&types));
    }
    Batch::concat(&found)
}
