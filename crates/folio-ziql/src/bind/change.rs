//! Binds ADD, UPDATE and DELETE: new values of members, and new targets of links.

use std::collections::BTreeSet;
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::entity::{
    EntityAdd, EntityChange, EntityLink, EntityRow, GivenEntities, IfTaken, LinkEdit, LiteralRows,
    MemberValue, NewEntity,
};
use folio_engine::bound::{self, Returning};
use folio_engine::expression::{Expr, function};
use folio_engine::plan::logical::Plan;
use folio_engine::source::entity::{Entity, Member, MemberKind};
use folio_engine::source::{Relation, RelationKind};
use folio_types::{ColumnType, Value};

use super::given::listed;
use super::literals::{BufferedRows, Places};
use super::types::{as_type, compute};
use super::{Binder, Row, Rows};
use crate::ast::{self, Add, Change, Delete, Given, Item, Name, Target, Tuple, Tuples, Update};

impl Binder<'_> {
    /// Binds ADD.
    pub(super) fn add(&mut self, add: &Add) -> Result<EntityAdd<Plan>> {
        let entity = self.entity(&add.entity.text, add.entity.span)?;
        let key = changeable(&entity, add.entity.span)?;
        let first: Vec<Option<&Name>> = match add.tuples.first() {
            Some(Tuples::One(tuple)) => tuple.items.iter().map(|i| i.member.as_ref()).collect(),
            _ => Vec::new(),
        };
        let rules = self.binding.rules(&entity.relation)?;
        let places = match add.if_taken {
            IfTaken::Fail if rules.checks.is_empty() => self.places(&entity, key, &first)?,
            _ => None,
        };
        let mut rows = Vec::with_capacity(add.tuples.len());
        let mut defaults = vec![None; entity.relation.schema.columns.len()];
        let mut tuple_places = add.buffer.tuple_places();
        let mut bound = |binder: &mut Self, tuple: &Tuple| -> Result<NewEntity<Plan>> {
            let row = binder.add_row(&entity, key, tuple, &first, &mut defaults)?;
            Ok(NewEntity::Given(Box::new(row)))
        };
        for tuples in &add.tuples {
            let mut rest = match tuples {
                Tuples::One(tuple) => {
                    rows.push(bound(self, tuple)?);
                    continue;
                }
                Tuples::Literals(range) => range.clone(),
            };
            while !rest.is_empty() {
                let fits = |places: &Places| places.fitting(&add.buffer, rest.clone());
                let end = places.as_ref().map_or(rest.start, fits);
                if end > rest.start {
                    rows.push(NewEntity::Literals(rest.start..end));
                } else {
                    rows.push(bound(self, &tuple_places.tuple(end)?)?);
                }
                rest.start = end.max(rest.start + 1);
            }
        }
        let table = Arc::clone(&entity.relation);
        let buffer = Arc::clone(&add.buffer);
        let literals = places.map(|places| Arc::new(BufferedRows { buffer, places }));
        let literals = literals.map(|rows| rows as Arc<dyn LiteralRows>);
        let names = table.constraints.references.iter().flat_map(|reference| &reference.columns);
        let pointing = names.filter_map(|name| table.column_index(name)).collect();
        Ok(EntityAdd { table, key, pointing, rows, literals, if_taken: add.if_taken, rules })
    }

    fn add_row(
        &mut self,
        entity: &Arc<Entity>,
        key: usize,
        tuple: &Tuple,
        first: &[Option<&Name>],
        defaults: &mut [Option<Expr>],
    ) -> Result<EntityRow<Plan>> {
        let mut rows = Rows::new(Plan::OneRow, Row { entity: Arc::clone(entity), columns: vec![] });
        let width = entity.relation.schema.columns.len();
        let mut values: Vec<Option<MemberValue<Plan>>> = (0..width).map(|_| None).collect();
        let (mut given, mut links, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (at, item) in tuple.items.iter().enumerate() {
            let member = self.item_member(entity, item, first.get(at).copied().flatten(), tuple)?;
            once(&mut seen, &member, item, tuple.span)?;
            let Change::Set(value) = &item.change else {
                let error = Error::invalid("ADD only sets values");
                return Err(error.at(item_span(item, tuple.span)).help("write `member = value`"));
            };
            refuse_computed(entity, &member, item_span(item, tuple.span))?;
            match &member.kind {
                MemberKind::Value(column) => {
                    let ty = entity.column_type(*column).clone();
                    let value = self.constant_of(&mut rows, value, &member, &ty)?;
                    values[*column] = Some(MemberValue::Value(value));
                    given.push(*column);
                }
                MemberKind::One { column, target } => {
                    let ty = entity.column_type(*column).clone();
                    values[*column] = Some(self.one(&mut rows, value, &member, target, &ty)?);
                    given.push(*column);
                }
                MemberKind::Many { table, target } => {
                    let given = self.many(&mut rows, value, &member, target)?;
                    links.push((self.binding.relation(table, tuple.span)?, given));
                }
                MemberKind::Inverse { .. } => return Err(computed(&member, item, tuple.span)),
            }
        }
        let values = self.with_defaults(entity, key, values, defaults, tuple.span)?;
        Ok(EntityRow { values, given, links, span: tuple.span })
    }

    /// The member of an item: by its name, or by its position in the first tuple.
    fn item_member(
        &mut self,
        entity: &Entity,
        item: &Item,
        place: Option<&Name>,
        tuple: &Tuple,
    ) -> Result<Member> {
        let span = item_span(item, tuple.span);
        match (item.member.as_ref().or(place), compared(&item.change)) {
            (Some(name), _) => entity.find(&name.text, name.span).map_err(|error| error.at(span)),
            (None, Some(path)) => {
                let whole = &path.members[0].text;
                let error = Error::unsupported(format!("a member of `{whole}` is not set alone"));
                Err(error.at(path.span()).help(format!("set all of it: `{whole} = value`")))
            }
            (None, None) => {
                let error = Error::syntax("expected `member = value`, found a value alone");
                Err(error.at(span).help("only later tuples follow the order of the first"))
            }
        }
    }

    /// Adds defaults for members that are not given, binding each default once. What is assigned or
    /// computed later is null.
    fn with_defaults(
        &mut self,
        entity: &Entity,
        key: usize,
        values: Vec<Option<MemberValue<Plan>>>,
        defaults: &mut [Option<Expr>],
        span: Span,
    ) -> Result<Vec<MemberValue<Plan>>> {
        let (schema, constraints) = (&entity.relation.schema, &entity.relation.constraints);
        let mut all = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let column = &schema.columns[index];
            let is_numbered = constraints.identity.contains_key(&column.name)
                || (index == key && column.column_type == ColumnType::Uuid);
            let has_default = constraints.defaults.contains_key(&column.name);
            let is_computed = constraints.generated.contains_key(&column.name);
            all.push(match value {
                Some(value) => value,
                None if is_computed || (is_numbered && !(has_default && index != key)) => {
                    MemberValue::Value(Expr::null(column.column_type.clone()))
                }
                None if has_default || column.nullable => {
                    let default = match defaults[index].take() {
                        Some(known) => known,
                        None => self.binding.default_of(&entity.relation, index)?,
                    };
                    defaults[index] = Some(default.clone());
                    MemberValue::Value(default)
                }
                None => {
                    let (own, name) = (entity.name(), &column.name);
                    let error = Error::invalid(format!("member `{name}` of `{own}` is not given"));
                    return Err(error.at(span).help("it has no default and is not optional"));
                }
            });
        }
        Ok(all)
    }

    /// Binds UPDATE.
    pub(super) fn update(&mut self, update: &Update) -> Result<EntityChange<Plan>> {
        let (mut rows, key) = self.targets_of(&update.target)?;
        let entity = Arc::clone(&rows.row.entity);
        let (mut changes, mut entities, mut links) = (Vec::new(), Vec::new(), Vec::new());
        let (mut seen, mut places) = (Vec::new(), Vec::new());
        for item in &update.tuple.items {
            let member = self.item_member(&entity, item, None, &update.tuple)?;
            let span = item_span(item, update.tuple.span);
            once(&mut seen, &member, item, update.tuple.span)?;
            refuse_computed(&entity, &member, span)?;
            if matches!(member.kind, MemberKind::Value(_) | MemberKind::One { .. }) {
                places.push((member.name.clone(), span));
            }
            match &member.kind {
                MemberKind::Value(column) if *column == key => {
                    let error = Error::invalid("the key of an entity cannot change");
                    return Err(error.at(span).help("add another entity, and delete this one"));
                }
                MemberKind::Value(column) => {
                    changes.push((*column, self.changed(&mut rows, &member, *column, item)?));
                }
                MemberKind::One { column, target } => {
                    let Change::Set(value) = &item.change else {
                        let error = Error::mismatch(format!("`{}` is one entity", member.name));
                        return Err(error.at(span).help("write `member = value`"));
                    };
                    let ty = entity.column_type(*column).clone();
                    let value = match self.one(&mut rows, value, &member, target, &ty)? {
                        MemberValue::Value(value) => value,
                        MemberValue::Entity(given) => {
                            entities.push(given);
                            let index = self.given.types.len() + entities.len() - 1;
                            Expr::Parameter { index, ty, untyped: false }
                        }
                    };
                    changes.push((*column, value));
                }
                MemberKind::Many { table, target } => {
                    let table = self.binding.relation(table, span)?;
                    let edit = self.link_edit(&mut rows, &member, target, item)?;
                    links.push(EntityLink { table, edit, span });
                }
                MemberKind::Inverse { .. } => {
                    return Err(computed(&member, item, update.tuple.span));
                }
            }
        }
        let plan = self.change_plan(rows, key, changes, entities, links)?;
        Ok(EntityChange { places, ..plan })
    }

    /// Binds DELETE.
    pub(super) fn delete(&mut self, delete: &Delete) -> Result<EntityChange<Plan>> {
        let (rows, key) = self.targets_of(&delete.target)?;
        let mut plan = self.change_plan(rows, key, Vec::new(), Vec::new(), Vec::new())?;
        let read = self.columns_pointed_at(&plan.rows.table)?;
        if let Plan::Project { outputs, .. } = &mut plan.rows.input {
            let mut all = (0..).zip(std::mem::take(outputs));
            outputs.extend(all.by_ref().filter(|(at, _)| read.contains(at)).map(|(_, one)| one));
        }
        plan.rows.read = Some(read);
        Ok(plan)
    }

    /// The columns of a table's key, and those that other tables reference. A deletion reads only
    /// these.
    fn columns_pointed_at(&self, table: &Relation) -> Result<Vec<usize>> {
        let mut read: BTreeSet<usize> = table.schema.primary_key.iter().copied().collect();
        for other in &*self.binding.source.referrers(table)? {
            let references = other.constraints.references.iter();
            let names = references.flat_map(|reference| &reference.target);
            read.extend(names.filter_map(|name| table.column_index(name)));
        }
        Ok(read.into_iter().collect())
    }

    /// The entities that a statement changes, in its order.
    fn targets_of(&mut self, target: &Target) -> Result<(Rows, usize)> {
        let mut rows = self.source(&target.source, Some(&target.filter))?;
        let key = changeable(&rows.row.entity, target.source.entity.span)?;
        self.ordered(&mut rows, &[])?;
        self.limit(&mut rows, target.limit.as_ref())?;
        Ok((rows, key))
    }

    fn change_plan(
        &mut self,
        rows: Rows,
        key: usize,
        changes: Vec<(usize, Expr)>,
        entities: Vec<GivenEntities<Plan>>,
        links: Vec<EntityLink<Plan>>,
    ) -> Result<EntityChange<Plan>> {
        let table = Arc::clone(&rows.row.entity.relation);
        let rules = self.binding.rules(&table)?;
        let old = (0..rows.row.columns.len()).map(|index| rows.row.column(index));
        let (changed, new): (Vec<usize>, Vec<Expr>) = changes.into_iter().unzip();
        let outputs: Vec<_> =
            old.chain(new).map(|value| (self.binding.column("value", value.ty()), value)).collect();
        let input = Plan::Project { input: Box::new(rows.plan), outputs };
        let returning = Some(Returning::key_of(&table, key));
        let rows = bound::Change { table, input, changed, rules, returning, read: None };
        Ok(EntityChange { rows, key, entities, links, places: Vec::new() })
    }

    /// The new value of a member that is a value or an array.
    fn changed(
        &mut self,
        rows: &mut Rows,
        member: &Member,
        column: usize,
        item: &Item,
    ) -> Result<Expr> {
        let (old, ty) = (rows.row.column(column), rows.row.entity.column_type(column).clone());
        let place = format!("`{}`", member.name);
        let span = item_span(item, Span::NONE);
        let value = |binder: &mut Self, rows: &mut Rows, given: &Given| match given {
            Given::Value(syntax) => Ok((binder.value(rows, syntax)?, syntax.span())),
            Given::Entities { filter, .. } => {
                Err(Error::mismatch(format!("{place} is not a link")).at(filter.span))
            }
        };
        match &item.change {
            Change::Set(given) => {
                let (value, span) = value(self, rows, given)?;
                as_type(value, &ty, &place, span)
            }
            Change::Arithmetic(op, operand, span) => {
                let operand = self.value(rows, operand)?;
                let value = compute(*op, old, operand, *span)?;
                // No rule truncates a float to an int: an int column refuses it.
                as_type(value, &ty, &place, *span)
            }
            change => {
                let ColumnType::List(element) = &ty else {
                    let error = Error::mismatch(format!("{place} is not an array")).at(span);
                    return Err(error.help("APPEND, REMOVE, REMOVEAT, POP and CLEAR change arrays"));
                };
                let empty = Expr::literal(Value::List(Vec::new()), ty.clone());
                let old = Expr::Coalesce(vec![old, empty.clone()], ty.clone());
                let call =
                    |name: &str, list: Expr| function::resolve(name, vec![old.clone(), list], span);
                match change {
                    Change::Clear => Ok(empty),
                    Change::Pop => function::resolve("array_pop", vec![old.clone()], span),
                    Change::Append(given) => {
                        let (value, at) = value(self, rows, given)?;
                        call("array_cat", listed(value, element, &place, at)?)
                    }
                    Change::Remove(given) => {
                        let (value, at) = value(self, rows, given)?;
                        call("array_remove_all", listed(value, element, &place, at)?)
                    }
                    Change::RemoveAt(given) => {
                        let (value, at) = value(self, rows, given)?;
                        call("array_remove_at", listed(value, &ColumnType::Int64, "REMOVEAT", at)?)
                    }
                    Change::Set(_) | Change::Arithmetic(..) => Ok(old.clone()),
                }
            }
        }
    }

    fn link_edit(
        &mut self,
        rows: &mut Rows,
        member: &Member,
        target: &str,
        item: &Item,
    ) -> Result<LinkEdit<Plan>> {
        Ok(match &item.change {
            Change::Set(given) => LinkEdit::Set(self.many(rows, given, member, target)?),
            Change::Append(given) => LinkEdit::Append(self.many(rows, given, member, target)?),
            Change::Remove(given) => LinkEdit::Remove(self.many(rows, given, member, target)?),
            Change::RemoveAt(Given::Value(syntax)) => {
                let value = self.constant(rows, syntax)?;
                let list = listed(value, &ColumnType::Int64, "REMOVEAT", syntax.span())?;
                LinkEdit::RemoveAt(list)
            }
            Change::Pop => LinkEdit::Pop,
            Change::Clear => LinkEdit::Clear,
            Change::RemoveAt(Given::Entities { filter, .. }) => {
                return Err(Error::mismatch("REMOVEAT takes positions").at(filter.span));
            }
            Change::Arithmetic(_, _, span) => {
                let error = Error::mismatch(format!("`{}` is a set of entities", member.name));
                return Err(error.at(*span).help("write APPEND or REMOVE"));
            }
        })
    }
}

