//! A file on its way into a bucket.
//!
//! What is written is gathered into parts of one size, and each is sent when it is full. Parts with
//! the range that may still change stay in memory, so two or three are there at a time.
//!
//! ```text
//! S3, Google   create a multipart upload → its parts, in any order → complete it
//! Azure        blocks, in any order → the list of blocks
//! less than a part: one request
//! ```
//!
//! The last request makes the whole file appear, in place of an older one. An upload that ends
//! before is aborted: its parts are removed, and were never seen. A process that is killed leaves
//! them where nobody sees them; Azure removes them after a week, the others by a rule of the bucket.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use folio_file::{RemoteError, Upload};
use ureq::http::Method;
use xxhash_rust::xxh3::xxh3_64;

use crate::bucket::Listing;
use crate::client::{Change, Reply};
use crate::encoding::{RESERVED, base64, elements, encode, escape, unescape};
use crate::file::Connection;
use crate::listing::list;
use crate::place::Place;
use crate::reading::Wanted;

/// Bytes of a part. The least that S3 takes is 5 MiB.
const PART_SIZE: u64 = 8 << 20;

/// Parts of a file, of which S3 takes 10,000. What is sent may be more than was expected.
const PART_COUNT: u64 = 5_000;

const XML: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// A file that is being sent.
#[derive(Debug)]
pub(crate) struct BucketUpload {
    connection: Arc<Connection>,
    place: Place,
    part_size: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    size: u64,
    /// Parts that were not sent, by number; all but the last are full.
    unsent: BTreeMap<u64, Vec<u8>>,
    /// What may still change.
    held: Range<u64>,
    /// What the server calls the upload, from its first part on.
    id: Option<String>,
    /// What the server calls each part that it has.
    sent: BTreeMap<u64, String>,
    is_finished: bool,
}

impl BucketUpload {
    /// Begins a file of about this size. Nothing is sent before the first part is full.
    ///
    /// # Errors
    /// `Unsupported` for a place that is in no bucket, `InvalidInput` for a directory.
    pub(crate) fn new(connection: Arc<Connection>, place: Place, size: u64) -> io::Result<Self> {
        let scheme = place.shown.split_once("://").map_or("", |(scheme, _)| scheme);
        if place.bucket.is_none() {
            let text = match scheme {
                "hf" => {
                    "nothing is uploaded to the Hub; pack to a file, and upload it by `hf upload`"
                }
                _ => {
                    "a web server takes no files; pack to a file, and copy it there, or to a \
                     bucket (s3://, gs://, az://)"
                }
            };
            return Err(RemoteError::io(ErrorKind::Unsupported, text));
        }
        if place.shown.matches('/').count() < 3 {
            let text = format!("the URL names no file; write {scheme}://bucket/mydata.zds");
            return Err(RemoteError::io(ErrorKind::InvalidInput, text));
        }
        // Who may not list may write.
        if list(&connection.client, &place, 1).is_ok_and(|names| !names.is_empty()) {
            let text = "it is a directory; name a file to write to";
            return Err(RemoteError::io(ErrorKind::InvalidInput, text));
        }
        let part_size = size.div_ceil(PART_COUNT).next_multiple_of(1 << 20).max(PART_SIZE);
        Ok(Self { connection, place, part_size, state: Mutex::default() })
    }

    fn change(
        &self,
        method: Method,
        query: &str,
        headers: &[(&'static str, &'static str)],
        body: &[u8],
    ) -> io::Result<Reply> {
        self.connection.client.change(&self.place, &Change { method, query, headers, body })
    }

    fn is_azure(&self) -> bool {
        self.place.bucket.as_ref().is_some_and(|bucket| bucket.listing == Listing::Azure)
    }

    /// Sends the full parts that do not change any more.
    fn send_full(&self, state: &mut State) -> io::Result<()> {
        let (size, held) = (self.part_size, state.held.clone());
        let is_free = |number: u64| (number + 1) * size <= held.start || held.end <= number * size;
        let is_ready = |(number, part): (&u64, &Vec<u8>)| {
            (part.len() as u64 == size && is_free(*number)).then_some(*number)
        };
        let ready: Vec<u64> = state.unsent.iter().filter_map(is_ready).collect();
        ready.into_iter().try_for_each(|number| self.send_part(state, number))
    }

