//! Single puts and deletes, the list of ids, and flushing.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};

use folio_file::{File, FileKind, OpenMode};
use folio_json::push_pretty_fields;
use serde_json::Value;

use super::order::{self, Listing};
use super::paths::check_file_id;
use super::read::Reading;
use super::{FileStore, Writer};
use crate::error::{Error, Result};
use crate::line::{self, EncodedLine};
use crate::manifest::Manifest;
use crate::options::Durability;
use crate::report::Put;
use crate::whole_file;

/// Where new ids are written.
#[derive(Debug)]
pub(super) enum List {
    /// Not searched for yet.
    Unknown,
    /// Nowhere: the collection was found without a list.
    ByName,
    /// At the end of this file.
    At { path: PathBuf, file: Option<Arc<dyn File>>, is_unsynced: bool },
}

impl FileStore {
    /// Puts a document.
    pub(crate) fn put_line(&self, line: EncodedLine<'_>) -> Result<Put> {
        check_file_id(line.id())?;
        let mut writer = self.ready_writer()?;
        let existed = self.has_file(&writer, line.id())?;
        self.put_file(&mut writer, line, existed)?;
        Ok(if existed { Put::Replaced } else { Put::Inserted })
    }

    /// Puts a document unless its id has one. Returns whether it did.
    pub(crate) fn insert_line(&self, line: EncodedLine<'_>) -> Result<bool> {
        check_file_id(line.id())?;
        let mut writer = self.ready_writer()?;
        if self.has_file(&writer, line.id())? {
            return Ok(false);
        }
        self.put_file(&mut writer, line, false)?;
        Ok(true)
    }

    /// Replaces a document by the line that `make` returns, in one step: no other writer comes
    /// between. `None` if there is no document.
    pub(crate) fn update(
        &self,
        id: &str,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        let mut writer = self.ready_writer()?;
        let mut older = Vec::new();
        if !self.get(id, &mut older)? {
            return Ok(None);
        }
        let text = make(&older)?;
        self.put_file(&mut writer, EncodedLine::new(id, &text)?, true)?;
        Ok(Some(text))
    }

