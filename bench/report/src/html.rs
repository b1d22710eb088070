//! The results as one HTML file that needs nothing else: charts inline, no scripts.

use crate::results::Results;

use crate::chart::{self, escape};
use crate::tables::{self, Table};

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2330; max-width: 66rem; margin: 2rem auto;
  padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #dfe3ea;
  vertical-align: top }
svg { max-width: 100%; height: auto }
.missed { color: #a3261a; font-weight: 600 } .met { color: #1f6f5c }
details { margin: .5rem 0 } summary { cursor: pointer }";

/// The page.
#[must_use]
pub fn page(results: &Results) -> String {
    let facts: String =
        tables::machine(results).iter().map(|fact| format!("<li>{}</li>", inline(fact))).collect();
    let mut body = format!(
        "<h1>FolioDB: document benchmarks</h1>\n<ul>{facts}</ul>\n{}\n{}",
        chart::overview(results),
        table(&tables::bars(results), 2)
    );
    if let Some(panel) = chart::opening(results) {
        body += &format!("<h2>Opening</h2>\n{}\n", chart::grid(&[panel], 1));
    }
    body += "<h2>Workloads</h2>\n";
    for workload in tables::workloads(results) {
        body += &format!(
            "<details><summary>{}</summary>{}{}</details>\n",
            inline(&workload.title),
            paragraph(&workload.note),
            grid(&workload)
        );
    }
    for other in [tables::sizes(results), tables::memory(results), tables::systems(results)] {
        body += &table(&other, 2);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>FolioDB: document benchmarks</title><style>{STYLE}</style></head>\n\
         <body>\n{body}</body></html>\n"
    )
}

fn table(table: &Table, level: usize) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let heading = inline(&table.title);
    format!("<h{level}>{heading}</h{level}>\n{}{}", paragraph(&table.note), grid(table))
}

fn paragraph(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", inline(text)) }
}

fn grid(table: &Table) -> String {
    let heads: String = table.columns.iter().map(|head| format!("<th>{head}</th>")).collect();
    let rows: String = table
        .rows
        .iter()
        .map(|row| {
            let cells: String =
                row.iter().map(|cell| format!("<td>{}</td>", inline(cell))).collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    format!("<table><tr>{heads}</tr>\n{rows}</table>\n")
}

/// The little Markdown that cells use, as HTML.
fn inline(text: &str) -> String {
    let text = escape(text);
    match text.as_str() {
        "met" => "<span class=\"met\">met</span>".to_owned(),
        "**missed**" => "<span class=\"missed\">missed</span>".to_owned(),
        _ => text.replacen("**", "<b>", 1).replacen("**", "</b>", 1),
    }
}
