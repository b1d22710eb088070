//! UNION, INTERSECT and EXCEPT. Null equals null here.
//!
//! The right side is counted by key; a row of the left stays as long as the count
//! of its key says so.

use std::sync::Arc;

use arrow_array::UInt32Array;

use super::context::Context;
use super::keys::KeyTable;
use super::{Operator, Running};
use crate::batch::Batch;
use crate::error::Result;
use crate::plan::logical::SetKind;
use crate::plan::physical;

pub(super) struct SetOperation {
    node: Arc<physical::SetOperation>,
    left: Running,
    right: Running,
    left_is_done: bool,
    keys: Option<KeyTable>,
    /// Rows of the right under each key; keys known only from the left have none.
    counts: Vec<u64>,
    /// Keys of which a row was handed on.
    emitted: Vec<bool>,
}

impl SetOperation {
    pub(super) fn new(node: &Arc<physical::SetOperation>, left: Running, right: Running) -> Self {
        Self {
            node: Arc::clone(node),
            left,
            right,
            left_is_done: false,
            keys: None,
            counts: Vec::new(),
            emitted: Vec::new(),
        }
    }

    /// The left, then the right.
    fn append(&mut self, context: &Context) -> Result<Option<Batch>> {
        if !self.left_is_done {
            if let Some(batch) = self.left.next(context)? {
                return Ok(Some(batch));
            }
            self.left_is_done = true;
        }
        self.right.next(context)
    }

    /// Counts the keys of the right.
    fn count_right(&mut self, context: &Context) -> Result<KeyTable> {
        let mut keys = KeyTable::new(&self.node.types)?;
        while let Some(batch) = self.right.next(context)? {
            context.check()?;
            for number in keys.intern(&batch.columns, batch.row_count, &mut Vec::new())? {
                if number as usize == self.counts.len() {
                    self.counts.push(0);
                }
                self.counts[number as usize] += 1;
            }
        }
        Ok(keys)
    }

    /// Whether the next row of this key stays.
    fn keeps(&mut self, number: usize) -> bool {
        if number == self.counts.len() {
            self.counts.push(0);
        }
        if number >= self.emitted.len() {
            self.emitted.resize(number + 1, false);
        }
        let count = &mut self.counts[number];
        match (self.node.kind, self.node.all) {
            (SetKind::Intersect, true) => {
                let keeps = *count > 0;
                *count = count.saturating_sub(1);
                keeps
            }
            (SetKind::Except, true) => {
                let keeps = *count == 0;
                *count = count.saturating_sub(1);
                keeps
            }
            (SetKind::Intersect, false) => {
                *count > 0 && !std::mem::replace(&mut self.emitted[number], true)
            }
            _ => *count == 0 && !std::mem::replace(&mut self.emitted[number], true),
        }
    }
}

impl Operator for SetOperation {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let is_union = self.node.kind == SetKind::Union;
        if is_union && self.node.all {
            return self.append(context);
        }
        let mut keys = match self.keys.take() {
            Some(keys) => keys,
            None if is_union => KeyTable::new(&self.node.types)?,
            None => self.count_right(context)?,
        };
        let mut found = None;
        while found.is_none() {
            context.check()?;
            let next = if is_union { self.append(context)? } else { self.left.next(context)? };
            let Some(batch) = next else { break };
            let mut fresh = Vec::new();
            let numbers = keys.intern(&batch.columns, batch.row_count, &mut fresh)?;
            let kept: Vec<u32> = if is_union {
                fresh
            } else {
                let rows = numbers.into_iter().zip(0..);
                rows.filter(|(number, _)| self.keeps(*number as usize))
                    .map(|(_, row)| row)
                    .collect()
            };
            if !kept.is_empty() {
                found = Some(batch.take(&UInt32Array::from(kept))?);
            }
        }
        self.keys = Some(keys);
        Ok(found)
    }
}
