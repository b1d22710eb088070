//! What is fetched of a file, and how far ahead of its readers.
//!
//! A read that begins where an earlier request ended goes on with a scan. Each request of a scan is
//! larger than the one before, up to a full one. From then on pieces are fetched ahead, by threads
//! of their own, while the reader goes on with the first of them.
//!
//! **A piece is asked for once.** All that is asked for is a piece of the list, so a second reader
//! waits for it, and has the error if it fails ahead of a reader. Who comes later asks again.
//!
//! **A piece stays until its last block is read.** The cache of blocks never has what was fetched
//! ahead, so it cannot drop it: it gives up room for it, and takes blocks as they are read.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use folio_file::RemoteError;
use folio_types::{WAIT_SLICE, is_wait_over};

use crate::cache::{Ahead, BLOCK_SIZE, Cache, Room};

/// About the most that a scan asks for at once. A server takes time for each request, and one
/// connection is slower than several.
const REQUEST_SIZE: u64 = 8 << 20;

/// A full request is at most this fraction of the cache.
const CACHE_SHARE: u64 = 8;

/// How much more a scan asks for each time: where nothing says how far it goes, and where it was
/// told.
const GROWTH: u64 = 4;
const GROWTH_TOLD: u64 = 8;

/// The most that a scan asks for if there is no room for what it has not read.
const REQUEST_SIZE_SMALL: u64 = 1 << 20;

/// Pieces that are fetched ahead at the same time.
const AHEAD_COUNT: usize = 8;

/// Pieces of all scans: what is read, and what is fetched ahead.
const PIECE_COUNT: usize = 6;

/// Pieces of a scan when its first full request is made. One more with each that was read.
const DEPTH_FIRST: usize = 2;

/// Scans of one file that go on beside each other.
const SCAN_COUNT: usize = 16;

/// Reads of others, of all files, after which a scan is given up, and after which it seems to have
/// ended.
const PATIENCE: u64 = 1024;
const PATIENCE_SHORT: u64 = 64;

/// A part of the file that was asked for.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) range: Range<u64>,
    state: Mutex<State>,
    arrived: Condvar,
    /// Room in the cache's limit, while it is here.
    room: Option<Room>,
}

#[derive(Debug)]
enum State {
    Asked,
    Here(Arc<Vec<u8>>),
    /// With the error of who fetched it for others.
    Failed(Option<io::Error>),
}

impl Piece {
    fn new(range: Range<u64>, room: Option<Room>) -> Arc<Self> {
        let (state, arrived) = (Mutex::new(State::Asked), Condvar::new());
        Arc::new(Self { range, state, arrived, room })
    }

    /// Waits for the bytes; `None` if who was to fetch them did not.
    ///
    /// # Errors
    /// They could not be fetched, or what waits has to end.
    pub(crate) fn wait(&self) -> io::Result<Option<Arc<Vec<u8>>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                State::Here(bytes) => return Ok(Some(Arc::clone(bytes))),
                State::Failed(Some(error)) => return Err(copy_of(error)),
                State::Failed(None) => return Ok(None),
                State::Asked if is_wait_over() => return Err(RemoteError::end()),
                State::Asked => {}
            }
            let waited = self.arrived.wait_timeout(state, WAIT_SLICE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether it stays until it is read. Others go into the cache at once.
    pub(crate) fn is_kept(&self) -> bool {
        self.room.is_some()
    }

    /// Takes over from one who has failed.
    fn ask_again(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let has_failed = matches!(*state, State::Failed(_));
        if has_failed {
            *state = State::Asked;
        }
        has_failed
    }

    fn settle(&self, new: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.arrived.notify_all();
    }
}

/// The duty to fetch a piece. One that is dropped has failed, so nobody waits for ever.
#[derive(Debug)]
pub(crate) struct Duty(Option<Arc<Piece>>);

