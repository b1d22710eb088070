//! Binds what statements assign to members: values, and entities for links.

use folio_compute::{Error, Result, Span};
use folio_engine::bound::entity::{GivenEntities, Linked, MemberValue};
use folio_engine::expression::{Expr, function};
use folio_engine::plan::logical::Plan;
use folio_engine::source::entity::Member;
use folio_types::{ColumnType, Value};

use super::types::as_type;
use super::{Binder, Rows};
use crate::ast::{self, Filter, Given, Name};

impl Binder<'_> {
    pub(super) fn constant_of(
        &mut self,
        rows: &mut Rows,
        given: &Given,
        member: &Member,
        ty: &ColumnType,
    ) -> Result<Expr> {
        match given {
            Given::Value(syntax) => {
                let value = self.constant(rows, syntax)?;
                as_type(value, ty, &format!("`{}`", member.name), syntax.span())
            }
            Given::Entities { filter, .. } => {
                let error = Error::mismatch(format!("`{}` is not a link", member.name));
                Err(error.at(filter.span))
            }
        }
    }

    /// The new target of a to-one link.
    pub(super) fn one(
        &mut self,
        rows: &mut Rows,
        given: &Given,
        member: &Member,
        target: &str,
        ty: &ColumnType,
    ) -> Result<MemberValue<Plan>> {
        match given {
            Given::Entities { limit, filter } => {
                self.given_rows(target, limit.as_ref(), filter).map(MemberValue::Entity)
            }
            Given::Value(syntax) => {
                if let Some(name) = self.set_named(rows, syntax) {
                    return self.given_set(&name, target).map(MemberValue::Entity);
                }
                let value = match rows.row.columns.is_empty() {
                    true => self.constant(rows, syntax)?,
                    false => self.value(rows, syntax)?,
                };
                let place = format!("link `{}`", member.name);
                as_type(value, ty, &place, syntax.span()).map(MemberValue::Value).map_err(|error| {
                    error.help("give it a uuid, none, a set or a condition: `{name = 'Bob'}`")
                })
            }
        }
    }

    /// The new targets of a to-many link.
    pub(super) fn many(
        &mut self,
        rows: &mut Rows,
        given: &Given,
        member: &Member,
        target: &str,
    ) -> Result<Linked<Plan>> {
        let syntax = match given {
            Given::Entities { limit, filter } => {
                return self.given_rows(target, limit.as_ref(), filter).map(Linked::Rows);
            }
            Given::Value(syntax) => syntax,
        };
        if let Some(name) = self.set_named(rows, syntax) {
            return self.given_set(&name, target).map(Linked::Rows);
        }
        let entity = self.entity(target, syntax.span())?;
        let key = entity.column_type(entity.key(syntax.span())?).clone();
        let none = ColumnType::List(Box::new(key.clone()));
        if matches!(syntax, ast::Expr::None(_)) {
            return Ok(Linked::Keys(Expr::literal(Value::List(Vec::new()), none)));
        }
        let value = self.constant(rows, syntax)?;
        let place = format!("link `{}`", member.name);
        listed(value, &key, &place, syntax.span()).map(Linked::Keys).map_err(|error| {
            error.help("give it uuids, none, a set or a condition: `{name = 'Bob'}`")
        })
    }

    /// The name of a set, if the syntax is a name and not a member.
    fn set_named(&self, rows: &Rows, syntax: &ast::Expr) -> Option<Name> {
        let ast::Expr::Path(path) = syntax else { return None };
        let [only] = &path.members[..] else { return None };
        let is_member =
            !rows.row.columns.is_empty() && rows.row.entity.member(&only.text).is_some();
        (!is_member && self.set(only).is_ok()).then(|| only.clone())
    }

    fn given_set(&mut self, name: &Name, target: &str) -> Result<GivenEntities<Plan>> {
        let (plan, _) = self.apart(|binder| binder.set_keys(name, target))?;
        Ok(GivenEntities { plan, entity: target.to_owned(), span: name.span })
    }

    fn given_rows(
        &mut self,
        target: &str,
        limit: Option<&ast::Expr>,
        filter: &Filter,
    ) -> Result<GivenEntities<Plan>> {
        let entity = self.entity(target, filter.span)?;
        let mut rows = self.all(&entity);
        self.apart(|binder| {
            binder.filter(&mut rows, filter)?;
            binder.ordered(&mut rows, &[])?;
            let limit = limit.map(|take| ast::Limit { take: take.clone(), skip: None });
            binder.limit(&mut rows, limit.as_ref())
        })?;
        let key = rows.row.key(filter.span)?;
        let column = self.binding.column("id", key.ty());
        let plan = Plan::Project { input: Box::new(rows.plan), outputs: vec![(column, key)] };
        Ok(GivenEntities { plan, entity: target.to_owned(), span: filter.span })
    }
}

/// A value as a list; a single value becomes a list of one.
pub(super) fn listed(value: Expr, element: &ColumnType, place: &str, span: Span) -> Result<Expr> {
    let list = ColumnType::List(Box::new(element.clone()));
    if matches!(value.ty(), ColumnType::List(_)) {
        return as_type(value, &list, place, span);
    }
    let value = as_type(value, element, place, span)?;
    match value.as_literal() {
        Some(only) => Ok(Expr::literal(Value::List(vec![only.clone()]), list)),
        None => function::resolve("array", vec![value], span),
    }
}
