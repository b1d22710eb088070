//! Everything in the database: names, kinds, counts, sizes, changes, health.

use std::time::{SystemTime, UNIX_EPOCH};

use folio::{Database, IndexStats, RelationKind, RelationSummary};
use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::rows::Guarded;
use crate::shared::Shared;

pub(crate) fn overview(connection: &Connection, shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    let mut guarded = Guarded::new(connection, shared)?;
    let mut relations = Vec::new();
    for summary in guarded.session.relations()? {
        guarded.check()?;
        relations.push(described(database, &summary)?);
    }
    let files = database.tables()?.statistics()?;
    let mut all = whole(database, &relations);
    all["tables_size"] = json!(files.map(|files| files.data_size + files.log_size));
    all["tables_changed"] = milliseconds(files.and_then(|files| files.changed));
    Ok(all.to_string())
}

/// The same without counts and sizes: opens no collection, which takes time if its index has to be
/// built.
pub(crate) fn names(shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    let tables = database.tables()?.list()?.into_iter().map(|table| (table.name, "table"));
    let collections = database.collections()?.into_iter().map(|name| (name, "collection"));
    let mut names: Vec<_> = tables.chain(collections).collect();
    names.sort_unstable();
    let relations = names
        .into_iter()
        .map(|(name, kind)| json!({"name": name, "kind": kind, "count": null, "columns": []}));
    Ok(whole(database, &relations.collect::<Vec<_>>()).to_string())
}

fn whole(database: &Database, relations: &[Value]) -> Value {
    let name = database.path().file_name().map(|name| name.to_string_lossy().into_owned());
    json!({
        "name": name,
        "path": database.path().to_string_lossy(),
        "is_writable": database.is_writable(),
        "version": env!("CARGO_PKG_VERSION"),
        "relations": relations,
    })
}

/// How many rows everything has by now, whoever has written them, and a number for each that is
/// another after any change.
pub(crate) fn pulse(connection: &Connection, shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    let mut guarded = Guarded::new(connection, shared)?;
    for name in database.collections()? {
        guarded.check()?;
        database.collection(&name)?.refresh()?;
    }
    guarded.check()?;
    let mut states = Map::new();
    for summary in guarded.session.relations()? {
        let revision = revision(database, &summary)?;
        states.insert(summary.name, json!({"count": summary.row_count, "revision": revision}));
    }
    Ok(json!({"states": states}).to_string())
}

/// A number that is another after a change. Of tables, any of them: their commits are numbered
/// together. A view has none; it shows what others do.
fn revision(database: &Database, summary: &RelationSummary) -> Result<Option<String>, Failure> {
    let number = match summary.kind {
        RelationKind::Collection => Some(database.existing_collection(&summary.name)?.revision()?),
        RelationKind::Table => database.tables()?.statistics()?.map(|files| files.commit),
        RelationKind::View => None,
    };
    // Digits that JavaScript would round.
    Ok(number.map(|number| number.to_string()))
}

/// The revision of a relation; `None` where there is no such relation.
pub(crate) fn revision_of(guarded: &mut Guarded, name: &str, database: &Database) -> Value {
    let relations = guarded.session.relations().unwrap_or_default();
    let found = relations.into_iter().find(|one| one.name == name);
    json!(found.and_then(|summary| revision(database, &summary).ok().flatten()))
}

fn described(database: &Database, summary: &RelationSummary) -> Result<Value, Failure> {
    let mut object = json!({
        "name": summary.name,
        "kind": summary.kind.word(),
        "count": summary.row_count,
        "columns": summary.columns,
    });
    match summary.kind {
        RelationKind::Collection => {
            let collection = database.collection(&summary.name)?;
            collection.refresh()?;
            let stats = collection.stats()?;
            object["count"] = json!(stats.document_count);
            object["size"] = json!(stats.data_size);
            object["index_size"] = json!(stats.index_size);
            object["dead"] = json!(stats.dead_count);
            object["changed"] = milliseconds(stats.changed);
            object["indexes"] = indexes(collection.indexes()?);
            let broken = collection.broken_lines()?;
            object["broken"] = broken.into_iter().map(|notice| json!(notice.to_string())).collect();
        }
        RelationKind::Table => {
            let tables = database.tables()?;
            let indexes_of = tables.indexes(&summary.name)?;
            object["size"] = json!(tables.size(&summary.name)?);
            object["index_size"] = json!(indexes_of.iter().map(|index| index.size).sum::<u64>());
            object["indexes"] = indexes(indexes_of);
        }
        RelationKind::View => {}
    }
    Ok(object)
}

fn indexes(all: Vec<IndexStats>) -> Value {
    let described = all.into_iter().map(|index| {
        json!({"name": index.definition.name, "size": index.size, "is_ready": index.is_ready})
    });
    described.collect()
}

/// A moment as pages know it.
fn milliseconds(moment: Option<SystemTime>) -> Value {
    let since = moment.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    json!(since.and_then(|since| u64::try_from(since.as_millis()).ok()))
}
