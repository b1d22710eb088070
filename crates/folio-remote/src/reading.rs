//! A range of a file that is read, in as many answers as it takes, and what they say of the file.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ureq::Body;
use ureq::http::{HeaderMap, Response, StatusCode, header};
use xxhash_rust::xxh3::xxh3_64;

use crate::fault::{Fault, changed, header_of, no_ranges, refused};
use crate::place::Place;

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

/// A range of which a part may have been read.
pub(crate) struct Reading<'r> {
    wanted: Wanted,
    pub(crate) known: Option<Known>,
    /// The offset of the first byte, once an answer has said it.
    start: u64,
    pub(crate) bytes: Vec<u8>,
    /// Nobody wants it any more.
    stop: &'r AtomicBool,
}

impl<'r> Reading<'r> {
    /// Begins with a range of a file, which is as it is known.
    pub(crate) fn new(wanted: Wanted, known: Option<Known>, stop: &'r AtomicBool) -> Self {
        Self { wanted, known, start: 0, bytes: Vec::new(), stop }
    }

    /// What was read; `None` if there was no answer.
    pub(crate) fn into_answer(self) -> Option<Answer> {
        let Self { known, start, bytes, .. } = self;
        Some(Answer { known: known?, start, bytes })
    }

    /// # Errors
    /// Nobody wants it any more.
    pub(crate) fn check_stop(&self) -> Result<(), Fault> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Fault::Lasting(ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }

    /// The header for what is missing.
    pub(crate) fn header(&self) -> String {
        match self.wanted {
            Wanted::Range(start, end) => {
                format!("bytes={}-{}", start + self.bytes.len() as u64, end - 1)
            }
            Wanted::Last(size) => format!("bytes=-{size}"),
        }
    }

    /// Compares the head of an answer with what was asked for and what is known. Returns how many
    /// bytes of its body to read, and how many of them to drop.
    pub(crate) fn accept(&mut self, response: &Response<Body>) -> Result<(u64, u64), Fault> {
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

/// `bytes 0-99/200` as 0, 100 and 200.
fn parse_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, size) = (first.parse().ok()?, last.parse::<u64>().ok()?, size.parse().ok()?);
    (first <= last && last < size).then_some((first, last + 1, size))
}
