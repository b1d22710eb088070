//! The difference between existing tables and those that a schema declares.

use std::sync::Arc;

use folio_compute::{Error, Result};
use folio_engine::expression::{Column as PlanColumn, ColumnId, Expr};
use folio_engine::source::entity::Entity;
use folio_engine::source::{IndexInfo, Relation, RelationKind};
use folio_engine::{Constraints, Reference, mentions};
use folio_types::{Column, TableSchema};

use super::draft::{Draft, is_many};
use super::show::{declared_type, members, structs};
use super::{Catalog, Migration, Step};

/// The steps from the existing tables to the declared ones.
///
/// # Errors
/// `conflict` if the change is not possible.
pub(super) fn difference(
    drafts: &[Draft],
    source: Catalog<'_>,
    allow_drop: bool,
) -> Result<Migration> {
    let mut work = Work { source, drafts, allow_drop, lines: Vec::new(), steps: Vec::new() };
    let mut kept = Vec::new();
    for draft in drafts {
        match work.old(draft)? {
            Some(old) => {
                kept.push(old.schema.name.to_lowercase());
                work.change(draft, &old)?;
            }
            None => work.create(draft),
        }
    }
    for old in structs(source)? {
        if !kept.contains(&old.schema.name.to_lowercase()) {
            work.drop_struct(&old)?;
        }
    }
    Ok(Migration { lines: work.lines, steps: work.steps, stored: source.stored })
}

struct Work<'s> {
    source: Catalog<'s>,
    drafts: &'s [Draft],
    allow_drop: bool,
    lines: Vec<String>,
    steps: Vec<Step>,
}

