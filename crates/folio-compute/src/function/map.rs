//! Maps: objects whose keys are data. The entries of a value are in the order of the bytes of their
//! keys, so a key is found by bisection.

use std::sync::Arc;

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, MapArray, StructArray, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::Body::Whole;
use super::Takes::{Map, Text};
use super::{Call, Overload, Returns, function};

pub(super) const OVERLOADS: &[Overload] = &[
    function("map_get", &[Map, Text], Returns::ValueOf(0), Whole(get)),
    function("map_keys", &[Map], Returns::TextList, Whole(|call| listed(call, |map| map.keys()))),
    function(
        "map_values",
        &[Map],
        Returns::ValuesOf(0),
        Whole(|call| listed(call, |map| map.values())),
    ),
    function("map_entries", &[Map], Returns::EntriesOf(0), Whole(entries)),
    function("cardinality", &[Map], Returns::Integer, Whole(cardinality)),
    function("len", &[Map], Returns::Integer, Whole(cardinality)),
];

/// The place of the value of a key in one row, among the values of all rows.
fn place(map: &MapArray, row: usize, key: &str) -> Option<u32> {
    if map.is_null(row) {
        return None;
    }
    let keys = map.keys().as_string::<i32>();
    let (mut from, end) =
        (map.value_offsets()[row] as usize, map.value_offsets()[row + 1] as usize);
    let mut to = end;
    while from < to {
        let middle = from + (to - from) / 2;
        match keys.value(middle) < key {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    (from < end && keys.value(from) == key).then_some(from as u32)
}

fn get(call: &Call<'_>) -> Result<ArrayRef> {
    let (map, wanted) = (call.arrays[0].as_map(), call.arrays[1].as_string::<i32>());
    let place = |row| wanted.is_valid(row).then(|| place(map, row, wanted.value(row))).flatten();
    let places: UInt32Array = (0..call.count).map(place).collect();
    Ok(take(map.values(), &places, None)?)
}

/// A list of one part of the entries for each map.
fn listed(call: &Call<'_>, part: fn(&MapArray) -> &ArrayRef) -> Result<ArrayRef> {
    let map = call.arrays[0].as_map();
    list(call, map, ArrayRef::clone(part(map)))
}

fn entries(call: &Call<'_>) -> Result<ArrayRef> {
    let map = call.arrays[0].as_map();
    let DataType::List(item) = call.returns.to_arrow() else { return Err(no_list()) };
    let DataType::Struct(fields) = item.data_type() else { return Err(no_list()) };
    let columns = vec![ArrayRef::clone(map.keys()), ArrayRef::clone(map.values())];
    list(call, map, Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

fn list(call: &Call<'_>, map: &MapArray, items: ArrayRef) -> Result<ArrayRef> {
    let DataType::List(item) = call.returns.to_arrow() else { return Err(no_list()) };
    let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(item, offsets, items, nulls)?))
}

fn no_list() -> Error {
    Error::unsupported("the parts of a map are a list")
}

fn cardinality(call: &Call<'_>) -> Result<ArrayRef> {
    let map = call.arrays[0].as_map();
    let counts = map.value_offsets().windows(2).map(|pair| i64::from(pair[1] - pair[0]));
    Ok(Arc::new(Int64Array::new(counts.collect(), map.nulls().cloned())))
}
