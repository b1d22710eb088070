//! Cutting one text file at several places at once.
//!
//! Under one lock, cutting is what a second thread waits for. So each thread takes the next piece
//! of the file, from one line that opens a struct to another, and cuts it on its own. It hands the
//! rows out once all pieces before have turned out to end between two values, which they usually
//! have by then. One that does not (a line of a long string began with a brace, something is
//! malformed, symbols are defined) ends the method: from there on the file is cut in order.

use crate::bind::Bound;
use crate::files::File;
use folio_ion::shred::Block;
use folio_ion::{Format, Limits, next_opening_line};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of a piece: it stays in a core's cache until its values are read.
const PIECE_SIZE: u64 = 512 << 10;

/// How many bytes are searched for the line that begins a piece: a first time, and a second.
const LOOKS: [usize; 2] = [4 << 10, 256 << 10];

/// A file that is cut in pieces.
pub(crate) struct Pieces {
    size: u64,
    limits: Limits,
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Default)]
struct State {
    /// The piece to be cut next.
    next: u64,
    /// Pieces known to be right, without a gap; where they end, and their rows.
    settled: u64,
    end: u64,
    rows: u64,
    /// What is behind those is cut in order.
    failed: bool,
}

/// What a thread is to do next.
pub(crate) enum Next {
    /// Read the rows of this block.
    Rows(Block),
    /// Go on in order, from this offset, before which there are so many rows.
    InOrder(u64, u64),
    /// The file is done.
    End,
}

/// What a thread keeps between pieces.
#[derive(Default)]
pub(crate) struct Handle {
    file: Option<File>,
    look: Vec<u8>,
}

/// A piece that somebody cuts. Dropped before it is settled, it ends the method for all.
struct Claim<'a> {
    pieces: &'a Pieces,
    number: u64,
    is_settled: bool,
}

impl Pieces {
    /// `None` where the file must be cut in order: several files, compressed ones, binary,
    /// one list, small ones.
    pub(crate) fn of(bound: &Bound) -> Option<Pieces> {
        let [path] = &bound.files[..] else { return None };
        let mut file = bound.origin.open_plain(path, bound.options.compression)?;
        let size = file.size().filter(|size| *size >= 2 * PIECE_SIZE)?;
        let mut first = [0];
        let begins = file.read_at(&mut first, 0).is_ok() && first == *b"{";
        let possible = begins && bound.options.format != Format::List;
        possible.then(|| Pieces {
            size,
            limits: bound.options.limits,
            state: Mutex::default(),
            settled: Condvar::new(),
        })
    }

    /// Cuts the next piece, in the memory of `recycled`.
    pub(crate) fn next(&self, bound: &Bound, handle: &mut Handle, recycled: Vec<u8>) -> Next {
        let claim = match self.claim() {
            Ok(claim) => claim,
            Err(next) => return next,
        };
        let block = self.cut(bound, handle, claim.number, recycled);
        match block.and_then(|block| claim.settle(block)) {
            Some(block) => Next::Rows(block),
            None => self.in_order(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece to cut, or else what to do.
    fn claim(&self) -> Result<Claim<'_>, Next> {
        let mut state = self.state();
        if state.failed {
            return Err(Next::InOrder(state.end, state.rows));
        }
        if state.next == self.size.div_ceil(PIECE_SIZE) {
            return Err(Next::End);
        }
        state.next += 1;
        Ok(Claim { pieces: self, number: state.next - 1, is_settled: false })
    }

    fn in_order(&self) -> Next {
        let state = self.state();
        Next::InOrder(state.end, state.rows)
    }

    /// The values of a piece; `None` where it is none, or cannot be read.
    fn cut(
        &self,
        bound: &Bound,
        handle: &mut Handle,
        number: u64,
        mut bytes: Vec<u8>,
    ) -> Option<Block> {
        if handle.file.is_none() {
            handle.file = bound.origin.open_plain(&bound.files[0], bound.options.compression);
        }
        let start = self.opening_line(handle, number * PIECE_SIZE)?;
        let end = self.opening_line(handle, (number + 1) * PIECE_SIZE)?;
        bytes.resize(usize::try_from(end.checked_sub(start)?).ok()?, 0);
        let read = handle.file.as_mut()?.read_at(&mut bytes, start).ok()?;
        if read == bytes.len() { Block::of_piece(bytes, start, self.limits) } else { None }
    }

    /// Where the first line from `offset` on begins that opens a struct, or the file ends; `None`
    /// if that is further away than we look.
    fn opening_line(&self, handle: &mut Handle, offset: u64) -> Option<u64> {
        if offset == 0 || offset >= self.size {
            return Some(offset.min(self.size));
        }
        for look in LOOKS {
            handle.look.resize(look, 0);
            let read = handle.file.as_mut()?.read_at(&mut handle.look, offset - 1).ok()?;
            if let Some(found) = next_opening_line(&handle.look[..read], 1) {
                return Some((offset - 1 + found as u64).min(self.size));
            }
            if offset - 1 + read as u64 >= self.size {
                return Some(self.size);
            }
        }
        None
    }
}

impl Claim<'_> {
    /// Waits for the pieces before this one; `None` if one of them is none, or ends elsewhere.
    fn settle(mut self, mut block: Block) -> Option<Block> {
        let mut state = self.pieces.state();
        while state.settled < self.number && !state.failed {
            state = self.pieces.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.failed || state.end != block.offset {
            return None;
        }
        block.first_row = state.rows;
        state.settled += 1;
        state.rows += block.row_count;
        state.end += block.bytes.len() as u64;
        self.is_settled = true;
        drop(state);
        self.pieces.settled.notify_all();
        Some(block)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.pieces.state().failed = true;
            self.pieces.settled.notify_all();
        }
    }
}
