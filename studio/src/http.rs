//! HTTP/1.1 as far as our pages need it: one request, one response, the end.

use std::io;
use std::time::{Duration, Instant};

use crate::connection::Connection;

/// The most bytes of a request line with its headers.
const HEAD_SIZE_MAX: usize = 16 << 10;

/// The most headers.
const HEADERS_MAX: usize = 64;

/// The most bytes of a body.
const BODY_SIZE_MAX: usize = 1 << 20;

/// How long a request may take to arrive.
pub(crate) const ARRIVAL: Duration = Duration::from_secs(10);

/// A request, whose body may still be on its way.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path, without what follows a question mark.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    /// The size of the body.
    pub(crate) size: usize,
    /// What of the body came with the head.
    begun: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
    /// Where what was asked for is.
    location: Option<String>,
}

/// What a page may do: run our script, use our style, ask us. Everything else is refused by the
/// browser.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Request {
    /// Reads a request up to its body. The error is what to answer, or nothing if there is nobody to
    /// answer.
    pub(crate) fn read(connection: &Connection) -> Result<Self, Option<Response>> {
        let mut arriving =
            Arriving { connection, end: Instant::now() + ARRIVAL, bytes: Vec::new() };
        let (mut request, head_size) = loop {
            arriving.more().map_err(|_| None)?;
            let found = head(&arriving.bytes);
            let size = found
                .as_ref()
                .map_or(0, |found| found.as_ref().map_or(arriving.bytes.len(), |(_, size)| *size));
            if size > HEAD_SIZE_MAX {
                return Err(Some(Response::refused(431, "the request has a long head")));
            }
            match found {
                Ok(Some(found)) => break found,
                Ok(None) => {}
                Err(()) => return Err(Some(Response::refused(400, "this is not HTTP/1.1"))),
            }
        };
        request.size = match request.header("content-length") {
            Some(text) => text.parse().unwrap_or(usize::MAX),
            None => 0,
        };
        if request.header("transfer-encoding").is_some() {
            return Err(Some(Response::refused(411, "a request has its length")));
        }
        request.begun = arriving.bytes.split_off(head_size);
        request.begun.truncate(request.size);
        Ok(request)
    }

    /// The body of what a page asks, which is short. The error as of [`Request::read`].
    pub(crate) fn body(&self, connection: &Connection) -> Result<Vec<u8>, Option<Response>> {
        if self.size > BODY_SIZE_MAX {
            return Err(Some(Response::refused(413, "the request is longer than 1 MiB")));
        }
        let end = Instant::now() + ARRIVAL;
        let mut arriving = Arriving { connection, end, bytes: self.begun.clone() };
        while arriving.bytes.len() < self.size {
            arriving.more().map_err(|_| None)?;
        }
        arriving.bytes.truncate(self.size);
        Ok(arriving.bytes)
    }

    /// Gives the body away in pieces, as it arrives.
    pub(crate) fn body_to(
        &self,
        connection: &Connection,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        take(&self.begun)?;
        let mut left = self.size - self.begun.len();
        while left > 0 {
            let end = Instant::now() + ARRIVAL;
            let mut arriving = Arriving { connection, end, bytes: Vec::new() };
            arriving.more()?;
            arriving.bytes.truncate(left);
            left -= arriving.bytes.len();
            take(&arriving.bytes)?;
        }
        Ok(())
    }

    /// The value of a header, by its name in lower case. Twice the same header is none.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }
}

/// The bytes of a request, as they arrive.
struct Arriving<'a> {
    connection: &'a Connection,
    end: Instant,
    bytes: Vec<u8>,
}

impl Arriving<'_> {
    fn more(&mut self) -> io::Result<()> {
        let mut piece = [0; 64 << 10];
        let size = self.connection.read(&mut piece, self.end)?;
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend_from_slice(&piece[..size]);
        Ok(())
    }
}

/// The request of a head and the head's size, once it is complete.
fn head(bytes: &[u8]) -> Result<Option<(Request, usize)>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(size) = parsed.parse(bytes).map_err(|_| ())? else {
        return Ok(None);
    };
    let path = parsed.path.unwrap_or("").split('?').next().unwrap_or("");
    let headers = parsed.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let request = Request {
        method: parsed.method.unwrap_or("").to_owned(),
        path: path.to_owned(),
        headers: headers.collect(),
        size: 0,
        begun: Vec::new(),
    };
    Ok(Some((request, size)))
}

impl Response {
    /// What was asked for.
    pub(crate) fn found(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: 200, kind, body, location: None }
    }

    /// An answer to a page.
    pub(crate) fn json(body: String) -> Self {
        Self::found("application/json", body.into_bytes())
    }

    /// A refusal, in words.
    pub(crate) fn refused(status: u16, text: &str) -> Self {
        let kind = "text/plain; charset=utf-8";
        Self { status, kind, body: text.as_bytes().to_vec(), location: None }
    }

    /// Sends a browser to another path.
    pub(crate) fn moved(path: String) -> Self {
        Self { location: Some(path), ..Self::refused(308, "it is there") }
    }

    pub(crate) fn write(&self, connection: &Connection) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            308 => "Permanent Redirect",
            403 => "Forbidden",
            404 => "Not Found",
            _ => "Refused",
        };
        let location = self.location.as_ref().map(|path| format!("Location: {path}\r\n"));
        let head = format!(
            "HTTP/1.1 {} {reason}\r\n{}Content-Type: {}\r\nContent-Length: {}\r\n\
             Connection: close\r\nCache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\r\n",
            self.status,
            location.unwrap_or_default(),
            self.kind,
            self.body.len(),
        );
        connection.write(&[head.as_bytes(), &self.body], ARRIVAL)
    }
}
