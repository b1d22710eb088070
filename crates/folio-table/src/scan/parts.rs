//! Splits a scan into parts for several threads, and estimates the rows of a range.
//!
//! Both read inner nodes only: their keys divide the tree into pieces with about the same number of
//! rows.

use std::sync::Arc;

use super::{KeyRange, Scan, ScanOptions};
use crate::btree::Tree;
use crate::catalog::Table;
use crate::error::Result;
use crate::page;
use crate::page::node::Node;
use crate::snapshot::Reader;

/// Pieces per part: more pieces even out differences in size.
const PIECES_PER_PART: usize = 8;

impl Scan {
    /// At most `count` scans that together equal one with these options, in key order. A limit
    /// applies to each.
    pub(crate) fn parts(
        reader: &Reader<'_>,
        table: &Arc<Table>,
        options: &ScanOptions<'_>,
        count: usize,
    ) -> Result<Vec<Self>> {
        let (tree, range) = match options.index {
            None => (table.tree(), Self::range_of_rows(table, options)?),
            Some(index) => {
                (index.tree(), KeyRange::of_entries(table, index, options.from, options.to)?)
            }
        };
        if count == 1 {
            return Ok(vec![Self::over(reader, table, options, range)?]);
        }
        let pieces = pieces(reader, tree, &range, count)?.into_iter();
        let parts = pieces.map(|piece| Self::over(reader, table, options, piece));
        let mut parts: Vec<Self> = parts.collect::<Result<_>>()?;
        if options.reverse {
            parts.reverse();
        }
        Ok(parts)
    }
}

/// A range in at most `count` pieces of about the same size.
pub(super) fn pieces(
    reader: &Reader<'_>,
    tree: Tree,
    range: &KeyRange,
    count: usize,
) -> Result<Vec<KeyRange>> {
    let keys = boundary_keys(reader, tree, range, count * PIECES_PER_PART)?;
    let count = count.clamp(1, keys.len() + 1);
    let mut from = range.from.clone();
    let piece = |part: usize| {
        let to = match part {
            _ if part == count => range.to.clone(),
            _ => Some(keys[part * (keys.len() + 1) / count - 1].clone()),
        };
        KeyRange { from: std::mem::replace(&mut from, to.clone()), to, is_empty: range.is_empty }
    };
    Ok((1..=count).map(piece).collect())
}

/// Keys of inner nodes within a range, at the highest level that has enough.
fn boundary_keys(
    reader: &Reader<'_>,
    tree: Tree,
    range: &KeyRange,
    wanted: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut pages = vec![tree.root];
    let mut level = None;
    let mut keys: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut below = Vec::new();
        let mut found = Vec::new();
        for (position, &page) in pages.iter().enumerate() {
            let guard = tree.node(reader, page, level)?;
            let node = Node::new(&guard);
            if node.is_leaf() {
                return Ok(keys);
            }
            if position > 0 {
                found.push(keys[position - 1].clone());
            }
            let first = range.from.as_ref().map_or(0, |key| node.child_index(key));
            let last = range.to.as_ref().map_or(node.len(), |key| node.child_index(key));
            below.extend((first..=last).map(|child| node.child(child)));
            found.extend((first..last).map(|cell| node.key(cell).to_vec()));
        }
        let guard = tree.node(reader, pages[0], level)?;
        level = Some(page::level(&guard) - 1);
        (pages, keys) = (below, found);
        if keys.len() >= wanted {
            return Ok(keys);
        }
    }
}

/// Estimates how many of a tree's `count` entries are in a range. Exact if the range is within one
/// leaf.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn estimate(
    reader: &Reader<'_>,
    tree: Tree,
    range: &KeyRange,
    count: u64,
) -> Result<u64> {
    if range.is_empty {
        return Ok(0);
    }
    let from = range.from.as_deref().map(|key| Place::of(reader, tree, key)).transpose()?;
    let to = range.to.as_deref().map(|key| Place::of(reader, tree, key)).transpose()?;
    if let (Some(from), Some(to)) = (&from, &to)
        && from.leaf == to.leaf
    {
        return Ok((to.position - from.position) as u64);
    }
    let start = from.map_or(0.0, |place| place.fraction);
    let end = to.map_or(1.0, |place| place.fraction);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate between 0 and count"
    )]
    Ok(((end - start).max(0.0) * count as f64).round() as u64)
}

/// The position of a key in a tree.
struct Place {
    leaf: crate::ids::PageId,
    position: usize,
    /// The fraction of the tree before it, assuming children of equal size.
    fraction: f64,
}

impl Place {
    #[allow(clippy::cast_precision_loss, reason = "counts within a page")]
    fn of(reader: &Reader<'_>, tree: Tree, key: &[u8]) -> Result<Self> {
        let (mut start, mut width) = (0.0, 1.0);
        let (leaf, guard) = tree.descend(reader, (tree.root, None), |_, node| {
            let child = node.child_index(key);
            width /= node.child_count() as f64;
            start += width * child as f64;
            child
        })?;
        let node = Node::new(&guard);
        let position = node.search(key).unwrap_or_else(|at| at);
        start += width * position as f64 / node.len().max(1) as f64;
        Ok(Self { leaf, position, fraction: start })
    }
}
