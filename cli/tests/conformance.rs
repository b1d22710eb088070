//! Runs the scripts under `conformance/documents` through the command, in both layouts.
//!
//! An operation is one run of `folio`. The command has no open handles, so `flush`, `refresh` and
//! `reopen` do nothing. It reports errors as text: the table below maps texts to codes.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;
#[path = "../../conformance/script.rs"]
mod script;

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use sandbox::Sandbox;
use script::{Outcome, Section, Step, Surface};
use serde_json::{Map, Value, json};

/// Words of messages, each of which identifies a code.
const WORDS: [(&str, &str); 48] = [
    ("no collection \"", "not_found"),
    ("no database at", "not_found"),
    ("there is no field", "not_found"),
    ("there is no member", "not_found"),
    ("\" does not exist", "not_found"),
    ("no document of collection \"", "not_found"),
    ("their names differ by case only", "invalid_input"),
    ("has no field", "type_mismatch"),
    ("\" takes bigint, not ", "type_mismatch"),
    ("struct `", "not_found"),
    ("has no member", "type_mismatch"),
    ("has another type in the document", "invalid_input"),
    ("has no such option", "unsupported"),
    (", not a link", "type_mismatch"),
    ("` is json", "type_mismatch"),
    ("cannot be both", "type_mismatch"),
    (" of the set operation is ", "type_mismatch"),
    (" cannot be cast to ", "type_mismatch"),
    ("is in the shape twice", "invalid_input"),
    ("the shape of an object takes", "unsupported"),
    (" may not start with a dot", "invalid_input"),
    (" contains ", "invalid_input"),
    (" is empty; give it", "invalid_input"),
    (" bytes long; ", "invalid_input"),
    (" but is put under ", "invalid_input"),
    ("is not valid JSON", "syntax"),
    ("Schema mismatch", "type_mismatch"),
    (" is open read-only", "read_only"),
    (" is damaged at byte ", "corrupted"),
    (" has format version ", "unsupported"),
    (" already exists", "conflict"),
    ("is already an archive", "invalid_input"),
    (" has a document \"", "conflict"),
    ("which is unique by index", "conflict"),
    ("already has an index", "conflict"),
    ("which has no indexes", "invalid_input"),
    ("has the elements of two lists", "invalid_input"),
    (", which columns cannot ", "invalid_input"),
    ("in the condition of an index is not supported", "unsupported"),
    ("these columns are not a key", "invalid_input"),
    ("unexpected character", "syntax"),
    ("division by zero", "invalid_input"),
    ("cannot be read as", "invalid_input"),
    ("a document needs its id", "invalid_input"),
    ("a key of a map is text", "type_mismatch"),
    ("takes an array", "type_mismatch"),
    ("is not a value of type", "invalid_input"),
    ("a map whose keys are not text", "unsupported"),
];

#[test]
fn lines() {
    let count = run("lines");
    assert!(count > 35, "{count} sections ran");
}

#[test]
fn files() {
    let count = run("files");
    assert!(count > 35, "{count} sections ran");
}

fn run(layout: &'static str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/documents");
    script::run_folder(&folder, |section: &Section| {
        section.needs.iter().all(|need| need == layout).then(|| Command::new(layout))
    })
}

/// The command and its collection.
struct Command {
    sandbox: Sandbox,
    database: &'static str,
    collection: String,
    layout: &'static str,
    is_strict: bool,
}

impl Surface for Command {
    fn run(&mut self, step: &Step) -> Outcome {
        self.perform(step).unwrap_or_else(|message| Outcome::error(code_of(&message)))
    }
}

/// The code of a message; the message itself if none matches.
fn code_of(message: &str) -> String {
    let known = WORDS.iter().find(|(words, _)| message.contains(words));
    known.map_or_else(|| message.to_owned(), |(_, code)| (*code).to_owned())
}

impl Command {
    fn new(layout: &'static str) -> Self {
        let command = Self {
            sandbox: Sandbox::new(),
            database: "data",
            collection: "docs".to_owned(),
            layout,
            is_strict: false,
        };
        command.folio(&["init", command.database], "").unwrap();
        command
    }

    /// Runs the command; returns its output, or the message of its error.
    fn folio(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut shell = self.sandbox.command(arguments);
        let mut child = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its arguments does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let errors = String::from_utf8(stderr).unwrap();
        match (status.code(), errors.split_once("error: ")) {
            (Some(1), Some((_, message))) => Err(message.to_owned()),
            // `validate` reports findings by its exit code.
            (Some(0 | 3), None) => Ok(String::from_utf8(stdout).unwrap()),
            (code, _) => panic!("folio {arguments:?}: exit code {code:?}\n{errors}"),
        }
    }

