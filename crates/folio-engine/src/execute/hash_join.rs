//! Hash joins: the right side is read into a hash table, and the left probes it batch by batch.
//!
//! Null equals nothing, unless the join says so. If the kind of join keeps them, rows of the right
//! without a partner come last.
//!
//! A left side that is expected to be small is read first, and the right then reads only rows with its
//! keys, as far as its source can tell ([`super::partners`]).
//!
//! If the right side needs more memory than an operator may hold, both sides are partitioned by
//! the hash of their keys into two files ([`super::hash_partition`]). The partitions are joined one
//! after the other, and partitioned again if necessary (Grace join, DeWitt and others, 1984). A
//! partition of one or few keys stays in memory whatever its size. So does the right side of NOT
//! IN, where every row depends on all others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, UInt32Array};
use folio_compute::keys::{KeySet, is_integer_key};
use folio_compute::{Batch, Result};

use super::hash_partition::{Partitioner, Partitions};
use super::pairs::lonely;
use super::partners::{Asked, build_asked, reads_columns};
use super::probe::{Probe, Probed, Table};
use super::spill::Spill;
use super::{Operator, Running};
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::evaluate_arrays;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::JoinKind;

pub(super) struct HashJoin {
    node: Arc<physical::KeyJoin>,
    /// `None` until the right is read, if that comes first.
    left: Option<Running>,
    /// `None` until the left is read, if that comes first.
    right: Option<Running>,
    /// Rows of the left that are read already.
    left_rows: VecDeque<Batch>,
    left_is_read: bool,
    left_held: Held,
    probe: Option<Probe>,
    /// Which rows of the right found a partner, if that matters.
    matched: Vec<bool>,
    /// Partitioned sides.
    divisions: Partitions<Sides>,
    /// The current batch of the left.
    current: Option<Probed>,
    is_done: bool,
}

/// Both sides, spilled.
struct Sides {
    left: Spill,
    right: Spill,
}

/// Maximum depth of partitioning. What is still together then has one key, or few.
const DIVISIONS_MAX: u32 = 6;

/// Hash tables that are the same in every run of a subquery, by join.
#[derive(Default)]
struct KeptTables {
    known: Mutex<HashMap<usize, Kept>>,
}

/// Holds the join too, so that no other join can have its address.
type Kept = (Arc<physical::KeyJoin>, Arc<Table>);

impl KeptTables {
    fn get(&self, node: &Arc<physical::KeyJoin>) -> Option<Arc<Table>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&Arc::as_ptr(node).addr()).map(|(_, table)| Arc::clone(table))
    }

    fn put(&self, node: &Arc<physical::KeyJoin>, table: &Arc<Table>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(Arc::as_ptr(node).addr(), (Arc::clone(node), Arc::clone(table)));
    }
}

impl HashJoin {
    pub(super) fn new(node: &Arc<physical::KeyJoin>, left: Running, right: Running) -> Self {
        Self::of_sides(node, Some(left), Some(right))
    }

    /// A join that reads its left before it builds its right.
    pub(super) fn after_left(node: &Arc<physical::KeyJoin>, left: Running) -> Self {
        Self::of_sides(node, Some(left), None)
    }

    /// A join that reads its right before it builds its left.
    pub(super) fn after_right(node: &Arc<physical::KeyJoin>, right: Running) -> Self {
        Self::of_sides(node, None, Some(right))
    }

    fn of_sides(
        node: &Arc<physical::KeyJoin>,
        left: Option<Running>,
        right: Option<Running>,
    ) -> Self {
        Self {
            node: Arc::clone(node),
            left,
            right,
            left_rows: VecDeque::new(),
            left_is_read: false,
            left_held: Held::default(),
            probe: None,
            matched: Vec::new(),
            divisions: Partitions::new(),
            current: None,
            is_done: false,
        }
    }

