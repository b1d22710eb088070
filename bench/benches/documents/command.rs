//! The `folio` command beside `jq` and the `sqlite3` shell, whole processes.
//!
//! - `scan`: every document as JSON Lines to a pipe nobody reads.
//! - `stats`: how many documents, how large.
//! - `get`: one document by id.
//! - `import`: a file of JSON Lines into a new database.
//!
//! `cat`, `wc` and `grep` stand beside them as the floor: what it costs to read
//! the file. A tool that is not installed is left out, and the run says so.
//! `FOLIO_COMMAND` names the command; by default it is `build/bin/folio`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record;
use folio_bench::results::{Sample, SystemNote};
use folio_bench::scratch::sync_disks;
use folio_bench::suite::{Suite, Workload};

const COLLECTION: &str = "train";

/// Turns a table of lines into the table that the other commands read.
const SQLITE_IMPORT: &str = "\
.mode ascii\n\
.separator \"\\037\" \"\\n\"\n\
PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;\n\
CREATE TEMP TABLE lines (line TEXT);\n\
.import {lines} lines\n\
CREATE TABLE docs (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID;\n\
INSERT INTO docs SELECT json_extract(line, '$._id'), line FROM lines;\n\
PRAGMA wal_checkpoint;\n";

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    let tools = Tools::find(suite)?;
    for documents in suite.arguments.sizes_or(&[100_000]) {
        commands(suite, &tools, documents)?;
    }
    Ok(())
}

/// The commands that are there.
struct Tools {
    folio: PathBuf,
    others: Vec<&'static str>,
}

impl Tools {
    /// Looks for the commands and notes their versions.
    fn find(suite: &mut Suite) -> Result<Self> {
        let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/bin/folio");
        let folio = std::env::var_os("FOLIO_COMMAND").map_or_else(default, PathBuf::from);
        let version = version_of(&folio).ok_or_else(|| {
            format!(
                "{} does not run; build it with `make build`, or set FOLIO_COMMAND",
                folio.display()
            )
        })?;
        suite.note(SystemNote { name: "folio".into(), version, settings: "defaults".into() });
        let mut others = vec!["cat", "wc", "grep"];
        for tool in ["jq", "sqlite3"] {
            match version_of(Path::new(tool)) {
                Some(version) => {
                    let settings = "as installed".to_owned();
                    suite.note(SystemNote { name: tool.into(), version, settings });
                    others.push(tool);
                }
                None => println!("{tool} is not installed; its rows are left out"),
            }
        }
        Ok(Self { folio, others })
    }

    fn has(&self, tool: &str) -> bool {
        self.others.contains(&tool)
    }
}

fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.lines().next()?.split_whitespace().take(2).collect();
    output.status.success().then(|| words.join(" "))
}

/// The files of one size.
struct Files {
    lines: String,
    folio: String,
    sqlite: String,
}

fn commands(suite: &mut Suite, tools: &Tools, documents: u64) -> Result<()> {
    let directory = suite.scratch.directory()?;
    let path = |name: &str| directory.join(name).display().to_string();
    let files =
        Files { lines: path("records.jsonl"), folio: path("folio"), sqlite: path("sqlite") };
    record::write_lines(File::create(&files.lines)?, documents)?;
    time(&mut folio_import(tools, &files))?;
    if tools.has("sqlite3") {
        time(&mut sqlite_import(&files)?)?;
    }

    for (name, mut scan) in scan_commands(tools, &files) {
        let output = scan.stdout(Stdio::piped()).output()?;
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
        if lines != documents {
            return Err(format!("{name} printed {lines} lines of {documents}").into());
        }
    }

    let operations = documents;
    let work = |name, operations| Workload { name, mode: "cold", documents, operations };
    suite.contest(work("scan", operations), scans(tools, &files))?;
    suite.contest(work("stats", operations), stats(tools, &files))?;
    suite.contest(work("get", 1), gets(tools, &files, &record::id(documents / 2)))?;
    suite.contest(work("import", operations), imports(tools, &files))?;
    fs::remove_dir_all(directory)?;
    Ok(())
}

fn scans<'a>(tools: &'a Tools, files: &'a Files) -> Vec<Entrant<'a>> {
    scan_commands(tools, files).into_iter().map(|(name, scan)| timed(name, scan)).collect()
}

