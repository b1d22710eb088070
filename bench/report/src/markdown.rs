//! The results as a Markdown page.

use crate::results::Results;

use crate::tables::{self, Table};

/// The page. `name` is the results file's, for the reader who wants the samples;
/// `notes` is what people wrote about this run, in Markdown, or empty.
#[must_use]
pub fn document(results: &Results, name: &str, notes: &str) -> String {
    let mut page = format!(
        "<!-- Written by `bench/run --render`; edit bench/report instead. -->\n\n\
         # Document benchmarks\n\n\
         Every figure on this page comes from [`bench/results/{name}.json`]\
         (../../bench/results/{name}.json), which holds every sample. \
         [How it is measured](methodology.md) · [charts](documents.html)\n\n\
         ![Rates of all systems, one panel for each workload](documents.png)\n\n## Machine\n\n"
    );
    for fact in tables::machine(results) {
        page += &format!("- {fact}\n");
    }
    page += "\n";
    page += &table(&tables::bars(results), 2);
    if !notes.is_empty() {
        page += &format!("## Notes\n\n{}\n\n", notes.trim());
    }
    page += "## Workloads\n\n";
    for workload in tables::workloads(results) {
        page += &table(&workload, 3);
    }
    for other in [tables::sizes(results), tables::memory(results), tables::systems(results)] {
        page += &table(&other, 2);
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// A table under a heading of this level; nothing when it has no rows.
pub(super) fn table(table: &Table, level: usize) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let mut text = format!("{} {}\n\n", "#".repeat(level), table.title);
    if !table.note.is_empty() {
        text += &format!("{}\n\n", table.note);
    }
    text + &grid(table) + "\n"
}

/// The table alone.
pub(super) fn grid(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut text = line(&mut table.columns.iter().copied());
    text += &line(&mut table.columns.iter().map(|_| "---"));
    for row in &table.rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}
