//! Runs the scripts under `conformance/documents` through the library, in both layouts.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/script.rs"]
mod script;

use std::path::{Path, PathBuf};

use folio::{
    Access, Collection, CollectionOptions, ColumnType, Database, Layout, OpenOptions, Put, Strict,
};
use folio::{Error, PackOptions, Parameters, Partition, PartitionOptions, Result, Scan};
use script::{Outcome, Section, Step, Surface};
use serde_json::{Value, json};
use tempfile::TempDir;

#[test]
fn lines() {
    let count = run(Layout::Lines, &["lines", "handle", "batch", "schema", "sets", "parts"]);
    assert!(count > 40, "{count} sections ran");
}

#[test]
fn files() {
    let count = run(Layout::Files, &["files", "handle", "batch", "schema", "sets", "parts"]);
    assert!(count > 40, "{count} sections ran");
}

fn run(layout: Layout, can: &[&str]) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/documents");
    script::run_folder(&folder, |section: &Section| {
        let is_met = section.needs.iter().all(|need| can.contains(&need.as_str()));
        is_met.then(|| Library::new(layout))
    })
}

/// A database in its own folder, and the collection of the operations.
struct Library {
    _folder: TempDir,
    path: PathBuf,
    layout: Layout,
    database: Database,
    collection: Collection,
    planned: Vec<Partition>,
}

impl Surface for Library {
    fn run(&mut self, step: &Step) -> Outcome {
        match self.perform(step) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::error(error.code().as_str()),
        }
    }
}

