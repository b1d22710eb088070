//! Merge joins: both inputs come in the order of the keys, are read once, and are not stored.
//!
//! The right side is seen through a *window*: rows that include all rows of every key from its
//! first to its last. Rows of the left are joined up to the last key of the window, then the window
//! moves on. Rows of the last key of a batch may continue in the next batch, so they move to the
//! next window. A window has about one batch of rows, unless one key has more: all rows of one key
//! are in memory together.
//!
//! The result has the order of the left. Null equals nothing. If the kind of join keeps rows of
//! the right without a partner, they are returned when the window leaves them, so RIGHT and FULL
//! joins have no order.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::ord::make_comparator;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::SortOptions;
use folio_compute::compare::canonical;
use folio_compute::keys::{Integers, is_integer_key};
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::pairs::{Pairs, empty, lonely};
use super::{Operator, Running};
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate_arrays, types};
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::JoinKind;

pub(super) struct MergeJoin {
    node: Arc<physical::KeyJoin>,
    left: Running,
    right: Windows,
    encoder: Encoder,
    /// The current batch of the left, and how many of its rows are done.
    current: Option<(Keyed, usize)>,
    /// Whether the left may have more.
    has_left: bool,
    window: Option<Window>,
    /// Rows to return first.
    ready: VecDeque<Batch>,
    is_done: bool,
}

/// Rows with their keys.
struct Keyed {
    rows: Batch,
    keys: Keys,
    /// Which rows have no null in their key; `None` if no row has.
    valid: Option<NullBuffer>,
}

/// Keys in a form that ascends from row to row.
enum Keys {
    Integers(Vec<i64>),
    Bytes(Rows),
}

/// The current rows of the right.
struct Window {
    rows: Batch,
    keys: Keys,
    /// The first row whose key is not before that of the current left row.
    at: usize,
    /// Which rows found a partner, if that matters.
    matched: Vec<bool>,
}

impl MergeJoin {
    pub(super) fn new(
        node: &Arc<physical::KeyJoin>,
        left: Running,
        right: Running,
    ) -> Result<Self> {
        let keeps_right = matches!(node.kind, JoinKind::Right | JoinKind::Full);
        let right = Windows {
            input: right,
            next: None,
            nulls: Vec::new(),
            keeps_right,
            is_ended: false,
            held: Held::default(),
        };
        let encoder = Encoder::new(node)?;
        let (node, ready) = (Arc::clone(node), VecDeque::new());
        let (current, window) = (None, None);
        let (has_left, is_done) = (true, false);
        Ok(Self { node, left, right, encoder, current, has_left, window, ready, is_done })
    }

    /// Joins some rows of the left, or moves the window.
    fn step(&mut self, context: &Context) -> Result<()> {
        let node = Arc::clone(&self.node);
        if self.window.is_none() {
            self.window = self.right.next(&node, &self.encoder, context)?;
            self.ready.extend(self.right.nulls.drain(..).map(|rows| lonely_right(&node, rows)));
        }
        if self.current.is_none() {
            self.current = self.next_left(context)?;
        }
        let wants_left = matches!(node.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti);
        match (&mut self.current, &mut self.window) {
            (None, Some(_)) if self.right.keeps_right => self.leave_window()?,
            (Some(_), None) if !wants_left => self.is_done = true,
            (None, _) => self.is_done = true,
            (Some((left, done)), None) => {
                let rest = left.rows.slice(*done, left.rows.row_count - *done);
                self.current = None;
                self.answer(&rest, Pairs::default(), context)?;
            }
            (Some((left, done)), Some(window)) => {
                let start = *done;
                let pairs = window.pairs(left, done, finds_one(&node));
                let part = left.rows.slice(start, *done - start);
                let is_after = *done < left.rows.row_count && pairs.left.is_empty();
                if *done == left.rows.row_count {
                    self.current = None;
                }
                if part.row_count > 0 {
                    self.answer(&part, pairs, context)?;
                }
                if is_after {
                    self.leave_window()?;
                }
            }
        }
        Ok(())
    }

