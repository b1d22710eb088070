//! INSERT.

use std::borrow::Cow;
use std::collections::HashMap;

use folio_compute::array::value_at;
use folio_compute::{BATCH_SIZE, Batch, Error, Result};
use folio_types::{ErrorCode, Value, borrowed};

use super::row::{batch_of, find, is_same, read_written, values_of};
use super::update::moves_keys;
use super::{
    Done, InsertPlan, Run, check_row, check_rules, check_value, goes_on_after, references, returned,
};
use crate::bound::OnConflict;
use crate::execute::aggregate::weight;
use crate::execute::build;
use crate::execute::values::projected;
use crate::expression::Expr;
use crate::expression::evaluate::{constant, constant_ref, evaluate, evaluate_array};
use crate::expression::implication::value_key;
use crate::plan::physical::Physical;
use crate::source::{Relation, RelationKind};

/// Inserts the rows of a plan.
///
/// # Errors
/// A constraint that would be broken, by name; errors of the input.
pub(crate) fn insert(plan: &InsertPlan, run: &Run<'_>) -> Result<Done> {
    let mut writer = Writer::new(plan, run);
    match &plan.input {
        // Rows of VALUES go directly from their expressions to the store.
        Physical::Values(values) if writer.is_plain() => {
            for row in &values.rows {
                writer.write_plain(row)?;
            }
        }
        Physical::Values(values) => {
            for row in &values.rows {
                let row = row.iter().map(|value| constant(value, run));
                writer.write(row.collect::<Result<_>>()?)?;
            }
        }
        input if reads_nothing_changing(input) => {
            let mut running = build(input, run.context())?;
            let located = |error| located(error, input, run);
            let mut next = || running.next(run.context()).map_err(located);
            while let Some(batch) = run.context().limits().over(&mut next)? {
                run.context().check()?;
                for row in 0..batch.row_count {
                    writer.write(values_of(&batch, row, &plan.table))?;
                }
            }
        }
        input => {
            let batch = super::gather(input, run)?;
            for row in 0..batch.row_count {
                writer.write(values_of(&batch, row, &plan.table))?;
            }
        }
    }
    writer.finish()
}

/// An error of the input, with the line of a file that it is about. Reads the file again.
fn located(error: Error, input: &Physical, run: &Run<'_>) -> Error {
    let Ok(Some((line, fault))) = faulty_line(input, run) else { return error };
    let text = format!("{}, at line {line} of the file", fault.message());
    let located = Error::new(fault.code(), text).at(fault.span());
    match fault.hint() {
        Some(help) => located.help(help),
        None => located,
    }
}

/// The line of the first row of a file for which an expression fails, and its error.
fn faulty_line(input: &Physical, run: &Run<'_>) -> Result<Option<(u64, Error)>> {
    let (mut projects, mut below) = (Vec::new(), input);
    while let Physical::Project(project) = below {
        projects.push(project);
        below = &project.input;
    }
    let Physical::Scan(scan) = below else { return Ok(None) };
    if scan.relation.kind != RelationKind::File {
        return Ok(None);
    }
    let fails = |rows: Batch| {
        let mut projects = projects.iter().rev();
        projects.try_fold(rows, |rows, project| projected(project, &rows, run.context())).err()
    };
    let (mut running, mut count) = (build(below, run.context())?, 0);
    while let Some(batch) = running.next(run.context())? {
        run.context().check()?;
        if fails(batch.clone()).is_some() {
            for row in 0..batch.row_count {
                if let Some(fault) = fails(batch.slice(row, 1)) {
                    let line =
                        run.context().source()?.line_of(&scan.relation, count + row as u64)?;
                    return Ok(line.map(|line| (line, fault)));
                }
            }
        }
        count += batch.row_count as u64;
    }
    Ok(None)
}

/// Inserts given rows.
///
/// # Errors
/// As [`insert`].
pub(super) fn insert_rows(plan: &InsertPlan, rows: &Batch, run: &Run<'_>) -> Result<Done> {
    let mut writer = Writer::new(plan, run);
    for row in 0..rows.row_count {
        writer.write(values_of(rows, row, &plan.table))?;
    }
    writer.finish()
}

