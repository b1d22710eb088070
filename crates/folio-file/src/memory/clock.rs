//! A clock that only advances when asked, so that runs are repeatable.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::random::Random;

/// 2024-01-01T00:00:00Z, nanoseconds since the epoch.
const START_NS: u64 = 1_704_067_200_000_000_000;

/// A logical clock: strictly increasing, by steps that depend on the seed.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    now_ns: u64,
    steps: Random,
    granularity_ns: u64,
}

impl Clock {
    pub(super) fn new(seed: u64) -> Self {
        Self { now_ns: START_NS, steps: Random::for_part(seed, 0xC10C), granularity_ns: 1 }
    }

    /// The next moment, up to two microseconds later.
    pub(super) fn tick(&mut self) -> SystemTime {
        self.now_ns += 1 + self.steps.below(2000);
        UNIX_EPOCH + Duration::from_nanos(self.now_ns)
    }

    /// The next moment as a file's time: nanoseconds since the epoch, rounded
    /// down to the granularity.
    pub(super) fn stamp(&mut self) -> i128 {
        self.tick();
        i128::from(self.now_ns - self.now_ns % self.granularity_ns)
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.now_ns += u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4);
    }

    pub(super) fn set_granularity(&mut self, granularity: Duration) {
        self.granularity_ns = u64::try_from(granularity.as_nanos()).unwrap_or(u64::MAX).max(1);
    }
}
