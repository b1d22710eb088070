//! ADD, UPDATE and DELETE of entities, bound: what is written, and what links are to lead to.
//!
//! Plans are logical (`P` is [`Plan`](crate::plan::logical::Plan)) until they are lowered.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use folio_types::{Value, ValueRef};

use super::Rules;
use crate::context::Context;
use crate::error::Result;
use crate::expression::Expr;
use crate::source::Relation;
use crate::span::Span;

/// What a new entity does whose key is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfTaken {
    /// The statement fails.
    Fail,
    /// It is passed over.
    Skip,
    /// The one that is there changes.
    Update,
}

/// New entities, ready to be written.
pub struct EntityAdd<P> {
    /// Their table.
    pub table: Arc<Relation>,
    /// The position of the key, which is numbered where it is not given.
    pub key: usize,
    /// The columns of the table's references, one behind the other.
    pub pointing: Vec<usize>,
    /// The entities, in the order they were given.
    pub rows: Vec<NewEntity<P>>,
    /// Those of them that are literals, if there are any.
    pub literals: Option<Arc<dyn LiteralRows>>,
    /// What one does whose key is taken.
    pub if_taken: IfTaken,
    /// What every row must pass.
    pub rules: Rules,
}

/// One of them, or many.
pub enum NewEntity<P> {
    /// These of the literals.
    Literals(Range<usize>),
    /// One that is computed.
    Given(Box<EntityRow<P>>),
}

/// One with values that are to be computed, or links to be followed.
pub struct EntityRow<P> {
    /// A value for each column.
    pub values: Vec<MemberValue<P>>,
    /// The columns that were given.
    pub given: Vec<usize>,
    /// What to-many links lead to.
    pub links: Vec<(Arc<Relation>, Linked<P>)>,
    /// Where it stands.
    pub span: Span,
}

/// A value of a column.
#[allow(clippy::large_enum_variant, reason = "there are few, for a moment")]
pub enum MemberValue<P> {
    /// A value, computed without a row.
    Value(Expr),
    /// The key of the one entity there is.
    Entity(GivenEntities<P>),
}

/// Entities found by a condition.
pub struct GivenEntities<P> {
    /// Their keys.
    pub plan: P,
    /// The struct they are of.
    pub entity: String,
    /// Where the condition stands.
    pub span: Span,
}

/// Entities to be changed.
pub struct EntityChange<P, R> {
    /// The change of their rows.
    pub rows: R,
    /// The position of their key.
    pub key: usize,
    /// Entities whose keys are parameters behind those of the statement.
    pub entities: Vec<GivenEntities<P>>,
    /// To-many links that change too.
    pub links: Vec<EntityLink<P>>,
    /// The members of the table's own columns that change, and where that stands.
    pub places: Vec<(String, Span)>,
}

/// A to-many link that is changed.
pub struct EntityLink<P> {
    /// The table its rows are in.
    pub table: Arc<Relation>,
    /// What becomes of its list.
    pub edit: LinkEdit<P>,
    /// Where that stands.
    pub span: Span,
}

impl<P> GivenEntities<P> {
    fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<GivenEntities<Q>> {
        Ok(GivenEntities { plan: lower(self.plan)?, entity: self.entity, span: self.span })
    }
}

impl<P> EntityAdd<P> {
    /// The same with its plans lowered.
    ///
    /// # Errors
    /// What `lower` says.
    pub fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<EntityAdd<Q>> {
        let row = |row: EntityRow<P>| -> Result<EntityRow<Q>> {
            let EntityRow { values, given, links, span } = row;
            let value = |value| {
                Ok(match value {
                    MemberValue::Value(value) => MemberValue::Value(value),
                    MemberValue::Entity(given) => MemberValue::Entity(given.lowered(lower)?),
                })
            };
            let values = values.into_iter().map(value).collect::<Result<_>>()?;
            let link = |(table, given): (_, Linked<P>)| Ok((table, given.lowered(lower)?));
            let links = links.into_iter().map(link).collect::<Result<_>>()?;
            Ok(EntityRow { values, given, links, span })
        };
        let new = |new: NewEntity<P>| -> Result<NewEntity<Q>> {
            Ok(match new {
                NewEntity::Literals(range) => NewEntity::Literals(range),
                NewEntity::Given(given) => NewEntity::Given(Box::new(row(*given)?)),
            })
        };
        let Self { table, key, pointing, rows, literals, if_taken, rules } = self;
        let rows = rows.into_iter().map(new).collect::<Result<_>>()?;
        Ok(EntityAdd { table, key, pointing, rows, literals, if_taken, rules })
    }
}