    /// Reads the left, and builds the right for its keys. A left that needs much memory is not read
    /// to its end, and the right is then read whole.
    fn build_right(&mut self, context: &Context) -> Result<Running> {
        let node = Arc::clone(&self.node);
        let (mut size, mut is_whole) = (0, true);
        let mut keys: Vec<Vec<ArrayRef>> = vec![Vec::new(); node.left_keys.len()];
        while let Some(batch) = self.poll_left(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            for (all, key) in
                keys.iter_mut().zip(evaluate_arrays(&node.left_keys, &batch, context)?)
            {
                all.push(key);
            }
            size += batch.size();
            self.left_held.charge(context.limits(), size)?;
            self.left_rows.push_back(batch);
            if context.is_full(4 * size) {
                is_whole = false;
                break;
            }
        }
        self.left_is_read = is_whole;
        let mut asked = Vec::new();
        for (keys, (left, right)) in keys.iter().zip(node.left_keys.iter().zip(&node.right_keys)) {
            let ty = right.ty();
            if let (true, Expr::Column(column)) = (is_whole && left.ty() == ty, right)
                && is_integer_key(&ty)
                && !node.null_equal
            {
                let keys: Vec<&dyn Array> = keys.iter().map(|keys| &**keys).collect();
                let keys = match keys.is_empty() {
                    true => arrow_array::new_empty_array(&ty.to_arrow()),
                    false => arrow_select::concat::concat(&keys)?,
                };
                let at = column.id.0 as usize;
                asked.extend(KeySet::new(&keys).map(|keys| Asked::keys(at, keys)));
            }
        }
        build_asked(&node.right, asked, context)
    }

    /// Reads the right side and returns a probe for it. If both sides were partitioned, returns the
    /// join itself.
    ///
    /// # Errors
    /// Errors of the sides.
    pub(super) fn into_probe(
        mut self,
        context: &Context,
    ) -> Result<std::result::Result<Probe, Self>> {
        let table = self.table(context)?;
        if self.divisions.depth() == 0
            && let Some(table) = table
        {
            return Ok(Ok(Probe::new(&self.node, table)));
        }
        self.probe = table.map(|table| Probe::new(&self.node, table));
        Ok(Err(self))
    }

    /// The hash table of the right side, cached from an earlier run of the subquery if possible.
    /// `None` if both sides were partitioned.
    fn table(&mut self, context: &Context) -> Result<Option<Arc<Table>>> {
        if !self.node.right_is_constant {
            return Ok(self.read_right(context)?.map(Arc::new));
        }
        if let Some(kept) = context.kept::<KeptTables>(0).get(&self.node) {
            return Ok(Some(kept));
        }
        let read = self.read_right(context)?.map(Arc::new);
        if let Some(table) = &read
            && self.divisions.depth() == 0
        {
            context.kept::<KeptTables>(0).put(&self.node, table);
        }
        Ok(read)
    }

    /// Reads the right side. Partitions both sides and returns `None` if it does not fit.
    fn read_right(&mut self, context: &Context) -> Result<Option<Table>> {
        let (mut batches, mut size, mut held) = (Vec::new(), 0, Held::default());
        while let Some(batch) = self.next_right(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            size += batch.size();
            held.charge(context.limits(), size)?;
            batches.push(batch);
            // Concatenating the rows copies them once more.
            if context.is_full(2 * size)
                && self.may_partition()
                && let Some(right) = Spill::new(&self.node.right_types, context)?
                && let Some(left) = Spill::new(&self.node.left_types, context)?
            {
                self.divide((batches, held), left, right, context)?;
                return Ok(None);
            }
        }
        Table::new(&self.node, &batches, held, context).map(Some)
    }

    fn may_partition(&self) -> bool {
        let node = &self.node;
        let has_room = self.divisions.depth() < DIVISIONS_MAX;
        has_room
            && !node.is_in_order
            && node.kind != JoinKind::NullAnti
            && !node.right_keys.is_empty()
    }

