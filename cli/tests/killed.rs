//! Commands that create a file or a directory, killed at any moment. Afterwards the target is
//! complete, absent, or refused with a specific error. An import leaves the first documents of its
//! file, and the same import goes on from there. `FOLIO_RUNS=200` kills each command so often.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../conformance/random.rs"]
mod random;
mod sandbox;

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use random::Random;
use sandbox::Sandbox;

const DOCUMENT_COUNT: usize = 30_000;

/// A database that takes some time to read, and input files for the commands.
fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    let prepare = format!(
        "seq 1 {DOCUMENT_COUNT} | sed 's/.*/{{\"_id\":\"d&\",\"n\":&,\"text\":\"some words\"}}/' > docs.jsonl
         folio import -q data -c one docs.jsonl && folio import -q data -c two docs.jsonl
         folio sql data 'create table t (id int primary key, text text)' > out
         folio sql data \"insert into t select n, 'row ' || n from one\" > out
         folio pack -q data packed.zds && folio dump -q data whole && rm out"
    );
    let output = sandbox.run(&format!("set -e; {prepare}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    sandbox
}

/// A command, its target, and a check that the target is complete.
struct Making {
    command: &'static str,
    target: &'static str,
    check: &'static str,
}

const MAKINGS: [Making; 6] = [
    Making {
        command: "folio dump data target",
        target: "target",
        check: "folio restore -q target copy && folio scan copy -c one -q | wc -l \
                && folio scan copy -c two -q | wc -l && folio sql copy -o csv 'select count(*) from t'",
    },
    Making {
        command: "folio restore whole target",
        target: "target",
        check: "folio validate -q target && folio scan target -c one -q | wc -l \
                && folio scan target -c two -q | wc -l && folio sql target -o csv 'select count(*) from t'",
    },
    Making {
        command: "folio unpack packed.zds target",
        target: "target",
        check: "folio validate -q target && folio scan target -c one | wc -l \
                && folio scan target -c two | wc -l",
    },
    Making {
        command: "folio backup data target",
        target: "target",
        check: "folio validate -q target && folio scan target -c one -q | wc -l \
                && folio scan target -c two -q | wc -l && folio sql target -o csv 'select count(*) from t'",
    },
    Making {
        command: "folio pack data target.zds",
        target: "target.zds",
        check: "folio scan target.zds -c one | wc -l && folio scan target.zds -c two | wc -l",
    },
    Making {
        command: "folio export data -c one -o target.jsonl",
        target: "target.jsonl",
        check: "wc -l < target.jsonl",
    },
];

/// The output of the check for a complete target.
fn expected(making: &Making) -> String {
    let documents = format!("{DOCUMENT_COUNT}\n");
    match making.target {
        "target.jsonl" => documents,
        _ if making.check.contains("count(*)") => {
            format!("{documents}{documents}count\n{DOCUMENT_COUNT}\n")
        }
        _ => documents.repeat(2),
    }
}

#[test]
fn what_a_killed_command_leaves_never_passes_for_whole() {
    let sandbox = filled();
    let (rounds, mut random) = draws();
    for making in &MAKINGS {
        let duration = duration(&sandbox, making);
        let mut ends = BTreeMap::new();
        for _ in 0..rounds {
            *ends.entry(end_one(&sandbox, making, duration, &mut random)).or_insert(0) += 1;
        }
        println!("{}: {ends:?}", making.command);
    }
}

/// The shortest of a few runs: with a longer time most kills would come after the end.
fn duration(sandbox: &Sandbox, making: &Making) -> Duration {
    let run = |_| {
        let started = Instant::now();
        assert!(sandbox.run(making.command).status.success(), "{}", making.command);
        let duration = started.elapsed();
        clear(sandbox, making);
        duration
    };
    (0..3).map(run).min().unwrap()
}

/// How many kills of a command, `FOLIO_RUNS` if set, and what draws their moments.
fn draws() -> (usize, Random) {
    let deep = if std::env::var_os("FOLIO_DEEP").is_some() { 34 } else { 4 };
    let runs = std::env::var("FOLIO_RUNS").ok().and_then(|runs| runs.parse().ok());
    let rounds = runs.unwrap_or(deep);
    let seed = std::env::var("FOLIO_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("FOLIO_SEED={seed}");
    (rounds, Random::new(seed))
}

const IMPORTS: [&str; 3] = [
    "folio import target -c one docs.jsonl --batch-size 2000",
    "folio import target -c one docs.jsonl --batch-size 100000",
    "folio import target -c one docs.jsonl --batch-size 100 --layout files",
];

#[test]
fn a_killed_import_leaves_the_first_documents_and_goes_on() {
    let sandbox = Sandbox::new();
    let (rounds, mut random) = draws();
    for import in IMPORTS {
        // A round makes, reads and removes every document a few times, each a synced file.
        let count = if import.contains("files") { 600 } else { DOCUMENT_COUNT };
        sandbox.run(&format!(
            "seq 1 {count} | sed 's/.*/{{\"_id\":\"d&\",\"n\":&,\"text\":\"some words\"}}/' > docs.jsonl"
        ));
        let started = Instant::now();
        assert!(sandbox.run(import).status.success(), "{import}");
        let duration = started.elapsed();
        sandbox.run("rm -rf target");
        let mut ends = BTreeMap::new();
        for _ in 0..rounds {
            let (status, place) = kill(&sandbox, import, duration, &mut random);
            let before = if sandbox.path().join("target").exists() {
                let checked = sandbox.run("folio validate -q target");
                let errors = String::from_utf8_lossy(&checked.stderr).into_owned();
                let is_absent = errors.contains("is not a database");
                assert!(checked.status.success() || is_absent, "{place}: {errors}");
                first_documents(&sandbox, &place)
            } else {
                0
            };
            assert!(before == count || !status, "{place}: {before} of {count} said to be done");
            let again = sandbox.run(import);
            assert!(again.status.success(), "{place}: {}", String::from_utf8_lossy(&again.stderr));
            assert_eq!(first_documents(&sandbox, &place), count, "{place}");
            let checked = sandbox.run("folio validate -q target");
            assert!(checked.status.success(), "{place}: {checked:?}");
            sandbox.run("rm -rf target");
            let end = match before {
                _ if status => "finished",
                0 => "absent",
                _ if before == count => "whole",
                _ => "the first documents",
            };
            *ends.entry(end).or_insert(0) += 1;
        }
        println!("{import}: {ends:?}");
    }
}

/// How many documents there are: whole ones, the first of the file.
fn first_documents(sandbox: &Sandbox, place: &str) -> usize {
    let found = sandbox.run("folio scan target -c one -q");
    let found = String::from_utf8(found.stdout).unwrap();
    let given = fs::read_to_string(sandbox.path().join("docs.jsonl")).unwrap();
    let mut lines: Vec<&str> = found.lines().collect();
    let number = |line: &&str| -> u64 {
        let digits = line.strip_prefix("{\"_id\":\"d").unwrap_or_default();
        digits.split('"').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    lines.sort_by_key(number);
    let expected: Vec<&str> = given.lines().take(lines.len()).collect();
    assert!(lines == expected, "{place}: other documents than the first of the file");
    lines.len()
}

/// Starts a command and sends it a signal at a random moment: whether it succeeded, and the story.
fn kill(
    sandbox: &Sandbox,
    command: &str,
    duration: Duration,
    random: &mut Random,
) -> (bool, String) {
    let signal = ["KILL", "INT", "TERM", "HUP"][random.below(4)];
    let after = duration.mul_f64(random.below(1000) as f64 / 900.0);
    let mut shell = sandbox.shell(&format!("exec {command}"));
    let child = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(after);
    sandbox.run(&format!("kill -{signal} {}", child.id()));
    let output = child.wait_with_output().unwrap();
    (output.status.success(), format!("{command} ended by {signal} after {after:?}"))
}

/// Starts a command, kills it at a random moment, and checks the target. Returns what was there.
fn end_one(
    sandbox: &Sandbox,
    making: &Making,
    duration: Duration,
    random: &mut Random,
) -> &'static str {
    let signal = ["KILL", "INT", "TERM", "HUP"][random.below(4)];
    let after = duration.mul_f64(random.below(1000) as f64 / 900.0);
    let mut shell = sandbox.shell(&format!("exec {}", making.command));
    let child = shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(after);
    sandbox.run(&format!("kill -{signal} {}", child.id()));
    let output = child.wait_with_output().unwrap();
    let place = format!("{} ended by {signal} after {after:?}", making.command);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if signal != "KILL" && !output.status.success() && !errors.is_empty() {
        assert_eq!(partial(sandbox), None, "{place}: tidied up: {errors}");
    }
    if let Some(name) = partial(sandbox).filter(|_| making.target == "target") {
        for refused in [format!("folio list {name}"), format!("folio restore {name} copy")] {
            let output = sandbox.run(&refused);
            let errors = String::from_utf8_lossy(&output.stderr);
            let is_refused = errors.contains("is incomplete")
                || errors.contains("is not a database")
                || errors.contains("is not a directory that `folio dump` wrote");
            let is_empty = output.stdout.is_empty() && output.status.success();
            if !is_refused && !is_empty {
                // The marker is removed just before the rename: without it, the target is complete.
                let check = format!("rm -rf copy; {}", making.check.replace("target", &name));
                let checked = sandbox.run(&check);
                let found = String::from_utf8_lossy(&checked.stdout).into_owned();
                assert_eq!(found, expected(making), "{place}: {refused}: {errors}");
                sandbox.run("rm -rf copy");
            }
        }
    }
    let end = match (sandbox.path().join(making.target).exists(), partial(sandbox)) {
        _ if output.status.success() => "finished",
        (true, _) => "whole",
        (false, Some(_)) => "incomplete, under another name",
        (false, None) => "absent",
    };
    if !sandbox.path().join(making.target).exists() {
        assert!(!output.status.success(), "{place}: said to be done");
        let again = sandbox.run(making.command);
        assert!(again.status.success(), "{place}: {}", String::from_utf8_lossy(&again.stderr));
    }
    assert_eq!(partial(sandbox).filter(|_| output.status.success()), None, "{place}");
    let checked = sandbox.run(making.check);
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout),
        expected(making),
        "{place}: {}",
        String::from_utf8_lossy(&checked.stderr)
    );
    clear(sandbox, making);
    assert_eq!(partial(sandbox), None, "{place}: the next run removes it");
    end
}

/// An unfinished target, if there is one.
fn partial(sandbox: &Sandbox) -> Option<String> {
    let entries = fs::read_dir(sandbox.path()).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.find(|name| name.contains(".partial-"))
}

fn clear(sandbox: &Sandbox, making: &Making) {
    assert!(sandbox.run(&format!("rm -rf {} copy", making.target)).status.success());
}
