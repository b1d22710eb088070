//! Aggregates of frames that have many rows in common, from states of few rows each: a segment tree
//! (Leis, Kundhikanjana, Kemper, Neumann: "Efficient Processing of Window Functions in Analytical SQL
//! Queries", 2015).
//!
//! The lowest level has a state of each row, every other level one of each two of the level below. A
//! frame has at most two states of each level, which are merged in the order of their rows.

use arrow_array::ArrayRef;
use folio_compute::{Batch, Result};

use super::frame::{PARTS, Seen};
use crate::context::Context;
use crate::execute::aggregate::{Groups, State};
use crate::limits::Held;
use crate::plan::aggregate::Aggregate;

/// Whether merged states take less time than the rows of each frame, and give the same results.
pub(super) fn is_worth(aggregate: &Aggregate, frames: &[Seen], row_count: usize) -> bool {
    if !aggregate.is_mergeable() || aggregate.distinct {
        return false;
    }
    // What is left to read if each frame goes on from the one before it.
    let pairs = frames.iter().zip(frames.iter().skip(1));
    let read = pairs.map(|(before, seen)| seen.beyond(before).unwrap_or(*seen).len());
    read.fold(0, usize::saturating_add) / 2 > row_count
}

/// The result for each frame.
///
/// # Errors
/// Those of all rows and of sums that no frame has, too.
pub(super) fn over(
    aggregate: &Aggregate,
    rows: &Batch,
    frames: &[Seen],
    context: &Context,
) -> Result<ArrayRef> {
    let new = || State::new(aggregate, &|_| true);
    let own: Vec<u32> = (0..rows.row_count as u32).collect();
    let mut lowest = new()?;
    lowest.take(rows, &Groups::new(&own), rows.row_count, context)?;
    let (mut levels, mut answers, mut held) = (vec![lowest], new()?, Held::default());
    for part in 0..PARTS {
        let mut ends: Vec<(usize, usize)> = frames.iter().map(|seen| seen.part(part)).collect();
        let mut last = Vec::new();
        for depth in 0.. {
            if ends.iter().all(|(from, to)| from >= to) {
                break;
            }
            context.check()?;
            if depth == levels.len() {
                let next = above(&mut levels[depth - 1], new()?, rows.row_count >> depth)?;
                levels.push(next);
                let size: usize = levels.iter().map(State::size).sum();
                held.charge(context.limits(), size + answers.size())?;
            }
            let (first, after) = of_level(&mut ends);
            answers.merge_some(&mut levels[depth], &first, frames.len())?;
            last.push(after);
        }
        for (level, states) in levels.iter_mut().zip(&last).rev() {
            answers.merge_some(level, states, frames.len())?;
        }
    }
    answers.finish(0..frames.len())
}

/// The level above another: `count` states, of two each.
fn above(below: &mut State, mut level: State, count: usize) -> Result<State> {
    let pairs: Vec<(u32, u32)> = (0..2 * count as u32).map(|at| (at, at / 2)).collect();
    level.merge_some(below, &pairs, count)?;
    Ok(level)
}

/// A state of a level, and the frame that has it.
type Pairs = Vec<(u32, u32)>;

/// The states of a level that frames begin and end with, as far as the level above has no larger ones.
/// What is left of each frame is then in states of that level.
fn of_level(ends: &mut [(usize, usize)]) -> (Pairs, Pairs) {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for (frame, (from, to)) in (0..).zip(ends) {
        if *from < *to && *from % 2 == 1 {
            first.push((*from as u32, frame));
            *from += 1;
        }
        if *from < *to && *to % 2 == 1 {
            *to -= 1;
            last.push((*to as u32, frame));
        }
        (*from, *to) = (*from / 2, *to / 2);
    }
    (first, last)
}
