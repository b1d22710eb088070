//! The machine a run is taken on, and how busy others keep it meanwhile.
//!
//! Wall time on a shared machine is noise. So every row carries the processor
//! time that other processes took while it was measured, from `/proc/stat` less
//! our own; the report says so when it is more than a little.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::results::Machine;

/// Packages whose versions are named in the results.
const PACKAGES: [&str; 13] = [
    "fjall",
    "folio-document",
    "heed",
    "libsqlite3-sys",
    "lmdb-master-sys",
    "lsm-tree",
    "mimalloc",
    "redb",
    "rusqlite",
    "serde_json",
    "sled",
    "sonic-rs",
    "xxhash-rust",
];

/// Describes the machine; `data` is where the stores will be.
#[must_use]
pub fn describe(data: &Path) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let memory_kib: f64 = field(&read("/proc/meminfo"), "MemTotal").parse().unwrap_or(0.0);
    Machine {
        cpu: field(&read("/proc/cpuinfo"), "model name"),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_gib: (memory_kib / f64::from(1 << 20) * 10.0).round() / 10.0,
        kernel: kernel(&read("/proc/sys/kernel/osrelease")),
        file_system: file_system(&read("/proc/self/mounts"), data),
        rustc: env!("FOLIO_BENCH_RUSTC").to_owned(),
        profile: "release: opt-level 3, thin LTO, no target-cpu".to_owned(),
        allocator: "mimalloc for all systems, C libraries included".to_owned(),
        packages: packages(include_str!("../Cargo.lock")),
        commit: commit(),
        load_at_start: load_average(),
    }
}

/// The value of the first `key: value` line, without its unit.
fn field(text: &str, key: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(key));
    let value = line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value);
    value.trim().trim_end_matches(" kB").to_owned()
}

/// `Linux 6.1.0`: the version without the distribution's own suffix.
fn kernel(release: &str) -> String {
    format!("Linux {}", release.trim().split('-').next().unwrap_or_default())
}

/// The type of the file system with the longest mount point above `data`.
fn file_system(mounts: &str, data: &Path) -> String {
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let columns = mounts.lines().filter_map(|line| {
        let mut columns = line.split(' ').skip(1);
        Some((columns.next()?, columns.next()?))
    });
    let above = columns.filter(|(point, _)| data.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map_or(String::new(), |(_, kind)| kind.to_owned())
}

/// Name to version, from a lock file.
fn packages(lock: &str) -> BTreeMap<String, String> {
    let quoted = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
    let mut versions = BTreeMap::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        let name = quoted(line);
        if line.starts_with("name = ") && PACKAGES.contains(&name.as_str()) {
            versions.insert(name, lines.next().map(quoted).unwrap_or_default());
        }
    }
    versions
}

/// The short hash of the checked-out commit, with `+` when files differ from it.
/// A run of several suites asks once and hands the answer to each.
fn commit() -> String {
    if let Ok(commit) = std::env::var("FOLIO_BENCH_COMMIT") {
        return commit;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_default();
    let engine = ["status", "--porcelain", "--", ":/crates", ":/bench/src", ":/bench/benches"];
    let changed = git(&engine).is_some_and(|list| !list.is_empty());
    format!("{hash}{}", if changed { "+" } else { "" })
}

/// Load average over one minute.
#[must_use]
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Measures the processor time others take.
#[derive(Debug)]
pub struct ForeignLoad {
    start: Instant,
    machine_ticks: u64,
    own_ticks: u64,
}

impl ForeignLoad {
    /// Begins to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now(), machine_ticks: machine_ticks(), own_ticks: own_ticks() }
    }

    /// Cores that others kept busy since, children of ours not counted once they
    /// have been waited for. The kernel's own work for us counts as others'.
    #[must_use]
    pub fn cores(&self) -> f64 {
        const TICKS_PER_SECOND: f64 = 100.0; // USER_HZ, fixed on Linux
        let machine = machine_ticks().saturating_sub(self.machine_ticks);
        let own = own_ticks().saturating_sub(self.own_ticks);
        let foreign = machine.saturating_sub(own) as f64 / TICKS_PER_SECOND;
        let cores = foreign / self.start.elapsed().as_secs_f64();
        (cores * 100.0).round() / 100.0
    }
}

/// Ticks in which any processor was busy, time stolen by other guests included.
fn machine_ticks() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).map(|column| column.parse().unwrap_or(0)).collect();
    // user nice system idle iowait irq softirq steal
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    ticks.iter().take(8).sum::<u64>() - idle
}

/// Ticks of this process and of the children it has waited for.
fn own_ticks() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second column is the name in parentheses and may hold spaces.
    let after_name = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let columns = after_name.split(' ').skip(11).take(4);
    columns.filter_map(|column| column.parse::<u64>().ok()).sum()
}

/// Now, as `2026-01-31T12:00:00Z`.
#[must_use]
pub fn timestamp() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (year, month, day) = date(elapsed / 86_400);
    let (hour, minute, second) = (elapsed / 3_600 % 24, elapsed / 60 % 60, elapsed % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day counted from 1970-01-01 (Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468; // from 0000-03-01
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_the_edges() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_453, (2025, 12, 31)),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn reads_what_the_system_writes() {
        assert_eq!(field("model name\t: AMD EPYC\n", "model name"), "AMD EPYC");
        assert_eq!(field("MemTotal:       1048576 kB\n", "MemTotal"), "1048576");
        assert_eq!(kernel("6.1.0-18-amd64\n"), "Linux 6.1.0");
        let mounts = "a / ext4 rw 0 0\nb /tmp tmpfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp")), "tmpfs");
        let lock = "[[package]]\nname = \"redb\"\nversion = \"4.4.0\"\n";
        assert_eq!(packages(lock)["redb"], "4.4.0");
    }
}
