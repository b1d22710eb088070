//! What the pages of suites beside SQLite and DuckDB begin and end with.

use std::fmt::Write as _;

use crate::results::Results;

/// A page of one suite.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    /// The script that makes the page, under `bench/`.
    pub(crate) script: &'a str,
    /// What is measured, and how.
    pub(crate) about: &'a str,
    /// Systems as the results name them.
    pub(crate) systems: &'a [&'a str],
}

impl Frame<'_> {
    /// The page, with a section for each size.
    pub(crate) fn page(
        &self,
        results: &Results,
        (name, notes): (&str, &str),
        section: &dyn Fn(u64, &mut String),
    ) -> String {
        let (machine, Self { title, script, about, systems }) = (&results.machine, self);
        let mut page = format!(
            "# {title}\n\nMade from `bench/results/{name}.json` by `bench/{script}`; not edited by hand. {}, {} cores, {}, {}; taken {}.\n\n{about}\n",
            machine.cpu, machine.cores, machine.kernel, machine.file_system, results.taken
        );
        let mut sizes: Vec<u64> = results.timings.iter().map(|row| row.documents).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().for_each(|size| section(size, &mut page));
        let _ = writeln!(page, "\n| system | version | settings |\n|---|---|---|");
        // A run lists the systems of every suite; those here have said so last.
        let named = |name: &&str| results.systems.iter().rfind(|system| system.name == **name);
        for system in systems.iter().filter_map(named) {
            let _ =
                writeln!(page, "| {} | {} | {} |", system.name, system.version, system.settings);
        }
        let foreign = results.timings.iter().map(|row| row.foreign_cores).fold(0.0, f64::max);
        let _ = writeln!(page, "\nOthers kept up to {foreign:.2} cores busy meanwhile.");
        if !notes.is_empty() {
            let _ = writeln!(page, "\n{}", notes.trim_end());
        }
        page
    }
}

/// The middle one of some times.
pub(crate) fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default() as f64
}
