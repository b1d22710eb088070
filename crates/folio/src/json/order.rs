//! `_id` first, as everybody is handed a document.

use std::borrow::Cow;

use super::{JsonError, members};

/// How a line begins that has its `_id` where it belongs.
const ID_PREFIX: &str = "{\"_id\":\"";

/// The text of a document with `_id` as its first member. A line that FolioDB
/// wrote is answered as it is; one written by hand may have it elsewhere.
///
/// # Errors
/// When the text is not one JSON object.
///
/// ```
/// use folio::json::id_first;
/// assert_eq!(id_first(r#"{"_id":"x","a":1}"#)?, r#"{"_id":"x","a":1}"#);
/// assert_eq!(id_first(r#"{ "a": 1.10, "_id": "x" }"#)?, r#"{"_id":"x","a":1.10}"#);
/// # Ok::<(), folio::json::JsonError>(())
/// ```
#[inline]
pub fn id_first(json: &str) -> Result<Cow<'_, str>, JsonError> {
    if json.starts_with(ID_PREFIX) { Ok(Cow::Borrowed(json)) } else { reordered(json) }
}

#[cold]
fn reordered(json: &str) -> Result<Cow<'_, str>, JsonError> {
    let mut members = members(json)?;
    if let Some(index) = members.iter().position(|(key, _)| key == "_id") {
        members[..=index].rotate_right(1);
    }
    let mut text = String::with_capacity(json.len());
    for (key, value) in members {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::to_string(&key)?);
        text.push(':');
        text.push_str(value);
    }
    Ok(Cow::Owned(if text.is_empty() { "{}".to_owned() } else { text + "}" }))
}
