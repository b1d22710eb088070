//! Manual edits with common programs, while no process, a reader or a writer has the file open.
//! Then `folio get` returns the edited data, and prints its notices on standard error.
//!
//! Programs missing on this machine are skipped, with a message.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Sandbox;

/// The edited file, as a shell path.
const DATA: &str = "data/collections/docs/meta/data.jsonl";

/// An edit and its effect.
struct Edit {
    program: &'static str,
    command: &'static str,
    /// The expected `b`; `None` when it is gone.
    b: Option<&'static str>,
    /// The expected `x`.
    x: Option<&'static str>,
    count: u64,
}

const B: &str = r#"{"_id":"b","n":2}"#;

const EDITS: [Edit; 13] = [
    Edit {
        program: "vim",
        command: r#"vim -es -u NONE -c '%s/"n":2}/"n":22}/' -c wq FILE"#,
        b: Some(r#"{"_id":"b","n":22}"#),
        x: None,
        count: 3,
    },
    Edit {
        program: "vim",
        command: r#"vim -es -u NONE -c '2d' -c wq FILE"#,
        b: None,
        x: None,
        count: 2,
    },
    Edit {
        program: "vim",
        command: r#"vim -es -u NONE -c 'set backupcopy=no' -c 'normal Go{"_id": "x", "n": 9}' -c wq FILE"#,
        b: Some(B),
        x: Some(r#"{"_id": "x", "n": 9}"#),
        count: 4,
    },
    Edit {
        program: "vim",
        command: r#"vim -es -u NONE -c 'set backupcopy=yes' -c '%s/"n":2}/"n":22}/' -c wq FILE"#,
        b: Some(r#"{"_id":"b","n":22}"#),
        x: None,
        count: 3,
    },
    Edit {
        program: "ex",
        command: r#"printf '2s/2/7/\nw\nq\n' | ex -s FILE"#,
        b: Some(r#"{"_id":"b","n":7}"#),
        x: None,
        count: 3,
    },
    Edit {
        program: "ed",
        command: r#"printf '2d\nw\nq\n' | ed -s FILE"#,
        b: None,
        x: None,
        count: 2,
    },
    Edit {
        program: "sed",
        command: r#"sed -i 's/"n":2}/"n":22}/' FILE"#,
        b: Some(r#"{"_id":"b","n":22}"#),
        x: None,
        count: 3,
    },
    Edit {
        program: "sed",
        command: r#"sed -i 's/"n":2}/"n":5}/' FILE"#,
        b: Some(r#"{"_id":"b","n":5}"#),
        x: None,
        count: 3,
    },
    Edit { program: "sed", command: "sed -i 2d FILE", b: None, x: None, count: 2 },
    Edit {
        program: "sh",
        command: r#"echo '{"_id":"x","n":9}' >> FILE"#,
        b: Some(B),
        x: Some(r#"{"_id":"x","n":9}"#),
        count: 4,
    },
    Edit {
        program: "sh",
        command: r#"printf '{"n":9,"_id":"x"}' >> FILE"#,
        b: Some(B),
        x: Some(r#"{"n":9,"_id":"x"}"#),
        count: 4,
    },
    Edit {
        program: "jq",
        command: r#"jq -c 'if ._id == "b" then .n = 22 else . end' FILE > new && mv new FILE"#,
        b: Some(r#"{"_id":"b","n":22}"#),
        x: None,
        count: 3,
    },
    Edit { program: "sort", command: "sort -r FILE -o FILE", b: Some(B), x: None, count: 3 },
];

fn prepare() -> Sandbox {
    let sandbox = Sandbox::new();
    let made = sandbox.run(
        r#"printf '{"_id":"a","n":1}\n{"_id":"b","n":2}\n{"_id":"c","n":3}\n' | folio import -q data -c docs"#,
    );
    assert!(made.status.success());
    sandbox
}

fn is_there(sandbox: &Sandbox, program: &str) -> bool {
    let found = sandbox.run(&format!("command -v {program}")).status.success();
    if !found {
        eprintln!("SKIPPED: {program} is not on this machine");
    }
    found
}

/// The output of a command, without its line end, and its standard error.
fn run(sandbox: &Sandbox, command: &str) -> (String, String) {
    let output = sandbox.run(command);
    let text = |bytes| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    (text(output.stdout), text(output.stderr))
}

/// Checks that every reader sees the edit.
fn assert_edited(sandbox: &Sandbox, edit: &Edit) {
    let command = edit.command;
    for (id, expected) in [("b", edit.b), ("x", edit.x)] {
        let (found, reported) = run(sandbox, &format!("folio get data -c docs {id} -o jsonl"));
        assert_eq!(found, expected.unwrap_or_default(), "{id} after {command}\n{reported}");
        if expected.is_none() {
            assert!(reported.contains(&format!("no document {id:?}")), "{command}: {reported}");
        }
    }
    let (lines, _) = run(sandbox, "folio scan data -c docs -o jsonl");
    assert_eq!(lines.lines().count() as u64, edit.count, "{command}\n{lines}");
    let (checked, _) = run(sandbox, "folio validate data --json -q");
    assert!(checked.contains(&format!("\"document_count\":{},", edit.count)), "{checked}");
    assert!(checked.contains("\"invalid_count\":0"), "{checked}");
}

#[test]
fn edits_while_nobody_has_the_file_open() {
    for edit in &EDITS {
        let sandbox = prepare();
        if !is_there(&sandbox, edit.program) {
            continue;
        }
        make(&sandbox, edit);
        let (_, reported) = run(&sandbox, "folio get data -c docs a");
        if edit.b == Some(B) && edit.x.is_some() {
            assert_eq!(reported, "", "an appended line needs no word: {}", edit.command);
        } else {
            let words = format!("{DATA} was changed since it was indexed");
            assert!(reported.contains(&words), "{}: {reported}", edit.command);
        }
        assert_edited(&sandbox, edit);
    }
}

fn make(sandbox: &Sandbox, edit: &Edit) {
    let command = edit.command.replace("FILE", DATA);
    let output = sandbox.run(&command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
}

#[test]
fn edits_while_a_reader_is_in_the_middle_of_a_scan() {
    for edit in &EDITS {
        let sandbox = prepare();
        if !is_there(&sandbox, edit.program) {
            continue;
        }
        // A scan with more output than a pipe holds blocks until the pipe is read.
        let more =
            r#"seq 1 20000 | sed 's/.*/{"_id":"n&","filler":"some words that fill the pipe"}/'"#;
        let imported = sandbox.run(&format!("{more} | folio import -q data -c docs"));
        assert!(imported.status.success());
        let mut scan = sandbox.shell("exec folio scan data -c docs -o jsonl");
        let scan = scan.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(30));
        make(&sandbox, edit);
        let output = scan.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.lines().all(|line| line.starts_with('{') && line.ends_with('}')),
            "{}: a line was torn",
            edit.command
        );
        let (found, _) = run(&sandbox, "folio get data -c docs n20000 -o jsonl");
        assert!(found.starts_with(r#"{"_id":"n20000""#), "{found}");
        assert_edited(&sandbox, &Edit { count: edit.count + 20_000, ..*edit });
    }
}

/// An import from a pipe, which holds the database open until the pipe ends.
struct Writer {
    child: Child,
    input: Option<ChildStdin>,
}

impl Writer {
    fn start(sandbox: &Sandbox) -> Self {
        let import = "exec folio import data -c docs --batch-size 300000 --format jsonl -";
        let mut shell = sandbox.shell(import);
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let input = child.stdin.take();
        Self { child, input }
    }

    /// Makes the import write lines. On return most of them are written, and the writer waits.
    fn write(&mut self, sandbox: &Sandbox, ids: std::ops::Range<u32>) {
        let input = self.input.as_mut().unwrap();
        for n in ids.clone() {
            // Long enough that the import does not wait for more input.
            let filler = "w".repeat(10_000);
            writeln!(input, "{{\"_id\":\"w{n}\",\"filler\":\"{filler}\"}}").unwrap();
        }
        input.flush().unwrap();
        let wanted = format!("\"w{}\"", ids.end / 2);
        let started = Instant::now();
        let mut text = String::new();
        loop {
            let before = std::mem::take(&mut text);
            thread::sleep(Duration::from_millis(150));
            text = fs::read_to_string(data(sandbox)).unwrap_or_default();
            if text.contains(&wanted) && text == before {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "the import goes on");
        }
    }

    fn finish(mut self) -> String {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        errors
    }
}

fn data(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join(DATA)
}

#[test]
fn edits_while_a_writer_is_open_lose_neither_the_edit_nor_what_is_written() {
    for edit in &EDITS {
        let sandbox = prepare();
        if !is_there(&sandbox, edit.program) {
            continue;
        }
        let mut writer = Writer::start(&sandbox);
        writer.write(&sandbox, 0..400);
        make(&sandbox, edit);
        writer.write(&sandbox, 400..800);
        let reported = writer.finish();
        assert!(!reported.contains("error"), "{reported}");
        let (last, reported) = run(&sandbox, "folio get data -c docs w799 -o jsonl");
        assert!(last.starts_with(r#"{"_id":"w799""#), "{}: {reported}", edit.command);
        assert_edited(&sandbox, &Edit { count: edit.count + 800, ..*edit });
    }
}
