//! Reads the least and the greatest value of a column at the ends of a key or index that has them in
//! order: one entry each, instead of all rows.
//!
//! Each aggregate of a statement without groups becomes one over the first row of its own scan, and
//! the results are joined. A `count(*)` beside them counts by itself. Nothing changes if one of the
//! aggregates needs all rows anyway.

use folio_types::{ColumnType, Value};

use super::choose_path::to_ends;
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::aggregate::{Aggregate, AggregateFunction};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{JoinKind, Path};
use crate::source::RelationKind;

/// More aggregates than this share one pass over the rows.
const COUNT_MAX: usize = 8;

pub(super) fn apply(plan: &mut Plan) {
    plan.transform(&mut |part| {
        if let Some(changed) = at_ends(part) {
            *part = changed;
        }
    });
}

fn at_ends(plan: &Plan) -> Option<Plan> {
    let Plan::Aggregate { input, groups, aggregates, sets: None } = plan else { return None };
    let is_end = |aggregate: &Aggregate| {
        matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max)
    };
    if !groups.is_empty()
        || aggregates.len() > COUNT_MAX
        || !aggregates.iter().any(|(_, aggregate)| is_end(aggregate))
    {
        return None;
    }
    let one = |(column, aggregate): &(Column, Aggregate)| {
        let input = match is_end(aggregate) {
            true => end(input, aggregate)?,
            false => counted(input, aggregate)?,
        };
        let mut aggregate = aggregate.clone();
        if let (Plan::Limit { input, .. }, [argument]) = (&input, &mut aggregate.arguments[..])
            && let [column] = &input.columns()[..]
        {
            *argument = Expr::Column(column.clone());
        }
        let (groups, aggregates) = (Vec::new(), vec![(column.clone(), aggregate)]);
        Some(Plan::Aggregate { input: Box::new(input), groups, aggregates, sets: None })
    };
    let parts: Option<Vec<Plan>> = aggregates.iter().map(one).collect();
    parts?.into_iter().reduce(|left, right| Plan::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        terms: Vec::new(),
        lateral: false,
    })
}

/// The row with the least or the greatest value, with that column only.
fn end(input: &Plan, aggregate: &Aggregate) -> Option<Plan> {
    let [Expr::Column(argument)] = &aggregate.arguments[..] else { return None };
    let is_plain = aggregate.filter.is_none() && aggregate.order.is_empty();
    if !is_plain || !has_key_order(&argument.ty) {
        return None;
    }
    let (scan, id) = (scan_of(input)?, source_of(input, argument.id)?);
    let (position, column) = scan.columns.iter().find(|(_, own)| own.id == id)?.clone();
    let is_table = scan.relation.kind == RelationKind::Table;
    // Collections have no key order, only that of an index.
    let primary = is_table.then_some(None);
    let indexes = (0..scan.relation.indexes.len()).map(Some);
    let (index, path) = primary
        .into_iter()
        .chain(indexes)
        .find_map(|index| Some((index, to_ends(scan, index, position)?)))?;
    let is_descending = index.is_some_and(|index| {
        let columns = &scan.relation.indexes[index].columns;
        columns.contains(&(position, true))
    });
    let is_max = aggregate.function == AggregateFunction::Max;
    let scan = Scan { path, reverse: is_max != is_descending, is_in_order: true, ..scan.clone() };
    let input = Box::new(Plan::Scan(scan).only([column]));
    let limit = Some(Expr::literal(Value::Integer(1), ColumnType::Int64));
    Some(Plan::Limit { input, limit, offset: None, ties: Vec::new() })
}

/// The rows of a `count(*)`, if they are counted without being read.
fn counted(input: &Plan, aggregate: &Aggregate) -> Option<Plan> {
    let scan = scan_of(input)?;
    let is_known = scan.filters.is_empty() || matches!(scan.path, Path::Range { .. });
    (aggregate.is_plain_count() && is_known).then(|| Plan::Scan(scan.clone()))
}

/// Whether keys order values of a type as `min` and `max` do.
fn has_key_order(ty: &ColumnType) -> bool {
    !ty.is_nested() && !matches!(ty, ColumnType::Interval | ColumnType::Json)
}

/// The scan of a plan that has all its rows.
fn scan_of(plan: &Plan) -> Option<&Scan> {
    match plan {
        Plan::Project { input, .. } => scan_of(input),
        Plan::Scan(scan) => {
            let is_open = matches!(scan.path, Path::Full | Path::Range { .. });
            (is_open && scan.limit.is_none() && scan.row_number.is_none()).then_some(scan)
        }
        _ => None,
    }
}

/// The column of the scan below that a column of the plan is.
fn source_of(plan: &Plan, id: ColumnId) -> Option<ColumnId> {
    match plan {
        Plan::Project { input, outputs } => {
            let (_, output) = outputs.iter().find(|(column, _)| column.id == id)?;
            let Expr::Column(below) = output else { return None };
            source_of(input, below.id)
        }
        _ => Some(id),
    }
}
