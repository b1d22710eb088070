//! To-many links as list columns of their struct's table.
//!
//! A to-many link is stored as rows of its own table, or as the inverse of another link. If the
//! table has no column with its name, the name means the list of its target keys, in order:
//! `array(select target from …)`. `*` leaves it out, since the row does not store it.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::Link;
use folio_engine::expression::{Column, Expr, SubqueryKind};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::SortKey;
use folio_engine::source::entity::{Entity, MemberKind, POSITION, SOURCE, TARGET};
use folio_engine::source::{Comparison, Relation};
use folio_types::{ColumnType, same_name};

use super::operator::compare;
use super::scope::{Scope, ScopeColumn};
use super::{Binder, Named};

/// A link of a row in scope: the row's key, and the link.
struct Owned {
    key: Column,
    link: Link,
}

/// Where the target keys are stored: column positions in a relation.
struct Place {
    relation: Arc<Relation>,
    wanted: usize,
    own_key: usize,
    order: usize,
}

impl Binder<'_> {
    /// The target keys of a link, if the name is a link of a struct in scope.
    ///
    /// # Errors
    /// `invalid_input` if it is ambiguous.
    pub(super) fn link_column(
        &mut self,
        table: Option<&str>,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Option<Expr>> {
        let mut around = Some(scope);
        while let Some(scope) = around {
            let mut found = scope.columns.iter().filter_map(|own| self.owned(own, table, name));
            if let Some(Owned { key, link }) = found.next() {
                if found.next().is_some() {
                    let error = Error::invalid(format!("column {name:?} is ambiguous"));
                    return Err(error.at(span).help("add the table name before it"));
                }
                return self.keys_of(key, &link, span).map(Some);
            }
            around = scope.parent;
        }
        Ok(None)
    }

    /// The link with this name, of the struct that a key column belongs to.
    fn owned(&self, own: &ScopeColumn, table: Option<&str>, name: &str) -> Option<Owned> {
        let is_meant = match (table, &own.table) {
            (None, _) => true,
            (Some(wanted), Some(table)) => same_name(table, wanted),
            (Some(_), None) => false,
        };
        let (_, relation) = self.structs.iter().find(|(key, _)| *key == own.column.id)?;
        let link = relation.constraints.links.iter().find(|link| same_name(&link.name, name))?;
        is_meant.then(|| Owned { key: own.column.clone(), link: link.clone() })
    }

    /// `array(select wanted from relation where own_key = key order by order)`
    fn keys_of(&mut self, key: Column, link: &Link, span: Span) -> Result<Expr> {
        let Place { relation, wanted, own_key, order } = self.place_of(link, span)?;
        let Named { plan, columns } = self.scanned(&relation);
        let column = |index: usize| columns[index].1.clone();
        let own = Expr::Column(column(own_key));
        let term = compare(Comparison::Equal, own, Expr::Column(key), span)?;
        let rows = Plan::Filter { input: Box::new(plan), terms: vec![term] };
        let order = Expr::Column(column(order));
        let keys = vec![SortKey { expression: order, descending: false, nulls_first: false }];
        let sorted = Plan::Sort { input: Box::new(rows), keys };
        let ty = relation.column_type(wanted).clone();
        let output = self.column(&link.name, ty.clone());
        let outputs = vec![(output.clone(), Expr::Column(column(wanted)))];
        let plan = Plan::Project { input: Box::new(sorted), outputs };
        let named = Named { plan, columns: vec![(link.name.clone(), output)] };
        let list = ColumnType::List(Box::new(ty));
        Ok(self.subquery(SubqueryKind::Array, None, named, list, span))
    }

    fn place_of(&mut self, link: &Link, span: Span) -> Result<Place> {
        if let Some(table) = &link.table {
            let relation = self.relation(table, span)?;
            return Ok(Place { relation, wanted: TARGET, own_key: SOURCE, order: POSITION });
        }
        let relation = self.relation(&link.target, span)?;
        let entity = Entity::of(&relation);
        let inverse = link.inverse.as_deref().unwrap_or_default();
        match entity.find(inverse, span)?.kind {
            MemberKind::One { column, .. } => {
                let key = entity.key(span)?;
                Ok(Place { relation, wanted: key, own_key: column, order: key })
            }
            MemberKind::Many { table, .. } => {
                let relation = self.relation(&table, span)?;
                Ok(Place { relation, wanted: SOURCE, own_key: TARGET, order: SOURCE })
            }
            _ => Err(Error::invalid(format!("{inverse:?} is no longer a link")).at(span)),
        }
    }
}
