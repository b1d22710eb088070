//! Expressions over the values of a row.
//!
//! A bound expression has a type, and every operand has the type its operation needs: the
//! binder has added implicit casts ([`coerce`]). Columns are identified by [`ColumnId`], unique
//! in a statement. When a plan is lowered, the id becomes a position in the input
//! ([`evaluate`]). Evaluation handles a whole batch at a time, with the operations on columns of
//! `folio-compute`.

pub(crate) mod case;
pub mod coerce;
pub(crate) mod display;
pub mod evaluate;
pub mod fold;
pub mod function;
pub(crate) mod implication;
mod membership;
mod subquery;
pub(crate) mod visit;

use std::sync::Arc;

use folio_compute::arithmetic::Arithmetic;
use folio_compute::pattern::MatchKind;
use folio_compute::type_rules::is_integer;
use folio_compute::{ConstantSet, Span};
use folio_types::{ColumnType, Value};

use crate::source::Comparison;
pub use function::Function;
pub use subquery::Query;

/// The id of a column, unique in its statement; a position once lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// A column of a plan.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its id.
    pub id: ColumnId,
    /// Its type.
    pub ty: ColumnType,
    /// Its name in its relation or query.
    pub name: Arc<str>,
}

impl Column {
    /// The output of a projection that passes it on as it is.
    #[must_use]
    pub fn passed_on(self) -> (Self, Expr) {
        (self.clone(), Expr::Column(self))
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// The kind of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// Its one value. Null if it has no row, an error if it has two.
    Scalar,
    /// Whether it has any row.
    Exists,
    /// Whether a comparison with any of its rows is true.
    Any(Comparison),
    /// Whether a comparison with all of its rows is true.
    All(Comparison),
    /// All its values as a list.
    Array,
}

/// A query within an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// Its kind.
    pub kind: SubqueryKind,
    /// The value compared, for [`SubqueryKind::Any`] and [`SubqueryKind::All`].
    pub operand: Option<Expr>,
    /// The query: a logical plan, and a physical plan once lowered.
    pub body: Box<dyn Query>,
    /// Its result column.
    pub output: Column,
    /// Columns of the outer query that it reads; once lowered, where they come from.
    pub outer: Vec<Expr>,
    /// The type of the expression.
    pub ty: ColumnType,
    /// Its number in the statement, under which its results are cached during a run.
    pub number: usize,
    /// Its place in the text.
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A column of the input.
    Column(Column),
    /// A column of the outer query: the n-th of those that this query reads.
    Outer(usize, ColumnType),
    /// A value. `untyped` text, null and parameters take the type that their place needs.
    Literal {
        /// The value.
        value: Value,
        /// Its type.
        ty: ColumnType,
        /// Whether the type is only a guess.
        untyped: bool,
        /// Its place in the text.
        span: Span,
    },
    /// A value given when the statement is run.
    Parameter {
        /// Its position, from 0.
        index: usize,
        /// The type of the given value.
        ty: ColumnType,
        /// Whether the type is only a guess.
        untyped: bool,
    },
    /// A cast.
    Cast {
        /// The value.
        input: Box<Expr>,
        /// The target type.
        to: ColumnType,
        /// Whether values that cannot be cast become null.
        is_try: bool,
        /// Its place in the text.
        span: Span,
    },
    /// Arithmetic on numbers, or on times and intervals.
    Arithmetic {
        /// The operation.
        op: Arithmetic,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
        /// The type of the result.
        ty: ColumnType,
        /// Its place in the text.
        span: Span,
    },
    /// A comparison of two values of one type.
    Compare {
        /// The comparison.
        op: Comparison,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// AND, in three-valued logic.
    And(Vec<Expr>),
    /// OR, in three-valued logic.
    Or(Vec<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// Whether the value is null.
    IsNull(Box<Expr>),
    /// Whether the value is true; null counts as false.
    IsTrue(Box<Expr>),
    /// The result of the first branch whose condition is true.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result if no condition is true.
        otherwise: Option<Box<Expr>>,
        /// The type of all results.
        ty: ColumnType,
    },
    /// The first value that is not null.
    Coalesce(Vec<Expr>, ColumnType),
    /// Whether a value is in a list of values of its type.
    InList {
        /// The value.
        input: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
    },
    /// Whether a value is in a set of constants.
    InSet {
        /// The value.
        input: Box<Expr>,
        /// The set.
        set: Arc<ConstantSet>,
    },
    /// `like` and other pattern matches.
    Match {
        /// The kind of pattern.
        kind: MatchKind,
        /// The text.
        input: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character.
        escape: Option<char>,
    },
    /// A function of the library.
    Function {
        /// The function with its types resolved.
        function: Arc<Function>,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Its place in the text.
        span: Span,
    },
    /// A subquery.
    Subquery(Box<Subquery>),
}

impl Expr {
    /// Its type.
    #[must_use]
    pub fn ty(&self) -> ColumnType {
        match self {
            Self::Column(column) => column.ty.clone(),
            Self::Outer(_, ty)
            | Self::Literal { ty, .. }
            | Self::Parameter { ty, .. }
            | Self::Cast { to: ty, .. }
            | Self::Arithmetic { ty, .. }
            | Self::Case { ty, .. }
            | Self::Coalesce(_, ty) => ty.clone(),
            Self::Function { function, .. } => function.returns.clone(),
            Self::Subquery(subquery) => subquery.ty.clone(),
            Self::Compare { .. }
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::IsTrue(_)
            | Self::InList { .. }
            | Self::InSet { .. }
            | Self::Match { .. } => ColumnType::Boolean,
        }
    }

