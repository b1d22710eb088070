//! Reads and writes a table's definition as JSON text.

use folio_types::{Column, ColumnType, TableSchema};
use serde_json::{Value, json};

use super::{ColumnsIndex, Index, Table, ViewDefinition};
use crate::ids::{PageId, TreeId};

pub(super) fn table_text(table: &Table) -> String {
    let columns = table.schema.columns.iter().map(|column| {
        json!({
            "name": column.name,
            "type": type_json(&column.column_type),
            "nullable": column.nullable,
        })
    });
    let indexes = table.indexes.iter().map(|index| {
        json!({
            "name": index.name,
            "id": index.id.0,
            "root": index.root.0,
            "columns": index.columns,
            "unique": index.unique,
        })
    });
    let copies = table.columns_indexes.iter().map(|index| {
        json!({
            "name": index.name,
            "id": index.id.0,
            "root": index.root.0,
            "method": "columns",
            "copied": index.columns,
        })
    });
    json!({
        "name": table.schema.name,
        "root": table.root.0,
        "columns": columns.collect::<Vec<_>>(),
        "primary_key": table.schema.primary_key,
        "properties": table.schema.properties,
        "indexes": indexes.chain(copies).collect::<Vec<_>>(),
    })
    .to_string()
}

pub(super) fn view_text(view: &ViewDefinition) -> String {
    json!({"name": view.name, "view": view.text}).to_string()
}

/// The definition in a catalog entry.
pub(super) enum Definition {
    Table(Box<Table>),
    View(ViewDefinition),
}

/// Reads a definition; `None` when the text is invalid, or breaks a rule that the rest of the crate
/// relies on.
pub(super) fn parse(id: TreeId, text: &[u8], page_count: u32) -> Option<Definition> {
    let value: Value = serde_json::from_slice(text).ok()?;
    if let Some(text) = value["view"].as_str() {
        let (name, text) = (value["name"].as_str()?.to_owned(), text.to_owned());
        return Some(Definition::View(ViewDefinition { id, name, text }));
    }
    let table = parse_table(id, &value, page_count)?;
    Some(Definition::Table(Box::new(table)))
}

fn parse_table(id: TreeId, value: &Value, page_count: u32) -> Option<Table> {
    let columns = value["columns"].as_array()?.iter().map(|column| {
        Some(Column {
            name: column["name"].as_str()?.to_owned(),
            column_type: parse_type(&column["type"])?,
            nullable: column["nullable"].as_bool()?,
        })
    });
    let key = value["primary_key"].as_array()?.iter().map(number);
    let schema = TableSchema {
        name: value["name"].as_str()?.to_owned(),
        columns: columns.collect::<Option<_>>()?,
        primary_key: key.collect::<Option<_>>()?,
        properties: value["properties"].as_str()?.to_owned(),
    };
    schema.check().ok()?;
    let (mut indexes, mut copies) = (Vec::new(), Vec::new());
    for index in value["indexes"].as_array()? {
        match index["method"].as_str() {
            None => indexes.push(parse_index(index, &schema, page_count)?),
            Some("columns") => copies.push(parse_columns_index(index, &schema, page_count)?),
            Some(_) => return None,
        }
    }
    let root = page(&value["root"], page_count)?;
    Some(Table::new(id, root, schema, indexes, copies))
}

fn parse_index(value: &Value, schema: &TableSchema, page_count: u32) -> Option<Index> {
    let columns = value["columns"].as_array()?.iter();
    let columns = columns.map(|column| Some((number(&column[0])?, column[1].as_bool()?)));
    let columns: Vec<(usize, bool)> = columns.collect::<Option<_>>()?;
    let positions: Vec<usize> = columns.iter().map(|(column, _)| *column).collect();
    schema.check_key(&positions).ok()?;
    let id = TreeId(u32::try_from(value["id"].as_u64()?).ok()?);
    let name = value["name"].as_str()?.to_owned();
    let root = page(&value["root"], page_count)?;
    Some(Index::new(id, root, name, columns, value["unique"].as_bool()?, schema))
}

