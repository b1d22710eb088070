//! Interfaces of TypeScript.

use folio_json::push_json_string;

use super::declare::{Declaration, Shape};

pub(super) fn write(declared: &[Declaration], collection: &str) -> String {
    let head = format!("// The documents of the collection {collection:?}, as they are now.\n");
    // The documents come first: a reader wants to know those, and the order has no meaning here.
    let interfaces = declared.iter().rev().map(|declaration| {
        let members = declaration.members.iter().map(|member| {
            let mark = if member.is_optional { "?" } else { "" };
            format!("  {}{mark}: {};\n", property(&member.name), union(&member.shapes))
        });
        format!("\nexport interface {} {{\n{}}}\n", declaration.name, members.collect::<String>())
    });
    head + &interfaces.collect::<String>()
}

fn union(shapes: &[Shape]) -> String {
    let mut names: Vec<String> = shapes.iter().map(of_shape).collect();
    names.sort_by_key(|name| name == "null"); // stable: null comes last
    names.dedup(); // integers and numbers are one type
    if names.is_empty() { "unknown".to_owned() } else { names.join(" | ") }
}

fn of_shape(shape: &Shape) -> String {
    match shape {
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer { is_wide: true } => "number | bigint".to_owned(),
        Shape::Integer { .. } | Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::List(items) => {
            let item = union(items);
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        Shape::Map(values) => format!("Record<string, {}>", union(values)),
        Shape::Object(name) => name.clone(),
        Shape::AnyObject => "Record<string, unknown>".to_owned(),
        Shape::AnyList => "unknown[]".to_owned(),
    }
}

/// A name as it is, or in quotes.
fn property(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !name.is_empty() {
        return name.to_owned();
    }
    let mut quoted = Vec::new();
    push_json_string(name, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}
