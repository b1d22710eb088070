//! Ctrl-C, `kill` and `kill -9` in the middle of an import, and of other long work.

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

/// The build reads 200 MB, which is one piece. It ends after a few of them.
#[cfg(target_os = "linux")]
#[test]
fn control_c_ends_the_build_of_an_index_at_once() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(2_000);
    let mut lines = String::new();
    for n in 0..100_000 {
        writeln!(lines, "{{\"_id\":\"d{n}\",\"n\":{n},\"text\":\"{text}\"}}").unwrap();
    }
    fs::write(sandbox.path().join("big.jsonl"), lines).unwrap();
    assert!(sandbox.run("folio import -q ./data -c t big.jsonl").status.success());
    let mut shell = sandbox.shell("exec folio index add ./data -c t n");
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read_size = || -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        let size = text.lines().find_map(|line| line.strip_prefix("rchar: "));
        size.map_or(0, |size| size.parse().unwrap())
    };
    let start = Instant::now();
    while read_size() < 16_000_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "the build reads");
        thread::sleep(Duration::from_millis(1));
    }
    let output = signal(child, "INT", &sandbox);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    let meta = sandbox.path().join("data/collections/t/meta");
    let names = fs::read_dir(&meta).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> =
        names.filter(|name| name.to_string_lossy().starts_with("folio.field-")).collect();
    assert!(left.is_empty(), "a part of the index is left: {left:?}");
    assert!(sandbox.run("folio index list ./data -c t").stdout.is_empty());
    assert!(sandbox.run("folio validate ./data").status.success());
    assert!(sandbox.run("folio index add ./data -c t n").status.success());
    let checked = sandbox.run("folio index check ./data -c t");
    assert!(checked.status.success());
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "t_n_idx: 100000 entries, no problems\n");
}

/// A server that takes connections and never answers.
#[test]
fn control_c_ends_a_wait_for_a_server() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    let sandbox = Sandbox::new();
    assert!(sandbox.run("folio put data -c t a --data '{}'").status.success());
    for command in [
        "exec folio pack data s3://bucket/x.zds".to_owned(),
        format!("exec folio unpack http://{at}/x.zds there"),
        format!("exec folio import data -c t http://{at}/x.jsonl"),
    ] {
        let mut shell = sandbox.shell(&command);
        let shell = shell.env("AWS_ENDPOINT_URL", format!("http://{at}"));
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let output = signal(child, "INT", &sandbox);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(start.elapsed() < Duration::from_secs(5), "{command}: {:?}", start.elapsed());
        let is_ended = matches!(output.status.code(), Some(130) | None);
        assert!(is_ended, "{command}: {:?} {errors}", output.status);
    }
    drop(server);
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