    /// Writes both sides, partitioned.
    fn divide(
        &mut self,
        (batches, held): (Vec<Batch>, Held),
        mut left: Spill,
        mut right: Spill,
        context: &Context,
    ) -> Result<()> {
        let node = Arc::clone(&self.node);
        let level = self.divisions.depth();
        let divider = Partitioner::new(&node.right_keys, level)?;
        for batch in batches {
            divider.write(&mut right, &batch, context)?;
        }
        drop(held);
        while let Some(batch) = self.next_right(context)? {
            context.check()?;
            divider.write(&mut right, &batch, context)?;
        }
        let divider = Partitioner::new(&node.left_keys, level)?;
        while let Some(batch) = self.next_of_left(context)? {
            context.check()?;
            divider.write(&mut left, &batch, context)?;
        }
        left.finish(context)?;
        right.finish(context)?;
        self.divisions.push(Sides { left, right });
        Ok(())
    }

    /// The next batch of the left, which is built for the keys of the right if those are in memory.
    fn poll_left(&mut self, context: &Context) -> Result<Option<Batch>> {
        let left = match self.left.take() {
            Some(left) => left,
            None => {
                let asked = match &self.probe {
                    Some(probe) if reads_columns(&self.node.left) => probe.asked(context)?,
                    _ => Vec::new(),
                };
                build_asked(&self.node.left, asked, context)?
            }
        };
        self.left.insert(left).next(context)
    }

    fn next_right(&mut self, context: &Context) -> Result<Option<Batch>> {
        if let Some((sides, part)) = self.divisions.current() {
            return sides.right.next(part);
        }
        let right = match self.right.take() {
            Some(right) => right,
            None => self.build_right(context)?,
        };
        self.right.insert(right).next(context)
    }

    fn next_of_left(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.divisions.current() {
            Some((sides, part)) => sides.left.next(part),
            None => match self.left_rows.pop_front() {
                Some(batch) => Ok(Some(batch)),
                None if self.left_is_read => Ok(None),
                None => self.poll_left(context),
            },
        }
    }

    /// Fetches the next batch of the left and the numbers of its keys.
    fn next_left(&mut self, context: &Context) -> Result<bool> {
        let Some(batch) = self.next_of_left(context)? else { return Ok(false) };
        let Some(probe) = &self.probe else { return Ok(false) };
        self.current = Some(probe.begin(batch, context)?);
        Ok(true)
    }

    /// The rows of the right without a partner.
    fn lonely_right(&self) -> Result<Option<Batch>> {
        let Some(Probe { table, .. }) = &self.probe else { return Ok(None) };
        let rows: Vec<u32> =
            (0..self.matched.len() as u32).filter(|row| !self.matched[*row as usize]).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let left = lonely(&self.node.left_types, rows.len());
        Ok(Some(left.beside(table.rows.take(&UInt32Array::from(rows))?)))
    }
}

/// Whether the kind of join keeps rows of the right without a partner.
pub(super) fn keeps_right(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Right | JoinKind::Full)
}

impl Operator for HashJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let node = Arc::clone(&self.node);
        while !self.is_done {
            context.check()?;
            if self.probe.is_none() {
                self.probe = self.table(context)?.map(|table| Probe::new(&node, table));
                let count = self.probe.as_ref().map_or(0, |probe| probe.table.rows.row_count);
                self.matched = vec![false; if keeps_right(node.kind) { count } else { 0 }];
                continue;
            }
            if self.current.is_none() && !self.next_left(context)? {
                let lonely = self.lonely_right()?;
                self.probe = None;
                self.is_done = !self.divisions.next_part();
                match lonely {
                    None => continue,
                    lonely => return Ok(lonely),
                }
            }
            let (Some(probe), Some(current)) = (&self.probe, &mut self.current) else { break };
            let answer = probe.next(current, &mut self.matched, context)?;
            if current.is_done() {
                self.current = None;
            }
            if answer.row_count > 0 {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}
