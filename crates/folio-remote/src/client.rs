//! One request for one range, until it is answered.
//!
//! What may pass is tried again: a connection that broke, silence, 429, and the 5xx that servers
//! answer when they are busy. An answer that was cut continues where it broke off. Everything else
//! ends the read, with an error that names what the server did.

use std::io::{self, ErrorKind, Read};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, SystemTime};

use folio_file::RemoteError;
use folio_types::{WAIT_SLICE, is_wait_over};
use ureq::config::RedirectAuthHeaders;
use ureq::http::{Method, Request, Response, StatusCode, header};
use ureq::{Agent, Body};

use crate::fault::{
    Fault, error_code, fault_of, header_of, passing_io, refused, refused_change, refused_claim,
};
use crate::google::Tokens;
use crate::options::RemoteOptions;
use crate::patient::{PatientResolver, connector};
use crate::place::Place;
use crate::reading::{Answer, Known, Reading, Wanted};

/// A connection that is followed to another place more often than this goes in a circle.
const REDIRECT_COUNT: u32 = 5;

/// Bytes of a body that are read before the reader is asked whether it still wants them.
const READ_SIZE: u64 = 64 << 10;

/// Bytes of an answer that are not what was asked for, such as a listing.
const ANSWER_LIMIT: u64 = 16 << 20;

/// Connections to one server that stay open between requests: as many as ask it at the same time.
const CONNECTION_COUNT: usize = 10;

/// An answer that names what is in a folder.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// The header that says where the next page is (RFC 8288).
    pub(crate) link: Option<String>,
}

/// A request that changes what is at a place.
#[derive(Debug)]
pub(crate) struct Change<'c> {
    pub(crate) method: Method,
    /// What is asked for beyond the place, encoded and sorted.
    pub(crate) query: &'c str,
    pub(crate) headers: &'c [(&'static str, &'static str)],
    pub(crate) body: &'c [u8],
}

/// The answer to such a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) etag: Option<String>,
    pub(crate) text: String,
}

/// Asks servers. Keeps connections open between requests.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    options: RemoteOptions,
    tokens: Tokens,
}