    fn send_part(&self, state: &mut State, number: u64) -> io::Result<()> {
        let Some(part) = state.unsent.remove(&number) else { return Ok(()) };
        let id = match &state.id {
            Some(id) => id.clone(),
            None => state.id.insert(self.begin()?).clone(),
        };
        let name = if self.is_azure() {
            let block = base64(format!("{id}{number:08}").as_bytes());
            self.change(
                Method::PUT,
                &format!("blockid={}&comp=block", encode(&block, RESERVED)),
                &[],
                &part,
            )?;
            block
        } else {
            let query = format!("partNumber={}&uploadId={}", number + 1, encode(&id, RESERVED));
            let reply = self.change(Method::PUT, &query, &[], &part)?;
            reply.etag.ok_or_else(|| unexpected("it names no ETag of a part"))?
        };
        state.sent.insert(number, name);
        Ok(())
    }

    /// What the server calls the upload. Azure has no name for one; blocks of two must differ.
    fn begin(&self) -> io::Result<String> {
        if self.is_azure() {
            let now = jiff::Timestamp::now().as_nanosecond();
            let text = format!("{now} {}", std::process::id());
            return Ok(format!("{:016x}", xxh3_64(text.as_bytes())));
        }
        let reply = self.change(Method::POST, "uploads=", &[], &[])?;
        let id = elements(&reply.text, "UploadId").next().map(unescape);
        id.ok_or_else(|| unexpected("it names no upload"))
    }

    /// Makes the file appear, of the parts that were sent.
    fn complete(&self, state: &State, id: &str) -> io::Result<()> {
        let mut body = String::new();
        if self.is_azure() {
            for block in state.sent.values() {
                let _ = write!(body, "<Latest>{block}</Latest>");
            }
            let body = format!("{XML}<BlockList>{body}</BlockList>");
            return self.change(Method::PUT, "comp=blocklist", &[], body.as_bytes()).map(drop);
        }
        for (number, etag) in &state.sent {
            let (number, etag) = (number + 1, escape(etag));
            let _ =
                write!(body, "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        let body = format!("{XML}<CompleteMultipartUpload>{body}</CompleteMultipartUpload>");
        let query = format!("uploadId={}", encode(id, RESERVED));
        let body = body.as_bytes();
        let change = Change { method: Method::POST, query: &query, headers: &[], body };
        let (client, mut attempt_count) = (&self.connection.client, 0);
        match client.change_counted(&self.place, &change, &mut attempt_count) {
            // An upload that is gone was completed by an attempt before, whose answer was lost.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && attempt_count > 1
                    && self.is_there(state.size) =>
            {
                Ok(())
            }
            completed => completed.map(drop),
        }
    }

    /// Whether a file of this size is at the place.
    fn is_there(&self, size: u64) -> bool {
        let found = self.connection.client.read(&self.place, Wanted::Last(1), None);
        found.is_ok_and(|answer| answer.known.size == size)
    }
}

fn unexpected(what: &str) -> io::Error {
    let text = format!("the server does not answer as a bucket does: {what}");
    RemoteError::io(ErrorKind::Other, text)
}

impl Upload for BucketUpload {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut rest, mut at) = (bytes, offset);
        while !rest.is_empty() {
            let (number, from) = (at / self.part_size, (at % self.part_size) as usize);
            let (now, later) = rest.split_at(rest.len().min(self.part_size as usize - from));
            let is_new = at == state.size && from == 0;
            let part = match is_new {
                true => Some(state.unsent.entry(number).or_default()),
                false => state.unsent.get_mut(&number),
            };
            let Some(part) = part.filter(|part| from <= part.len()) else {
                let text = format!("byte {at} was sent before it was written");
                return Err(io::Error::new(ErrorKind::InvalidInput, text));
            };
            let over = now.len().min(part.len() - from);
            part[from..from + over].copy_from_slice(&now[..over]);
            part.extend_from_slice(&now[over..]);
            (rest, at) = (later, at + now.len() as u64);
            state.size = state.size.max(at);
            self.send_full(state)?;
        }
        Ok(())
    }

