//! Tables beside SQLite: a Markdown page with the bars that are to be met.

use std::fmt::Write as _;

use crate::console;
use crate::results::{Results, Timing};

/// A workload's name, what it is, and how many times SQLite's rate it must reach.
const ROWS: [(&str, &str, f64); 18] = [
    ("load", "load of 1M rows in key order, one transaction", 1.5),
    ("read", "point read by key, a snapshot each", 1.0),
    ("filter", "count of rows with a text, no match", 3.0),
    ("scan", "every column of every row", 2.0),
    ("insert_normal", "insert, one transaction", 1.0),
    ("update_normal", "update by key, one transaction", 1.0),
    ("delete_normal", "delete by key, one transaction", 1.0),
    ("insert_autocommit_normal", "insert, a transaction each, normal", 1.0),
    ("update_autocommit_normal", "update, a transaction each, normal", 1.0),
    ("delete_autocommit_normal", "delete, a transaction each, normal", 1.0),
    ("insert_full", "insert, one transaction, full", 1.0),
    ("update_full", "update by key, one transaction, full", 1.0),
    ("delete_full", "delete by key, one transaction, full", 1.0),
    ("insert_autocommit_full", "insert, a transaction each, full", 1.0),
    ("update_autocommit_full", "update, a transaction each, full", 1.0),
    ("delete_autocommit_full", "delete, a transaction each, full", 1.0),
    ("commit_1", "one client, a commit each, full", 1.0),
    ("commit_8", "eight clients, a commit each, full", 3.0),
];

/// The page.
#[must_use]
pub fn table_page(results: &Results, name: &str, notes: &str) -> String {
    let machine = &results.machine;
    let mut page = format!(
        "# Tables beside SQLite\n\nMade from `bench/results/{name}.json` by `bench/tables`; not edited by hand. {}, {} cores, {}, {}; taken {}.\n\n\
         Both systems through their Rust interfaces, statements prepared, page caches of 512 MiB; nine columns, about 100 bytes a row. Rates are medians; the bar is a multiple of SQLite's.\n\n\
         | workload | FolioDB | SQLite | ratio | bar | |\n|---|---|---|---|---|---|\n",
        machine.cpu, machine.cores, machine.kernel, machine.file_system, results.taken
    );
    for (workload, text, bar) in ROWS {
        let timing = |system: &str| {
            results.timings.iter().rfind(|row| {
                row.suite == "tables" && row.workload == workload && row.system.starts_with(system)
            })
        };
        let (Some(ours), Some(theirs)) = (timing("FolioDB"), timing("SQLite")) else { continue };
        let ratio = ours.rate() / theirs.rate();
        let verdict = if ratio >= bar { "met" } else { "**missed**" };
        let _ = writeln!(
            page,
            "| {text} | {} | {} | {:.2}× | ≥ {bar}× | {verdict} |",
            rate(ours),
            rate(theirs),
            (ratio * 100.0).floor() / 100.0
        );
    }
    let foreign = results.timings.iter().map(|row| row.foreign_cores).fold(0.0, f64::max);
    let _ = writeln!(page, "\nOthers kept up to {foreign:.2} cores busy meanwhile.");
    if !notes.is_empty() {
        let _ = writeln!(page, "\n{}", notes.trim_end());
    }
    page
}

fn rate(row: &Timing) -> String {
    format!("{}/s", console::rate(row.rate()).trim_end_matches(" rec/s").trim_end_matches("/s"))
}
