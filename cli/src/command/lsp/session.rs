//! The messages of an editor, in order, and the end.
//!
//! A thread reads, so that a request to cancel overtakes what it cancels. Texts are checked when
//! nothing else waits: of ten letters typed in a row, only the last text is.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use serde_json::Value;

use super::frame::{self, Frame};
use super::server::{CANCELLED, Flow, Server};

/// Frames that are read before it is their turn.
const WAITING_MAX: usize = 1_000;

/// Serves until the editor asks for the end, or its stream ends. The code is what the process exits
/// with.
pub(super) fn run(mut input: impl BufRead + Send + 'static, mut server: Server) -> io::Result<u8> {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    thread::Builder::new().name("folio-lsp".to_owned()).spawn(move || {
        // An error ends the stream too: nobody can send anything any more.
        while let Ok(Some(frame)) = frame::read(&mut input) {
            if sender.send(frame).is_err() {
                return;
            }
        }
    })?;
    let mut waiting = VecDeque::new();
    while let Some(frame) = next(&receiver, &mut waiting, &mut server)? {
        if let Frame::Message(message) = &frame
            && is_cancelled(message, &waiting)
        {
            server.refuse(&message["id"], CANCELLED, "the request was cancelled")?;
            continue;
        }
        if let Flow::End(code) = server.take(&frame)? {
            return Ok(code);
        }
    }
    Ok(0)
}

/// The next frame. Checks texts until there is one; `None` at the end of the stream.
fn next(
    receiver: &Receiver<Frame>,
    waiting: &mut VecDeque<Frame>,
    server: &mut Server,
) -> io::Result<Option<Frame>> {
    loop {
        while waiting.len() < WAITING_MAX
            && let Ok(frame) = receiver.try_recv()
        {
            waiting.push_back(frame);
        }
        if let Some(frame) = waiting.pop_front() {
            return Ok(Some(frame));
        }
        if server.check_one()? {
            continue;
        }
        match receiver.try_recv() {
            Ok(frame) => return Ok(Some(frame)),
            Err(TryRecvError::Disconnected) => return Ok(None),
            Err(TryRecvError::Empty) => match receiver.recv() {
                Ok(frame) => return Ok(Some(frame)),
                Err(_) => return Ok(None),
            },
        }
    }
}

/// Whether a request is cancelled by what waits after it.
fn is_cancelled(request: &Value, waiting: &VecDeque<Frame>) -> bool {
    let Some(id) = request.get("id") else { return false };
    waiting.iter().any(|frame| match frame {
        Frame::Message(other) => {
            other["method"] == "$/cancelRequest" && other["params"]["id"] == *id
        }
        Frame::Garbage(_) => false,
    })
}
