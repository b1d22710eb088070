//! What SQL stores with a table beyond names and types.
//!
//! The store below has columns, keys and indexes only. Defaults, checks, references and
//! lengths are one JSON object in the schema's properties. Expressions are SQL text, so that
//! any reader of the catalog can read them. Empty parts are left out:
//!
//! ```json
//! {"defaults":{"at":"now()"},"lengths":{"name":40},"identity":{"id":"always"},
//!  "generated":{"total":"price * 1.2"},
//!  "checks":[{"name":"t_age_check","text":"age >= 0"}],
//!  "references":[{"name":"t_owner_fkey","columns":["owner"],"table":"users",
//!                 "target":["id"],"on_delete":"cascade","on_update":"cascade"}],
//!  "struct":{"links":[{"name":"posts","position":4,"target":"Post","inverse":"author"}]}}
//! ```

use std::collections::BTreeMap;

use folio_types::same_name;
use serde_json::{Map, Value as Json, json};

/// What happens to referencing rows when the referenced row is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDelete {
    /// The deletion is refused.
    #[default]
    Restrict,
    /// They are deleted too.
    Cascade,
    /// They are deleted too, and so is the row that the first reference of each points at:
    /// the entity that owns the to-many link.
    CascadeOwner,
    /// Their referencing columns become null.
    SetNull,
    /// Their referencing columns take their defaults.
    SetDefault,
}

/// What happens to referencing rows when the referenced key changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUpdate {
    /// The change is refused.
    #[default]
    Restrict,
    /// They take the new key.
    Cascade,
    /// Their referencing columns become null.
    SetNull,
    /// Their referencing columns take their defaults.
    SetDefault,
}

/// A condition that every row must fulfil.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, for messages.
    pub name: String,
    /// The expression, as SQL.
    pub text: String,
}

/// Whether the text of an expression contains the name of a column.
#[must_use]
pub fn mentions(text: &str, column: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .any(|part| same_name(part, column))
}

/// A foreign key: columns that hold the key of a row of another table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its name, for messages.
    pub name: String,
    /// The referencing columns.
    pub columns: Vec<String>,
    /// The referenced table.
    pub table: String,
    /// The referenced columns.
    pub target: Vec<String>,
    /// What a deletion of the referenced row does.
    pub on_delete: OnDelete,
    /// What a change of the referenced key does.
    pub on_update: OnUpdate,
}

/// A link of a struct that is not a column of its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its position among the members of the struct.
    pub position: usize,
    /// The struct it links to.
    pub target: String,
    /// The table that stores its rows (source, position, target); `None` for the
    /// inverse of a link of the target.
    pub table: Option<String>,
    /// The link of the target that it is the inverse of.
    pub inverse: Option<String>,
}

/// Everything that SQL stores with a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    /// Default expressions, by column name.
    pub defaults: BTreeMap<String, String>,
    /// Maximum length of text, in characters, by column name.
    pub lengths: BTreeMap<String, u32>,
    /// Identity columns; `true` where an explicit value is refused.
    pub identity: BTreeMap<String, bool>,
    /// Expressions of generated columns, by column name.
    pub generated: BTreeMap<String, String>,
    /// Conditions.
    pub checks: Vec<Check>,
    /// References.
    pub references: Vec<Reference>,
    /// The query of a view.
    pub view: Option<String>,
    /// The column names of a view.
    pub view_columns: Vec<String>,
    /// Whether a schema of structs declares the table.
    pub is_struct: bool,
    /// Links that are not columns.
    pub links: Vec<Link>,
    /// Of a collection: whether paths that no document has are null, not errors.
    pub has_open_paths: bool,
}

impl Constraints {
    /// Whether there are no constraints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The text stored in a schema's properties.
    #[must_use]
    pub fn to_properties(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let checks = self.checks.iter();
        let checks = checks.map(|check| json!({"name": check.name, "text": check.text}));
        let identity = self.identity.iter();
        let identity = identity.map(|(name, always)| {
            (name.clone(), Json::from(if *always { "always" } else { "default" }))
        });
        let parts = [
            ("defaults", json!(self.defaults)),
            ("lengths", json!(self.lengths)),
            ("identity", identity.collect::<Map<_, _>>().into()),
            ("generated", json!(self.generated)),
            ("checks", checks.collect()),
            ("references", self.references.iter().map(reference_to_json).collect()),
            ("view", self.view.as_deref().into()),
            ("view_columns", self.view_columns.clone().into()),
        ];
        let parts = parts.into_iter().filter(|(_, part)| !is_nothing(part));
        let mut object: Map<_, _> = parts.map(|(name, part)| (name.to_owned(), part)).collect();
        if self.is_struct {
            let links: Vec<Json> = self.links.iter().map(link_to_json).collect();
            let links = if links.is_empty() { json!({}) } else { json!({ "links": links }) };
            object.insert("struct".to_owned(), links);
        }
        if self.has_open_paths {
            object.insert("open".to_owned(), true.into());
        }
        Json::Object(object).to_string()
    }

