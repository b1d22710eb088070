//! Keys for which the other side of a join has rows. Rows with other keys find no partner, and a scan
//! that can tell them cheaply leaves them out. So it does with rows that a sort would drop.
//!
//! A join usually knows the keys of its right side before its left is read ([`Partners`]). Where the
//! left is small, it is read first, and the right is built for its keys ([`build_asked`]).

use std::sync::Arc;

use folio_compute::Result;
use folio_compute::arithmetic::Arithmetic;
use folio_compute::keys::KeySet;
use folio_types::ColumnType;

use super::aggregate::grouping::{Grouping, Input};
use super::filter::Filter;
use super::parallel::{ParallelScan, parts_worth};
use super::probe::Probe;
use super::reading::unchecked;
use super::scan::cheapest;
use super::timed::timed;
use super::unnest::unnested_column;
use super::values::Project;
use super::{Running, build, one_scan, pipeline};
use crate::context::Context;
use crate::expression::{ColumnId, Expr};
use crate::plan::physical::{self, Physical};
use crate::plan::terms::JoinKind;
use crate::source::{Among, AmongValues};

/// Values that are asked of a column of an operator's rows.
#[derive(Clone)]
pub(super) struct Asked {
    /// The position of the column.
    pub(super) at: usize,
    pub(super) values: AmongValues,
}

impl Asked {
    /// Asks for keys.
    pub(super) fn keys(at: usize, keys: KeySet) -> Self {
        Self { at, values: AmongValues::Keys(Arc::new(keys)) }
    }
}

/// The operators of a plan, which may leave out rows with other values than those asked for.
///
/// # Errors
/// Errors of the source when a scan begins.
pub(super) fn build_asked(
    plan: &Physical,
    asked: Vec<Asked>,
    context: &Context,
) -> Result<Running> {
    if let Physical::Project(_) | Physical::Filter(_) | Physical::HashJoin(_) | Physical::Apply(_) =
        plan
        && let Some(pipeline) = pipeline::of(plan, context)?
    {
        return Ok(Box::new(pipeline.asked(asked)));
    }
    let running: Running = match plan {
        Physical::Scan(scan) => {
            let scan = cheapest(scan, context)?;
            let parts @ 2.. = parts_worth(scan, context)? else {
                return one_scan(plan, scan, context);
            };
            let mut partners = Partners::new(scan, context)?;
            partners.ask(&asked);
            let scan = ParallelScan::new(scan, parts, Vec::new());
            return Ok(Box::new(scan.among(&partners.among)));
        }
        Physical::Project(project) => {
            let asked = below(&project.expressions, asked);
            Box::new(Project::new(project, build_asked(&project.input, asked, context)?))
        }
        Physical::Filter(filter) => {
            Box::new(Filter::new(filter, build_asked(&filter.input, asked, context)?))
        }
        Physical::Aggregate(node) if node.run.is_empty() && node.sets.is_none() => {
            let asked = below(&node.groups, asked);
            let input = match pipeline::of(&node.input, context)? {
                Some(pipeline) => {
                    let pipeline = pipeline.grouped(node, context).asked(asked);
                    Input::Parts(Box::new(pipeline))
                }
                None => Input::Rows(build_asked(&node.input, asked, context)?),
            };
            Box::new(Grouping::new(node, input))
        }
        other => return build(other, context),
    };
    Ok(timed(plan.node(), running, context))
}

/// Whether a plan has the same result for a sort above it if its scan leaves out rows that the sort
/// drops, whenever that begins: it hands rows on one by one, and no expression fails for some.
pub(super) fn may_drop_rows(plan: &Physical) -> bool {
    let fails = |expressions: &[Expr]| expressions.iter().any(Expr::may_fail);
    match plan {
        Physical::Scan(scan) => !fails(&scan.filters),
        Physical::Project(project) => !fails(&project.expressions) && may_drop_rows(&project.input),
        Physical::Filter(filter) => !fails(&filter.terms) && may_drop_rows(&filter.input),
        Physical::HashJoin(join) => {
            !fails(&join.left_keys) && !fails(&join.residual) && may_drop_rows(&join.left)
        }
        _ => false,
    }
}

/// Whether rows of a plan come from a scan that leaves out rows by their keys.
pub(super) fn reads_columns(plan: &Physical) -> bool {
    match plan {
        Physical::Scan(scan) => !scan.relation.columns_indexes.is_empty(),
        Physical::Project(project) => reads_columns(&project.input),
        Physical::Filter(filter) => reads_columns(&filter.input),
        Physical::HashJoin(join) => reads_columns(&join.left),
        Physical::Aggregate(node) => reads_columns(&node.input),
        _ => false,
    }
}

/// What is asked of an input whose columns these expressions are.
fn below(expressions: &[Expr], asked: Vec<Asked>) -> Vec<Asked> {
    let asked = asked.into_iter().filter_map(|own| match expressions.get(own.at)? {
        Expr::Column(column) => Some(Asked { at: column.id.0 as usize, ..own }),
        _ => None,
    });
    asked.collect()
}

/// What the operators of a pipeline tell about its scan: the rows that find partners, and the columns
/// that nothing reads but the grouping above.
pub(super) struct Partners<'s> {
    scan: &'s physical::Scan,
    /// The columns at the current stage.
    columns: Vec<StageColumn>,
    pub(super) among: Vec<Among>,
    /// The columns of the relation that must come as all operators read them.
    read: Vec<usize>,
}

