//! How two values compare, and where a range of keys ends.

use std::cmp::Ordering;

/// `= <> < <= > >=`, which are never true for null, and two comparisons that treat null as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `is distinct from`
    Distinct,
    /// `is not distinct from`
    NotDistinct,
}

impl Comparison {
    /// The comparison with its sides swapped.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }

    /// The SQL symbol.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Distinct => "is distinct from",
            Self::NotDistinct => "is not distinct from",
        }
    }

    /// Whether it is true for two values with this ordering, neither of them null.
    #[inline]
    #[must_use]
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal | Self::NotDistinct => ordering.is_eq(),
            Self::NotEqual | Self::Distinct => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// One end of a range of keys: values of the first key columns, as many as are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bound<K> {
    /// No end.
    #[default]
    Unbounded,
    /// Keys that begin with these values are in the range.
    Included(K),
    /// Keys that begin with these values are not in the range.
    Excluded(K),
}

impl<K> Bound<K> {
    /// The same end with the values in another form.
    pub fn map<'b, L>(&'b self, values: impl FnOnce(&'b K) -> L) -> Bound<L> {
        match self {
            Self::Unbounded => Bound::Unbounded,
            Self::Included(own) => Bound::Included(values(own)),
            Self::Excluded(own) => Bound::Excluded(values(own)),
        }
    }
}
