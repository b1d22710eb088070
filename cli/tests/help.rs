//! The help is the reference, and its examples work.
//!
//! `docs/cli.md` is made from what `--help` prints; when it is stale the test
//! fails, and `UPDATE_DOCS=1 cargo test -p folio-cli --test help` writes it.
//! Every line of an `Examples:` section that begins with `$` is run, in order,
//! in a folder where the files it names are prepared.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use sandbox::Sandbox;

/// The commands in the order of `folio --help`.
fn commands(sandbox: &Sandbox) -> Vec<String> {
    let help = help(sandbox, "");
    let list = help.split("Commands:\n").nth(1).expect("the help lists commands");
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

fn help(sandbox: &Sandbox, command: &str) -> String {
    let output = sandbox.run(&format!("folio {command} --help"));
    assert!(output.status.success(), "folio {command} --help");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn reference_is_fresh() {
    let sandbox = Sandbox::new();
    let mut text = String::from(
        "# The `folio` command\n\n\
         This is what `folio --help` and the help of each command print; a test keeps it so.\n\
         Exit codes: 0 done, 1 error, 2 wrong usage, 3 damage found, 130 interrupted.\n\n",
    );
    write!(text, "```text\n{}\n```\n", help(&sandbox, "").trim_end()).unwrap();
    for command in commands(&sandbox) {
        let help = help(&sandbox, &command);
        write!(text, "\n## folio {command}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    }
    let text: String = text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    } else {
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/cli.md is stale: UPDATE_DOCS=1 cargo test -p folio-cli --test help"
        );
    }
}

#[test]
fn every_example_runs() {
    let probe = Sandbox::new();
    let mut all = commands(&probe);
    assert!(all.len() >= 18, "{all:?}");
    all.push(String::new());
    for command in all {
        let help = help(&probe, &command);
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let examples: Vec<&str> =
            examples.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")).collect();
        assert!(!examples.is_empty(), "folio {command} --help has examples");
        let sandbox = Sandbox::new();
        prepare(&sandbox);
        for example in examples {
            // The studio runs until it is told to end.
            let output = match example.starts_with("folio studio") {
                true => sandbox.run(&format!("timeout --preserve-status 2 {example}")),
                false => sandbox.run(example),
            };
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example}\n{errors}");
            assert!(!errors.contains("error:"), "{example}\n{errors}");
        }
    }
}

/// Creates the files named in the examples.
fn prepare(sandbox: &Sandbox) {
    let lines = |name: &str, text: &str| fs::write(sandbox.path().join(name), text).unwrap();
    lines("big.jsonl", "{\"url\":\"https://example.com/1\",\"n\":1}\n{\"url\":\"home\",\"n\":2}\n");
    lines("people.csv", "email,age\nann@example.com,34\nbob@example.com,51\n");
    lines(
        "schema.zq",
        "User ( name: str, age: int = 0, posts: []Post.author )\nPost ( title: str, at: datetime = NOW, author: User )\n",
    );
    lines("token", "0123456789abcdef0123456789abcdef\n");
    lines("cert.pem", include_str!("../../studio/tests/tls/cert.pem"));
    lines("key.pem", include_str!("../../studio/tests/tls/key.pem"));
    lines("script.zq", "GRAB planets [name]; .tables\n");
    lines("flights.json", "[{\"delay\": 5},\n {\"delay\": -2}]\n");
    lines("events.jsonl", "{\"event\":\"start\"}\n");
    lines("flights.jsonl", "{\"delay\":5}\n{\"delay\":-2}\n");
    let more = fs::File::create(sandbox.path().join("more.jsonl.gz")).unwrap();
    let mut more = flate2::write::GzEncoder::new(more, flate2::Compression::default());
    more.write_all(b"{\"_id\":\"user_001\"}\n{\"_id\":\"user_009\"}\n{\"_id\":\n").unwrap();
    more.finish().unwrap();
    for step in [
        "python3 -c 'import sqlite3; sqlite3.connect(\"app.sqlite\").executescript(\"create table authors (name); create table books (title)\")'",
        "folio put -q ./data -c users user_001 --data '{\"name\":\"Alice\",\"address\":{\"city\":\"Oslo\"}}'",
        "folio put -q ./data -c users user_002 --data '{\"name\":\"Bob\"}'",
        "folio import -q ./data -c train flights.jsonl --generate-ids",
        "folio pack -q ./data ./data.zds",
        "folio sql -q ./data 'create table planets (id int primary key, name text)'",
        "folio vacuum -q ./data",
    ] {
        let output = sandbox.run(step);
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn completions_are_valid_for_bash() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(
        "folio completions bash > folio.bash && bash -n folio.bash && \
         bash -c 'source ./folio.bash; COMP_WORDS=(folio val); COMP_CWORD=1; _folio folio val; echo ${COMPREPLY[*]}'",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "validate");
    // After -c, the collections of the database that the line names.
    let output = sandbox.run(
        "folio put -q data -c users a --data '{}'; folio put -q data -c movies a --data '{}'
         bash -c 'source ./folio.bash; COMP_WORDS=(folio scan ./data -c us); COMP_CWORD=4
         $(complete -p folio | sed \"s/.*-F \\([^ ]*\\).*/\\1/\") folio us -c; echo ${COMPREPLY[*]}'",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "users", "{output:?}");
    for (shell, start, collections) in [
        ("zsh", "#compdef folio", ":NAME:_folio_collections"),
        ("fish", "function __fish_folio", "-l collection "),
    ] {
        let output = sandbox.run(&format!("folio completions {shell}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with(start) && text.contains("reindex"), "{shell}: {text}");
        let options: Vec<&str> = text.lines().filter(|line| line.contains(collections)).collect();
        assert!(options.len() > 10, "{shell}: every command that has -c: {options:?}");
        assert!(options.iter().all(|line| line.contains("collections")), "{options:?}");
    }
}
