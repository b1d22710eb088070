//! The tables of a results file, before they become Markdown or HTML.

use crate::QUIET_CORES;
use crate::console;
use crate::results::{Results, Timing};

use crate::bars;

/// A table: a heading, a sentence, columns and rows of text.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The heading.
    pub(super) title: String,
    /// What a reader must know of it; may be empty.
    pub(super) note: String,
    /// Column heads.
    pub(super) columns: Vec<&'static str>,
    /// Rows, as many cells as columns.
    pub(super) rows: Vec<Vec<String>>,
}

/// The bars, judged.
pub(super) fn bars(results: &Results) -> Table {
    let judged = bars::judge(results);
    let with_bar = judged.iter().filter(|row| !row.bar.is_empty()).count();
    let met = judged.iter().filter(|row| row.met == Some(true)).count();
    let rows = judged.into_iter().map(|row| {
        let verdict = match (row.met, row.bar.is_empty()) {
            (Some(true), _) => "met",
            (Some(false), _) => "**missed**",
            (None, false) => "not measured",
            (None, true) => "shown",
        };
        vec![row.what, row.bar, row.ours, row.against, row.ratio, verdict.to_owned()]
    });
    Table {
        title: "Bars".to_owned(),
        note: format!(
            "{met} of {with_bar} met. Ours and the peer's figure are from the same run; a row \
             without a bar is there because a reader would ask."
        ),
        columns: vec!["what", "bar", "FolioDB", "against", "ratio", ""],
        rows: rows.collect(),
    }
}

/// One table for each workload, mode and size, in the order measured.
pub(super) fn workloads(results: &Results) -> Vec<Table> {
    let mut tables: Vec<(Heading<'_>, Vec<&Timing>)> = Vec::new();
    for timing in &results.timings {
        let heading = Heading::of(timing);
        match tables.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, rows)) => rows.push(timing),
            None => tables.push((heading, vec![timing])),
        }
    }
    tables.into_iter().map(|(heading, rows)| workload(&heading, &rows)).collect()
}

/// What the rows of one table have in common.
#[derive(Debug, PartialEq)]
struct Heading<'r> {
    suite: &'r str,
    workload: &'r str,
    mode: &'r str,
    documents: u64,
    operations: u64,
}

impl<'r> Heading<'r> {
    fn of(timing: &'r Timing) -> Self {
        Self {
            suite: &timing.suite,
            workload: &timing.workload,
            mode: &timing.mode,
            documents: timing.documents,
            operations: timing.operations,
        }
    }
}

fn workload(heading: &Heading<'_>, timings: &[&Timing]) -> Table {
    let writes = timings.iter().any(|timing| !timing.durability.is_empty());
    let single = heading.operations == 1;
    let mode = if heading.mode.is_empty() { String::new() } else { format!(", {}", heading.mode) };
    let foreign = timings.iter().map(|timing| timing.foreign_cores).fold(0.0, f64::max);
    let note = if foreign > QUIET_CORES {
        format!("Provisional: others kept {foreign:.2} cores busy meanwhile.")
    } else {
        String::new()
    };
    let mut columns = vec!["system", "rate", "time", "spread", "cores", "phases, ms"];
    if single {
        columns.retain(|column| *column != "rate");
    }
    if writes {
        columns.push("durable by");
    }
    let rows = timings.iter().map(|timing| {
        let mut cells = vec![timing.system.clone()];
        if !single {
            cells.push(format!("{}/s", console::rate(timing.rate())));
        }
        cells.push(console::duration(timing.median_ns()));
        cells.push(format!("±{:.0}%", timing.spread() * 100.0));
        cells.push(cores(timing));
        cells.push(phases(timing));
        if writes {
            cells.push(timing.durability.clone());
        }
        cells
    });
    Table {
        title: format!(
            "{} / {}{mode}: {} documents, {} per sample",
            heading.suite,
            heading.workload,
            console::count(heading.documents),
            console::count(heading.operations)
        ),
        note,
        columns,
        rows: rows.collect(),
    }
}

/// Cores kept busy; of a process of its own they are not known.
fn cores(timing: &Timing) -> String {
    let whole_process = timing
        .median_sample()
        .is_some_and(|sample| sample.phases.iter().any(|(name, _)| name == "process"));
    if whole_process { String::new() } else { format!("{:.1}", timing.cores()) }
}

/// The phases of the median sample in milliseconds.
fn phases(timing: &Timing) -> String {
    let Some(sample) = timing.median_sample() else { return String::new() };
    let phases = sample.phases.iter().map(|(name, ns)| format!("{name} {:.2}", *ns as f64 / 1e6));
    let close =
        (sample.close_ns > 0).then(|| format!("(close {:.2})", sample.close_ns as f64 / 1e6));
    phases.chain(close).collect::<Vec<_>>().join(", ")
}

/// Sizes on disk.
pub(super) fn sizes(results: &Results) -> Table {
    let rows = results.sizes.iter().map(|size| {
        vec![
            size.system.clone(),
            console::count(size.documents),
            console::megabytes(size.lines_size),
            console::megabytes(size.allocated_size),
            console::megabytes(size.files_size),
            format!("{:.2}", size.allocated_size as f64 / size.lines_size as f64),
        ]
    });
    Table {
        title: "Size on disk".to_owned(),
        note: "After a bulk load of ready lines and a proper close. fjall compresses; nobody else \
               does."
            .to_owned(),
        columns: vec![
            "system",
            "documents",
            "lines",
            "allocated",
            "by length",
            "allocated / lines",
        ],
        rows: rows.collect(),
    }
}

/// Peak memory.
pub(super) fn memory(results: &Results) -> Table {
    let rows = results.memory.iter().map(|memory| {
        vec![
            memory.workload.clone(),
            memory.system.clone(),
            console::count(memory.documents),
            console::megabytes(memory.peak_size),
            console::megabytes(memory.peak_anonymous_size),
        ]
    });
    Table {
        title: "Peak memory".to_owned(),
        note:
            "Of a process that does nothing else. The peak counts mapped files, which the system \
               may drop; the anonymous part is what the process allocated."
                .to_owned(),
        columns: vec!["job", "system", "documents", "peak", "anonymous"],
        rows: rows.collect(),
    }
}

/// How the systems were configured.
pub(super) fn systems(results: &Results) -> Table {
    let rows = results
        .systems
        .iter()
        .map(|system| vec![system.name.clone(), system.version.clone(), system.settings.clone()]);
    Table {
        title: "Systems".to_owned(),
        note: String::new(),
        columns: vec!["system", "version", "settings"],
        rows: rows.collect(),
    }
}

/// The machine, a fact to a line.
pub(super) fn machine(results: &Results) -> Vec<String> {
    let machine = &results.machine;
    let packages: Vec<String> =
        machine.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let mut facts = vec![
        format!("taken {} at commit {}", results.taken, machine.commit),
        format!("{}, {} cores, {} GiB", machine.cpu, machine.cores, machine.memory_gib),
        format!("{}, {}", machine.kernel, machine.file_system),
        format!("{}; {}", machine.rustc, machine.profile),
        machine.allocator.clone(),
        packages.join(", "),
        format!(
            "load average {:.2} at the start; other processes and the kernel took at most {:.2} \
             cores during any workload",
            machine.load_at_start,
            results.foreign_cores()
        ),
    ];
    if results.foreign_cores() > QUIET_CORES {
        facts.push("**provisional**: the machine was not quiet; read the ratios only".to_owned());
    }
    if results.quick {
        facts.push("**quick run**: small sizes and few repetitions; not for quotation".to_owned());
    }
    facts
}
