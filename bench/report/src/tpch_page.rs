//! TPC-H beside SQLite and DuckDB: a Markdown page with the bars that are to be met.

use std::fmt::Write as _;

use crate::console;
use crate::frame::{Frame, median};
use crate::results::{Results, Timing};

/// How much of SQLite's time all queries together may take at scale 1.
const TOTAL_BAR: f64 = 0.2;

/// How much of DuckDB's time is aimed at.
const AIM: f64 = 2.0;

/// The page.
#[must_use]
pub fn tpch_page(results: &Results, name: &str, notes: &str) -> String {
    let frame = Frame {
        title: "TPC-H beside SQLite and DuckDB",
        script: "tpch",
        about: "The 22 queries with the values that the specification validates with, over rows of the `tpchgen` crate; everything in memory, medians of the time until the last\n\
         row is there. Before a query counts, FolioDB's answer is compared with SQLite's and DuckDB's, row by row.\n\
         FolioDB and SQLite have primary keys and four indexes on columns that point at other tables; DuckDB has neither, as its guide advises.",
        systems: &["FolioDB SQL", "SQLite", "DuckDB"],
    };
    frame.page(results, (name, notes), &|hundredths, page| section(results, hundredths, page))
}

fn section(results: &Results, hundredths: u64, page: &mut String) {
    let find = |query: &str, system: &str| {
        let mut rows = results.timings.iter();
        let row = rows.rfind(|row| {
            row.documents == hundredths && row.workload == query && row.system == system
        });
        row.map(nanoseconds)
    };
    let _ = writeln!(
        page,
        "\n## Scale {}\n\n| query | FolioDB | SQLite | DuckDB | of SQLite | of DuckDB |\n|---|---|---|---|---|---|",
        hundredths as f64 / 100.0
    );
    let (mut count, mut totals) = (0, [0.0; 3]);
    for number in 1..=22 {
        let query = format!("q{number:02}");
        let (Some(ours), Some(sqlite)) = (find(&query, "FolioDB SQL"), find(&query, "SQLite"))
        else {
            continue;
        };
        let duckdb = find(&query, "DuckDB");
        count += 1;
        for (total, one) in totals.iter_mut().zip([ours, sqlite, duckdb.unwrap_or(f64::NAN)]) {
            *total += one;
        }
        row(&format!("Q{number}"), [ours, sqlite, duckdb.unwrap_or(f64::NAN)], page);
    }
    row(&format!("**all {count}**"), totals, page);
    let [ours, sqlite, duckdb] = totals;
    let verdict = |is_met: bool| if is_met { "met" } else { "**missed**" };
    if hundredths == 100 {
        let _ = writeln!(
            page,
            "\nAll together {:.3}× SQLite's time (bar ≤ {TOTAL_BAR}×: {}), and {} DuckDB's (aim ≤ {AIM}×: {}).",
            ours / sqlite,
            verdict(ours <= TOTAL_BAR * sqlite),
            ratio(ours / duckdb),
            if duckdb.is_nan() { "not measured" } else { verdict(ours <= AIM * duckdb) },
        );
    }
}

fn row(name: &str, [ours, sqlite, duckdb]: [f64; 3], page: &mut String) {
    let shown = |time: f64| if time.is_nan() { String::new() } else { console::duration(time) };
    let _ = writeln!(
        page,
        "| {name} | {} | {} | {} | {} | {} |",
        shown(ours),
        shown(sqlite),
        shown(duckdb),
        ratio(ours / sqlite),
        ratio(ours / duckdb),
    );
}

fn ratio(ratio: f64) -> String {
    if ratio.is_nan() { String::new() } else { format!("{ratio:.2}×") }
}

/// The median of a query.
fn nanoseconds(row: &Timing) -> f64 {
    median(row.samples.iter().map(|sample| sample.total_ns).collect())
}
