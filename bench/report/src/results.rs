//! The results file: everything a run measured, and on what.
//!
//! Every sample is written, in the order taken. Suites write a file each; `bench/page keep` puts
//! the parts of a run together in the form that the repository keeps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;

/// The version of this file's shape.
pub const FORMAT: u32 = 1;

/// What one run, or several merged, measured.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The first suite's start, as `2026-01-31T12:00:00Z`.
    pub taken: String,
    /// Smaller sizes and fewer repetitions than figures worth quoting need.
    pub quick: bool,
    /// The machine.
    pub machine: Machine,
    /// How each system was configured.
    pub systems: Vec<SystemNote>,
    /// Timings.
    pub timings: Vec<Timing>,
    /// Sizes on disk.
    pub sizes: Vec<Size>,
    /// Peak memory.
    pub memory: Vec<Memory>,
}

/// The machine, the build, and how busy others kept it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Processors online.
    pub cores: usize,
    /// Memory in GiB.
    pub memory_gib: f64,
    /// Operating system and kernel version.
    pub kernel: String,
    /// The file system the stores were on.
    pub file_system: String,
    /// `rustc --version`.
    pub rustc: String,
    /// Build profile.
    pub profile: String,
    /// The allocator of all systems.
    pub allocator: String,
    /// Crate versions of the engine, the peers and the parsers.
    pub packages: BTreeMap<String, String>,
    /// The commit measured; `+` behind it means uncommitted changes.
    pub commit: String,
    /// Load average over one minute when the run began.
    pub load_at_start: f64,
}

/// How a system was configured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemNote {
    /// Its name in the tables.
    pub name: String,
    /// Package and version.
    pub version: String,
    /// Options, in one line.
    pub settings: String,
}

/// One system at one workload.
#[derive(Debug, Clone, Serialize)]
pub struct Timing {
    /// The suite, by the name that runs it.
    pub suite: String,
    /// The workload within the suite.
    pub workload: String,
    /// The system.
    pub system: String,
    /// `cold` (a fresh open is timed too) or `warm`; empty where neither applies.
    pub mode: String,
    /// Documents in the store.
    pub documents: u64,
    /// Operations per sample: records written or read, lookups, puts, opens.
    pub operations: u64,
    /// How the writes became durable; empty for reads.
    pub durability: String,
    /// Every repetition, in the order taken.
    pub samples: Vec<Sample>,
    /// Processor time that others took during this workload, in cores.
    pub foreign_cores: f64,
}

/// One repetition.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sample {
    /// Nanoseconds, timed phases only.
    pub total_ns: u64,
    /// The parts of the total, in order.
    pub phases: Vec<(String, u64)>,
    /// Nanoseconds of processor time that the process took meanwhile, all its
    /// threads together; of children, nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpu_ns: u64,
    /// Nanoseconds to close the store, which is not part of the total.
    #[serde(skip_serializing_if = "is_zero")]
    pub close_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a store takes on disk after a bulk load and a proper close.
#[derive(Debug, Clone, Serialize)]
pub struct Size {
    /// The system.
    pub system: String,
    /// Documents in it.
    pub documents: u64,
    /// Bytes of the documents as lines, with line ends.
    pub lines_size: u64,
    /// Bytes of all files by their length.
    pub files_size: u64,
    /// Bytes the file system allocated.
    pub allocated_size: u64,
}

/// Peak memory of a process that did one job and nothing else.
#[derive(Debug, Clone, Serialize)]
pub struct Memory {
    /// `scan` or `import`.
    pub workload: String,
    /// The system.
    pub system: String,
    /// Documents.
    pub documents: u64,
    /// Peak resident size in bytes (`VmHWM`), mapped files included.
    pub peak_size: u64,
    /// Highest anonymous memory seen (`RssAnon`), in bytes: what the process
    /// itself allocated, without the mapped files that the system may drop.
    pub peak_anonymous_size: u64,
}

impl Timing {
    /// The median total, in nanoseconds.
    #[must_use]
    pub fn median_ns(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Operations per second at the median.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.median_ns() * 1e9
    }

    /// Nanoseconds per operation at the median.
    #[must_use]
    pub fn each_ns(&self) -> f64 {
        self.median_ns() / self.operations as f64
    }

    /// Cores the process kept busy in the median sample: above 1 where a system
    /// works in several threads, below where it waits for the disk.
    #[must_use]
    pub fn cores(&self) -> f64 {
        let sample = self.median_sample();
        sample.map_or(0.0, |sample| sample.cpu_ns as f64 / sample.total_ns as f64)
    }

    /// Half the distance between the quartiles, as a share of the median.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / 2.0 / self.median_ns()
    }

    /// The sample whose total is the (lower) median.
    #[must_use]
    pub fn median_sample(&self) -> Option<&Sample> {
        let mut order: Vec<&Sample> = self.samples.iter().collect();
        order.sort_by_key(|sample| sample.total_ns);
        order.get(order.len().saturating_sub(1) / 2).copied()
    }

    /// A quantile of the totals, between neighbours by their distance.
    fn quantile(&self, share: f64) -> f64 {
        let mut totals: Vec<u64> = self.samples.iter().map(|sample| sample.total_ns).collect();
        totals.sort_unstable();
        let Some(last) = totals.len().checked_sub(1) else { return f64::NAN };
        let place = share * last as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let fraction = place - place.floor();
        totals[below] as f64 * (1.0 - fraction) + totals[above] as f64 * fraction
    }
}

impl Results {
    /// Writes the file, one row to a line, so that a diff reads well.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut text = format!(
            "{{\n\"format\": {},\n\"taken\": {:?},\n\"quick\": {},\n\"machine\": {},\n",
            self.format,
            self.taken,
            self.quick,
            serde_json::to_string(&self.machine)?
        );
        text += &format!("\"systems\": {},\n", rows(&self.systems)?);
        text += &format!("\"timings\": {},\n", rows(&self.timings)?);
        text += &format!("\"sizes\": {},\n", rows(&self.sizes)?);
        text += &format!("\"memory\": {}\n}}\n", rows(&self.memory)?);
        fs::write(path, text).map_err(|error| format!("{path:?}: {error}").into())
    }
}

/// A JSON array with one element to a line.
fn rows<T: Serialize>(rows: &[T]) -> Result<String> {
    let lines: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
    let lines = lines?;
    Ok(if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", lines.join(",\n")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(totals: &[u64]) -> Timing {
        Timing {
            suite: "scan".into(),
            workload: "scan_raw".into(),
            system: "x".into(),
            mode: "warm".into(),
            documents: 10,
            operations: 10,
            durability: String::new(),
            samples: totals
                .iter()
                .map(|&total_ns| Sample { total_ns, ..Sample::default() })
                .collect(),
            foreign_cores: 0.0,
        }
    }

    #[test]
    fn the_median_and_the_spread_are_those_of_the_totals() {
        let timing = timing(&[30, 10, 20, 50, 40]);
        assert_eq!(timing.median_ns(), 30.0);
        assert_eq!(timing.spread(), 10.0 / 30.0);
        assert_eq!(timing.each_ns(), 3.0);
        assert_eq!(timing.median_sample().map(|sample| sample.total_ns), Some(30));
    }

    #[test]
    fn an_even_number_of_samples_has_its_median_between_two() {
        assert_eq!(timing(&[10, 20]).median_ns(), 15.0);
        assert!(timing(&[]).median_ns().is_nan());
    }
}