/// Whether ON CONFLICT may change the key of an existing row.
fn may_move(plan: &InsertPlan) -> bool {
    let OnConflict::Update { values, .. } = &plan.on_conflict else { return false };
    let stays = |at: usize, value: &Expr| matches!(value, Expr::Column(column) if column.id.0 as usize == at);
    let set = values.iter().enumerate().filter(|(at, value)| !stays(*at, value));
    let computed = plan.rules.generated.iter().map(|(at, _)| *at);
    let changed: Vec<usize> = set.map(|(at, _)| at).chain(computed).collect();
    plan.table.kind == RelationKind::Table && moves_keys(&plan.table, &changed)
}

/// Whether the input reads no tables, so that writing cannot change it.
fn reads_nothing_changing(input: &Physical) -> bool {
    match input {
        Physical::OneRow | Physical::Values(_) | Physical::TableFunction(_) => true,
        Physical::Scan(scan) => scan.relation.kind != RelationKind::Table,
        Physical::Project(project) => reads_nothing_changing(&project.input),
        Physical::Filter(filter) => reads_nothing_changing(&filter.input),
        _ => false,
    }
}

/// The keys in which ON CONFLICT looks.
fn conflict_keys(plan: &InsertPlan) -> impl Iterator<Item = &[usize]> {
    let (keys, key) = match &plan.on_conflict {
        OnConflict::Nothing(keys) => (&keys[..], None),
        OnConflict::Update { key, .. } => (&[][..], Some(&key[..])),
        OnConflict::Fail => (&[][..], None),
    };
    keys.iter().map(|key| &key[..]).chain(key)
}

/// Bytes that are equal for equal values of a key; `None` if one is null.
fn key_bytes<'v>(
    table: &Relation,
    key: &[usize],
    values: impl Iterator<Item = &'v Value>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (index, value) in key.iter().zip(values) {
        bytes.extend(value_key(value, &table.schema.columns[*index].column_type)?);
    }
    Some(bytes)
}

struct Writer<'w, 'r> {
    plan: &'w InsertPlan,
    run: &'w Run<'r>,
    /// The rows written, if something needs them.
    written: Vec<Vec<Value>>,
    /// Rows changed by ON CONFLICT, before and after.
    moved: Vec<(Vec<Value>, Vec<Value>)>,
    /// The documents written, by number and values of a key that conflicts are looked for in:
    /// lookups by an index do not find them before the end of the statement.
    documents: HashMap<(usize, Vec<u8>), Vec<Value>>,
    /// For each identity column, the greatest number that rows gave, until its counter has passed it;
    /// 0 for none.
    given: Vec<i64>,
    /// The columns that RETURNING reads from the store, of members and of a whole document.
    missing: [Vec<usize>; 2],
    count: u64,
}

impl<'w, 'r> Writer<'w, 'r> {
    fn new(plan: &'w InsertPlan, run: &'w Run<'r>) -> Self {
        let (written, moved, documents) = (Vec::new(), Vec::new(), HashMap::new());
        let missing = plan.returning.as_ref().map(|returning| {
            [false, true].map(|is_whole| returning.missing(&plan.table, is_whole))
        });
        let missing = missing.unwrap_or_default();
        let given = vec![0; plan.numbered.len()];
        Self { plan, run, written, moved, documents, given, missing, count: 0 }
    }

