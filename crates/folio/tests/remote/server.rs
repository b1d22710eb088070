//! A server of files that does what it is told: wait, fail, cut, forget ranges. It counts requests.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// What to do wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    Status(u16),
    /// Closes the connection after this many bytes of the body.
    Cut(usize),
    /// Closes the connection before the answer.
    Hang,
    Silence(Duration),
    /// Sends the whole file, as a server without ranges does.
    Whole,
    /// Changes a bit in the middle of the body.
    Flip,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    files: HashMap<String, (Arc<Vec<u8>>, String)>,
    /// What to do with the next requests.
    pub(crate) faults: VecDeque<Fault>,
    /// Path and range of each request.
    pub(crate) requests: Vec<(String, String)>,
    /// Heads of requests, as they were sent.
    pub(crate) heads: Vec<String>,
    pub(crate) delay: Duration,
    pub(crate) has_etags: bool,
    /// When all files were last changed, as the header says it.
    pub(crate) modified: String,
    pub(crate) sent_size: usize,
    /// Requests that are being answered, and the most there were.
    running: usize,
    pub(crate) most_running: usize,
}

pub(crate) struct Server {
    pub(crate) host: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State {
            has_etags: true,
            modified: "Sat, 28 Nov 2026 10:00:00 GMT".to_owned(),
            ..State::default()
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || while serve(&stream, &state).is_some() {});
            }
        });
        Self { host, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.host)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Serves a file; a second call with the same path changes it.
    pub(crate) fn put(&self, path: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let count = state.files.len() + state.requests.len();
        let etag = format!("\"{:x}-{count}\"", bytes.len());
        state.files.insert(format!("/{path}"), (Arc::new(bytes), etag));
    }

    /// Serves other bytes under the ETag that a path has, as if they had been damaged before.
    pub(crate) fn replace(&self, path: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let (own, _) = state.files.get_mut(&format!("/{path}")).unwrap();
        *own = Arc::new(bytes);
    }

    pub(crate) fn put_folder(&self, path: &str, folder: &std::path::Path) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{path}/{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => self.put_folder(&name, &entry.path()),
                false => self.put(&name, std::fs::read(entry.path()).unwrap()),
            }
        }
    }

    pub(crate) fn fail(&self, faults: &[Fault]) {
        self.state().faults = faults.iter().copied().collect();
    }

    /// The requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.state().requests)
    }
}

/// Answers one request; `None` closes the connection.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let head = read_head(stream)?;
    let answered = serve_head(stream, state, &head);
    state.lock().unwrap().running -= 1;
    answered
}

fn serve_head(stream: &TcpStream, state: &Mutex<State>, head: &str) -> Option<()> {
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let range = header("range").unwrap_or_default();
    let (file, fault, delay, has_etags, modified) = {
        let mut state = state.lock().unwrap();
        state.requests.push((path.clone(), range.clone()));
        state.heads.push(head.to_owned());
        let path = path.split('?').next()?;
        let fault = state.faults.pop_front().unwrap_or(Fault::None);
        state.running += 1;
        state.most_running = state.most_running.max(state.running);
        let modified = state.modified.clone();
        (state.files.get(path).cloned(), fault, state.delay, state.has_etags, modified)
    };
    thread::sleep(delay);
    match fault {
        Fault::Silence(time) => thread::sleep(time),
        Fault::Hang => return None,
        Fault::Status(status) => return answer(stream, status, "", &[], usize::MAX),
        _ => {}
    }
    let Some((bytes, etag)) = file else { return answer(stream, 404, "", b"no", usize::MAX) };
    if has_etags && header("if-match").is_some_and(|wanted| wanted != etag) {
        return answer(stream, 412, "", &[], usize::MAX);
    }
    let extra = if has_etags { format!("ETag: {etag}\r\n") } else { String::new() };
    let extra = format!("{extra}Last-Modified: {modified}\r\n");
    let limit = if let Fault::Cut(limit) = fault { limit } else { usize::MAX };
    let wanted = match fault {
        Fault::Whole => None,
        _ => range.strip_prefix("bytes=").and_then(|range| range.split_once('-')),
    };
    let (status, extra, body) = match wanted {
        None => (200, extra, &bytes[..]),
        Some((first, last)) => {
            let size = bytes.len();
            let (start, end) = match first {
                "" => (size.saturating_sub(last.parse().ok()?), size),
                first => (first.parse().ok()?, size.min(last.parse::<usize>().ok()? + 1)),
            };
            if start >= end {
                let extra = format!("Content-Range: bytes */{size}\r\n{extra}");
                return answer(stream, 416, &extra, &[], usize::MAX);
            }
            let extra = format!("Content-Range: bytes {start}-{}/{size}\r\n{extra}", end - 1);
            (206, extra, &bytes[start..end])
        }
    };
    state.lock().unwrap().sent_size += body.len().min(limit);
    let mut body = body.to_vec();
    if fault == Fault::Flip {
        let middle = body.len() / 2;
        body[middle] ^= 1;
    }
    answer(stream, status, &extra, &body, limit)
}

fn read_head(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

fn answer(
    mut stream: &TcpStream,
    status: u16,
    extra: &str,
    body: &[u8],
    limit: usize,
) -> Option<()> {
    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n{extra}\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body[..body.len().min(limit)]).ok()?;
    (limit >= body.len()).then_some(())
}
