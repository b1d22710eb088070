//! What relations are made of: columns with their types and what is known of them, keys, indexes,
//! definitions, and the links between relations.

use folio::{
    Database, PathSummary, RelationKind, RelationSummary, Session, column_path, type_name,
};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::{Failure, text};
use crate::rows::{self, Guarded};
use crate::shared::Shared;

/// The most paths of one collection that a page gets.
const PATHS_MAX: usize = 1_000;

/// All relations and links.
pub(crate) fn schema(connection: &Connection, shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    let mut guarded = Guarded::new(connection, shared)?;
    let mut relations = Vec::new();
    for summary in guarded.session.relations()? {
        guarded.check()?;
        let session = &mut guarded.session;
        relations.push(json!({
            "name": summary.name,
            "kind": summary.kind.word(),
            "key": summary.key,
            "count": summary.row_count,
            "fields": fields_of(database, session, &summary)?,
            "definition": session.definition(&summary.name)?,
        }));
    }
    guarded.check()?;
    let schema = guarded.session.schema()?;
    let (links, functions) = (links(database)?, folio::function_names());
    let all = json!({
        "relations": relations, "links": links, "schema": schema, "functions": functions,
    });
    Ok(all.to_string())
}

/// What is known of the columns of one relation, and the links from and to it.
pub(crate) fn fields(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let (name, database) = (text(asked, "relation")?, &shared.database);
    let mut guarded = Guarded::new(connection, shared)?;
    guarded.check()?;
    let summary = guarded.session.relations()?.into_iter().find(|one| one.name == name);
    let summary = summary.ok_or(Failure::Asked("there is no such relation"))?;
    let fields = fields_of(database, &mut guarded.session, &summary)?;
    guarded.check()?;
    let mut links = links(database)?;
    links.retain(|link| link["from"] == name || link["to"] == name);
    Ok(json!({"fields": fields, "key": summary.key, "links": links}).to_string())
}

fn fields_of(
    database: &Database,
    session: &mut Session,
    summary: &RelationSummary,
) -> Result<Vec<Value>, Failure> {
    if summary.kind != RelationKind::Collection {
        return columns(session, &summary.name);
    }
    let collection = database.existing_collection(&summary.name)?;
    collection.refresh()?;
    Ok(paths(&collection.fields()?))
}

fn links(database: &Database) -> Result<Vec<Value>, Failure> {
    let links = database.links()?.into_iter().map(|link| {
        json!({"from": link.from, "to": link.to, "columns": link.columns, "is_declared": link.is_declared})
    });
    Ok(links.collect())
}

fn columns(session: &mut Session, name: &str) -> Result<Vec<Value>, Failure> {
    let columns = session.columns(name)?;
    let described = columns.iter().map(|column| {
        let (path, ty) = (column_path(&column.name), type_name(&column.column_type));
        json!({"path": path, "type": ty})
    });
    Ok(described.collect())
}

fn paths(fields: &[PathSummary]) -> Vec<Value> {
    let value = |text: &Option<String>| {
        text.as_deref().map(|text| serde_json::from_str(text).unwrap_or(Value::Null))
    };
    let examples = |field: &PathSummary| -> Vec<Value> {
        field.examples.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
    };
    let described = |field: &PathSummary| {
        json!({
            "path": field.path,
            "type": field.type_name,
            "share": rows::short(field.share),
            "distinct": field.distinct_count,
            "least": value(&field.smallest),
            "most": value(&field.largest),
            "examples": examples(field),
        })
    };
    fields.iter().take(PATHS_MAX).map(described).collect()
}