impl<P, R> EntityChange<P, R> {
    /// The same with its plans lowered.
    ///
    /// # Errors
    /// What `lower` and `rows` say.
    pub fn lowered<Q, S>(
        self,
        lower: &dyn Fn(P) -> Result<Q>,
        rows: impl FnOnce(R) -> Result<S>,
    ) -> Result<EntityChange<Q, S>> {
        let entities = self.entities.into_iter().map(|given| given.lowered(lower));
        let links = self.links.into_iter().map(|EntityLink { table, edit, span }| {
            Ok(EntityLink { table, edit: edit.lowered(lower)?, span })
        });
        Ok(EntityChange {
            rows: rows(self.rows)?,
            key: self.key,
            entities: entities.collect::<Result<_>>()?,
            links: links.collect::<Result<_>>()?,
            places: self.places,
        })
    }
}

/// Entities a to-many link is given.
#[allow(clippy::large_enum_variant, reason = "there are few, for a moment")]
pub enum Linked<P> {
    /// By their keys: a list.
    Keys(Expr),
    /// By a condition.
    Rows(GivenEntities<P>),
}

impl<P> Linked<P> {
    fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<Linked<Q>> {
        Ok(match self {
            Self::Keys(list) => Linked::Keys(list),
            Self::Rows(given) => Linked::Rows(given.lowered(lower)?),
        })
    }
}

/// What becomes of a to-many link.
pub enum LinkEdit<P> {
    /// These in place of those there are.
    Set(Linked<P>),
    /// These behind those there are.
    Append(Linked<P>),
    /// Without these.
    Remove(Linked<P>),
    /// Positions from 0, as a list.
    RemoveAt(Expr),
    /// Without the last.
    Pop,
    /// None.
    Clear,
}

impl<P> LinkEdit<P> {
    fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<LinkEdit<Q>> {
        Ok(match self {
            Self::Set(given) => LinkEdit::Set(given.lowered(lower)?),
            Self::Append(given) => LinkEdit::Append(given.lowered(lower)?),
            Self::Remove(given) => LinkEdit::Remove(given.lowered(lower)?),
            Self::RemoveAt(list) => LinkEdit::RemoveAt(list),
            Self::Pop => LinkEdit::Pop,
            Self::Clear => LinkEdit::Clear,
        })
    }
}

/// New entities that are nothing but literals. They stay where the language has put them until
/// they are written, and are known by their numbers. None of them gives its key.
pub trait LiteralRows: Send + Sync {
    /// A row of what none of them gives; the key is null where it is to be numbered.
    ///
    /// # Errors
    /// Those of defaults.
    fn template(&self, context: &Context) -> Result<Vec<Value>>;

    /// The elements of the lists of these rows, one behind the other.
    fn elements(&self, rows: Range<usize>) -> Vec<Value>;

    /// Appends these rows, each the template with its own values. The elements of their lists
    /// are the first of those given, and taken from there.
    fn append<'v>(
        &'v self,
        rows: Range<usize>,
        template: &[ValueRef<'v>],
        elements: &mut &'v [Value],
        out: &mut Vec<ValueRef<'v>>,
    );

    /// How many targets the to-many links of these rows have; `None` where there are no such
    /// links.
    fn link_count(&self, rows: Range<usize>) -> Option<usize>;

    /// Appends the to-many links of these rows.
    fn links<'v>(&'v self, rows: Range<usize>, out: &mut Links<'v>);

    /// Where a row stands in the text.
    fn span(&self, row: usize) -> Span;
}

/// To-many links of rows, each list without duplicates.
#[derive(Default)]
pub struct Links<'v> {
    /// Whose a list is, the table it goes to, and where its targets end.
    lists: Vec<(usize, &'v Arc<Relation>, usize)>,
    targets: Vec<Value>,
}

impl<'v> Links<'v> {
    /// Another list, of the row with a number.
    pub fn push(
        &mut self,
        row: usize,
        table: &'v Arc<Relation>,
        targets: impl Iterator<Item = Value>,
    ) {
        let start = self.targets.len();
        self.targets.extend(targets);
        make_distinct_from(start, &mut self.targets);
        self.lists.push((row, table, self.targets.len()));
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.lists.clear();
        self.targets.clear();
    }

    /// Row, table and targets of each list.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'v Arc<Relation>, &[Value])> {
        let mut start = 0;
        self.lists.iter().map(move |(row, table, end)| {
            let targets = &self.targets[std::mem::replace(&mut start, *end)..*end];
            (*row, *table, targets)
        })
    }
}

/// Leaves each key from a place on once.
pub fn make_distinct_from(start: usize, keys: &mut Vec<Value>) {
    /// So many are compared with each other; more are looked up.
    const FEW: usize = 16;
    if keys.len() - start <= FEW {
        let mut at = start + 1;
        while at < keys.len() {
            match keys[start..at].contains(&keys[at]) {
                true => drop(keys.remove(at)),
                false => at += 1,
            }
        }
        return;
    }
    let mut uuids = HashSet::with_hasher(RandomState::default());
    let mut others = HashSet::new();
    let mut rest = keys.split_off(start);
    rest.retain(|key| match key {
        Value::Uuid(uuid) => uuids.insert(*uuid),
        other => others.insert(format!("{other:?}")),
    });
    keys.append(&mut rest);
}
