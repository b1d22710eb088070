//! A simulated user at a terminal: the command runs on a pseudo-terminal made by `script`, and its
//! output is read as it appears.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// Nothing here takes long, except on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait for a prompt; none comes in the middle of a line.
const MOMENT: Duration = Duration::from_secs(1);

/// An editor's query for the cursor position, and an answer.
const WHERE: &[u8] = b"\x1b[6n";
const THERE: &[u8] = b"\x1b[1;1R";

pub(crate) const ENTER: &str = "\r";
pub(crate) const TAB: &str = "\t";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const RIGHT: &str = "\x1b[C";
pub(crate) const CONTROL_C: &str = "\x03";
pub(crate) const CONTROL_D: &str = "\x04";

/// A command on its own terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: Arc<Mutex<ChildStdin>>,
    screen: Arc<(Mutex<Vec<u8>>, Condvar)>,
    /// How much of the output has been checked.
    seen: usize,
}

impl Terminal {
    /// Starts a command; the terminal is 24 rows high and as wide as given.
    pub(crate) fn start(sandbox: &Sandbox, width: u16, command: &str) -> Self {
        let line = format!("stty rows 24 cols {width}; tty; exec {command}");
        let mut script = sandbox.shell(&format!("exec script -qec '{line}' /dev/null"));
        let script = script.env("SHELL", "/bin/sh").stdin(Stdio::piped());
        let mut child = script.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let keys = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let mut drawn = child.stdout.take().unwrap();
        let screen: Arc<(Mutex<Vec<u8>>, Condvar)> = Arc::default();
        let (shared_screen, shared_keys) = (Arc::clone(&screen), Arc::clone(&keys));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = drawn.read(&mut buffer) {
                let mut screen = shared_screen.0.lock().unwrap();
                // A query may arrive in two reads.
                let from = screen.len().saturating_sub(WHERE.len() - 1);
                screen.extend(&buffer[..length]);
                let asked = screen[from..].windows(WHERE.len()).filter(|text| *text == WHERE);
                let asked = asked.count();
                drop(screen);
                for _ in 0..asked {
                    // The command may have ended meanwhile.
                    let _ = shared_keys.lock().unwrap().write_all(THERE);
                }
                shared_screen.1.notify_all();
            }
        });
        Self { child, keys, screen, seen: 0 }
    }

    /// Types.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text in the output, and returns everything up to it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let begun = Instant::now();
        let mut drawn = self.screen.0.lock().unwrap();
        loop {
            let new = plain(&drawn[self.seen..]);
            if let Some(found) = new.find(text) {
                let whole = new[..found + text.len()].to_owned();
                // The end of the raw bytes up to the text: the shortest part that contains it.
                let is_enough = |end: &usize| plain(&drawn[self.seen..*end]).contains(text);
                let end = (self.seen..=drawn.len()).find(is_enough);
                self.seen = end.unwrap_or(drawn.len());
                return whole;
            }
            assert!(begun.elapsed() < PATIENCE, "no {text:?} in {new:?}");
            drawn = self.screen.1.wait_timeout(drawn, Duration::from_millis(50)).unwrap().0;
        }
    }

    /// Types a line, after a prompt if one appears, and waits for a text. Input before a prompt has
    /// made the terminal raw may be lost.
    pub(crate) fn ask(&mut self, line: &str, expected: &str) -> String {
        let begun = Instant::now();
        while !self.all().ends_with("> ") && begun.elapsed() < MOMENT {
            thread::sleep(Duration::from_millis(5));
        }
        self.press(line);
        self.press(ENTER);
        self.expect(expected)
    }

    /// Ends with Ctrl-D. Presses it again if the terminal swallowed it, which happens before the
    /// next prompt has made the terminal raw.
    pub(crate) fn leave(mut self) -> ExitStatus {
        for _ in 0..10 {
            self.press(CONTROL_D);
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(2) {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        self.wait()
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.all());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The whole output.
    pub(crate) fn all(&self) -> String {
        plain(&self.screen.0.lock().unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If the test succeeded, it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output without its escape sequences (ECMA-48: CSI, OSC and single ones).
fn plain(drawn: &[u8]) -> String {
    let text = String::from_utf8_lossy(drawn);
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => match characters.next() {
                Some('[') => {
                    while characters.next().is_some_and(|next| !('@'..='~').contains(&next)) {}
                }
                Some(']') => {
                    while characters.next().is_some_and(|next| next != '\x07' && next != '\\') {}
                }
                _ => {}
            },
            '\r' => {}
            _ => out.push(character),
        }
    }
    out
}
