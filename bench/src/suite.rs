//! The frame of a suite: arguments in, rows out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use folio_bench_report::QUIET_CORES;
use serde_json::Value;

use crate::arguments::{Arguments, HELP};
use crate::contest::{Entrant, compete};
use crate::machine::{self, ForeignLoad};
use crate::record::{Record, Records};
use crate::results::{FORMAT, Memory, Results, Size, SystemNote, Timing};
use crate::scratch::{Scratch, sync_disks};
use crate::store::{Form, System, Tally, roster};
use crate::{Result, child, console};

/// Whether this build leaves FolioDB out, and with it the features of
/// `serde_json` that it turns on for the whole program (numbers kept as text,
/// order of keys kept). Peers are measured both ways; rows of this build end in
/// `_plain`.
pub const PLAIN: bool = cfg!(not(feature = "folio"));

/// How many records are handed over at once when a store is filled for reading.
const FILL_CHUNK: usize = 1_000_000;

/// A suite under way.
#[derive(Debug)]
pub struct Suite {
    name: &'static str,
    /// What it was asked to do.
    pub arguments: Arguments,
    /// Where its stores live.
    pub scratch: Scratch,
    results: Results,
}

/// What a contest measures.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    /// Its name within the suite.
    pub name: &'a str,
    /// `cold`, `warm` or empty.
    pub mode: &'a str,
    /// Documents in the store.
    pub documents: u64,
    /// Operations per sample.
    pub operations: u64,
}

/// How a suite is run.
#[derive(Debug)]
pub enum Program {
    /// By the arguments that all suites share, with results in the shape that all share.
    Framed(fn(&mut Suite) -> Result<()>),
    /// By arguments of its own.
    Own(fn(Vec<String>) -> Result<()>),
}

