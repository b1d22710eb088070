//! Filters that skip whole files, or select documents by id.
//!
//! `WHERE filename LIKE …` or `WHERE year = '2024'` on the folders of a path is decided before a
//! file is opened, and `WHERE _id = 'ada'` on a collection before a document is read. This module
//! records comparisons of such a column with constants. DuckDB applies all filters too. If it did
//! not, it would treat two scans of one call as equal, whatever their filters: it compares plans by
//! their printed form, which does not contain accepted filters.

use super::scope::get;
use super::value::HostValue;
use crate::bind::{Bound, Output, partitions};
use crate::origin::Origin;
use crate::pushed::Pushed;
use crate::relation::Relation;
use folio_ion::shred::{Layout, Type};
use libduckdb_sys::v2 as duckdb;
use std::cmp::Ordering;
use std::ptr::null_mut;

type Kind = duckdb::DUCKDB_V2_EXPRESSION_TYPE;
type Info = duckdb::duckdb_v2_table_function_filter_pushdown_info_handle;
type Expression = duckdb::duckdb_v2_expression_handle;

/// The rows left by filters that select files, documents or keys.
///
/// # Safety
///
/// `info` is that of the call at hand.
pub(super) unsafe fn left_by_filters(info: Info, relation: &Relation) -> Result<Pushed, String> {
    let mut pushed = Pushed::default();
    // SAFETY: the caller's promise; indexes are below the count; filters live as long as the call.
    unsafe {
        let count = get(0, |out, error| {
            duckdb::duckdb_v2_table_function_filter_pushdown_get_filter_count(info, out, error)
        })?;
        for index in 0..count {
            let filter = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_get_filter(info, index, out, error)
            })?;
            if let Relation::Values(bound) = relation
                && let Origin::Files(_) = bound.origin
            {
                if let Some(condition) = Condition::of(info, filter)? {
                    spare(&condition, bound, &mut pushed.spared);
                }
            } else if let Some(ids) = ids(info, filter, relation)? {
                pushed.keep(&ids);
            }
        }
    }
    Ok(pushed)
}

/// Records the files without a row that satisfies a condition, if it is on their paths.
fn spare(condition: &Condition, bound: &Bound, spared: &mut Vec<bool>) {
    let column = bound.outputs.get(condition.column).map(|(_, output)| output);
    let Some(column @ (Output::Filename | Output::Partition(_))) = column else { return };
    spared.resize(bound.files.len(), false);
    for (path, spared) in bound.files.iter().zip(spared) {
        *spared |= !condition.holds(column, path);
    }
}

/// The ids that a filter leaves; `None` if it is not about ids.
///
/// # Safety
///
/// Both handles are those of the call at hand.
unsafe fn ids(
    info: Info,
    filter: Expression,
    relation: &Relation,
) -> Result<Option<Vec<String>>, String> {
    // SAFETY: the caller's promise.
    unsafe {
        if kind_of(filter)? == Kind::DUCKDB_V2_EXPRESSION_TYPE_CONJUNCTION_OR {
            let mut all = Vec::new();
            for side in children(filter)? {
                match ids(info, side, relation)? {
                    Some(ids) => all.extend(ids),
                    None => return Ok(None),
                }
            }
            return Ok(Some(all));
        }
        let condition = Condition::of(info, filter)?;
        Ok(condition
            .filter(|condition| is_equality(condition.kind))
            .and_then(|condition| is_id(relation, condition.column).then_some(condition.constants)))
    }
}

/// Whether the result column at this position has the documents' ids, or the rows' keys.
fn is_id(relation: &Relation, place: usize) -> bool {
    let bound = match relation {
        Relation::Values(bound) => bound,
        Relation::Table(bound) => return bound.key() == Some(place),
    };
    let column = bound.outputs.get(place).map(|(_, output)| output);
    let (Some(Output::Column(index)), Layout::Records(fields)) = (column, &bound.layout) else {
        return false;
    };
    fields[*index].name == "_id" && fields[*index].field_type == Type::String
}

/// A comparison of a column with constant texts or integers.
struct Condition {
    /// The position of the result column.
    column: usize,
    kind: Kind,
    constants: Vec<String>,
}

