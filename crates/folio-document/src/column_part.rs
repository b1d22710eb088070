//! A part of a columns index: a file with the lines of one range in columns, and a note about it.
//!
//! ```text
//! meta/columns-<name>/part-<n>.parquet    columns, in a format that is not known here
//! meta/folio.columns-<name>-<n>.idx       the note: which lines, which bytes
//! ```
//!
//! The folder has nothing but columns, so that other programs can read it as it is. The note:
//!
//! ```text
//! "FOLIOCOL" version fingerprint start end stamp(3) row_count left_out_count file_size
//!            lists_sum offsets_sum checksum                     8 bytes each
//! left_out   the lines of the range that were dead and have no row    4 bytes each, from `start`
//! sums       the checksum of each 64 KiB of the file of columns       8 bytes each
//! offsets    the line of each row                                     4 bytes each, from `start`
//! ```
//!
//! The note appears last, by rename. The file of columns is mapped, and a block of it is compared
//! with its sum before its first use; the offsets are compared when a row has to be left out.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{FileSystem, Map, OpenMode, SummedMap};
use xxhash_rust::xxh3::xxh3_64;

use crate::frame::{self, Header as _, word_at};
use crate::whole_file::create_derived;

/// The end of the names of files of columns.
const EXTENSION: &str = ".parquet";

/// What a part is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    /// That of the definition.
    pub(crate) fingerprint: u64,
    /// The lines that start in `start..end` are covered.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// What proves that these lines are in the data file.
    pub(crate) stamp: [u64; 3],
    pub(crate) row_count: u64,
    /// The rest is set where the files are written.
    pub(crate) left_out_count: u64,
    pub(crate) file_size: u64,
    pub(crate) lists_sum: u64,
    pub(crate) offsets_sum: u64,
}

impl frame::Header<11> for Header {
    const MAGIC: &'static [u8; 8] = b"FOLIOCOL";
    const VERSION: u64 = 1;

    fn words(&mut self) -> [&mut u64; 11] {
        let [head, blocks, tail] = &mut self.stamp;
        [
            &mut self.fingerprint,
            &mut self.start,
            &mut self.end,
            head,
            blocks,
            tail,
            &mut self.row_count,
            &mut self.left_out_count,
            &mut self.file_size,
            &mut self.lists_sum,
            &mut self.offsets_sum,
        ]
    }
}

/// Where the files of a part are.
#[derive(Debug, Clone)]
pub(crate) struct PartPaths {
    pub(crate) note: PathBuf,
    pub(crate) columns: PathBuf,
}

impl PartPaths {
    pub(crate) fn new(meta: &Path, index: &str, number: u64) -> Self {
        Self {
            note: meta.join(format!("folio.columns-{index}-{number}.idx")),
            columns: folder(meta, index).join(columns_name(number)),
        }
    }
}

/// The name of a file of columns.
fn columns_name(number: u64) -> String {
    format!("part-{number:06}{EXTENSION}")
}

/// The folder of the files of columns.
pub(crate) fn folder(meta: &Path, index: &str) -> PathBuf {
    meta.join(format!("columns-{index}"))
}

/// Whether a name under `meta/` is that of a note of any index.
pub(crate) fn is_note(name: &str) -> bool {
    name.starts_with("folio.columns-") && (name.ends_with(".idx") || name.ends_with(".idx.new"))
}

/// Whether a name under `meta/` is that of a folder of columns.
pub(crate) fn is_folder(name: &str) -> bool {
    name.starts_with("columns-")
}

/// The number of a note of this index; `None` for other names.
pub(crate) fn note_number(index: &str, name: &str) -> Option<u64> {
    let rest = name.strip_prefix("folio.columns-")?.strip_suffix(".idx")?;
    let (of, number) = rest.rsplit_once('-')?;
    (of == index).then(|| number.parse().ok()).flatten()
}

/// The number of a file of columns.
pub(crate) fn columns_number(name: &str) -> Option<u64> {
    name.strip_prefix("part-")?.strip_suffix(EXTENSION)?.parse().ok()
}

/// A part of a columns index, open for reading.
pub struct ColumnPart {
    pub(crate) number: u64,
    pub(crate) header: Header,
    /// Of the note, which tells two parts of one number apart.
    inode: u64,
    note: Map,
    columns: Arc<SummedMap>,
}

