//! Filters that spare whole files.
//!
//! `WHERE filename LIKE …` or `WHERE year = '2024'` on the folders of a path can be decided before a
//! file is opened. Comparisons of such a column with constants are taken from DuckDB; all others it
//! applies itself, to vectors, which is what it does best.

use super::scope::{call, get};
use super::value::HostValue;
use crate::bind::{Bound, Output, partitions};
use libduckdb_sys::v2 as duckdb;
use std::cmp::Ordering;
use std::ptr::null_mut;

type Kind = duckdb::DUCKDB_V2_EXPRESSION_TYPE;

/// Takes the filters that tell files apart, and says of which files no row can pass them.
///
/// # Safety
///
/// `info` is that of the call at hand.
pub(super) unsafe fn spare(
    info: duckdb::duckdb_v2_table_function_filter_pushdown_info_handle,
    bound: &Bound,
    spared: &mut Vec<bool>,
) -> Result<(), String> {
    spared.resize(bound.files.len(), false);
    // SAFETY: the caller's promise; indexes are below the count; filters live as long as the call.
    unsafe {
        let count = get(0, |out, error| {
            duckdb::duckdb_v2_table_function_filter_pushdown_get_filter_count(info, out, error)
        })?;
        for index in 0..count {
            let filter = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_get_filter(info, index, out, error)
            })?;
            let Some(condition) = Condition::of(info, filter, bound)? else { continue };
            for (path, spared) in bound.files.iter().zip(&mut *spared) {
                *spared |= !condition.holds(path);
            }
            call(|error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_accept(info, index, error)
            })?;
        }
    }
    Ok(())
}

/// A comparison of what a path says with constants.
struct Condition {
    column: Output,
    kind: Kind,
    constants: Vec<String>,
}

impl Condition {
    /// # Safety
    ///
    /// Both handles are those of the call at hand.
    unsafe fn of(
        info: duckdb::duckdb_v2_table_function_filter_pushdown_info_handle,
        filter: duckdb::duckdb_v2_expression_handle,
        bound: &Bound,
    ) -> Result<Option<Condition>, String> {
        // SAFETY: the caller's promise; indexes are below the count.
        unsafe {
            let kind = kind_of(filter)?;
            let count = get(0, |out, error| {
                duckdb::duckdb_v2_expression_get_child_count(filter, out, error)
            })?;
            let child = |index| {
                get(null_mut(), |out, error| {
                    duckdb::duckdb_v2_expression_get_child(filter, index, out, error)
                })
            };
            if !is_known(kind) || count < 2 {
                return Ok(None);
            }
            let children = (0..count).map(child).collect::<Result<Vec<_>, _>>()?;
            let (subject, others) = (children[0], &children[1..]);
            if kind_of(subject)? != Kind::DUCKDB_V2_EXPRESSION_TYPE_BOUND_COLUMN_REF {
                return Ok(None);
            }
            let place = get(0, |out, error| {
                duckdb::duckdb_v2_expression_column_ref_get_index(subject, out, error)
            })?;
            let declared = get(0, |out, error| {
                duckdb::duckdb_v2_table_function_filter_pushdown_get_column_index(
                    info, place, out, error,
                )
            })?;
            let column = bound.outputs.get(declared as usize).map(|(_, output)| output.clone());
            let Some(column @ (Output::Filename | Output::Partition(_))) = column else {
                return Ok(None);
            };
            let constants = others.iter().map(|other| constant(*other));
            let constants = constants.collect::<Result<Option<Vec<_>>, String>>()?;
            Ok(constants.map(|constants| Condition { column, kind, constants }))
        }
    }

    /// Whether it holds for the rows of the file at `path`.
    fn holds(&self, path: &str) -> bool {
        let found = match &self.column {
            Output::Partition(name) => {
                partitions(path).find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => Some(path),
        };
        // A comparison with NULL holds for no row.
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
unsafe fn kind_of(expression: duckdb::duckdb_v2_expression_handle) -> Result<Kind, String> {
    let none = Kind::DUCKDB_V2_EXPRESSION_TYPE_INVALID;
    // SAFETY: the caller's promise.
    get(none, |out, error| unsafe { duckdb::duckdb_v2_expression_get_type(expression, out, error) })
}

/// A constant text; nothing if it is something else, or NULL.
///
/// # Safety
///
/// As [`kind_of`].
unsafe fn constant(
    expression: duckdb::duckdb_v2_expression_handle,
) -> Result<Option<String>, String> {
    // SAFETY: the caller's promise; the value is ours to release.
    unsafe {
        if kind_of(expression)? != Kind::DUCKDB_V2_EXPRESSION_TYPE_VALUE_CONSTANT {
            return Ok(None);
        }
        let value = HostValue::take(|out, error| {
            duckdb::duckdb_v2_expression_constant_get_value(expression, out, error)
        })?;
        Ok(if value.is_text() { value.text() } else { None })
    }
}
