//! One request for one range, until it is answered.
//!
//! What may pass is tried again: a connection that broke, silence, 429, and the 5xx that servers
//! answer when they are busy. An answer that was cut continues where it broke off. Everything else
//! ends the read, with an error that names what the server did.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use folio_file::RemoteError;
use folio_types::{WAIT_SLICE, is_wait_over};
use serde_json::Value;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body};
use xxhash_rust::xxh3::xxh3_64;

use crate::encoding::elements;
use crate::google::Tokens;
use crate::options::RemoteOptions;
use crate::patient::connector;
use crate::place::Place;

/// A connection that is followed to another place more often than this goes in a circle.
const REDIRECT_COUNT: u32 = 5;

/// Where S3 says the region of a bucket that another one was asked for.
const BUCKET_REGION: header::HeaderName = header::HeaderName::from_static("x-amz-bucket-region");

/// Bytes of a body that are read before the reader is asked whether it still wants them.
const READ_SIZE: u64 = 64 << 10;

/// Bytes of an answer that are not what was asked for, such as a listing.
const ANSWER_LIMIT: u64 = 16 << 20;

/// Connections to one server that stay open between requests: as many as ask it at the same time.
const CONNECTION_COUNT: usize = 10;

/// Which bytes are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// From an offset, up to another.
    Range(u64, u64),
    /// This many at the end.
    Last(u64),
}

/// What an answer says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
    /// The last change, in nanoseconds since the epoch; 0 if it is unknown.
    pub(crate) modified_ns: i128,
}

impl Known {
    /// A number for this content of this place.
    pub(crate) fn identity(&self, place: &Place) -> u64 {
        static UNKNOWN: AtomicU64 = AtomicU64::new(0);
        let mut text = format!("{}\n{}\n{}", place.shown, self.size, self.modified_ns);
        match &self.etag {
            Some(etag) => text.push_str(etag),
            // Nothing proves that two answers are of one content.
            None if self.modified_ns == 0 => {
                text.push_str(&UNKNOWN.fetch_add(1, Ordering::Relaxed).to_string());
            }
            None => {}
        }
        xxh3_64(text.as_bytes())
    }

    /// Whether another answer is of the same content.
    fn is_same(&self, other: &Self) -> bool {
        self.size == other.size
            && match (&self.etag, &other.etag) {
                (Some(own), Some(other)) => own == other,
                _ => self.modified_ns == other.modified_ns,
            }
    }

    /// The ETag, if a server can compare it: weak ones never match (RFC 9110, 13.1.1).
    pub(crate) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }
}

/// Bytes of a file, and what is known of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) known: Known,
    /// The offset of the first byte.
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
}

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

