//! Cuts one file into pieces with several threads.
//!
//! If one lock covered reading and cutting, a second thread would wait for it. So each thread takes
//! the next piece of the file. A piece of text goes from one line that opens a struct to another,
//! and is cut by its thread alone. Its rows are returned once all earlier pieces are known to end
//! between two values, which is usually the case by then. A piece of binary is any range. Threads
//! read their pieces and walk over them from a likely value start concurrently, and join the
//! results in turn ([`Relay`]). If a piece does not fit (a line inside a string began with a brace,
//! something is malformed, symbols are defined), this method ends, and the rest of the file is cut
//! in order.

use crate::bind::Bound;
use crate::files::File;
use folio_ion::shred::Block;
use folio_ion::{Ahead, Format, Limits, Place, Relay, next_opening_line};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The size of a piece: it stays in a core's cache until its values are read.
const PIECE_SIZE: u64 = 512 << 10;

/// Bytes to search for the line that begins a piece: in a first and a second attempt.
const LOOKS: [usize; 2] = [4 << 10, 256 << 10];

/// How often a thread polls for its turn before it sleeps: some hundred microseconds. Another
/// thread is about to finish, and a wake-up takes as long.
const LOOKS_AT_TURN: usize = 1 << 13;

/// A file to be cut in pieces.
pub(crate) struct Pieces {
    /// The start of the first piece, and the end of the file.
    start: u64,
    size: u64,
    /// Binary: the walk.
    relay: Option<Mutex<Relay>>,
    limits: Limits,
    state: Mutex<State>,
    settled: Condvar,
    /// A copy of `State::settled`, to poll before sleeping.
    turn: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The next piece to cut.
    next: u64,
    /// The number of consecutive correct pieces, their end, and their rows.
    settled: u64,
    end: u64,
    rows: u64,
    /// Whether the rest is cut in order.
    failed: bool,
}

/// The next work of a thread.
pub(crate) enum Next {
    /// Read the rows of this block.
    Rows(Block),
    /// Continue in order from this place.
    InOrder(Place),
    /// The end of the file.
    End,
}

/// State of a thread between pieces.
#[derive(Default)]
pub(crate) struct Handle {
    file: Option<File>,
    look: Vec<u8>,
}

/// A piece being cut. Dropping it before it is settled ends the method for all threads.
struct Claim<'a> {
    pieces: &'a Pieces,
    number: u64,
    is_settled: bool,
}

impl Pieces {
    /// `None` if the file must be cut in order: several files, compressed ones, a single list,
    /// small ones.
    pub(crate) fn of(bound: &Bound) -> Option<Pieces> {
        let [path] = &bound.files[..] else { return None };
        let limits = bound.options.limits;
        let mut file = bound.origin.open_plain(path, bound.options.compression)?;
        let size = file.size().filter(|size| *size >= 2 * PIECE_SIZE)?;
        if bound.options.format == Format::List {
            return None;
        }
        let mut first = [0];
        file.read_at(&mut first, 0).ok()?;
        let place = match first {
            [b'{'] => None,
            [0xe0] => {
                file.seek(0).ok()?;
                Some(Place::of_binary(file, limits)?)
            }
            _ => return None,
        };
        Some(Pieces {
            start: place.as_ref().map_or(0, |place| place.offset),
            size,
            relay: place.map(|place| Mutex::new(Relay::new(place))),
            limits,
            state: Mutex::default(),
            settled: Condvar::new(),
            turn: AtomicU64::new(0),
        })
    }