    /// The next number of an identity column, for a row that gives none.
    fn number(&mut self, column: usize, value: &Value) -> Result<Option<Value>> {
        match value {
            Value::Integer(given)
                if goes_on_after(&self.plan.table, self.plan.numbered[column], *given) =>
            {
                self.given[column] = self.given[column].max(*given);
            }
            Value::Null => {
                self.pass_given(column)?;
                let (table, index) = (&self.plan.table, self.plan.numbered[column]);
                return self.run.changes.next_identity(table, index).map(|it| Some(it.into()));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Lets numbers go on after those that were given: otherwise each would meet one of those rows,
    /// and go back into the counter.
    fn pass_given(&mut self, column: usize) -> Result<()> {
        match std::mem::take(&mut self.given[column]) {
            0 => Ok(()),
            given => {
                let (table, index) = (&self.plan.table, self.plan.numbered[column]);
                self.run.changes.pass_identity(table, index, given)
            }
        }
    }

    /// Whether rows need no other check than that values fit their columns.
    fn is_plain(&self) -> bool {
        let plan = self.plan;
        plan.rules.is_empty()
            && plan.returning.is_none()
            && plan.table.constraints.references.is_empty()
            && matches!(plan.on_conflict, OnConflict::Fail)
    }

    /// Writes a row. Its texts and bytes are borrowed from the statement and its parameters.
    fn write_plain(&mut self, expressions: &[Expr]) -> Result<()> {
        let (table, run) = (&self.plan.table, self.run);
        let mut row = Vec::with_capacity(expressions.len());
        for expression in expressions {
            row.push(constant_ref(expression, run)?);
        }
        for (column, index) in self.plan.numbered.iter().enumerate() {
            if let Some(number) = self.number(column, &row[*index])? {
                row[*index] = Cow::Owned(number);
            }
        }
        let mut values = Vec::with_capacity(row.len());
        for (index, value) in row.iter().enumerate() {
            check_value(table, index, (**value).as_ref())?;
            values.push((**value).as_ref());
        }
        run.changes.insert(table, &values)?;
        self.count += 1;
        Ok(())
    }

    fn write(&mut self, mut row: Vec<Value>) -> Result<()> {
        let (plan, run) = (self.plan, self.run);
        for (column, index) in plan.numbered.iter().enumerate() {
            if let Some(number) = self.number(column, &row[*index])? {
                row[*index] = number;
            }
        }
        super::compute(&plan.table, &plan.rules, std::slice::from_mut(&mut row), run)?;
        check_row(&plan.table, &row)?;
        if !plan.rules.checks.is_empty() {
            check_rules(
                &plan.table,
                &plan.rules,
                &batch_of(std::slice::from_ref(&row), &plan.table)?,
                run,
            )?;
        }
        if !matches!(plan.on_conflict, OnConflict::Fail) {
            return self.write_or_resolve(row);
        }
        run.changes.insert(&plan.table, &borrowed(&row))?;
        let is_whole = self.is_whole(&row, None);
        self.keep(row, is_whole)
    }

    /// Whether a row has a whole document, other than the one that was there before.
    fn is_whole(&self, row: &[Value], before: Option<&[Value]>) -> bool {
        let [_, whole] = &self.missing;
        if whole.is_empty() {
            return false;
        }
        let Some(column) = self.plan.table.document_column() else { return false };
        row[column] != before.map_or(Value::Null, |before| before[column].clone())
    }

    fn keep(&mut self, mut row: Vec<Value>, is_whole: bool) -> Result<()> {
        self.count += 1;
        let missing = &self.missing[usize::from(is_whole)];
        read_written(&mut row, missing, &self.plan.table, self.run)?;
        if self.plan.returning.is_some() || !self.plan.table.constraints.references.is_empty() {
            self.written.push(row);
            if self.written.len().is_multiple_of(BATCH_SIZE) {
                let last = &self.written[self.written.len() - BATCH_SIZE..];
                let values: usize = last.iter().flatten().map(weight).sum();
                self.run.context().charge(values + size_of_val(last))?;
            }
        }
        Ok(())
    }

    /// Writes a row, or resolves a conflict as the statement says.
    fn write_or_resolve(&mut self, row: Vec<Value>) -> Result<()> {
        let (plan, run) = (self.plan, self.run);
        let (key, values, condition) = match &plan.on_conflict {
            OnConflict::Nothing(keys) => {
                for (number, key) in keys.iter().enumerate() {
                    if self.taken(number, key, &row)?.is_some() {
                        return Ok(());
                    }
                }
                return match run.changes.insert(&plan.table, &borrowed(&row)) {
                    Ok(()) => self.keep_resolved(row, None),
                    Err(error) if keys.is_empty() && error.code() == ErrorCode::Conflict => Ok(()),
                    Err(error) => Err(error),
                };
            }
            OnConflict::Update { key, values, condition } => (key, values, condition),
            OnConflict::Fail => return Ok(()),
        };
        let Some((store_key, old)) = self.taken(0, key, &row)? else {
            run.changes.insert(&plan.table, &borrowed(&row))?;
            return self.keep_resolved(row, None);
        };
        let both = batch_of(std::slice::from_ref(&old), &plan.table)?
            .beside(batch_of(&[row], &plan.table)?);
        if let Some(condition) = condition {
            let verdict = evaluate(condition, &both, run.context())?;
            let verdict = value_at(verdict.inner(), 0, &folio_types::ColumnType::Boolean);
            if verdict != Value::Boolean(true) {
                return Ok(());
            }
        }
        let updated = values.iter().map(|value| {
            Ok(value_at(&evaluate_array(value, &both, run.context())?, 0, &value.ty()))
        });
        let mut updated: Vec<Value> = updated.collect::<Result<_>>()?;
        super::compute(&plan.table, &plan.rules, std::slice::from_mut(&mut updated), run)?;
        check_row(&plan.table, &updated)?;
        let batch = batch_of(std::slice::from_ref(&updated), &plan.table)?;
        check_rules(&plan.table, &plan.rules, &batch, run)?;
        run.changes.update(&plan.table, &borrowed(&store_key), &borrowed(&updated))?;
        if old != updated && may_move(plan) {
            self.moved.push((old.clone(), updated.clone()));
        }
        self.keep_resolved(updated, Some(&old))
    }

    /// Keeps a row of a statement with ON CONFLICT, which may have replaced another.
    fn keep_resolved(&mut self, row: Vec<Value>, before: Option<&[Value]>) -> Result<()> {
        let plan = self.plan;
        let is_whole = self.is_whole(&row, before);
        if plan.table.kind == RelationKind::Collection {
            let own = plan.table.schema.primary_key.iter().map(|index| row[*index].clone());
            let own: Vec<Value> = own.collect();
            for (number, key) in conflict_keys(plan).enumerate() {
                let values = key.iter().map(|index| &row[*index]);
                if let Some(bytes) = key_bytes(&plan.table, key, values) {
                    self.run
                        .context()
                        .charge(bytes.len() + own.iter().map(weight).sum::<usize>())?;
                    self.documents.insert((number, bytes), own.clone());
                }
            }
        }
        self.keep(row, is_whole)
    }

    /// The row that has the values of a key, with its primary key.
    fn taken(
        &self,
        number: usize,
        key: &[usize],
        row: &[Value],
    ) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
        let (table, run) = (&self.plan.table, self.run);
        let values: Vec<Value> = key.iter().map(|index| row[*index].clone()).collect();
        let primary = &table.schema.primary_key;
        if table.kind != RelationKind::Collection || key == primary {
            return find(run, table, key, &values);
        }
        let written = key_bytes(table, key, values.iter())
            .and_then(|bytes| self.documents.get(&(number, bytes)).cloned());
        let stored = find(run, table, key, &values)?.map(|(id, _)| id);
        for id in written.into_iter().chain(stored) {
            // As it is now: the statement may have changed it.
            let Some((id, found)) = find(run, table, primary, &id)? else { continue };
            let is_it = key.iter().zip(&values).all(|(index, value)| {
                is_same(&found[*index], value, &table.schema.columns[*index].column_type)
            });
            if is_it {
                return Ok(Some((id, found)));
            }
        }
        Ok(None)
    }

    fn finish(mut self) -> Result<Done> {
        let (plan, run) = (self.plan, self.run);
        (0..plan.numbered.len()).try_for_each(|column| self.pass_given(column))?;
        let mut done = Done { count: self.count, returned: None };
        if !self.moved.is_empty() {
            let (old, new): (Vec<_>, Vec<_>) = self.moved.into_iter().unzip();
            let (old, new) = (batch_of(&old, &plan.table)?, batch_of(&new, &plan.table)?);
            let all: Vec<usize> = (0..plan.table.schema.columns.len()).collect();
            references::follow_moved(&plan.table, &all, &old, &new, run)?;
        }
        if plan.returning.is_none() && plan.table.constraints.references.is_empty() {
            return Ok(done);
        }
        let written = batch_of(&self.written, &plan.table)?;
        references::check_targets(&plan.table, &written, run)?;
        done.returned = returned(plan.returning.as_ref(), &written, &written, run)?;
        Ok(done)
    }
}