impl Work<'_> {
    /// The existing table of a draft, under its current or previous name.
    fn old(&self, draft: &Draft) -> Result<Option<Arc<Relation>>> {
        let name = &draft.relation.schema.name;
        let found = match self.source.relation(name)? {
            Some(found) => Some(found),
            None => match &draft.was {
                Some(was) => self.source.relation(was)?,
                None => None,
            },
        };
        let Some(found) = found else { return Ok(None) };
        let is_ours = found.kind == RelationKind::Table
            && (found.constraints.is_struct || draft.link.is_some());
        if !is_ours {
            return Err(Error::conflict(format!("{name:?} already exists and is not a struct"))
                .help("choose another name for the struct; a table needs no struct"));
        }
        Ok(Some(found))
    }

    fn create(&mut self, draft: &Draft) {
        let (schema, indexes) = (draft.relation.schema.clone(), draft.relation.indexes.clone());
        if draft.link.is_none() {
            self.lines.push(format!("+ struct {}", schema.name));
        }
        self.steps.push(Step::Create { schema, indexes });
    }

    fn drop_struct(&mut self, old: &Arc<Relation>) -> Result<()> {
        let name = &old.schema.name;
        self.may_drop(&format!("struct `{name}`"))?;
        self.lines.push(format!("- struct {name}"));
        for member in Entity::of(old).members {
            if let (true, Some(_)) = (is_many(&member.kind), member.kind.target()) {
                self.steps.push(Step::Drop(format!("{name}.{}", member.name)));
            }
        }
        self.steps.push(Step::Drop(name.clone()));
        Ok(())
    }

    fn may_drop(&self, what: &str) -> Result<()> {
        if self.allow_drop {
            return Ok(());
        }
        Err(Error::conflict(format!("the schema leaves out {what}, which would be dropped"))
            .help("allow it with --allow-drop, or give the old name: `name was old_name`"))
    }

    fn change(&mut self, draft: &Draft, old: &Arc<Relation>) -> Result<()> {
        let mut unchanged = Vec::new();
        if draft.link.is_none() {
            unchanged = self.compare_members(draft, old)?;
        }
        let draft = &self.inherit(draft, old, &unchanged)?;
        self.change_columns(draft, old)?;
        self.change_indexes(draft, old);
        Ok(())
    }

    /// A draft with what SQL has added to the table: no schema says it, so none takes it away. Of
    /// unchanged members, what the schema says stays as SQL has written it.
    fn inherit(&self, draft: &Draft, old: &Relation, unchanged: &[String]) -> Result<Draft> {
        let mut relation = copy(&draft.relation);
        let columns = &relation.schema.columns;
        let now = |name: &str| {
            let before = old.column_index(name)?;
            let column = columns.iter().find(|own| place(draft, old, &own.name) == Some(before));
            column.map(|column| column.name.clone())
        };
        let (own, before) = (&mut relation.constraints, &old.constraints);
        own.checks.clone_from(&before.checks);
        own.lengths
            .extend(before.lengths.iter().filter_map(|(name, own)| Some((now(name)?, *own))));
        own.identity
            .extend(before.identity.iter().filter_map(|(name, own)| Some((now(name)?, *own))));
        own.generated.extend(
            before.generated.iter().filter_map(|(name, own)| Some((now(name)?, own.clone()))),
        );
        for (name, text) in &before.defaults {
            let name = now(name).filter(|name| unchanged.contains(name));
            own.defaults.extend(name.map(|name| (name, text.clone())));
        }
        let mut references = Vec::new();
        for reference in &before.references {
            let Some(columns) = reference.columns.iter().map(|name| now(name)).collect() else {
                continue; // that of a dropped member
            };
            let reference = Reference { columns, ..reference.clone() };
            if !matches!(&reference.columns[..], [only] if !unchanged.contains(only)) {
                references.push(reference);
            }
        }
        own.references.retain(|own| references.iter().all(|kept| kept.columns != own.columns));
        references.append(&mut own.references);
        own.references = references;
        for column in &old.schema.columns {
            if now(&column.name).as_ref() != Some(&column.name) {
                self.refuse_use(own, &old.schema.name, &column.name)?;
            }
        }
        relation.schema.properties = own.to_properties();
        let (was, renamed, link) = (draft.was.clone(), draft.renamed.clone(), draft.link.clone());
        Ok(Draft { relation, was, renamed, link })
    }

    /// Refuses to drop or rename a member that an expression of SQL reads.
    fn refuse_use(&self, own: &Constraints, table: &str, member: &str) -> Result<()> {
        let check = own.checks.iter().find(|check| mentions(&check.text, member));
        let generated = own.generated.iter().find(|(_, text)| mentions(text, member));
        let used = match (check, generated) {
            (Some(check), _) => format!("is used in the SQL constraint {:?}", check.name),
            (None, Some((other, _))) => format!("is what SQL computes `{other}` from"),
            (None, None) => return Ok(()),
        };
        Err(Error::conflict(format!("member `{member}` of `{table}` {used}"))
            .help("drop that first, with ALTER TABLE"))
    }

    /// Reports members that are added, dropped, or declared differently, and returns the others.
    fn compare_members(&mut self, draft: &Draft, old: &Arc<Relation>) -> Result<Vec<String>> {
        let name = &draft.relation.schema.name;
        if *name != old.schema.name {
            self.lines.push(format!("~ struct {name} was {}", old.schema.name));
        }
        let anew = Arc::new(copy(&draft.relation));
        let there = |table: &str| self.source.relation(table);
        let drafted = |table: &str| {
            let mut drafts = self.drafts.iter().map(|draft| &draft.relation);
            Ok(drafts
                .find(|drafted| drafted.schema.name == table)
                .map(|found| Arc::new(copy(found))))
        };
        let new = members(&anew, self.source, &drafted)?;
        let mut gone = members(old, self.source, &there)?;
        let mut unchanged = Vec::new();
        for (member, text) in &new {
            let was = draft.renamed.iter().find(|(now, _)| now == member);
            let known =
                |wanted: &str| gone.iter().position(|(old, _)| old.eq_ignore_ascii_case(wanted));
            let found = known(member).or_else(|| was.and_then(|(_, was)| known(was)));
            let Some(found) = found else {
                self.lines.push(format!("+ {name}.{member}: {text}"));
                continue;
            };
            let (before, old_text) = gone.remove(found);
            if !before.eq_ignore_ascii_case(member) {
                self.lines.push(format!("~ {name}.{member} was {before}"));
            }
            if old_text == *text {
                unchanged.push(member.clone());
            } else {
                self.lines.push(format!("~ {name}.{member}: {text}, before: {old_text}"));
            }
        }
        let entity = Entity::of(old);
        for (member, text) in gone {
            self.lines.push(format!("- {name}.{member}: {text}"));
            let Some(member) = entity.member(&member) else { continue };
            if text.contains('.') && !is_many(&member.kind) {
                // The inverse of a link stores nothing.
                continue;
            }
            self.may_drop(&format!("member `{}` of `{name}`", member.name))?;
            if is_many(&member.kind) {
                self.steps.push(Step::Drop(format!("{}.{}", old.schema.name, member.name)));
            }
        }
        Ok(unchanged)
    }

    fn change_columns(&mut self, draft: &Draft, old: &Arc<Relation>) -> Result<()> {
        let schema = &draft.relation.schema;
        let places: Vec<Option<usize>> =
            schema.columns.iter().map(|column| place(draft, old, &column.name)).collect();
        let mut is_same = schema.columns.len() == old.schema.columns.len();
        for (at, (column, place)) in schema.columns.iter().zip(&places).enumerate() {
            let Some(place) = place else {
                self.check_added(draft, old, column)?;
                is_same = false;
                continue;
            };
            let before = &old.schema.columns[*place];
            if before.column_type != column.column_type {
                let (own, name) = (&schema.name, &column.name);
                let (was, is) =
                    (declared_type(&before.column_type), declared_type(&column.column_type));
                return Err(Error::conflict(format!(
                    "member `{name}` of `{own}` is {was} and cannot become {is}"
                ))
                .help("add a member of another name, move the values, drop the old one"));
            }
            is_same &= *place == at && before.nullable == column.nullable;
        }
        if is_same {
            let is_changed = schema.properties != old.schema.properties
                || schema.columns != old.schema.columns
                || schema.name != old.schema.name;
            if is_changed {
                let name = old.schema.name.clone();
                self.steps.push(Step::Alter { name, schema: schema.clone() });
            }
            return Ok(());
        }
        self.rebuild(draft, old, &places)
    }

    /// Checks that a new column has a default if the table has rows.
    fn check_added(&self, draft: &Draft, old: &Relation, column: &Column) -> Result<()> {
        let has_default = draft.relation.constraints.defaults.contains_key(&column.name);
        let is_empty = self.source.row_count(old)? == Some(0);
        if column.nullable || has_default || is_empty {
            return Ok(());
        }
        let (own, name) = (&draft.relation.schema.name, &column.name);
        // The first name is the place of the error.
        Err(Error::conflict(format!(
            "new member `{name}` has no value for the entities of `{own}`"
        ))
        .help("give it a default, or make it optional with `?`"))
    }

    /// Renames first, since indexes refer to columns by name; then rewrites the rows.
    fn rebuild(
        &mut self,
        draft: &Draft,
        old: &Arc<Relation>,
        places: &[Option<usize>],
    ) -> Result<()> {
        let schema = &draft.relation.schema;
        let mut renamed = TableSchema { name: schema.name.clone(), ..old.schema.clone() };
        for (column, place) in schema.columns.iter().zip(places) {
            if let Some(place) = place {
                renamed.columns[*place].name.clone_from(&column.name);
            }
        }
        if renamed != old.schema {
            let name = old.schema.name.clone();
            self.steps.push(Step::Alter { name, schema: renamed });
        }
        let mut columns = Vec::with_capacity(places.len());
        for (index, place) in places.iter().enumerate() {
            columns.push(match place {
                Some(place) => old_column(old, *place),
                None => self.source.binding().default_of(&draft.relation, index)?,
            });
        }
        let (name, schema) = (schema.name.clone(), schema.clone());
        self.steps.push(Step::Rebuild { name, schema, columns });
        Ok(())
    }

    /// Makes indexes of one column as declared. Leaves the others alone.
    fn change_indexes(&mut self, draft: &Draft, old: &Relation) {
        let schema = &draft.relation.schema;
        let is_equal = |wanted: &IndexInfo, there: &IndexInfo| {
            let places = wanted.columns.iter().map(|(column, descending)| {
                place(draft, old, &schema.columns[*column].name).map(|column| (column, *descending))
            });
            wanted.unique == there.unique
                && places.collect::<Option<Vec<_>>>().as_ref() == Some(&there.columns)
        };
        let wanted = &draft.relation.indexes;
        let is_wanted = |there: &&IndexInfo| wanted.iter().any(|own| is_equal(own, there));
        let single = old.indexes.iter().filter(|there| matches!(there.columns[..], [(_, false)]));
        for there in single.filter(|there| !is_wanted(there)) {
            let column = &old.schema.columns[there.columns[0].0].name;
            // Dropping a column drops its index.
            if schema
                .columns
                .iter()
                .any(|own| place(draft, old, &own.name) == old.column_index(column))
            {
                self.steps.push(Step::DropIndex(there.name.clone()));
            }
        }
        for own in wanted {
            if !old.indexes.iter().any(|there| is_equal(own, there)) {
                let table = schema.name.clone();
                self.steps.push(Step::CreateIndex { table, index: own.clone() });
            }
        }
    }
}

/// The previous position of a column.
fn place(draft: &Draft, old: &Relation, name: &str) -> Option<usize> {
    let was = draft.renamed.iter().find(|(now, _)| now == name);
    old.column_index(name).or_else(|| was.and_then(|(_, was)| old.column_index(was)))
}

fn old_column(old: &Relation, index: usize) -> Expr {
    Expr::Column(PlanColumn {
        id: ColumnId(u32::try_from(index).unwrap_or(u32::MAX)),
        ty: old.column_type(index).clone(),
        name: (&*old.schema.columns[index].name).into(),
    })
}

/// Copies a drafted relation.
fn copy(relation: &Relation) -> Relation {
    Relation {
        constraints: Constraints::from_properties(&relation.schema.properties).unwrap_or_default(),
        indexes: relation.indexes.clone(),
        ..Relation::new(relation.kind, relation.schema.clone(), Arc::clone(&relation.handle))
    }
}
