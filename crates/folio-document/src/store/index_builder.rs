//! Adds lines of the data file to an index, and reports lines that are not documents.

use std::ops::Range;
use std::sync::Arc;

use super::line_chunk::{LineChunk, count_in, line_number, sum_up_to};
use super::paths::Paths;
use super::publish::{IndexWriter, fault_error};
use crate::error::{Error, Result};
use crate::index::{BlockSums, Index, IndexFault, resolve};
use crate::line::LineReader;
use crate::options::Progress;
use crate::report::Notice;
use crate::segment::Segment;

/// Entries read from the file at a time. Limits the memory of a rebuild.
const CHUNK: usize = 1 << 20;

/// More new lines than this become a run at once.
const TAIL_LIMIT: usize = 1 << 16;

/// Invalid lines reported individually.
const REPORTED_MAX: usize = 5;

/// Where lines come from, and where notices go.
pub(crate) struct IndexBuilder<'a> {
    pub(crate) segment: &'a Arc<Segment>,
    pub(crate) paths: &'a Paths,
    pub(crate) notices: &'a mut Vec<Notice>,
}

impl IndexBuilder<'_> {
    /// Adds the lines of a range of bytes. Returns their number.
    pub(crate) fn add_range(
        mut self,
        index: &mut Index,
        writer: &mut IndexWriter,
        range: Range<u64>,
        progress: Progress<'_>,
    ) -> Result<u64> {
        let file = &*self.segment.file;
        let path = &self.paths.data;
        let mut reader = LineReader::new(file, range.start, range.end);
        let mut sums =
            BlockSums::resume(file, index.state.data_end).map_err(Error::io("read", path))?;
        let mut line_count = 0;
        loop {
            let (chunk, at_end) =
                LineChunk::read(&mut reader, CHUNK).map_err(Error::io("read", path))?;
            self.report_bad_lines(&chunk, range.start, line_count)?;
            line_count += chunk.line_count;
            self.add(index, writer, &mut sums, chunk)
                .map_err(|fault| fault_error(fault, self.paths))?;
            if !progress(index.state.data_end, range.end) {
                return Err(Error::Cancelled);
            }
            if at_end {
                return Ok(line_count);
            }
        }
    }

    /// `lines_before` is the number of lines between `start` and the chunk.
    fn report_bad_lines(&mut self, chunk: &LineChunk, start: u64, lines_before: u64) -> Result<()> {
        let name = self.paths.data.display();
        if !chunk.bad.is_empty() {
            let first = self.line_number(start)? + lines_before;
            let reported = chunk.bad.iter().take(REPORTED_MAX).map(|bad| {
                let number = first + bad.lines_before;
                Notice(format!("{name}:{number}: {}; the line is skipped", bad.reason))
            });
            self.notices.extend(reported);
            if chunk.bad_count > REPORTED_MAX as u64 {
                let more = chunk.bad_count - REPORTED_MAX as u64;
                self.notices.push(Notice(format!(
                    "{name}: {more} more lines are not valid; `folio validate` lists them"
                )));
            }
        }
        if let Some(torn) = chunk.torn {
            let number = self.line_number(torn.offset)?;
            let text = torn.text();
            self.notices.push(Notice(format!("{name}:{number}: {text}; it is skipped")));
        }
        Ok(())
    }

    fn line_number(&self, offset: u64) -> Result<u64> {
        line_number(&*self.segment.file, offset).map_err(Error::io("read", &self.paths.data))
    }

    /// Adds a chunk to the index: resolves it, places entries, counts and sums.
    fn add(
        &self,
        index: &mut Index,
        writer: &mut IndexWriter,
        sums: &mut BlockSums,
        chunk: LineChunk,
    ) -> Result<(), IndexFault> {
        let segment = &**self.segment;
        let mut resolved = resolve(chunk.entries, index, segment)?;
        count_in(index, &resolved, chunk.skips.len());
        index.state.invalid_count += chunk.bad_count;
        index.state.data_end = chunk.end.max(index.state.data_end);
        index.state.unterminated = u64::from(chunk.unterminated);
        let mut blocks = Vec::new();
        sum_up_to(&*segment.file, sums, index.state.data_end, &mut blocks)?;
        index.state.tail_sum = sums.tail();
        resolved.skips.extend(chunk.skips);
        if resolved.entries.len() > TAIL_LIMIT {
            return writer.add_run(index, &resolved, &blocks, segment);
        }
        resolved.entries.into_iter().for_each(|entry| index.delta.push(entry));
        index.delta.skips.extend(resolved.skips);
        index.delta.blocks.extend(blocks);
        Ok(())
    }
}
