//! Prints tables, views and indexes as CREATE statements.

use std::fmt::Write;

use folio_compute::type_name;
use folio_engine::source::{FieldIndex, IndexMethod, Relation, RelationKind};
use folio_engine::{Constraints, OnDelete, OnUpdate, Reference};
use sqlparser::keywords::{
    Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_IDENTIFIER, RESERVED_FOR_TABLE_ALIAS,
};
use sqlparser::tokenizer::{Token, Word};

/// Words that begin a constraint in the place of a column.
const BEFORE_CONSTRAINT: &[Keyword] = &[
    Keyword::PRIMARY,
    Keyword::UNIQUE,
    Keyword::CHECK,
    Keyword::FOREIGN,
    Keyword::CONSTRAINT,
    Keyword::EXCLUDE,
    Keyword::LIKE,
    Keyword::KEY,
    Keyword::INDEX,
    Keyword::NOT,
    Keyword::NULL,
    Keyword::DEFAULT,
];

/// The statements that create a table with its indexes, or a view; each ends with a semicolon.
/// Empty for collections and files, which no statement creates.
#[must_use]
pub fn show_relation(relation: &Relation) -> String {
    match relation.kind {
        RelationKind::Table => table(relation),
        RelationKind::View => view(relation),
        RelationKind::Collection | RelationKind::File | RelationKind::Registered => String::new(),
    }
}

fn table(relation: &Relation) -> String {
    let (schema, constraints) = (&relation.schema, &relation.constraints);
    let mut parts: Vec<String> = (0..schema.columns.len()).map(|at| column(relation, at)).collect();
    if schema.primary_key.len() > 1 {
        let names = schema.primary_key.iter().map(|at| schema.columns[*at].name.as_str());
        parts.push(format!("PRIMARY KEY ({})", list(names)));
    }
    for check in &constraints.checks {
        parts.push(format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.text));
    }
    for reference in &constraints.references {
        parts.push(foreign_key(reference));
    }
    let mut out =
        format!("CREATE TABLE {} (\n    {}\n);\n", quoted(&schema.name), parts.join(",\n    "));
    for index in &relation.indexes {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let columns = index.columns.iter().map(|(at, is_descending)| {
            let order = if *is_descending { " DESC" } else { "" };
            format!("{}{order}", quoted(&schema.columns[*at].name))
        });
        let columns: Vec<String> = columns.collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "CREATE {unique}INDEX {} ON {} ({});",
            quoted(&index.name),
            quoted(&schema.name),
            columns.join(", ")
        );
    }
    for index in &relation.columns_indexes {
        let names = index.columns.iter().map(|(at, _)| schema.columns[*at].name.as_str());
        let columns = match &index.columns[..] {
            [] => String::new(),
            _ => format!(" ({})", list(names)),
        };
        let (name, table) = (quoted(&index.name), quoted(&schema.name));
        let _ = writeln!(out, "CREATE INDEX {name} ON {table} USING columns{columns};");
    }
    out
}

/// The statement that adds a reference to a table; it ends with a semicolon.
#[must_use]
pub fn show_reference(table: &str, reference: &Reference) -> String {
    format!("ALTER TABLE {} ADD {};\n", quoted(table), foreign_key(reference))
}

/// The statement that creates an index on fields of a collection; it ends with a semicolon.
#[must_use]
pub fn show_field_index(collection: &str, index: &FieldIndex) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let name = index.name.as_deref().map(|name| format!("{} ", quoted(name))).unwrap_or_default();
    let fields = index.fields.iter().map(|field| {
        let path: Vec<String> = field.path.iter().map(|name| quoted(name)).collect();
        let elements = if field.elements { "[]" } else { "" };
        format!("{}{elements}{}", path.join("."), if field.descending { " DESC" } else { "" })
    });
    let fields: Vec<String> = fields.collect();
    let conditions = index.conditions.iter().map(|condition| condition.to_sql(&quoted));
    let conditions: Vec<String> = conditions.collect();
    let condition = match &conditions[..] {
        [] => String::new(),
        all => format!(" WHERE {}", all.join(" AND ")),
    };
    let fields = match &fields[..] {
        [] => String::new(),
        fields => format!(" ({})", fields.join(", ")),
    };
    let using = match index.method {
        IndexMethod::Fields => "",
        IndexMethod::Columns => " USING columns",
    };
    let collection = quoted(collection);
    format!("CREATE {unique}INDEX {name}ON {collection}{using}{fields}{condition};\n")
}