impl ColumnPart {
    /// Opens a part; `None` if its files are not as they were written, as far as sizes and the note
    /// show.
    pub(crate) fn open(
        files: &dyn FileSystem,
        paths: &PartPaths,
        number: u64,
    ) -> io::Result<Option<Self>> {
        let note = files.open(&paths.note, OpenMode::Read)?;
        let inode = note.stat_at_open()?.inode;
        let columns = match files.open(&paths.columns, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let opened = Self::from_maps(number, inode, note.map()?, columns.map()?);
        if opened.is_none() {
            for file in [note, columns] {
                file.forget(0, file.stat_at_open()?.size);
            }
        }
        Ok(opened)
    }

    fn from_maps(number: u64, inode: u64, note: Map, columns: Map) -> Option<Self> {
        let header = Header::from_bytes(&note)?;
        let size = header.end.checked_sub(header.start).filter(|size| *size <= RANGE_SIZE_MAX)?;
        let lists = lists_end(&header)?;
        let whole = lists.checked_add(usize::try_from(header.row_count).ok()?.checked_mul(4)?)?;
        let is_whole = size > 0
            && note.len() == whole
            && columns.len() as u64 == header.file_size
            && xxh3_64(&note[Header::SIZE..lists]) == header.lists_sum;
        if !is_whole {
            return None;
        }
        let sums = Header::SIZE + header.left_out_count as usize * 4..lists;
        let sums = note[sums].chunks_exact(8).map(|sum| word_at(sum, 0)).collect();
        let columns = Arc::new(SummedMap::new(columns, sums)?);
        Some(Self { number, header, inode, note, columns })
    }

    /// The number of rows, those of lines that died since included.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.header.row_count
    }

    /// The name of its file of columns.
    #[must_use]
    pub fn file_name(&self) -> String {
        columns_name(self.number)
    }

    /// The size of the lines it is a copy of.
    #[must_use]
    pub fn line_size(&self) -> u64 {
        self.header.end - self.header.start
    }

    /// Its file of columns.
    #[must_use]
    pub fn columns(&self) -> &Arc<SummedMap> {
        &self.columns
    }

    /// Whether damage was found. The part is not used again.
    pub(crate) fn is_damaged(&self) -> bool {
        self.columns.is_damaged()
    }

    /// Notes that the part cannot be read.
    pub(crate) fn mark_damaged(&self) {
        self.columns.mark_damaged();
    }

    /// Whether two are the same files.
    pub(crate) fn is_same(&self, number: u64, inode: u64) -> bool {
        (self.number, self.inode) == (number, inode)
    }

    /// Bytes of both files.
    pub(crate) fn size(&self) -> u64 {
        (self.note.len() + self.columns.bytes().len()) as u64
    }

