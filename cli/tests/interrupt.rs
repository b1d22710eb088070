//! Ctrl-C, `kill` and `kill -9` in the middle of an import.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Sandbox;

const COUNT: usize = 150_000;

const IMPORT: &str = "exec folio import ./data -c t big.jsonl --batch-size 100000";

/// A source that takes some time to import: each batch is synced.
fn prepare() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut text = String::new();
    for n in 0..COUNT {
        writeln!(text, "{{\"_id\":\"d{n}\",\"n\":{n},\"text\":\"a few words to fill the line\"}}")
            .unwrap();
    }
    fs::write(sandbox.path().join("big.jsonl"), text).unwrap();
    sandbox
}

/// Starts an import and waits until it has written something.
fn start(sandbox: &Sandbox, least: u64) -> Child {
    let mut shell = sandbox.shell(IMPORT);
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let data = sandbox.path().join("data/collections/t/meta/data.jsonl");
    let start = Instant::now();
    while fs::metadata(&data).map_or(0, |file| file.len()) < least {
        assert!(start.elapsed() < Duration::from_secs(60), "the import writes");
        thread::sleep(Duration::from_millis(1));
    }
    child
}

fn signal(child: Child, name: &str, sandbox: &Sandbox) -> Output {
    sandbox.run(&format!("kill -{name} {}", child.id()));
    child.wait_with_output().unwrap()
}

fn count(sandbox: &Sandbox) -> usize {
    let output = sandbox.run("folio list ./data -c t | wc -l");
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn finish(sandbox: &Sandbox) -> String {
    let output = sandbox.run(IMPORT);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(count(sandbox), COUNT, "nothing is missing");
    let ids = sandbox.run("folio list ./data -c t | sort -u | wc -l");
    assert_eq!(
        String::from_utf8_lossy(&ids.stdout).trim(),
        COUNT.to_string(),
        "nothing is there twice"
    );
    let output_text = [output.stdout, output.stderr].concat();
    String::from_utf8(output_text).unwrap()
}

#[test]
fn control_c_keeps_what_is_committed_and_tells_how_to_go_on() {
    interrupt("INT");
}

#[test]
fn so_does_kill() {
    interrupt("TERM");
}

fn interrupt(name: &str) {
    let sandbox = prepare();
    let output = signal(start(&sandbox, 1_000_000), name, &sandbox);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("run the same import again to resume from there"), "{errors}");
    let committed = count(&sandbox);
    assert!(committed > 0 && committed < COUNT, "{committed}");
    assert!(errors.contains(&format!("{committed} documents were committed")), "{errors}");
    let reported = finish(&sandbox);
    assert!(
        reported.contains(&format!("{} inserted, 0 replaced", COUNT - committed)),
        "{reported}"
    );
    assert!(reported.contains("big.jsonl: resumed at byte"), "{reported}");
}

#[test]
fn killed_again_and_again_it_still_ends() {
    let sandbox = prepare();
    let mut before = 0;
    for round in 1..6 {
        let output = signal(start(&sandbox, round * 1_200_000), "KILL", &sandbox);
        assert_eq!(output.status.code(), None, "killed");
        let checked = sandbox.run("folio validate ./data");
        assert!(checked.status.success(), "a batch that does not count is no damage");
        let committed = count(&sandbox);
        assert!(committed >= before, "round {round}: {committed} after {before}");
        before = committed;
    }
    let reported = finish(&sandbox);
    assert!(reported.contains(&format!("{} inserted, 0 replaced", COUNT - before)), "{reported}");
    assert!(sandbox.run("folio validate ./data").status.success());
}

#[test]
fn control_c_is_heard_between_batches_of_files() {
    let sandbox = Sandbox::new();
    let lines = "seq 1 3000 | sed 's/.*/{\"_id\":\"d&\"}/' > small.jsonl";
    assert!(sandbox.run(lines).status.success());
    let import = "exec folio import ./data -c t small.jsonl --layout files --batch-size 1000";
    let mut shell = sandbox.shell(import);
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let docs = sandbox.path().join("data/collections/t/docs");
    let start = Instant::now();
    while fs::read_dir(&docs).map_or(0, Iterator::count) < 100 {
        assert!(start.elapsed() < Duration::from_secs(60), "the import writes");
        thread::sleep(Duration::from_millis(1));
    }
    let output = signal(child, "INT", &sandbox);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(count(&sandbox) < 3000, "it was read to its end all the same");
}

#[test]
fn control_c_ends_a_benchmark_without_a_trace() {
    for suite in ["documents", "sql", "ziql"] {
        let sandbox = Sandbox::new();
        let folder = sandbox.path().join("bench");
        fs::create_dir(&folder).unwrap();
        let mut shell =
            sandbox.shell(&format!("exec folio bench {suite} --folder bench --repetitions 5000"));
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let files = || fs::read_dir(&folder).unwrap().count();
        let start = Instant::now();
        while files() == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "{suite} begins");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(50));
        let output = signal(child, "INT", &sandbox);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{suite}: {errors}");
        assert_eq!(files(), 0, "{suite} left files");
    }
}
