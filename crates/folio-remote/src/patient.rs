//! Connections whose waits end early.
//!
//! A wait for bytes is taken in slices, between which it is asked whether anybody still waits. That is
//! below TLS, so that it holds for handshakes too.

use std::time::{Duration, Instant};

use folio_types::{WAIT_SLICE, is_wait_over};
use ureq::Error;
use ureq::unversioned::transport::time::Duration as Limit;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector,
    TcpConnector, Transport,
};

/// The connector of `ureq`, with such connections.
pub(crate) fn connector() -> impl Connector {
    ().chain(ConnectProxyConnector::default())
        .chain(TcpConnector::default())
        .chain(PatientConnector)
        .chain(RustlsConnector::default())
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
