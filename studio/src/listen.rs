//! Where a studio listens, and who is let in: what the address of its pages is made of.
//!
//! On the loopback address whoever saw the printed address is a user of this machine. Beyond it two
//! more things are demanded, and nothing is served without: TLS, without which whoever is on the way
//! reads along, and a token that its user has made, and so can keep, share and replace.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};

use crate::failure::StartError;
use crate::tls::{Tls, bare, bracketed};
use crate::token::Token;

/// The names of this machine for itself.
const LOCAL: [&str; 2] = ["127.0.0.1", "localhost"];

/// Where a studio listens, and what opens it.
#[derive(Debug, Clone)]
pub struct Listen {
    /// A name or an address of this machine.
    pub host: String,
    /// A port, or 0 for a free one.
    pub port: u16,
    /// What opens the pages; without it, random bits that are new at every start.
    pub token: Option<Token>,
    /// What encrypts and proves the machine to the browser.
    pub tls: Option<Tls>,
}

impl Listen {
    /// On 127.0.0.1.
    #[must_use]
    pub fn local(port: u16) -> Self {
        Self { host: LOCAL[0].to_owned(), port, token: None, tls: None }
    }

    /// The addresses to listen on, of which the first that can be had is taken.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>, StartError> {
        let refused =
            |error| StartError::Socket { host: self.host.clone(), port: self.port, error };
        if LOCAL.contains(&&*self.host) {
            return Ok(vec![(Ipv4Addr::LOCALHOST, self.port).into()]);
        }
        let found = (bare(&self.host), self.port).to_socket_addrs().map_err(refused)?;
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            return Err(refused(io::ErrorKind::AddrNotAvailable.into()));
        }
        let (has_token, has_tls) = (self.token.is_some(), self.tls.is_some());
        if found.iter().any(|address| !address.ip().is_loopback()) && !(has_token && has_tls) {
            return Err(StartError::Unguarded { host: self.host.clone(), has_token, has_tls });
        }
        Ok(found)
    }
}

/// Under which names pages are asked for.
#[derive(Debug)]
pub(crate) enum Names {
    /// Those of this machine for itself, with the port.
    Local(Vec<String>),
    /// Those that the certificate is for. The port is not looked at: it may be forwarded.
    Proven(Tls),
}

impl Names {
    pub(crate) fn new(tls: Option<Tls>, address: SocketAddr) -> Self {
        match tls {
            Some(tls) => Self::Proven(tls),
            None => {
                let port = address.port();
                let names = LOCAL.iter().map(|name| format!("{name}:{port}"));
                Self::Local(names.chain([address.to_string()]).collect())
            }
        }
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        match self {
            Self::Local(_) => None,
            Self::Proven(tls) => Some(tls),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Self::Local(_) => "http",
            Self::Proven(_) => "https",
        }
    }

    /// Whether a request may name the machine so.
    pub(crate) fn contains(&self, host: &str) -> bool {
        match self {
            Self::Local(names) => names.iter().any(|name| name == host),
            Self::Proven(tls) => tls.is_for(bare(without_port(host))),
        }
    }

    /// The name that is printed, with its port: the one that was asked for, or where it is not in
    /// the certificate, one that is.
    pub(crate) fn printed(&self, asked: &str, address: SocketAddr) -> String {
        match self {
            Self::Local(_) => address.to_string(),
            Self::Proven(tls) => {
                let asked = bare(asked);
                let name = if tls.is_for(asked) { None } else { tls.name() };
                let name = name.unwrap_or_else(|| bracketed(asked));
                format!("{name}:{}", address.port())
            }
        }
    }
}

/// A host without the port after it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_their_port_and_brackets() {
        for (host, name) in [
            ("a.example", "a.example"),
            ("a.example:8443", "a.example"),
            ("10.0.0.1:8443", "10.0.0.1"),
            ("[::1]:8443", "::1"),
            ("[::1]", "::1"),
        ] {
            assert_eq!(bare(without_port(host)), name);
        }
        assert_eq!(
            (bracketed("::1"), bracketed("a.example")),
            ("[::1]".into(), "a.example".into())
        );
    }
}
