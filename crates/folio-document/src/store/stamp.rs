//! Stamps: what proves to another process that the lines of a version are still where they were.
//!
//! The index has a checksum of each block of the data file, and proves at each open that it belongs
//! to the file. So a stamp is compared with the index: it has one sum over the sums of all whole
//! blocks. Only the last block, of which a version may cover a part, is read from the file.

use xxhash_rust::xxh3::Xxh3;

use super::LineStore;
use super::verify::starts_with_line_feed;
use super::view::View;
use crate::error::Result;
use crate::index::{BLOCK_SIZE, IndexFault, block_sum, has_block_sum};
use crate::version::{Stamp, Version};

impl LineStore {
    /// The stamp of a version; `None` if its lines are no longer in place.
    pub(crate) fn stamp_of(&self, version: &Version) -> Result<Option<Stamp>> {
        self.handle.check_open()?;
        self.repairing(|view| match view.version().has_grown_from(version) {
            true => stamp_at(view, version.end, version.count),
            false => Ok(None),
        })
    }

    /// The version that a stamp was taken of, if this data file begins with its lines.
    pub(crate) fn version_of(&self, stamp: &Stamp) -> Result<Option<Version>> {
        self.handle.check_open()?;
        self.verify()?; // the sums of the index are believed below
        self.repairing(|view| {
            let is_whole = stamp_at(view, stamp.size, stamp.document_count)? == Some(*stamp)
                && ends_line(view, stamp.size)?;
            let (generation, end) = (view.generation, stamp.size);
            Ok(is_whole.then_some(Version { generation, end, count: stamp.document_count }))
        })
    }
}

/// The stamp of the lines before an offset; `None` if the file, or what is indexed of it, is
/// shorter, or was edited and not indexed since.
pub(super) fn stamp_at(
    view: &View,
    end: u64,
    document_count: u64,
) -> Result<Option<Stamp>, IndexFault> {
    let state = &view.index.state;
    if end > state.data_end {
        return Ok(None);
    }
    let whole = end / BLOCK_SIZE;
    let mut sums = Xxh3::new();
    if !view.index.visit_blocks(0..whole, |bytes| sums.update(bytes))? {
        return Ok(None);
    }
    let Some(tail_sum) = sum_to(view, end)? else { return Ok(None) };
    Ok(Some(Stamp { size: end, document_count, blocks_sum: sums.digest(), tail_sum }))
}

/// The sum of the bytes before an offset that are in its block; `None` if the file, or what is
/// indexed of it, is shorter, or was edited and not indexed since.
pub(super) fn sum_to(view: &View, end: u64) -> Result<Option<u64>, IndexFault> {
    let state = &view.index.state;
    let Some(segment) = view.segment.as_ref().filter(|_| end <= state.data_end) else {
        return Ok(None);
    };
    let whole = end / BLOCK_SIZE;
    let start = whole * BLOCK_SIZE;
    let mut last = vec![0; (state.data_end - start).min(BLOCK_SIZE) as usize];
    let read = segment.file.read_at(&mut last, start)?;
    let expected = match last.len() as u64 {
        BLOCK_SIZE => view.index.block(whole)?,
        0 => Some(block_sum(&[])),
        _ => Some(state.tail_sum),
    };
    if read < last.len() || !expected.is_some_and(|sum| has_block_sum(&last, sum)) {
        return Ok(None);
    }
    Ok(Some(block_sum(&last[..(end - start) as usize])))
}

/// Whether a line ends at an offset: after its line feed or, if it had none, before the one it has
/// now. Other text after a last line without an end has become part of that line.
pub(super) fn ends_line(view: &View, offset: u64) -> Result<bool, IndexFault> {
    let Some(segment) = &view.segment else { return Ok(false) };
    let mut before = [b'\n'];
    if offset > 0 {
        segment.file.read_at(&mut before, offset - 1)?;
    }
    Ok(before == *b"\n" || starts_with_line_feed(segment, offset)?)
}