    fn next_left(&mut self, context: &Context) -> Result<Option<(Keyed, usize)>> {
        while self.has_left {
            let Some(rows) = self.left.next(context)? else {
                self.has_left = false;
                break;
            };
            context.check()?;
            if rows.row_count > 0 {
                let keys = evaluate_arrays(&self.node.left_keys, &rows, context)?;
                return Ok(Some((self.encoder.keyed(rows, &keys)?, 0)));
            }
        }
        Ok(None)
    }

    /// Queues rows of the left with their pairs.
    fn answer(&mut self, left: &Batch, pairs: Pairs, context: &Context) -> Result<()> {
        let node = Arc::clone(&self.node);
        let nothing = empty(&node.right_types);
        let right = self.window.as_ref().map_or(&nothing, |window| &window.rows);
        let pairs = pairs.filtered(left, right, &node.residual, context)?;
        let right = right.clone();
        if let Some(window) = &mut self.window
            && !window.matched.is_empty()
        {
            pairs.right.iter().for_each(|row| window.matched[*row as usize] = true);
        }
        let answer = pairs.finish(node.kind, left, &right, &node.right_types)?;
        if answer.row_count > 0 {
            self.ready.push_back(answer);
        }
        Ok(())
    }

    /// Leaves the window, once no further row of the left has a partner in it.
    fn leave_window(&mut self) -> Result<()> {
        let Some(window) = self.window.take() else { return Ok(()) };
        let mask: BooleanArray =
            window.matched.iter().map(|is_matched| Some(!is_matched)).collect();
        if mask.true_count() > 0 {
            self.ready.push_back(lonely_right(&self.node, window.rows.filter(&mask)?));
        }
        Ok(())
    }
}

/// Whether one partner of a row of the left is enough.
fn finds_one(node: &physical::KeyJoin) -> bool {
    matches!(node.kind, JoinKind::Semi | JoinKind::Anti) && node.residual.is_empty()
}

/// Rows of the right without a partner.
fn lonely_right(node: &physical::KeyJoin, rows: Batch) -> Batch {
    lonely(&node.left_types, rows.row_count).beside(rows)
}

impl Operator for MergeJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        loop {
            context.check()?;
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_done {
                return Ok(None);
            }
            self.step(context)?;
        }
    }
}

impl Window {
    /// Pairs of rows of the left from `done` on, about one batch, up to the last key of the window.
    /// All pairs of a row stay together.
    fn pairs(&mut self, left: &Keyed, done: &mut usize, finds_one: bool) -> Pairs {
        let count = self.rows.row_count;
        let valid = left.valid.as_ref();
        let mut walk = Walk { count, valid, finds_one, at: &mut self.at, done };
        match (&left.keys, &self.keys) {
            (Keys::Integers(left), Keys::Integers(right)) => {
                walk.pairs(left.len(), |row| left[row], |row| right[row])
            }
            (Keys::Bytes(left), Keys::Bytes(right)) => {
                walk.pairs(left.num_rows(), |row| left.row(row), |row| right.row(row))
            }
            _ => unreachable!("both sides are encoded alike"),
        }
    }
}

/// A position on both sides that moves forward.
struct Walk<'w> {
    /// Rows of the window.
    count: usize,
    valid: Option<&'w NullBuffer>,
    finds_one: bool,
    at: &'w mut usize,
    done: &'w mut usize,
}

impl Walk<'_> {
    fn pairs<K: Ord>(
        &mut self,
        left_count: usize,
        left: impl Fn(usize) -> K,
        right: impl Fn(usize) -> K,
    ) -> Pairs {
        let mut pairs = Pairs::default();
        let start = *self.done;
        let last = right(self.count - 1);
        while *self.done < left_count && pairs.left.len() < 4 * BATCH_SIZE {
            let row = *self.done;
            if self.valid.is_none_or(|valid| valid.is_valid(row)) {
                let key = left(row);
                if key > last {
                    break;
                }
                while right(*self.at) < key {
                    *self.at += 1;
                }
                let most = if self.finds_one { *self.at + 1 } else { self.count };
                let mut partner = *self.at;
                while partner < most && right(partner) == key {
                    pairs.left.push((row - start) as u32);
                    pairs.right.push(partner as u32);
                    partner += 1;
                }
            }
            *self.done += 1;
        }
        pairs
    }
}

