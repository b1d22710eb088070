//! From syntax to plans: resolves names and types. Every error has its place.
//!
//! ```text
//! statement    chains and the sets they name
//! grab         source → filter → order → limit → shape
//! change       ADD, UPDATE, DELETE; given: values of members; literals: many tuples at once
//! shape        fields, nested shapes; fields: where they are in the answer; group: aggregates, BY
//! condition    conditions in braces; link: membership, by semi joins and marks
//! expression   values; types: which types go together
//! rows         entities in a plan: their columns, and the entities joined to them
//! ```

mod change;
mod condition;
mod expression;
mod fields;
mod given;
mod grab;
mod group;
mod link;
mod literals;
mod rows;
mod shape;
mod statement;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bind::Binding;
use folio_engine::source::entity::{Entity, MemberKind};
use folio_engine::source::{Relation, RelationKind};
use folio_engine::{Context, Signature};
use folio_types::ColumnType;

use crate::ast::Name;
use group::Grouping;
use rows::{Row, Rows};
pub(crate) use statement::chain;

/// The state of binding a chain.
pub(crate) struct Binder<'s> {
    /// Numbers columns and finds relations.
    pub(crate) binding: Binding<'s>,
    /// Types and names of the parameters.
    given: &'s Signature,
    /// Structs looked up so far. They do not change while a chain is bound.
    entities: HashMap<String, Arc<Entity>>,
    /// Sets named so far.
    sets: Vec<NamedSet>,
    /// Set while the fields of an aggregated shape are bound.
    grouping: Option<Grouping>,
    /// Number of links that the current plan follows, and that all plans of the statement do.
    link_count: usize,
    all_link_count: usize,
}

/// The maximum number of links in one plan. Each is a nesting level of the plan.
const LINKS_MAX: usize = 256;

/// The maximum number of links in all plans of a statement, which may nest.
const ALL_LINKS_MAX: usize = 4096;

/// The number of links for which any thread's stack has room.
const EASY_LINKS: usize = 48;

/// A relation without columns, for values that read none.
fn nothing() -> Relation {
    let schema = folio_types::TableSchema::new("", Vec::new(), Vec::new());
    Relation::new(RelationKind::Table, schema, Arc::new(()))
}

/// A named, ordered set of entities.
#[derive(Debug, Clone)]
pub(crate) struct NamedSet {
    pub(crate) name: String,
    /// The working table that stores their keys.
    pub(crate) number: usize,
    /// Their struct.
    pub(crate) entity: String,
    /// The type of their keys.
    pub(crate) key: ColumnType,
}

impl<'s> Binder<'s> {
    /// A binder of one chain.
    pub(crate) fn new(binding: Binding<'s>, given: &'s Signature) -> Self {
        Self {
            binding,
            given,
            entities: HashMap::new(),
            sets: Vec::new(),
            grouping: None,
            link_count: 0,
            all_link_count: 0,
        }
    }

    /// Counts a link or set that the current plan follows.
    ///
    /// # Errors
    /// `unsupported` if there are too many.
    fn follow(&mut self, span: Span) -> Result<()> {
        self.link_count += 1;
        self.all_link_count += 1;
        if self.all_link_count > EASY_LINKS && !self.binding.limits.has_large_stack() {
            return Err(self.binding.limits.too_deep(span));
        }
        let max = match self.link_count {
            count if count > LINKS_MAX => LINKS_MAX,
            _ if self.all_link_count > ALL_LINKS_MAX => ALL_LINKS_MAX,
            _ => return Ok(()),
        };
        let error = Error::unsupported(format!("the statement follows more than {max} links"));
        Err(error.at(span).help("split it: name an intermediate result with `=> name =>`"))
    }

    /// Binds a separate plan with its own count of links.
    fn apart<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::take(&mut self.link_count);
        let bound = bind(self);
        self.link_count = around;
        bound
    }

    /// Looks up a struct by name.
    ///
    /// # Errors
    /// `not_found`, with the nearest name.
    pub(crate) fn entity(&mut self, name: &str, span: Span) -> Result<Arc<Entity>> {
        if let Some(known) = self.entities.get(name) {
            return Ok(Arc::clone(known));
        }
        let Some(relation) = self.binding.find(name)? else {
            // The tables of links are named `Struct.link`.
            let mut names = self.binding.source.names()?;
            names.retain(|name| !name.contains('.'));
            let error = Error::not_found(format!("there is no struct `{name}`"));
            if names.is_empty() {
                return Err(error.at(span).help("no struct exists yet: apply a schema first"));
            }
            return Err(error.near_or_all(name, names.iter().map(String::as_str)).at(span));
        };
        if relation.kind == RelationKind::View {
            let error = Error::unsupported(format!("`{name}` is a view"));
            return Err(error.at(span).help("grab the tables it reads, or read it with SQL"));
        }
        let mut entity = Entity::of(&relation);
        for member in &mut entity.members {
            // A reference to a column other than the key of its table is not a link.
            if let MemberKind::One { column, target } = &member.kind
                && !self.is_key_of(*column, target, &relation)?
            {
                member.kind = MemberKind::Value(*column);
            }
        }
        let entity = Arc::new(entity);
        self.entities.insert(name.to_owned(), Arc::clone(&entity));
        Ok(entity)
    }

    fn is_key_of(&self, column: usize, target: &str, relation: &Arc<Relation>) -> Result<bool> {
        let Some(target) = self.binding.source.relation(target)? else { return Ok(false) };
        let [key] = &target.schema.primary_key[..] else { return Ok(false) };
        let name = &relation.schema.columns[column].name;
        let mut references = relation.constraints.references.iter();
        let reference = references.find(|own| own.columns.iter().eq([name]));
        let names = reference.and_then(|reference| reference.target.first());
        Ok(names.is_none_or(|name| target.column_index(name) == Some(*key)))
    }

    /// The value of a default.
    pub(crate) fn default_value(
        &mut self,
        syntax: &crate::ast::Expr,
        ty: &ColumnType,
        member: &str,
    ) -> Result<folio_types::Value> {
        let entity = Entity { relation: Arc::new(nothing()), members: Vec::new() };
        let row = Row { entity: Arc::new(entity), columns: Vec::new() };
        let mut rows = Rows::new(folio_engine::plan::logical::Plan::OneRow, row);
        let value = self.constant(&mut rows, syntax)?;
        let place = format!("the default of `{member}`");
        // As of the other types of SQL, it is a string, which is read elsewhere.
        if *ty == ColumnType::Json && !value.is_untyped() {
            return Err(types::wrong(&place, ty, &value.ty()).at(syntax.span()));
        }
        let value = types::as_type(value, ty, &place, syntax.span())?;
        folio_engine::expression::evaluate::constant(&value, &Context::detached())
            .map_err(|error| error.at(syntax.span()))
    }

    /// Looks up a named set.
    fn set(&self, name: &Name) -> Result<NamedSet> {
        let found = self.sets.iter().rev().find(|set| set.name.eq_ignore_ascii_case(&name.text));
        found.cloned().ok_or_else(|| {
            let error = Error::not_found(format!("there is no set `{}`", name.text));
            let names = self.sets.iter().map(|set| &*set.name);
            let near = error.near(&name.text, names).at(name.span);
            match near.hint() {
                Some(_) => near,
                None => near.help("name one first: `GRAB … => name => …`"),
            }
        })
    }
}
