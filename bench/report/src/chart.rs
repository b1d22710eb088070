//! Bar charts as SVG, written out by hand: rectangles and text need no library.

use crate::OURS;
use crate::console;
use crate::results::{Key, Results};

/// Size of one panel, in pixels.
const PANEL_WIDTH: f64 = 480.0;
const BAR_HEIGHT: f64 = 22.0;
const LABEL_WIDTH: f64 = 160.0;
const VALUE_WIDTH: f64 = 80.0;
const TITLE_HEIGHT: f64 = 34.0;

/// One bar.
#[derive(Debug, Clone)]
pub(super) struct Bar {
    /// The system.
    pub(super) label: String,
    /// The length, in any unit.
    pub(super) value: f64,
    /// The value as text.
    pub(super) text: String,
}

/// A panel: a title and its bars.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) bars: Vec<Bar>,
}

/// The panels that show the whole at a glance: title, suite, workload, mode, documents.
const OVERVIEW: [(&str, &str, &str, &str, u64); 6] = [
    ("Bulk write from values, documents/s", "ingestion", "write_values", "", 100_000),
    ("Bulk write of lines, documents/s", "ingestion", "write_lines", "", 100_000),
    ("Scan to raw lines, documents/s", "scan", "scan_raw", "warm", 100_000),
    ("Random gets, documents/s", "random_access", "get_all", "warm", 100_000),
    ("Open + 1,000 gets, documents/s", "random_access", "open_get", "cold", 100_000),
    ("Durable puts, one writer, puts/s", "durable", "put_1", "", 0),
];

/// The chart of the whole, two panels to a row.
#[must_use]
pub fn overview(results: &Results) -> String {
    let panels: Vec<Panel> = OVERVIEW
        .iter()
        .filter_map(|(title, suite, workload, mode, documents)| {
            panel(results, title, (suite, workload, mode), *documents)
        })
        .collect();
    grid(&panels, 2)
}

/// The panel of one workload; `None` when it was not measured. 0 documents stands for any number.
pub(super) fn panel(
    results: &Results,
    title: &str,
    (suite, workload, mode): (&str, &str, &str),
    documents: u64,
) -> Option<Panel> {
    let rows = results.timings.iter().filter(|row| {
        (row.suite.as_str(), row.workload.as_str(), row.mode.as_str()) == (suite, workload, mode)
            && (documents == 0 || row.documents == documents)
    });
    let bars: Vec<Bar> = rows
        .map(|row| Bar {
            label: row.system.clone(),
            value: row.rate(),
            text: if row.operations == 1 {
                console::duration(row.each_ns())
            } else {
                console::rate(row.rate())
            },
        })
        .collect();
    (!bars.is_empty()).then(|| Panel { title: title.to_owned(), bars })
}

/// How opening grows with the collection: a bar for each system and size.
pub(super) fn opening(results: &Results) -> Option<Panel> {
    let key = |system, documents| Key {
        suite: "open",
        workload: "open_get_1",
        system,
        mode: "cold",
        documents,
    };
    let mut bars = Vec::new();
    for system in &results.systems {
        for documents in [10_000, 1_000_000, 10_000_000] {
            if let Some(row) = results.timing(&key(&system.name, documents)) {
                bars.push(Bar {
                    label: format!("{} {}", system.name, console::count(documents)),
                    value: row.each_ns(),
                    text: console::duration(row.each_ns()),
                });
            }
        }
    }
    let title = "Open + 1 get: shorter is better".to_owned();
    (!bars.is_empty()).then_some(Panel { title, bars })
}

/// Panels side by side and below each other, as one picture.
pub(super) fn grid(panels: &[Panel], columns: usize) -> String {
    let mut body = String::new();
    let mut top = 10.0;
    for row in panels.chunks(columns) {
        for (place, panel) in row.iter().enumerate() {
            let left = 10.0 + place as f64 * (PANEL_WIDTH + 20.0);
            body += &format!("<g transform=\"translate({left} {top})\">{}</g>", draw(panel));
        }
        top += row.iter().map(height).fold(0.0, f64::max) + 14.0;
    }
    let width = 20.0 + columns as f64 * (PANEL_WIDTH + 20.0) - 20.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" \
         width=\"{width}\" height=\"{top}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" \
         font-size=\"12\"><rect width=\"{width}\" height=\"{top}\" fill=\"#ffffff\"/>{body}</svg>\n"
    )
}

fn height(panel: &Panel) -> f64 {
    TITLE_HEIGHT + panel.bars.len() as f64 * BAR_HEIGHT
}

/// The content of one panel, from its own origin.
fn draw(panel: &Panel) -> String {
    let longest = panel.bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let room = PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH;
    let mut drawing = format!(
        "<text x=\"0\" y=\"18\" font-size=\"14\" font-weight=\"bold\" fill=\"#1d2330\">{}</text>",
        escape(&panel.title)
    );
    for (place, bar) in panel.bars.iter().enumerate() {
        let y = TITLE_HEIGHT + place as f64 * BAR_HEIGHT;
        let length = (bar.value / longest * room).max(1.0);
        let colour = if bar.label.starts_with(OURS) { "#1f6f5c" } else { "#aab4c3" };
        drawing += &format!(
            "<text x=\"{label_end}\" y=\"{text_y}\" text-anchor=\"end\" fill=\"#1d2330\">{}</text>\
             <rect x=\"{LABEL_WIDTH}\" y=\"{y}\" width=\"{length:.1}\" height=\"16\" rx=\"2\" \
             fill=\"{colour}\"/>\
             <text x=\"{value_start:.1}\" y=\"{text_y}\" fill=\"#1d2330\">{}</text>",
            escape(&bar.label),
            escape(&bar.text),
            label_end = LABEL_WIDTH - 6.0,
            text_y = y + 12.5,
            value_start = LABEL_WIDTH + length + 6.0,
        );
    }
    drawing
}

/// Text for XML and HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_room_and_text_is_escaped() {
        let bar = |label: &str, value| Bar { label: label.into(), value, text: "1".into() };
        let panel = Panel { title: "a < b".into(), bars: vec![bar("FolioDB", 2.0), bar("x", 1.0)] };
        let drawing = draw(&panel);
        assert!(drawing.contains("a &lt; b"));
        assert!(drawing.contains("width=\"240.0\"") && drawing.contains("width=\"120.0\""));
    }
}