fn parse_columns_index(
    value: &Value,
    schema: &TableSchema,
    page_count: u32,
) -> Option<ColumnsIndex> {
    let columns: Vec<usize> =
        value["copied"].as_array()?.iter().map(number).collect::<Option<_>>()?;
    Some(ColumnsIndex {
        id: TreeId(u32::try_from(value["id"].as_u64()?).ok()?),
        root: page(&value["root"], page_count)?,
        name: value["name"].as_str()?.to_owned(),
        columns: columns.iter().all(|column| *column < schema.columns.len()).then_some(columns)?,
    })
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn page(value: &Value, page_count: u32) -> Option<PageId> {
    let page = u32::try_from(value.as_u64()?).ok()?;
    (1..=page_count).contains(&page).then_some(PageId(page))
}

fn type_json(column_type: &ColumnType) -> Value {
    match column_type {
        ColumnType::Boolean => json!("boolean"),
        ColumnType::Int16 => json!("smallint"),
        ColumnType::Int32 => json!("integer"),
        ColumnType::Int64 => json!("bigint"),
        ColumnType::Float32 => json!("real"),
        ColumnType::Float64 => json!("double precision"),
        ColumnType::Decimal { precision, scale } => json!({"numeric": [precision, scale]}),
        ColumnType::Text => json!("text"),
        ColumnType::Binary => json!("bytea"),
        ColumnType::Json => json!("json"),
        ColumnType::Uuid => json!("uuid"),
        ColumnType::Date => json!("date"),
        ColumnType::Time => json!("time"),
        ColumnType::Timestamp { utc: false } => json!("timestamp"),
        ColumnType::Timestamp { utc: true } => json!("timestamptz"),
        ColumnType::Interval => json!("interval"),
        ColumnType::List(element) => json!({"array": type_json(element)}),
        ColumnType::Struct(fields) => {
            let fields = fields.iter().map(|(name, field)| json!([name, type_json(field)]));
            json!({"struct": fields.collect::<Vec<_>>()})
        }
        ColumnType::Map(value) => json!({"map": type_json(value)}),
        other => unreachable!("type {other:?} has no name yet"),
    }
}

fn parse_type(value: &Value) -> Option<ColumnType> {
    if let Some(name) = value.as_str() {
        return Some(match name {
            "boolean" => ColumnType::Boolean,
            "smallint" => ColumnType::Int16,
            "integer" => ColumnType::Int32,
            "bigint" => ColumnType::Int64,
            "real" => ColumnType::Float32,
            "double precision" => ColumnType::Float64,
            "text" => ColumnType::Text,
            "bytea" => ColumnType::Binary,
            "json" => ColumnType::Json,
            "uuid" => ColumnType::Uuid,
            "date" => ColumnType::Date,
            "time" => ColumnType::Time,
            "timestamp" => ColumnType::Timestamp { utc: false },
            "timestamptz" => ColumnType::Timestamp { utc: true },
            "interval" => ColumnType::Interval,
            _ => return None,
        });
    }
    let (kind, argument) = value.as_object()?.iter().next()?;
    match &kind[..] {
        "numeric" => Some(ColumnType::Decimal {
            precision: u8::try_from(argument[0].as_u64()?).ok()?,
            scale: i8::try_from(argument[1].as_i64()?).ok()?,
        }),
        "array" => Some(ColumnType::List(Box::new(parse_type(argument)?))),
        "map" => Some(ColumnType::Map(Box::new(parse_type(argument)?))),
        "struct" => {
            let fields = argument
                .as_array()?
                .iter()
                .map(|field| Some((field[0].as_str()?.to_owned(), parse_type(&field[1])?)));
            Some(ColumnType::Struct(fields.collect::<Option<_>>()?))
        }
        _ => None,
    }
}