impl Duty {
    fn new(piece: &Arc<Piece>) -> Self {
        Self(Some(Arc::clone(piece)))
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.0.as_ref().map_or(0..0, |piece| piece.range.clone())
    }

    pub(crate) fn fulfil(mut self, bytes: Arc<Vec<u8>>) {
        if let Some(piece) = self.0.take() {
            piece.settle(State::Here(bytes));
        }
    }

    /// Says why it failed to those who wait for it.
    pub(crate) fn fail(mut self, error: io::Error) {
        if let Some(piece) = self.0.take() {
            piece.settle(State::Failed(Some(error)));
        }
    }
}

/// The same error, for another reader.
fn copy_of(error: &io::Error) -> io::Error {
    match RemoteError::is(error) {
        true => RemoteError::io(error.kind(), error.to_string()),
        false => io::Error::new(error.kind(), error.to_string()),
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        if let Some(piece) = self.0.take() {
            piece.settle(State::Failed(None));
        }
    }
}

/// Where a block is that is not in the cache.
#[derive(Debug)]
pub(crate) enum Found {
    /// It was asked for.
    Asked(Arc<Piece>),
    /// It is to be fetched, and what others fetch ahead.
    Duty { piece: Arc<Piece>, own: Duty, ahead: Vec<Duty> },
}

/// What a reader wants.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    /// Bytes, from the start of a block to the end of another.
    pub(crate) range: Range<u64>,
    /// How far the reader goes on, if it has said so.
    pub(crate) end: Option<u64>,
}

/// A reader that goes on.
#[derive(Debug, Default)]
struct Scan {
    /// Where the last request ends, and how large one was to be.
    end: u64,
    size: u64,
    /// How far it goes.
    stop: u64,
    pieces: VecDeque<Arc<Piece>>,
    depth: usize,
    used: u64,
}

/// The scans of a file.
#[derive(Debug)]
pub(crate) struct Scans {
    file_size: u64,
    /// A full request.
    request_size: u64,
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    /// The newest last.
    scans: Vec<Scan>,
    /// What is asked for and goes into the cache.
    brief: Vec<Arc<Piece>>,
    /// The reads of all files, when this one was read last.
    now: u64,
}

impl Ahead for Mutex<List> {
    fn give_up(&self, read_count: u64) {
        // Who has it gives up by itself.
        if let Ok(mut list) = self.try_lock() {
            list.give_up(read_count);
        }
    }
}

impl Scans {
    pub(crate) fn new(file_size: u64, cache: &Cache) -> Self {
        let share = cache.limit() as u64 / CACHE_SHARE;
        let request_size = whole_blocks(share.min(REQUEST_SIZE)).max(BLOCK_SIZE);
        let list: Arc<Mutex<List>> = Arc::default();
        let own: Weak<Mutex<List>> = Arc::downgrade(&list);
        cache.add_ahead(own);
        Self { file_size, request_size, list }
    }

    /// Who fetches the first block of what is wanted.
    pub(crate) fn find(&self, cache: &Arc<Cache>, wish: &Wish) -> Found {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let start = wish.range.start;
        if let Some(piece) = list.piece_at(start).map(Arc::clone) {
            return match piece.ask_again() {
                true => Found::Duty { own: Duty::new(&piece), ahead: Vec::new(), piece },
                false => Found::Asked(piece),
            };
        }
        list.give_up(cache.read_count());
        let next = list.next_piece(start);
        let needed = wish.range.end.min(next) - start;
        let at = list.scans.iter().position(|scan| scan.end == start);
        let mut scan = at.map(|at| list.scans.remove(at)).unwrap_or_default();
        let growth = if wish.end.is_some() { GROWTH_TOLD } else { GROWTH };
        scan.stop = wish.end.unwrap_or(u64::MAX).min(self.file_size);
        let left = whole_blocks_of(scan.stop.min(next).saturating_sub(start));
        let goal = (growth * scan.size).min(self.request_size);
        let room = match goal == self.request_size {
            true => {
                let size = even(left, self.share(&list)).max(needed);
                Room::take(cache, size as usize).map(|room| (size, room))
            }
            false => None,
        };
        let (size, room) = match room {
            Some((size, room)) => (size, Some(room)),
            None => {
                let size = match goal == self.request_size {
                    true => goal.min(REQUEST_SIZE_SMALL),
                    false => goal,
                };
                (size.min(left).max(needed), None)
            }
        };
        let piece = Piece::new(start..(start + size).min(self.file_size), room);
        scan.end = piece.range.end;
        scan.size = goal.max(needed);
        scan.used = list.now;
        let own = Duty::new(&piece);
        let mut ahead = Vec::new();
        if piece.is_kept() {
            scan.pieces.push_back(Arc::clone(&piece));
            scan.depth = scan.depth.max(DEPTH_FIRST);
            ahead = self.look_ahead(cache, &list, &mut scan);
        } else {
            list.brief.push(Arc::clone(&piece));
        }
        list.note(scan);
        Found::Duty { piece, own, ahead }
    }

