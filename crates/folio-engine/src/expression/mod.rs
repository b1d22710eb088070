//! Expressions: what a row's values are put together to.
//!
//! A bound expression knows its type, and every operand has the type its
//! operation wants: the binder has put casts where the language implies them
//! ([`coerce`]). Columns are named by [`ColumnId`], unique in a statement, until
//! a plan is lowered; from then on a column's number is its position in the
//! input ([`evaluate`]). A whole batch is evaluated at a time, by Arrow's kernels
//! where one exists.

pub mod arithmetic;
mod array_text;
pub(crate) mod case;
pub mod cast;
pub mod coerce;
mod columns;
pub(crate) mod compare;
mod constant_set;
pub(crate) mod display;
pub mod evaluate;
pub mod evaluated;
pub mod fold;
pub mod function;
pub mod json;
pub(crate) mod json_order;
pub(crate) mod keys;
mod membership;
mod numbers;
pub mod pattern;
mod subquery;
pub mod type_rules;
pub(crate) mod visit;

use std::sync::Arc;

use folio_types::{ColumnType, Value};

use crate::source::Comparison;
use crate::span::Span;
pub use function::Function;
pub use subquery::Query;
use type_rules::is_integer;

/// A column of a plan, unique in its statement; a position once lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// A column with what a reader wants to know of it.
#[derive(Debug, Clone)]
pub struct Column {
    /// Which one.
    pub id: ColumnId,
    /// Its type.
    pub ty: ColumnType,
    /// What it is called where it comes from.
    pub name: Arc<str>,
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// `+ - * / %` and the bit operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, truncating for integers
    Divide,
    /// `%`
    Remainder,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// What a subquery is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// Its one value; null where it has no row, an error where it has two.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// How a value compares with any of its rows.
    Any(Comparison),
    /// How a value compares with all of its rows.
    All(Comparison),
    /// All its values as a list.
    Array,
}

/// A query inside an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// What is asked.
    pub kind: SubqueryKind,
    /// The value compared, for [`SubqueryKind::Any`] and [`SubqueryKind::All`].
    pub operand: Option<Expr>,
    /// The query: a logical plan; once lowered, its physical plan.
    pub body: Box<dyn Query>,
    /// The column of its answer.
    pub output: Column,
    /// Columns of the query around it that it reads, and once lowered, where from.
    pub outer: Vec<Expr>,
    /// The type of the whole.
    pub ty: ColumnType,
    /// Its number in the statement: answers are kept under it while the statement runs.
    pub number: usize,
    /// Where it stands.
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A column of the input.
    Column(Column),
    /// A column of the query around this one: the n-th of those it reads.
    Outer(usize, ColumnType),
    /// A value. `untyped` for text, null and parameters that take the type their
    /// place wants.
    Literal {
        /// The value.
        value: Value,
        /// Its type.
        ty: ColumnType,
        /// Whether the type is only a guess.
        untyped: bool,
        /// Where it stands.
        span: Span,
    },
    /// A value given when the statement is run.
    Parameter {
        /// Which one, from 0.
        index: usize,
        /// The type of what is given.
        ty: ColumnType,
        /// Whether the type is only a guess.
        untyped: bool,
    },
    /// A value as another type.
    Cast {
        /// The value.
        input: Box<Expr>,
        /// The type wanted.
        to: ColumnType,
        /// Whether what cannot be cast becomes null.
        is_try: bool,
        /// Where it stands.
        span: Span,
    },
    /// Two numbers, or a time and a span.
    Arithmetic {
        /// What is done.
        op: Arithmetic,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
        /// The type of the result.
        ty: ColumnType,
        /// Where it stands.
        span: Span,
    },
    /// Two values of one type.
    Compare {
        /// How.
        op: Comparison,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// All of these, in three-valued logic.
    And(Vec<Expr>),
    /// Any of these.
    Or(Vec<Expr>),
    /// The opposite.
    Not(Box<Expr>),
    /// Whether there is no value.
    IsNull(Box<Expr>),
    /// Whether it is true, null counting as not.
    IsTrue(Box<Expr>),
    /// The result of the first branch whose condition is true.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result where no condition is true.
        otherwise: Option<Box<Expr>>,
        /// The type of all results.
        ty: ColumnType,
    },
    /// The first that is not null.
    Coalesce(Vec<Expr>, ColumnType),
    /// Whether a value equals one of several of its type.
    InList {
        /// The value.
        input: Box<Expr>,
        /// What it may equal.
        list: Vec<Expr>,
    },
    /// The same for many constants.
    InSet {
        /// The value.
        input: Box<Expr>,
        /// What it may equal.
        set: Arc<constant_set::ConstantSet>,
    },
    /// `like` and its relatives.
    Match {
        /// Which.
        kind: pattern::MatchKind,
        /// The text.
        input: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that takes the next one literally.
        escape: Option<char>,
    },
    /// A function of the library.
    Function {
        /// Which, with its types settled.
        function: Arc<Function>,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Where it stands.
        span: Span,
    },
    /// A query inside.
    Subquery(Box<Subquery>),
}

impl Expr {
    /// The type of the values.
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

    /// The integer inside a cast to another width, which is the same number; what is no
    /// such cast as it is.
    #[must_use]
    pub fn uncast_integer(&self) -> &Self {
        match self {
            Self::Cast { input, to, .. } if is_integer(to) && is_integer(&input.ty()) => input,
            other => other,
        }
    }

    /// A value whose type is certain.
    #[must_use]
    pub fn literal(value: Value, ty: ColumnType) -> Self {
        Self::Literal { value, ty, untyped: false, span: Span::NONE }
    }

    /// No value, of a type.
    pub fn null(ty: ColumnType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// True or false.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Boolean(value), ColumnType::Boolean)
    }

    /// A comparison of two expressions of one type.
    pub fn compare(op: Comparison, left: Self, right: Self) -> Self {
        Self::Compare { op, left: Box::new(left), right: Box::new(right) }
    }

    /// Whether the type is only a guess and gives way to what its place wants.
    pub fn is_untyped(&self) -> bool {
        matches!(self, Self::Literal { untyped: true, .. } | Self::Parameter { untyped: true, .. })
    }

    /// The value, if it is one.
    pub fn as_literal(&self) -> Option<&Value> {
        match self {
            Self::Literal { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is a literal or a parameter, perhaps cast: its value can be had without
    /// a row, at no cost worth mentioning.
    pub fn is_given(&self) -> bool {
        match self {
            Self::Literal { .. } | Self::Parameter { .. } => true,
            Self::Cast { input, .. } => input.is_given(),
            _ => false,
        }
    }

    /// Where it stands, as far as that was kept.
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

    /// The terms that must all be true.
    pub fn into_conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(terms) => terms.into_iter().flat_map(Self::into_conjuncts).collect(),
            other => vec![other],
        }
    }
}
