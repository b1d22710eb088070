//! Window functions of a statement, and their frames.

use std::fmt;
use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::terms::SortKey;
use crate::expression::Expr;
use crate::expression::display::list;

/// A window function.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// The row's number in its partition.
    RowNumber,
    /// The number of the first row that is equal in the order.
    Rank,
    /// The rank without gaps.
    DenseRank,
    /// The rank scaled to 0 to 1.
    PercentRank,
    /// The share of rows up to and including it.
    CumeDist,
    /// Which of n equal parts it is in.
    Ntile,
    /// The value some rows before.
    Lag,
    /// The value some rows after.
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

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// Its name in the statement.
    pub name: Arc<str>,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// Its frame.
    pub frame: Frame,
    /// The type of the result.
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
        match &self.function {
            WindowFunction::Aggregate(aggregate) => write!(out, "{aggregate} over (")?,
            _ => write!(out, "{}({}) over (", self.name, list(&self.arguments))?,
        }
        let mut parts = Vec::new();
        if !self.partition.is_empty() {
            parts.push(format!("partition by {}", list(&self.partition)));
        }
        if !self.order.is_empty() {
            parts.push(format!("order by {}", list(&self.order)));
        }
        write!(out, "{})", parts.join(" "))
    }
}

/// The units of a frame's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Distance of the sort key.
    Range,
    /// Groups of rows that are equal in the sort keys.
    Groups,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// The start or end of the partition.
    Unbounded,
    /// The row itself, with its peers if the unit is not rows.
    Current,
    /// This many units before.
    Preceding(Expr),
    /// This many units after.
    Following(Expr),
}

/// Rows that are excluded from a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// None.
    Nothing,
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// Its peers, but not the row.
    Ties,
}

/// The rows that a window function sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The units of the bounds.
    pub units: FrameUnits,
    /// The start.
    pub start: FrameBound,
    /// The end.
    pub end: FrameBound,
    /// The excluded rows.
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
