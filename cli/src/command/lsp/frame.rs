//! Messages on a stream: a header with the length, an empty line, and so many bytes of JSON.
//!
//! What is no message is reported and skipped, so that the next one is read.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};

/// A longer message is skipped. Editors send the whole text of a file.
const SIZE_MAX: u64 = 64 << 20;

/// A longer line of a header ends there.
const LINE_SIZE_MAX: u64 = 4 << 10;

/// What has arrived.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Message(Value),
    /// It is no message, for this reason.
    Garbage(&'static str),
}

/// The next frame; `None` at the end of the stream.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Frame>> {
    let (mut length, mut has_lines, mut is_wrong) = (None, false, false);
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LINE_SIZE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_ascii();
        if line.is_empty() && has_lines {
            break;
        }
        has_lines |= !line.is_empty();
        let Some((name, value)) = line.iter().position(|byte| *byte == b':').map(|colon| {
            let (name, value) = line.split_at(colon);
            (name, &value[1..])
        }) else {
            continue;
        };
        if name.eq_ignore_ascii_case(b"content-length") {
            let text = str::from_utf8(value.trim_ascii()).unwrap_or_default();
            length = text.parse::<u64>().ok();
            is_wrong = length.is_none();
        }
    }
    match length {
        Some(length) if length <= SIZE_MAX => body(input, length),
        Some(length) => {
            io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
            Ok(Some(Frame::Garbage("the message is longer than 64 MiB")))
        }
        None if is_wrong => Ok(Some(Frame::Garbage("Content-Length is not a number of bytes"))),
        None => Ok(Some(Frame::Garbage("the header has no Content-Length"))),
    }
}

fn body(input: &mut impl BufRead, length: u64) -> io::Result<Option<Frame>> {
    let mut bytes = Vec::new();
    input.by_ref().take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Ok(None);
    }
    Ok(Some(match serde_json::from_slice(&bytes) {
        Ok(message) => Frame::Message(message),
        Err(_) => Frame::Garbage("the message is not JSON"),
    }))
}

/// Writes a message.
pub(super) fn write(out: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    out.flush()
}

/// An error that answers a request, or what could not be read as one.
pub(super) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Vec<Frame> {
        let mut input = bytes;
        std::iter::from_fn(|| read(&mut input).unwrap()).collect()
    }

    #[test]
    fn what_is_no_message_is_skipped() {
        let message = |text: &str| Frame::Message(serde_json::from_str(text).unwrap());
        let long = [b"Content-Length: 67108865\r\n\r\n".to_vec(), vec![b' '; (64 << 20) + 1]];
        let long = [&long.concat()[..], b"Content-Length: 2\r\n\r\n{}"].concat();
        for (bytes, expected) in [
            (&b""[..], vec![]),
            (b"\r\n\r\n", vec![]),
            (b"Content-Length: 2\r\n\r\n{}", vec![message("{}")]),
            (b"content-length:2\nContent-Type: x\n\n{}", vec![message("{}")]),
            (b"Content-Length: 5\r\n\r\n{}", vec![]),
            (
                b"hello\r\n\r\nContent-Length: 2\r\n\r\n{}",
                vec![Frame::Garbage("the header has no Content-Length"), message("{}")],
            ),
            (
                b"Content-Length: -1\r\n\r\nContent-Length: 2\r\n\r\n[]",
                vec![Frame::Garbage("Content-Length is not a number of bytes"), message("[]")],
            ),
            (b"Content-Length: 2\r\n\r\n\xff\xff", vec![Frame::Garbage("the message is not JSON")]),
            (&long, vec![Frame::Garbage("the message is longer than 64 MiB"), message("{}")]),
            (
                b"Content-Length: 99999999999999999999\r\n\r\n",
                vec![Frame::Garbage("Content-Length is not a number of bytes")],
            ),
        ] {
            assert_eq!(
                frames(bytes),
                expected,
                "{}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(80)])
            );
        }
    }
}
