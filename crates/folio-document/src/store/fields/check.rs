//! Compares an index on fields with the documents.

use xxhash_rust::xxh3::xxh3_64;

use super::unique::Twins;
use super::{FieldIndex, entry_at};
use crate::error::Result;
use crate::field_index::{Collected, Cursor, Direction, Extractor, FieldFault, KeyRange};
use crate::index::IndexFault;
use crate::report::IndexCheck;
use crate::store::LineStore;
use crate::store::line_chunk::line_number;
use crate::store::scan::ScanState;
use crate::store::view::View;

/// Pairs of equal documents that are reported individually.
const DUPLICATES_MAX: usize = 100;

/// The sum over a set of keys with their lines, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
struct SetSum {
    count: u64,
    sum: u64,
}

impl SetSum {
    fn add(&mut self, key: &[u8], offset: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(
            xxh3_64(key).rotate_left(17) ^ offset.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
    }
}

impl LineStore {
    /// Checks that an index has exactly the keys of the documents.
    pub(crate) fn check_field_index(&self, name: &str) -> Result<IndexCheck> {
        self.handle.check_open()?;
        if let Some(check) = self.check_columns(name)? {
            return Ok(check);
        }
        let index = self.field_index(name)?;
        self.append_if_pending()?;
        self.verify()?;
        self.check_one(&index)
    }

    /// Problems of all indexes, for the check of the collection. The writer is held.
    pub(in crate::store) fn check_fields(&self, problems: &mut Vec<String>) -> Result<()> {
        for index in self.fields.all().iter() {
            let checked = self.check_one(index)?;
            problems.extend(checked.problems);
        }
        Ok(())
    }

    fn check_one(&self, index: &FieldIndex) -> Result<IndexCheck> {
        let name = &index.definition.name;
        let mut check = IndexCheck::default();
        let read = || self.check_in(&self.read_view(), index);
        match read() {
            Ok(found) => check = found,
            Err(FieldFault::File { file, inode }) => {
                check
                    .problems
                    .push(format!("index {name:?}: {file} is damaged; run `folio reindex`"));
                index.damaged().push((file, inode));
                Self::forget(index);
            }
            Err(fault @ (FieldFault::Index(IndexFault::Io(_)) | FieldFault::Cancelled)) => {
                return Err(self.field_error(fault));
            }
            // The index of ids, through which the lines are found, is damaged.
            Err(FieldFault::Index(fault)) => {
                check.problems.push(format!("index {name:?}: {fault}; run `folio reindex`"));
            }
        }
        Ok(check)
    }

    fn check_in(&self, view: &View, index: &FieldIndex) -> Result<IndexCheck, FieldFault> {
        let definition = &index.definition;
        let name = &definition.name;
        let mut check = IndexCheck::default();
        if view.segment.is_none() {
            return Ok(check);
        }
        if !self.catch_up(view, index)? {
            check.is_behind = true;
            return Ok(check);
        }
        let covered = index.read().clone();
        for file in &covered.files {
            file.check_all()?;
        }
        let (mut indexed, mut there) = (SetSum::default(), SetSum::default());
        let mut extractor = Extractor::new([definition]);
        let range = KeyRange::all();
        let mut cursor = Cursor::new(&covered.files, &covered.recent, &range, Direction::Forward)?;
        let (mut text, mut last) = (Vec::new(), Vec::new());
        while let Some((key, _, entry)) = cursor.next()? {
            if last.as_slice() > key {
                check.problems.push(format!("index {name:?}: its keys do not ascend"));
                return Ok(check);
            }
            last.clear();
            last.extend_from_slice(key);
            if !view.is_newest_in_file(entry, &mut text)? {
                continue;
            }
            indexed.add(&last, entry.offset());
        }
        if let Some(mut lines) = ScanState::range(view, 0, u64::MAX)? {
            while let Some((offset, line)) = lines.next_located()? {
                let Some(entry) = entry_at(offset, line) else { continue };
                let mut keys = Collected::default();
                extractor.keys(line, |_, key, _| keys.push(key, entry));
                keys.iter().for_each(|(key, ..)| there.add(key, offset));
            }
        }
        check.entry_count = there.count;
        if indexed != there {
            check.problems.push(format!(
                "index {name:?}: it has {} entries where the documents have {}, or other values; \
                 run `folio reindex`",
                indexed.count, there.count
            ));
        }
        if definition.unique {
            self.report_duplicates(view, index, &mut check)?;
        }
        Ok(check)
    }

    fn report_duplicates(
        &self,
        view: &View,
        index: &FieldIndex,
        check: &mut IndexCheck,
    ) -> Result<(), FieldFault> {
        let Some(segment) = view.segment.as_deref() else { return Ok(()) };
        let mut text = Vec::new();
        let mut line_of = |id: &str| -> Result<u64, FieldFault> {
            let found = view.index.find(id, crate::index::id_hash(id), segment, &mut text)?;
            let Some(entry) = found.document() else { return Ok(0) };
            Ok(line_number(&*segment.file, entry.offset())?)
        };
        for Twins { id: one, line, .. } in self.duplicates(view, index, DUPLICATES_MAX)? {
            let two = crate::line::id_of_valid_line(&line).unwrap_or_default().into_owned();
            check.is_not_unique = true;
            check.problems.push(format!(
                "index {:?} is not unique: documents {one:?} (line {}) and {two:?} (line {}) of {} \
                 have the same {}; change one of them",
                index.definition.name,
                line_of(&one)?,
                line_of(&two)?,
                self.paths.data.display(),
                index.definition.field_names().join(", "),
            ));
        }
        Ok(())
    }
}