impl Library {
    fn new(layout: Layout) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("data");
        let database = Database::open(&path).unwrap();
        database.create().unwrap();
        let options = CollectionOptions { layout, ..CollectionOptions::default() };
        let collection = database.collection_with("docs", &options).unwrap();
        let planned = Vec::new();
        Self { _folder: folder, path, layout, database, collection, planned }
    }

    fn perform(&mut self, step: &Step) -> Result<Outcome> {
        match step.operation.as_str() {
            "put" | "put_raw" | "put_many" | "batch" | "patch" | "delete" | "add" | "pop"
            | "clear" | "update" => self.write(step),
            "get" | "get_raw" | "exists" | "count" | "ids" | "scan" => self.read(step),
            "read_file" | "write_file" | "append_file" | "replace_file" | "edit_file"
            | "remove_file" => Ok(script::change_file(&self.folder(), step)),
            _ => self.manage(step),
        }
    }

    fn folder(&self) -> PathBuf {
        self.path.join("collections").join(self.collection.name())
    }

    fn write(&self, step: &Step) -> Result<Outcome> {
        let collection = &self.collection;
        let word = |put| if put == Put::Inserted { "inserted" } else { "replaced" };
        Ok(match step.operation.as_str() {
            "put" => Outcome::value(word(collection.put(step.word(0), &step.arguments[1])?)),
            "put_raw" => Outcome::value(word(collection.put_raw(step.word(0), step.content(1))?)),
            "put_many" => {
                let pairs = step.arguments[0].as_array().unwrap().iter();
                let pairs = pairs.map(|pair| (pair[0].as_str().unwrap(), &pair[1]));
                let counts = collection.put_many(pairs)?;
                Outcome::value(json!({"inserted": counts.inserted, "replaced": counts.replaced}))
            }
            "batch" => self.batch(&step.arguments[0])?,
            "patch" => {
                let document = collection.patch(step.word(0), &step.arguments[1])?;
                Outcome::value(document.map_or(Ok(Value::Null), |document| document.to_value())?)
            }
            "add" => {
                let id = collection.add(&step.arguments[0])?;
                // Generated values differ from run to run.
                let is_given = step.arguments[0].get("_id").is_some();
                Outcome::value(if is_given { id } else { format!("{} characters", id.len()) })
            }
            "pop" => {
                let document = collection.pop(step.word(0))?;
                Outcome::value(document.map_or(Ok(Value::Null), |document| document.to_value())?)
            }
            "clear" => Outcome::value(collection.clear()?),
            "update" => {
                let values = step.arguments.get(2).and_then(Value::as_array);
                let parameters = parameters_of(values.map_or(&[], Vec::as_slice));
                let count = collection.update(step.word(0), &parameters, &step.arguments[1])?;
                Outcome::value(count)
            }
            _ => Outcome::value(collection.delete(step.word(0))?),
        })
    }

    fn batch(&self, changes: &Value) -> Result<Outcome> {
        let mut batch = self.collection.batch()?;
        for change in changes.as_array().unwrap() {
            let id = change[1].as_str().unwrap();
            match change[0].as_str() {
                Some("put") => batch.put(id, &change[2])?,
                _ => batch.delete(id)?,
            }
        }
        let counts = batch.commit()?;
        let (inserted, replaced, deleted) = (counts.inserted, counts.replaced, counts.deleted);
        Ok(Outcome::value(json!({"inserted": inserted, "replaced": replaced, "deleted": deleted})))
    }

    fn read(&self, step: &Step) -> Result<Outcome> {
        let collection = &self.collection;
        Ok(match step.operation.as_str() {
            "get" => {
                let document = collection.get(step.word(0))?;
                Outcome::value(document.map_or(Ok(Value::Null), |document| document.to_value())?)
            }
            "get_raw" => match collection.get(step.word(0))? {
                Some(document) => Outcome::text(document.raw()),
                None => Outcome::value(Value::Null),
            },
            "exists" => Outcome::value(collection.exists(step.word(0))?),
            "count" => Outcome::value(collection.count()?),
            "ids" => {
                let ids: Vec<String> = collection.ids()?.collect::<Result<_>>()?;
                Outcome::values(ids.into_iter().map(Value::from))
            }
            _ => {
                let options = step.arguments.first();
                let documents = match options.and_then(|options| options.get("where")) {
                    Some(condition) => {
                        let values = options.and_then(|options| options.get("params"));
                        let values = values.and_then(Value::as_array);
                        let parameters = parameters_of(values.map_or(&[], Vec::as_slice));
                        let condition = condition.as_str().unwrap();
                        collection.scan_where(condition, &parameters, scan_of(step))?
                    }
                    None => collection.scan(scan_of(step))?,
                };
                let values: Result<Vec<Value>> =
                    documents.map(|document| Ok(document?.to_value()?)).collect();
                Outcome::values(values?)
            }
        })
    }

    fn manage(&mut self, step: &Step) -> Result<Outcome> {
        let mut goes_on = |_, _| true;
        match step.operation.as_str() {
            "collection" => self.choose(step)?,
            "collections" => {
                let names = self.database.collections()?;
                return Ok(Outcome::values(names.into_iter().map(Value::from)));
            }
            "sql" | "ziql" => {
                let text = step.content(0);
                let rows = match step.operation == "sql" {
                    true => self.database.sql(text, &Parameters::default())?.rows,
                    false => Some(self.database.ziql(text, &[])?),
                };
                let rows = rows.map_or_else(|| Ok("[]".to_owned()), |mut rows| rows.to_json());
                let rows: Vec<Value> = serde_json::from_str(&rows?).unwrap();
                return Ok(Outcome::values(rows));
            }
            "partitions" => return self.plan(step),
            "read_partitions" => return self.read_planned(),
            "drop" => self.database.drop_collection(step.word(0))?,
            "rename" => self.database.rename_collection(step.word(0), step.word(1))?,
            "flush" => self.database.flush()?,
            "refresh" => self.collection.refresh()?,
            "reopen" => self.reopen(step.arguments.first().is_some_and(|mode| mode == "r"))?,
            "archive" => {
                let target = self.path.with_extension("zds");
                self.database.pack(&target, &PackOptions::default(), &mut goes_on)?;
                self.path = target;
                self.reopen(true)?;
            }
            "reindex" => self.collection.reindex(&mut goes_on)?,
            "compact" => {
                let report = self.collection.compact(&mut goes_on)?;
                return Ok(Outcome::value(json!({
                    "document_count": report.document_count,
                    "rejected_count": report.rejected_count,
                })));
            }
            "check" => return self.check(),
            unknown => panic!("no such operation: {unknown}"),
        }
        Ok(Outcome::nothing())
    }

    /// Plans partitions. Their rows are the answer.
    fn plan(&mut self, step: &Step) -> Result<Outcome> {
        let count = usize::try_from(step.arguments[1].as_u64().unwrap()).unwrap();
        let mut options = PartitionOptions::default();
        if let Some(given) = step.arguments.get(2) {
            let texts = |names: &Vec<Value>| {
                names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
            };
            options.columns = given["columns"].as_array().map(texts);
            options.filter = given["filter"].as_str().map(str::to_owned);
        }
        self.planned = self.database.partitions(step.word(0), count, &options)?;
        Ok(Outcome::value(self.planned.iter().map(Partition::row_count).sum::<u64>()))
    }

    /// Reads the partitions that were planned last.
    fn read_planned(&self) -> Result<Outcome> {
        let mut session = self.database.session()?;
        let mut values = Vec::new();
        for partition in &self.planned {
            let sent: Partition = partition.to_string().parse()?;
            let rows = session.read_partition(&sent)?.to_json()?;
            values.extend(serde_json::from_str::<Vec<Value>>(&rows).unwrap());
        }
        Ok(Outcome::values(values))
    }

    fn choose(&mut self, step: &Step) -> Result<(), Error> {
        let strict = step.arguments.get(1).and_then(|options| options.get("strict"));
        let strict = match strict {
            None => Strict::AsStored,
            Some(Value::Bool(true)) => Strict::FirstDocument,
            Some(schema) => Strict::Schema(schema.clone()),
        };
        let options = CollectionOptions { layout: self.layout, strict };
        self.collection = self.database.collection_with(step.word(0), &options)?;
        Ok(())
    }

    fn reopen(&mut self, reads_only: bool) -> Result<()> {
        let name = self.collection.name().to_owned();
        self.database.close()?;
        let access = if reads_only { Access::Read } else { Access::ReadWrite };
        let options = OpenOptions { access, ..OpenOptions::default() };
        self.database = Database::open_with(&self.path, &options)?;
        let options = CollectionOptions { layout: self.layout, ..CollectionOptions::default() };
        self.collection = self.database.collection_with(&name, &options)?;
        Ok(())
    }

    fn check(&self) -> Result<Outcome> {
        let report = self.collection.check(&mut |_, _| true)?;
        let lines: Vec<u64> = report.invalid.iter().map(|line| line.line).collect();
        Ok(Outcome::value(json!({
            "is_clean": report.is_clean(),
            "document_count": report.document_count,
            "superseded_count": report.superseded_count,
            "tombstone_count": report.tombstone_count,
            "invalid_lines": lines,
        })))
    }
}

