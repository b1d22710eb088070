//! Writes the files of indexes on fields, and creates and drops indexes.
//!
//! Only the holder of the writer's lock writes. The data is read in pieces by all cores; each piece
//! becomes a file. So memory is bounded, and a build that was interrupted continues after the files
//! that are there. Within a piece, progress is reported every few megabytes; a build that is cancelled
//! there leaves nothing of the piece. Readers go on meanwhile: no lock that they take is held.

use std::sync::{Arc, MutexGuard};
use std::thread;

use folio_types::IndexMethod;

use super::{FieldIndex, entry_at, stamp};
use crate::error::{Error, Result};
use crate::field_index::{
    Collected, Covered, Cursor, Direction, Extractor, FieldFault, FieldFile, Header,
    IndexDefinition, KeyRange, file_name, is_field_file, write_file,
};
use crate::index::{BLOCK_SIZE, IndexFault, runs_to_merge};
use crate::options::Progress;
use crate::report::Notice;
use crate::store::scan::ScanState;
use crate::store::{LineStore, Writer};

/// Fewer bytes of lines after the files stay without a file: they are read at the first lookup.
const FEW_BYTES: u64 = 128 << 10;

/// Bytes of lines that become one file.
const PIECE_SIZE: u64 = 256 << 20;

/// The same two in tests.
const FEW_BYTES_SMALL: u64 = 100;
const PIECE_SIZE_SMALL: u64 = BLOCK_SIZE;

/// Fewer bytes of lines than this are not worth another thread.
const PART_SIZE_MIN: u64 = 1 << 20;

/// Each thread reads so many bytes of lines between two reports of progress.
const STEP_SIZE: u64 = 4 << 20;

/// So many entries are written between two reports.
const STEP_COUNT: usize = 1 << 16;

/// More threads than this would wait for memory.
const THREADS_MAX: usize = 8;

/// Entries in memory that become a file even before a flush.
const RECENT_MAX: usize = 1 << 16;

impl LineStore {
    /// Creates an index. Its definition is stored when its files are complete.
    pub(crate) fn create_index(
        &self,
        definition: &IndexDefinition,
        progress: Progress<'_>,
    ) -> Result<()> {
        let mut writer = self.writer_of_new(definition)?;
        if definition.method == IndexMethod::Columns {
            return self.add_definition(&mut writer, definition); // its caller builds
        }
        let index = Arc::new(FieldIndex::new(definition.clone()));
        self.build(Some(&mut writer), &index, progress)?;
        if definition.unique {
            self.refuse_duplicates(&mut writer, &index)?;
        }
        self.add_definition(&mut writer, definition)?;
        if let Some(stored) = self.fields.get(&definition.name) {
            *stored.write() = std::mem::take(&mut *index.write());
        }
        Ok(())
    }

    /// Checks that an index can be created, and writes what is pending, with the end of a last line
    /// that has none.
    pub(crate) fn prepare_index(&self, definition: &IndexDefinition) -> Result<()> {
        let mut writer = self.writer_of_new(definition)?;
        self.flush_as(&mut writer)
    }