    /// A command on the collection, with the argument after `--` last.
    fn on_collection(
        &self,
        command: &str,
        options: &[&str],
        last: &[&str],
        input: &str,
    ) -> Result<String, String> {
        let first = [command, self.database, "-c", &self.collection];
        self.folio(&[&first, options, &["--"], last].concat(), input)
    }

    /// Reads; a collection that does not exist yet is empty.
    fn read_from(&self, command: &str, options: &[&str], last: &[&str]) -> Result<String, String> {
        let printed = self.on_collection(command, options, last, "");
        match printed {
            Err(message) if message.starts_with("no collection ") => Ok(String::new()),
            other => other,
        }
    }

    fn perform(&mut self, step: &Step) -> Result<Outcome, String> {
        match step.operation.as_str() {
            "put" => self.put(step.word(0), &step.arguments[1].to_string()),
            "put_raw" => self.put(step.word(0), step.content(1)),
            "put_many" => self.put_many(&step.arguments[0]),
            "patch" | "delete" => self.change(step),
            "get" | "get_raw" | "exists" => self.get(step),
            "count" | "ids" | "scan" => self.list(step),
            "read_file" | "write_file" | "append_file" | "replace_file" | "edit_file"
            | "remove_file" => Ok(script::change_file(&self.folder(), step)),
            _ => self.manage(step),
        }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.sandbox.path().join(self.database).join("collections").join(&self.collection)
    }

    fn new_collection(&self) -> Vec<&str> {
        let mut options = vec!["--layout", self.layout];
        options.extend(self.is_strict.then_some("--strict"));
        options
    }

    fn put(&self, id: &str, document: &str) -> Result<Outcome, String> {
        let printed = self.on_collection("put", &self.new_collection(), &[id], document)?;
        let word = printed.strip_suffix(&format!(" {id}\n"));
        Ok(Outcome::value(word.unwrap_or_else(|| panic!("what was done: {printed:?}"))))
    }

    /// An import of lines with ids.
    fn put_many(&self, pairs: &Value) -> Result<Outcome, String> {
        let mut lines = String::new();
        for pair in pairs.as_array().unwrap() {
            let mut line = Map::from_iter([("_id".to_owned(), pair[0].clone())]);
            line.extend(pair[1].as_object().unwrap().clone());
            lines += &format!("{}\n", Value::Object(line));
        }
        let options = [&["--json", "--format", "jsonl"], &*self.new_collection()].concat();
        let printed = self.on_collection("import", &options, &["-"], &lines)?;
        let counts: Value = serde_json::from_str(&printed).unwrap();
        Ok(Outcome::value(json!({"inserted": counts["inserted"], "replaced": counts["replaced"]})))
    }

    fn change(&self, step: &Step) -> Result<Outcome, String> {
        let id = step.word(0);
        let is_patch = step.operation == "patch";
        let patch = if is_patch { step.arguments[1].to_string() } else { String::new() };
        match self.on_collection(&step.operation, &[], &[id], &patch) {
            Ok(_) if is_patch => Ok(Outcome::value(self.document(id)?.unwrap_or_default())),
            Ok(_) => Ok(Outcome::value(true)),
            Err(message) if is_missing(&message) => {
                Ok(Outcome::value(if is_patch { Value::Null } else { Value::Bool(false) }))
            }
            Err(message) => Err(message),
        }
    }

    fn line(&self, id: &str) -> Result<Option<String>, String> {
        match self.on_collection("get", &["-o", "jsonl"], &[id], "") {
            Ok(line) => Ok(Some(line)),
            Err(message) if is_missing(&message) => Ok(None),
            Err(message) => Err(message),
        }
    }

    fn document(&self, id: &str) -> Result<Option<Value>, String> {
        Ok(self.line(id)?.map(|line| serde_json::from_str(&line).unwrap()))
    }

    fn get(&self, step: &Step) -> Result<Outcome, String> {
        let id = step.word(0);
        Ok(match step.operation.as_str() {
            "get" => Outcome::value(self.document(id)?.unwrap_or_default()),
            "exists" => Outcome::value(self.line(id)?.is_some()),
            _ => match self.line(id)? {
                Some(line) => Outcome::text(&line),
                None => Outcome::value(Value::Null),
            },
        })
    }

