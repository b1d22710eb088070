//! A connection with a page: a socket, with TLS where other machines are answered.
//!
//! ```text
//! read     what has arrived, waiting until a moment; the handshake of TLS is part of it
//! write    all of an answer
//! is_left  looks, while a statement runs, whether the other end is gone: the end of the socket, or
//!          the farewell of TLS, which comes as data
//! ```
//!
//! The watching thread takes the lock of TLS only when bytes are there, so an answer never waits
//! for it.

use std::io::{self, Read as _, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConnection, Stream};

use crate::tls::Tls;

/// What a connection of TLS begins with: a record of its handshake. A request of HTTP begins with a
/// letter.
const HANDSHAKE: u8 = 0x16;

/// A connection, shared with the thread that watches it.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Inner>);

struct Inner {
    socket: TcpStream,
    tls: Option<Mutex<ServerConnection>>,
}

impl Connection {
    pub(crate) fn plain(socket: TcpStream) -> Self {
        Self(Arc::new(Inner { socket, tls: None }))
    }

    /// A connection with TLS. The error is one without, for somebody who speaks without.
    pub(crate) fn with_tls(
        socket: TcpStream,
        tls: &Tls,
        patience: Duration,
    ) -> Result<Self, Option<Self>> {
        let mut first = [0];
        let size = socket
            .set_read_timeout(Some(patience))
            .and_then(|()| socket.peek(&mut first))
            .map_err(|_| None)?;
        match (size, first) {
            (0, _) => Err(None),
            (_, [HANDSHAKE]) => {
                let tls = tls.connection().map_err(|_| None)?;
                Ok(Self(Arc::new(Inner { socket, tls: Some(Mutex::new(tls)) })))
            }
            _ => Err(Some(Self::plain(socket))),
        }
    }

    /// Reads what has arrived, waiting until a moment.
    ///
    /// # Errors
    /// The moment has passed; the other end is gone, or does not speak TLS.
    pub(crate) fn read(&self, piece: &mut [u8], end: Instant) -> io::Result<usize> {
        let Some(mut tls) = self.tls() else { return self.arrive(end)?.read(piece) };
        loop {
            match tls.reader().read(piece) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if tls.read_tls(&mut self.arrive(end)?)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let processed = tls.process_new_packets();
            // A step of the handshake, or why there is none.
            while tls.wants_write() {
                tls.write_tls(&mut &self.0.socket)?;
            }
            processed.map_err(io::Error::other)?;
        }
    }

    /// The socket, which waits until a moment.
    fn arrive(&self, end: Instant) -> io::Result<&TcpStream> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.socket.set_read_timeout(Some(left))?;
        Ok(&self.0.socket)
    }

    /// Writes all of an answer; each piece of it may take so long.
    pub(crate) fn write(&self, parts: &[&[u8]], patience: Duration) -> io::Result<()> {
        let mut socket = &self.0.socket;
        socket.set_write_timeout(Some(patience))?;
        let Some(mut tls) = self.tls() else {
            return parts.iter().try_for_each(|part| socket.write_all(part));
        };
        let mut stream = Stream::new(&mut *tls, &mut socket);
        parts.iter().try_for_each(|part| stream.write_all(part))?;
        tls.send_close_notify();
        Stream::new(&mut *tls, &mut socket).flush()
    }

    /// Looks for a moment whether the other end has closed it.
    pub(crate) fn is_left(&self, moment: Duration) -> bool {
        let socket = &self.0.socket;
        if socket.set_read_timeout(Some(moment)).is_err() {
            return false;
        }
        match (socket.peek(&mut [0]), self.tls()) {
            (Ok(0), _) => true,
            (Ok(_), Some(mut tls)) => {
                let mut socket = socket;
                let arrived = tls.read_tls(&mut socket).is_ok();
                !arrived || tls.process_new_packets().map_or(true, |state| state.peer_has_closed())
            }
            (Ok(_), None) => {
                thread::sleep(moment); // more than was asked for has come
                false
            }
            (Err(error), _) => {
                !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
            }
        }
    }

    /// Reads the rest of a request that was answered before its end, without looking at it. Without
    /// that the system resets the connection, and the answer may be lost (RFC 9112, section 9.6).
    pub(crate) fn linger(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let _ = self.0.socket.shutdown(Shutdown::Write);
        let mut piece = [0; 64 << 10];
        while let Ok(mut socket) = self.arrive(end)
            && socket.read(&mut piece).is_ok_and(|size| size > 0)
        {}
    }

    fn tls(&self) -> Option<MutexGuard<'_, ServerConnection>> {
        let tls = self.0.tls.as_ref()?;
        Some(tls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
