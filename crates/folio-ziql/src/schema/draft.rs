//! Turns declarations into tables.

use std::sync::Arc;

use folio_compute::cast::json;
use folio_compute::{Error, Result, cast};
use folio_engine::source::entity::{Entity, MemberKind};
use folio_engine::source::{IndexInfo, Relation, RelationKind};
use folio_engine::{Constraints, Link, OnDelete, OnUpdate, Reference, Signature};
use folio_types::{Column, ColumnType, TableSchema, Value};

use super::Catalog;
use super::show::{declared_type, has_literals};
use crate::ast::{Expr, Name};
use crate::bind::Binder;
use crate::parse::{Declaration, LinkTarget, MemberDeclaration, MemberType, value_type};

/// A declared table.
pub(super) struct Draft {
    pub(super) relation: Relation,
    /// Its previous name.
    pub(super) was: Option<String>,
    /// Renamed members: current name, previous name.
    pub(super) renamed: Vec<(String, String)>,
    /// For the table of a to-many link: its struct and link.
    pub(super) link: Option<(String, String)>,
}

/// The tables of a schema.
///
/// # Errors
/// Duplicate or unknown names; types and defaults that do not fit.
pub(super) fn drafts(declared: &[Declaration], source: Catalog<'_>) -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for (at, declaration) in declared.iter().enumerate() {
        let name = &declaration.name;
        let is_twice = |other: &Declaration| other.name.text.eq_ignore_ascii_case(&name.text);
        if declared[..at].iter().any(is_twice) {
            let error = Error::invalid(format!("struct `{}` is declared twice", name.text));
            return Err(error.at(name.span));
        }
        if value_type(&name.text).is_some() {
            let error = Error::invalid(format!("`{}` is the name of a type", name.text));
            return Err(error.at(name.span).help("choose another name for the struct"));
        }
        let drafter = Drafter { declared, source, declaration };
        drafts.extend(drafter.tables()?);
    }
    Ok(drafts)
}

struct Drafter<'d> {
    declared: &'d [Declaration],
    source: Catalog<'d>,
    declaration: &'d Declaration,
}

/// A table while it is built.
struct Table {
    columns: Vec<Column>,
    constraints: Constraints,
    indexes: Vec<IndexInfo>,
    renamed: Vec<(String, String)>,
    links: Vec<Draft>,
}

