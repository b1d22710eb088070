//! Writes a database into an archive.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{FileKind, FileSystem, OpenMode, WriterLock};
use folio_json::push_pretty_fields;
use folio_types::check_collection_name;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipWriter};

use super::index::PackedIndex;
use super::layout::{member_name, root_files};
use super::stream::{Output, Sink, SinkState};
use super::unpack::parent_of;
use crate::error::{Error, Result};
use crate::files::{FilePaths, FileScan, FileStore};
use crate::line;
use crate::manifest::{FoundLayouts, Manifest};
use crate::options::{Access, CollectionOptions, Layout, Progress, Scan};
use crate::report::Notice;
use crate::store::TYPES_NAME;
use crate::{Collection, Documents, Stamp, whole_file};

/// Bytes written at once.
const WRITE_SIZE: usize = 1 << 20;

/// Larger index files are written where they arise, smaller ones at the end.
const LAST_SIZE: usize = 128 << 10;

/// The largest `folio.json` or `zds.json`.
const ROOT_FILE_LIMIT: usize = 16 << 20;

/// From this size on, a member needs the 64-bit fields of ZIP. Leaves some margin.
const LARGE_SIZE: u64 = u32::MAX as u64 - (16 << 20);

/// How an archive is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PackOptions {
    /// Deflates the members. The archive is smaller, but reading it in place must unpack into
    /// memory. Otherwise members are stored uncompressed.
    pub compress: bool,
}

/// The file of types of a collection whose packed lines have this stamp; `None` to pack none.
pub type PackedTypes<'a> = &'a dyn Fn(&str, &Stamp) -> Option<Vec<u8>>;

/// The result of packing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackReport {
    /// Collections packed.
    pub collection_count: u64,
    /// Documents packed.
    pub document_count: u64,
    /// Bytes of the archive.
    pub size: u64,
    /// Notices about the collections. Lines and files that are not documents are not packed.
    pub notices: Vec<Notice>,
}

/// Packs the database at `database` into an archive at `target`, a path of `host`. An existing
/// archive is replaced atomically and durably. Progress is in bytes of the database.
///
/// What is needed to open the archive is at its end, beside the central directory, so that it is
/// read at once from another machine.
///
/// Only live documents are packed, so the archive is compacted and the original ZDS engines read it
/// correctly. Each collection is packed as it is at that moment; writers continue. The same
/// documents give the same archive, byte for byte.
///
/// # Errors
/// Errors from opening and scanning the collections. The caller checks that the directory is a
/// database. [`Error::Cancelled`], [`Error::Io`].
pub fn pack(
    files: &Arc<dyn FileSystem>,
    database: &Path,
    host: &dyn FileSystem,
    target: &Path,
    options: &PackOptions,
    types: PackedTypes<'_>,
    progress: Progress<'_>,
) -> Result<PackReport> {
    let names = collection_names(&**files, database)?;
    let sources =
        names.iter().map(|name| Source::open(files, database, name)).collect::<Result<Vec<_>>>()?;
    let total = sources.iter().map(|source| source.size).sum();
    let archive = Archive::create(host, target, total)?;
    let mut packing = Packing::new(files, &archive, options, total, types, progress);
    let outcome = match packing.write_all(database, sources) {
        Ok(()) => packing.publish(),
        Err(error) => Err(error),
    };
    if outcome.is_err() {
        archive.remove();
    }
    outcome
}

/// The file that becomes the archive.
struct Archive<'a> {
    host: &'a dyn FileSystem,
    target: &'a Path,
    /// Where it is written: beside the target, or on the other machine at once.
    staged: PathBuf,
    output: Output,
}

