//! SQL beside SQLite and DuckDB: a Markdown page with the bars that are to be met.

use std::fmt::Write as _;

use crate::console;
use crate::results::{Results, Timing};

/// A workload's name, what it is, and the bar: how many times SQLite's time it may take.
type Row = (&'static str, &'static str, f64);

const SECTIONS: [(&str, &[Row]); 4] = [
    (
        "Changes of a table of a million rows",
        &[
            ("insert", "INSERT of every row, prepared, one transaction; per row", 1.0),
            ("insert_some", "INSERT of 20,000 rows more, one transaction; per row", 1.0),
            ("update", "UPDATE by key, 20,000 in one transaction; per row", 1.0),
            ("delete", "DELETE by key, 20,000 in one transaction; per row", 1.0),
            ("autocommit", "INSERT, a durable commit each", 1.0),
            ("clients_8", "the same from eight clients", 1.0 / 3.0),
        ],
    ),
    (
        "One row by its key",
        &[
            ("select_prepared", "SELECT by key, prepared", 1.0),
            ("select_same_text", "SELECT by key, the same text again", 1.0),
            ("select_new_text", "SELECT by key, a new text", 2.0),
        ],
    ),
    (
        "Queries over the whole table",
        &[
            ("filter_text", "filter on text, no match", 0.33),
            ("filter_numbers", "filter on numbers, 1 %", 1.0),
            ("like", "LIKE '%99@%'", 0.5),
            ("group_by", "AVG … GROUP BY", 0.2),
            ("full_scan", "full scan, every row delivered", 0.5),
            ("two_columns", "two columns of every row", 1.0),
            ("sum_filter", "SUM with a filter", 1.0),
            ("top_ten", "ORDER BY … LIMIT 10", 1.0),
            ("count_distinct", "COUNT(DISTINCT)", 1.0),
        ],
    ),
    (
        "Small statements, 100 rows, a transaction each",
        &[
            ("small_insert_prepared", "INSERT, prepared", 1.0),
            ("small_insert_same_text", "INSERT, the same text again", 1.0),
            ("small_insert_new_text", "INSERT, a new text", 1.0),
            ("small_select_prepared", "SELECT by key, prepared", 1.0),
            ("small_select_same_text", "SELECT by key, the same text again", 1.0),
            ("small_select_new_text", "SELECT by key, a new text", 1.0),
            ("small_count_prepared", "SELECT COUNT(*), prepared", 1.0),
            ("small_count_same_text", "SELECT COUNT(*), the same text again", 1.0),
            ("small_count_where_prepared", "SELECT COUNT(*) … WHERE, prepared", 1.0),
            ("small_count_where_same_text", "SELECT COUNT(*) … WHERE, the same text again", 1.0),
            ("small_count_where_new_text", "SELECT COUNT(*) … WHERE, a new text", 1.0),
            ("small_update_prepared", "UPDATE by key, prepared", 1.0),
            ("small_update_same_text", "UPDATE by key, the same text again", 1.0),
            ("small_update_new_text", "UPDATE by key, a new text", 1.0),
            ("small_delete_prepared", "DELETE by key, prepared", 1.0),
            ("small_delete_same_text", "DELETE by key, the same text again", 1.0),
            ("small_delete_new_text", "DELETE by key, a new text", 1.0),
            ("small_join_prepared", "join of two tables, 1,000 rows, prepared", 1.0),
            ("small_join_same_text", "join of two tables, the same text again", 1.0),
            ("small_join_new_text", "join of two tables, a new text", 2.0),
        ],
    ),
];

/// The page.
#[must_use]
pub fn sql_page(results: &Results, name: &str, notes: &str) -> String {
    let machine = &results.machine;
    let mut page = format!(
        "# SQL beside SQLite\n\nMade from `bench/results/{name}.json` by `bench/sql`; not edited by hand. {}, {} cores, {}, {}; taken {}.\n\n\
         Both through their Rust interfaces, at `synchronous = normal` unless a commit is said to be durable, page caches of 512 MiB, one thread but where FolioDB reads the large table; every row answered is read. \
         Times are medians, of a statement or of a row; changes have their commit in them. The bar is a multiple of SQLite's time.\n",
        machine.cpu, machine.cores, machine.kernel, machine.file_system, results.taken
    );
    for (title, rows) in SECTIONS {
        let _ = write!(
            page,
            "\n## {title}\n\n| statement | FolioDB | SQLite | ratio | bar | |\n|---|---|---|---|---|---|\n"
        );
        for (workload, text, bar) in rows {
            page.push_str(&row(results, workload, text, *bar).unwrap_or_default());
        }
    }
    let foreign = results.timings.iter().map(|row| row.foreign_cores).fold(0.0, f64::max);
    let _ = writeln!(page, "\nOthers kept up to {foreign:.2} cores busy meanwhile.");
    if !notes.is_empty() {
        let _ = writeln!(page, "\n{}", notes.trim_end());
    }
    page
}

fn row(results: &Results, workload: &str, text: &str, bar: f64) -> Option<String> {
    let timing = |system: &str| -> Option<&Timing> {
        results.timings.iter().rfind(|row| {
            row.suite == "sql" && row.workload == workload && row.system.starts_with(system)
        })
    };
    let (ours, theirs) = (timing("FolioDB")?.each_ns(), timing("SQLite")?.each_ns());
    let ratio = ours / theirs;
    let verdict = if ratio <= bar { "met" } else { "**missed**" };
    let (ours, theirs) = (console::duration(ours), console::duration(theirs));
    // Rounded up: nothing here rounds in anybody's favour.
    let ratio = (ratio * 100.0).ceil() / 100.0;
    Some(format!("| {text} | {ours} | {theirs} | {ratio:.2}× | ≤ {bar:.2}× | {verdict} |\n"))
}