/// What a column at a stage is made of.
#[derive(Clone, Default)]
struct StageColumn {
    /// The column of the relation that it is.
    is: Option<usize>,
    /// The columns of the relation that are in it as they came.
    of: Vec<usize>,
}

impl<'s> Partners<'s> {
    /// # Errors
    /// Errors of constants in the filters.
    pub(super) fn new(scan: &'s physical::Scan, context: &Context) -> Result<Self> {
        let column = |at: &usize| StageColumn { is: Some(*at), of: vec![*at] };
        let columns = scan.columns.iter().map(column).collect();
        let mut partners = Self { scan, columns, among: Vec::new(), read: Vec::new() };
        partners.note_read(&unchecked(scan, context)?);
        Ok(partners)
    }

    pub(super) fn note_read<'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expr>) {
        for ColumnId(at) in expressions.into_iter().flat_map(Expr::columns) {
            let column = self.columns.get(at as usize);
            self.read.extend(column.into_iter().flat_map(|column| &column.of));
        }
    }

    /// The columns that may come as they are stored: texts, also those of lists, that are only grouped
    /// by or of which different ones are counted, and decimals of which there are only exact sums.
    pub(super) fn as_stored(&mut self, grouping: &physical::Grouping) -> Vec<usize> {
        for group in &grouping.groups {
            if !matches!(group, Expr::Column(column) if column.ty == ColumnType::Text) {
                self.note_read([group]);
            }
        }
        for aggregate in &grouping.aggregates {
            match &aggregate.arguments[..] {
                [argument] if aggregate.adds_digits() => {
                    self.digits(argument);
                    self.note_read(&aggregate.filter);
                }
                [Expr::Column(column)] if aggregate.counts_texts(&column.ty) => {
                    self.note_read(&aggregate.filter);
                }
                _ => self.note_read(aggregate.expressions()),
            }
        }
        let mut columns = self.scan.columns.clone();
        columns.retain(|column| {
            let ty = self.scan.relation.column_type(*column);
            let is_fit = match ty {
                ColumnType::Text | ColumnType::Decimal { .. } => true,
                ColumnType::List(element) => **element == ColumnType::Text,
                _ => false,
            };
            is_fit && !self.read.contains(column)
        });
        columns
    }

    /// The columns of the relation whose decimals an expression may take with 64 bits. Others that
    /// it reads are noted.
    fn digits(&mut self, expression: &Expr) -> Vec<usize> {
        match expression {
            Expr::Column(column) if matches!(column.ty, ColumnType::Decimal { .. }) => {
                let column = self.columns.get(column.id.0 as usize);
                column.map(|column| column.of.clone()).unwrap_or_default()
            }
            Expr::Cast { input, to, is_try: false, .. } if is_widened(&input.ty(), to) => {
                self.digits(input)
            }
            Expr::Arithmetic {
                op: Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply,
                left,
                right,
                ty: ColumnType::Decimal { .. },
                ..
            } => {
                let mut columns = self.digits(left);
                columns.extend(self.digits(right));
                columns
            }
            other => {
                self.note_read([other]);
                Vec::new()
            }
        }
    }

    pub(super) fn project(&mut self, expressions: &[Expr]) {
        let column = |expression: &Expr| match expression {
            Expr::Column(column) => {
                self.columns.get(column.id.0 as usize).cloned().unwrap_or_default()
            }
            computed => StageColumn { is: None, of: self.digits(computed) },
        };
        self.columns = expressions.iter().map(column).collect();
    }

    /// Adds the keys of a join's right side. Only rows of columns are left out by their keys.
    pub(super) fn join(
        &mut self,
        join: &physical::KeyJoin,
        probe: &Probe,
        context: &Context,
    ) -> Result<()> {
        self.note_read(join.left_keys.iter().chain(&join.residual));
        if !self.scan.relation.columns_indexes.is_empty() {
            self.ask(&probe.asked(context)?);
        }
        // Columns of the right are none of the scan.
        self.columns.resize_with(join.left_types.len(), StageColumn::default);
        if join.kind.has_right() {
            let count = join.left_types.len() + join.right_types.len();
            self.columns.resize_with(count, StageColumn::default);
        }
        Ok(())
    }

    /// Adds the elements of lists. They are of the lists as they came.
    pub(super) fn unnest(&mut self, apply: &physical::Apply) {
        let list = unnested_column(apply).filter(|_| apply.kind == JoinKind::Inner);
        let of = match list {
            Some(list) => self.columns.get(list.id.0 as usize).map(|list| list.of.clone()),
            None => None,
        };
        if of.is_none() {
            self.note_read(&apply.outer);
        }
        let of = of.unwrap_or_default();
        let elements = apply.right_types.iter().map(|_| StageColumn { is: None, of: of.clone() });
        self.columns.extend(elements);
        self.note_read(&apply.terms);
    }

    /// Adds values that are asked of the rows at the current stage.
    pub(super) fn ask(&mut self, asked: &[Asked]) {
        for Asked { at, values } in asked {
            if let Some(column) = self.columns.get(*at).and_then(|column| column.is) {
                self.among.push(Among { column, values: values.clone() });
            }
        }
    }
}

/// Whether a cast changes nothing about the digits of a decimal.
fn is_widened(from: &ColumnType, to: &ColumnType) -> bool {
    match (from, to) {
        (
            ColumnType::Decimal { precision: own, scale: own_scale },
            ColumnType::Decimal { precision, scale },
        ) => own_scale == scale && own <= precision,
        _ => false,
    }
}
