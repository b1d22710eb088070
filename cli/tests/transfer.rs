//! `folio export` and `folio import` with every name of `conformance/files`.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::Sandbox;

fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/files").join(name)
}

#[test]
fn every_name_is_exported_and_imported() {
    let sandbox = Sandbox::new();
    let folio = |arguments: &[&str]| {
        let output = sandbox.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let source = shared("documents.jsonl");
    assert!(folio(&["import", "data", "-c", "t", source.to_str().unwrap()]).0);
    let table = fs::read_to_string(shared("names.txt")).unwrap();
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let (extension, expected) = row.split_once(' ').unwrap();
        let file = format!("out.{extension}");
        let (is_written, _, error) = folio(&["export", "data", "-c", "t", "-o", &file]);
        if expected.trim() == "refused" {
            assert!(!is_written && error.contains(&file) && error.contains(".parquet"), "{error}");
            continue;
        }
        assert!(is_written, "{error}");
        let back = format!("back_{}", extension.replace('.', "_").to_lowercase());
        let (is_read, _, error) = folio(&["import", "data", "-c", &back, &file]);
        assert!(is_read, "{extension}: {error}");
        let (_, lines, _) = folio(&["scan", "data", "-c", &back, "--jsonl"]);
        assert_eq!(lines, fs::read_to_string(shared(expected.trim())).unwrap(), "{extension}");
        let query = format!("select count(*) as n, count(note) as notes from '{file}'");
        let (_, answer, error) = folio(&["sql", "data", &query, "-o", "jsonl"]);
        assert_eq!(answer, "{\"n\":4,\"notes\":3}\n", "{extension}: {error}");
    }
    // With an explicit format, also through standard output and standard input.
    let round = sandbox.run(
        "folio export data -c t --format parquet | folio import data -c piped --format parquet -; \
         folio export data -c t --format arrow | folio import data -c told; \
         folio scan data -c piped --jsonl; folio scan data -c told --jsonl",
    );
    let expected = fs::read_to_string(shared("columns.jsonl")).unwrap();
    let printed = String::from_utf8(round.stdout).unwrap();
    let lines: String = printed
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(lines, expected.repeat(2), "{}", String::from_utf8_lossy(&round.stderr));
    let (is_written, _, error) =
        folio(&["export", "data", "-c", "t", "--format", "csv", "-o", "x.parquet"]);
    assert!(!is_written && error.contains("the format is csv"), "{error}");
}