/// Values for the `?` of a condition: numbers and texts.
fn parameters_of(values: &[Value]) -> Parameters {
    let mut parameters = Parameters::default();
    for value in values {
        let (value, ty) = match value {
            Value::Number(number) => {
                (folio::Value::Integer(number.as_i64().unwrap()), ColumnType::Int64)
            }
            other => (folio::Value::Text(other.as_str().unwrap().to_owned()), ColumnType::Text),
        };
        parameters.push(value, Some(ty));
    }
    parameters
}

fn scan_of(step: &Step) -> Scan {
    let mut scan = Scan::new();
    let Some(options) = step.arguments.first() else { return scan };
    if let Some(fields) = options.get("fields").and_then(Value::as_array) {
        scan = scan.fields(fields.iter().map(|field| field.as_str().unwrap()));
    }
    match options.get("limit").and_then(Value::as_u64) {
        Some(limit) => scan.limit(limit),
        None => scan,
    }
}

/// The runner itself detects differences.
#[test]
fn a_wrong_answer_is_noticed() {
    let script = "== a\nput [\"a\", {\"n\": 1}]\n= \"inserted\"\nget [\"a\"]\n= {\"n\": 1, \"_id\": \"a\"}\n";
    let section = &script::parse(script).unwrap()[0];
    let failure = section.run(&mut Library::new(Layout::Lines)).unwrap_err();
    assert!(failure.starts_with("line 4, in \"a\": get [\"a\"]"), "{failure}");
    assert!(failure.ends_with("but got\n    = {\"_id\":\"a\",\"n\":1}\n"), "{failure}");
}