/// The `main` of a program of suites: runs the one that the first argument names, or the job of
/// a child, which is `child`'s. `data` is where the stores go unless `--dir` says otherwise.
///
/// Suites share programs, because optimising one with all that it embeds takes minutes.
#[must_use]
pub fn main(
    suites: &[(&'static str, Program)],
    child: fn(&[&str]) -> Result<()>,
    data: &str,
) -> ExitCode {
    // `--bench` is cargo's own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let result = match words.split_first() {
        Some((first, job)) if first == child::FLAG => {
            child(&job.iter().map(String::as_str).collect::<Vec<_>>())
        }
        // `cargo test` starts benches too; there is nothing to test here.
        Some((first, _)) if first == "--test" => Ok(()),
        Some((name, arguments)) => run(suites, name, data, arguments.to_vec()),
        None => Err(usage(suites).into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    suites: &[(&'static str, Program)],
    name: &str,
    data: &str,
    arguments: Vec<String>,
) -> Result<()> {
    let Some((name, program)) = suites.iter().find(|(known, _)| *known == name) else {
        return Err(format!("{name} is no suite of this program\n\n{}", usage(suites)).into());
    };
    let done = match program {
        Program::Framed(_) if arguments.iter().any(|word| word == "--help" || word == "-h") => {
            println!("{HELP}");
            Ok(())
        }
        Program::Framed(body) => Suite::start(name, data, arguments).and_then(|mut suite| {
            body(&mut suite)?;
            suite.finish()
        }),
        Program::Own(run) => run(arguments),
    };
    done.map_err(|error| format!("{name}: {error}").into())
}

fn usage(suites: &[(&'static str, Program)]) -> String {
    let names: Vec<&str> = suites.iter().map(|(name, _)| *name).collect();
    format!("usage: SUITE [arguments], where SUITE is one of {}", names.join(", "))
}

impl Suite {
    fn start(name: &'static str, data: &str, arguments: Vec<String>) -> Result<Self> {
        let arguments = Arguments::parse(arguments)?;
        let parent = arguments.directory.clone().unwrap_or_else(|| PathBuf::from(data));
        let scratch = Scratch::new(&parent)?;
        let machine = machine::describe(scratch.root());
        println!(
            "{name}: {}, {} cores, {}, {}, load {:.2}, {} repetitions",
            machine.cpu,
            machine.cores,
            machine.kernel,
            machine.file_system,
            machine.load_at_start,
            arguments.repetitions
        );
        let systems = roster()
            .iter()
            .map(|system| SystemNote {
                name: system.name.to_owned(),
                version: machine.packages.get(system.package).map_or_else(
                    || system.package.to_owned(),
                    |version| format!("{} {version}", system.package),
                ),
                settings: system.settings.to_owned(),
            })
            .collect();
        let results = Results {
            format: FORMAT,
            taken: machine::timestamp(),
            quick: arguments.quick,
            machine,
            systems,
            timings: Vec::new(),
            sizes: Vec::new(),
            memory: Vec::new(),
        };
        Ok(Self { name, arguments, scratch, results })
    }

    /// Lets the entrants that the filter leaves compete, and prints and keeps their rows.
    ///
    /// # Errors
    /// The first of an entrant.
    pub fn contest(&mut self, workload: Workload<'_>, entrants: Vec<Entrant<'_>>) -> Result<()> {
        let mut entrants: Vec<Entrant<'_>> = entrants
            .into_iter()
            .filter(|entrant| self.wants(workload.name, &entrant.system, workload.documents))
            .collect();
        if entrants.is_empty() {
            return Ok(());
        }
        println!(
            "\n{} · {} documents · {} per sample",
            workload.name,
            console::count(workload.documents),
            console::count(workload.operations)
        );
        let load = ForeignLoad::start();
        let all_samples = compete(&mut entrants, self.arguments.repetitions)?;
        let foreign_cores = load.cores();
        for (entrant, samples) in entrants.into_iter().zip(all_samples) {
            let timing = Timing {
                suite: self.name.to_owned(),
                workload: workload.name.to_owned(),
                system: entrant.system,
                mode: workload.mode.to_owned(),
                documents: workload.documents,
                operations: workload.operations,
                durability: entrant.durability,
                samples,
                foreign_cores,
            };
            println!("{}", console::line(&timing));
            self.results.timings.push(timing);
        }
        if foreign_cores > QUIET_CORES {
            println!("  provisional: others kept {foreign_cores} cores busy meanwhile");
        }
        Ok(())
    }

    /// Whether the filter leaves a row in.
    #[must_use]
    pub fn wants(&self, workload: &str, system: &str, documents: u64) -> bool {
        let row = format!("{}/{workload}/{system}/{}", self.name, console::count(documents));
        row.contains(&self.arguments.filter)
    }

    /// Notes a system that is not on the roster.
    pub fn note(&mut self, note: SystemNote) {
        self.results.systems.push(note);
    }

    /// Keeps and prints a size on disk.
    pub fn size(&mut self, size: Size) {
        println!(
            "  {:<24} size: {} for {} of lines, {:.2} times",
            size.system,
            console::megabytes(size.allocated_size),
            console::megabytes(size.lines_size),
            size.allocated_size as f64 / size.lines_size as f64,
        );
        self.results.sizes.push(size);
    }

    /// Keeps and prints a peak of memory.
    pub fn memory(&mut self, memory: Memory) {
        println!(
            "  {:<24} {}: peak {}, anonymous {} ({} documents)",
            memory.system,
            memory.workload,
            console::megabytes(memory.peak_size),
            console::megabytes(memory.peak_anonymous_size),
            console::count(memory.documents),
        );
        self.results.memory.push(memory);
    }

    /// Fills a new store with the first `documents` records, for each system that
    /// the filter leaves in any of these workloads.
    ///
    /// # Errors
    /// A system's.
    pub fn fill_wanted(
        &self,
        systems: impl IntoIterator<Item = System>,
        documents: u64,
        workloads: &[&str],
    ) -> Result<Vec<(System, PathBuf)>> {
        let mut stores = Vec::new();
        for system in systems {
            if workloads.iter().any(|workload| self.wants(workload, system.name, documents)) {
                let directory = self.scratch.directory()?;
                fill(&system, &directory, documents)
                    .map_err(|error| format!("{}: filling: {error}", system.name))?;
                stores.push((system, directory));
            }
        }
        Ok(stores)
    }

    fn finish(self) -> Result<()> {
        let Some(path) = &self.arguments.json else { return Ok(()) };
        self.results.write(path)?;
        println!("\nwritten to {}", path.display());
        Ok(())
    }
}

/// Fills a store in an empty directory, closes it, and waits for the disk.
fn fill(system: &System, directory: &Path, documents: u64) -> Result<()> {
    let mut store = (system.create)(directory)?;
    let mut source = Records::new().take(documents as usize).map(without_value);
    loop {
        let chunk: Vec<Record> = source.by_ref().take(FILL_CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        store.write(&chunk, Form::Lines)?;
    }
    store.sync()?;
    drop(store);
    sync_disks();
    Ok(())
}

/// Lines are enough to fill a store, and a tenth of the memory.
fn without_value(record: Record) -> Record {
    Record { value: Value::Null, ..record }
}

/// Fails unless a system returned exactly what was asked for.
///
/// # Errors
/// When the tallies differ.
pub fn expect(seen: Tally, expected: Tally) -> Result<()> {
    if seen == expected {
        return Ok(());
    }
    Err(format!("read {seen:?} where {expected:?} was written").into())
}