/// Encodes key columns, the same way for both sides.
enum Encoder {
    /// One integer, inverted if the order is descending.
    Integer {
        descending: bool,
    },
    Bytes(RowConverter),
}

impl Encoder {
    fn new(node: &physical::KeyJoin) -> Result<Self> {
        let types = types(&node.left_keys);
        if let ([ty], [descending]) = (&types[..], &node.descending[..])
            && is_integer_key(ty)
        {
            return Ok(Self::Integer { descending: *descending });
        }
        let field = |(ty, descending): (&folio_types::ColumnType, &bool)| {
            let options = SortOptions { descending: *descending, nulls_first: false };
            SortField::new_with_options(ty.to_arrow(), options)
        };
        let fields = types.iter().zip(&node.descending).map(field).collect();
        Ok(Self::Bytes(RowConverter::new(fields)?))
    }

    fn keyed(&self, rows: Batch, columns: &[ArrayRef]) -> Result<Keyed> {
        let (keys, valid) = (self.keys(columns)?, valid_rows(columns));
        debug_assert!(keys.ascend(valid.as_ref()), "the left comes in the order of its keys");
        Ok(Keyed { rows, keys, valid })
    }

    fn keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        Ok(match self {
            Self::Integer { descending } => {
                let ascending = |value: i64| if *descending { !value } else { value };
                let values = Integers::of(&columns[0]);
                Keys::Integers(values.iter().map(|value| ascending(value.unwrap_or(0))).collect())
            }
            Self::Bytes(converter) => {
                let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
                Keys::Bytes(converter.convert_columns(&columns)?)
            }
        })
    }
}

impl Keys {
    /// Memory, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Integers(keys) => keys.capacity() * size_of::<i64>(),
            Self::Bytes(keys) => keys.size(),
        }
    }

    /// Whether the valid keys are in order.
    fn ascend(&self, valid: Option<&NullBuffer>) -> bool {
        let is_valid = |row: &usize| valid.is_none_or(|valid| valid.is_valid(*row));
        match self {
            Self::Integers(keys) => {
                (0..keys.len()).filter(is_valid).is_sorted_by_key(|row| keys[row])
            }
            Self::Bytes(keys) => {
                (0..keys.num_rows()).filter(is_valid).is_sorted_by_key(|row| keys.row(row))
            }
        }
    }
}

/// Which rows have no null in their key; `None` if no row has.
fn valid_rows(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls = columns.iter().map(|column| column.logical_nulls());
    let all = nulls.fold(None, |all, nulls| NullBuffer::union(all.as_ref(), nulls.as_ref()));
    all.filter(|valid| valid.null_count() > 0)
}

/// The right side, window by window.
struct Windows {
    input: Running,
    /// Rows read that are in no window yet.
    next: Option<Rest>,
    /// Rows with a null in their key, if rows without a partner are kept.
    nulls: Vec<Batch>,
    keeps_right: bool,
    is_ended: bool,
    /// Memory of the window and of the rows behind it.
    held: Held,
}

/// Rows with their key columns, without nulls.
struct Rest {
    rows: Batch,
    keys: Vec<ArrayRef>,
}

impl Windows {
    /// The next window; `None` after the last.
    fn next(
        &mut self,
        node: &physical::KeyJoin,
        encoder: &Encoder,
        context: &Context,
    ) -> Result<Option<Window>> {
        let first = match self.next.take() {
            Some(rest) => rest,
            None => match self.read(&node.right_keys, context)? {
                Some(rest) => rest,
                None => return Ok(None),
            },
        };
        let whole = self.with_all_of_a_key(first, node, context)?;
        let matched = vec![false; if self.keeps_right { whole.rows.row_count } else { 0 }];
        let keys = encoder.keys(&whole.keys)?;
        let next = self.next.as_ref().map_or(0, |rest| rest.rows.size());
        self.held.charge(context.limits(), whole.rows.size() + keys.size() + next)?;
        debug_assert!(keys.ascend(None), "the right comes in the order of its keys");
        Ok(Some(Window { rows: whole.rows, keys, at: 0, matched }))
    }