    /// The writer, with nothing pending, for an index whose name is not taken.
    fn writer_of_new(&self, definition: &IndexDefinition) -> Result<MutexGuard<'_, Writer>> {
        definition.check()?;
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.look_at_others(&mut writer)?;
        self.follow_definitions(&mut writer)?;
        let name = &definition.name;
        let is_taken = |known: &IndexDefinition| known.name.eq_ignore_ascii_case(name);
        if writer.manifest.indexes.iter().any(is_taken) {
            return Err(Error::IndexExists {
                collection: self.handle.collection().to_owned(),
                index: name.clone(),
            });
        }
        self.append_pending(&mut writer)?;
        self.prepare_to_append(&mut writer)?;
        Ok(writer)
    }

    fn add_definition(&self, writer: &mut Writer, definition: &IndexDefinition) -> Result<()> {
        self.follow_manifest(writer)?;
        let known = writer.manifest.indexes.iter();
        writer.manifest.indexes = known.chain([definition]).cloned().collect();
        self.store_definitions(writer)?;
        self.flush_as(writer)
    }

    /// Drops an index with its files.
    pub(crate) fn drop_index(&self, name: &str) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.look_at_others(&mut writer)?;
        self.follow_manifest(&mut writer)?;
        let indexes = &writer.manifest.indexes;
        let Some(dropped) = indexes.iter().find(|known| known.name == name) else {
            return Err(Error::NoIndex {
                collection: self.handle.collection().to_owned(),
                index: name.to_owned(),
            });
        };
        let method = dropped.method;
        writer.manifest.indexes =
            indexes.iter().filter(|known| known.name != name).cloned().collect();
        self.store_definitions(&mut writer)?;
        match method {
            IndexMethod::Columns => self.drop_columns(name),
            IndexMethod::Fields => self
                .remove_field_files(|file| crate::field_index::file_number(name, file).is_some()),
        }
        self.flush_as(&mut writer)
    }

    /// Sets whether statements may name paths that no document has.
    pub(crate) fn set_open_paths(&self, open: bool) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.look_at_others(&mut writer)?;
        self.append_pending(&mut writer)?;
        self.prepare_to_append(&mut writer)?;
        self.follow_manifest(&mut writer)?;
        writer.manifest.has_open_paths = open;
        self.store_definitions(&mut writer)?;
        self.flush_as(&mut writer)
    }

    /// Whether they may.
    pub(crate) fn has_open_paths(&self) -> Result<bool> {
        self.handle.check_open()?;
        Ok(self.handle.has_open_paths())
    }

    /// Stores the definitions of the writer's manifest, in a way that other processes notice.
    fn store_definitions(&self, writer: &mut Writer) -> Result<()> {
        self.save_manifest(writer)?;
        writer.manifest_stat =
            self.files.stat(&crate::manifest::manifest_path(&self.paths.folder)).ok();
        self.follow_settings(&writer.manifest);
        writer.index.renew();
        writer.unpublished = true;
        self.open_data(writer).map(drop)
    }

    /// Refuses to create a unique index over documents with the same values.
    fn refuse_duplicates(&self, writer: &mut Writer, index: &FieldIndex) -> Result<()> {
        let found = self.repairing_field(Some(writer), index, |view| {
            self.duplicates(view, index, 1).map(|found| found.into_iter().next())
        })?;
        match found {
            None => Ok(()),
            Some(twins) => Err(self.duplicate_error(index, twins.id, &twins.line, &twins.key)),
        }
    }

    /// Writes what is missing from every index, if it is much. An error costs only time, later.
    pub(in crate::store) fn publish_fields(&self, writer: &mut Writer) {
        if !self.fields.has_any() || writer.guard.is_none() {
            return;
        }
        for index in self.fields.all().iter() {
            if let Err(error) = self.build(Some(writer), index, &mut |_, _| true) {
                self.handle.notice([Notice(format!(
                    "{}: index {:?} is not up to date: {error}",
                    self.paths.data.display(),
                    index.definition.name
                ))]);
            }
        }
    }

    /// As [`LineStore::publish_fields`], for an index with many lines in memory.
    pub(super) fn publish_if_large(&self, writer: &mut Writer, index: &FieldIndex) -> Result<()> {
        if index.read().recent.len() < RECENT_MAX {
            return Ok(());
        }
        self.build(Some(writer), index, &mut |_, _| true)
    }

    /// Brings the files of an index up to the end of the data. The writer's lock is held, by this
    /// writer or by a batch.
    pub(super) fn build(
        &self,
        mut writer: Option<&mut Writer>,
        index: &FieldIndex,
        progress: Progress<'_>,
    ) -> Result<()> {
        let mut is_new = false;
        let is_small = self.options.has_small_field_files();
        let few_bytes = if is_small { FEW_BYTES_SMALL } else { FEW_BYTES };
        loop {
            let piece = self.repairing_field(writer.as_deref_mut(), index, |view| {
                let state = &view.index.state;
                let mut covered = index.write();
                if covered.generation != Some(view.generation) {
                    *covered = self.proven(view, index)?;
                }
                let (from, end) = (covered.files_end(), state.data_end);
                // A last line without an end may still change.
                if end.saturating_sub(from) <= few_bytes || state.unterminated == 1 {
                    return Ok(None);
                }
                drop(covered);
                self.read_piece(view, index, from, end, progress).map(Some)
            })?;
            let Some((header, parts)) = piece else { break };
            self.write_piece(index, header, &parts, progress)
                .map_err(|fault| self.field_error(fault))?;
            is_new = true;
            if !progress(header.end, header.horizon) {
                return Err(Error::Cancelled);
            }
        }
        if is_new {
            if !self.merge_files(writer.as_deref_mut(), index, progress)? {
                return self.build(writer, index, progress);
            }
            self.remove_unused_files(index);
        }
        Ok(())
    }

    /// Reads the keys of the next piece with all cores.
    fn read_piece(
        &self,
        view: &crate::store::view::View,
        index: &FieldIndex,
        from: u64,
        end: u64,
        progress: Progress<'_>,
    ) -> Result<(Header, Vec<Collected>), FieldFault> {
        let is_small = self.options.has_small_field_files();
        let size = if is_small { PIECE_SIZE_SMALL } else { PIECE_SIZE };
        let aligned = (from + size) / BLOCK_SIZE * BLOCK_SIZE;
        let stop = if aligned >= end { end } else { aligned };
        let stamp = stamp(view, end)?.ok_or(IndexFault::Line { offset: end })?;
        let header = Header {
            fingerprint: index.definition.fingerprint(),
            start: from,
            end: stop,
            horizon: end,
            stamp,
            ..Header::default()
        };
        let goes_on = &mut |read| progress(from + read, end);
        let parts = collect(view, &index.definition, from, stop, goes_on)?;
        Ok((header, parts))
    }

    fn write_piece(
        &self,
        index: &FieldIndex,
        header: Header,
        parts: &[Collected],
        progress: Progress<'_>,
    ) -> Result<(), FieldFault> {
        let file = self.write_field_file(index, header, |writer| {
            let mut places = vec![0; parts.len()];
            for count in 1_usize.. {
                if count.is_multiple_of(STEP_COUNT) && !progress(header.end, header.horizon) {
                    return Err(FieldFault::Cancelled);
                }
                let heads = parts.iter().zip(&places).enumerate();
                let heads = heads.filter_map(|(number, (part, &at))| Some((number, part.get(at)?)));
                let least = heads.min_by(|(_, one), (_, other)| {
                    (one.0, one.2.offset()).cmp(&(other.0, other.2.offset()))
                });
                let Some((number, (key, is_cut, entry))) = least else { return Ok(()) };
                writer.push(key, is_cut, entry)?;
                places[number] += 1;
            }
            Ok(())
        })?;
        let mut covered = index.write();
        covered.files.push(Arc::new(file));
        covered.without_recent();
        Ok(())
    }

    fn write_field_file(
        &self,
        index: &FieldIndex,
        header: Header,
        fill: impl FnOnce(&mut crate::field_index::FileWriter) -> Result<(), FieldFault>,
    ) -> Result<FieldFile, FieldFault> {
        let name = &index.definition.name;
        let numbers = self.field_file_names(name)?;
        let number = numbers.iter().map(|(_, number)| number + 1).max().unwrap_or(1);
        write_file(&*self.files, &self.paths.meta, file_name(name, number), header, fill)
    }

    /// Merges the newest files while their sizes are similar. `false` if one of them is damaged, so
    /// that the index must be built again.
    fn merge_files(
        &self,
        writer: Option<&mut Writer>,
        index: &FieldIndex,
        progress: Progress<'_>,
    ) -> Result<bool> {
        let files = index.read().files.clone();
        let counts: Vec<u64> = files.iter().map(|file| file.header.entry_count).collect();
        let first = files.len() - runs_to_merge(&counts);
        if files.len() - first < 2 {
            return Ok(true);
        }
        for file in &files[first..] {
            if file.check_all().is_err() {
                self.discard(index, &file.name, file.inode); // damage must not spread
                return Ok(false);
            }
        }
        let merged = self.repairing_field(writer, index, |view| {
            let (oldest, newest) = (files[first].header, files[files.len() - 1].header);
            let horizon = view.index.state.data_end;
            let stamp = stamp(view, horizon)?.ok_or(IndexFault::Line { offset: horizon })?;
            let header = Header { end: newest.end, horizon, stamp, ..oldest };
            let mut cursor = Cursor::new(
                &files[first..],
                &Arc::default(),
                &KeyRange::all(),
                Direction::Forward,
            )?;
            let (mut text, mut count) = (Vec::new(), 0_usize);
            self.write_field_file(index, header, |writer| {
                while let Some((key, is_cut, entry)) = cursor.next()? {
                    count += 1;
                    if count.is_multiple_of(STEP_COUNT) && !progress(horizon, horizon) {
                        return Err(FieldFault::Cancelled);
                    }
                    if view.is_newest_in_file(entry, &mut text)? {
                        writer.push(key, is_cut, entry)?;
                    }
                }
                Ok(())
            })
        })?;
        let mut covered = index.write();
        if covered.files.len() == files.len() {
            covered.files.truncate(first);
            covered.files.push(Arc::new(merged));
        }
        Ok(true)
    }

    /// Removes files that an index no longer uses. Open readers keep theirs.
    fn remove_unused_files(&self, index: &FieldIndex) {
        let used: Vec<String> = index.read().files.iter().map(|file| file.name.clone()).collect();
        let name = &index.definition.name;
        self.remove_field_files(|file| {
            crate::field_index::file_number(name, file).is_some()
                && !used.iter().any(|used| used == file)
        });
    }

    /// Removes all files of all indexes; the next flush builds them again.
    pub(in crate::store) fn discard_fields(&self) {
        self.fields.all().iter().for_each(|index| Self::forget(index));
        self.remove_field_files(|_| true);
    }

    fn remove_field_files(&self, is_unused: impl Fn(&str) -> bool) {
        let Ok(entries) = self.files.read_directory(&self.paths.meta) else { return };
        for entry in entries {
            if is_field_file(&entry.name) && is_unused(&entry.name) {
                let _ = self.files.remove_file(&self.paths.meta.join(&entry.name));
            }
        }
    }

    /// Builds an index at a lookup, if nobody else is writing. Returns whether it did.
    pub(super) fn build_now(&self, index: &FieldIndex) -> Result<bool> {
        if self.handle.check_writable().is_err() {
            return Ok(false);
        }
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(false) };
        if writer.batch_owner.is_some() {
            return Ok(false);
        }
        let held = writer.guard.is_some();
        if !held {
            let Ok(guard) = self.lock.try_acquire() else { return Ok(false) };
            writer.guard = Some(guard);
        }
        let built = self.build(Some(&mut writer), index, &mut |_, _| true);
        if !held {
            writer.guard = None;
        }
        built.map(|()| true)
    }

    /// Forgets what is known of an index, for instance after a fault.
    pub(super) fn forget(index: &FieldIndex) {
        *index.write() = Covered::default();
    }
}