    /// Notes what was read, and says what is to be fetched ahead from now on.
    pub(crate) fn note_read(&self, cache: &Arc<Cache>, read: Range<u64>) -> Vec<Duty> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.now = cache.note_read();
        let overlaps =
            |piece: &Arc<Piece>| piece.range.start < read.end && read.start < piece.range.end;
        let Some(at) = list.scans.iter().position(|scan| scan.pieces.iter().any(overlaps)) else {
            return Vec::new();
        };
        let mut scan = list.scans.remove(at);
        let before = scan.pieces.len();
        scan.pieces.retain(|piece| !overlaps(piece) || piece.range.end > read.end);
        scan.depth += before - scan.pieces.len();
        scan.used = list.now;
        let ahead = self.look_ahead(cache, &list, &mut scan);
        list.note(scan);
        ahead
    }

    /// Notes where bytes end that were found elsewhere.
    pub(crate) fn note_found(&self, range: &Range<u64>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let used = list.now;
        list.scans.retain(|scan| scan.end != range.start || !scan.pieces.is_empty());
        let size = range.end - range.start;
        list.note(Scan { end: range.end, size, stop: self.file_size, used, ..Scan::default() });
    }

    /// Whether a block was asked for.
    pub(crate) fn has(&self, offset: u64) -> bool {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.piece_at(offset).is_some()
    }

    /// Removes a piece without room of its own, once the cache has it or it could not be fetched.
    pub(crate) fn forget(&self, piece: &Arc<Piece>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.brief.retain(|other| !Arc::ptr_eq(other, piece));
        for scan in &mut list.scans {
            scan.pieces.retain(|other| !Arc::ptr_eq(other, piece));
        }
    }

    /// Drops the pieces that have a part of a range. Who reads one of them has its bytes all the same.
    pub(crate) fn forget_range(&self, range: &Range<u64>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let is_elsewhere =
            |piece: &Arc<Piece>| piece.range.end <= range.start || range.end <= piece.range.start;
        list.brief.retain(is_elsewhere);
        for scan in &mut list.scans {
            scan.pieces.retain(is_elsewhere);
        }
    }

    /// The next pieces of a scan, which is not in the list.
    fn look_ahead(&self, cache: &Arc<Cache>, list: &List, scan: &mut Scan) -> Vec<Duty> {
        let size = self.share(list);
        let depth = scan.depth.min((PIECE_COUNT / (self.others(list) + 1)).max(DEPTH_FIRST));
        let stop = scan.stop.min(list.next_piece(scan.end));
        let mut asked = list.asked_count();
        let mut duties = Vec::new();
        while scan.pieces.len() < depth && scan.end < stop && asked < AHEAD_COUNT {
            let size = even(stop - scan.end, size);
            let Some(room) = Room::take(cache, size as usize) else { break };
            let piece = Piece::new(scan.end..(scan.end + size).min(self.file_size), Some(room));
            scan.end = piece.range.end;
            duties.push(Duty::new(&piece));
            scan.pieces.push_back(piece);
            asked += 1;
        }
        duties
    }

    /// A full request of a scan, of which each should have two.
    fn share(&self, list: &List) -> u64 {
        let pieces = DEPTH_FIRST * (self.others(list) + 1);
        let size = self.request_size * PIECE_COUNT as u64 / pieces as u64;
        whole_blocks(size.min(self.request_size)).max(BLOCK_SIZE)
    }

    /// Scans in the list that have grown and go on.
    fn others(&self, list: &List) -> usize {
        let goes_on =
            |scan: &&Scan| scan.size >= self.request_size && scan.used + PATIENCE_SHORT > list.now;
        list.scans.iter().filter(goes_on).count()
    }
}

