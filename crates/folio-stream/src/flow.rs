//! Reads on a thread: a pipe, or what takes long to decompress.
//!
//! A read of a pipe blocks until its writer writes, which may be never. So a thread reads, and the
//! consumer takes the bytes from a channel and can be stopped:
//!
//! ```text
//! pipe ── thread "folio-pipe" ── channel (bounded) ── FlowReader
//!                                                       ↑ Flow::stop
//! ```
//!
//! The first read collects what arrives within 200 ms, up to a megabyte. The format, the delimiter
//! and the types of a CSV file are guessed from it.
//!
//! A stopped thread ends when the next bytes arrive, or with the process.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use folio_file::RemoteError;
use folio_types::{WaitEnd, is_wait_over, with_wait_end};

/// Bytes per read of the pipe: the capacity of a Linux pipe.
const PIECE_SIZE: usize = 64 << 10;

/// The number of pieces that the channel holds.
const PIECE_COUNT: usize = 16;

/// How long the first read collects bytes, and how many.
const GATHER_TIME: Duration = Duration::from_millis(200);
const GATHER_SIZE: usize = 1 << 20;

/// How often a waiting reader checks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Stops a [`FlowReader`], and shows whether it has bytes.
#[derive(Debug, Clone, Default)]
pub struct Flow(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_stopped: AtomicBool,
    /// Whether a read would return at once.
    is_ready: AtomicBool,
}

impl Flow {
    /// Makes all reads fail from now on, including a waiting one.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Release);
    }

    /// Whether [`Flow::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Acquire)
    }

    /// Whether a read would return at once.
    pub fn is_ready(&self) -> bool {
        self.0.is_ready.load(Ordering::Acquire)
    }
}

type Piece = io::Result<Vec<u8>>;

/// The bytes of the pipe, in order.
pub struct FlowReader {
    flow: Flow,
    piece_size: usize,
    /// `None` once the thread owns it.
    source: Option<Box<dyn Read + Send>>,
    pieces: Option<Receiver<Piece>>,
    gathered: VecDeque<Piece>,
    piece: Vec<u8>,
    at: usize,
}

impl FlowReader {
    /// Reads `source` from the first read on, in pieces as large as a pipe of Linux.
    pub fn new(source: impl Read + Send + 'static) -> (Self, Flow) {
        Self::with_pieces(PIECE_SIZE, source)
    }

    /// The same, in pieces of another size.
    pub fn with_pieces(piece_size: usize, source: impl Read + Send + 'static) -> (Self, Flow) {
        let flow = Flow::default();
        let reader = Self {
            flow: flow.clone(),
            piece_size,
            source: Some(Box::new(source)),
            pieces: None,
            gathered: VecDeque::new(),
            piece: Vec::new(),
            at: 0,
        };
        (reader, flow)
    }

    /// Starts the thread, and collects the first bytes.
    fn begin(&mut self, source: Box<dyn Read + Send>) -> io::Result<()> {
        let (sender, pieces) = sync_channel(PIECE_COUNT);
        let name = "folio-pipe".to_owned();
        let piece_size = self.piece_size;
        // Its own waits for other machines end with the reader.
        let flow = self.flow.clone();
        let end: WaitEnd = Arc::new(move || flow.is_stopped());
        let read = move || with_wait_end(Some(end), || read_all(source, piece_size, &sender));
        thread::Builder::new().name(name).spawn(read)?;
        self.pieces = Some(pieces);
        let Some(first) = self.receive(None)? else { return Ok(()) };
        let end = Instant::now() + GATHER_TIME;
        let mut size = first.as_ref().map_or(0, Vec::len);
        self.gathered.push_back(first);
        while size < GATHER_SIZE
            && let Some(piece) = self.receive(Some(end))?
        {
            size += piece.as_ref().map_or(0, Vec::len);
            self.gathered.push_back(piece);
        }
        Ok(())
    }

    /// The next piece; `None` at the end of the pipe, or if none arrives until `end`.
    fn receive(&mut self, end: Option<Instant>) -> io::Result<Option<Piece>> {
        let Some(pieces) = &self.pieces else { return Ok(None) };
        loop {
            if self.flow.is_stopped() {
                return Err(io::Error::other("the reader was told to stop"));
            }
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
            match pieces.recv_timeout(left.min(LOOK)) {
                Ok(piece) => {
                    if piece.as_ref().is_ok_and(Vec::is_empty) {
                        self.pieces = None;
                        return Ok(None);
                    }
                    return Ok(Some(piece));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that reads it has failed"));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
                Err(RecvTimeoutError::Timeout) if is_wait_over() => {
                    return Err(RemoteError::end());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn note_ready(&self) {
        let has_bytes = self.at < self.piece.len() || !self.gathered.is_empty();
        self.flow.0.is_ready.store(has_bytes || self.pieces.is_none(), Ordering::Release);
    }
}

impl Drop for FlowReader {
    fn drop(&mut self) {
        self.flow.stop();
    }
}

impl Read for FlowReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(source) = self.source.take() {
            self.begin(source)?;
        }
        if self.at == self.piece.len() {
            let next = match self.gathered.pop_front() {
                Some(gathered) => Some(gathered),
                None => self.receive(None)?,
            };
            (self.piece, self.at) = (next.transpose()?.unwrap_or_default(), 0);
        }
        let size = buffer.len().min(self.piece.len() - self.at);
        buffer[..size].copy_from_slice(&self.piece[self.at..self.at + size]);
        self.at += size;
        self.note_ready();
        Ok(size)
    }
}

/// Reads to the end or an error, or until the receiver is dropped. An empty piece comes last:
/// without one the thread has panicked, and what was read is not all.
fn read_all(mut source: Box<dyn Read + Send>, piece_size: usize, pieces: &SyncSender<Piece>) {
    loop {
        let mut piece = vec![0; piece_size];
        match source.read(&mut piece) {
            Ok(size) => {
                piece.truncate(size);
                if pieces.send(Ok(piece)).is_err() || size == 0 {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Nobody may be there to receive them.
                let _ = pieces.send(Err(error)).and_then(|()| pieces.send(Ok(Vec::new())));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Gives a piece whenever one is sent.
    struct Slow(Receiver<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.recv().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn bytes_come_in_order_to_their_end() {
        let (send, pieces) = channel();
        let (mut reader, flow) = FlowReader::new(Slow(pieces));
        send.send(b"ab".to_vec()).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer[..1]).unwrap(), 1);
        assert!(flow.is_ready());
        assert_eq!(reader.read(&mut buffer[1..]).unwrap(), 1);
        assert!(!flow.is_ready(), "the next read waits");
        send.send(b"cd".to_vec()).unwrap();
        drop(send);
        assert_eq!(reader.read(&mut buffer[2..]).unwrap(), 2);
        assert_eq!(&buffer[..4], b"abcd");
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
        assert!(flow.is_ready(), "the end is known");
    }

    /// Fails as a decoder with a fault of its own might.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("a fault");
        }
    }

    #[test]
    fn a_thread_that_panics_is_no_end() {
        let (mut reader, _) = FlowReader::new(Broken);
        assert!(reader.read(&mut [0; 8]).is_err());
        assert!(reader.read(&mut [0; 8]).is_err());
    }

    #[test]
    fn a_read_that_waits_is_stopped() {
        let (send, pieces) = channel();
        let (mut reader, flow) = FlowReader::new(Slow(pieces));
        let waiting = thread::spawn(move || reader.read(&mut [0; 8]));
        thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        flow.stop();
        assert!(waiting.join().unwrap().is_err());
        drop(send);
    }
}
