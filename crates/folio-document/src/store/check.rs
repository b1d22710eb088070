//! Checks a collection from the first byte to the last.

use super::batch_record::BatchSlot;
use super::line_chunk::LineChunk;
use super::verify::is_unchanged;
use super::view::View;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{Found, id_hash};
use crate::line::{self, Line, LineReader};
use crate::options::{Access, Progress};
use crate::report::{CheckReport, InvalidLine, Notice};
use crate::schema::Schema;

impl LineStore {
    /// Reads and compares every line and every page, and the documents with the schema, if there is
    /// one. Reports problems, repairs nothing.
    pub(crate) fn check(
        &self,
        schema: Option<&Schema>,
        progress: Progress<'_>,
    ) -> Result<CheckReport> {
        self.handle.check_open()?;
        let mut writer = self.idle_writer()?;
        if self.options.access == Access::ReadWrite {
            self.append_pending(&mut writer)?;
        }
        self.follow_data(&mut writer)?;
        let mut report = CheckReport::default();
        if writer.index_is_damaged {
            let name = self.paths.head.display();
            report.problems.push(format!("index: {name} is damaged; run `folio reindex`"));
        }
        self.check_index(&mut report);
        let has_open_batch = self.check_record(&writer)?;
        self.check_lines(!has_open_batch, schema, &mut report, progress)?;
        self.check_fields(&mut report.problems)?;
        self.check_all_columns(&mut report.problems)?;
        Ok(report)
    }

    fn check_index(&self, report: &mut CheckReport) {
        let view = self.read_view();
        let Some(segment) = &view.segment else { return };
        let repair = repair_of(&view);
        for run in &view.index.runs {
            if let Err(fault) = run.check_all() {
                report.problems.push(format!("index: {fault}; {repair}"));
            }
        }
        match is_unchanged(segment, &view.index) {
            Ok(true) => {}
            Ok(false) => {
                let name = self.paths.data.display();
                let what = match view.fixed_segment() {
                    Some(_) => "is damaged: it is not what was indexed",
                    None => "was changed since it was indexed",
                };
                report.problems.push(format!("{name} {what}; {repair}"));
            }
            Err(fault) => report.problems.push(format!("index: {fault}; {repair}")),
        }
    }

    /// With `to_the_end`, what the index leaves out is the torn end of a write, unless it has become
    /// a line since: others may write during the check.
    fn check_lines(
        &self,
        to_the_end: bool,
        schema: Option<&Schema>,
        report: &mut CheckReport,
        progress: Progress<'_>,
    ) -> Result<()> {
        let io = |action| Error::io(action, &self.paths.data);
        let view = self.read_view();
        let Some(segment) = &view.segment else { return Ok(()) };
        let size = view.index.state.data_end;
        let mut reader = LineReader::new(&*segment.file, 0, size);
        let (mut number, mut misplaced, mut text) = (0, 0, Vec::new());
        let mut first = None;
        while let Some(raw) = reader.next().map_err(io("read"))? {
            number += 1;
            match line::examine(raw.text) {
                Ok(Line::Blank) => {}
                Ok(Line::Tombstone(_)) => report.tombstone_count += 1,
                Ok(Line::Document { id, .. }) => {
                    let found = view.index.find(&id, id_hash(&id), &**segment, &mut text);
                    match found.map(Found::document) {
                        Ok(Some(entry)) if entry.offset() == raw.offset => {
                            report.document_count += 1;
                            if let Some(reason) = schema.and_then(|own| own.mismatch(raw.text)) {
                                report.add_mismatch(self.invalid(number, raw.offset, reason));
                            }
                        }
                        Ok(Some(entry)) if entry.offset() > raw.offset => {
                            report.superseded_count += 1;
                        }
                        Ok(None) => report.superseded_count += 1, // deleted by a later line
                        _ => {
                            misplaced += 1;
                            first.get_or_insert_with(|| {
                                format!(", the first of document {id:?} at byte {}", raw.offset)
                            });
                        }
                    }
                }
                Err(fault) => {
                    report.add_invalid(self.invalid(number, raw.offset, fault.reason.to_owned()));
                }
            }
            if number % 16_384 == 0 && !progress(raw.next, size) {
                return Err(Error::Cancelled);
            }
        }
        if to_the_end && view.index.state.size > size {
            let end = segment.file.stat().map_err(io("read"))?.size;
            let mut rest = LineReader::new(&*segment.file, size, end);
            let (rest, _) = LineChunk::read(&mut rest, 1).map_err(io("read"))?;
            if let Some(torn) = rest.torn.filter(|torn| torn.offset == size) {
                report.add_invalid(self.invalid(number + 1, size, torn.text()));
            }
        }
        let indexed = view.index.state.live_count;
        if misplaced > 0 || indexed != report.document_count {
            report.problems.push(format!(
                "index: it has {indexed} documents and the file {}, {misplaced} lines are not where it \
                 says{}; {}",
                report.document_count + misplaced,
                first.unwrap_or_default(),
                repair_of(&view)
            ));
        }
        Ok(())
    }

    fn invalid(&self, line: u64, offset: u64, reason: String) -> InvalidLine {
        InvalidLine { path: self.paths.data.clone(), line, offset, reason }
    }

    /// An open batch record without a running batch is left from a crash. It is reported, but it is
    /// no damage: the batch was never acknowledged, and its lines are not read. Returns whether the
    /// record is open.
    fn check_record(&self, writer: &Writer) -> Result<bool> {
        let inode = writer.known.map(|known| known.inode);
        let slot = BatchSlot::read(&*self.files, &self.paths.batch, inode);
        let slot = slot.map_err(Error::io("read", &self.paths.batch))?;
        let is_open = slot.is_some_and(|slot| slot.is_open());
        if is_open && writer.batch_owner.is_none() && !self.lock.is_held_elsewhere() {
            self.handle.notice([Notice(format!(
                "{}: a batch was interrupted; the next write rolls it back",
                self.paths.batch.display()
            ))]);
        }
        Ok(is_open)
    }
}

/// What to do about an index that does not fit its lines.
fn repair_of(view: &View) -> &'static str {
    match view.fixed_segment() {
        Some(_) => "send an undamaged copy there",
        None => "run `folio reindex`",
    }
}