    /// Splits off the leading rows that complete their keys. Reads on as needed; the rest is for
    /// the next window.
    fn with_all_of_a_key(
        &mut self,
        first: Rest,
        node: &physical::KeyJoin,
        context: &Context,
    ) -> Result<Rest> {
        let mut parts = Vec::new();
        let mut part = first;
        let mut size = part.rows.size();
        while let Some(next) = self.read(&node.right_keys, context)? {
            if !part.goes_on_in(&next)? {
                self.next = Some(next);
                break;
            }
            let start = part.start_of_last()?;
            if start > 0 {
                self.next = Some(Rest::concat(&[part.from(start), next])?);
                part = part.up_to(start);
                break;
            }
            // A single key is collected whole, however many rows it has.
            size += next.rows.size();
            self.held.charge(context.limits(), size)?;
            parts.push(std::mem::replace(&mut part, next));
        }
        parts.push(part);
        // Concatenating the rows copies them.
        self.held.charge(context.limits(), 2 * size)?;
        Rest::concat(&parts)
    }

    /// The next rows with keys that are not null.
    fn read(&mut self, keys: &[Expr], context: &Context) -> Result<Option<Rest>> {
        while !self.is_ended {
            let Some(rows) = self.input.next(context)? else {
                self.is_ended = true;
                break;
            };
            context.check()?;
            if rows.row_count == 0 {
                continue;
            }
            let keys = evaluate_arrays(keys, &rows, context)?;
            let Some(valid) = valid_rows(&keys) else { return Ok(Some(Rest { rows, keys })) };
            let valid = BooleanArray::new(valid.inner().clone(), None);
            if self.keeps_right {
                let nulls: BooleanBuffer = !valid.values();
                self.nulls.push(rows.filter(&BooleanArray::new(nulls, None))?);
            }
            let keys = Batch::new(keys, rows.row_count).filter(&valid)?.columns;
            let rows = rows.filter(&valid)?;
            if rows.row_count > 0 {
                return Ok(Some(Rest { rows, keys }));
            }
        }
        Ok(None)
    }
}

impl Rest {
    /// Whether the next rows begin with the last key of these.
    fn goes_on_in(&self, next: &Self) -> Result<bool> {
        let (last, first) = (self.from(self.rows.row_count - 1), next.up_to(1));
        Ok(equality(&last.keys, &first.keys)?(0, 0))
    }

    /// The first row of the last key.
    fn start_of_last(&self) -> Result<usize> {
        let is_equal = equality(&self.keys, &self.keys)?;
        let (mut before, mut last) = (0, self.rows.row_count - 1);
        while before < last {
            let middle = usize::midpoint(before, last);
            match is_equal(middle, self.rows.row_count - 1) {
                true => last = middle,
                false => before = middle + 1,
            }
        }
        Ok(last)
    }

    fn up_to(&self, end: usize) -> Self {
        let keys = self.keys.iter().map(|key| key.slice(0, end)).collect();
        Self { rows: self.rows.slice(0, end), keys }
    }

    fn from(&self, start: usize) -> Self {
        let count = self.rows.row_count - start;
        let keys = self.keys.iter().map(|key| key.slice(start, count)).collect();
        Self { rows: self.rows.slice(start, count), keys }
    }

    fn concat(parts: &[Self]) -> Result<Self> {
        let rows: Vec<Batch> = parts.iter().map(|part| part.rows.clone()).collect();
        let keys = parts.iter().map(|part| Batch::new(part.keys.clone(), part.rows.row_count));
        let keys = Batch::concat(&keys.collect::<Vec<_>>())?.columns;
        Ok(Self { rows: Batch::concat(&rows)?, keys })
    }
}

/// A function that compares the keys of two rows for equality.
fn equality(
    left: &[ArrayRef],
    right: &[ArrayRef],
) -> Result<impl Fn(usize, usize) -> bool + use<>> {
    let compare = |(left, right): (&ArrayRef, &ArrayRef)| {
        make_comparator(&canonical(left), &canonical(right), SortOptions::default())
    };
    let columns =
        left.iter().zip(right).map(compare).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(move |one, other| columns.iter().all(|compare| compare(one, other).is_eq()))
}
