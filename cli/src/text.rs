//! Reads statements and schemas from files and standard input.

use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

const INPUT: &str = "standard input";

/// The text of a file.
pub(crate) fn of_file(path: &Path) -> Result<String, Failure> {
    of(&format!("{path:?}"), fs::read(path))
}

/// All of standard input.
pub(crate) fn of_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
    of(INPUT, read)
}

/// Statements from standard input. A terminal is refused, because the wait would be invisible.
pub(crate) fn of_statements() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        let text = "name the statements after the database, or run `folio shell` to type them";
        return Err(Failure::Usage(text.to_owned()));
    }
    of_input()
}

fn of(place: &str, read: io::Result<Vec<u8>>) -> Result<String, Failure> {
    let bytes = read.map_err(|error| fault(place, &error.to_string()))?;
    decoded(place, bytes, 0)
}

/// The text of the bytes at an offset, without the byte-order mark that some editors begin with.
fn decoded(place: &str, bytes: Vec<u8>, offset: usize) -> Result<String, Failure> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = offset + error.utf8_error().valid_up_to();
        fault(place, &format!("byte {at} is not UTF-8; save it as UTF-8"))
    })?;
    if offset == 0 && text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

fn fault(place: &str, problem: &str) -> Failure {
    Failure::Usage(format!("cannot read {place}: {problem}"))
}

/// Standard input by lines, as they arrive. A thread reads: a signal ends the wait for more, and
/// what arrives while a statement runs comes in one piece.
pub(crate) struct Lines {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The beginning of a line whose end has not arrived.
    rest: Vec<u8>,
    /// Bytes before `rest`.
    offset: usize,
}

impl Lines {
    const PIECE_SIZE: usize = 1 << 16;

    /// How often a wait looks whether it should end.
    const LOOK: Duration = Duration::from_millis(100);

    pub(crate) fn of_input() -> Result<Self, Failure> {
        let (sender, pieces) = channel();
        let read = move || {
            let mut piece = vec![0; Self::PIECE_SIZE];
            loop {
                let sent = match io::stdin().lock().read(&mut piece) {
                    Ok(0) => return,
                    Ok(length) => sender.send(Ok(piece[..length].to_vec())),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => {
                        let _ = sender.send(Err(error)); // nobody waits for it any more
                        return;
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        };
        let begun = thread::Builder::new().name("folio-input".to_owned()).spawn(read);
        begun.map_err(|error| fault(INPUT, &error.to_string()))?;
        Ok(Self { pieces, rest: Vec::new(), offset: 0 })
    }

    /// Waits for at least one line and appends all that have arrived. `false` means that these are
    /// the last.
    pub(crate) fn read(
        &mut self,
        text: &mut String,
        is_ended: impl Fn() -> bool,
    ) -> Result<bool, Failure> {
        loop {
            let known = self.rest.len();
            let has_more = self.receive(&is_ended)?;
            let length = if has_more {
                let end = self.rest[known..].iter().rposition(|byte| *byte == b'\n');
                end.map_or(0, |end| known + end + 1)
            } else {
                self.rest.len()
            };
            if has_more && length == 0 {
                continue;
            }
            let next = self.rest.split_off(length);
            let lines = std::mem::replace(&mut self.rest, next);
            text.push_str(&decoded(INPUT, lines, self.offset)?);
            self.offset += length;
            return Ok(has_more);
        }
    }

    /// Waits for a piece and takes all there are. `false` means that nothing follows.
    fn receive(&mut self, is_ended: impl Fn() -> bool) -> Result<bool, Failure> {
        let mut next = loop {
            if is_ended() {
                return Err(Failure::Interrupted);
            }
            match self.pieces.recv_timeout(Self::LOOK) {
                Ok(piece) => break Some(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        };
        while let Some(piece) = next {
            self.rest.extend(piece.map_err(|error| fault(INPUT, &error.to_string()))?);
            next = self.pieces.try_recv().ok();
        }
        Ok(true)
    }
}
