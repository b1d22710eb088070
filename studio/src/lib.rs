//! The studio: a window on a database in the browser of the same machine, or with TLS of others.
//!
//! ```text
//! start     listen on 127.0.0.1, or where a token and TLS guard it (listen, token, tls)
//!           → a thread that accepts
//! accept    one thread each, one request each (server, connection); places for so many connections,
//!           and for so many statements at once (places)
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
mod connection;
mod document;
mod dropped;
mod facet;
mod failure;
mod guard;
mod http;
mod limits;
mod listen;
mod orders;
mod overview;
mod places;
mod reach;
mod rows;
mod schema;
mod server;
mod shared;
mod statements;
mod tls;
mod token;
mod upload;
mod window;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio::Database;

pub use failure::StartError;
pub use limits::Limits;
pub use listen::Listen;
pub use tls::Tls;
pub use token::Token;

/// A running studio. It ends when it is dropped.
pub struct Studio {
    address: SocketAddr,
    url: String,
    shared: Arc<shared::Shared>,
}

impl fmt::Debug for Studio {
    /// Without the token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Studio").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Studio {
    /// Starts to serve a database. What the pages may change is what the handle may.
    ///
    /// # Errors
    /// The port is taken; the address is beyond this machine, and there is no token or no TLS.
    pub fn start(database: Database, listen: Listen, limits: Limits) -> Result<Self, StartError> {
        let host = listen.host.clone();
        let (address, shared) = server::start(database, listen, limits)?;
        let (names, token) = (&shared.names, shared.token.as_str());
        let url = format!("{}://{}/{token}/", names.scheme(), names.printed(&host, address));
        Ok(Self { address, url, shared })
    }

    /// Where the pages are, with the token.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
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
        self.shared.uploads.clear();
        // The thread that accepts looks up when somebody connects.
        let mut own = self.address;
        match own {
            SocketAddr::V4(_) if own.ip().is_unspecified() => {
                own.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            SocketAddr::V6(_) if own.ip().is_unspecified() => {
                own.set_ip(Ipv6Addr::LOCALHOST.into());
            }
            _ => {}
        }
        let _ = TcpStream::connect(own);
    }
}
