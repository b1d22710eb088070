//! Functions that edit arrays, for REMOVE, REMOVEAT and POP. Positions count from 0 here, as in
//! ZiQL.

use crate::{Error, Result, order_keys};
use folio_types::{ColumnType, Value};

use super::Body::{Strict, Typed};
use super::Takes::{List, Same};
use super::{Overload, Returns, function};

pub(super) const OVERLOADS: &[Overload] = &[
    function("array_pop", &[List], Returns::As(0), Strict(pop)),
    function("array_remove_all", &[Same, Same], Returns::As(0), Typed(remove_all)),
    function("array_remove_at", &[List, List], Returns::As(0), Strict(remove_at)),
];

/// All but the last element.
fn pop(arguments: &[Value]) -> Result<Value> {
    let mut items = items(&arguments[0]).to_vec();
    items.pop();
    Ok(Value::List(items))
}

/// The elements that are not in another list.
fn remove_all(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let key = |index: usize| order_keys::of_value(&arguments[index], &types[index]);
    let (keys, removed) = (key(0), key(1));
    let all = items(&arguments[0]).iter().zip(items(&keys));
    let kept = all.filter(|(_, key)| !items(&removed).contains(key));
    Ok(Value::List(kept.map(|(item, _)| item.clone()).collect()))
}

/// The elements that are not at some positions.
fn remove_at(arguments: &[Value]) -> Result<Value> {
    let (items, positions) = (items(&arguments[0]), items(&arguments[1]));
    Ok(Value::List(without_positions(items, positions)?))
}

/// A list without the elements at some positions.
///
/// # Errors
/// `invalid_input` for a position that does not exist.
pub fn without_positions<T: Clone>(items: &[T], positions: &[Value]) -> Result<Vec<T>> {
    let mut is_kept = vec![true; items.len()];
    for position in positions {
        let Value::Integer(number) = position else { continue };
        let slot = usize::try_from(*number).ok().and_then(|at| is_kept.get_mut(at));
        let Some(slot) = slot else {
            let count = items.len();
            return Err(Error::invalid(format!("position {number} is not in an array of {count}"))
                .help("positions count from 0"));
        };
        *slot = false;
    }
    let kept = items.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    Ok(kept.map(|(item, _)| item.clone()).collect())
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}