impl<'a> Archive<'a> {
    /// Begins an archive of a database with this many bytes.
    fn create(host: &'a dyn FileSystem, target: &'a Path, total: u64) -> Result<Self> {
        if let Some(upload) = host.upload(target, total).map_err(Error::io("upload", target))? {
            let (staged, output) = (target.to_owned(), Output::Upload(upload));
            return Ok(Self { host, target, staged, output });
        }
        let staged = whole_file::beside(target);
        let file = host.open(&staged, OpenMode::Write).map_err(Error::io("create", &staged))?;
        file.truncate(0).map_err(Error::io("write", &staged))?;
        Ok(Self { host, target, staged, output: Output::File(file) })
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> Error {
        let action = if matches!(self.output, Output::File(_)) { "write" } else { "upload" };
        Error::io(action, &self.staged)
    }

    /// Says which range is still changed: the header of the member that is being written.
    fn hold(&self, range: &Range<u64>) -> io::Result<()> {
        match &self.output {
            Output::File(_) => Ok(()),
            Output::Upload(upload) => upload.hold(range.clone()),
        }
    }

    /// Makes the archive appear at its target, durably. Returns its size.
    fn publish(&self) -> Result<u64> {
        let (staged, target) = (&self.staged, self.target);
        let file = match &self.output {
            Output::File(file) => file,
            Output::Upload(upload) => return upload.finish().map_err(self.failed()),
        };
        file.sync_data().map_err(Error::io("sync", staged))?;
        let size = file.stat().map_err(Error::io("read", staged))?.size;
        self.host.rename(staged, target).map_err(Error::io("replace", target))?;
        let parent = parent_of(target);
        self.host.sync_directory(parent).map_err(Error::io("sync the directory", parent))?;
        Ok(size)
    }

    /// Removes what was written. An upload that is not finished leaves nothing.
    fn remove(&self) {
        if let Output::File(_) = self.output {
            // Best effort: the next packing overwrites the leftover file.
            let _ = self.host.remove_file(&self.staged);
        }
    }
}

/// The names of a database's collections, sorted.
fn collection_names(files: &dyn FileSystem, database: &Path) -> Result<Vec<String>> {
    let folder = database.join("collections");
    let entries = match files.read_directory(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(Error::io("list", &folder))?,
    };
    let is_collection =
        |name: &str, kind| kind == FileKind::Directory && check_collection_name(name).is_ok();
    let names = entries.into_iter().filter(|entry| is_collection(&entry.name, entry.kind));
    let mut names: Vec<String> = names.map(|entry| entry.name).collect();
    names.sort_unstable();
    Ok(names)
}

/// A collection to pack.
struct Source {
    name: String,
    manifest: Manifest,
    documents: Lines,
    /// Approximate size of its data, in bytes.
    size: u64,
    notices: Vec<Notice>,
}

/// The documents of a collection, in its layout.
enum Lines {
    InOneFile(Collection),
    InFiles(Arc<FileStore>),
}

impl Source {
    fn open(files: &Arc<dyn FileSystem>, database: &Path, name: &str) -> Result<Self> {
        let options = CollectionOptions { access: Access::Read, ..CollectionOptions::default() };
        let lock = Arc::new(WriterLock::new(Arc::clone(files), database.join("folio.lock")));
        let folder = database.join("collections").join(name);
        let manifest = Manifest::load(&**files, &folder)?;
        let (layout, notice) = FoundLayouts::in_folder(&**files, &folder, manifest.layout)?
            .choose(&manifest, Layout::Lines);
        let files = Arc::clone(files);
        let (documents, size) = match layout {
            Layout::Lines => {
                let collection = Collection::open(files, database, name, &options, lock)?;
                let size = collection.stats()?.data_size;
                (Lines::InOneFile(collection), size)
            }
            Layout::Files => {
                let paths = FilePaths::new(database, name);
                let store = FileStore::open(files, paths, name, &options, lock, manifest.clone())?;
                let size = store.stats()?.data_size;
                (Lines::InFiles(store), size)
            }
        };
        let notices = notice.into_iter().collect();
        Ok(Self { name: name.to_owned(), manifest, documents, size, notices })
    }
}

/// An archive being written.
struct Packing<'a> {
    files: &'a Arc<dyn FileSystem>,
    archive: &'a Archive<'a>,
    writer: ZipWriter<Sink>,
    sink: SinkState,
    /// Where the header of the open member is.
    header: Range<u64>,
    types: PackedTypes<'a>,
    options: SimpleFileOptions,
    progress: Progress<'a>,
    done: u64,
    total: u64,
    report: PackReport,
    buffer: Vec<u8>,
    /// Small members, which are written last.
    last: Vec<(String, Vec<u8>)>,
}

impl<'a> Packing<'a> {
    fn new(
        files: &'a Arc<dyn FileSystem>,
        archive: &'a Archive<'a>,
        options: &PackOptions,
        total: u64,
        types: PackedTypes<'a>,
        progress: Progress<'a>,
    ) -> Self {
        let method = match options.compress {
            true => CompressionMethod::Deflated,
            false => CompressionMethod::Stored,
        };
        let sink = SinkState::default();
        Self {
            files,
            archive,
            writer: ZipWriter::new(Sink::new(archive.output.clone(), sink.clone())),
            sink,
            header: 0..0,
            types,
            // Nothing that depends on the time or the machine: equal content gives equal bytes.
            options: SimpleFileOptions::DEFAULT
                .compression_method(method)
                .system(System::Unix)
                .unix_permissions(0o644),
            progress,
            done: 0,
            total,
            report: PackReport::default(),
            buffer: Vec::new(),
            last: Vec::new(),
        }
    }

    fn write_all(&mut self, database: &Path, sources: Vec<Source>) -> Result<()> {
        for source in sources {
            self.write_collection(source)?;
        }
        for &name in root_files() {
            let path = database.join(name);
            if let Some(bytes) = whole_file::read(&**self.files, &path, ROOT_FILE_LIMIT)? {
                self.last.push((name.to_owned(), bytes));
            }
        }
        for (name, bytes) in std::mem::take(&mut self.last) {
            self.start(&name, 0)?;
            self.write(&bytes)?;
        }
        Ok(())
    }

