//! Runs SQLite in a Python process, whose standard library contains it.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

/// A running peer.
pub(crate) struct Sqlite {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Sqlite {
    /// Starts it; `None` without Python.
    pub(crate) fn start() -> Option<Self> {
        let mut process = Command::new("python3")
            .args(["-c", include_str!("peer.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let (input, output) = (process.stdin.take()?, process.stdout.take()?);
        Some(Self { process, input, output: BufReader::new(output).lines() })
    }

    /// Runs a statement.
    pub(crate) fn run(&mut self, statement: &str) -> Json {
        writeln!(self.input, "{}", Json::from(statement)).expect("the peer listens");
        let line = self.output.next().expect("the peer answers").expect("in UTF-8");
        serde_json::from_str(&line).expect("in JSON")
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
