//! A naive reader of `data.jsonl`, which follows only the rules of the format.

use serde_json::Value;

/// Documents in file order: id and exact line.
pub(crate) type Content = Vec<(String, String)>;

/// The change of a line: an id, and the line unless it is a delete marker.
pub(crate) type Change = (String, Option<String>);

/// Reads a file from its beginning.
pub(crate) fn parse(bytes: &[u8]) -> Content {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut content = Content::new();
    changes(bytes).into_iter().for_each(|change| apply(&mut content, &change));
    content
}

/// The changes of some whole lines, in order.
pub(crate) fn changes(bytes: &[u8]) -> Vec<Change> {
    bytes.split(|&byte| byte == b'\n').filter_map(change).collect()
}

fn change(line: &[u8]) -> Option<Change> {
    let text = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()?;
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return None };
    if let Some(Value::String(id)) = object.get("_tombstone")
        && text == format!("{{\"_tombstone\":\"{id}\"}}")
    {
        return Some((id.clone(), None));
    }
    let id = object.get("_id")?.as_str()?;
    is_id(id).then(|| (id.to_owned(), Some(text.to_owned())))
}

/// Lines without a valid id are not documents.
fn is_id(id: &str) -> bool {
    let is_allowed = |char: char| char.is_alphanumeric() || "_-.".contains(char);
    (1..=255).contains(&id.len())
        && id.chars().all(is_allowed)
        && !id.starts_with('.')
        && !id.contains("..")
}

/// An update moves a document to the end.
pub(crate) fn apply(content: &mut Content, (id, line): &Change) {
    content.retain(|(known, _)| known != id);
    if let Some(line) = line {
        content.push((id.clone(), line.clone()));
    }
}

/// Shortened, to be readable in a failure.
pub(crate) fn reported(content: &[(String, String)]) -> String {
    let lines: Vec<_> = content.iter().map(|(_, line)| line_text(line)).collect();
    format!("[{}]", lines.join(" "))
}

pub(crate) fn line_text(line: &str) -> String {
    match line.find(",\"pad\"") {
        Some(end) => format!("{}…}}({} bytes)", &line[..end], line.len()),
        None => line.to_owned(),
    }
}
