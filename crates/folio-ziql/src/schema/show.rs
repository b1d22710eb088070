//! Prints structs as a schema.

use std::fmt::Write;
use std::sync::Arc;

use folio_compute::{Result, cast, type_name};
use folio_engine::expression::Expr;
use folio_engine::expression::evaluate::constant;
use folio_engine::source::entity::{Entity, MemberKind};
use folio_engine::source::{Relation, RelationKind};
use folio_engine::{Context, OnDelete};
use folio_types::{ColumnType, Value};

use super::Catalog;
use crate::parse::value_type;
use crate::token::Keyword;

/// Prints all declared structs, in order of their names.
///
/// # Errors
/// Errors of the source.
pub(super) fn show(source: Catalog<'_>) -> Result<String> {
    let mut out = String::new();
    for relation in structs(source)? {
        if !out.is_empty() {
            out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} (", quoted(&relation.schema.name));
        for (name, text) in members(&relation, source, &|table| source.relation(table))? {
            let _ = write!(out, "    {}: {text},", quoted(&name));
            if let Some(note) = added_by_sql(&relation, &name, source)? {
                let _ = write!(out, " # SQL: {}", note.replace('\n', " "));
            }
            out.push('\n');
        }
        for check in &relation.constraints.checks {
            let text = format!("constraint {} check ({})", check.name, check.text);
            let _ = writeln!(out, "    # SQL: {}", text.replace('\n', " "));
        }
        out.push_str(")\n");
    }
    Ok(out)
}

/// The tables that a schema declares as structs.
pub(super) fn structs(source: Catalog<'_>) -> Result<Vec<Arc<Relation>>> {
    let mut names = source.names()?;
    names.sort_unstable();
    let mut found = Vec::new();
    for name in names {
        if let Some(relation) = source.relation(&name)?
            && relation.kind == RelationKind::Table
            && relation.constraints.is_struct
        {
            found.push(relation);
        }
    }
    Ok(found)
}

/// Looks up the table of a to-many link by name.
pub(super) type Pairs<'p> = &'p dyn Fn(&str) -> Result<Option<Arc<Relation>>>;

/// Names and declarations of the members of a struct, without `id`.
pub(super) fn members(
    relation: &Arc<Relation>,
    source: Catalog<'_>,
    pairs: Pairs<'_>,
) -> Result<Vec<(String, String)>> {
    let entity = Entity::of(relation);
    let mut found = Vec::new();
    for member in &entity.members {
        let text = match &member.kind {
            MemberKind::Value(column) if relation.schema.primary_key == [*column] => continue,
            MemberKind::Value(column) => value(relation, *column, source)?,
            MemberKind::One { column, target } => {
                let unique = if has_index(relation, *column, true) { " unique" } else { "" };
                let on_delete = on_delete(relation, &member.name, false);
                format!("{}{unique}{on_delete}", quoted(target))
            }
            MemberKind::Many { table, target } => {
                let on_delete = pairs(table)?.map_or("", |pairs| on_delete(&pairs, "target", true));
                format!("[]{}{on_delete}", quoted(target))
            }
            MemberKind::Inverse { target, link } => {
                format!("[]{}.{}", quoted(target), quoted(link))
            }
        };
        found.push((member.name.clone(), text));
    }
    Ok(found)
}

fn value(relation: &Arc<Relation>, column: usize, source: Catalog<'_>) -> Result<String> {
    let own = &relation.schema.columns[column];
    let mut text = declared_type(&own.column_type);
    if own.nullable {
        text.push('?');
    }
    if let Some(default) = default_of(relation, column, source)? {
        let _ = write!(text, " = {}", default_text(&default, &own.column_type)?);
    }
    if has_index(relation, column, true) {
        text.push_str(" unique");
    } else if has_index(relation, column, false) {
        text.push_str(" index");
    }
    Ok(text)
}

/// The type of a member as a schema declares it: the inverse of what the parser reads.
pub(super) fn declared_type(ty: &ColumnType) -> String {
    match ty {
        ColumnType::Int64 => "int".to_owned(),
        ColumnType::Float64 => "float".to_owned(),
        ColumnType::Boolean => "bool".to_owned(),
        ColumnType::Text => "str".to_owned(),
        ColumnType::Timestamp { utc: true } => "datetime".to_owned(),
        ColumnType::List(element) => format!("[]{}", declared_type(element)),
        ColumnType::Map(value) => format!("map(str, {})", declared_type(value)),
        ColumnType::Struct(fields) => {
            let field = |(name, ty): &(String, ColumnType)| {
                format!("{}: {}", quoted(name), declared_type(ty))
            };
            format!("struct({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => type_name(other),
    }
}

/// The default of a column, if a schema can say it.
fn default_of(relation: &Relation, column: usize, source: Catalog<'_>) -> Result<Option<Expr>> {
    if !relation.constraints.defaults.contains_key(&relation.schema.columns[column].name) {
        return Ok(None);
    }
    let default = source.binding().default_of(relation, column)?;
    let is_volatile = default
        .any(&mut |part| matches!(part, Expr::Function { function, .. } if function.is_volatile));
    Ok((!is_volatile).then_some(default))
}

/// What SQL has added to a member, as SQL. No schema says it, and none takes it away.
fn added_by_sql(relation: &Relation, member: &str, source: Catalog<'_>) -> Result<Option<String>> {
    let own = &relation.constraints;
    let mut notes = Vec::new();
    notes.extend(own.lengths.get(member).map(|length| format!("varchar({length})")));
    notes.extend(own.identity.get(member).map(|is_always| {
        let how = if *is_always { "always" } else { "by default" };
        format!("generated {how} as identity")
    }));
    let generated = own.generated.get(member);
    notes.extend(generated.map(|text| format!("generated always as ({text}) stored")));
    if let (Some(text), Some(column)) =
        (own.defaults.get(member), relation.schema.column_index(member))
        && default_of(relation, column, source)?.is_none()
    {
        notes.push(format!("default {text}"));
    }
    Ok((!notes.is_empty()).then(|| notes.join(" ")))
}

/// Whether an index consists of this column alone.
pub(super) fn has_index(relation: &Relation, column: usize, unique: bool) -> bool {
    let columns = [(column, false)];
    relation.indexes.iter().any(|index| index.columns == columns && index.unique == unique)
}

/// The declared action on deletion. For a to-many link, a plain cascade only removes the link
/// row, which is the default.
fn on_delete(relation: &Relation, column: &str, is_many: bool) -> &'static str {
    let mut references = relation.constraints.references.iter();
    let found = references.find(|reference| reference.columns == [column]);
    match found.map(|reference| reference.on_delete) {
        Some(OnDelete::Restrict) => " on delete restrict",
        Some(OnDelete::CascadeOwner) => " on delete cascade",
        Some(OnDelete::Cascade) if !is_many => " on delete cascade",
        _ => "",
    }
}

fn default_text(default: &Expr, ty: &ColumnType) -> Result<String> {
    let is_now = default
        .any(&mut |part| matches!(part, Expr::Function { function, .. } if function.is_stable));
    if is_now {
        return Ok("NOW".to_owned());
    }
    let value = constant(default, &Context::detached())?;
    let is_short = |digits: i128| digits.unsigned_abs() < EXACT_MAX;
    Ok(match &value {
        Value::Null => literal(&value, ty),
        Value::Decimal(digits) if is_short(*digits) => cast::format(&value, ty),
        Value::Float(number) if !number.is_finite() => text_literal(cast::format(&value, ty)),
        _ if has_literals(ty) => literal(&value, ty),
        _ => text_literal(cast::format(&value, ty)),
    })
}

/// A number with more digits is not exact as a float, which numbers with a point are read as.
const EXACT_MAX: u128 = 1_000_000_000_000_000;

fn text_literal(text: String) -> String {
    literal(&Value::Text(text), &ColumnType::Text)
}

/// Whether ZiQL has literals of a type. Defaults of other types are written as text.
pub(super) fn has_literals(ty: &ColumnType) -> bool {
    match ty {
        // A list of literals is one of the types that ZiQL has words for.
        ColumnType::List(element) => value_type(&declared_type(element)).is_some(),
        ColumnType::Binary
        | ColumnType::Json
        | ColumnType::Interval
        | ColumnType::Decimal { .. }
        | ColumnType::Struct(_)
        | ColumnType::Map(_) => false,
        _ => true,
    }
}

/// A value as a ZiQL literal.
pub(crate) fn literal(value: &Value, ty: &ColumnType) -> String {
    match (value, ty) {
        (Value::Null, _) => "none".to_owned(),
        (Value::Text(text), ColumnType::Text) => {
            let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
            format!("'{}'", escaped.replace('\n', "\\n").replace('\r', "\\r"))
        }
        (Value::Float(_), _) => {
            let text = cast::format(value, ty);
            if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
        }
        (Value::Timestamp(_), _) => {
            let text = cast::format(value, &ColumnType::Timestamp { utc: false });
            text.replacen(' ', "T", 1)
        }
        (Value::List(items), ColumnType::List(element)) => {
            let items: Vec<String> = items.iter().map(|item| literal(item, element)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => cast::format(value, ty),
    }
}

/// A name, in backquotes if it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|part| part.is_ascii_alphanumeric() || part == '_')
        && Keyword::of(name).is_none();
    if is_plain { name.to_owned() } else { format!("`{name}`") }
}