/// Why an attempt failed.
enum Fault {
    /// It may succeed if it is repeated.
    Passing(ErrorKind, String),
    Lasting(io::Error),
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
        let agent = Agent::with_parts(config, connector(), DefaultResolver::default());
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
        let known = known.cloned();
        let mut reading = Reading { wanted, known, start: 0, bytes: Vec::new(), stop };
        self.repeat(|| self.read_on(place, &mut reading))?;
        let Reading { known: Some(known), start, bytes, .. } = reading else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        Ok(Answer { known, start, bytes })
    }

    /// The whole answer to a request for names.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn page(&self, place: &Place, url: &str) -> io::Result<Page> {
        let (mut text, mut link) = (String::new(), None);
        self.repeat(|| {
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
        self.repeat(|| {
            *attempt_count += 1;
            reply = Some(self.change_once(place, change)?);
            Ok(())
        })?;
        reply.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// Repeats what may pass, as long as somebody waits for it.
    fn repeat(&self, mut attempt: impl FnMut() -> Result<(), Fault>) -> io::Result<()> {
        let mut delay = self.options.retry_delay;
        for left in (0..=self.options.retry_count).rev() {
            match attempt() {
                Ok(()) => return Ok(()),
                Err(Fault::Lasting(error)) => return Err(error),
                Err(Fault::Passing(..)) if is_wait_over() => return Err(nobody_waits()),
                Err(Fault::Passing(kind, reason)) if left == 0 => {
                    let text = match self.options.retry_count {
                        0 => reason,
                        count => format!("{reason}, {} times", count + 1),
                    };
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
        let mut request = self.agent.get(url);
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

impl Fault {
    /// The same, where a token was asked for. A server of tokens that is not there says nothing of
    /// the file.
    fn of_tokens(self) -> Self {
        let told = |what: &dyn fmt::Display| format!("no token for the service account: {what}");
        match self {
            Self::Passing(kind, reason) => Self::Passing(kind, told(&reason)),
            Self::Lasting(error) => {
                let kind = match error.kind() {
                    ErrorKind::NotFound => ErrorKind::PermissionDenied,
                    kind => kind,
                };
                Self::Lasting(RemoteError::io(kind, told(&error)))
            }
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Lasting(error)
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// The name of the error in an answer: a bucket may say only there that a request has failed.
fn error_code(text: &str) -> Option<&str> {
    let (_, error) = text.split_once("<Error>")?;
    let code = elements(error, "Code").next()?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(code)
}

/// What the status of an answer to a change means, and the name of its error.
fn refused_change<T>(response: &Response<T>, code: Option<&str>) -> Fault {
    let name = code.map_or(String::new(), |code| format!(" ({code})"));
    let text = match header_of(response.headers(), BUCKET_REGION) {
        Some(region) if response.status().is_redirection() => {
            format!("the bucket is in the region {region:?}; set AWS_REGION to it")
        }
        _ => format!("the server answered {}{name}", response.status()),
    };
    match (refused(response), code) {
        (Fault::Passing(kind, _), _) => Fault::Passing(kind, text),
        (Fault::Lasting(_), Some("InternalError" | "RequestTimeout" | "SlowDown")) => {
            Fault::Passing(ErrorKind::Other, text)
        }
        (Fault::Lasting(error), _) => Fault::Lasting(RemoteError::io(error.kind(), text)),
    }
}

/// What the status of an answer to a claim means, and the name of its error (RFC 6749).
fn refused_claim<T>(response: &Response<T>, text: &str) -> Fault {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let code = answer
        .get("error")
        .and_then(Value::as_str)
        .filter(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
    match (refused(response), code) {
        (Fault::Lasting(_), Some(code)) => {
            let status = response.status();
            let text = format!(
                "the server answered {status} ({code}); check the key that \
                 GOOGLE_APPLICATION_CREDENTIALS names, and the clock"
            );
            Fault::Lasting(RemoteError::io(ErrorKind::PermissionDenied, text))
        }
        (fault, _) => fault,
    }
}

/// A range of which a part may have been read.
struct Reading<'r> {
    wanted: Wanted,
    known: Option<Known>,
    /// The offset of the first byte, once an answer has said it.
    start: u64,
    bytes: Vec<u8>,
    /// Nobody wants it any more.
    stop: &'r AtomicBool,
}

impl Reading<'_> {
    fn check_stop(&self) -> Result<(), Fault> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Fault::Lasting(ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }

    /// The header for what is missing.
    fn header(&self) -> String {
        match self.wanted {
            Wanted::Range(start, end) => {
                format!("bytes={}-{}", start + self.bytes.len() as u64, end - 1)
            }
            Wanted::Last(size) => format!("bytes=-{size}"),
        }
    }

    /// Compares the head of an answer with what was asked for and what is known. Returns how many
    /// bytes of its body to read, and how many of them to drop.
    fn accept(&mut self, response: &Response<Body>) -> Result<(u64, u64), Fault> {
        let range = header_of(response.headers(), header::CONTENT_RANGE);
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let Some((start, end, size)) = range.and_then(parse_range) else {
                    return Err(no_ranges("it does not say which bytes it sends"));
                };
                self.check(response.headers(), size)?;
                let (from, to) = self.settle(size);
                if from != start || to != end {
                    return Err(no_ranges("it sends others than it was asked for"));
                }
                Ok((end - start, 0))
            }
            StatusCode::OK => {
                let length = header_of(response.headers(), header::CONTENT_LENGTH);
                let Some(size) = length.and_then(|text| text.parse().ok()) else {
                    return Err(no_ranges("it sends the whole file, of an unknown size"));
                };
                self.check(response.headers(), size)?;
                let (from, to) = self.settle(size);
                if to < size {
                    return Err(no_ranges(&format!("it sends all {size} bytes of the file")));
                }
                Ok((to, from))
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let size = range.and_then(|range| range.strip_prefix("bytes */")?.parse().ok());
                match size {
                    Some(size) => self.check(response.headers(), size)?,
                    None => return Err(refused(response)),
                }
                let (from, to) = self.settle(size.unwrap_or(0));
                if from < to { Err(refused(response)) } else { Ok((0, 0)) }
            }
            StatusCode::PRECONDITION_FAILED => Err(Fault::Lasting(changed())),
            _ => Err(refused(response)),
        }
    }

    /// The bytes that are missing of a file of this size.
    fn settle(&mut self, size: u64) -> (u64, u64) {
        let (start, end) = match self.wanted {
            Wanted::Range(start, end) => (start.min(size), end.min(size)),
            Wanted::Last(last) => (size.saturating_sub(last), size),
        };
        (self.wanted, self.start) = (Wanted::Range(start, end), start);
        (start + self.bytes.len() as u64, end)
    }

    /// # Errors
    /// The file has changed.
    fn check(&mut self, headers: &HeaderMap, size: u64) -> Result<(), Fault> {
        let modified = header_of(headers, header::LAST_MODIFIED);
        let modified = modified.and_then(|text| jiff::fmt::rfc2822::parse(text).ok());
        let now = Known {
            size,
            etag: header_of(headers, header::ETAG).map(str::to_owned),
            modified_ns: modified.map_or(0, |time| time.timestamp().as_nanosecond()),
        };
        match &self.known {
            Some(known) if !known.is_same(&now) => Err(Fault::Lasting(changed())),
            Some(_) => Ok(()),
            None => {
                self.known = Some(now);
                Ok(())
            }
        }
    }
}

fn header_of(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// `bytes 0-99/200` as 0, 100 and 200.
fn parse_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, size) = (first.parse().ok()?, last.parse::<u64>().ok()?, size.parse().ok()?);
    (first <= last && last < size).then_some((first, last + 1, size))
}

fn changed() -> io::Error {
    let text = "it was changed since it was opened; open it again to read the new state";
    RemoteError::io(ErrorKind::StaleNetworkFileHandle, text)
}

fn no_ranges(what: &str) -> Fault {
    let text = format!(
        "the server does not send ranges of files ({what}); download the file, and open it here"
    );
    Fault::Lasting(RemoteError::io(ErrorKind::Unsupported, text))
}

/// What the status of an answer means.
fn refused<T>(response: &Response<T>) -> Fault {
    let status = response.status();
    let text = format!("the server answered {status}");
    let kind = match status.as_u16() {
        404 | 410 => ErrorKind::NotFound,
        401 | 403 => ErrorKind::PermissionDenied,
        408 | 425 | 429 | 500 | 502..=504 => return Fault::Passing(ErrorKind::Other, text),
        _ => ErrorKind::Other,
    };
    Fault::Lasting(RemoteError::io(kind, text))
}

fn passing_io(error: &io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(ureq::Error::Timeout(_)) => silence(),
        _ => Fault::Passing(error.kind(), format!("the connection broke ({error})")),
    }
}

/// Waits before a repetition.
///
/// # Errors
/// Nobody waits for it any more.
fn pause(mut left: Duration) -> io::Result<()> {
    while !left.is_zero() {
        if is_wait_over() {
            return Err(nobody_waits());
        }
        let slice = left.min(WAIT_SLICE);
        thread::sleep(slice);
        left -= slice;
    }
    Ok(())
}

/// The end of a wait that was told to end.
pub(crate) fn nobody_waits() -> io::Error {
    RemoteError::io(ErrorKind::TimedOut, "what waited for the server has ended")
}

fn silence() -> Fault {
    Fault::Passing(ErrorKind::TimedOut, "the server did not answer in time".to_owned())
}

/// What an error of the client means. Its text could have the URL with its secrets.
fn fault_of(error: ureq::Error) -> Fault {
    let lasting = |text: &str| Fault::Lasting(RemoteError::io(ErrorKind::Other, text));
    match error {
        ureq::Error::Timeout(_) => silence(),
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            lasting(&format!("the connection is not secure: {error}"))
        }
        ureq::Error::Io(error) => passing_io(&error),
        ureq::Error::HostNotFound => {
            Fault::Passing(ErrorKind::HostUnreachable, "the host is not known".to_owned())
        }
        ureq::Error::ConnectionFailed => {
            Fault::Passing(ErrorKind::ConnectionRefused, "the server does not listen".to_owned())
        }
        ureq::Error::TooManyRedirects => lasting("the server redirects in a circle"),
        ureq::Error::Protocol(_) | ureq::Error::BodyStalled => Fault::Passing(
            ErrorKind::UnexpectedEof,
            "the server answered what is not HTTP, or closed the connection".to_owned(),
        ),
        ureq::Error::Rustls(error) => lasting(&format!("the connection is not secure: {error}")),
        ureq::Error::Tls(reason) => lasting(&format!("the connection is not secure: {reason}")),
        _ => lasting("the request could not be made; check the URL"),
    }
}
