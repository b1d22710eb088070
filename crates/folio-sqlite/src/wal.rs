//! The write-ahead log of a database: pages that are newer than the file's.
//!
//! A log is a header and frames, each a page after 24 bytes. A frame is valid if its salts equal
//! the header's, its checksum continues that of the previous frame, and it is followed by a frame
//! that ends a commit, or is one. Later frames were never committed, or are left from an earlier
//! use of the log. A log with an invalid header is ignored, as in SQLite: then only the file
//! counts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::File;

use crate::bytes::{be32, read_up_to};
use crate::error::{Error, Result};

const HEADER_SIZE: usize = 32;
const FRAME_HEADER_SIZE: usize = 24;

/// The lowest bit of the magic number gives the byte order of checksums.
const MAGIC: u32 = 0x377f_0682;

/// The committed pages of a log.
#[derive(Debug)]
pub(crate) struct Wal {
    pub(crate) path: PathBuf,
    file: Arc<dyn File>,
    header: [u8; HEADER_SIZE],
    pub(crate) page_size: usize,
    /// The size of the database after the last commit, in pages.
    pub(crate) page_count: u32,
    /// The offset of the newest content of each page.
    offsets: HashMap<u32, u64>,
}

impl Wal {
    /// Reads the committed pages; `None` if there are none.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn open(path: &Path, file: Arc<dyn File>) -> Result<Option<Self>> {
        let mut header = [0; HEADER_SIZE];
        let Some(start) = read_header(path, &*file, &mut header)? else { return Ok(None) };
        let page_size = start.page_size;
        let mut wal = Self {
            path: path.to_owned(),
            file,
            header,
            page_size,
            page_count: 0,
            offsets: HashMap::new(),
        };
        wal.read_frames(start)?;
        Ok((wal.page_count > 0).then_some(wal))
    }

    fn read_frames(&mut self, start: Start) -> Result<()> {
        let mut sum = start.sum;
        let mut frame = vec![0; FRAME_HEADER_SIZE + self.page_size];
        let mut pending = Vec::new();
        let mut offset = HEADER_SIZE as u64;
        while read_up_to(&*self.file, &self.path, &mut frame, offset)? == frame.len() {
            let number = be32(&frame, 0);
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER_SIZE..]);
            let is_of_this_turn = frame[8..16] == self.header[16..24];
            if number == 0 || !is_of_this_turn || !sum.is(&frame[16..24]) {
                break;
            }
            pending.push((number, offset + FRAME_HEADER_SIZE as u64));
            let page_count = be32(&frame, 4);
            if page_count > 0 {
                self.page_count = page_count;
                self.offsets.extend(pending.drain(..));
            }
            offset += frame.len() as u64;
        }
        Ok(())
    }

    /// Reads a page, if the log has it.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn read(&self, number: u32, page: &mut [u8]) -> Result<Option<usize>> {
        let Some(offset) = self.offsets.get(&number) else { return Ok(None) };
        read_up_to(&*self.file, &self.path, page, *offset).map(Some)
    }

    /// The number of frames.
    pub(crate) fn frame_count(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// Whether the frames are still those read first: when the log is reused, its salts change.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn is_unchanged(&self) -> Result<bool> {
        let mut header = [0; HEADER_SIZE];
        read_up_to(&*self.file, &self.path, &mut header, 0)?;
        Ok(header == self.header)
    }
}

/// The content of a valid header.
struct Start {
    page_size: usize,
    sum: Checksum,
}

fn read_header(
    path: &Path,
    file: &dyn File,
    header: &mut [u8; HEADER_SIZE],
) -> Result<Option<Start>> {
    if read_up_to(file, path, header, 0)? < HEADER_SIZE {
        return Ok(None);
    }
    let page_size = be32(header, 8);
    let is_size = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
    let mut sum = Checksum { is_big: header[3] & 1 == 1, one: 0, two: 0 };
    sum.add(&header[..24]);
    let is_log = be32(header, 0) & !1 == MAGIC && is_size && sum.is(&header[24..32]);
    if is_log && be32(header, 4) != 3_007_000 {
        return Err(Error::file(
            path,
            folio_types::ErrorCode::Unsupported,
            "the log has a newer format; let SQLite write it into the file: `sqlite3 FILE 'pragma \
             wal_checkpoint(truncate)'`",
        ));
    }
    Ok(is_log.then_some(Start { page_size: page_size as usize, sum }))
}

/// The running checksum of a log.
struct Checksum {
    is_big: bool,
    one: u32,
    two: u32,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let number = |bytes: &[u8; 4]| match self.is_big {
            true => u32::from_be_bytes(*bytes),
            false => u32::from_le_bytes(*bytes),
        };
        let (mut one, mut two) = (self.one, self.two);
        for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            one = one.wrapping_add(number(&pair[0])).wrapping_add(two);
            two = two.wrapping_add(number(&pair[1])).wrapping_add(one);
        }
        (self.one, self.two) = (one, two);
    }

    /// Whether the checksum equals the stored one.
    fn is(&self, bytes: &[u8]) -> bool {
        be32(bytes, 0) == self.one && be32(bytes, 4) == self.two
    }
}