/// The position of the key of a struct, if statements may change the struct.
fn changeable(entity: &Entity, span: Span) -> Result<usize> {
    if entity.relation.kind == RelationKind::Table {
        return entity.key(span);
    }
    let error = Error::unsupported(format!("`{}` is a collection", entity.name())).at(span);
    Err(error.help("change it as documents, or with SQL"))
}

/// The path of `path = value`, which is no change of a member: it reads as a comparison.
fn compared(change: &Change) -> Option<&ast::Path> {
    let Change::Set(Given::Value(ast::Expr::Compare(_, left, ..))) = change else { return None };
    match &**left {
        ast::Expr::Path(path) if path.members.len() > 1 => Some(path),
        _ => None,
    }
}

fn item_span(item: &Item, otherwise: Span) -> Span {
    match (&item.member, &item.change) {
        (Some(name), _) => name.span,
        (None, Change::Set(Given::Value(value))) => value.span(),
        (None, Change::Set(Given::Entities { filter, .. })) => filter.span,
        _ => otherwise,
    }
}

fn once(seen: &mut Vec<String>, member: &Member, item: &Item, span: Span) -> Result<()> {
    if seen.contains(&member.name) {
        let error = Error::invalid(format!("member `{}` is given twice", member.name));
        return Err(error.at(item_span(item, span)));
    }
    seen.push(member.name.clone());
    Ok(())
}

/// Refuses a value for a member that SQL computes from others.
fn refuse_computed(entity: &Entity, member: &Member, span: Span) -> Result<()> {
    let (MemberKind::Value(column) | MemberKind::One { column, .. }) = member.kind else {
        return Ok(());
    };
    let relation = &entity.relation;
    if !relation.constraints.generated.contains_key(&relation.schema.columns[column].name) {
        return Ok(());
    }
    Err(Error::invalid(format!("member `{}` is computed", member.name))
        .at(span)
        .help("leave it out"))
}

fn computed(member: &Member, item: &Item, span: Span) -> Error {
    let error = Error::invalid(format!("link `{}` is computed", member.name));
    error.at(item_span(item, span)).help("change the link that it is the other side of")
}
