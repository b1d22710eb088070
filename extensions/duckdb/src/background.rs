//! Writes bytes to a file on a thread.
//!
//! DuckDB passes the rows of a copy function from one thread. Formatting them and writing them out,
//! perhaps compressed, take about equally long, so each has a thread. A short queue between them
//! limits memory. A copy that fits one block never starts the second thread.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// The maximum number of waiting blocks.
const QUEUE: usize = 2;

/// An output that must be closed explicitly.
pub(crate) trait Target: Write + Send + 'static {
    /// Writes buffered bytes, and closes.
    fn finish(self) -> io::Result<()>;
}

/// Writes blocks in order.
pub(crate) enum Background<T: Target> {
    /// Nothing was written yet.
    Idle(T),
    Running(Running<T>),
    /// An error was reported.
    Failed,
}

/// The writing thread. It ends before this is dropped: the file belongs to DuckDB, which may shut
/// down too.
pub(crate) struct Running<T> {
    /// Both are `Some` until [`Running::join`].
    blocks: Option<SyncSender<Vec<u8>>>,
    /// Returns the target after the end of the queue.
    thread: Option<JoinHandle<io::Result<T>>>,
}

impl<T: Target> Background<T> {
    pub(crate) fn new(target: T) -> Background<T> {
        Background::Idle(target)
    }

    /// Queues `block` for writing.
    ///
    /// # Errors
    ///
    /// An error of earlier blocks.
    pub(crate) fn write(&mut self, block: Vec<u8>) -> io::Result<()> {
        let running = match mem::replace(self, Background::Failed) {
            Background::Idle(target) => Running::start(target)?,
            Background::Running(running) => running,
            Background::Failed => return Err(io::Error::other("an earlier write has failed")),
        };
        let blocks = running.blocks.as_ref().expect("it is there until the end");
        match blocks.send(block) {
            Ok(()) => *self = Background::Running(running),
            // The thread has stopped receiving, so it has an error to report.
            Err(_) => drop(running.end()?),
        }
        Ok(())
    }

    /// Writes the last block, and closes when everything is written.
    ///
    /// # Errors
    ///
    /// The first error of any write.
    pub(crate) fn finish(self, last: &[u8]) -> io::Result<()> {
        let mut target = match self {
            Background::Idle(target) => target,
            Background::Running(running) => running.end()?,
            Background::Failed => return Err(io::Error::other("an earlier write has failed")),
        };
        target.write_all(last)?;
        target.finish()
    }
}

impl<T: Target> Running<T> {
    fn start(mut target: T) -> io::Result<Running<T>> {
        let (blocks, next) = mpsc::sync_channel::<Vec<u8>>(QUEUE);
        let thread = thread::Builder::new().name("ion-write".to_owned()).spawn(move || {
            for block in next {
                target.write_all(&block)?;
            }
            Ok(target)
        })?;
        Ok(Running { blocks: Some(blocks), thread: Some(thread) })
    }
}

impl<T> Running<T> {
    fn end(mut self) -> io::Result<T> {
        self.join().expect("it is joined once, here or when it is dropped")
    }

    fn join(&mut self) -> Option<io::Result<T>> {
        self.blocks = None;
        let panicked = |_| Err(io::Error::other("the thread that writes has panicked"));
        self.thread.take().map(|thread| thread.join().unwrap_or_else(panicked))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        drop(self.join());
    }
}

#[cfg(test)]
mod tests {
    use super::{Background, Target};
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    /// Accepts this many bytes.
    struct Small(usize, Arc<Mutex<Vec<u8>>>);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.1.lock().expect("no test panics while it holds this");
            let count = bytes.len().min(self.0 - taken.len());
            taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Small {
        fn finish(self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn blocks_arrive_in_order() {
        let taken = Arc::default();
        let mut writer = Background::new(Small(usize::MAX, Arc::clone(&taken)));
        for number in 0..100_u8 {
            writer.write(vec![number; 3]).expect("there is room");
        }
        writer.finish(b"end").expect("there is room");
        let wanted: Vec<u8> = (0..100).flat_map(|number| [number; 3]).chain(*b"end").collect();
        assert_eq!(*taken.lock().expect("the writer is gone"), wanted);
    }

    #[test]
    fn a_failed_write_is_told_once_and_for_all() {
        let mut writer = Background::new(Small(10, Arc::default()));
        let failed = (0..100).find_map(|_| writer.write(vec![0; 4]).err());
        assert_eq!(failed.map(|error| error.kind()), Some(io::ErrorKind::WriteZero));
        assert!(writer.write(vec![0; 4]).is_err());
        assert!(writer.finish(&[]).is_err());
    }

    #[test]
    fn the_last_block_may_be_the_only_one_and_fail() {
        let error = Background::new(Small(2, Arc::default())).finish(b"abc").err();
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::WriteZero));
    }
}
