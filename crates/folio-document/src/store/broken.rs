//! Finds lines of the data file that are not documents when the index is already right.
//!
//! Building an index reports these lines. An existing index stores only how many there are, and
//! their offsets among those of all lines that a scan skips.

use super::LineStore;
use super::line_chunk::line_number;
use super::publish::fault_error;
use crate::error::{Error, Result};
use crate::index::SkipCursor;
use crate::line::{self, LineReader};
use crate::report::Notice;

/// How many skipped lines are examined at most.
const LOOKED_AT: u64 = 10_000;

/// Lines reported individually.
const REPORTED: usize = 5;

impl LineStore {
    /// A notice for each of the first broken lines, with file and line number, and one for the
    /// rest.
    pub(crate) fn broken_lines(&self) -> Result<Vec<Notice>> {
        let view = self.read_view();
        let state = view.index.state;
        let Some(segment) = view.segment.as_ref().filter(|_| state.invalid_count > 0) else {
            return Ok(Vec::new());
        };
        let name = self.paths.data.display();
        let io = |error| Error::io("read", &self.paths.data)(error);
        let mut notices = Vec::new();
        if state.skip_count <= LOOKED_AT {
            let index = &view.index;
            let skips = SkipCursor::new(&index.runs, index.delta.skips.clone(), 0)
                .map_err(|fault| fault_error(fault, &self.paths))?;
            for offset in skips {
                let offset = offset.map_err(|fault| fault_error(fault, &self.paths))?;
                let mut reader = LineReader::new(&*segment.file, offset, state.data_end);
                let Some(raw) = reader.next().map_err(io)? else { continue };
                let Err(fault) = line::examine(raw.text) else { continue };
                let number = line_number(&*segment.file, offset).map_err(io)?;
                notices.push(Notice(format!(
                    "{name}:{number}: {}; the line is skipped",
                    fault.reason
                )));
                if notices.len() == REPORTED {
                    break;
                }
            }
        }
        match state.invalid_count.saturating_sub(notices.len() as u64) {
            0 => {}
            count => notices.push(Notice(format!(
                "{name}: {count}{} lines are not valid; `folio validate` lists them",
                if notices.is_empty() { "" } else { " more" }
            ))),
        }
        Ok(notices)
    }
}
