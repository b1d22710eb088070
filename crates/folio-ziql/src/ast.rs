//! The syntax tree of a script.

use std::ops::Range;
use std::sync::Arc;

use folio_compute::Span;
use folio_compute::arithmetic::Arithmetic;
use folio_engine::bound::entity::IfTaken;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

use crate::literal_buffer::LiteralBuffer;

/// A name and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A script: chains in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    pub(crate) chains: Vec<Chain>,
}

/// A chain: statements that run in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    pub(crate) steps: Vec<Step>,
}

/// A statement, and the name of the set it finds or writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) explain: bool,
    pub(crate) statement: Statement,
    pub(crate) name: Option<Name>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    Grab(Grab),
    Add(Add),
    Update(Update),
    Delete(Delete),
}

/// `GRAB source [shape] {where} BY path |order|`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grab {
    pub(crate) source: Source,
    pub(crate) shape: Option<Shape>,
    pub(crate) filter: Option<Filter>,
    pub(crate) by: Vec<Path>,
    pub(crate) order: Vec<Order>,
}

impl Grab {
    pub(crate) fn fields(&self) -> Option<&[Field]> {
        self.shape.as_ref()?.fields.as_deref()
    }

    pub(crate) fn limit(&self) -> Option<&Limit> {
        self.shape.as_ref()?.limit.as_ref()
    }
}

/// A struct, and the links to follow from it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    pub(crate) entity: Name,
    pub(crate) hops: Vec<(Option<Filter>, Name)>,
}

/// `[limit; fields]`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) limit: Option<Limit>,
    /// `None` means the default shape.
    pub(crate) fields: Option<Vec<Field>>,
    pub(crate) span: Span,
}

/// Number of rows, and number of rows to skip.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) take: Expr,
    pub(crate) skip: Option<Expr>,
}

/// A field of a shape.
#[allow(clippy::large_enum_variant, reason = "there are few, for a moment")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Field {
    /// `*`
    All(Span),
    /// A member, or the target of a path.
    Path { alias: Option<Name>, path: Path, nested: Nested },
    /// A named value.
    Value { alias: Name, value: Expr },
}

/// The shape, condition and order of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Nested {
    pub(crate) shape: Option<Shape>,
    pub(crate) filter: Option<Filter>,
    pub(crate) order: Vec<Order>,
}

impl Nested {
    pub(crate) fn fields(&self) -> Option<&[Field]> {
        self.shape.as_ref()?.fields.as_deref()
    }

    pub(crate) fn limit(&self) -> Option<&Limit> {
        self.shape.as_ref()?.limit.as_ref()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.is_none() && self.filter.is_none() && self.order.is_empty()
    }
}

/// `member.member`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub(crate) members: Vec<Name>,
}

impl Path {
    /// Its place in the text.
    pub(crate) fn span(&self) -> Span {
        let first = self.members.first().map_or(Span::NONE, |name| name.span);
        let last = self.members.last().map_or(Span::NONE, |name| name.span);
        Span { end_line: last.end_line, end_column: last.end_column, ..first }
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let names: Vec<&str> = self.members.iter().map(|name| &*name.text).collect();
        names.join(".")
    }
}

/// One key of an order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub(crate) path: Path,
    pub(crate) descending: bool,
}

/// `{condition}`; without a condition, all entities.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Filter {
    pub(crate) condition: Option<Box<Expr>>,
    pub(crate) span: Span,
}

/// The right side of IN.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Set {
    List(Vec<Expr>, Span),
    Filter(Filter),
    Name(Name),
    Parameter(Name),
}

impl Set {
    /// Its place in the text.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::List(_, span) => *span,
            Self::Filter(filter) => filter.span,
            Self::Name(name) | Self::Parameter(name) => name.span,
        }
    }
}

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

/// A value or a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Literal(Value, ColumnType, Span),
    None(Span),
    Now(Span),
    List(Vec<Expr>, Span),
    Parameter(Name),
    Path(Path),
    Aggregate(Aggregate, Option<Path>, Span),
    Negate(Box<Expr>, Span),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>, Span),
    Compare(Comparison, Box<Expr>, Box<Expr>, Span),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>, Span),
    /// `path IN set`; `all` for ALLIN.
    In {
        path: Path,
        all: bool,
        negated: bool,
        set: Set,
    },
    /// `path = {…}`
    Is {
        path: Path,
        negated: bool,
        filter: Filter,
    },
    /// `path LIKE '…'`, `path ~ '…'`
    Match {
        path: Path,
        regex: bool,
        negated: bool,
        pattern: Box<Expr>,
    },
    /// `IN name`
    Member {
        negated: bool,
        set: Name,
    },
}

impl Expr {
    /// What it is computed from, besides paths.
    pub(crate) fn operands(&self) -> Vec<&Self> {
        match self {
            Self::List(items, _) | Self::And(items) | Self::Or(items) => items.iter().collect(),
            Self::Negate(inner, _) | Self::Not(inner, _) => vec![inner],
            Self::Arithmetic(_, left, right, _) | Self::Compare(_, left, right, _) => {
                vec![left, right]
            }
            _ => Vec::new(),
        }
    }

    /// Its place in the text, as far as it is known.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Literal(_, _, span)
            | Self::None(span)
            | Self::Now(span)
            | Self::List(_, span)
            | Self::Aggregate(_, _, span)
            | Self::Negate(_, span)
            | Self::Arithmetic(_, _, _, span)
            | Self::Compare(_, _, _, span)
            | Self::Not(_, span) => *span,
            Self::Parameter(name) | Self::Member { set: name, .. } => name.span,
            Self::Path(path)
            | Self::In { path, .. }
            | Self::Is { path, .. }
            | Self::Match { path, .. } => path.span(),
            Self::And(terms) | Self::Or(terms) => terms.first().map_or(Span::NONE, Self::span),
        }
    }
}

/// `ADD struct (…) (…) OR SKIP`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Add {
    pub(crate) entity: Name,
    /// The first tuple names the members of the tuples in the literal buffer.
    pub(crate) tuples: Vec<Tuples>,
    pub(crate) buffer: Arc<LiteralBuffer>,
    pub(crate) if_taken: IfTaken,
}

/// New entities.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tuples {
    One(Tuple),
    /// A range of tuples in the literal buffer: literals without member names.
    Literals(Range<usize>),
}

/// `(…)`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tuple {
    pub(crate) items: Vec<Item>,
    pub(crate) span: Span,
}

/// One item of a tuple.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// `None` if the position decides.
    pub(crate) member: Option<Name>,
    pub(crate) change: Change,
}

/// The change of a member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Set(Given),
    /// `+=`, `-=`, `*=`, `/=`
    Arithmetic(Arithmetic, Expr, Span),
    Append(Given),
    Remove(Given),
    RemoveAt(Given),
    Pop,
    Clear,
}

/// A value, or entities found by a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    Value(Expr),
    /// `[n]{…}`
    Entities {
        limit: Option<Expr>,
        filter: Filter,
    },
}

/// `UPDATE source [shape] {where} TO (…)`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    pub(crate) target: Target,
    pub(crate) tuple: Tuple,
}

/// `DELETE source [shape] {where}`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delete {
    pub(crate) target: Target,
}

/// The entities that a statement changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) source: Source,
    pub(crate) limit: Option<Limit>,
    pub(crate) filter: Filter,
}