/// The statement that opens the paths of a collection; it ends with a semicolon.
#[must_use]
pub fn show_open_paths(collection: &str) -> String {
    format!("ALTER TABLE {} SET (open = true);\n", quoted(collection))
}

fn column(relation: &Relation, at: usize) -> String {
    let (schema, constraints) = (&relation.schema, &relation.constraints);
    let column = &schema.columns[at];
    let ty = match constraints.lengths.get(&column.name) {
        Some(length) => format!("varchar({length})"),
        None => type_name(&column.column_type),
    };
    let mut out = format!("{} {ty}", quoted(&column.name));
    match constraints.identity.get(&column.name) {
        Some(true) => out.push_str(" GENERATED ALWAYS AS IDENTITY"),
        Some(false) => out.push_str(" GENERATED BY DEFAULT AS IDENTITY"),
        None => {}
    }
    if let Some(generated) = constraints.generated.get(&column.name) {
        let _ = write!(out, " GENERATED ALWAYS AS ({generated}) STORED");
    }
    if let Some(default) = default_of(constraints, &column.name) {
        let _ = write!(out, " DEFAULT {default}");
    }
    if schema.primary_key == [at] {
        out.push_str(" PRIMARY KEY");
    } else if !column.nullable && !schema.primary_key.contains(&at) {
        out.push_str(" NOT NULL");
    }
    out
}

/// The default of a column that is not an identity.
fn default_of<'c>(constraints: &'c Constraints, column: &str) -> Option<&'c String> {
    let default = constraints.defaults.get(column)?;
    (!constraints.identity.contains_key(column)).then_some(default)
}

fn foreign_key(reference: &Reference) -> String {
    let on_delete = match reference.on_delete {
        OnDelete::Restrict => "",
        // SQL cannot express the rest; only a schema of structs can.
        OnDelete::Cascade | OnDelete::CascadeOwner => " ON DELETE CASCADE",
        OnDelete::SetNull => " ON DELETE SET NULL",
        OnDelete::SetDefault => " ON DELETE SET DEFAULT",
    };
    let on_update = match reference.on_update {
        OnUpdate::Restrict => "",
        OnUpdate::Cascade => " ON UPDATE CASCADE",
        OnUpdate::SetNull => " ON UPDATE SET NULL",
        OnUpdate::SetDefault => " ON UPDATE SET DEFAULT",
    };
    // Without columns, the reference means the primary key.
    let target = match &reference.target[..] {
        [] => String::new(),
        columns => format!(" ({})", list(columns.iter().map(String::as_str))),
    };
    format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {}{target}{on_delete}{on_update}",
        quoted(&reference.name),
        list(reference.columns.iter().map(String::as_str)),
        quoted(&reference.table),
    )
}

fn view(relation: &Relation) -> String {
    let constraints = &relation.constraints;
    let columns = match &constraints.view_columns[..] {
        [] => String::new(),
        columns => format!(" ({})", list(columns.iter().map(String::as_str))),
    };
    let query = constraints.view.as_deref().unwrap_or_default();
    format!("CREATE VIEW {}{columns} AS {query};\n", quoted(&relation.schema.name))
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(quoted).collect::<Vec<_>>().join(", ")
}

/// A name, in quotes if a statement would misread it.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name
            .chars()
            .all(|part| part.is_ascii_lowercase() || part.is_ascii_digit() || part == '_');
    if is_plain && !is_reserved(name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

fn is_reserved(name: &str) -> bool {
    let Token::Word(Word { keyword, .. }) = Token::make_keyword(name) else { return false };
    [
        RESERVED_FOR_COLUMN_ALIAS,
        RESERVED_FOR_TABLE_ALIAS,
        RESERVED_FOR_IDENTIFIER,
        BEFORE_CONSTRAINT,
    ]
    .iter()
    .any(|words| words.contains(&keyword))
}
