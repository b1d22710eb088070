//! The results file of the benchmarks, and what people read of it: Markdown
//! tables, a page with charts, a picture, and the claims in the README. Nothing
//! here measures, and nothing here rounds in anybody's favour: a ratio of 2.996
//! prints as 2.99.

mod asking_page;
mod bars;
mod chart;
pub mod console;
mod frame;
mod html;
mod markdown;
#[cfg(feature = "command")]
mod picture;
mod pool;
mod readme;
pub mod results;
mod sql_page;
mod table_page;
mod tables;
mod tpch_page;
mod ziql_page;

pub use asking_page::asking_page;
pub use html::page;
pub use markdown::document;
#[cfg(feature = "command")]
pub use picture::png;
pub use pool::{PolicyRun, PoolCase, pool_chart, pool_page};
pub use readme::insert;
pub use sql_page::sql_page;
pub use table_page::table_page;
pub use tpch_page::tpch_page;
pub use ziql_page::ziql_page;

pub use chart::overview;

/// The name under which FolioDB appears.
pub const OURS: &str = "FolioDB";

/// Above this many cores of foreign work a row is not worth quoting.
pub const QUIET_CORES: f64 = 0.25;

/// What reading, merging and rendering answer: a sentence for whoever asked.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use crate::results::{FORMAT, Machine, Results, Sample, SystemNote, Timing};

    use super::*;

    /// Results with one workload, in which each system takes so many milliseconds.
    fn results(times_ms: &[(&str, u64)]) -> Results {
        let note = |name: &str| SystemNote {
            name: name.into(),
            version: "1".into(),
            settings: String::new(),
        };
        let timing = |(name, ms): &(&str, u64)| Timing {
            suite: "scan".into(),
            workload: "scan_raw".into(),
            system: (*name).into(),
            mode: "warm".into(),
            documents: 100_000,
            operations: 100_000,
            durability: String::new(),
            samples: vec![Sample { total_ns: ms * 1_000_000, ..Sample::default() }],
            foreign_cores: 0.0,
        };
        Results {
            format: FORMAT,
            taken: "2026-01-31T12:00:00Z".into(),
            quick: false,
            machine: Machine::default(),
            systems: times_ms.iter().map(|(name, _)| note(name)).collect(),
            timings: times_ms.iter().map(timing).collect(),
            sizes: Vec::new(),
            memory: Vec::new(),
        }
    }

    #[test]
    fn a_bar_is_met_missed_or_not_measured() {
        let results = results(&[("FolioDB", 10), ("SQLite", 20), ("LMDB", 5)]);
        let page = document(&results, "sample", "Why it was missed.");
        let row = |peer: &str| {
            let start = format!("| scan to raw lines, warm | ≥ {peer}");
            page.lines().find(|line| line.starts_with(&start)).expect("a row").to_owned()
        };
        assert!(row("3× SQLite").ends_with("| 10.0M/s | SQLite 5.00M/s | 2.00× | **missed** |"));
        assert!(row("1× LMDB").ends_with("| LMDB 20.0M/s | 0.50× | **missed** |"));
        assert!(
            page.contains("| bulk write of ready lines, trusted | ≥ 8× SQLite | - | - | - | not")
        );
    }

    #[test]
    fn the_readme_keeps_everything_but_its_block() {
        let results = results(&[("FolioDB", 1), ("SQLite", 20), ("LMDB", 5)]);
        let readme = "# Name\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nrest\n";
        let renewed = insert(readme, &results).expect("both markers are there");
        assert!(renewed.starts_with("# Name\n<!-- bench:begin -->\n| "), "{renewed}");
        assert!(renewed.ends_with("<!-- bench:end -->\nrest\n"));
        assert!(!renewed.contains("old") && renewed.contains("SQLite 5.00M/s | 20.00×"));
        assert!(insert("no markers", &results).is_err());
    }

    #[test]
    #[cfg(feature = "command")]
    fn the_chart_becomes_a_picture_or_says_what_is_missing() {
        let chart = overview(&results(&[("FolioDB", 1), ("SQLite", 20)]));
        match png(&chart) {
            Ok(picture) => assert!(picture.starts_with(b"\x89PNG")),
            Err(error) => assert!(error.to_string().contains("no font")),
        }
    }
}
