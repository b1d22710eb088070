//! Binds shapes: the fields of an entity and of the targets of its links.
//!
//! A link becomes a branch: a plan over the keys of all parents of a batch. Its rows are
//! nested into one value per parent ([`folio_engine::plan::follow`]).

use std::sync::Arc;

use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::follow::{Branch, Fetch, LimitPerParent, Nest};
use folio_engine::plan::logical::Plan;
use folio_engine::source::entity::{Entity, MemberKind, POSITION, SOURCE, TARGET, index_on};
use folio_types::ColumnType;

use super::expression::member_of;
use super::fields::{Fields, Outputs};
use super::grab::plain;
use super::{Binder, Row, Rows};
use crate::ast::{Field, Name, Nested, Path};

/// A link at the end of a field's path, or within it.
struct LinkPath {
    /// The entity that has the link, or the target of a to-one link.
    row: Row,
    kind: MemberKind,
    /// Path members after the link.
    rest: Vec<Name>,
    span: Span,
}

impl Binder<'_> {
    /// Binds the fields of a shape. Adds branches for links to the rows.
    pub(super) fn shape(&mut self, rows: &mut Rows, fields: Option<&[Field]>) -> Result<Outputs> {
        self.binding.descend(|| Span::NONE)?;
        let (mut answer, mut branches) = (Fields::default(), Vec::new());
        for field in fields.unwrap_or(&[Field::All(Span::NONE)]) {
            match field {
                Field::All(span) => {
                    let entity = Arc::clone(&rows.row.entity);
                    for (member, column) in entity.values() {
                        answer.push(&member.name, rows.row.column(column), *span)?;
                    }
                }
                Field::Value { alias, value } => {
                    let value = self.value(rows, value)?;
                    answer.push(&alias.text, value, alias.span)?;
                }
                Field::Path { alias, path, nested } => {
                    let text = path.text();
                    let names = self.answered_as(rows, alias.as_ref(), path, &text)?;
                    let value = match self.link_path(rows, path)? {
                        Err(value) if nested.is_empty() => value,
                        Err(value) => {
                            answer.push_members(&names, (path, &value), nested)?;
                            continue;
                        }
                        Ok(link_path) => {
                            let branch = self.branch(&names.join("."), &link_path, nested)?;
                            let column = branch.output.clone();
                            branches.push(branch);
                            Expr::Column(column)
                        }
                    };
                    answer.push_at(&names, value, path.span())?;
                }
            }
        }
        if !branches.is_empty() {
            rows.wrap(|input| Plan::Follow { input, branches });
        }
        Ok(answer.finish())
    }

    /// Where a field is in the answer: its name, after the objects that it is in. A path along
    /// links is one name.
    pub(super) fn answered_as<'n>(
        &mut self,
        rows: &Rows,
        alias: Option<&'n Name>,
        path: &'n Path,
        text: &'n str,
    ) -> Result<Vec<&'n str>> {
        Ok(match alias {
            Some(alias) => vec![&alias.text],
            None if self.value_with_members(rows, path)? == Some(0) => {
                path.members.iter().map(|name| &*name.text).collect()
            }
            None => vec![text],
        })
    }

    /// The link that a path leads to, or its value.
    fn link_path(&mut self, rows: &mut Rows, path: &Path) -> Result<Result<LinkPath, Expr>> {
        if self.value_with_members(rows, path)?.is_some() {
            return self.path_value(rows, path).map(Err);
        }
        let at = match self.first_many(rows, path)? {
            Some(at) => at,
            None => path.members.len().saturating_sub(1),
        };
        let walked = Path { members: path.members[..=at].to_vec() };
        let (row, last) = self.owner(rows, &walked)?;
        let member = row.entity.find(&last.text, last.span)?;
        match member.kind {
            MemberKind::Value(column) => Ok(Err(row.column(column))),
            kind => {
                let (rest, span) = (path.members[at + 1..].to_vec(), last.span);
                Ok(Ok(LinkPath { row, kind, rest, span }))
            }
        }
    }

    /// Binds the targets of a link as a column.
    fn branch(&mut self, name: &str, link_path: &LinkPath, nested: &Nested) -> Result<Branch> {
        let key = match link_path.kind {
            MemberKind::One { column, .. } => link_path.row.column(column),
            _ => link_path.row.key(link_path.span)?,
        };
        let number = self.binding.number();
        let parent = self.binding.column("parent", ColumnType::Int64);
        let seed = self.binding.column("key", key.ty());
        let seeds = Plan::WorkTable { number, columns: vec![parent.clone(), seed.clone()] };
        let mut rows =
            self.fetch_by(seeds, &link_path.row.entity, &link_path.kind, &seed, link_path.span)?;
        rows.parent = Some(parent.clone());
        let mut is_many = !matches!(link_path.kind, MemberKind::One { .. });
        for (at, name) in link_path.rest.iter().enumerate() {
            let member = rows.row.entity.find(&name.text, name.span)?;
            if let MemberKind::Value(column) = member.kind {
                if !nested.is_empty() {
                    let path = Path { members: vec![name.clone()] };
                    return Err(no_link(&path, rows.row.entity.column_type(column)));
                }
                let below = &link_path.rest[at + 1..];
                let value = below.iter().try_fold(rows.row.column(column), member_of)?;
                return Ok(self.values_branch(name, key, number, rows, &parent, value));
            }
            is_many |= !matches!(member.kind, MemberKind::One { .. });
            let (row, natural) = (rows.row.clone(), rows.natural.clone());
            rows = self.fetch(rows.plan, &row, &member.kind, name.span)?;
            rows.natural = natural.into_iter().chain(rows.natural).collect();
            rows.parent = Some(parent.clone());
        }
        self.nested(name, key, number, rows, nested, is_many)
    }

    /// Binds a list of values.
    fn values_branch(
        &mut self,
        name: &Name,
        key: Expr,
        number: usize,
        rows: Rows,
        parent: &Column,
        value: Expr,
    ) -> Branch {
        let ty = value.ty();
        let column = self.binding.column(&name.text, ty.clone());
        let outputs = vec![(parent.clone(), plain(parent)), (column, value)];
        let body = Plan::Project { input: Box::new(rows.plan), outputs };
        let output = self.binding.column(&name.text, ColumnType::List(Box::new(ty)));
        Branch { number, key, body, nest: Nest::Values, output }
    }

    /// Binds objects: filter, order, limit and shape.
    fn nested(
        &mut self,
        name: &str,
        key: Expr,
        number: usize,
        mut rows: Rows,
        nested: &Nested,
        is_many: bool,
    ) -> Result<Branch> {
        let fields = nested.fields();
        if let Some(filter) = &nested.filter {
            self.filter(&mut rows, filter)?;
        }
        let seed_type = key.ty();
        let (plan, outputs) = if fields.is_some_and(super::group::has_aggregate) {
            let fields = fields.unwrap_or_default();
            self.grouped_branch(rows, nested, fields, (number, seed_type))?
        } else {
            if nested.filter.is_some() || !nested.order.is_empty() {
                self.ordered(&mut rows, &nested.order)?;
            }
            let limit = self.limit_of(&mut rows, nested.limit())?;
            if let (Some((limit, offset)), Some(parent)) = (limit, rows.parent.clone()) {
                rows.wrap(|input| {
                    Plan::LimitPerParent(Box::new(LimitPerParent {
                        input: *input,
                        parent,
                        limit,
                        offset,
                    }))
                });
            }
            let outputs = self.shape(&mut rows, fields)?;
            let parent = rows.parent.as_ref().map(plain);
            (rows.plan, (parent, outputs))
        };
        let (parent, outputs) = outputs;
        let types = outputs.iter().map(|(name, value)| (name.clone(), value.ty())).collect();
        let object = ColumnType::Struct(types);
        let parent = parent.into_iter().map(|parent| ("parent".to_owned(), parent));
        let (body, _) = self.project(plan, parent.chain(outputs).collect());
        let (nest, ty) = match is_many {
            true => (Nest::Many, ColumnType::List(Box::new(object))),
            false => (Nest::One, object),
        };
        let output = self.binding.column(name, ty);
        Ok(Branch { number, key, body, nest, output })
    }

    /// Joins each row of a plan with the targets of one of its links.
    pub(super) fn fetch(
        &mut self,
        plan: Plan,
        row: &Row,
        kind: &MemberKind,
        span: Span,
    ) -> Result<Rows> {
        let key = match kind {
            MemberKind::One { column, .. } => row.columns[*column].clone(),
            _ => row.columns[row.entity.key(span)?].clone(),
        };
        self.fetch_by(plan, &row.entity, kind, &key, span)
    }

    /// The same by a column that holds the key.
    fn fetch_by(
        &mut self,
        plan: Plan,
        owner: &Arc<Entity>,
        kind: &MemberKind,
        key: &Column,
        span: Span,
    ) -> Result<Rows> {
        let Some(target) = kind.target() else {
            return Err(
                Error::mismatch(format!("this is not a link of `{}`", owner.name())).at(span)
            );
        };
        self.follow(span)?;
        let entity = self.entity(target, span)?;
        match kind {
            MemberKind::One { .. } => {
                let column = entity.key(span)?;
                Ok(self.fetched(plan, &entity, column, key))
            }
            MemberKind::Many { table, .. } => {
                let (plan, pair) = self.pairs(plan, table, SOURCE, key, span)?;
                let column = entity.key(span)?;
                let mut rows = self.fetched(plan, &entity, column, &pair[TARGET]);
                rows.natural = vec![plain(&pair[POSITION])];
                Ok(rows)
            }
            MemberKind::Inverse { link, .. } => match entity.find(link, span)?.kind {
                MemberKind::One { column, .. } => {
                    let mut rows = self.fetched(plan, &entity, column, key);
                    rows.natural = vec![rows.row.key(span)?];
                    Ok(rows)
                }
                MemberKind::Many { table, .. } => {
                    let (plan, pair) = self.pairs(plan, &table, TARGET, key, span)?;
                    let column = entity.key(span)?;
                    let mut rows = self.fetched(plan, &entity, column, &pair[SOURCE]);
                    rows.natural = vec![rows.row.key(span)?];
                    Ok(rows)
                }
                _ => Err(Error::invalid(format!("`{link}` is no longer a link")).at(span)),
            },
            MemberKind::Value(_) => Err(Error::mismatch("this is not a link").at(span)),
        }
    }

    /// Joins rows with the rows of a to-many link's table.
    fn pairs(
        &mut self,
        input: Plan,
        table: &str,
        side: usize,
        key: &Column,
        span: Span,
    ) -> Result<(Plan, Vec<Column>)> {
        let relation = self.binding.relation(table, span)?;
        let columns = self.binding.scan(&relation).columns;
        let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
        let plan = self.fetch_plan(input, &relation, &columns, side, key);
        Ok((plan, columns))
    }

    fn fetched(&mut self, input: Plan, entity: &Arc<Entity>, column: usize, key: &Column) -> Rows {
        let columns = self.binding.scan(&entity.relation).columns;
        let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
        let plan = self.fetch_plan(input, &entity.relation, &columns, column, key);
        Rows::new(plan, Row { entity: Arc::clone(entity), columns })
    }

    fn fetch_plan(
        &mut self,
        input: Plan,
        relation: &Arc<folio_engine::source::Relation>,
        columns: &[Column],
        column: usize,
        key: &Column,
    ) -> Plan {
        let is_key = relation.schema.primary_key.first() == Some(&column);
        Plan::Fetch(Box::new(Fetch {
            input,
            number: self.binding.number(),
            relation: Arc::clone(relation),
            columns: columns.iter().cloned().enumerate().collect(),
            column,
            index: if is_key { None } else { index_on(relation, column) },
            key: plain(key),
        }))
    }
}

/// The error for a shape of what has no members.
pub(super) fn no_link(path: &Path, ty: &ColumnType) -> Error {
    let (name, ty) = (path.text(), member_type_name(ty));
    let error = Error::mismatch(format!("`{name}` is {ty}, not a link")).at(path.span());
    error.help("only links take a shape, a condition or an order")
}