    /// Deletes a document. Returns whether it existed.
    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        let mut writer = self.ready_writer()?;
        self.delete_as(&mut writer, id)
    }

    /// Deletes a document and returns its line, in one step: no other writer comes between.
    pub(crate) fn take(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let mut writer = self.ready_writer()?;
        let mut line = Vec::new();
        let is_taken = self.get(id, &mut line)? && self.delete_as(&mut writer, id)?;
        Ok(is_taken.then_some(line))
    }

    fn delete_as(&self, writer: &mut Writer, id: &str) -> Result<bool> {
        match self.has_file(writer, id) {
            Ok(true) => {}
            // A file whose name differs by case belongs to another document.
            Ok(false) | Err(Error::Invalid(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        let path = self.paths.document(id);
        self.files.remove_file(&path).map_err(Error::io("remove", &path))?;
        self.note_removal(writer, id);
        self.sync_if_every_put(writer)?;
        Ok(true)
    }

    /// Makes all previous writes durable and releases the writer's lock.
    pub(crate) fn flush(&self) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.flush_as(&mut writer)
    }

    /// Like `flush`, but skips an open batch, and a turn, which must keep the lock.
    pub(crate) fn flush_pending(&self) -> Result<()> {
        if self.handle.check_writable().is_err() {
            return Ok(());
        }
        let mut writer = self.any_writer();
        let is_busy = writer.batch_owner.is_some() || writer.turn.is_some();
        if is_busy { Ok(()) } else { self.flush_as(&mut writer) }
    }

    pub(super) fn flush_as(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_none() {
            return Ok(()); // nothing was written since the last flush
        }
        self.take_lock(writer)?;
        if writer.list_is_stale {
            self.tidy_list(writer)?;
        }
        self.sync(writer)?;
        writer.guard = None;
        Ok(())
    }

    /// Stores the schema that a first document has set.
    pub(crate) fn set_schema(&self, schema: Value) -> Result<()> {
        let mut writer = self.any_writer();
        let had_lock = writer.guard.is_some();
        self.take_lock(&mut writer)?;
        self.follow_manifest(&mut writer)?;
        writer.manifest.strict = true;
        writer.manifest.schema = Some(schema);
        if !had_lock {
            writer.guard = None; // the following put takes it, and checks for changes first
        }
        if self.is_created() { self.save_manifest(&mut writer) } else { Ok(()) }
    }

    /// Sets whether statements may name paths that no document has.
    pub(crate) fn set_open_paths(&self, open: bool) -> Result<()> {
        let mut writer = self.ready_writer()?;
        self.follow_manifest(&mut writer)?;
        writer.manifest.has_open_paths = open;
        self.save_manifest(&mut writer)?;
        self.handle.set_open_paths(open);
        self.flush_as(&mut writer)
    }

    /// Reads the manifest again: another process may have changed it.
    fn follow_manifest(&self, writer: &mut Writer) -> Result<()> {
        let manifest = Manifest::load(&*self.files, &self.paths.folder)?;
        if manifest.is_stored {
            writer.manifest = manifest;
        }
        Ok(())
    }

    /// Whether they may. Another process finds out when it opens the collection.
    pub(crate) fn has_open_paths(&self) -> Result<bool> {
        self.handle.check_open()?;
        Ok(self.handle.has_open_paths())
    }

    /// The writer, holding the database's lock, with no batch open and none pending.
    pub(super) fn ready_writer(&self) -> Result<MutexGuard<'_, Writer>> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        let had_lock = writer.guard.is_some();
        self.take_lock(&mut writer)?;
        if !had_lock {
            let begun = self.begin_writing(&mut writer);
            if begun.is_err() {
                writer.guard = None;
            }
            begun?;
        }
        let pending = self.view().pending.clone();
        if let Some(batch) = pending {
            self.apply(&mut writer, &batch, false)?;
        }
        Ok(writer)
    }

    /// Takes the writer's lock, or checks that the one it has still protects the collection.
    fn take_lock(&self, writer: &mut Writer) -> Result<()> {
        let database = &self.paths.database;
        if let Some(guard) = &writer.guard {
            return self.handle.check_lock(guard);
        }
        self.files.create_directory(database).map_err(Error::io("create", database))?;
        let guard = self.lock.acquire(self.options.lock_timeout.get());
        writer.guard = Some(guard.map_err(Error::lock(database))?);
        Ok(())
    }

    /// Called with the lock held. Creates what is missing, finishes what was interrupted, and
    /// continues from what others have left.
    fn begin_writing(&self, writer: &mut Writer) -> Result<()> {
        let paths = &self.paths;
        if self.files.stat(&paths.docs).is_err() || self.files.stat(&paths.meta).is_err() {
            for folder in [&paths.meta, &paths.docs] {
                self.files.create_directory(folder).map_err(Error::io("create", folder))?;
            }
            if !writer.manifest.is_stored {
                self.save_manifest(writer)?;
            }
        }
        // On a file system that folds case, the folder is also found under this name.
        writer.folds_case = self.files.stat(&paths.folder.join("DOCS")).is_ok();
        writer.list = List::Unknown;
        // An earlier writer may have been killed before syncing its names, and ours depend on them.
        writer.names_unsynced = true;
        self.recover(writer)?;
        let mut view = self.view();
        (view.order, view.listed) = (None, None);
        Ok(())
    }

    fn save_manifest(&self, writer: &mut Writer) -> Result<()> {
        // Synced at every durability: a torn manifest prevents opening the collection.
        writer.manifest.save(&*self.files, &self.paths.folder, true)
    }

    /// Whether an id has a file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file belongs to an id that differs by case.
    pub(super) fn has_file(&self, writer: &Writer, id: &str) -> Result<bool> {
        let stat = self.stat_document(&self.paths.document(id))?;
        let is_there = stat.is_some_and(|stat| stat.kind == FileKind::File);
        if is_there && writer.folds_case && !self.order()?.contains(id) {
            return Err(Error::Invalid(format!(
                "document id {id:?} differs only in case from an existing one, and this file \
                 system treats both as one file; choose another id"
            )));
        }
        Ok(is_there)
    }

    fn put_file(&self, writer: &mut Writer, line: EncodedLine<'_>, existed: bool) -> Result<()> {
        // First, so that a document always has its place in the order.
        if !existed {
            self.note_ids(writer, &[line.id()])?;
        }
        self.write_document(writer, line.id(), line.text())?;
        self.sync_if_every_put(writer)
    }

    /// Replaces the content of a document's file, atomically.
    pub(super) fn write_document(&self, writer: &mut Writer, id: &str, text: &[u8]) -> Result<()> {
        let mut bytes = Vec::with_capacity(text.len() + text.len() / 4 + 16);
        push_pretty_fields(text, &mut bytes);
        if bytes.len() > line::MAX_LINE_SIZE {
            bytes.clear(); // too large only by white space: the line fits
            bytes.extend_from_slice(text);
        }
        let (unfinished, path) = (&self.paths.unfinished, self.paths.document(id));
        let written = self.write_unfinished(&bytes).and_then(|()| {
            self.files.rename(unfinished, &path).map_err(Error::io("replace", &path))
        });
        if written.is_err() {
            // Best effort: the next document overwrites the leftover file.
            let _ = self.files.remove_file(unfinished);
        }
        written?;
        writer.names_unsynced = true;
        if let Some(order) = &mut self.view().order {
            order.insert(id);
        }
        Ok(())
    }

    fn write_unfinished(&self, bytes: &[u8]) -> Result<()> {
        let path = &self.paths.unfinished;
        let file = self.files.open(path, OpenMode::Write).map_err(Error::io("create", path))?;
        file.truncate(0).map_err(Error::io("write", path))?;
        file.write_at(bytes, 0).map_err(Error::io("write", path))?;
        if self.is_synced() {
            file.sync_data().map_err(|error| self.handle.poison(path, error))?;
        }
        Ok(())
    }

    /// Updates the state after a document's file was removed.
    pub(super) fn note_removal(&self, writer: &mut Writer, id: &str) {
        writer.names_unsynced = true;
        writer.list_is_stale = true;
        if let Some(order) = &mut self.view().order {
            order.remove(id);
        }
    }

    /// Adds new ids to the list.
    pub(super) fn note_ids(&self, writer: &mut Writer, ids: &[&str]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.find_list(writer)?;
        let List::At { path, file, is_unsynced } = &mut writer.list else { return Ok(()) };
        let mut text = String::new();
        let list = match file {
            Some(list) => Arc::clone(list),
            None => {
                if self.files.stat(path).is_err() {
                    writer.directories_unsynced = true;
                }
                let list =
                    self.files.open(path, OpenMode::Append).map_err(Error::io("open", path))?;
                if !ends_line(&*list).map_err(Error::io("read", path))? {
                    text.push('\n');
                }
                Arc::clone(file.insert(list))
            }
        };
        for id in ids {
            text.push_str(id);
            text.push('\n');
        }
        *is_unsynced = true;
        if let Err(error) = list.append(text.as_bytes()) {
            *file = None; // a part may have been written: check the end again
            return Err(Error::io("append to", path)(error));
        }
        Ok(())
    }

    /// Finds the list, or decides where to create one: only a collection without documents gets
    /// one.
    fn find_list(&self, writer: &mut Writer) -> Result<()> {
        if !matches!(writer.list, List::Unknown) {
            return Ok(());
        }
        let [in_meta, _] = self.paths.order_places();
        let path = match order::find_list(&*self.files, &self.paths)? {
            Some(path) => Some(path),
            None if Listing::read(&*self.files, &self.paths)?.order.count() == 0 => Some(in_meta),
            None => None,
        };
        writer.list = match path {
            Some(path) => List::At { path, file: None, is_unsynced: false },
            None => List::ByName,
        };
        Ok(())
    }

    /// Writes the list again, without ids that no longer have a file.
    pub(super) fn tidy_list(&self, writer: &mut Writer) -> Result<()> {
        self.find_list(writer)?;
        if let List::At { path, file, is_unsynced } = &mut writer.list {
            let listing = Listing::read(&*self.files, &self.paths)?;
            let text = listing.order.to_text();
            whole_file::replace(&*self.files, path, text.as_bytes(), self.is_synced())?;
            *file = None;
            *is_unsynced = false;
        }
        writer.list_is_stale = false;
        Ok(())
    }

    fn sync_if_every_put(&self, writer: &mut Writer) -> Result<()> {
        match self.options.durability {
            Durability::EveryPut => self.sync(writer),
            Durability::OnFlush | Durability::None => Ok(()),
        }
    }

    /// Makes names and the list durable. The documents already are.
    pub(super) fn sync(&self, writer: &mut Writer) -> Result<()> {
        if !self.is_synced() {
            return Ok(());
        }
        if let List::At { path, file: Some(file), is_unsynced } = &mut writer.list
            && *is_unsynced
        {
            file.sync_data().map_err(|error| self.handle.poison(path, error))?;
            *is_unsynced = false;
        }
        let sync_names = |folder: &PathBuf| {
            self.files.sync_directory(folder).map_err(|error| self.handle.poison(folder, error))
        };
        if writer.directories_unsynced {
            self.paths.directories().iter().try_for_each(sync_names)?;
        } else if writer.names_unsynced {
            sync_names(&self.paths.docs)?;
        }
        (writer.names_unsynced, writer.directories_unsynced) = (false, false);
        Ok(())
    }

    /// Whether the id has a readable document in its file.
    pub(super) fn is_readable(&self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        Ok(matches!(self.read_file(id, text)?, Reading::Document))
    }
}

/// Whether the next append starts a line.
fn ends_line(file: &dyn File) -> std::io::Result<bool> {
    let size = file.stat()?.size;
    let mut last = [b'\n'];
    if size > 0 {
        file.read_at(&mut last, size - 1)?;
    }
    Ok(last == *b"\n")
}