    fn hold(&self, range: Range<u64>) -> io::Result<()> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held = range;
        self.send_full(state)
    }

    fn finish(&self) -> io::Result<u64> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.id.is_none() && state.unsent.len() <= 1 {
            let whole = state.unsent.pop_first().map_or(Vec::new(), |(_, part)| part);
            let headers: &[_] =
                if self.is_azure() { &[("x-ms-blob-type", "BlockBlob")] } else { &[] };
            self.change(Method::PUT, "", headers, &whole)?;
        } else {
            while let Some(&number) = state.unsent.keys().next() {
                self.send_part(state, number)?;
            }
            let id = state.id.clone().unwrap_or_default();
            self.complete(state, &id)?;
        }
        state.is_finished = true;
        Ok(state.size)
    }
}

impl Drop for BucketUpload {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (is_finished, id) = (state.is_finished, state.id.take());
        if let Some(id) = id.filter(|_| !is_finished && !self.is_azure()) {
            let query = format!("uploadId={}", encode(&id, RESERVED));
            // The error that led here matters more than one of this request.
            let _ = self.change(Method::DELETE, &query, &[], &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use crate::cache::Cache;
    use crate::client::Client;
    use crate::options::RemoteOptions;
    use crate::surroundings::within;

    /// What a bucket was asked, without the signature: method and query, and the body.
    type Asked = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

    /// What a bucket refuses: requests with this text in them, the first with the first status and
    /// so on.
    type Refused = (&'static str, &'static [&'static str]);

    /// A bucket that has a file of 25 bytes, takes what it is sent, and refuses some requests.
    fn bucket(refused: Refused) -> (String, Asked) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Asked::default();
        let shared = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let asked = Arc::clone(&shared);
                thread::spawn(move || while serve(&stream, &asked, refused).is_some() {});
            }
        });
        (address, asked)
    }

