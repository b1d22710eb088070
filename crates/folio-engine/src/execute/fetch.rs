//! Joins rows with the rows that their key finds in a relation.
//!
//! The distinct keys of a batch are looked up together, in the primary key or an index, so the
//! cost depends on the rows found and not on the size of the relation. Once lookups have cost more
//! than reading the whole relation, it is read once into a hash table and cached for the rest of
//! the statement.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, UInt32Array};
use folio_compute::array::value_at;
use folio_compute::keys::{KeyTable, Numbered, has_null, number_keys};
use folio_compute::{Batch, Result};
use folio_types::{ColumnType, Value};

use super::pairs::empty;
use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
use crate::limits::Held;
use crate::plan::follow::PhysicalFetch;
use crate::source::{Bound, Found, Keys, RelationKind, ScanRequest};

/// A lookup costs about as much as reading this many rows.
const ROWS_PER_LOOKUP: u64 = 8;

/// The state that all operators of a fetch share.
#[derive(Default)]
struct Fetched {
    looked_up: u64,
    whole: Option<Arc<Whole>>,
}

/// A relation by key.
struct Whole {
    keys: KeyTable,
    rows: Batch,
    /// The first row of each key, and for each row the next one with its key.
    first: Vec<u32>,
    next: Vec<u32>,
    _held: Held,
}

const END: u32 = u32::MAX;

pub(super) struct Fetch {
    node: Arc<PhysicalFetch>,
    input: Running,
    /// The shared state of all operators of the node.
    fetched: Option<Arc<Mutex<Fetched>>>,
}

impl Fetch {
    pub(super) fn new(node: &Arc<PhysicalFetch>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, fetched: None }
    }

    /// The whole relation, if it has been read.
    fn known(&self, fetched: &Mutex<Fetched>) -> Option<Arc<Whole>> {
        fetched.lock().unwrap_or_else(PoisonError::into_inner).whole.clone()
    }

    /// Reads the whole relation once that is cheaper than lookups.
    fn whole(
        &self,
        keys: u64,
        fetched: &Mutex<Fetched>,
        context: &Context,
    ) -> Result<Option<Arc<Whole>>> {
        let node = &self.node;
        let lock = || fetched.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut fetched = lock();
            fetched.looked_up += keys;
            // A few lookups are always cheaper.
            let cost = fetched.looked_up.saturating_sub(64) * ROWS_PER_LOOKUP;
            let rows = context.source()?.row_count(&node.relation)?.unwrap_or(u64::MAX);
            if node.has_path() && cost <= rows {
                return Ok(None);
            }
        }
        let whole = Arc::new(read_whole(node, context)?);
        lock().whole = Some(Arc::clone(&whole));
        Ok(Some(whole))
    }

    /// The rows that keys find, from the cached relation or by lookup.
    fn find(
        &self,
        key: &ArrayRef,
        row_count: usize,
        fetched: &Mutex<Fetched>,
        context: &Context,
    ) -> Result<Matches> {
        if let Some(whole) = self.known(fetched) {
            return whole.find(key, row_count);
        }
        let (node, ty) = (&self.node, self.node.key.ty());
        let Numbered { numbers, first_rows, ascends } = number_keys(&ty, key, row_count)?;
        // Sorted keys are found by walking from leaf to leaf.
        let is_walk = ascends && node.index.is_none() && node.relation.kind == RelationKind::Table;
        let cost = if is_walk { 0 } else { first_rows.len() as u64 };
        if let Some(whole) = self.whole(cost, fetched, context)? {
            return whole.find(key, row_count);
        }
        let mut keyed_rows = first_rows;
        if key.null_count() > 0 {
            keyed_rows.retain(|row| !key.is_null(*row as usize));
        }
        let keys: Vec<Value> =
            keyed_rows.iter().map(|row| value_at(key, *row as usize, &ty)).collect();
        let found = self.look_up(&keys, context)?;
        if keys.len() == row_count {
            // Every row has its own key, in ascending order.
            return Ok(Matches { left: found.positions, rows: found.rows });
        }
        spread(&numbers, &keyed_rows, &found)
    }

    fn types(&self) -> Vec<ColumnType> {
        let node = &self.node;
        node.columns.iter().map(|column| node.relation.column_type(*column).clone()).collect()
    }

    /// The rows of single keys.
    fn look_up(&self, keys: &[Value], context: &Context) -> Result<Found> {
        let node = &self.node;
        let is_whole_key = node.index.is_none() && node.relation.schema.primary_key.len() == 1;
        if node.relation.kind == RelationKind::Table || is_whole_key || node.index.is_some() {
            let wanted = Keys { index: node.index, width: 1, values: keys };
            return context.source()?.look_up(&node.relation, wanted, &node.columns);
        }
        self.scan_each(keys, context)
    }

    /// The same, with one scan after the other.
    fn scan_each(&self, keys: &[Value], context: &Context) -> Result<Found> {
        let node = &self.node;
        let (mut batches, mut positions) = (Vec::new(), Vec::new());
        for (position, key) in (0u32..).zip(keys) {
            let bound = Bound::Included(vec![key.clone()]);
            let request = ScanRequest {
                columns: node.columns.clone(),
                index: node.index,
                from: bound.clone(),
                to: bound,
                ..ScanRequest::default()
            };
            let mut rows = context.source()?.scan(&node.relation, &request)?;
            while let Some(batch) = rows.next()? {
                positions.extend(std::iter::repeat_n(position, batch.row_count));
                batches.push(batch);
            }
        }
        let rows = match batches.is_empty() {
            true => empty(&self.types()),
            false => Batch::concat(&batches)?,
        };
        Ok(Found { rows, positions })
    }
}