impl Client {
    pub(crate) fn new(options: &RemoteOptions) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(options.connect_timeout))
            .timeout_recv_response(Some(options.timeout))
            .timeout_per_read(Some(options.timeout))
            .timeout_per_write(Some(options.timeout))
            .max_redirects(REDIRECT_COUNT)
            .max_idle_connections_per_host(CONNECTION_COUNT)
            // A store may answer from another of its own paths.
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .user_agent(concat!("foliodb/", env!("CARGO_PKG_VERSION")))
            // A range of compressed bytes is not a range of the file.
            .accept_encoding("identity")
            .build();
        let agent = Agent::with_parts(config, connector(), PatientResolver);
        Self { agent, options: options.clone(), tokens: Tokens::default() }
    }

    /// Reads a range of a file, which must still be as it is known.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`; `StaleNetworkFileHandle` if the file has changed;
    /// `Unsupported` if the server sends no ranges; the last error after all attempts.
    pub(crate) fn read(
        &self,
        place: &Place,
        wanted: Wanted,
        known: Option<&Known>,
    ) -> io::Result<Answer> {
        self.read_until(place, wanted, known, &AtomicBool::new(false))
    }

    /// The same, until it is told to stop: then what arrives next is an error.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn read_until(
        &self,
        place: &Place,
        wanted: Wanted,
        known: Option<&Known>,
        stop: &AtomicBool,
    ) -> io::Result<Answer> {
        let mut reading = Reading::new(wanted, known.cloned(), stop);
        self.repeat(place, || self.read_on(place, &mut reading))?;
        reading.into_answer().ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// The whole answer to a request for names.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn page(&self, place: &Place, url: &str) -> io::Result<Page> {
        let (mut text, mut link) = (String::new(), None);
        self.repeat(place, || {
            let response = self.ask(place, url, &[])?;
            if response.status() != StatusCode::OK {
                return Err(refused(&response));
            }
            text.clear();
            link = header_of(response.headers(), header::LINK).map(str::to_owned);
            let body = response.into_body().into_reader();
            let read = body.take(ANSWER_LIMIT).read_to_string(&mut text);
            read.map(|_| ()).map_err(|error| passing_io(&error))
        })?;
        Ok(Page { text, link })
    }

    /// Changes what is at a place.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn change(&self, place: &Place, change: &Change<'_>) -> io::Result<Reply> {
        self.change_counted(place, change, &mut 0)
    }

    /// The same, and counts the attempts: all but the last may have been done without an answer.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn change_counted(
        &self,
        place: &Place,
        change: &Change<'_>,
        attempt_count: &mut usize,
    ) -> io::Result<Reply> {
        let mut reply = None;
        self.repeat(place, || {
            *attempt_count += 1;
            reply = Some(self.change_once(place, change)?);
            Ok(())
        })?;
        reply.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// Repeats what may pass, as long as somebody waits for it.
    fn repeat(
        &self,
        place: &Place,
        mut attempt: impl FnMut() -> Result<(), Fault>,
    ) -> io::Result<()> {
        let mut delay = self.options.retry_delay;
        for left in (0..=self.options.retry_count).rev() {
            match attempt() {
                Ok(()) => return Ok(()),
                Err(Fault::Lasting(error)) => return Err(with_advice(error, place)),
                Err(Fault::Passing(..)) if is_wait_over() => return Err(RemoteError::end()),
                Err(Fault::Passing(kind, reason)) if left == 0 => {
                    let text = match self.options.retry_count {
                        0 => reason,
                        count => format!("{reason}, {} times", count + 1),
                    };
                    // `Other` is what lasts.
                    let kind =
                        if kind == ErrorKind::Other { ErrorKind::ResourceBusy } else { kind };
                    return Err(RemoteError::io(kind, text));
                }
                Err(Fault::Passing(..)) => pause(delay)?,
            }
            delay *= 2;
        }
        Ok(())
    }

    /// One attempt to read what is missing of a range.
    fn read_on(&self, place: &Place, reading: &mut Reading<'_>) -> Result<(), Fault> {
        reading.check_stop()?;
        let range = reading.header();
        let mut headers = vec![("range", range.as_str())];
        headers.extend(
            reading.known.as_ref().and_then(Known::strong_etag).map(|etag| ("if-match", etag)),
        );
        let response = self.ask(place, &place.request_url(), &headers)?;
        let (left, first) = reading.accept(&response)?;
        let mut body = response.into_body().into_reader().take(left);
        if first > 0 {
            io::copy(&mut (&mut body).take(first), &mut io::sink())
                .map_err(|error| passing_io(&error))?;
        }
        let before = reading.bytes.len() as u64;
        loop {
            reading.check_stop()?;
            let mut piece = (&mut body).take(READ_SIZE);
            match piece.read_to_end(&mut reading.bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(passing_io(&error)),
            }
        }
        match reading.bytes.len() as u64 - before == left - first {
            true => Ok(()),
            false => Err(Fault::Passing(
                ErrorKind::UnexpectedEof,
                "the server closed the connection in the middle of its answer".to_owned(),
            )),
        }
    }

    fn ask(
        &self,
        place: &Place,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response<Body>, Fault> {
        // A bucket that redirects is elsewhere, where a signature is another one.
        let redirect_count = if place.bucket.is_some() { 0 } else { REDIRECT_COUNT };
        let mut request = self.agent.get(url).config().max_redirects(redirect_count).build();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in self.proof(place, "GET", url, headers, b"")? {
            request = request.header(name, value);
        }
        request.call().map_err(fault_of)
    }

    fn change_once(&self, place: &Place, change: &Change<'_>) -> Result<Reply, Fault> {
        let Change { method, query, headers, body } = change;
        let url = place.request_url_with(query);
        let mut request = Request::builder().method(method.clone()).uri(&url);
        for (name, value) in *headers {
            request = request.header(*name, *value);
        }
        for (name, value) in self.proof(place, method.as_str(), &url, headers, body)? {
            request = request.header(name, value);
        }
        let request = request.body(*body).map_err(|error| fault_of(error.into()))?;
        let (response, text) = self.run(request)?;
        match error_code(&text) {
            None if response.status().is_success() => {
                let etag = header_of(response.headers(), header::ETAG).map(str::to_owned);
                Ok(Reply { etag, text })
            }
            code => Err(refused_change(&response, code)),
        }
    }

    /// Sends a request that is not sent on: another place was not named, and may not be given the
    /// content.
    fn run(&self, request: Request<&[u8]>) -> Result<(Response<Body>, String), Fault> {
        let request = self.agent.configure_request(request).max_redirects(0).build();
        let mut response = self.agent.run(request).map_err(fault_of)?;
        let mut text = String::new();
        let body = response.body_mut().as_reader();
        let read = body.take(ANSWER_LIMIT).read_to_string(&mut text);
        read.map_err(|error| passing_io(&error))?;
        Ok((response, text))
    }

    /// The headers that prove who asks.
    fn proof(
        &self,
        place: &Place,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Vec<(&'static str, String)>, Fault> {
        let now = now();
        let Some(account) = place.service_account() else {
            return Ok(place.proof(method, url, headers, body, now));
        };
        let token = self
            .tokens
            .of(account, now, |url, form| self.exchange(url, form).map_err(Fault::of_tokens))?;
        Ok(vec![("authorization", format!("Bearer {token}"))])
    }

    /// Exchanges a claim for a token.
    fn exchange(&self, url: &str, form: &str) -> Result<String, Fault> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.as_bytes())
            .map_err(|error| fault_of(error.into()))?;
        let (response, text) = self.run(request)?;
        match response.status() {
            StatusCode::OK => Ok(text),
            _ => Err(refused_claim(&response, &text)),
        }
    }
}

/// The error, and what to set where a request that proves nothing was refused.
fn with_advice(error: io::Error, place: &Place) -> io::Error {
    match place.missing_proof().filter(|_| error.kind() == ErrorKind::PermissionDenied) {
        Some(advice) => RemoteError::io(error.kind(), format!("{error} to {advice}")),
        None => error,
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Waits before a repetition.
///
/// # Errors
/// Nobody waits for it any more.
fn pause(mut left: Duration) -> io::Result<()> {
    while !left.is_zero() {
        if is_wait_over() {
            return Err(RemoteError::end());
        }
        let slice = left.min(WAIT_SLICE);
        thread::sleep(slice);
        left -= slice;
    }
    Ok(())
}