    fn write_collection(&mut self, source: Source) -> Result<()> {
        let before = self.done;
        let Source { name, mut manifest, documents, size, mut notices } = source;
        let count = match &documents {
            Lines::InOneFile(collection) => {
                let scan = collection.scan(Scan::new())?;
                let count = self.write_lines(&name, scan, size, before)?;
                notices.extend(collection.take_notices());
                count
            }
            Lines::InFiles(store) => {
                let count = self.write_files(&name, FileScan::new(store)?, size, before)?;
                notices.extend(store.handle.take_notices());
                count
            }
        };
        if manifest.is_stored {
            manifest.document_count = count;
            let member = member_name(&name, "meta", "manifest.json");
            self.last.push((member, manifest.to_text().into_bytes()));
        }
        self.report.collection_count += 1;
        self.report.document_count += count;
        self.report.notices.append(&mut notices);
        self.advance(before + size)
    }

    fn write_lines(
        &mut self,
        name: &str,
        mut scan: Documents,
        size: u64,
        before: u64,
    ) -> Result<u64> {
        self.start(&member_name(name, "meta", "data.jsonl"), size)?;
        let mut count = 0;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut index = PackedIndex::new();
        while let Some(line) = scan.next_line()? {
            index.add_line(line)?;
            buffer.extend_from_slice(line);
            buffer.push(b'\n');
            count += 1;
            if buffer.len() >= WRITE_SIZE {
                index.add_bytes(&buffer);
                self.write(&buffer)?;
                buffer.clear();
                self.advance(before + scan.progress().0)?;
            }
        }
        index.add_bytes(&buffer);
        self.write(&buffer)?;
        buffer.clear();
        self.buffer = buffer;
        self.write_index(name, index)?;
        Ok(count)
    }

    /// Writes what may be large of an index and types, and leaves the rest for the end of the
    /// archive.
    fn write_index(&mut self, name: &str, index: PackedIndex) -> Result<()> {
        let types = (self.types)(name, &index.stamp());
        let types = types.map(|bytes| (TYPES_NAME.to_owned(), bytes));
        for (file, bytes) in index.finish()?.into_iter().chain(types) {
            let member = member_name(name, "meta", &file);
            if bytes.len() <= LAST_SIZE {
                self.last.push((member, bytes));
                continue;
            }
            self.start(&member, bytes.len() as u64)?;
            bytes.chunks(WRITE_SIZE).try_for_each(|piece| self.write(piece))?;
        }
        Ok(())
    }

    fn write_files(
        &mut self,
        name: &str,
        mut scan: FileScan,
        size: u64,
        before: u64,
    ) -> Result<u64> {
        let mut order = String::new();
        let mut count = 0;
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(line) = scan.next()? {
            let text = std::str::from_utf8(line).map_err(|_| Error::NoId)?;
            let id = line::id_of_valid_line(line).ok_or(Error::NoId)?;
            buffer.clear();
            push_pretty_fields(text.as_bytes(), &mut buffer);
            order.push_str(&id);
            order.push('\n');
            let member = member_name(name, "docs", &format!("{id}.json"));
            self.start(&member, buffer.len() as u64)?;
            self.write(&buffer)?;
            count += 1;
            let (gone_through, all) = scan.progress();
            self.advance(before + size * gone_through / all.max(1))?;
        }
        buffer.clear();
        self.buffer = buffer;
        self.start(&member_name(name, "meta", "order.ids"), order.len() as u64)?;
        self.write(order.as_bytes())?;
        Ok(count)
    }

    /// Starts a member of about this size. This ends the member before, whose header is then
    /// complete.
    fn start(&mut self, name: &str, size: u64) -> Result<()> {
        let options = self.options.large_file(size >= LARGE_SIZE);
        let before = self.sink.size();
        let started = self
            .archive
            .hold(&(self.header.start..u64::MAX))
            .and_then(|()| self.writer.start_file(name, options).map_err(io::Error::from))
            .and_then(|()| self.sink.check());
        self.header = before..self.sink.size();
        started.and_then(|()| self.archive.hold(&self.header)).map_err(self.archive.failed())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.writer.write_all(bytes);
        written.and_then(|()| self.sink.check()).map_err(self.archive.failed())
    }

    fn advance(&mut self, done: u64) -> Result<()> {
        self.done = done.clamp(self.done, self.total.max(self.done));
        if (self.progress)(self.done, self.total) { Ok(()) } else { Err(Error::Cancelled) }
    }

    /// Finishes the archive, and makes it appear.
    fn publish(mut self) -> Result<PackReport> {
        let finished = self.writer.finish().map(drop).map_err(io::Error::from);
        finished.and_then(|()| self.sink.check()).map_err(self.archive.failed())?;
        self.report.size = self.archive.publish()?;
        Ok(self.report)
    }
}
