//! Bound ADD, UPDATE and DELETE of entities: what is written, and the targets of links.
//!
//! Plans are logical (`P` is [`Plan`](crate::plan::logical::Plan)) until they are lowered.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use folio_compute::{Result, Span};
use folio_types::{Value, ValueRef};

use super::{Change, Rules};
use crate::context::Context;
use crate::expression::Expr;
use crate::source::Relation;

/// What happens when the key of a new entity is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfTaken {
    /// The statement fails.
    Fail,
    /// The new entity is skipped.
    Skip,
    /// The existing entity is updated.
    Update,
}

/// New entities, ready to be written.
pub struct EntityAdd<P> {
    /// Their table.
    pub table: Arc<Relation>,
    /// The position of the key, which is assigned if it is not given.
    pub key: usize,
    /// The columns of all references of the table, in order.
    pub pointing: Vec<usize>,
    /// The entities, in the order they were given.
    pub rows: Vec<NewEntity<P>>,
    /// The entities that are literals, if any.
    pub literals: Option<Arc<dyn LiteralRows>>,
    /// What happens when a key is taken.
    pub if_taken: IfTaken,
    /// The rules that every row must pass.
    pub rules: Rules,
}

/// One entity, or several literal ones.
pub enum NewEntity<P> {
    /// A range of the literals.
    Literals(Range<usize>),
    /// An entity with computed values.
    Given(Box<EntityRow<P>>),
}

/// An entity with values to compute or links to follow.
pub struct EntityRow<P> {
    /// A value for each column.
    pub values: Vec<MemberValue<P>>,
    /// The columns given by the statement.
    pub given: Vec<usize>,
    /// The targets of to-many links.
    pub links: Vec<(Arc<Relation>, Linked<P>)>,
    /// Its place in the text.
    pub span: Span,
}

/// A value of a column.
#[allow(clippy::large_enum_variant, reason = "there are few, for a moment")]
pub enum MemberValue<P> {
    /// A value, computed without a row.
    Value(Expr),
    /// The key of exactly one entity, found by a condition.
    Entity(GivenEntities<P>),
}

/// Entities found by a condition.
pub struct GivenEntities<P> {
    /// Their keys.
    pub plan: P,
    /// Their struct.
    pub entity: String,
    /// The place of the condition.
    pub span: Span,
}

/// Entities to change.
pub struct EntityChange<P> {
    /// The change of their rows.
    pub rows: Change<P>,
    /// The position of their key.
    pub key: usize,
    /// Entities whose keys become parameters after those of the statement.
    pub entities: Vec<GivenEntities<P>>,
    /// Changed to-many links.
    pub links: Vec<EntityLink<P>>,
    /// The changed members that are columns of the table, with their places.
    pub places: Vec<(String, Span)>,
}

/// A change of a to-many link.
pub struct EntityLink<P> {
    /// The table that stores its rows.
    pub table: Arc<Relation>,
    /// The change of its list.
    pub edit: LinkEdit<P>,
    /// Its place in the text.
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
    /// Errors of `lower`.
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

impl<P> EntityChange<P> {
    /// The same with its plans lowered.
    ///
    /// # Errors
    /// Errors of `lower`.
    pub fn lowered<Q>(self, lower: &dyn Fn(P) -> Result<Q>) -> Result<EntityChange<Q>> {
        let entities = self.entities.into_iter().map(|given| given.lowered(lower));
        let links = self.links.into_iter().map(|EntityLink { table, edit, span }| {
            Ok(EntityLink { table, edit: edit.lowered(lower)?, span })
        });
        Ok(EntityChange {
            rows: self.rows.lowered(lower)?,
            key: self.key,
            entities: entities.collect::<Result<_>>()?,
            links: links.collect::<Result<_>>()?,
            places: self.places,
        })
    }
}

/// The targets of a to-many link.
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

/// A change of the list of a to-many link.
pub enum LinkEdit<P> {
    /// Replaces the list.
    Set(Linked<P>),
    /// Appends to the list.
    Append(Linked<P>),
    /// Removes these targets.
    Remove(Linked<P>),
    /// Removes the targets at these positions: a list, from 0.
    RemoveAt(Expr),
    /// Removes the last target.
    Pop,
    /// Removes all targets.
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

/// New entities that consist of literals only. They stay in the buffer of the language until
/// they are written, and are addressed by number. None of them gives its key.
pub trait LiteralRows: Send + Sync {
    /// The row of values that no literal gives. A key to be assigned is null.
    ///
    /// # Errors
    /// Errors of the defaults.
    fn template(&self, context: &Context) -> Result<Vec<Value>>;

    /// The elements of the lists of these rows, concatenated.
    fn elements(&self, rows: Range<usize>) -> Vec<Value>;

    /// Appends these rows: the template with the values of each row. Takes the elements of
    /// their lists from the front of `elements`.
    fn append<'v>(
        &'v self,
        rows: Range<usize>,
        template: &[ValueRef<'v>],
        elements: &mut &'v [Value],
        out: &mut Vec<ValueRef<'v>>,
    );

    /// The number of targets of the to-many links of these rows; `None` if the rows have no
    /// such links.
    fn link_count(&self, rows: Range<usize>) -> Option<usize>;

    /// Appends the to-many links of these rows.
    fn links<'v>(&'v self, rows: Range<usize>, out: &mut Links<'v>);

    /// The place of a row in the text.
    fn span(&self, row: usize) -> Span;
}

/// The to-many links of rows. Lists have no duplicates.
#[derive(Default)]
pub struct Links<'v> {
    /// For each list: its row, its table, and the end of its targets.
    lists: Vec<(usize, &'v Arc<Relation>, usize)>,
    targets: Vec<Value>,
}

impl<'v> Links<'v> {
    /// Adds a list for a row.
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

    /// Removes all lists.
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

/// Removes duplicate keys from position `start` on.
pub fn make_distinct_from(start: usize, keys: &mut Vec<Value>) {
    /// Up to this many keys are compared pairwise; more use a hash set.
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
