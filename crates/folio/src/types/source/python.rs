//! Typed dictionaries and pydantic models of Python.

use std::collections::HashSet;

use folio_json::push_json_string;

use super::declare::{Declaration, Member, Shape};

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Names that a model needs for something else: its own methods, and the types of other fields,
/// which the default of a field of this name would hide.
const MODEL_NAMES: [&str; 20] = [
    "Any",
    "Field",
    "bool",
    "construct",
    "copy",
    "dict",
    "fields",
    "float",
    "from_orm",
    "int",
    "json",
    "list",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "schema",
    "schema_json",
    "str",
    "update_forward_refs",
    "validate",
];

/// Classes that derive from `TypedDict`, which need Python 3.11.
pub(super) fn write_dictionaries(declared: &[Declaration], collection: &str) -> String {
    let uses_any = declared.iter().flat_map(|each| &each.members).any(Member::has_any);
    let has_optional = declared.iter().flat_map(|each| &each.members).any(|each| each.is_optional);
    let imports =
        [(uses_any, "Any"), (has_optional, "NotRequired"), (true, "TypedDict")].into_iter();
    let imports: Vec<_> = imports.filter(|(is_used, _)| *is_used).map(|(_, name)| name).collect();
    let head = head(collection) + &format!("from typing import {}\n", imports.join(", "));
    head + &declared.iter().map(dictionary).collect::<String>()
}

fn dictionary(declaration: &Declaration) -> String {
    let Declaration { name, members } = declaration;
    let of_member = |member: &Member| match member.is_optional {
        true => format!("NotRequired[{}]", union(&member.shapes)),
        false => union(&member.shapes),
    };
    // A name within a class that begins with two underscores would be changed.
    let is_plain = |member: &Member| is_identifier(&member.name) && !member.name.starts_with("__");
    if members.iter().all(is_plain) {
        let members =
            members.iter().map(|member| format!("    {}: {}\n", member.name, of_member(member)));
        return class(name, "TypedDict", members.collect());
    }
    let members = members
        .iter()
        .map(|member| format!("        {}: {},\n", quoted(&member.name), of_member(member)));
    let members: String = members.collect();
    format!("\n\n{name} = TypedDict(\n    {},\n    {{\n{members}    }},\n)\n", quoted(name))
}

/// Models of pydantic 2. A name that cannot be that of a field has another one, and an alias.
pub(super) fn write_models(declared: &[Declaration], collection: &str) -> String {
    let uses_any = declared.iter().flat_map(|each| &each.members).any(Member::has_any);
    let mut text = head(collection);
    if uses_any {
        text += "from typing import Any\n\n";
    }
    let models: String = declared.iter().map(model).collect();
    let uses = [("BaseModel", "BaseModel"), ("ConfigDict(", "ConfigDict"), ("Field(", "Field")];
    let used = uses.iter().filter(|(text, _)| models.contains(text)).map(|(_, name)| *name);
    text += &format!("from pydantic import {}\n", used.collect::<Vec<_>>().join(", "));
    text + &models
}

fn model(declaration: &Declaration) -> String {
    let mut taken = HashSet::new();
    let mut has_alias = false;
    let mut body = String::new();
    for member in &declaration.members {
        let field = field_name(&member.name, &mut taken);
        let mut kinds = union(&member.shapes);
        if member.is_optional && !member.shapes.contains(&Shape::Null) && kinds != "Any" {
            kinds += " | None";
        }
        let value = match (field == member.name, member.is_optional) {
            (true, false) => String::new(),
            (true, true) => " = None".to_owned(),
            (false, false) => format!(" = Field(alias={})", quoted(&member.name)),
            (false, true) => format!(" = Field(default=None, alias={})", quoted(&member.name)),
        };
        has_alias |= field != member.name;
        body += &format!("    {field}: {kinds}{value}\n");
    }
    if has_alias {
        body.insert_str(0, "    model_config = ConfigDict(populate_by_name=True)\n\n");
    }
    class(&declaration.name, "BaseModel", body)
}

fn head(collection: &str) -> String {
    format!("# The documents of the collection {collection:?}, as they are now.\n\n")
}

fn class(name: &str, base: &str, body: String) -> String {
    let body = if body.is_empty() { "    pass\n".to_owned() } else { body };
    format!("\n\nclass {name}({base}):\n{body}")
}

impl Member {
    fn has_any(&self) -> bool {
        union(&self.shapes).contains("Any")
    }
}

fn union(shapes: &[Shape]) -> String {
    let names: Vec<String> = shapes.iter().map(of_shape).collect();
    if names.is_empty() { "Any".to_owned() } else { names.join(" | ") }
}

fn of_shape(shape: &Shape) -> String {
    match shape {
        Shape::Boolean => "bool".to_owned(),
        Shape::Integer { .. } => "int".to_owned(),
        Shape::Number => "float".to_owned(),
        Shape::Text => "str".to_owned(),
        Shape::Null => "None".to_owned(),
        Shape::List(items) => format!("list[{}]", union(items)),
        Shape::Map(values) => format!("dict[str, {}]", union(values)),
        Shape::Object(name) => name.clone(),
        Shape::AnyObject => "dict[str, Any]".to_owned(),
        Shape::AnyList => "list[Any]".to_owned(),
    }
}

fn is_identifier(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_plain && !name.is_empty() && !KEYWORDS.contains(&name)
}

/// The name of a model's field. It begins with a letter: pydantic takes others for private.
fn field_name(name: &str, taken: &mut HashSet<String>) -> String {
    let words = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut field: String = name.chars().map(words).collect();
    field = field.trim_start_matches('_').to_owned();
    if !field.starts_with(|c: char| c.is_ascii_alphabetic()) {
        field.insert_str(0, "field_");
    }
    let is_taken = KEYWORDS.contains(&&*field)
        || MODEL_NAMES.contains(&&*field)
        || field.starts_with("model_");
    if is_taken {
        field.push('_');
        if field.starts_with("model_") {
            field.insert_str(0, "field_");
        }
    }
    while !taken.insert(field.clone()) {
        field.push('_');
    }
    field
}

fn quoted(text: &str) -> String {
    let mut quoted = Vec::new();
    push_json_string(text, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}