    /// Whether its type is this one.
    #[must_use]
    pub(crate) fn has_type(&self, other: &ColumnType) -> bool {
        match self {
            Self::Literal { ty, .. } | Self::Parameter { ty, .. } | Self::Cast { to: ty, .. } => {
                ty == other
            }
            _ => self.ty() == *other,
        }
    }

    /// Removes a cast to another integer width, which does not change the number. Returns other
    /// expressions unchanged.
    #[must_use]
    pub fn uncast_integer(&self) -> &Self {
        match self {
            Self::Cast { input, to, .. } if is_integer(to) && is_integer(&input.ty()) => input,
            other => other,
        }
    }

    /// Removes a cast to another width of an integer or a decimal, which does not change the number.
    /// Returns other expressions unchanged.
    #[must_use]
    pub fn uncast_number(&self) -> &Self {
        use ColumnType::Decimal;
        match self {
            Self::Cast { input, to: Decimal { precision, scale }, .. } => match input.ty() {
                Decimal { precision: own, scale: same } if same == *scale && own <= *precision => {
                    input
                }
                _ => self,
            },
            _ => self.uncast_integer(),
        }
    }

    /// A literal of a known type.
    #[must_use]
    pub fn literal(value: Value, ty: ColumnType) -> Self {
        Self::Literal { value, ty, untyped: false, span: Span::NONE }
    }

    /// Null of a type.
    pub fn null(ty: ColumnType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// A boolean literal.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Boolean(value), ColumnType::Boolean)
    }

    /// A comparison of two expressions of one type.
    pub fn compare(op: Comparison, left: Self, right: Self) -> Self {
        Self::Compare { op, left: Box::new(left), right: Box::new(right) }
    }

    /// Whether its type is a guess that gives way to what its place needs.
    pub fn is_untyped(&self) -> bool {
        matches!(self, Self::Literal { untyped: true, .. } | Self::Parameter { untyped: true, .. })
    }

    /// The value, if it is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match self {
            Self::Literal { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is a literal or a parameter, with or without a cast. Its value needs no row and
    /// costs almost nothing.
    pub fn is_given(&self) -> bool {
        match self {
            Self::Literal { .. } | Self::Parameter { .. } => true,
            Self::Cast { input, .. } => input.is_given(),
            _ => false,
        }
    }

    /// Its place in the text, as far as it is known.
    pub fn span(&self) -> Span {
        match self {
            Self::Literal { span, .. }
            | Self::Cast { span, .. }
            | Self::Arithmetic { span, .. }
            | Self::Function { span, .. } => *span,
            Self::Subquery(subquery) => subquery.span,
            _ => Span::NONE,
        }
    }

    /// Splits an AND into its terms.
    pub fn into_conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(terms) => terms.into_iter().flat_map(Self::into_conjuncts).collect(),
            other => vec![other],
        }
    }
}
