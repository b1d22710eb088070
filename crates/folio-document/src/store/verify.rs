//! Checks whether the data file is still the one that its index was built from, by the checksums of
//! its blocks and without parsing lines.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::index::{BLOCK_SIZE, Index, IndexFault, has_block_sum};
use crate::segment::Segment;

/// Whether a block of the file, or its partial last block, has the indexed sum. `buffer` is for the
/// block's bytes.
pub(crate) fn block_is_unchanged(
    segment: &Segment,
    index: &Index,
    block: u64,
    buffer: &mut Vec<u8>,
) -> Result<bool, IndexFault> {
    let start = block * BLOCK_SIZE;
    let size = index.state.data_end.saturating_sub(start).min(BLOCK_SIZE);
    if size == 0 {
        return Ok(true);
    }
    let sum = if size < BLOCK_SIZE { Some(index.state.tail_sum) } else { index.block(block)? };
    buffer.resize(size as usize, 0);
    let read = segment.file.read_at(buffer, start)?;
    Ok(read == buffer.len() && sum.is_some_and(|sum| has_block_sum(buffer, sum)))
}

/// Whether everything that the index covers is unchanged.
pub(crate) fn is_unchanged(segment: &Segment, index: &Index) -> Result<bool, IndexFault> {
    is_unchanged_from(segment, index, 0)
}

/// The same for what comes after an offset.
pub(crate) fn is_unchanged_from(
    segment: &Segment,
    index: &Index,
    offset: u64,
) -> Result<bool, IndexFault> {
    is_unchanged_within(segment, index, offset..index.state.data_end)
}

/// The same for the blocks that a range touches.
pub(crate) fn is_unchanged_within(
    segment: &Segment,
    index: &Index,
    range: Range<u64>,
) -> Result<bool, IndexFault> {
    let mut buffer = Vec::new();
    for block in range.start / BLOCK_SIZE..range.end.div_ceil(BLOCK_SIZE) {
        if !block_is_unchanged(segment, index, block, &mut buffer)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A checksum over the checksums of all blocks that the index covers.
pub(crate) fn fingerprint(index: &Index) -> Result<u64, IndexFault> {
    let end = index.state.data_end;
    let mut sums = end.to_le_bytes().to_vec();
    for block in 0..end / BLOCK_SIZE {
        sums.extend_from_slice(&index.block(block)?.unwrap_or_default().to_le_bytes());
    }
    if !end.is_multiple_of(BLOCK_SIZE) {
        sums.extend_from_slice(&index.state.tail_sum.to_le_bytes());
    }
    Ok(xxh3_64(&sums))
}

/// Whether a newer index covers all that an older one does, and perhaps more after it. Whole blocks
/// are compared by their sums, the partial last block of the older index with the file.
pub(crate) fn has_only_grown(
    older: &Index,
    newer: &Index,
    segment: &Segment,
) -> Result<bool, IndexFault> {
    let (before, now) = (older.state.data_end, newer.state.data_end);
    if now < before {
        return Ok(false);
    }
    // Text after a last line without an end would have become part of that line.
    if older.state.unterminated == 1 && now > before && !starts_with_line_feed(segment, before)? {
        return Ok(false);
    }
    let whole = before / BLOCK_SIZE;
    for block in 0..whole {
        if older.block(block)? != newer.block(block)? {
            return Ok(false);
        }
    }
    block_is_unchanged(segment, older, whole, &mut Vec::new())
}

/// Whether the byte at an offset ends a line, or the file ends there.
pub(crate) fn starts_with_line_feed(segment: &Segment, offset: u64) -> Result<bool, IndexFault> {
    let mut byte = [0];
    // At the end of the file, nothing follows the unterminated line yet.
    Ok(segment.file.read_at(&mut byte, offset)? == 0 || byte == *b"\n")
}
