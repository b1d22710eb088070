//! One record of the log.
//!
//! ```text
//!  0  checksum     u64  XXH3 of the rest, seeded with the generation's salt
//!  8  lsn          u64  its own position
//! 16  previous     u64  the checksum of the record before it, or the salt
//! 24  durable      u64  everything before this position was durable when this was written
//! 32  size         u32  of the record with this header; the next begins at a multiple of 8
//! 36  page         u32  images: the page
//! 40  kind         u8   1 image, 2 commit
//! 41  0            u8
//! 42  hole offset  u16  images: where bytes were left out,
//! 44  hole size    u16  and how many; they are 0
//! 46  session      u16  drawn by each process that opens the log to write
//! 48  …                 the page without its hole, or the commit
//! ```
//!
//! A commit has the [`State`], the position (u64) from which all images belong to it, the number
//! (u32, and 4 bytes 0) of its earlier images, and for each of these the page (u32) and the
//! record's position (u64). Earlier images were written before the transaction ended, when the
//! buffer pool was full; only the listed ones count.
//!
//! The session distinguishes what two processes wrote at the same position. Records of a lost
//! transaction may be after the end of the log. If the transaction is repeated to the byte, they
//! would continue it, unless something in the new records differs.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::ids::{Lsn, PageId};
use crate::page::{get_u16, get_u32, get_u64, hole, put_u16, put_u32, put_u64};
use crate::state::{PAGE_COUNT_MAX, STATE_SIZE, State};

pub(crate) const RECORD_HEADER_SIZE: usize = 48;
const COMMIT_FIXED_SIZE: usize = STATE_SIZE + 16;
const LISTED_SIZE: usize = 12;

const IMAGE: u8 = 1;
const COMMIT: u8 = 2;

/// The size of a record in the log, with padding.
pub(crate) fn padded(size: usize) -> usize {
    size.next_multiple_of(8)
}

/// The end of the log, for the next writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPosition {
    pub(crate) end: Lsn,
    /// Checksum of the last record, or the salt.
    pub(crate) chain: u64,
}

/// Records to be written to the log.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    start: Lsn,
    chain: u64,
    salt: u64,
    session: u16,
    durable: Lsn,
}

impl Batch {
    /// An empty batch that reuses memory from an earlier one, see [`Batch::into_memory`].
    pub(crate) fn new(
        position: LogPosition,
        salt: u64,
        session: u16,
        durable: Lsn,
        mut memory: Vec<u8>,
    ) -> Self {
        let LogPosition { end: start, chain } = position;
        memory.clear();
        Self { bytes: memory, start, chain, salt, session, durable }
    }

    /// The memory, for the next batch.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn start(&self) -> Lsn {
        self.start
    }

    pub(crate) fn position(&self) -> LogPosition {
        LogPosition { end: Lsn(self.start.0 + self.bytes.len() as u64), chain: self.chain }
    }

    /// Reserves space for this many bytes.
    pub(crate) fn expect(&mut self, size: usize) {
        self.bytes.reserve(size);
    }

    /// Adds a page. The returned record position must be stored in the page.
    pub(crate) fn add_image(&mut self, page: &[u8], id: PageId) -> Lsn {
        let hole = hole(page);
        let lsn = self.begin(IMAGE);
        let header = self.bytes.len() - RECORD_HEADER_SIZE;
        put_u32(&mut self.bytes, header + 36, id.0);
        put_u16(&mut self.bytes, header + 42, hole.start as u16);
        put_u16(&mut self.bytes, header + 44, hole.len() as u16);
        self.bytes.extend_from_slice(&page[..hole.start]);
        self.bytes.extend_from_slice(&page[hole.end..]);
        self.finish(header);
        lsn
    }

    /// Adds the record that commits a transaction.
    pub(crate) fn add_commit(&mut self, commit: &Commit) {
        self.begin(COMMIT);
        let header = self.bytes.len() - RECORD_HEADER_SIZE;
        let mut fixed = [0; COMMIT_FIXED_SIZE];
        commit.state.write(&mut fixed);
        put_u64(&mut fixed, STATE_SIZE, commit.images_from.0);
        let listed = u32::try_from(commit.listed.len()).expect("page numbers have 31 bits");
        put_u32(&mut fixed, STATE_SIZE + 8, listed);
        self.bytes.extend_from_slice(&fixed);
        for (page, lsn) in &commit.listed {
            self.bytes.extend_from_slice(&page.0.to_le_bytes());
            self.bytes.extend_from_slice(&lsn.0.to_le_bytes());
        }
        self.finish(header);
    }

    fn begin(&mut self, kind: u8) -> Lsn {
        let lsn = self.position().end;
        let mut header = [0; RECORD_HEADER_SIZE];
        put_u64(&mut header, 8, lsn.0);
        put_u64(&mut header, 16, self.chain);
        put_u64(&mut header, 24, self.durable.0);
        header[40] = kind;
        put_u16(&mut header, 46, self.session);
        self.bytes.extend_from_slice(&header);
        lsn
    }

    fn finish(&mut self, header: usize) {
        let size = self.bytes.len() - header;
        let size_field = u32::try_from(size).expect("a record is smaller than 4 GiB");
        put_u32(&mut self.bytes, header + 32, size_field);
        self.chain = xxh3_64_with_seed(&self.bytes[header + 8..], self.salt);
        let chain = self.chain;
        put_u64(&mut self.bytes, header, chain);
        self.bytes.resize(header + padded(size), 0);
    }
}

