//! Runs the workloads of a suite.

use std::thread;

use serde_json::{Value, json};

use super::figure::{Figure, Watch, Workload};
use super::{Plan, Scratch};
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;

/// A suite that is measured.
pub(super) struct Bench<'a> {
    plan: Plan<'a>,
    suite: &'static str,
    console: &'a Console,
    /// Notices the signals that end the work.
    progress: Progress,
    /// Where databases are made.
    pub(super) scratch: Scratch,
    /// What is measured now, of all that the figures have in common.
    data: Value,
    figures: Vec<Value>,
    /// The workloads there are.
    names: Vec<&'static str>,
}

impl<'a> Bench<'a> {
    pub(super) fn begin(
        plan: Plan<'a>,
        suite: &'static str,
        console: &'a Console,
    ) -> Result<Self, Failure> {
        let progress = Progress::begin(console, suite);
        let scratch = Scratch::new(plan.folder)?;
        let (figures, names) = (Vec::new(), Vec::new());
        Ok(Self { plan, suite, console, progress, scratch, data: Value::Null, figures, names })
    }

    /// Begins the workloads of another size.
    pub(super) fn section(&mut self, count: u64, noun: &str, about: &str) -> Result<(), Failure> {
        self.data = json!({ "suite": self.suite, "of": noun, "count": count });
        self.print(&format!("\n{}: {}, {about}", self.suite, crate::words::plural(count, noun)))
    }

    /// Whether a workload is asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.plan.filter.is_none_or(|filter| format!("{}/{name}", self.suite).contains(filter))
    }

    /// Runs a workload once to warm up and then as often as asked, and prints what it took.
    ///
    /// # Errors
    /// Those of a run; `cancelled` after Ctrl-C.
    pub(super) fn measure(
        &mut self,
        workload: Workload,
        mut run: impl FnMut(&Scratch) -> Result<Watch, Failure>,
    ) -> Result<(), Failure> {
        if !self.names.contains(&workload.name) {
            self.names.push(workload.name);
        }
        if !self.wants(workload.name) {
            return Ok(());
        }
        self.progress.relabel(&format!("{}/{}", self.suite, workload.name));
        let mut watches = Vec::new();
        for repetition in 0..=self.plan.repetitions {
            let done = u64::from(repetition);
            if !self.progress.count(done, u64::from(self.plan.repetitions) + 1) {
                return Err(Failure::Interrupted);
            }
            let watch = run(&self.scratch)?;
            if repetition > 0 {
                watches.push(watch);
            }
        }
        let figure = Figure::new(workload, watches);
        let mut json = figure.to_json();
        if let (Value::Object(json), Value::Object(data)) = (&mut json, &self.data) {
            json.extend(data.clone());
        }
        self.figures.push(json);
        self.print(&figure.line())
    }

    /// What was measured, with the machine.
    ///
    /// # Errors
    /// If no workload was asked for.
    pub(super) fn finish(self) -> Result<Value, Failure> {
        if let (true, Some(filter)) = (self.figures.is_empty(), self.plan.filter) {
            let names = self.names.join(", ");
            return Err(Failure::Usage(format!(
                "no workload contains {filter:?}; there are {names}"
            )));
        }
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": std::env::consts::OS,
            "processor": std::env::consts::ARCH,
            "cores": thread::available_parallelism().map_or(1, std::num::NonZero::get),
            "figures": self.figures,
        }))
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        self.progress.above(|| self.console.print(text))?;
        Ok(())
    }
}
