//! What a workload took: a line for people, and JSON.

use std::time::Instant;

use serde_json::{Value, json};

/// Times the phases of one run.
pub(super) struct Watch {
    last: Instant,
    phases: Vec<Phase>,
}

/// A name and milliseconds.
type Phase = (&'static str, f64);

impl Watch {
    pub(super) fn start() -> Self {
        Self { last: Instant::now(), phases: Vec::new() }
    }

    /// Ends a phase.
    pub(super) fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases.push((name, (now - self.last).as_secs_f64() * 1e3));
        self.last = now;
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// `cold` after a fresh open, `warm` again on the open database, empty for writes.
    pub(super) mode: &'static str,
    /// What a run does so many times: a document, a row, a lookup.
    pub(super) operations: u64,
}

/// The runs of a workload; at least one.
pub(super) struct Figure {
    workload: Workload,
    runs: Vec<Vec<Phase>>,
}

impl Figure {
    pub(super) fn new(workload: Workload, watches: Vec<Watch>) -> Self {
        Self { workload, runs: watches.into_iter().map(|watch| watch.phases).collect() }
    }

    /// `read_all:    870k/s (115 ms) [open:45, scan:70] (cold) ±3 %`: the median run, and half of
    /// what lies between the quickest and the slowest.
    pub(super) fn line(&self) -> String {
        let mut runs: Vec<_> = self.runs.iter().map(|phases| (total(phases), phases)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (median, phases) = runs[runs.len() / 2];
        let spread = (runs[runs.len() - 1].0 - runs[0].0) / 2.0 / median * 100.0;
        let rate = self.workload.operations as f64 / (median / 1e3);
        let phases: Vec<String> =
            phases.iter().map(|(name, time)| format!("{name}:{}", short(*time))).collect();
        let mode = match self.workload.mode {
            "" => String::new(),
            mode => format!(" ({mode})"),
        };
        format!(
            "  {:18} {:>9}/s ({} ms) [{}]{mode} ±{spread:.0} %",
            format!("{}:", self.workload.name),
            with_suffix(rate),
            short(median),
            phases.join(", ")
        )
    }

    pub(super) fn to_json(&self) -> Value {
        let runs = self.runs.iter().map(|phases| {
            let phases: serde_json::Map<String, Value> =
                phases.iter().map(|(name, time)| ((*name).to_owned(), (*time).into())).collect();
            Value::Object(phases)
        });
        json!({
            "workload": self.workload.name, "mode": self.workload.mode,
            "operations": self.workload.operations,
            "milliseconds": runs.collect::<Vec<_>>(),
        })
    }
}

fn total(phases: &[Phase]) -> f64 {
    phases.iter().map(|(_, time)| time).sum()
}

/// Three digits that count.
fn short(number: f64) -> String {
    match number {
        _ if number >= 99.95 => format!("{number:.0}"),
        _ if number >= 9.995 => format!("{number:.1}"),
        _ if number >= 0.0995 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// `870k`, `2.31M`.
fn with_suffix(number: f64) -> String {
    match number {
        _ if number >= 999_500.0 => format!("{}M", short(number / 1e6)),
        _ if number >= 999.5 => format!("{}k", short(number / 1e3)),
        _ => short(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(runs: &[&[Phase]]) -> Figure {
        let workload = Workload { name: "read_all", mode: "cold", operations: 100_000 };
        Figure { workload, runs: runs.iter().map(|phases| phases.to_vec()).collect() }
    }

    #[test]
    fn a_line_shows_the_median_run() {
        let figure = figure(&[
            &[("open", 45.0), ("scan", 70.0)],
            &[("open", 400.0), ("scan", 100.0)],
            &[("open", 40.0), ("scan", 65.0)],
        ]);
        let expected =
            "  read_all:               870k/s (115 ms) [open:45.0, scan:70.0] (cold) ±172 %";
        assert_eq!(figure.line(), expected);
    }

    #[test]
    fn numbers_have_three_digits() {
        let all = [0.01234, 0.1, 1.2345, 12.345, 123.45, 999.6].map(short);
        assert_eq!(all, ["0.012", "0.10", "1.23", "12.3", "123", "1000"]);
        assert_eq!([12.0, 870_123.0, 2_312_000.0].map(with_suffix), ["12.0", "870k", "2.31M"]);
    }

    #[test]
    fn json_has_every_run() {
        let json = figure(&[&[("scan", 2.0)], &[("scan", 1.0)]]).to_json();
        assert_eq!(json["milliseconds"], json!([{"scan": 2.0}, {"scan": 1.0}]));
    }
}
