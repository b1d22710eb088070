//! Aggregates of a statement.

use std::fmt;
use std::sync::Arc;

use folio_types::ColumnType;

use super::terms::SortKey;
use crate::expression::Expr;
use crate::expression::display::{list, types_of};

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    /// The number of rows.
    CountAll,
    /// The number of values.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Avg,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// Whether all are true.
    BoolAnd,
    /// Whether any is true.
    BoolOr,
    /// The variance, of a sample or of the whole population.
    Variance {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// The standard deviation, likewise.
    StdDev {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// The texts, concatenated.
    StringAgg,
    /// The values, including nulls, as an array.
    ArrayAgg,
    /// The values as a JSON array.
    JsonAgg,
    /// Names and values as a JSON object.
    JsonObjectAgg,
    /// The middle value; between two middle values, their mean.
    Median,
    /// The value at a fraction of the order, interpolated between neighbours.
    PercentileCont,
    /// The value at a fraction of the order, not interpolated.
    PercentileDisc,
    /// The most frequent value.
    Mode,
    /// Which arguments the grouping set leaves out, one bit each.
    Grouping,
    /// The first value.
    First,
    /// Bitwise AND of the values.
    BitAnd,
    /// Bitwise OR of the values.
    BitOr,
    /// The product of the values.
    Product,
    /// The value of the row where another value is least.
    ArgMin,
    /// The value of the row where another value is greatest.
    ArgMax,
    /// A statistic of pairs of values.
    Pairs(PairStatistic),
}

/// An aggregate call.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The function.
    pub function: AggregateFunction,
    /// Its name in the statement.
    pub name: Arc<str>,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// DISTINCT: whether each value counts once.
    pub distinct: bool,
    /// FILTER: which rows count.
    pub filter: Option<Expr>,
    /// ORDER BY within the aggregate.
    pub order: Vec<SortKey>,
    /// The type of the result.
    pub ty: ColumnType,
}

impl Aggregate {
    /// Every expression of the call.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let keys = self.order.iter_mut().map(|key| &mut key.expression);
        self.arguments.iter_mut().chain(&mut self.filter).chain(keys).collect()
    }

    /// Whether partial results of a group can be merged without changing the result. Sums of floats
    /// cannot: they depend on how rows are split.
    pub fn is_mergeable(&self) -> bool {
        use AggregateFunction as Kind;
        let is_exact = match self.function {
            Kind::CountAll
            | Kind::Count
            | Kind::Min
            | Kind::Max
            | Kind::BoolAnd
            | Kind::BoolOr
            | Kind::BitAnd
            | Kind::BitOr
            | Kind::Grouping
            | Kind::First => true,
            Kind::Sum | Kind::Avg => self.arguments.first().is_some_and(|argument| {
                !matches!(argument.ty(), ColumnType::Float32 | ColumnType::Float64)
            }),
            _ => false,
        };
        is_exact && self.order.is_empty()
    }

    /// Whether nothing but the digits of its argument matters: an exact sum or mean, or a count.
    pub fn adds_digits(&self) -> bool {
        use AggregateFunction as Kind;
        matches!(self.function, Kind::Count | Kind::Sum | Kind::Avg)
            && !self.distinct
            && self.order.is_empty()
    }

    /// Whether it counts the different texts of an argument of this type.
    pub fn counts_texts(&self, ty: &ColumnType) -> bool {
        let is_count = self.function == AggregateFunction::Count && self.distinct;
        is_count && self.order.is_empty() && *ty == ColumnType::Text
    }

    /// Whether an aggregate of the same rows needs no state of its own: a sum and a mean of the same
    /// digits.
    pub fn shares_state(&self, other: &Self) -> bool {
        use AggregateFunction as Kind;
        let is_sum = |own: &Self| {
            matches!(own.function, Kind::Sum | Kind::Avg) && own.adds_digits() && own.is_mergeable()
        };
        is_sum(self)
            && is_sum(other)
            && (&self.arguments, &self.filter) == (&other.arguments, &other.filter)
    }

    /// Every expression of the call, shared.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.order.iter().map(|key| &key.expression);
        self.arguments.iter().chain(&self.filter).chain(keys)
    }

    /// Whether it is a plain `count(*)`.
    pub fn is_plain_count(&self) -> bool {
        self.function == AggregateFunction::CountAll && self.filter.is_none()
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = match &self.arguments[..] {
            [] => "*".to_owned(),
            arguments => list(arguments),
        };
        let distinct = if self.distinct { "distinct " } else { "" };
        write!(out, "{}({distinct}{arguments})", self.name)?;
        match &self.filter {
            Some(filter) => write!(out, " filter (where {filter})"),
            None => Ok(()),
        }
    }
}

/// A statistic of pairs. The first value of a pair depends on the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStatistic {
    /// The correlation, from -1 to 1.
    Correlation,
    /// The covariance, of a sample or of the whole population.
    Covariance {
        /// Whether the pairs are a sample.
        sample: bool,
    },
    /// The number of pairs without a null.
    Count,
    /// The mean of the second value.
    MeanX,
    /// The mean of the first value.
    MeanY,
    /// The sum of squared distances of the second value from its mean.
    SquaresX,
    /// The same for the first value.
    SquaresY,
    /// The sum of products of both distances.
    Products,
    /// The slope of the regression line.
    Slope,
    /// The intercept of the regression line.
    Intercept,
    /// The share of the variance that the line explains.
    Determination,
}

/// The names of the aggregates of pairs.
pub const PAIR_STATISTICS: [(&str, PairStatistic); 12] = [
    ("corr", PairStatistic::Correlation),
    ("covar_pop", PairStatistic::Covariance { sample: false }),
    ("covar_samp", PairStatistic::Covariance { sample: true }),
    ("regr_avgx", PairStatistic::MeanX),
    ("regr_avgy", PairStatistic::MeanY),
    ("regr_count", PairStatistic::Count),
    ("regr_intercept", PairStatistic::Intercept),
    ("regr_r2", PairStatistic::Determination),
    ("regr_slope", PairStatistic::Slope),
    ("regr_sxx", PairStatistic::SquaresX),
    ("regr_sxy", PairStatistic::Products),
    ("regr_syy", PairStatistic::SquaresY),
];

/// The name and types of an aggregate's arguments, for messages.
pub fn signature(name: &str, arguments: &[Expr]) -> String {
    format!("{name}({})", types_of(arguments))
}
