//! Aggregates of pairs of floats: `corr`, `covar_…` and linear regression.
//!
//! Like the variance, they update means and sums of products of distances with each pair
//! (Welford's recurrence), so that large values with small differences keep their precision. Pairs
//! with a null are ignored.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use folio_compute::Result;
use folio_compute::array::to_array;
use folio_types::{ColumnType, Value};

use super::accumulator::Accumulator;
use super::groups::Groups;
use crate::plan::aggregate::PairStatistic;

/// The pairs of one group.
#[derive(Clone, Copy, Default)]
struct Pairs {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    squares_x: f64,
    squares_y: f64,
    products: f64,
}

impl Pairs {
    fn take(&mut self, y: f64, x: f64) {
        self.count += 1.0;
        let (from_x, from_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += from_x / self.count;
        self.mean_y += from_y / self.count;
        self.squares_x += from_x * (x - self.mean_x);
        self.squares_y += from_y * (y - self.mean_y);
        self.products += from_x * (y - self.mean_y);
    }

    /// A statistic; `None` if there are too few pairs or no unique regression line.
    fn answer(&self, statistic: PairStatistic) -> Option<f64> {
        use PairStatistic as Kind;
        let (has_x, has_y) = (self.squares_x != 0.0, self.squares_y != 0.0);
        let share = |value: f64| (self.count > 0.0).then_some(value);
        match statistic {
            Kind::Covariance { sample: false } => share(self.products / self.count),
            Kind::Covariance { sample: true } => {
                (self.count > 1.0).then(|| self.products / (self.count - 1.0))
            }
            Kind::Count => Some(self.count),
            Kind::MeanX => share(self.mean_x),
            Kind::MeanY => share(self.mean_y),
            Kind::SquaresX => share(self.squares_x),
            Kind::SquaresY => share(self.squares_y),
            Kind::Products => share(self.products),
            Kind::Correlation => (has_x && has_y).then(|| {
                let scale = self.squares_x.sqrt() * self.squares_y.sqrt();
                (self.products / scale).clamp(-1.0, 1.0)
            }),
            Kind::Slope => has_x.then(|| self.products / self.squares_x),
            Kind::Intercept => {
                has_x.then(|| self.mean_y - self.mean_x * (self.products / self.squares_x))
            }
            Kind::Determination if !has_x => None,
            Kind::Determination if !has_y => Some(1.0),
            Kind::Determination => {
                Some((self.products / self.squares_x) * (self.products / self.squares_y))
            }
        }
    }
}

/// The states of an aggregate of pairs.
pub(crate) struct Correlation {
    states: Vec<Pairs>,
    statistic: PairStatistic,
}

impl Correlation {
    pub(crate) fn new(statistic: PairStatistic) -> Self {
        Self { states: Vec::new(), statistic }
    }
}

impl Accumulator for Correlation {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.states.resize(group_count, Pairs::default());
        let y = arguments[0].as_primitive::<Float64Type>();
        let x = arguments[1].as_primitive::<Float64Type>();
        for (row, group) in groups.iter().enumerate() {
            if y.is_valid(row) && x.is_valid(row) {
                self.states[*group as usize].take(y.value(row), x.value(row));
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.states.resize(self.states.len().max(groups.end), Pairs::default());
        let is_count = self.statistic == PairStatistic::Count;
        let values = self.states[groups].iter().map(|pairs| match pairs.answer(self.statistic) {
            None => Value::Null,
            #[allow(clippy::cast_possible_truncation, reason = "it counts rows")]
            Some(count) if is_count => Value::Integer(count as i64),
            Some(value) => Value::Float(value),
        });
        let values: Vec<Value> = values.collect();
        let ty = if is_count { ColumnType::Int64 } else { ColumnType::Float64 };
        to_array(values.iter(), &ty)
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<Pairs>()
    }
}
