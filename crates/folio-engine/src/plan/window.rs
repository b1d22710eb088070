//! Window functions as they stand in a statement, and the rows around a row that one sees.

use std::fmt;
use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::terms::SortKey;
use crate::expression::Expr;

/// What a window function computes.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// The row's number in its partition.
    RowNumber,
    /// The number of the first row equal to it.
    Rank,
    /// The same without gaps.
    DenseRank,
    /// The rank between 0 and 1.
    PercentRank,
    /// The share of rows up to it.
    CumeDist,
    /// Which of so many equal parts it is in.
    Ntile,
    /// A value some rows before.
    Lag,
    /// A value some rows after.
    Lead,
    /// The first value of the frame.
    FirstValue,
    /// The last value of the frame.
    LastValue,
    /// The n-th value of the frame.
    NthValue,
    /// An aggregate over the frame.
    Aggregate(Box<Aggregate>),
}

/// A window function as it stands in a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// What is computed.
    pub function: WindowFunction,
    /// Its name in the statement.
    pub name: Arc<str>,
    /// What of.
    pub arguments: Vec<Expr>,
    /// What the rows are parted by.
    pub partition: Vec<Expr>,
    /// Their order.
    pub order: Vec<SortKey>,
    /// Which rows around a row it sees.
    pub frame: Frame,
    /// The type of the answer.
    pub ty: ColumnType,
}

impl WindowCall {
    /// Every expression of the call.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let keys = self.order.iter_mut().map(|key| &mut key.expression);
        let mut all: Vec<&mut Expr> =
            self.arguments.iter_mut().chain(&mut self.partition).chain(keys).collect();
        if let WindowFunction::Aggregate(aggregate) = &mut self.function {
            all.extend(aggregate.expressions_mut());
        }
        all.extend(self.frame.expressions_mut());
        all
    }
}

impl fmt::Display for WindowCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |expressions: &[Expr]| {
            let shown: Vec<String> = expressions.iter().map(Expr::to_string).collect();
            shown.join(", ")
        };
        match &self.function {
            WindowFunction::Aggregate(aggregate) => write!(out, "{aggregate} over (")?,
            _ => write!(out, "{}({}) over (", self.name, list(&self.arguments))?,
        }
        let mut parts = Vec::new();
        if !self.partition.is_empty() {
            parts.push(format!("partition by {}", list(&self.partition)));
        }
        if !self.order.is_empty() {
            let keys = self.order.iter().map(|key| {
                format!("{}{}", key.expression, if key.descending { " desc" } else { "" })
            });
            parts.push(format!("order by {}", keys.collect::<Vec<_>>().join(", ")));
        }
        write!(out, "{})", parts.join(" "))
    }
}

/// What a frame's bounds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Distance of the key.
    Range,
    /// Rows equal in the keys, together.
    Groups,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// The partition's end on that side.
    Unbounded,
    /// The row itself, or those equal to it.
    Current,
    /// So many before.
    Preceding(Expr),
    /// So many after.
    Following(Expr),
}

/// Which rows of a frame are not seen after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// None.
    Nothing,
    /// The row itself.
    CurrentRow,
    /// The row and those equal to it in the keys.
    Group,
    /// Those equal to it, but not the row.
    Ties,
}

/// Which rows around a row a function sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What the bounds count.
    pub units: FrameUnits,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// What is left out of it.
    pub exclusion: Exclusion,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            units: FrameUnits::Range,
            start: FrameBound::Unbounded,
            end: FrameBound::Current,
            exclusion: Exclusion::Nothing,
        }
    }
}

impl Frame {
    fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let bounds = [&mut self.start, &mut self.end].into_iter();
        let expressions = bounds.filter_map(|bound| match bound {
            FrameBound::Preceding(bound) | FrameBound::Following(bound) => Some(bound),
            _ => None,
        });
        expressions.collect()
    }
}
