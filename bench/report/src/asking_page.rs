//! Documents asked by what is in them, beside SQLite and DuckDB: a Markdown page with the bars.

use std::fmt::Write as _;

use crate::console;
use crate::frame::{Frame, median};
use crate::results::{Results, Timing};

/// One bar: a workload, a system of it that is compared, the other, and the most that the first
/// may take of the time of the other.
struct Bar {
    text: &'static str,
    workload: &'static str,
    other: &'static str,
    most: Option<f64>,
}

const fn bar(
    text: &'static str,
    workload: &'static str,
    other: &'static str,
    most: Option<f64>,
) -> Bar {
    Bar { text, workload, other, most }
}

const FIELDS: [Bar; 13] = [
    bar("get by id", "get by id", "SQLite", None),
    bar("by a unique field", "by email", "FolioDB by id", Some(2.0)),
    bar("by a unique field", "by email", "SQLite", Some(0.5)),
    bar("by a unique field, `where` of a scan", "by email, where", "SQLite", None),
    bar("by a unique field, a new text each time", "by email, text", "SQLite", None),
    bar("1,000 by a range", "range", "SQLite", Some(0.5)),
    bar("1,000 by a range, `where` of a scan", "range, where", "SQLite", None),
    bar("by a unique field, right after a put", "put, then by email", "SQLite", None),
    bar("by a path without index, right after a put", "put, then by path", "SQLite", None),
    bar("open and get by id", "open and get", "FolioDB without indexes", Some(1.1)),
    bar("open and get by id", "open and get", "SQLite", None),
    bar("put 100,000 with two indexes", "put_many", "SQLite", Some(0.5)),
    bar("create two indexes", "index", "SQLite", None),
];

/// How much of DuckDB's time a query that reads every line may take.
const LINES: f64 = 0.4;

/// What a statement after a put may take until its first row.
const AFTER_PUT_MS: f64 = 1.0;

/// The page.
#[must_use]
pub fn asking_page(results: &Results, name: &str, notes: &str) -> String {
    let frame = Frame {
        title: "Documents asked by what is in them",
        script: "asking",
        about: "Medians; *latency* is the time until the last document or row is there, *processor* the time of all threads, user and system. A ratio is ours over the other's:\n\
         below 1 FolioDB is quicker. Everything is in memory; answers are compared before they count. Of bars, both ratios have to keep them.",
        systems: &["FolioDB", "SQLite", "DuckDB"],
    };
    frame.page(results, (name, notes), &|documents, page| {
        fields(results, documents, page);
        lines(results, documents, page);
    })
}

/// Latency and processor time of one operation, in nanoseconds; of writes, of all of them.
fn times(results: &Results, documents: u64, workload: &str, system: &str) -> Option<[f64; 2]> {
    let mut rows = results.timings.iter();
    let is_it = |row: &&Timing| {
        (row.documents, &*row.workload, &*row.system) == (documents, workload, system)
    };
    let row = rows.rfind(is_it)?;
    let is_whole = matches!(workload, "put_many" | "index") || row.operations == documents;
    let count = if is_whole { 1.0 } else { row.operations as f64 };
    let latency = median(row.samples.iter().map(|sample| sample.total_ns).collect());
    let processor = median(row.samples.iter().map(|sample| sample.cpu_ns).collect());
    Some([latency / count, processor / count])
}

fn verdict(ratios: [f64; 2], most: Option<f64>) -> String {
    let Some(most) = most else { return " | ".to_owned() };
    let is_met = ratios.iter().all(|ratio| *ratio <= most);
    format!("≤ {most}× | {}", if is_met { "met" } else { "**missed**" })
}

fn row(text: &str, [ours, others]: [[f64; 2]; 2], other: &str, most: Option<f64>) -> String {
    let ratios = [ours[0] / others[0], ours[1] / others[1]];
    format!(
        "| {text} | {} | {other} {} | {:.2}× | {:.2}× | {} |\n",
        console::duration(ours[0]),
        console::duration(others[0]),
        ratios[0],
        ratios[1],
        verdict(ratios, most),
    )
}

fn fields(results: &Results, documents: u64, page: &mut String) {
    let mut table = String::new();
    for Bar { text, workload, other, most } in &FIELDS {
        let find = |system| times(results, documents, workload, system);
        if let (Some(ours), Some(others)) = (find("FolioDB"), find(other)) {
            table += &row(text, [ours, others], other, *most);
        }
    }
    if table.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "\n## {} documents by their fields\n\nAbout 200 bytes each, a unique index on `email`, an index on the number `rank`, both in no order of the ids. SQLite has the documents in a table\n\
         by id, with indexes on `json_extract` of the same two. Whole documents are answered.\n\n\
         | what | FolioDB | the other | latency | processor | bar | |\n|---|---|---|---|---|---|---|\n{table}",
        console::count(documents)
    );
    for workload in ["put, then by email", "put, then by path"] {
        let Some([latency, _]) = times(results, documents, workload, "FolioDB") else { continue };
        let milliseconds = latency / 1e6;
        let is_met = if milliseconds <= AFTER_PUT_MS { "met" } else { "**missed**" };
        let _ = write!(
            page,
            "\nThe statement of *{workload}* takes {milliseconds:.3} ms (bar ≤ {AFTER_PUT_MS} ms: {is_met}).\n"
        );
    }
    for size in results.sizes.iter().filter(|size| size.documents == documents) {
        let _ = write!(
            page,
            "\nSize of {} with indexes: {}, {:.2} times the lines.\n",
            size.system,
            console::megabytes(size.files_size),
            size.files_size as f64 / size.lines_size as f64
        );
    }
}

fn lines(results: &Results, documents: u64, page: &mut String) {
    let mut table = String::new();
    for data in ["events", "records"] {
        for number in 1..=5 {
            let query = format!("{data}, Q{number}");
            let find = |system| times(results, documents, &query, system);
            let Some(duckdb) = find("DuckDB") else { continue };
            for (system, text) in [("FolioDB", "collection"), ("FolioDB, file", "file")] {
                if let Some(ours) = find(system) {
                    let text = format!("{query} | {text}");
                    table += &row(&text, [ours, duckdb], "DuckDB", Some(LINES));
                }
            }
        }
    }
    if !table.is_empty() {
        let _ = write!(
            page,
            "\n## {} documents read from one end to the other\n\nThe questions of JSONBench over nested events of about 450 bytes, and five over the records. FolioDB reads the lines as a collection, and as a file;\n\
             DuckDB the file by `read_json_auto`.\n\n\
             | query | of | FolioDB | the other | latency | processor | bar | |\n|---|---|---|---|---|---|---|---|\n{table}",
            console::count(documents)
        );
    }
}