/// The size of a request of about `size` where so much is left: pieces of one size, so that the last
/// one is no request for a little.
fn even(left: u64, size: u64) -> u64 {
    let count = ((left + size / 2) / size).max(1);
    whole_blocks_of(left.div_ceil(count)).max(BLOCK_SIZE)
}

impl List {
    fn piece_at(&self, offset: u64) -> Option<&Arc<Piece>> {
        let pieces = self.scans.iter().flat_map(|scan| &scan.pieces).chain(&self.brief);
        let mut pieces = pieces.filter(|piece| piece.range.contains(&offset));
        pieces.next()
    }

    /// Where the first piece begins at or after an offset.
    fn next_piece(&self, offset: u64) -> u64 {
        let pieces = self.scans.iter().flat_map(|scan| &scan.pieces).chain(&self.brief);
        let starts = pieces.map(|piece| piece.range.start);
        starts.filter(|start| *start >= offset).min().unwrap_or(u64::MAX)
    }

    /// Pieces that are on their way.
    fn asked_count(&self) -> usize {
        let is_asked = |piece: &&Arc<Piece>| {
            matches!(*piece.state.lock().unwrap_or_else(PoisonError::into_inner), State::Asked)
        };
        self.scans.iter().flat_map(|scan| &scan.pieces).filter(is_asked).count()
    }

    fn note(&mut self, scan: Scan) {
        if self.scans.len() >= SCAN_COUNT {
            // What only says where a request ended goes first.
            let at = self.scans.iter().position(|scan| scan.pieces.is_empty()).unwrap_or(0);
            self.scans.remove(at);
        }
        self.scans.push(scan);
    }

    /// Drops what was fetched for readers that have stopped.
    fn give_up(&mut self, read_count: u64) {
        self.now = read_count;
        let oldest = self.now.saturating_sub(PATIENCE);
        self.scans.retain(|scan| scan.pieces.is_empty() || scan.used >= oldest);
    }
}

fn whole_blocks(size: u64) -> u64 {
    size / BLOCK_SIZE * BLOCK_SIZE
}