fn scan_commands(tools: &Tools, files: &Files) -> Vec<(&'static str, Command)> {
    let scan = ["scan", &files.folio, "-c", COLLECTION, "--jsonl"];
    let select = "SELECT doc FROM docs";
    let mut commands = vec![("folio scan", command(&tools.folio, &scan))];
    if tools.has("jq") {
        commands.push(("jq -c .", command("jq", &["-c", ".", &files.lines])));
    }
    if tools.has("sqlite3") {
        commands.push(("sqlite3", command("sqlite3", &[&files.sqlite, select])));
    }
    commands.push(("cat", command("cat", &[&files.lines])));
    commands
}

fn stats<'a>(tools: &'a Tools, files: &'a Files) -> Vec<Entrant<'a>> {
    let count = "SELECT count(*), sum(length(doc)) FROM docs";
    let reduce = "reduce inputs as $document (0; . + 1)";
    let mut entrants = vec![timed("folio stats", command(&tools.folio, &["stats", &files.folio]))];
    if tools.has("jq") {
        entrants.push(timed("jq reduce", command("jq", &["-n", reduce, &files.lines])));
    }
    if tools.has("sqlite3") {
        entrants.push(timed("sqlite3", command("sqlite3", &[&files.sqlite, count])));
    }
    entrants.push(timed("wc", command("wc", &["-l", "-c", &files.lines])));
    entrants
}

fn gets<'a>(tools: &'a Tools, files: &'a Files, id: &str) -> Vec<Entrant<'a>> {
    let get = ["get", &files.folio, "-c", COLLECTION, id];
    let select = format!("SELECT doc FROM docs WHERE id = '{id}'");
    let filter = format!("select(._id == \"{id}\")");
    let pattern = format!("\"_id\":\"{id}\"");
    let mut entrants = vec![timed("folio get", command(&tools.folio, &get))];
    if tools.has("jq") {
        entrants.push(timed("jq select", command("jq", &["-c", &filter, &files.lines])));
    }
    if tools.has("sqlite3") {
        entrants.push(timed("sqlite3", command("sqlite3", &[&files.sqlite, &select])));
    }
    entrants.push(timed("grep", command("grep", &["-m1", "-F", &pattern, &files.lines])));
    entrants
}

fn imports<'a>(tools: &'a Tools, files: &'a Files) -> Vec<Entrant<'a>> {
    let fresh = Files {
        lines: files.lines.clone(),
        folio: format!("{}-fresh", files.folio),
        sqlite: format!("{}-fresh", files.sqlite),
    };
    let fresh = std::rc::Rc::new(fresh);
    let folio = std::rc::Rc::clone(&fresh);
    let mut entrants = vec![Entrant::writes("folio import", "fdatasync", move || {
        let _ = fs::remove_dir_all(&folio.folio);
        sync_disks();
        time(&mut folio_import(tools, &folio))
    })];
    if tools.has("sqlite3") {
        entrants.push(Entrant::writes("sqlite3 .import", "WAL, NORMAL, checkpoint", move || {
            for suffix in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(format!("{}{suffix}", fresh.sqlite));
            }
            sync_disks();
            time(&mut sqlite_import(&fresh)?)
        }));
    }
    entrants
}

fn folio_import(tools: &Tools, files: &Files) -> Command {
    command(&tools.folio, &["import", &files.folio, "-c", COLLECTION, &files.lines])
}

/// The shell reads its commands from a file beside the database.
fn sqlite_import(files: &Files) -> Result<Command> {
    let script = format!("{}.sql", files.sqlite);
    fs::write(&script, SQLITE_IMPORT.replace("{lines}", &files.lines))?;
    let mut import = command("sqlite3", &["-bail", &files.sqlite]);
    import.stdin(File::open(&script)?);
    Ok(import)
}

fn command(program: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn timed<'a>(name: &str, mut command: Command) -> Entrant<'a> {
    Entrant::reads(name, move || time(&mut command))
}

fn time(command: &mut Command) -> Result<Sample> {
    let mut watch = Stopwatch::start();
    let status = command.status()?;
    watch.lap("process");
    if status.success() { Ok(watch.stop()) } else { Err(format!("{command:?}: {status}").into()) }
}
