//! Times queries.

use std::time::{Duration, Instant};

use folio::{JsonRows, Session};

use crate::failure::Failure;
use crate::progress::Progress;

/// The run times of one query.
#[derive(Debug, Clone)]
pub(super) struct Times {
    /// Milliseconds of each run.
    pub(super) runs: Vec<f64>,
    /// Entities returned by each run.
    pub(super) row_count: u64,
    /// Bytes of JSON written by each run.
    pub(super) size: u64,
}

impl Times {
    pub(super) fn mean(&self) -> f64 {
        self.runs.iter().sum::<f64>() / self.runs.len() as f64
    }

    /// The standard deviation of the runs.
    pub(super) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>();
        (squares / self.runs.len() as f64).sqrt()
    }

    pub(super) fn least(&self) -> f64 {
        self.runs.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(super) fn most(&self) -> f64 {
        self.runs.iter().copied().fold(0.0, f64::max)
    }

    /// Runs per second, from the mean.
    pub(super) fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.mean() / 1e3)
    }
}

/// Runs a query and discards its JSON output. Returns the rows and bytes.
pub(super) fn run(session: &mut Session, text: &str) -> Result<(u64, u64), Failure> {
    let mut rows = session.ziql(text, &[])?;
    let writer = JsonRows::new(rows.names(), rows.types());
    let (mut json, mut is_first) = (Vec::from(b"["), true);
    let (mut row_count, mut size) = (0, 0);
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        writer.write(&batch, ",\n", &mut is_first, &mut json);
        row_count += batch.row_count as u64;
        size += json.len() as u64;
        std::hint::black_box(&json);
        json.clear();
    }
    Ok((row_count, size + 1))
}

/// Times a query: one warm-up run, then the requested number.
pub(super) fn time(
    session: &mut Session,
    text: &str,
    repetitions: u32,
    progress: &Progress,
) -> Result<Times, Failure> {
    let (row_count, size) = run(session, text)?;
    let mut runs = Vec::new();
    for repetition in 0..repetitions {
        step(progress, text, repetition.into(), repetitions.into())?;
        let begun = Instant::now();
        run(session, text)?;
        runs.push(millis(begun.elapsed()));
    }
    Ok(Times { runs, row_count, size })
}

/// Shows what comes next.
///
/// # Errors
/// After Ctrl-C.
pub(super) fn step(progress: &Progress, label: &str, done: u64, total: u64) -> Result<(), Failure> {
    progress.relabel(label);
    if progress.count(done, total) { Ok(()) } else { Err(Failure::Interrupted) }
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up() {
        let times = Times { runs: vec![1.0, 2.0, 3.0], row_count: 10, size: 100 };
        assert_eq!((times.mean(), times.least(), times.most()), (2.0, 1.0, 3.0));
        assert!((times.deviation() - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((times.per_second(10) - 5_000.0).abs() < 1e-9);
    }
}