fn whole_blocks_of(size: u64) -> u64 {
    size.div_ceil(BLOCK_SIZE) * BLOCK_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    /// A reader of 256 KiB each. Whatever it has to fetch is fetched at once.
    struct Reader<'r> {
        scans: &'r Scans,
        cache: &'r Arc<Cache>,
        /// Of the file.
        identity: u64,
        /// What was asked for.
        asked: Vec<Range<u64>>,
        /// What is on its way.
        running: Vec<Duty>,
    }

    impl Reader<'_> {
        fn read(&mut self, range: Range<u64>, end: Option<u64>) {
            let mut at = range.start;
            while at < range.end {
                if let Some(block) = self.cache.get(self.identity, at / BLOCK_SIZE) {
                    at += block.len() as u64;
                    continue;
                }
                let piece = match self.scans.find(self.cache, &Wish { range: at..range.end, end }) {
                    Found::Asked(piece) => {
                        let is_wanted = |duty: &mut Duty| duty.range() == piece.range;
                        self.running.extract_if(.., is_wanted).for_each(fulfil);
                        piece
                    }
                    Found::Duty { piece, own, ahead } => {
                        self.asked.push(own.range());
                        self.add(ahead);
                        fulfil(own);
                        piece
                    }
                };
                let bytes = piece.wait().unwrap().unwrap();
                let to = match piece.is_kept() {
                    true => piece.range.end.min(range.end),
                    false => piece.range.end,
                };
                let from = (at - piece.range.start) as usize;
                let until = (to - piece.range.start) as usize;
                self.cache.keep(self.identity, at, &bytes[from..until], self.scans.file_size);
                if !piece.is_kept() {
                    self.scans.forget(&piece);
                }
                at = to;
            }
            let ahead = self.scans.note_read(self.cache, range);
            self.add(ahead);
        }

        fn add(&mut self, ahead: Vec<Duty>) {
            self.asked.extend(ahead.iter().map(Duty::range));
            self.running.extend(ahead);
        }

        fn scan(&mut self, range: Range<u64>, end: Option<u64>) {
            let mut at = range.start;
            while at < range.end {
                let to = range.end.min(at + MEGABYTE / 4);
                self.read(at..to, end);
                at = to;
            }
        }
    }

    fn fulfil(duty: Duty) {
        let size = (duty.range().end - duty.range().start) as usize;
        duty.fulfil(Arc::new(vec![7; size]));
    }

    fn over<T>(cache_size: u64, file_size: u64, work: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let cache = Arc::new(Cache::new(cache_size as usize));
        let scans = Scans::new(file_size, &cache);
        let (asked, running) = (Vec::new(), Vec::new());
        work(&mut Reader { scans: &scans, cache: &cache, identity: 1, asked, running })
    }

    /// Each byte is asked for once, up to where the reader goes.
    fn check_once(asked: &[Range<u64>], all: Range<u64>) {
        let mut asked = asked.to_vec();
        asked.sort_by_key(|range| range.start);
        assert_eq!(asked.first().unwrap().start, all.start);
        assert_eq!(asked.last().unwrap().end, all.end);
        assert!(asked.windows(2).all(|pair| pair[0].end == pair[1].start), "{asked:?}");
    }

    #[test]
    fn a_scan_that_says_how_far_it_goes_asks_seldom() {
        over(64 * MEGABYTE, 1000 * MEGABYTE, |reader| {
            let end = 50 * MEGABYTE + 3 * BLOCK_SIZE;
            reader.scan(0..end, Some(end));
            check_once(&reader.asked, 0..end);
            let sizes: Vec<u64> =
                reader.asked.iter().map(|range| (range.end - range.start) / BLOCK_SIZE).collect();
            assert_eq!(sizes, [4, 32, 128, 128, 128, 128, 128, 127]);
        });
    }

    #[test]
    fn a_scan_of_which_nothing_is_known_grows_slowly() {
        over(64 * MEGABYTE, 1000 * MEGABYTE, |reader| {
            reader.scan(0..5 * MEGABYTE, None);
            let sizes: Vec<u64> =
                reader.asked.iter().map(|range| (range.end - range.start) / BLOCK_SIZE).collect();
            assert_eq!(sizes, [4, 16, 64]);
        });
    }

    #[test]
    fn room_is_never_more_than_the_cache() {
        for cache_size in [0, 1, BLOCK_SIZE, MEGABYTE, 10 * MEGABYTE] {
            over(cache_size, 20 * MEGABYTE + 7, |reader| {
                reader.scan(0..20 * MEGABYTE, Some(20 * MEGABYTE));
                let sizes = reader.asked.iter().map(|range| range.end - range.start);
                assert!(sizes.max().unwrap() <= (cache_size / 4).max(MEGABYTE), "{cache_size}");
                check_once(&reader.asked, 0..20 * MEGABYTE);
            });
        }
    }

    #[test]
    fn readers_beside_each_other_ask_once() {
        over(64 * MEGABYTE, 200 * MEGABYTE, |reader| {
            let (middle, end) = (60 * MEGABYTE, 120 * MEGABYTE);
            for at in 0..240 {
                let (first, second) = (at * MEGABYTE / 4, middle + at * MEGABYTE / 4);
                reader.read(first..first + MEGABYTE / 4, Some(middle));
                reader.read(second..second + MEGABYTE / 4, Some(end));
            }
            check_once(&reader.asked, 0..end);
        });
    }

    #[test]
    fn many_readers_share_the_room() {
        over(64 * MEGABYTE, 400 * MEGABYTE, |reader| {
            for at in 0..160 {
                for first in (0..8).map(|number| (number * 160 + at) * MEGABYTE / 4) {
                    let end = (first / (40 * MEGABYTE) + 1) * 40 * MEGABYTE;
                    reader.read(first..first + MEGABYTE / 4, Some(end));
                }
            }
            check_once(&reader.asked, 0..320 * MEGABYTE);
            assert!(reader.asked.len() < 180, "{}", reader.asked.len());
        });
    }

    #[test]
    fn a_piece_that_failed_is_asked_for_by_who_needs_it() {
        over(64 * MEGABYTE, 100 * MEGABYTE, |reader| {
            reader.scan(0..3 * MEGABYTE, Some(100 * MEGABYTE));
            assert!(!reader.running.is_empty());
            reader.running.clear();
            let asked = reader.asked.len();
            reader.scan(3 * MEGABYTE..100 * MEGABYTE, Some(100 * MEGABYTE));
            let mut pieces = reader.asked.clone();
            pieces.sort_by_key(|range| range.start);
            pieces.dedup();
            check_once(&pieces, 0..100 * MEGABYTE);
            assert!(reader.asked.len() - pieces.len() <= asked);
        });
    }

    #[test]
    fn who_waits_for_a_piece_ahead_has_its_error_and_who_comes_later_asks_again() {
        over(64 * MEGABYTE, 100 * MEGABYTE, |reader| {
            reader.scan(0..3 * MEGABYTE, Some(100 * MEGABYTE));
            let ahead = reader.running.pop().unwrap();
            let wish = Wish { range: ahead.range(), end: Some(100 * MEGABYTE) };
            let Found::Asked(piece) = reader.scans.find(reader.cache, &wish) else {
                panic!("it is on its way");
            };
            ahead.fail(RemoteError::io(io::ErrorKind::TimedOut, "no answer, 5 times"));
            for _ in 0..2 {
                let error = piece.wait().unwrap_err();
                assert!(RemoteError::is(&error));
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                assert_eq!(error.to_string(), "no answer, 5 times");
            }
            let again = reader.scans.find(reader.cache, &wish);
            assert!(matches!(again, Found::Duty { .. }), "{again:?}");
        });
    }

    #[test]
    fn what_nobody_reads_gives_its_room_up() {
        over(64 * MEGABYTE, 1000 * MEGABYTE, |reader| {
            for start in [0, 100, 200, 300] {
                reader.scan(start * MEGABYTE..(start + 3) * MEGABYTE, Some(1000 * MEGABYTE));
            }
            assert!(Room::take(reader.cache, 40 << 20).is_none());
            // Another file, while the first one stays open.
            let scans = Scans::new(1000 * MEGABYTE, reader.cache);
            let (asked, running) = (Vec::new(), Vec::new());
            let cache = reader.cache;
            let mut other = Reader { scans: &scans, cache, identity: 2, asked, running };
            other.scan(0..400 * MEGABYTE, Some(1000 * MEGABYTE));
            let last = other.asked.last().unwrap();
            assert!(last.end - last.start > 7 * MEGABYTE, "{last:?}");
            reader.scan(400 * MEGABYTE..800 * MEGABYTE, Some(1000 * MEGABYTE));
            let last = reader.asked.last().unwrap();
            assert!(last.end - last.start > 7 * MEGABYTE, "{last:?}");
        });
    }
}
