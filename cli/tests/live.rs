//! An import from a pipe is live: other processes see data soon after it arrives, however long the
//! rest takes, and a signal ends the import without losing it.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fmt::Debug;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Sandbox;

/// The timeout on a slow machine; an import that waits for more input would wait forever.
const PATIENCE: Duration = Duration::from_secs(60);

/// An import, and the pipe that it reads.
struct Import {
    child: Child,
    input: Option<ChildStdin>,
}

impl Import {
    fn start(sandbox: &Sandbox, options: &str) -> Self {
        let mut shell = sandbox.shell(&format!("exec folio import data -c t {options}"));
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let input = child.stdin.take();
        Self { child, input }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn signal(&self, name: &str, sandbox: &Sandbox) {
        sandbox.run(&format!("kill -{name} {}", self.child.id()));
    }

    /// Waits for the end while the pipe stays open.
    fn end(mut self) -> Output {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the import does not end");
            }
            thread::sleep(Duration::from_millis(10));
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Output { status, stdout, stderr }
    }

    /// Closes the pipe, and waits for the end.
    fn finish(mut self) -> Output {
        self.input.take();
        self.end()
    }
}

fn ids(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.run("folio list data -c t");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Waits until what is read is as expected.
fn await_equal<T: PartialEq + Debug>(read: impl Fn() -> T, expected: &T, what: &str) {
    let begun = Instant::now();
    loop {
        let found = read();
        if found == *expected {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {found:?} instead of {expected:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until another process sees these documents.
fn await_ids(sandbox: &Sandbox, expected: &[&str], what: &str) {
    let expected = expected.iter().map(|id| (*id).to_owned()).collect();
    await_equal(|| ids(sandbox), &expected, what);
}

#[test]
fn what_has_come_is_there_before_the_pipe_ends() {
    let sandbox = Sandbox::new();
    let lines = "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"_id\":\"c\",\"n\":3}\n";
    fs::write(sandbox.path().join("three.jsonl"), lines).unwrap();
    let made = sandbox.run(
        "set -e; folio ion from-json three.jsonl -o three.ion; \
         folio ion from-json three.jsonl --binary -o three.10n",
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = |name: &str| fs::read(sandbox.path().join(name)).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(lines.as_bytes()).unwrap();
    packed.flush().unwrap();
    let whole = packed.get_ref().len();
    let packed = packed.finish().unwrap();
    // The first part ends in the middle of the last record.
    let cut = |bytes: Vec<u8>| (bytes[..bytes.len() - 5].to_vec(), bytes);
    for (what, options, seen, (first, all)) in [
        ("JSON Lines", "", 2, cut(lines.into())),
        ("a JSON array", "", 2, cut(format!("[{}]", lines.trim().replace('\n', ",\n")).into())),
        ("laid out JSON", "--format json", 2, cut(lines.replace(',', ",\n ").into())),
        ("CSV", "--format csv", 2, cut("_id,n\na,1\nb,2\nc,3333333\n".into())),
        ("gzip", "", 3, (packed[..whole].to_vec(), packed)),
        ("Ion", "--format ion", 2, cut(file("three.ion"))),
        ("binary Ion", "", 2, cut(file("three.10n"))),
    ] {
        let mut import = Import::start(&sandbox, options);
        import.send(&first);
        await_ids(&sandbox, &["a", "b", "c"][..seen], what);
        import.send(&all[first.len()..]);
        let output = import.finish();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{what}: {reported}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "3 inserted, 0 replaced\n", "{what}");
        assert_eq!(ids(&sandbox), ["a", "b", "c"], "{what}");
        assert!(sandbox.run("folio drop data t").status.success());
    }
}

#[test]
fn others_write_while_an_import_waits() {
    let sandbox = Sandbox::new();
    let mut one = Import::start(&sandbox, "");
    let mut two = Import::start(&sandbox, "");
    one.send(b"{\"_id\":\"a\"}\n");
    await_ids(&sandbox, &["a"], "the first");
    two.send(b"{\"_id\":\"b\"}\n");
    await_ids(&sandbox, &["a", "b"], "the second");
    let put = sandbox.run("folio put data -c t c --data '{}'");
    assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    one.send(b"{\"_id\":\"d\"}\n");
    await_ids(&sandbox, &["a", "b", "c", "d"], "the first again");
    for import in [one, two] {
        let output = import.finish();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(sandbox.run("folio validate data").status.success());
}

/// A continuous pipe would keep other writers out forever without turns.
#[test]
fn others_write_while_an_import_goes_on() {
    let sandbox = Sandbox::new();
    let mut import = Import::start(&sandbox, "");
    let mut input = import.input.take().unwrap();
    let feeder = thread::spawn(move || {
        let mut count = 0;
        while writeln!(input, "{{\"_id\":\"n{count}\"}}").is_ok() {
            count += 1;
            thread::sleep(Duration::from_millis(1));
        }
    });
    let begun = Instant::now();
    while ids(&sandbox).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "nothing is imported");
        thread::sleep(Duration::from_millis(50));
    }
    for id in ["a", "b", "c"] {
        let put = sandbox.run(&format!("folio put data -c t {id} --data '{{}}'"));
        assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    }
    import.signal("INT", &sandbox);
    assert_eq!(import.end().status.code(), Some(130));
    feeder.join().unwrap();
    assert!(sandbox.run("folio validate data").status.success());
}

#[test]
fn a_signal_ends_an_import_that_waits_and_what_came_stays() {
    for signal in ["INT", "TERM", "HUP"] {
        let sandbox = Sandbox::new();
        let mut import = Import::start(&sandbox, "--rejected bad.txt");
        import.send(b"{\"_id\":\"a\"}\n{\"_id\":\"b\"}\nno JSON\n");
        await_ids(&sandbox, &["a", "b"], signal);
        // It is written after the documents before it are visible.
        let rejected = || fs::read_to_string(sandbox.path().join("bad.txt")).unwrap_or_default();
        await_equal(rejected, &"no JSON\n".to_owned(), signal);
        // This record is in a batch that is still open when the signal arrives, unless the machine
        // is slow; then it is committed.
        import.send(b"{\"_id\":\"c\"}\n{\"_id\":\"d\"");
        thread::sleep(Duration::from_millis(500));
        import.signal(signal, &sandbox);
        let output = import.end();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{signal}: {reported}");
        let counts = "3 inserted, 0 replaced, 1 rejected\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), counts, "{signal}");
        assert!(reported.contains("3 documents were committed before; that is all"), "{reported}");
        assert!(reported.contains("rejected standard input:3"), "{reported}");
        assert_eq!(ids(&sandbox), ["a", "b", "c"], "{signal}");
        assert!(sandbox.run("folio validate data").status.success());
    }
}

#[test]
fn a_signal_ends_an_import_to_which_nothing_came() {
    for signal in ["INT", "TERM", "HUP"] {
        let sandbox = Sandbox::new();
        let import = Import::start(&sandbox, "");
        // Before the handlers are installed, the signal ends it at once, too.
        thread::sleep(Duration::from_millis(300));
        import.signal(signal, &sandbox);
        let output = import.end();
        assert!(!output.status.success());
        assert!(ids(&sandbox).is_empty());
    }
}

#[test]
fn a_full_batch_is_there_at_once() {
    let sandbox = Sandbox::new();
    let mut import = Import::start(&sandbox, "--batch-size 1");
    for (sent, expected) in [("a", &["a"][..]), ("b", &["a", "b"])] {
        import.send(format!("{{\"_id\":\"{sent}\"}}\n").as_bytes());
        await_ids(&sandbox, expected, sent);
    }
    assert!(import.finish().status.success());
}
