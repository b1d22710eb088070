//! Aggregates as they stand in a statement: what is computed of the rows of a group.

use std::fmt;
use std::sync::Arc;

use folio_types::ColumnType;

use super::terms::SortKey;
use crate::expression::Expr;
use crate::type_name::type_name;

/// What is computed of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    /// Rows.
    CountAll,
    /// Values.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Avg,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Whether all are true.
    BoolAnd,
    /// Whether any is.
    BoolOr,
    /// The variance; of a sample, or of all there is.
    Variance {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// Its root.
    StdDev {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// The texts, joined.
    StringAgg,
    /// The values, nulls too, as an array.
    ArrayAgg,
    /// The same as a JSON array.
    JsonAgg,
    /// Names and values as a JSON object.
    JsonObjectAgg,
    /// The value in the middle, between two where there are two.
    Median,
    /// The value at a fraction of the order, between two in proportion.
    PercentileCont,
    /// The value at a fraction of the order, one of those there are.
    PercentileDisc,
    /// The value that is there most often.
    Mode,
    /// Which of its arguments the grouping set leaves out, a bit for each.
    Grouping,
    /// Any of them: the first.
    First,
    /// The bits all have.
    BitAnd,
    /// The bits any has.
    BitOr,
    /// Their product.
    Product,
    /// The value where another is least.
    ArgMin,
    /// The value where another is greatest.
    ArgMax,
    /// What two values have to do with each other.
    Pairs(PairStatistic),
}

/// An aggregate as it stands in a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// What is computed.
    pub function: AggregateFunction,
    /// Its name in the statement.
    pub name: Arc<str>,
    /// What of.
    pub arguments: Vec<Expr>,
    /// Whether each value counts once.
    pub distinct: bool,
    /// Which rows count.
    pub filter: Option<Expr>,
    /// In which order values are taken.
    pub order: Vec<SortKey>,
    /// The type of the answer.
    pub ty: ColumnType,
}

impl Aggregate {
    /// Every expression of the aggregate.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let keys = self.order.iter_mut().map(|key| &mut key.expression);
        self.arguments.iter_mut().chain(&mut self.filter).chain(keys).collect()
    }

    /// Whether parts of a group's rows can be computed apart and put together, with the answer
    /// that all of them give. Sums of floats depend on where they are parted.
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
        is_exact && !self.distinct && self.order.is_empty()
    }

    /// Every expression of the aggregate, to look at.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.order.iter().map(|key| &key.expression);
        self.arguments.iter().chain(&self.filter).chain(keys)
    }

    /// Whether it counts rows and nothing else.
    pub fn is_plain_count(&self) -> bool {
        self.function == AggregateFunction::CountAll && self.filter.is_none()
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(Expr::to_string).collect();
        let arguments = if arguments.is_empty() { "*".to_owned() } else { arguments.join(", ") };
        let distinct = if self.distinct { "distinct " } else { "" };
        write!(out, "{}({distinct}{arguments})", self.name)?;
        match &self.filter {
            Some(filter) => write!(out, " filter (where {filter})"),
            None => Ok(()),
        }
    }
}

/// What is told of pairs: the first value depends on the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStatistic {
    /// The correlation, from -1 to 1.
    Correlation,
    /// The covariance; of a sample, or of all there is.
    Covariance {
        /// Whether the pairs are a sample.
        sample: bool,
    },
    /// Pairs without a null.
    Count,
    /// The mean of the second value.
    MeanX,
    /// That of the first.
    MeanY,
    /// The squared distances of the second value from its mean.
    SquaresX,
    /// Those of the first.
    SquaresY,
    /// The products of both distances.
    Products,
    /// The slope of the line that fits best.
    Slope,
    /// Where it meets the axis.
    Intercept,
    /// The share of the variance that it explains.
    Determination,
}

/// The names of aggregates of pairs.
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
    let given: Vec<String> = arguments.iter().map(|argument| type_name(&argument.ty())).collect();
    format!("{name}({})", given.join(", "))
}
