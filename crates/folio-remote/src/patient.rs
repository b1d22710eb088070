//! Connections whose waits end early.
//!
//! A wait for bytes is taken in slices, between which it is asked whether anybody still waits. That is
//! below TLS, so that it holds for handshakes too. A name is looked up, and a connection made, by a
//! thread of its own: the system does neither in slices.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use folio_types::{WAIT_SLICE, is_wait_over, wait_end};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::Duration as Limit;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector,
    TcpConnector, Transport,
};

/// The connector of `ureq`, with such connections.
pub(crate) fn connector() -> impl Connector {
    ().chain(ConnectProxyConnector::default())
        .chain(PatientTcp)
        .chain(PatientConnector)
        .chain(RustlsConnector::default())
}

/// Does what the system does in one piece, until nobody waits for it.
fn until_nobody_waits<T: Send + 'static>(
    timeout: NextTimeout,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if wait_end().is_none() {
        return work();
    }
    let (sender, done) = sync_channel(1);
    let builder = thread::Builder::new().name("folio-connect".to_owned());
    // Nobody may be there to receive it.
    builder.spawn(move || drop(sender.send(work())))?;
    loop {
        match done.recv_timeout(WAIT_SLICE) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::ConnectionFailed),
            Err(RecvTimeoutError::Timeout) if is_wait_over() => {
                return Err(Error::Timeout(timeout.reason));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Looks up names.
#[derive(Debug)]
pub(crate) struct PatientResolver;

impl Resolver for PatientResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let (uri, config) = (uri.clone(), config.clone());
        let resolve = move || DefaultResolver::default().resolve(&uri, &config, timeout);
        until_nobody_waits(timeout, resolve)
    }
}

/// Makes connections.
#[derive(Debug)]
struct PatientTcp;

impl<In: Transport> Connector<In> for PatientTcp {
    type Out = <TcpConnector as Connector<In>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            return TcpConnector::default().connect(details, chained);
        }
        let (uri, config, addrs) =
            (details.uri.clone(), details.config.clone(), details.addrs.clone());
        let &ConnectionDetails { request_level, now, timeout, .. } = details;
        let current_time = Arc::clone(&details.current_time);
        let run_connector = Arc::clone(&details.run_connector);
        let register_shutdown = Arc::clone(&details.register_shutdown);
        until_nobody_waits(timeout, move || {
            let details = ConnectionDetails {
                uri: &uri,
                config: &config,
                addrs,
                request_level,
                resolver: &PatientResolver,
                now,
                timeout,
                current_time,
                run_connector,
                register_shutdown,
            };
            TcpConnector::default().connect(&details, None::<In>)
        })
    }
}

#[derive(Debug)]
struct PatientConnector;

impl<In: Transport> Connector<In> for PatientConnector {
    type Out = Patient<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|below| Patient { below, asked: Instant::now() }))
    }
}

/// A connection that asks now and then whether it still has to wait.
#[derive(Debug)]
struct Patient<T> {
    below: T,
    asked: Instant,
}

impl<T> Patient<T> {
    /// Asks where that is due.
    fn is_over(&mut self) -> bool {
        if self.asked.elapsed() < WAIT_SLICE {
            return false;
        }
        self.asked = Instant::now();
        is_wait_over()
    }
}

impl<T: Transport> Transport for Patient<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.below.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.below.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let (whole, start) = (timeout.for_read(), Instant::now());
        loop {
            if self.is_over() {
                return Err(Error::Timeout(whole.reason));
            }
            let left = match whole.after {
                Limit::Exact(limit) => limit.saturating_sub(start.elapsed()),
                Limit::NotHappening => Duration::MAX,
            };
            let slice = NextTimeout { after: Limit::Exact(left.min(WAIT_SLICE)), ..whole };
            match self.below.await_input(slice) {
                Err(Error::Timeout(_)) if left > WAIT_SLICE => {}
                done => return done,
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.below.is_open()
    }

    fn is_tls(&self) -> bool {
        self.below.is_tls()
    }
}