    /// Cuts the next piece, reusing the memory of `recycled`.
    pub(crate) fn next(&self, bound: &Bound, handle: &mut Handle, recycled: Vec<u8>) -> Next {
        let claim = match self.claim() {
            Ok(claim) => claim,
            Err(next) => return next,
        };
        let block = match &self.relay {
            None => {
                let block = self.cut(bound, handle, claim.number, recycled);
                block.and_then(|block| claim.settle(block))
            }
            Some(relay) => {
                let bytes = self.read(bound, handle, claim.number, recycled);
                bytes.and_then(|bytes| claim.walk(relay, bytes))
            }
        };
        match block {
            Some(block) => Next::Rows(block),
            None => self.in_order(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A piece to cut, or other work.
    fn claim(&self) -> Result<Claim<'_>, Next> {
        let mut state = self.state();
        if state.failed {
            drop(state);
            return Err(self.in_order());
        }
        if state.next == (self.size - self.start).div_ceil(PIECE_SIZE) {
            return Err(Next::End);
        }
        state.next += 1;
        Ok(Claim { pieces: self, number: state.next - 1, is_settled: false })
    }

    fn in_order(&self) -> Next {
        Next::InOrder(match &self.relay {
            Some(relay) => lock(relay).place().clone(),
            None => {
                let state = self.state();
                Place { offset: state.end, rows: state.rows, ..Place::of_text() }
            }
        })
    }

    /// The thread's handle of the file.
    fn file<'h>(&self, bound: &Bound, handle: &'h mut Handle) -> Option<&'h mut File> {
        if handle.file.is_none() {
            handle.file = bound.origin.open_plain(&bound.files[0], bound.options.compression);
        }
        handle.file.as_mut()
    }

    /// The bytes of a binary piece, with space before them.
    fn read(
        &self,
        bound: &Bound,
        handle: &mut Handle,
        number: u64,
        mut bytes: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let from = self.start + number * PIECE_SIZE;
        let size = PIECE_SIZE.min(self.size - from) as usize;
        bytes.resize(Relay::ROOM + size, 0);
        let file = self.file(bound, handle)?;
        let read = file.read_at(&mut bytes[Relay::ROOM..], from).ok()?;
        (read == size).then_some(bytes)
    }

    /// The values of a piece; `None` if it does not fit or cannot be read.
    fn cut(
        &self,
        bound: &Bound,
        handle: &mut Handle,
        number: u64,
        mut bytes: Vec<u8>,
    ) -> Option<Block> {
        self.file(bound, handle)?;
        let start = self.opening_line(handle, number * PIECE_SIZE)?;
        let end = self.opening_line(handle, (number + 1) * PIECE_SIZE)?;
        bytes.resize(usize::try_from(end.checked_sub(start)?).ok()?, 0);
        let read = handle.file.as_mut()?.read_at(&mut bytes, start).ok()?;
        if read == bytes.len() { Block::of_piece(bytes, start, self.limits) } else { None }
    }

    /// The start of the first line from `offset` on that opens a struct, or the end of the file;
    /// `None` if it is beyond the search limit.
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

/// Locks despite a panic elsewhere, which leaves the protected state consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Claim<'a> {
    /// Waits until all earlier pieces are settled; `None` if one of them failed.
    fn wait(&self) -> Option<MutexGuard<'a, State>> {
        let mut looks = 0;
        while self.pieces.turn.load(Ordering::Acquire) < self.number && looks < LOOKS_AT_TURN {
            looks += 1;
            std::hint::spin_loop();
        }
        let mut state = self.pieces.state();
        while state.settled < self.number && !state.failed {
            state = self.pieces.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.failed).then_some(state)
    }

    /// Walks over a binary piece when its turn has come. No other thread may end the method
    /// meanwhile: the file would be cut in order from a place before rows that are returned here.
    fn walk(mut self, relay: &Mutex<Relay>, bytes: Vec<u8>) -> Option<Block> {
        let ahead = Ahead::of(&bytes);
        let mut state = self.wait()?;
        let is_last = (self.number + 1) * PIECE_SIZE >= self.pieces.size - self.pieces.start;
        let block = lock(relay).take(bytes, ahead, is_last)?;
        state.settled += 1;
        self.pieces.turn.store(state.settled, Ordering::Release);
        self.is_settled = true;
        drop(state);
        self.pieces.settled.notify_all();
        Some(block)
    }

    /// Waits for the earlier pieces; `None` if one of them failed, or ends elsewhere.
    fn settle(mut self, mut block: Block) -> Option<Block> {
        let mut state = self.wait()?;
        if state.end != block.offset {
            return None;
        }
        block.first_row = state.rows;
        state.settled += 1;
        self.pieces.turn.store(state.settled, Ordering::Release);
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
