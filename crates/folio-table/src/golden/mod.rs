//! Golden scripts: the state of the structures after each step, stored as text.
//!
//! A script in `scripts/` is a list of commands, each after a `>`, followed by its output. The test
//! runs the commands and compares. After an intended change, `FOLIO_BLESS=1` writes the new output;
//! read the difference.

mod pool;
mod store;

use std::path::Path;
use std::sync::Arc;

use folio_file::{DiskFileSystem, File, FileSystem, OpenMode};

/// Something that runs commands. `Err` is also an output: the text of an error.
trait World {
    fn run(&mut self, words: &[&str]) -> Result<String, String>;
}

fn script(name: &str, mode: OpenMode) -> Arc<dyn File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden/scripts").join(name);
    DiskFileSystem.open(&path, mode).expect("the script is there")
}

fn read_script(name: &str) -> String {
    let file = script(name, OpenMode::Read);
    let mut bytes = vec![0; file.stat().expect("it has a size").size as usize];
    let count = file.read_at(&mut bytes, 0).expect("it can be read");
    assert_eq!(count, bytes.len(), "all of {name} is read");
    String::from_utf8(bytes).expect("scripts are text")
}

/// Runs a script and compares it, or writes it again.
fn run(name: &str, world: &mut dyn World) {
    let script = read_script(name);
    let mut played = String::new();
    let mut is_answer = false;
    for line in script.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            played += &format!("{line}\n");
            let words: Vec<&str> = command.split_whitespace().collect();
            let answer = world.run(&words).unwrap_or_else(|refusal| format!("error: {refusal}"));
            if !answer.is_empty() {
                played += &format!("{}\n", without_checksums(answer.trim_end()));
            }
            is_answer = true;
        } else if line.is_empty() || line.starts_with('#') {
            is_answer = false;
            played += &format!("{line}\n");
        } else {
            assert!(is_answer, "{name}: {line:?} is no command, no answer and no remark");
        }
    }
    if std::env::var_os("FOLIO_BLESS").is_some() {
        let file = self::script(name, OpenMode::Write);
        file.truncate(0)
            .and_then(|()| file.write_at(played.as_bytes(), 0))
            .expect("the script can be written");
        return;
    }
    for (number, (expected, found)) in (1..).zip(script.lines().zip(played.lines())) {
        assert_eq!(found, expected, "{name}, line {number}; FOLIO_BLESS=1 accepts it");
    }
    assert_eq!(played.lines().count(), script.lines().count(), "{name}: lines");
}

/// Removes checksums, whose seed is a random number per database.
fn without_checksums(answer: &str) -> String {
    let is_checksum =
        |word: &str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = answer.split(' ').map(|word| if is_checksum(word) { "[..]" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// `7`, or `1..9` with its end included, or `1..9/2` for every second.
fn numbers(word: &str) -> Vec<i64> {
    let (range, step) = word.split_once('/').unwrap_or((word, "1"));
    let step: usize = step.parse().expect("a step");
    match range.split_once("..") {
        Some((first, last)) => {
            let (first, last): (i64, i64) =
                (first.parse().expect("a number"), last.parse().expect("a number"));
            (first..=last).step_by(step).collect()
        }
        None => vec![range.parse().expect("a number")],
    }
}

#[test]
fn trees() {
    run("btree.txt", &mut store::StoreWorld::default());
}

#[test]
fn logs() {
    run("wal.txt", &mut store::StoreWorld::default());
}

#[test]
fn recoveries() {
    run("recovery.txt", &mut store::StoreWorld::default());
}

#[test]
fn pools() {
    run("pool.txt", &mut pool::PoolWorld::default());
}
