//! What a suite writes and prints: a file with every sample, and a line for each row. Pages are
//! made by `bench/page`, which reads these files and those of the other suites. Nothing here
//! measures.

pub mod console;
pub mod results;

/// The name under which FolioDB appears.
pub const OURS: &str = "FolioDB";

/// Above this many cores of foreign work a row is not worth quoting.
pub const QUIET_CORES: f64 = 0.25;

/// What writing a file answers: a sentence for whoever asked.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
