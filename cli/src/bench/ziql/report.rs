//! The results, as text in the form of the original benchmark, and as JSON.

use serde_json::{Value, json};

use super::measure::Times;
use crate::console::Console;
use crate::failure::Failure;

/// All results for one data set of one size.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) data: &'static str,
    pub(super) user_count: u64,
    pub(super) populate_seconds: f64,
    /// Entities stored, of all structs.
    pub(super) entity_count: u64,
    /// Bytes of the data file and of the log, after a checkpoint.
    pub(super) size: u64,
    /// Structs and how many entities each has.
    pub(super) structs: Vec<(String, u64)>,
    pub(super) queries: Vec<(String, Times)>,
    /// Numbers of threads, and the entities read per second by all of them.
    pub(super) reads: Vec<(usize, f64)>,
}

const RULE: &str = "=====================================";

impl Report {
    /// Entities stored durably per second.
    fn writes(&self) -> f64 {
        self.entity_count as f64 / self.populate_seconds
    }

    /// Entities per second written as JSON by the query for all users.
    fn json_rate(&self) -> Option<f64> {
        let all = self.queries.iter().find(|(text, _)| text == "GRAB User {}")?;
        Some(all.1.per_second(all.1.row_count))
    }

    pub(super) fn print(&self, console: &Console) -> Result<(), Failure> {
        let Self { data, user_count, populate_seconds, .. } = self;
        console.print(&format!("{RULE}\n\nPopulating with {user_count} users, {data} names."))?;
        console.print(&format!("Populate duration: {populate_seconds:.6} seconds\n"))?;
        console.print(&format!("Total size: {:.2}Mb", self.size as f64 / 1e6))?;
        for (name, count) in &self.structs {
            console.print(&format!("  {name}: {count} entities"))?;
        }
        console.print("\n--------------------------------------")?;
        for (text, times) in &self.queries {
            console.print(&format!(
                "\nQuery:  {text}\nTime: {:>8.2} ± {:<6.2}ms | Min {:>8.2}ms | Max {:>8.2}ms",
                times.mean(),
                times.deviation(),
                times.least(),
                times.most()
            ))?;
        }
        console.print("")?;
        for (threads, rate) in &self.reads {
            let threads = crate::words::plural(*threads as u64, "thread");
            console.print(&format!("Read:  {rate:.0} Entity/second  *examined, {threads}"))?;
        }
        if let Some(rate) = self.json_rate() {
            console.print(&format!("JSON:  {rate:.0} Entity/second  *written out"))?;
        }
        console.print(&format!("Write: {:.0} Entity/second  *stored durably\n", self.writes()))?;
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        let queries = self.queries.iter().map(|(text, times)| {
            json!({"query": text, "milliseconds": times.runs, "rows": times.row_count, "bytes": times.size})
        });
        let structs: serde_json::Map<String, Value> =
            self.structs.iter().map(|(name, count)| (name.clone(), (*count).into())).collect();
        let reads = self.reads.iter();
        let reads =
            reads.map(|(threads, rate)| json!({"threads": threads, "entities_per_second": rate}));
        json!({
            "data": self.data, "users": self.user_count, "populate_seconds": self.populate_seconds,
            "entities": self.entity_count, "entities_written_per_second": self.writes(),
            "bytes": self.size, "structs": structs,
            "queries": queries.collect::<Vec<_>>(), "reads": reads.collect::<Vec<_>>(),
        })
    }
}
