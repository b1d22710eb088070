//! `folio bench`: measures this machine with the command itself.
//!
//! No other database is linked into the command; `bench/` in the repository compares with those.
//!
//! ```text
//! documents   a collection: written, read, looked up, asked
//! sql         a typed table: rows by key, changes, questions over all rows
//! ziql/       users and orders, queried with ZiQL
//! run         runs a workload: a warm-up and its repetitions
//! figure      what a workload took, as a line and as JSON
//! ```

mod documents;
mod figure;
mod run;
mod sql;
mod ziql;

use std::path::{Path, PathBuf};

use crate::console::Console;
use crate::failure::Failure;
use run::Bench;
pub(crate) use ziql::DataSet;

/// What every suite is told.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) repetitions: u32,
    /// Only workloads or queries that contain this text.
    pub(crate) filter: Option<&'a str>,
    /// The folder for the temporary databases.
    pub(crate) folder: &'a Path,
}

/// Which users and orders there are, and how many sessions read them.
pub(crate) struct Entities<'a> {
    pub(crate) users: &'a [u64],
    pub(crate) sets: &'a [DataSet],
    pub(crate) threads: &'a [usize],
}

/// Measures collections of so many documents, and prints. Returns the figures as JSON.
pub(crate) fn documents(
    plan: Plan<'_>,
    counts: &[u64],
    lookups: u64,
    console: &Console,
) -> Result<serde_json::Value, Failure> {
    let mut bench = Bench::begin(plan, "documents", console)?;
    counts.iter().try_for_each(|&count| documents::measure(&mut bench, count, lookups))?;
    bench.finish()
}

/// Measures tables of so many rows, and prints. Returns the figures as JSON.
pub(crate) fn sql(
    plan: Plan<'_>,
    counts: &[u64],
    console: &Console,
) -> Result<serde_json::Value, Failure> {
    let mut bench = Bench::begin(plan, "sql", console)?;
    counts.iter().try_for_each(|&count| sql::measure(&mut bench, count))?;
    bench.finish()
}

/// Measures ZiQL, and prints. Returns the figures as JSON.
pub(crate) fn ziql(
    plan: Plan<'_>,
    entities: &Entities<'_>,
    console: &Console,
) -> Result<serde_json::Value, Failure> {
    ziql::measure(plan, entities, console)
}

/// A folder that is removed when the measurement ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(format!("folio-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// A path in it at which nothing is.
    fn fresh(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.0.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Random numbers: SplitMix64 (Steele, Lea and Flood 2014). The same seed gives the same data on
/// every machine.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}
