//! Everything in the database: names, kinds, counts, sizes, health.

use folio::{Database, RelationKind, RelationSummary};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::shared::Shared;

pub(crate) fn overview(shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    let mut relations = Vec::new();
    for summary in database.session()?.relations()? {
        relations.push(described(database, &summary)?);
    }
    let files = database.tables()?.statistics()?;
    let tables_size = files.map(|files| files.data_size + files.log_size);
    Ok(whole(database, &relations, tables_size).to_string())
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
    Ok(whole(database, &relations.collect::<Vec<_>>(), None).to_string())
}

fn whole(database: &Database, relations: &[Value], tables_size: Option<u64>) -> Value {
    let name = database.path().file_name().map(|name| name.to_string_lossy().into_owned());
    json!({
        "name": name,
        "path": database.path().to_string_lossy(),
        "is_writable": database.is_writable(),
        "version": env!("CARGO_PKG_VERSION"),
        "relations": relations,
        "tables_size": tables_size,
    })
}

/// How many rows everything has by now, whoever has written them.
pub(crate) fn pulse(shared: &Shared) -> Result<String, Failure> {
    let database = &shared.database;
    for name in database.collections()? {
        database.collection(&name)?.refresh()?;
    }
    let relations = database.session()?.relations()?;
    let counts = relations.into_iter().map(|one| (one.name, json!(one.row_count)));
    Ok(json!({"counts": counts.collect::<serde_json::Map<_, _>>()}).to_string())
}

fn described(database: &Database, summary: &RelationSummary) -> Result<Value, Failure> {
    let mut object = json!({
        "name": summary.name,
        "kind": summary.kind.word(),
        "count": summary.row_count,
        "columns": summary.columns,
    });
    if summary.kind == RelationKind::Collection {
        let collection = database.collection(&summary.name)?;
        collection.refresh()?;
        let stats = collection.stats()?;
        let indexes = collection.indexes()?.into_iter().map(|index| {
            json!({"name": index.definition.name, "size": index.size, "is_ready": index.is_ready})
        });
        object["count"] = json!(stats.document_count);
        object["size"] = json!(stats.data_size);
        object["index_size"] = json!(stats.index_size);
        object["dead"] = json!(stats.dead_count);
        object["indexes"] = indexes.collect();
        let broken = collection.broken_lines()?;
        object["broken"] = broken.into_iter().map(|notice| json!(notice.to_string())).collect();
    }
    Ok(object)
}