/// The content of a commit record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) state: State,
    /// Images from here on belong to the transaction.
    pub(crate) images_from: Lsn,
    /// Earlier images that belong to it too.
    pub(crate) listed: Vec<(PageId, Lsn)>,
}

/// A record that was read, with a valid checksum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'b> {
    bytes: &'b [u8],
}

/// The content of a record.
#[derive(Debug)]
pub(crate) enum Content {
    Image(PageId),
    Commit(Commit),
}

impl<'b> Record<'b> {
    /// The record at the start of `bytes`, if it has this position and salt.
    pub(crate) fn parse(bytes: &'b [u8], lsn: Lsn, salt: u64) -> Option<Self> {
        if bytes.len() < RECORD_HEADER_SIZE || get_u64(bytes, 8) != lsn.0 {
            return None;
        }
        let size = get_u32(bytes, 32) as usize;
        if size < RECORD_HEADER_SIZE || size > bytes.len() {
            return None;
        }
        let bytes = &bytes[..size];
        (xxh3_64_with_seed(&bytes[8..], salt) == get_u64(bytes, 0)).then_some(Self { bytes })
    }

    /// Whether these bytes look like the header of a record at a position; not verified.
    pub(crate) fn follows(header: &[u8], position: LogPosition) -> bool {
        get_u64(header, 8) == position.end.0 && get_u64(header, 16) == position.chain
    }

    /// The size in the header, for reading the rest; not verified.
    pub(crate) fn claimed_size(header: &[u8]) -> usize {
        get_u32(header, 32) as usize
    }

    pub(crate) fn lsn(self) -> Lsn {
        Lsn(get_u64(self.bytes, 8))
    }

    pub(crate) fn end(self) -> Lsn {
        Lsn(self.lsn().0 + padded(self.bytes.len()) as u64)
    }

    pub(crate) fn checksum(self) -> u64 {
        get_u64(self.bytes, 0)
    }

    pub(crate) fn previous(self) -> u64 {
        get_u64(self.bytes, 16)
    }

    pub(crate) fn durable(self) -> Lsn {
        Lsn(get_u64(self.bytes, 24))
    }

    /// The record's content; `None` when it is invalid.
    pub(crate) fn content(self) -> Option<Content> {
        match self.bytes[40] {
            IMAGE => Some(Content::Image(page(get_u32(self.bytes, 36))?)),
            COMMIT => Some(Content::Commit(self.commit()?)),
            _ => None,
        }
    }

    fn commit(self) -> Option<Commit> {
        let body = &self.bytes[RECORD_HEADER_SIZE..];
        if body.len() < COMMIT_FIXED_SIZE {
            return None;
        }
        let listed_count = get_u32(body, STATE_SIZE + 8) as usize;
        let listed = &body[COMMIT_FIXED_SIZE..];
        if listed.len() != listed_count.checked_mul(LISTED_SIZE)? {
            return None;
        }
        Some(Commit {
            state: State::read(body)?,
            images_from: Lsn(get_u64(body, STATE_SIZE)),
            listed: listed
                .chunks_exact(LISTED_SIZE)
                .map(|entry| Some((page(get_u32(entry, 0))?, Lsn(get_u64(entry, 4)))))
                .collect::<Option<_>>()?,
        })
    }

    /// Restores an image's page.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn unpack(self, id: PageId, page: &mut [u8]) -> Result<(), String> {
        let body = &self.bytes[RECORD_HEADER_SIZE..];
        let start = usize::from(get_u16(self.bytes, 42));
        let size = usize::from(get_u16(self.bytes, 44));
        if self.bytes[40] != IMAGE || get_u32(self.bytes, 36) != id.0 {
            return Err(format!("the log record at {} is not an image of page {id}", self.lsn()));
        }
        if body.len() + size != page.len() || start > body.len() {
            return Err(format!("the image of page {id} in the log has the wrong size"));
        }
        page[..start].copy_from_slice(&body[..start]);
        page[start..start + size].fill(0);
        page[start + size..].copy_from_slice(&body[start..]);
        crate::page::check_layout(page)
    }
}

/// A valid page number.
fn page(number: u32) -> Option<PageId> {
    (1..=PAGE_COUNT_MAX).contains(&number).then_some(PageId(number))
}