    /// The lines without a row, ascending.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = u64> + '_ {
        let end = Header::SIZE + self.header.left_out_count as usize * 4;
        self.note[Header::SIZE..end].chunks_exact(4).map(|bytes| self.offset_in(bytes))
    }

    fn offset_in(&self, bytes: &[u8]) -> u64 {
        let offset = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        self.header.start + u64::from(offset)
    }

    /// The rows of lines, given by ascending offsets; `None` if one has no row, or the part is
    /// damaged.
    pub(crate) fn rows_of(&self, lines: &[u64]) -> Option<Vec<u32>> {
        if lines.is_empty() {
            return Some(Vec::new());
        }
        let offsets = self.offsets()?;
        let row_of = |line: &u64| {
            let row = self.row_from(offsets, *line);
            let found = offsets.get(row * 4..row * 4 + 4)?;
            (self.offset_in(found) == *line).then_some(row as u32)
        };
        lines.iter().map(row_of).collect()
    }

    /// The rows of the lines that start in a range; `None` if the part is damaged.
    pub(crate) fn rows_in(&self, lines: &Range<u64>) -> Option<Range<u32>> {
        let offsets = self.offsets()?;
        let row = |line: u64| self.row_from(offsets, line) as u32;
        Some(row(lines.start)..row(lines.end))
    }

    /// The lines of the rows, which were compared with their sum; `None` if they are damaged.
    fn offsets(&self) -> Option<&[u8]> {
        let offsets = &self.note[lists_end(&self.header)?..];
        if xxh3_64(offsets) != self.header.offsets_sum {
            self.mark_damaged();
            return None;
        }
        Some(offsets)
    }

    /// The first row whose line starts at an offset or after it.
    fn row_from(&self, offsets: &[u8], line: u64) -> usize {
        let (mut low, mut high) = (0, self.header.row_count as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            let is_before = self.offset_in(&offsets[middle * 4..middle * 4 + 4]) < line;
            if is_before { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// More bytes of lines than this do not fit in one part.
pub(crate) const RANGE_SIZE_MAX: u64 = u32::MAX as u64;

/// Where the offsets begin in a note.
fn lists_end(header: &Header) -> Option<usize> {
    let left_out = usize::try_from(header.left_out_count).ok()?.checked_mul(4)?;
    let sums = usize::try_from(SummedMap::sum_count(header.file_size)).ok()?.checked_mul(8)?;
    Header::SIZE.checked_add(left_out)?.checked_add(sums)
}

/// Writes the files of a part, and opens it. `left_out` and `offsets` count from the start of its
/// range.
pub(crate) fn write_part(
    files: &dyn FileSystem,
    paths: &PartPaths,
    number: u64,
    header: Header,
    (left_out, offsets): (&[u32], &[u32]),
    columns: &[u8],
) -> io::Result<Option<ColumnPart>> {
    let words = |list: &[u32]| -> Vec<u8> { list.iter().flat_map(|at| at.to_le_bytes()).collect() };
    let mut lists = words(left_out);
    lists.extend(SummedMap::sums(columns).flat_map(u64::to_le_bytes));
    let offsets = words(offsets);
    let header = Header {
        row_count: offsets.len() as u64 / 4,
        left_out_count: left_out.len() as u64,
        file_size: columns.len() as u64,
        lists_sum: xxh3_64(&lists),
        offsets_sum: xxh3_64(&offsets),
        ..header
    };
    place(files, &paths.columns, columns)?;
    let note = [header.to_bytes(), lists, offsets].concat();
    if let Err(error) = place(files, &paths.note, &note) {
        let _ = files.remove_file(&paths.columns);
        return Err(error);
    }
    ColumnPart::open(files, paths, number)
}

/// Writes a file beside its name, and renames it.
fn place(files: &dyn FileSystem, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(".new");
    let staged = PathBuf::from(staged);
    let file = create_derived(files, &staged)?;
    let placed = file.write_at(bytes, 0).and_then(|()| files.rename(&staged, path));
    if placed.is_err() {
        let _ = files.remove_file(&staged);
    }
    placed
}

impl fmt::Debug for ColumnPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ColumnPart({}, {:?})", self.number, self.header)
    }
}

#[cfg(test)]
mod tests {
    use folio_file::MemoryFileSystem;

    use super::*;
    use crate::index::BLOCK_SIZE;

    #[test]
    fn every_flip_and_cut_of_either_file_is_found() {
        let files = MemoryFileSystem::new();
        let meta = Path::new("/c/meta");
        files.create_directory(&folder(meta, "i")).unwrap();
        let paths = PartPaths::new(meta, "i", 7);
        let header = Header { fingerprint: 3, start: 100, end: 190, ..Header::default() };
        let columns: Vec<u8> = (0..BLOCK_SIZE + 40).map(|at| at as u8).collect();
        let lists: (&[u32], &[u32]) = (&[4, 60], &[0, 9, 33]);
        let part = write_part(&files, &paths, 7, header, lists, &columns).unwrap().unwrap();
        assert_eq!(part.left_out().collect::<Vec<_>>(), [104, 160]);
        assert_eq!(part.rows_of(&[100, 133]), Some(vec![0, 2]));
        assert_eq!(part.rows_of(&[101]), None);
        let columns_of = part.columns();
        assert!(columns_of.is_intact(0..BLOCK_SIZE + 40));
        assert!(!columns_of.is_intact(0..BLOCK_SIZE + 41));
        let note = files.read(&paths.note).unwrap();
        let is_right = |note: &[u8], columns: &[u8]| {
            let part = ColumnPart::from_maps(7, 1, note.to_vec().into(), columns.to_vec().into());
            part.is_some_and(|part| {
                part.columns().is_intact(0..part.header.file_size)
                    && part.rows_of(&[109]) == Some(vec![1])
            })
        };
        assert!(is_right(&note, &columns));
        for at in 0..note.len() {
            let mut flipped = note.clone();
            flipped[at] ^= 16;
            assert!(!is_right(&flipped, &columns), "byte {at} of the note");
            assert!(!is_right(&note[..at], &columns), "{at} bytes of the note");
        }
        for at in [0, 1, BLOCK_SIZE as usize - 1, BLOCK_SIZE as usize, columns.len() - 1] {
            let mut flipped = columns.clone();
            flipped[at] ^= 1;
            assert!(!is_right(&note, &flipped), "byte {at} of the columns");
            assert!(!is_right(&note, &columns[..at]), "{at} bytes of the columns");
        }
    }
}
