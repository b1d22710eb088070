//! Binds membership: whether links of an entity lead to other entities.
//!
//! The keys that pass form a separate plan:
//!
//! | link | keys compared with |
//! |---|---|
//! | to-one | the link's column: keys of the targets |
//! | to-many | the entity's key: sources of rows whose target passes |
//! | inverse of a link | the entity's key: what the targets' link holds |
//!
//! A condition that every row must pass becomes a semi or anti join. A condition within OR or
//! NOT becomes a column of marks.

use folio_compute::type_rules::unify;
use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::coerce::{as_json, by_order};
use folio_engine::expression::{Column, Expr, function};
use folio_engine::plan::follow::SemiJoin;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::Comparison;
use folio_engine::source::entity::{MemberKind, SOURCE, TARGET};
use folio_types::{ColumnType, Value};

use super::condition::{inverted, not};
use super::types::as_type;
use super::{Binder, NamedSet, Row, Rows};
use crate::ast::{self, Filter, Name, Path, Set};

/// A bound condition.
#[allow(clippy::large_enum_variant, reason = "there are few, for a moment")]
pub(super) enum Tested {
    /// A boolean.
    Plain(Expr),
    /// Whether a key is among the keys of a plan.
    Among { key: Expr, keys: Plan, column: Column, negated: bool },
}