    /// Reads a schema's properties; `None` if their format is unknown.
    #[must_use]
    pub fn from_properties(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let object: Json = serde_json::from_str(text).ok()?;
        let entries = |name: &str| object[name].as_object().into_iter().flatten();
        let strings = |value: &Json| value.as_str().map(str::to_owned);
        Some(Self {
            defaults: entries("defaults")
                .filter_map(|(name, text)| Some((name.clone(), strings(text)?)))
                .collect(),
            lengths: entries("lengths")
                .filter_map(|(name, size)| {
                    Some((name.clone(), u32::try_from(size.as_u64()?).ok()?))
                })
                .collect(),
            identity: entries("identity")
                .map(|(name, kind)| (name.clone(), kind == "always"))
                .collect(),
            generated: entries("generated")
                .filter_map(|(name, text)| Some((name.clone(), strings(text)?)))
                .collect(),
            checks: list(&object["checks"])
                .filter_map(|check| {
                    Some(Check { name: strings(&check["name"])?, text: strings(&check["text"])? })
                })
                .collect(),
            references: list(&object["references"]).filter_map(reference_from_json).collect(),
            view: strings(&object["view"]),
            view_columns: list(&object["view_columns"]).filter_map(strings).collect(),
            is_struct: object["struct"].is_object(),
            links: list(&object["struct"]["links"]).filter_map(link_from_json).collect(),
            has_open_paths: object["open"] == true,
        })
    }
}

/// Whether a part is left out. Empty parts would slow every statement, which reads them first.
fn is_nothing(part: &Json) -> bool {
    match part {
        Json::Array(list) => list.is_empty(),
        Json::Object(object) => object.is_empty(),
        part => part.is_null(),
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn link_to_json(link: &Link) -> Json {
    let Link { name, position, target, table, inverse } = link;
    let mut object = json!({ "name": name, "position": position, "target": target });
    let parts = [("table", table), ("inverse", inverse)];
    for (part, value) in parts {
        if let Some(value) = value {
            object[part] = value.as_str().into();
        }
    }
    object
}

fn link_from_json(value: &Json) -> Option<Link> {
    let text = |part: &str| value[part].as_str().map(str::to_owned);
    Some(Link {
        name: text("name")?,
        position: usize::try_from(value["position"].as_u64()?).ok()?,
        target: text("target")?,
        table: text("table"),
        inverse: text("inverse"),
    })
}

fn reference_to_json(reference: &Reference) -> Json {
    let on_delete = match reference.on_delete {
        OnDelete::Restrict => "restrict",
        OnDelete::Cascade => "cascade",
        OnDelete::CascadeOwner => "cascade owner",
        OnDelete::SetNull => "set null",
        OnDelete::SetDefault => "set default",
    };
    let mut object = json!({
        "name": reference.name, "columns": reference.columns, "table": reference.table,
        "target": reference.target, "on_delete": on_delete,
    });
    let on_update = match reference.on_update {
        OnUpdate::Restrict => return object,
        OnUpdate::Cascade => "cascade",
        OnUpdate::SetNull => "set null",
        OnUpdate::SetDefault => "set default",
    };
    object["on_update"] = on_update.into();
    object
}

fn reference_from_json(value: &Json) -> Option<Reference> {
    let names =
        |value: &Json| list(value).filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    Some(Reference {
        name: value["name"].as_str()?.to_owned(),
        columns: names(&value["columns"]),
        table: value["table"].as_str()?.to_owned(),
        target: names(&value["target"]),
        on_delete: match value["on_delete"].as_str()? {
            "cascade" => OnDelete::Cascade,
            "cascade owner" => OnDelete::CascadeOwner,
            "set null" => OnDelete::SetNull,
            "set default" => OnDelete::SetDefault,
            _ => OnDelete::Restrict,
        },
        on_update: match value["on_update"].as_str() {
            Some("cascade") => OnUpdate::Cascade,
            Some("set null") => OnUpdate::SetNull,
            Some("set default") => OnUpdate::SetDefault,
            _ => OnUpdate::Restrict,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_come_back() {
        let mut constraints = Constraints::default();
        assert_eq!(constraints.to_properties(), "");
        constraints.defaults.insert("at".to_owned(), "now()".to_owned());
        constraints.lengths.insert("name".to_owned(), 40);
        constraints.identity.insert("id".to_owned(), true);
        constraints.generated.insert("total".to_owned(), "price * 1.2".to_owned());
        constraints.checks.push(Check { name: "c".to_owned(), text: "age >= 0".to_owned() });
        constraints.references.push(Reference {
            name: "f".to_owned(),
            columns: vec!["owner".to_owned()],
            table: "users".to_owned(),
            target: vec!["id".to_owned()],
            on_delete: OnDelete::CascadeOwner,
            on_update: OnUpdate::SetDefault,
        });
        constraints.is_struct = true;
        constraints.has_open_paths = true;
        constraints.links.push(Link {
            name: "posts".to_owned(),
            position: 4,
            target: "Post".to_owned(),
            table: None,
            inverse: Some("author".to_owned()),
        });
        let text = constraints.to_properties();
        assert_eq!(Constraints::from_properties(&text), Some(constraints));
    }
}
