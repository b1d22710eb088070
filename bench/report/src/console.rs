//! What a run prints while it goes: one line per row,
//! `read_all: 870k rec/s (115ms) [open:45, scan:70] (cold)`.

use crate::results::Timing;

/// A rate with at most three figures and a suffix: `870k`, `1.02M`, `54.0M`, `312`.
#[must_use]
pub fn rate(per_second: f64) -> String {
    match per_second {
        rate if !rate.is_finite() => "-".to_owned(),
        rate if rate >= 999_500.0 => format!("{}M", three(rate / 1e6)),
        rate if rate >= 999.5 => format!("{}k", three(rate / 1e3)),
        rate => three(rate),
    }
}

/// A duration in the unit that reads best: `34.1µs`, `115ms`, `2.40s`.
#[must_use]
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if !ns.is_finite() => "-".to_owned(),
        ns if ns < 999.5 => format!("{}ns", three(ns)),
        ns if ns < 999.5e3 => format!("{}µs", three(ns / 1e3)),
        ns if ns < 999.5e6 => format!("{}ms", three(ns / 1e6)),
        ns => format!("{}s", three(ns / 1e9)),
    }
}

/// Bytes in MB, as the tables give them.
#[must_use]
pub fn megabytes(size: u64) -> String {
    format!("{:.1}MB", size as f64 / 1e6)
}

/// A count with a suffix where it is round: `10k`, `1M`, `123456`.
#[must_use]
pub fn count(number: u64) -> String {
    match number {
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
        n if n >= 1_000 && n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

/// Three significant figures.
fn three(number: f64) -> String {
    match number {
        n if n >= 99.95 => format!("{n:.0}"),
        n if n >= 9.995 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    }
}

/// The line of one row.
#[must_use]
pub fn line(timing: &Timing) -> String {
    let phases = timing.median_sample().map_or(String::new(), |sample| {
        let mut phases: Vec<String> = sample
            .phases
            .iter()
            .map(|(name, ns)| format!("{name}:{}", three(*ns as f64 / 1e6)))
            .collect();
        if sample.close_ns > 0 {
            phases.push(format!("then close:{}", three(sample.close_ns as f64 / 1e6)));
        }
        format!(" [{}]", phases.join(", "))
    });
    let mode = if timing.mode.is_empty() { String::new() } else { format!(" ({})", timing.mode) };
    format!(
        "  {:<24} {}: {:>6} rec/s ({}){phases}{mode} ±{:.0}%",
        timing.system,
        timing.workload,
        rate(timing.rate()),
        duration(timing.median_ns()),
        timing.spread() * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;

    #[test]
    fn numbers_read_as_in_the_tables() {
        for (given, expected) in [
            (312.0, "312"),
            (870e3, "870k"),
            (1.02e6, "1.02M"),
            (54e6, "54.0M"),
            (999_600.0, "1.00M"),
        ] {
            assert_eq!(rate(given), expected);
        }
        for (given, expected) in [(34_100.0, "34.1µs"), (115e6, "115ms"), (2.4e9, "2.40s")] {
            assert_eq!(duration(given), expected);
        }
        assert_eq!(count(100_000), "100k");
        assert_eq!(count(10_000_000), "10M");
        assert_eq!(count(1_234), "1234");
    }

    #[test]
    fn a_row_reads_as_one_line() {
        let sample = Sample {
            total_ns: 115_000_000,
            phases: vec![("open".into(), 45_000_000), ("scan".into(), 70_000_000)],
            ..Sample::default()
        };
        let timing = Timing {
            suite: "comparison".into(),
            workload: "read_all".into(),
            system: "SQLite".into(),
            mode: "cold".into(),
            documents: 100_000,
            operations: 100_000,
            durability: String::new(),
            samples: vec![sample],
            foreign_cores: 0.0,
        };
        assert_eq!(
            line(&timing),
            "  SQLite                   read_all:   870k rec/s (115ms) [open:45.0, scan:70.0] (cold) ±0%"
        );
    }
}