impl Binder<'_> {
    /// Binds `path IN set`, `path !IN set` and ALLIN.
    pub(super) fn in_condition(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        all: bool,
        negated: bool,
        set: &Set,
    ) -> Result<Tested> {
        if self.grouping.is_some() {
            let tested = Tested::Plain(self.group_among(rows, path, all, set)?);
            return Ok(inverted(tested, negated));
        }
        // A test on `link.member` is about the entity that the link leads to. Without that entity
        // neither the test nor its opposite is true.
        let is_opposite = all || negated;
        let value = self.value_with_members(rows, path)?;
        let last = value.unwrap_or(path.members.len() - 1);
        let many = self.first_many(rows, path)?.filter(|at| *at < last);
        if let Some(at) = many.or((is_opposite && last > 0).then(|| last.saturating_sub(1))) {
            let set = set.clone();
            return self.through(rows, path, at, |path| ast::Expr::In { path, all, negated, set });
        }
        if value.is_some() {
            let value = self.path_value(rows, path)?;
            return Ok(inverted(self.value_in(rows, path, value, None, all, set)?, negated));
        }
        let (row, last) = self.owner(rows, path)?;
        let member = row.entity.find(&last.text, last.span)?;
        let tested = match &member.kind {
            MemberKind::Value(column) => {
                let is_key = row.entity.key(last.span).ok() == Some(*column);
                let own = is_key.then(|| row.entity.name().to_owned());
                self.value_in(rows, path, row.column(*column), own.as_deref(), all, set)?
            }
            kind => self.linked(&row, kind, all, set, last.span)?,
        };
        Ok(inverted(tested, negated))
    }

    /// Whether a link leads to a member of a set. With `all`, whether it leads only to members.
    fn linked(
        &mut self,
        row: &Row,
        kind: &MemberKind,
        all: bool,
        set: &Set,
        span: Span,
    ) -> Result<Tested> {
        let Some(target) = kind.target() else {
            return Err(Error::mismatch("this is not a link").at(span));
        };
        if let (MemberKind::One { column, .. }, Set::Name(name), false) = (kind, set, all) {
            let (key, (keys, column)) = (row.column(*column), self.set_keys(name, target)?);
            return Ok(Tested::Among { key, keys, column, negated: false });
        }
        let targets = self.targets(target, set, all, span)?;
        let (key, keys, column) = self.link_keys(row, kind, targets, span)?;
        Ok(Tested::Among { key, keys, column, negated: all })
    }

    /// The entities of a set. With `complement`, those that are not in it.
    fn targets(&mut self, target: &str, set: &Set, complement: bool, span: Span) -> Result<Rows> {
        self.follow(span)?;
        let entity = self.entity(target, span)?;
        let mut rows = self.all(&entity);
        match set {
            Set::Filter(Filter { condition: None, .. }) => {
                if complement {
                    rows.retain(vec![Expr::boolean(false)]);
                }
            }
            Set::Filter(Filter { condition: Some(condition), .. }) if complement => {
                let condition = ast::Expr::Not(condition.clone(), span);
                self.keep(&mut rows, &condition)?;
            }
            Set::Filter(filter) => self.filter(&mut rows, filter)?,
            Set::Name(name) => {
                let keys = self.set_keys(name, target)?;
                let kind = if complement { JoinKind::Anti } else { JoinKind::Semi };
                rows.retain_among(kind, rows.row.key(span)?, keys);
            }
            Set::List(..) | Set::Parameter(_) => {
                let key = rows.row.key(span)?;
                let within = self.among_values(&mut rows, key, set)?;
                rows.retain(vec![if complement { not(within) } else { within }]);
            }
        }
        Ok(rows)
    }

    /// The expression of an entity and the keys to compare it with, so that its link leads to one
    /// of the targets.
    pub(super) fn link_keys(
        &mut self,
        row: &Row,
        kind: &MemberKind,
        targets: Rows,
        span: Span,
    ) -> Result<(Expr, Plan, Column)> {
        let target_key = targets.row.columns[targets.row.entity.key(span)?].clone();
        let (own, keys, key) = match kind {
            MemberKind::One { column, .. } => (row.column(*column), targets.plan, target_key),
            MemberKind::Many { table, .. } => {
                let (plan, source) =
                    self.pairs_with(table, TARGET, SOURCE, targets.plan, &target_key, span)?;
                (row.key(span)?, plan, source)
            }
            MemberKind::Inverse { link, .. } => {
                let other = targets.row.entity.find(link, span)?;
                match other.kind {
                    MemberKind::One { column, .. } => {
                        let column = targets.row.columns[column].clone();
                        (row.key(span)?, targets.plan, column)
                    }
                    MemberKind::Many { table, .. } => {
                        let (plan, found) = self.pairs_with(
                            &table,
                            SOURCE,
                            TARGET,
                            targets.plan,
                            &target_key,
                            span,
                        )?;
                        (row.key(span)?, plan, found)
                    }
                    _ => {
                        let problem = format!("`{link}` is no longer a link");
                        return Err(Error::invalid(problem).at(span));
                    }
                }
            }
            MemberKind::Value(_) => return Err(Error::mismatch("this is not a link").at(span)),
        };
        Ok((own, keys.only([key.clone()]), key))
    }

    /// The rows of a to-many link with one side among these keys, and the column of the other
    /// side.
    fn pairs_with(
        &mut self,
        table: &str,
        side: usize,
        other: usize,
        keys: Plan,
        key: &Column,
        span: Span,
    ) -> Result<(Plan, Column)> {
        let relation = self.binding.relation(table, span)?;
        let named = self.binding.scan(&relation);
        let column = |index: usize| named.columns[index].1.clone();
        let on =
            Expr::compare(Comparison::Equal, Expr::Column(column(side)), Expr::Column(key.clone()));
        let other = column(other);
        let plan = Plan::Join {
            kind: JoinKind::Semi,
            left: Box::new(named.plan),
            right: Box::new(keys.only([key.clone()])),
            terms: vec![on],
            lateral: false,
        };
        Ok((plan, other))
    }

    /// `path = {…}`: false if the link is none.
    pub(super) fn is_entity(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        negated: bool,
        filter: &Filter,
    ) -> Result<Tested> {
        if self.first_many(rows, path)?.is_some() {
            let error = Error::mismatch(format!("`{}` leads to many entities", path.text()));
            return Err(error.at(path.span()).help("use IN or ALLIN"));
        }
        let tested = self.in_condition(rows, path, false, false, &Set::Filter(filter.clone()))?;
        if !negated {
            return Ok(tested);
        }
        let there = not(Expr::IsNull(Box::new(self.path_value(rows, path)?)));
        let within = match tested {
            Tested::Plain(condition) => condition,
            Tested::Among { key, keys, .. } => self.mark(rows, key, keys),
        };
        Ok(Tested::Plain(Expr::And(vec![there, not(within)])))
    }

    /// A boolean column: whether a key is among the keys of a plan.
    pub(super) fn mark(&mut self, rows: &mut Rows, key: Expr, keys: Plan) -> Expr {
        let output = self.binding.column("mark", ColumnType::Boolean);
        let found = Expr::Column(output.clone());
        rows.wrap(|input| Plan::SemiJoin(Box::new(SemiJoin { input: *input, key, keys, output })));
        found
    }

    /// The keys of a named set, which must be of a struct.
    pub(super) fn set_keys(&mut self, name: &Name, wanted: &str) -> Result<(Plan, Column)> {
        let NamedSet { name: own, entity, key, number } = self.set(name)?;
        if !entity.eq_ignore_ascii_case(wanted) {
            let problem = format!("set `{own}` is of `{entity}`, not of `{wanted}`");
            return Err(Error::mismatch(problem).at(name.span));
        }
        self.follow(name.span)?;
        let column = self.binding.column(&own, key);
        Ok((Plan::WorkTable { number, columns: vec![column.clone()] }, column))
    }

    /// `x IN [list]`, `array IN [list]`, `array ALLIN [list]`, `id IN set`. `own` is the struct
    /// whose key the value is, if it is one.
    fn value_in(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        value: Expr,
        own: Option<&str>,
        all: bool,
        set: &Set,
    ) -> Result<Tested> {
        let span = path.span();
        match set {
            Set::Filter(_) => {
                let (name, ty) = (path.text(), member_type_name(&value.ty()));
                let error = Error::mismatch(format!("`{name}` is {ty}, not a link"));
                Err(error.at(span).help("braces after IN are a condition on linked entities"))
            }
            Set::Name(name) => {
                self.set(name)?;
                let Some(own) = own else {
                    let error = Error::mismatch(format!("`{}` is not a link", path.text()));
                    return Err(error.at(span));
                };
                let (keys, column) = self.set_keys(name, own)?;
                Ok(Tested::Among { key: value, keys, column, negated: false })
            }
            set => self.value_among(rows, value, all, set).map(Tested::Plain),
        }
    }

    /// Whether a list contains a value. For an array, whether it contains any element, or all.
    fn value_among(&mut self, rows: &mut Rows, value: Expr, all: bool, set: &Set) -> Result<Expr> {
        if matches!(value.as_literal(), Some(Value::Null)) {
            return Ok(Expr::null(ColumnType::Boolean)); // of an open collection
        }
        if value.ty() == ColumnType::Json {
            return self.json_among(rows, value, all, set);
        }
        if !matches!(value.ty(), ColumnType::List(_)) {
            return self.among_values(rows, value, set);
        }
        let span = set.span();
        let list = self.set_value(rows, set)?;
        let (value, list) = by_value(value, list, span)?;
        match all {
            true => function::resolve("array_contains_all", vec![list, value], span),
            false => function::resolve("array_overlap", vec![value, list], span),
        }
    }

    /// The same for JSON, by value: an array in it is one value.
    fn json_among(&mut self, rows: &mut Rows, value: Expr, all: bool, set: &Set) -> Result<Expr> {
        let (Set::List(items, _), false) = (set, all) else {
            let error = Error::mismatch("IN applies to json with a list of values");
            return Err(error.at(set.span()).help(super::types::JSON_HELP));
        };
        let key = |side| as_json(side).map(by_order);
        let list = items.iter().map(|item| key(self.constant(rows, item)?));
        let list = list.collect::<Result<_>>()?;
        Ok(Expr::InList { input: Box::new(key(value)?), list })
    }

    /// The same for a group key.
    fn group_among(&mut self, rows: &mut Rows, path: &Path, all: bool, set: &Set) -> Result<Expr> {
        let value = self.grouped(path)?;
        match set {
            Set::List(..) | Set::Parameter(_) => self.value_among(rows, value, all, set),
            Set::Filter(_) | Set::Name(_) => Err(no_entities(set.span())),
        }
    }

    /// Whether a value equals an item of a list.
    fn among_values(&mut self, rows: &mut Rows, value: Expr, set: &Set) -> Result<Expr> {
        let ty = value.ty();
        match set {
            Set::List(items, _) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let bound = self.constant(rows, item)?;
                    // Items of other types compare by value: int with float, date with datetime.
                    let span = item.span();
                    let (value, bound) = ((value.clone(), span), (bound, span));
                    let (_, item) = super::types::pair(value, bound, span)?;
                    list.push(item);
                }
                let widest = list.iter().map(Expr::ty).find(|item| *item != ty).unwrap_or(ty);
                let list = list.into_iter().map(|item| super::types::widened(item, &widest));
                let list = list.collect();
                let input = Box::new(super::types::widened(value, &widest));
                Ok(Expr::InList { input, list })
            }
            set => {
                let span = set.span();
                let list = self.set_value(rows, set)?;
                let element = match list.ty() {
                    ColumnType::List(element) if !list.is_untyped() => unify(&ty, &element),
                    _ => None,
                };
                let element = element.unwrap_or(ty);
                let value = super::types::widened(value, &element);
                let list = as_type(list, &ColumnType::List(Box::new(element)), "IN", span)?;
                function::resolve("array_contains", vec![list, value], span)
            }
        }
    }

    /// The values of a list or a parameter.
    fn set_value(&mut self, rows: &mut Rows, set: &Set) -> Result<Expr> {
        match set {
            Set::List(items, span) => self.constant(rows, &ast::Expr::List(items.clone(), *span)),
            Set::Parameter(name) => self.parameter(name),
            Set::Filter(filter) => Err(Error::mismatch("expected a list").at(filter.span)),
            Set::Name(name) => Err(Error::mismatch("expected a list").at(name.span)),
        }
    }
}

/// Converts an array and a list to one type, so that an int equals a float of the same value.
fn by_value(value: Expr, list: Expr, span: Span) -> Result<(Expr, Expr)> {
    let ty = value.ty();
    let common = if list.is_untyped() { None } else { unify(&ty, &list.ty()) };
    let common = common.unwrap_or(ty);
    let list = as_type(list, &common, "IN", span)?;
    Ok((super::types::widened(value, &common), list))
}

/// The error for a condition on a group that asks for entities.
pub(super) fn no_entities(span: Span) -> Error {
    let error = Error::invalid("a group has no entities to test").at(span);
    error.help("test them before they are grouped, in the braces of the statement")
}