/// The keys of the live lines that start in `[from, stop)`: sorted in each part, with the parts in
/// file order. `goes_on` receives the bytes read so far, and stops the work by `false`.
pub(super) fn collect(
    view: &crate::store::view::View,
    definition: &IndexDefinition,
    from: u64,
    stop: u64,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Collected>, FieldFault> {
    use rayon::prelude::*;
    let mut parts = parts(view, from, stop)?;
    let mut read_size = 0;
    loop {
        let steps: Vec<u64> = match &mut parts[..] {
            [part] => vec![part.step(definition)?],
            all => {
                all.par_iter_mut().map(|part| part.step(definition)).collect::<Result<_, _>>()?
            }
        };
        let size: u64 = steps.iter().sum();
        if size == 0 {
            break;
        }
        read_size += size;
        if !goes_on(read_size) {
            return Err(FieldFault::Cancelled);
        }
    }
    match &mut parts[..] {
        [part] => part.keys.sort(),
        all => all.par_iter_mut().for_each(|part| part.keys.sort()),
    }
    Ok(parts.into_iter().map(|part| part.keys).collect())
}

/// The share of one thread.
struct Part {
    lines: ScanState,
    keys: Collected,
}

impl Part {
    /// Reads the next few megabytes. Returns the bytes of lines read; none at the end.
    fn step(&mut self, definition: &IndexDefinition) -> Result<u64, IndexFault> {
        let mut extractor = Extractor::new([definition]);
        let mut size = 0;
        while size < STEP_SIZE
            && let Some((offset, line)) = self.lines.next_located()?
        {
            size += line.len() as u64 + 1;
            if let Some(entry) = entry_at(offset, line) {
                extractor.keys(line, |_, key, _| self.keys.push(key, entry));
            }
        }
        Ok(size)
    }
}

/// Divides the lines that start in `[from, stop)` among threads.
fn parts(view: &crate::store::view::View, from: u64, stop: u64) -> Result<Vec<Part>, IndexFault> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = threads.min(THREADS_MAX) as u64;
    let count = ((stop - from) / PART_SIZE_MIN).clamp(1, threads);
    let start_of = |part: u64| {
        let start = from + (stop - from) / count * part;
        if part == 0 { from } else { start / BLOCK_SIZE * BLOCK_SIZE }
    };
    let ranges = (0..count).map(|part| {
        let end = if part + 1 == count { stop } else { start_of(part + 1) };
        ScanState::range(view, start_of(part), end)
    });
    let part = |lines| Part { lines, keys: Collected::default() };
    ranges.filter_map(|lines| lines.map(|lines| lines.map(part)).transpose()).collect()
}