/// Repeats what was found for distinct keys for every row that has the key. `keyed_rows` are the
/// first rows of the keys, `numbers` has the key of every row.
fn spread(numbers: &[u32], keyed_rows: &[u32], found: &Found) -> Result<Matches> {
    let key_count = numbers.iter().max().map_or(0, |number| *number as usize + 1);
    let (mut slots, mut ends) = (vec![END; key_count], vec![0; keyed_rows.len() + 1]);
    for (slot, row) in keyed_rows.iter().enumerate() {
        slots[numbers[*row as usize] as usize] = slot as u32;
    }
    found.positions.iter().for_each(|position| ends[*position as usize + 1] += 1);
    for slot in 1..ends.len() {
        ends[slot] += ends[slot - 1];
    }
    let (mut left, mut right) =
        (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
    for (row, number) in numbers.iter().enumerate() {
        let slot = slots[*number as usize] as usize;
        if slot == END as usize {
            continue;
        }
        for position in ends[slot]..ends[slot + 1] {
            left.push(row as u32);
            right.push(position);
        }
    }
    Ok(Matches { left, rows: found.rows.take(&UInt32Array::from(right))? })
}

/// Reads the whole relation, with its rows chained by key.
fn read_whole(node: &PhysicalFetch, context: &Context) -> Result<Whole> {
    let mut columns = node.columns.clone();
    columns.push(node.column);
    let request = ScanRequest { columns, ..ScanRequest::default() };
    let mut stream = context.source()?.scan(&node.relation, &request)?;
    let (mut batches, mut held) = (Vec::new(), Held::default());
    while let Some(batch) = stream.next()? {
        context.check()?;
        held.charge(context.limits(), held.size() + batch.size())?;
        batches.push(batch);
    }
    let key_type = node.relation.column_type(node.column).clone();
    let mut rows = match batches.is_empty() {
        true => {
            let types =
                node.columns.iter().map(|column| node.relation.column_type(*column).clone());
            empty(&types.chain([key_type.clone()]).collect::<Vec<_>>())
        }
        false => Batch::concat(&batches)?,
    };
    let key: Vec<ArrayRef> = rows.columns.pop().into_iter().collect();
    let mut keys = KeyTable::new(&[key_type])?;
    let numbers = keys.intern(&key, rows.row_count, &mut Vec::new())?;
    let (mut first, mut next) = (vec![END; keys.len()], vec![END; rows.row_count]);
    let links = (first.len() + next.len()) * size_of::<u32>();
    held.charge(context.limits(), rows.size() + keys.size() + links)?;
    // Backwards, so that each chain ascends.
    for row in (0..rows.row_count).rev().filter(|row| !has_null(&key, *row)) {
        next[row] = std::mem::replace(&mut first[numbers[row] as usize], row as u32);
    }
    Ok(Whole { keys, rows, first, next, _held: held })
}

impl Whole {
    /// The rows that keys find.
    fn find(&self, key: &ArrayRef, row_count: usize) -> Result<Matches> {
        let key_columns = [ArrayRef::clone(key)];
        let chains = self.keys.find(&key_columns, row_count)?;
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (row, chain) in chains.into_iter().enumerate() {
            let mut next = match chain {
                Some(number) if !has_null(&key_columns, row) => self.first[number as usize],
                _ => END,
            };
            while next != END {
                left.push(row as u32);
                right.push(next);
                next = self.next[next as usize];
            }
        }
        Ok(Matches { left, rows: self.rows.take(&UInt32Array::from(right))? })
    }
}

/// Rows of the relation, and the input row of each.
struct Matches {
    left: Vec<u32>,
    rows: Batch,
}

impl Operator for Fetch {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let number = self.node.number;
        let fetched = self.fetched.get_or_insert_with(|| context.kept(number));
        let fetched = Arc::clone(fetched);
        while let Some(left) = self.input.next(context)? {
            context.check()?;
            let key = evaluate_array(&self.node.key, &left, context)?;
            let found = self.find(&key, left.row_count, &fetched, context)?;
            if found.rows.row_count > 0 {
                return Ok(Some(left.take(&UInt32Array::from(found.left))?.beside(found.rows)));
            }
        }
        Ok(None)
    }
}
