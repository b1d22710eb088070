//! Which blocks are asked for, one after the other. The same on every run.

/// A pattern of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pattern {
    /// Blocks 0 to `blocks`, in turn.
    Sequential { blocks: usize },
    /// One block again and again.
    Repeated,
    /// Any of `k` blocks.
    Random { k: usize },
    /// 7 of 36 blocks get 80 % of the requests: the hot set that the report this
    /// suite continues calls Zipfian.
    HotSet,
    /// Zipf's law with this exponent over `blocks` blocks.
    Zipf { blocks: usize, exponent: f64 },
}

impl Pattern {
    /// So many requests. Threads have sequences of their own.
    pub(crate) fn requests(self, count: usize, thread: usize) -> Vec<usize> {
        let mut random =
            Random(0x9e37_79b9_7f4a_7c15 ^ (thread as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd));
        let zipf = match self {
            Self::Zipf { blocks, exponent } => cumulative(blocks, exponent),
            _ => Vec::new(),
        };
        let one = |index: usize| match self {
            Self::Sequential { blocks } => index % blocks,
            Self::Repeated => 0,
            Self::Random { k } => random.below(k),
            Self::HotSet if random.below(100) < 80 => random.below(7),
            Self::HotSet => 7 + random.below(29),
            Self::Zipf { .. } => {
                let at = random.fraction();
                zipf.partition_point(|&share| share < at).min(zipf.len() - 1)
            }
        };
        (0..count).map(one).collect()
    }
}

/// The shares of all blocks up to each, by rank.
fn cumulative(blocks: usize, exponent: f64) -> Vec<f64> {
    let weights = (1..=blocks).map(|rank| (rank as f64).powf(-exponent));
    let total: f64 = weights.clone().sum();
    let mut sum = 0.0;
    let shares = weights.map(|weight| {
        sum += weight / total;
        sum
    });
    shares.collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32) as usize * bound) >> 32
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