    fn serve(mut stream: &TcpStream, asked: &Asked, refused: Refused) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut size) = (String::new(), 0);
        reader.read_line(&mut line).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).ok()? <= 2 {
                break;
            }
            if let Some(text) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                size = text.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; size];
        reader.read_exact(&mut body).ok()?;
        let text = format!("{method} {}", path.split_once('?').map_or("", |(_, query)| query));
        let (refused, statuses) = refused;
        let is_refused = |text: &str| !statuses.is_empty() && text.contains(refused);
        let mut asked = asked.lock().unwrap();
        let before = asked.iter().filter(|(text, _)| is_refused(text)).count();
        let (status, answer) = match text.as_str() {
            text if is_refused(text) => {
                (statuses[before.min(statuses.len() - 1)], "<Error><Code>Refused</Code></Error>")
            }
            "POST uploads=" => ("200 OK", "<R><UploadId>a/b</UploadId></R>"),
            "GET " => ("206 Partial\r\nContent-Range: bytes 24-24/25", "y"),
            _ => ("200 OK", ""),
        };
        if method != "GET" {
            asked.push((text, body));
        }
        drop(asked);
        let length = answer.len();
        let head = format!("HTTP/1.1 {status}\r\nETag: \"e\"\r\nContent-Length: {length}\r\n\r\n");
        io::Write::write_all(&mut stream, format!("{head}{answer}").as_bytes()).ok()
    }

    /// An upload in parts of 10 bytes.
    fn upload(address: &str) -> BucketUpload {
        let client = Client::new(&RemoteOptions {
            retry_delay: Duration::from_millis(1),
            ..RemoteOptions::default()
        });
        let connection =
            Arc::new(Connection { client, cache: Arc::new(Cache::new(0)), disk: None });
        let variables = [("AWS_ENDPOINT_URL", address)];
        let parsed = within(&variables, &[], |around| Place::parse("s3://b/x.zds", around));
        let mut upload = BucketUpload::new(connection, parsed.unwrap(), 0).unwrap();
        upload.part_size = 10;
        upload
    }

    fn texts(asked: &Asked) -> Vec<String> {
        asked.lock().unwrap().iter().map(|(text, _)| text.clone()).collect()
    }

    #[test]
    fn parts_that_are_held_are_sent_last() {
        let (address, asked) = bucket(("", &[]));
        let upload = upload(&address);
        upload.hold(8..u64::MAX).unwrap();
        upload.write_at(b"0123456789abcdefghijklmno", 0).unwrap();
        assert_eq!(asked.lock().unwrap().len(), 0, "all may change");
        upload.hold(8..12).unwrap();
        upload.write_at(b"pqrstuvwxyz", 25).unwrap();
        upload.write_at(b"HELD", 8).unwrap();
        assert!(upload.write_at(b"x", 20).is_err(), "it was sent");
        assert_eq!(upload.finish().unwrap(), 36);
        drop(upload);
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let asked: Vec<(&str, &[u8])> =
            asked.iter().map(|(text, body)| (text.as_str(), body.as_slice())).collect();
        assert_eq!(asked[0], ("POST uploads=", &b""[..]));
        let parts = [(3, "klmnopqrst"), (1, "01234567HE"), (2, "LDcdefghij"), (4, "uvwxyz")];
        for ((number, body), asked) in parts.iter().zip(&asked[1..5]) {
            let text = format!("PUT partNumber={number}&uploadId=a%2Fb");
            assert_eq!(*asked, (text.as_str(), body.as_bytes()));
        }
        assert_eq!(asked[5].0, "POST uploadId=a%2Fb");
        let list = String::from_utf8_lossy(asked[5].1);
        let numbers: Vec<&str> = elements(&list, "PartNumber").collect();
        assert_eq!(numbers, ["1", "2", "3", "4"]);
        assert_eq!(asked.len(), 6);
    }

    #[test]
    fn less_than_a_part_is_one_request() {
        let (address, asked) = bucket(("", &[]));
        let upload = upload(&address);
        upload.write_at(b"01234", 0).unwrap();
        upload.write_at(b"X", 1).unwrap();
        assert_eq!(upload.finish().unwrap(), 5);
        drop(upload);
        assert_eq!(*asked.lock().unwrap(), [("PUT ".to_owned(), b"0X234".to_vec())]);
    }

    /// A file of the same size may have been there before.
    #[test]
    fn an_upload_that_is_gone_was_completed_if_an_answer_was_lost() {
        let cases: [(&[&str], _); 3] = [
            (&["404 Gone"], Some(ErrorKind::NotFound)),
            (&["503 Busy", "404 Gone"], None),
            (&["503 Busy", "403 No"], Some(ErrorKind::PermissionDenied)),
        ];
        for (statuses, expected) in cases {
            let (address, asked) = bucket(("POST uploadId", statuses));
            let upload = upload(&address);
            upload.write_at(&[1; 25], 0).unwrap();
            assert_eq!(upload.finish().err().map(|error| error.kind()), expected, "{statuses:?}");
            drop(upload);
            let is_aborted = texts(&asked).contains(&"DELETE uploadId=a%2Fb".to_owned());
            assert_eq!(is_aborted, expected.is_some(), "{statuses:?}");
        }
    }

    #[test]
    fn what_is_not_finished_is_aborted() {
        for refused in ["none", "partNumber=2", "POST uploadId"] {
            let (address, asked) = bucket((refused, &["403 No"]));
            let upload = upload(&address);
            let written = upload.write_at(&[1; 25], 0);
            assert_eq!(written.is_err(), refused == "partNumber=2");
            if refused == "POST uploadId" {
                let error = upload.finish().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PermissionDenied);
                let text = error.to_string();
                assert!(text.starts_with("the server answered 403 Forbidden (Refused)"), "{text}");
            }
            drop(upload);
            assert_eq!(texts(&asked).last().unwrap(), "DELETE uploadId=a%2Fb", "{refused}");
        }
        let (address, asked) = bucket(("", &[]));
        upload(&address).write_at(&[1; 5], 0).unwrap();
        assert_eq!(texts(&asked), [""; 0]);
    }
}
