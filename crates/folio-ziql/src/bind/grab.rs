//! Binds GRAB: source, filter, order, limit, shape.

use folio_compute::type_rules::is_integer;
use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::coerce::by_order;
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::SortKey;
use folio_types::ColumnType;

use super::{Binder, Rows};
use crate::ast::{Filter, Grab, Limit, Name, Order, Source};

/// A plan and the names of its columns.
pub(super) type Answer = (Plan, Vec<String>);

impl Binder<'_> {
    /// Binds a GRAB.
    pub(super) fn grab(&mut self, grab: &Grab) -> Result<Answer> {
        let fields = grab.fields();
        let mut rows = self.source(&grab.source, grab.filter.as_ref())?;
        if !grab.by.is_empty() || fields.is_some_and(super::group::has_aggregate) {
            return self.grouped_answer(rows, grab, fields.unwrap_or_default());
        }
        self.ordered(&mut rows, &grab.order)?;
        self.limit(&mut rows, grab.limit())?;
        let outputs = self.shape(&mut rows, fields)?;
        Ok(self.project(rows.plan, outputs))
    }

    /// The keys of the entities a GRAB finds, in its order.
    pub(super) fn grab_keys(&mut self, grab: &Grab, span: Span) -> Result<(Plan, String)> {
        let fields = grab.fields();
        if !grab.by.is_empty() || fields.is_some_and(super::group::has_aggregate) {
            let error = Error::invalid("an aggregate is not a set of entities");
            return Err(error.at(span).help("only the last statement of a chain may return one"));
        }
        let mut rows = self.source(&grab.source, grab.filter.as_ref())?;
        self.ordered(&mut rows, &grab.order)?;
        self.limit(&mut rows, grab.limit())?;
        // Keys do not need the shape; it is bound only to check it.
        self.shape(&mut rows.clone(), fields)?;
        let key = rows.row.key(span)?;
        let name = rows.row.entity.name().to_owned();
        let column = self.binding.column("id", key.ty());
        Ok((Plan::Project { input: Box::new(rows.plan), outputs: vec![(column, key)] }, name))
    }

    /// Projects a plan to named columns.
    pub(super) fn project(&mut self, plan: Plan, outputs: Vec<(String, Expr)>) -> Answer {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (name, value) in outputs {
            columns.push((self.binding.column(&name, value.ty()), value));
            names.push(name);
        }
        (Plan::Project { input: Box::new(plan), outputs: columns }, names)
    }

    /// The entities of a source that pass the statement's own condition.
    pub(super) fn source(&mut self, source: &Source, filter: Option<&Filter>) -> Result<Rows> {
        let entity = self.entity(&source.entity.text, source.entity.span)?;
        let mut rows = self.all(&entity);
        for (filter, link) in &source.hops {
            if let Some(filter) = filter {
                self.filter(&mut rows, filter)?;
            }
            rows = self.follow_link(rows, link)?;
        }
        if let Some(filter) = filter {
            self.filter(&mut rows, filter)?;
        }
        Ok(rows)
    }

    /// The distinct entities that a link of `rows` leads to.
    fn follow_link(&mut self, rows: Rows, link: &Name) -> Result<Rows> {
        let member = rows.row.entity.find(&link.text, link.span)?;
        if member.kind.target().is_none() {
            let error = Error::mismatch(format!("`{}` is not a link", link.text));
            return Err(error.at(link.span).help("only links can be followed"));
        }
        let row = rows.row.clone();
        let mut reached = self.fetch(rows.plan, &row, &member.kind, link.span)?;
        let key = reached.row.key(link.span)?;
        let on = Some(vec![key.clone()]);
        reached.wrap(|input| Plan::Distinct { input, on });
        reached.natural = vec![key];
        Ok(reached)
    }

    /// Sorts the rows as asked, ties by key.
    pub(super) fn ordered(&mut self, rows: &mut Rows, order: &[Order]) -> Result<()> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let expression = self.path_value(rows, &key.path)?;
            let ty = expression.ty();
            if !ty.is_ordered() && ty != ColumnType::Json {
                let (name, ty) = (key.path.text(), member_type_name(&ty));
                let error = Error::mismatch(format!("`{name}` is {ty}, which has no order"));
                return Err(error.at(key.path.span()));
            }
            keys.push(sort_key(expression, key.descending));
        }
        rows.sort(keys);
        Ok(())
    }

    /// Limits the rows.
    pub(super) fn limit(&mut self, rows: &mut Rows, limit: Option<&Limit>) -> Result<()> {
        let Some((limit, offset)) = self.limit_of(rows, limit)? else { return Ok(()) };
        rows.wrap(|input| Plan::Limit { input, limit: Some(limit), offset, ties: Vec::new() });
        Ok(())
    }

    /// Rows to take and to skip.
    pub(super) fn limit_of(
        &mut self,
        rows: &mut Rows,
        limit: Option<&Limit>,
    ) -> Result<Option<(Expr, Option<Expr>)>> {
        let Some(Limit { take, skip }) = limit else { return Ok(None) };
        let mut count = |syntax| {
            let bound = self.constant(rows, syntax)?;
            match bound {
                Expr::Parameter { index, untyped: true, .. } => {
                    Ok(Expr::Parameter { index, ty: ColumnType::Int64, untyped: false })
                }
                bound if is_integer(&bound.ty()) => Ok(bound),
                bound => {
                    let ty = member_type_name(&bound.ty());
                    let error = Error::mismatch(format!("a limit takes int, not {ty}"));
                    Err(error.at(syntax.span()))
                }
            }
        };
        let (take, skip) = (count(take)?, skip.as_ref().map(count).transpose()?);
        Ok(Some((take, skip)))
    }
}

/// A sort key, JSON by value; `none` comes last in ascending order.
pub(super) fn sort_key(expression: Expr, descending: bool) -> SortKey {
    SortKey { expression: by_order(expression), descending, nulls_first: descending }
}

/// A column as an expression.
pub(super) fn plain(column: &Column) -> Expr {
    Expr::Column(column.clone())
}