impl Drafter<'_> {
    fn name(&self) -> &str {
        &self.declaration.name.text
    }

    /// The table of the struct and those of its to-many links.
    fn tables(&self) -> Result<Vec<Draft>> {
        let defaults = [("id".to_owned(), "uuid_v7()".to_owned())].into();
        let mut table = Table {
            columns: vec![Column::required("id", ColumnType::Uuid)],
            constraints: Constraints { is_struct: true, defaults, ..Constraints::default() },
            indexes: Vec::new(),
            renamed: Vec::new(),
            links: Vec::new(),
        };
        for (at, member) in self.declaration.members.iter().enumerate() {
            self.check_name(&self.declaration.members[..at], member)?;
            self.member(&mut table, member, at + 1)?;
        }
        let Table { columns, constraints, indexes, renamed, links } = table;
        let mut schema = TableSchema::new(self.name(), columns, vec![0]);
        schema.properties = constraints.to_properties();
        let relation = relation(schema, constraints, indexes);
        let was = self.declaration.was.as_ref().map(|was| was.text.clone());
        let mut all = vec![Draft { relation, was, renamed, link: None }];
        all.extend(links);
        Ok(all)
    }

    fn check_name(&self, before: &[MemberDeclaration], member: &MemberDeclaration) -> Result<()> {
        let name = &member.name;
        if name.text.eq_ignore_ascii_case("id") {
            let error = Error::invalid("`id` is a member of every struct").at(name.span);
            return Err(error.help("leave it out"));
        }
        if before.iter().any(|other| other.name.text.eq_ignore_ascii_case(&name.text)) {
            let error = Error::invalid(format!("member `{}` is declared twice", name.text));
            return Err(error.at(name.span));
        }
        Ok(())
    }

    fn member(&self, table: &mut Table, member: &MemberDeclaration, at: usize) -> Result<()> {
        if let Some(was) = &member.was {
            table.renamed.push((member.name.text.clone(), was.text.clone()));
        }
        match &member.ty {
            MemberType::Value(ty) => self.value(table, member, ty),
            MemberType::Word(name, ty) if !self.is_declared(name) => self.value(table, member, ty),
            MemberType::Word(name, ColumnType::List(_)) => self.many(table, member, name, at),
            MemberType::Word(name, _) => self.one(table, member, name),
            MemberType::One(target) => self.one(table, member, target),
            MemberType::Many(LinkTarget { entity, inverse: None }) => {
                self.many(table, member, entity, at)
            }
            MemberType::Many(LinkTarget { entity, inverse: Some(inverse) }) => {
                self.inverse(table, member, entity, inverse, at)
            }
        }
    }

    fn value(&self, table: &mut Table, member: &MemberDeclaration, ty: &ColumnType) -> Result<()> {
        let name = &member.name;
        if member.on_delete.is_some() {
            return Err(only_links(name, "on delete"));
        }
        let is_indexed = member.unique || member.index;
        if is_indexed && !ty.is_ordered() {
            let what = match ty {
                ColumnType::List(_) => "an array".to_owned(),
                other => declared_type(other),
            };
            let error = Error::invalid(format!("{what} such as `{}` has no index", name.text));
            return Err(error.at(name.span));
        }
        if let Some(default) = &member.default {
            if let (Expr::None(span), false) = (default, member.optional) {
                let error = Error::invalid(format!("the default of `{}` is none", name.text));
                return Err(error.at(*span).help("make it optional with `?`, or leave it out"));
            }
            let text = self.default_text(name, default, ty)?;
            table.constraints.defaults.insert(name.text.clone(), text);
        }
        self.index(table, member, member.index);
        let nullable = member.optional;
        table.columns.push(Column { name: name.text.clone(), column_type: ty.clone(), nullable });
        Ok(())
    }

    fn one(&self, table: &mut Table, member: &MemberDeclaration, target: &Name) -> Result<()> {
        let name = &member.name;
        self.refuse_default(member)?;
        let (key, ty) = self.target_key(target)?;
        table.constraints.references.push(Reference {
            name: format!("{}_{}_fkey", self.name(), name.text),
            columns: vec![name.text.clone()],
            table: self.written_name(target),
            target: vec![key],
            on_delete: member.on_delete.unwrap_or(OnDelete::SetNull),
            on_update: OnUpdate::Restrict,
        });
        // Every link is indexed, so that its inverse can be followed.
        self.index(table, member, true);
        table.columns.push(Column::optional(name.text.clone(), ty));
        Ok(())
    }

    fn index(&self, table: &mut Table, member: &MemberDeclaration, is_wanted: bool) {
        if member.unique || is_wanted {
            let suffix = if member.unique { "key" } else { "idx" };
            table.indexes.push(IndexInfo::new(
                format!("{}_{}_{suffix}", self.name(), member.name.text),
                vec![(table.columns.len(), false)],
                member.unique,
            ));
        }
    }

    fn many(
        &self,
        table: &mut Table,
        member: &MemberDeclaration,
        target: &Name,
        position: usize,
    ) -> Result<()> {
        self.refuse_default(member)?;
        self.refuse_index(member)?;
        let name = &member.name;
        let (key, ty) = self.target_key(target)?;
        let on_delete = match member.on_delete {
            None | Some(OnDelete::SetNull | OnDelete::SetDefault) => OnDelete::Cascade,
            Some(OnDelete::Restrict) => OnDelete::Restrict,
            Some(OnDelete::Cascade | OnDelete::CascadeOwner) => OnDelete::CascadeOwner,
        };
        let own = format!("{}.{}", self.name(), name.text);
        let reference = |column: &str, table: String, target: String, on_delete| Reference {
            name: format!("{own}_{column}_fkey"),
            columns: vec![column.to_owned()],
            table,
            target: vec![target],
            on_delete,
            on_update: OnUpdate::Restrict,
        };
        let (entity, target) = (self.name().to_owned(), self.written_name(target));
        let constraints = Constraints {
            references: vec![
                reference("source", entity.clone(), "id".to_owned(), OnDelete::Cascade),
                reference("target", target.clone(), key, on_delete),
            ],
            ..Constraints::default()
        };
        let columns = vec![
            Column::required("source", ColumnType::Uuid),
            Column::required("position", ColumnType::Int64),
            Column::required("target", ty),
        ];
        let mut schema = TableSchema::new(own.clone(), columns, vec![0, 1]);
        schema.properties = constraints.to_properties();
        // The index serves the inverse, and keeps lists free of duplicates.
        let index = IndexInfo::new(format!("{own}_target_key"), vec![(2, false), (0, false)], true);
        let before = member.was.as_ref().or(Some(name));
        let entity_before = self.declaration.was.as_ref().map_or(self.name(), |was| &was.text);
        let was = before.map(|was| format!("{entity_before}.{}", was.text));
        table.links.push(Draft {
            relation: relation(schema, constraints, vec![index]),
            was: was.filter(|was| *was != own),
            renamed: Vec::new(),
            link: Some((entity, name.text.clone())),
        });
        let (name, table_name, inverse) = (name.text.clone(), Some(own), None);
        table.constraints.links.push(Link { name, position, target, table: table_name, inverse });
        Ok(())
    }

    fn inverse(
        &self,
        table: &mut Table,
        member: &MemberDeclaration,
        entity: &Name,
        link: &Name,
        position: usize,
    ) -> Result<()> {
        self.refuse_default(member)?;
        self.refuse_index(member)?;
        if member.on_delete.is_some() {
            let error = Error::invalid("the other side of a link is computed");
            return Err(error.at(member.name.span).help("`on delete` belongs to the link itself"));
        }
        let is_it = |other: &&Declaration| other.name.text.eq_ignore_ascii_case(&entity.text);
        let Some(target) = self.declared.iter().find(is_it) else {
            return Err(self.unknown(entity));
        };
        let is_link = |own: &&MemberDeclaration| own.name.text.eq_ignore_ascii_case(&link.text);
        let Some(found) = target.members.iter().find(is_link) else {
            let names = target.members.iter().map(|member| &*member.name.text);
            let (own, name) = (&target.name.text, &link.text);
            let error = Error::not_found(format!("struct `{own}` has no member `{name}`"));
            return Err(error.near(name, names).at(link.span));
        };
        let leads_to = match &found.ty {
            MemberType::One(target)
            | MemberType::Word(target, _)
            | MemberType::Many(LinkTarget { entity: target, inverse: None }) => Some(target),
            _ => None,
        };
        if !leads_to.is_some_and(|target| target.text.eq_ignore_ascii_case(self.name())) {
            let (own, name) = (self.name(), &link.text);
            let error =
                Error::invalid(format!("`{}.{name}` is not a link to `{own}`", entity.text));
            return Err(error.at(link.span).help("name a link that points here"));
        }
        table.constraints.links.push(Link {
            name: member.name.text.clone(),
            position,
            target: target.name.text.clone(),
            table: None,
            inverse: Some(found.name.text.clone()),
        });
        Ok(())
    }

    fn is_declared(&self, name: &Name) -> bool {
        self.declared.iter().any(|other| other.name.text.eq_ignore_ascii_case(&name.text))
    }

    /// Name and type of the key of the struct a link leads to.
    fn target_key(&self, target: &Name) -> Result<(String, ColumnType)> {
        if self.is_declared(target) {
            return Ok(("id".to_owned(), ColumnType::Uuid));
        }
        let found = self.source.relation(&target.text)?;
        let Some(found) = found.filter(|found| found.kind == RelationKind::Table) else {
            return Err(self.unknown(target));
        };
        let key = Entity::of(&found).key(target.span)?;
        let column = &found.schema.columns[key];
        Ok((column.name.clone(), column.column_type.clone()))
    }

    /// The name of a target as the schema writes it.
    fn written_name(&self, target: &Name) -> String {
        let is_it = |other: &&Declaration| other.name.text.eq_ignore_ascii_case(&target.text);
        let found = self.declared.iter().find(is_it);
        found.map_or(&target.text, |found| &found.name.text).clone()
    }

    fn unknown(&self, name: &Name) -> Error {
        let names = self.declared.iter().map(|declaration| &*declaration.name.text);
        let types = ["int", "float", "bool", "str", "date", "time", "datetime", "uuid"];
        let error = Error::not_found(format!("there is no type or struct `{}`", name.text));
        let error = error.near(&name.text, names.chain(types)).at(name.span);
        if error.hint().is_some() {
            return error;
        }
        error.help(format!("the types are {}", types.join(", ")))
    }

    fn refuse_default(&self, member: &MemberDeclaration) -> Result<()> {
        if member.default.is_none() {
            return Ok(());
        }
        let error = Error::invalid(format!("link `{}` takes no default", member.name.text));
        Err(error.at(member.name.span).help("links start as none, or empty"))
    }

    fn refuse_index(&self, member: &MemberDeclaration) -> Result<()> {
        if !member.unique && !member.index && !member.optional {
            return Ok(());
        }
        let error = Error::invalid(format!("`{}` is a set of entities", member.name.text));
        Err(error.at(member.name.span).help("`?`, `unique` and `index` apply to single values"))
    }

    /// A default as SQL, the form stored in the catalog.
    fn default_text(&self, name: &Name, default: &Expr, ty: &ColumnType) -> Result<String> {
        let binder = &mut Binder::new(self.source.binding(), Signature::NONE);
        if matches!(default, Expr::Now(_))
            && matches!(ty, ColumnType::Timestamp { .. } | ColumnType::Date | ColumnType::Time)
        {
            return Ok("now()".to_owned());
        }
        let value = match default {
            Expr::Literal(Value::Text(text), _, span) if is_given_as_text(text, ty) => {
                cast::parse(text, ty).map_err(|error| error.at(*span))?
            }
            _ => binder.default_value(default, ty, &name.text)?,
        };
        Ok(sql_text(&value, ty))
    }
}