impl Condition {
    /// # Safety
    ///
    /// Both handles are those of the call at hand.
    unsafe fn of(info: Info, filter: Expression) -> Result<Option<Condition>, String> {
        // SAFETY: the caller's promise; indexes are below the count.
        unsafe {
            let kind = kind_of(filter)?;
            if !is_known(kind) {
                return Ok(None);
            }
            let children = children(filter)?;
            let Some((subject, others)) = children.split_first() else { return Ok(None) };
            if kind_of(*subject)? != Kind::DUCKDB_V2_EXPRESSION_TYPE_BOUND_COLUMN_REF {
                return Ok(None);
            }
            let place = get(0, |out, error| {
                duckdb::duckdb_v2_expression_column_ref_get_index(*subject, out, error)
            })?;
            let column = get(0, |out, error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_get_column_index(
                    info, place, out, error,
                )
            })? as usize;
            let constants = others.iter().map(|other| constant(*other));
            let constants = constants.collect::<Result<Option<Vec<_>>, String>>()?;
            let constants = constants.filter(|constants| !constants.is_empty());
            Ok(constants.map(|constants| Condition { column, kind, constants }))
        }
    }

    /// Whether it is true for the rows of the file at `path`, from which `column` is derived.
    fn holds(&self, column: &Output, path: &str) -> bool {
        let found = match column {
            Output::Partition(name) => {
                partitions(path).find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => Some(path),
        };
        // A comparison with NULL is true for no row.
        let Some(found) = found else { return false };
        let orders = || self.constants.iter().map(|constant| found.cmp(constant.as_str()));
        match self.kind {
            Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_NOTEQUAL => orders().all(Ordering::is_ne),
            Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_LESSTHAN => orders().all(Ordering::is_lt),
            Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_GREATERTHAN => orders().all(Ordering::is_gt),
            Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_LESSTHANOREQUALTO => {
                orders().all(Ordering::is_le)
            }
            Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_GREATERTHANOREQUALTO => {
                orders().all(Ordering::is_ge)
            }
            _ => orders().any(Ordering::is_eq),
        }
    }
}

fn is_equality(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_EQUAL | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_IN
    )
}

fn is_known(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_EQUAL
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_NOTEQUAL
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_LESSTHAN
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_GREATERTHAN
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_LESSTHANOREQUALTO
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_GREATERTHANOREQUALTO
            | Kind::DUCKDB_V2_EXPRESSION_TYPE_COMPARE_IN
    )
}

/// # Safety
///
/// `expression` is that of the call at hand.
unsafe fn children(expression: Expression) -> Result<Vec<Expression>, String> {
    // SAFETY: the caller's promise; indexes are below the count.
    unsafe {
        let count = get(0, |out, error| {
            duckdb::duckdb_v2_expression_get_child_count(expression, out, error)
        })?;
        let child = |index| {
            get(null_mut(), |out, error| {
                duckdb::duckdb_v2_expression_get_child(expression, index, out, error)
            })
        };
        (0..count).map(child).collect()
    }
}

/// # Safety
///
/// `expression` is that of the call at hand.
unsafe fn kind_of(expression: Expression) -> Result<Kind, String> {
    let none = Kind::DUCKDB_V2_EXPRESSION_TYPE_INVALID;
    // SAFETY: the caller's promise.
    get(none, |out, error| unsafe { duckdb::duckdb_v2_expression_get_type(expression, out, error) })
}

/// A constant text or integer, as text; `None` for other constants and NULL.
///
/// # Safety
///
/// As [`kind_of`].
unsafe fn constant(expression: Expression) -> Result<Option<String>, String> {
    // SAFETY: the caller's promise; the value is ours to release.
    unsafe {
        if kind_of(expression)? != Kind::DUCKDB_V2_EXPRESSION_TYPE_VALUE_CONSTANT {
            return Ok(None);
        }
        let value = HostValue::take(|out, error| {
            duckdb::duckdb_v2_expression_constant_get_value(expression, out, error)
        })?;
        Ok(if value.is_text() || value.is_integer() { value.text() } else { None })
    }
}