    fn list(&self, step: &Step) -> Result<Outcome, String> {
        Ok(match step.operation.as_str() {
            "count" => {
                let printed = self.read_from("stats", &["-o", "jsonl"], &[])?;
                // The first line is about the collection, the others about its indexes.
                let first = printed.lines().next().unwrap_or("{}");
                let stats: Value = serde_json::from_str(first).unwrap();
                Outcome::value(stats["document_count"].as_u64().unwrap_or_default())
            }
            "ids" => {
                let ids = self.read_from("list", &[], &[])?;
                Outcome::values(ids.lines().map(Value::from))
            }
            _ => {
                let options = scan_options(step);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let lines = self.read_from("scan", &options, &[])?;
                Outcome::values(lines.lines().map(|line| serde_json::from_str(line).unwrap()))
            }
        })
    }

    fn manage(&mut self, step: &Step) -> Result<Outcome, String> {
        match step.operation.as_str() {
            "collection" => {
                step.word(0).clone_into(&mut self.collection);
                let options = step.arguments.get(1);
                self.is_strict = options.is_some_and(|options| options["strict"] == true);
                self.read_from("list", &[], &[])?;
            }
            "collections" => {
                let printed = self.folio(&["list", self.database, "-o", "jsonl"], "")?;
                let names = printed.lines().map(|line| {
                    let object: Value = serde_json::from_str(line).unwrap();
                    object["collection"].clone()
                });
                return Ok(Outcome::values(names));
            }
            "sql" | "ziql" => {
                let language = &*step.operation;
                let arguments = [language, self.database, "-o", "jsonl", step.content(0)];
                let lines = self.folio(&arguments, "")?;
                let rows = lines.lines().map(|line| serde_json::from_str(line).unwrap());
                return Ok(Outcome::values(rows));
            }
            "flush" | "refresh" | "reopen" => {}
            "archive" => {
                self.folio(&["pack", self.database, "data.zds"], "")?;
                self.database = "data.zds";
            }
            "reindex" => drop(self.on_collection("reindex", &[], &[], "")?),
            "compact" => return self.compact(),
            "check" => return self.check(),
            unknown => panic!("no such operation: {unknown}"),
        }
        Ok(Outcome::nothing())
    }

    /// `docs: 4 documents, 82 bytes before, 73 now; 1 line moved to …`
    fn compact(&self) -> Result<Outcome, String> {
        let printed = self.on_collection("compact", &[], &[], "")?;
        let number_before = |word: &str| {
            let before = printed.split(word).next().filter(|before| before.len() < printed.len());
            let number = before.and_then(|before| before.trim_end().rsplit(' ').next());
            number.map_or(0, |number| number.parse().unwrap())
        };
        let (documents, rejected): (u64, u64) = (number_before("document"), number_before("line"));
        Ok(Outcome::value(json!({"document_count": documents, "rejected_count": rejected})))
    }

    fn check(&self) -> Result<Outcome, String> {
        let printed = self.on_collection("validate", &["--json"], &[], "")?;
        let report: Value = serde_json::from_str(&printed).unwrap();
        let report = &report[0];
        let invalid = report["invalid"].as_array().unwrap().iter();
        Ok(Outcome::value(json!({
            "is_clean": report["is_clean"],
            "document_count": report["document_count"],
            "superseded_count": report["superseded_count"],
            "tombstone_count": report["tombstone_count"],
            "invalid_lines": invalid.map(|line| line["line"].clone()).collect::<Vec<_>>(),
        })))
    }
}

fn is_missing(message: &str) -> bool {
    message.starts_with("no document ") || message.starts_with("no collection ")
}

fn scan_options(step: &Step) -> Vec<String> {
    let mut words = vec!["-o".to_owned(), "jsonl".to_owned()];
    let Some(options) = step.arguments.first() else { return words };
    if let Some(fields) = options["fields"].as_array() {
        let fields: Vec<&str> = fields.iter().map(|field| field.as_str().unwrap()).collect();
        words.extend(["--fields".to_owned(), fields.join(",")]);
    }
    if let Some(limit) = options["limit"].as_u64() {
        words.extend(["--limit".to_owned(), limit.to_string()]);
    }
    if let Some(condition) = options["where"].as_str() {
        words.extend(["--where".to_owned(), condition.to_owned()]);
    }
    words
}