fn only_links(name: &Name, what: &str) -> Error {
    Error::invalid(format!("`{what}` applies to links, and `{}` is not a link", name.text))
        .at(name.span)
}

fn relation(schema: TableSchema, constraints: Constraints, indexes: Vec<IndexInfo>) -> Relation {
    Relation { constraints, indexes, ..Relation::new(RelationKind::Table, schema, Arc::new(())) }
}

/// Whether a default is text for a type that ZiQL has no literals of, as [`show`](super::show)
/// writes it.
fn is_given_as_text(text: &str, ty: &ColumnType) -> bool {
    let is_infinite = |value| matches!(value, Ok(Value::Float(value)) if !value.is_finite());
    match ty {
        ColumnType::Float32 | ColumnType::Float64 => is_infinite(cast::parse(text, ty)),
        _ => !has_literals(ty),
    }
}

/// A value as a SQL literal.
fn sql_text(value: &Value, ty: &ColumnType) -> String {
    match (value, ty) {
        (Value::Null, _) => "null".to_owned(),
        (Value::Boolean(_) | Value::Integer(_), _) => cast::format(value, ty),
        (Value::List(_), _) => format!("'{}'", json::to_json(value, ty).replace('\'', "''")),
        _ => format!("'{}'", cast::format(value, ty).replace('\'', "''")),
    }
}

/// Whether a member is stored in its own table.
pub(super) fn is_many(kind: &MemberKind) -> bool {
    matches!(kind, MemberKind::Many { .. })
}
