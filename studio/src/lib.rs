//! The studio: a window on a database in the browser of the same machine.
//!
//! ```text
//! start     listen on 127.0.0.1 → a token of 122 random bits → a thread that accepts
//! accept    one thread each, one request each (server); places for so many connections, and for so
//!           many statements at once (places)
//! request   read within limits (http) → refuse what no page of ours sent (guard)
//!           → a file of the page (assets), or an answer (answer)
//! answer    overview | window | facet | schema | document | ask: each calls the facade and writes JSON
//! ```
//!
//! Nothing here knows a query: the pages name relations, columns and tests, or send the text that
//! somebody typed, and the facade does the rest. The pages are TypeScript in `page/`, built into
//! `assets/`, which this crate contains.

mod answer;
mod ask;
mod assets;
mod document;
mod dropped;
mod facet;
mod failure;
mod guard;
mod http;
mod limits;
mod overview;
mod places;
mod reach;
mod rows;
mod schema;
mod server;
mod shared;
mod statements;
mod upload;
mod window;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio::Database;

pub use limits::Limits;

/// A running studio. It ends when it is dropped.
#[derive(Debug)]
pub struct Studio {
    address: SocketAddr,
    shared: Arc<shared::Shared>,
}

impl Studio {
    /// Starts to serve a database on 127.0.0.1, on a port or, if it is 0, on a free one. What the
    /// pages may change is what the handle may.
    ///
    /// # Errors
    /// The port is taken, or the system has no socket.
    pub fn start(database: Database, port: u16, limits: Limits) -> io::Result<Self> {
        let (address, shared) = server::start(database, port, limits)?;
        Ok(Self { address, shared })
    }

    /// Where the pages are, with the token.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.shared.token)
    }

    /// Whether a page has asked for the end.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.shared.is_ended.load(Ordering::Acquire)
    }

    /// How many requests are being answered.
    #[must_use]
    pub fn running_count(&self) -> usize {
        self.shared.connections.taken_count()
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.shared.is_ended.store(true, Ordering::Release);
        // The thread that accepts looks up when somebody connects.
        let _ = std::net::TcpStream::connect(self.address);
    }
}
