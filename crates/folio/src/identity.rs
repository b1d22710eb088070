//! Gives each record its id.
//!
//! A record with a string `_id` keeps it. A number `_id` is used as text. Otherwise the id comes
//! from the field that the user names, or is generated on request. Text that is not a valid id,
//! such as a URL or a mail address, is turned into one by [`derived_id`]; the field itself is
//! unchanged.

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use folio_document::tombstone_id;
use folio_json::{Fault, ID_PREFIX, Kind, find, leading_id, members, object_of, unquote};
use folio_types::check_document_id;
use uuid::{ContextV7, Timestamp, Uuid};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Reason;

/// The maximum size of the readable part of a derived id, in bytes.
const READABLE_SIZE: usize = 180;

/// What to do with a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Identity<'a> {
    /// The text carries its id; put it unchanged.
    Carried(Cow<'a, str>),
    /// Put the text under this id, which it does not carry yet.
    Given(String, Cow<'a, str>),
    /// The same, for an id derived from text that is not a valid one.
    Derived { from: String, id: String, text: Cow<'a, str> },
    /// A tombstone: delete the document.
    Tombstone(Cow<'a, str>),
}

impl Identity<'_> {
    /// The id, whatever its origin.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Carried(id) | Self::Tombstone(id) => id,
            Self::Given(id, _) | Self::Derived { id, .. } => id,
        }
    }
}

/// Finds the id of a record: in a field named by a dotted path, or under `_id`.
///
/// # Errors
/// Why it has no id, for the list of rejected records.
pub(crate) fn identify<'a>(
    json: &'a str,
    id_field: Option<&str>,
    generate_ids: bool,
) -> Result<Identity<'a>, Reason> {
    match id_field.filter(|&field| field != "_id") {
        Some(field) => from_field(json, field),
        None => from_record(json, generate_ids),
    }
}

fn from_record(json: &str, generate_ids: bool) -> Result<Identity<'_>, Reason> {
    if let Some(size) = leading_id(json.as_bytes()).map(<[u8]>::len) {
        return carried(Cow::Borrowed(&json[ID_PREFIX.len()..][..size]));
    }
    if let Some(id) = tombstone_id(json.as_bytes()) {
        return Ok(Identity::Tombstone(Cow::Borrowed(id)));
    }
    if generate_ids && !mentions_id(json) {
        return Ok(Identity::Given(generated_id(), Cow::Borrowed(json)));
    }
    let found = find(json, "_id").map_err(|error| reason(&error))?;
    match found.map(|value| (value, unquote(value))) {
        Some((_, Some(id))) => carried(id),
        Some((value, None)) if is_number(value) => {
            Ok(Identity::Given(value.to_owned(), Cow::Owned(without_id(json)?)))
        }
        Some((value, None)) => Err(Reason::IdOfKind(kind_of(value))),
        None if generate_ids => Ok(Identity::Given(generated_id(), Cow::Borrowed(json))),
        None => Err(Reason::NoId),
    }
}

fn carried(id: Cow<'_, str>) -> Result<Identity<'_>, Reason> {
    check_document_id(&id).map_err(|error| error.to_string())?;
    Ok(Identity::Carried(id))
}

fn from_field<'a>(json: &'a str, field: &str) -> Result<Identity<'a>, Reason> {
    let value = find(json, field).map_err(|error| reason(&error))?;
    let Some(value) = value else {
        return Err(format!("no field {field:?} to take the id from").into());
    };
    let text = match unquote(value) {
        Some(text) if text.is_empty() => return Err(format!("field {field:?} is empty").into()),
        Some(text) => text,
        None if is_number(value) => Cow::Borrowed(value),
        None => {
            let kind = kind_of(value);
            return Err(format!("field {field:?} is {kind}, not text or a number").into());
        }
    };
    // If `_id` is not a string, as other databases export it, use the named field.
    let found = match mentions_id(json) {
        true => find(json, "_id").map_err(|error| reason(&error))?,
        false => None,
    };
    let json = match found {
        Some(carried) if unquote(carried).is_none() => Cow::Owned(without_id(json)?),
        _ => Cow::Borrowed(json),
    };
    Ok(match derived_id(&text) {
        Cow::Borrowed(id) => Identity::Given(id.to_owned(), json),
        Cow::Owned(id) => Identity::Derived { from: text.into_owned(), id, text: json },
    })
}

/// Whether there may be an `_id`. A quick test that saves a walk through the record; the put checks
/// again.
fn mentions_id(json: &str) -> bool {
    json.contains("\"_id\"")
}

/// The object without its `_id`.
fn without_id(json: &str) -> Result<String, String> {
    let members = members(json).map_err(|error| reason(&error))?;
    Ok(object_of(members.into_iter().filter(|(key, _)| key != "_id")))
}

/// Generates an id for a record without one: UUID version 7 (RFC 9562), so that ids sort by
/// creation time.
#[must_use]
pub fn generated_id() -> String {
    generated_at(SystemTime::now())
}

fn generated_at(now: SystemTime) -> String {
    static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());
    // A clock may be wrong, and say a time before 1970.
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = Timestamp::from_unix(&CONTEXT, now.as_secs(), now.subsec_nanos());
    Uuid::new_v7(time).to_string()
}

/// The id for a text: the text itself if it is a valid id. Otherwise its letters and digits,
/// readable, and a hash of the whole text. So different texts get different ids, and the same text
/// always gets the same one.
///
/// ```
/// use folio::import::derived_id;
/// assert_eq!(derived_id("user_001"), "user_001");
/// assert_eq!(derived_id("ann@example.com"), "ann-example.com-153a2ebaf4b79d8a");
/// ```
#[must_use]
pub fn derived_id(text: &str) -> Cow<'_, str> {
    if check_document_id(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut id = String::new();
    for character in text.chars() {
        let is_kept = character.is_alphanumeric() || character == '_';
        let is_inner_dot = character == '.' && !id.is_empty() && !id.ends_with(['.', '-']);
        if id.len() + character.len_utf8() > READABLE_SIZE {
            break;
        }
        if is_kept || is_inner_dot {
            id.push(character);
        } else if !id.is_empty() && !id.ends_with(['-', '.']) {
            id.push('-');
        }
    }
    let readable = id.trim_end_matches(['-', '.']).len();
    id.truncate(readable);
    if !id.is_empty() {
        id.push('-');
    }
    id.push_str(&format!("{:016x}", xxh3_64(text.as_bytes())));
    Cow::Owned(id)
}

/// The id of a document of a batch, and its text. Like [`identify`], but a batch of documents holds
/// no tombstones.
///
/// # Errors
/// Why it has no id.
pub(crate) fn identify_document<'a>(
    json: &'a str,
    id_field: Option<&str>,
) -> Result<(String, Cow<'a, str>), Reason> {
    match identify(json, id_field, false)? {
        Identity::Carried(id) => Ok((id.into_owned(), Cow::Borrowed(json))),
        Identity::Given(id, text) | Identity::Derived { id, text, .. } => Ok((id, text)),
        Identity::Tombstone(id) => Err(format!("it is a tombstone; delete {id:?} instead").into()),
    }
}

fn is_number(value: &str) -> bool {
    Kind::of(value) == Some(Kind::Number)
}

fn kind_of(value: &str) -> &'static str {
    match Kind::of(value) {
        Some(Kind::Object) => "an object",
        Some(Kind::Array) => "an array",
        Some(Kind::Null) => "null",
        Some(Kind::Bool(_)) => "true or false",
        Some(Kind::Text) => "text with half a character (a surrogate without its pair)",
        Some(Kind::Number) | None => "a number",
    }
}

/// The message that a collection gives for the fault.
fn reason(fault: &Fault) -> String {
    let Fault { offset, reason } = *fault;
    folio_document::Error::Json { offset, reason }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_field(json: &str, field: &str) -> Result<String, Reason> {
        identify(json, Some(field), false).map(|identity| match identity {
            Identity::Given(id, text) => format!("{id} {text}"),
            Identity::Derived { id, text, .. } => format!("{id} {text}"),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_clock_before_1970_generates_ids_too() {
        let before = UNIX_EPOCH - std::time::Duration::from_secs(3_600);
        let ids = [generated_at(before), generated_at(before)];
        assert!(ids[0].starts_with("00000000-") && ids[0] < ids[1], "{ids:?}");
        assert!(ids[1] < generated_id());
    }

    #[test]
    fn ids_come_from_fields() {
        assert_eq!(by_field(r#"{"a":{"b":"x"}}"#, "a.b").unwrap(), r#"x {"a":{"b":"x"}}"#);
        assert_eq!(by_field(r#"{"n":12}"#, "n").unwrap(), r#"12 {"n":12}"#);
        assert_eq!(
            by_field(r#"{"_id":{"$oid":"5f"},"a":1.0}"#, "_id.$oid").unwrap(),
            r#"5f {"a":1.0}"#
        );
        assert!(by_field(r#"{"u":"a b"}"#, "u").unwrap().starts_with("a-b-"));
        for json in [r#"{"u":null}"#, r#"{"u":""}"#, r#"{"u":[]}"#, "{}", "[]", "{"] {
            assert!(by_field(json, "u").is_err(), "{json}");
        }
    }

    #[test]
    fn ids_come_from_the_record() {
        let identify = |json| identify(json, None, false);
        let given = |id: &str, text: &'static str| Identity::Given(id.to_owned(), text.into());
        assert_eq!(identify(r#"{"_id":"x"}"#), Ok(Identity::Carried("x".into())));
        assert_eq!(identify(r#"{"a":1,"_id":"x"}"#), Ok(Identity::Carried("x".into())));
        assert_eq!(identify(r#"{"_id":7,"a":1}"#), Ok(given("7", r#"{"a":1}"#)));
        assert_eq!(identify(r#"{"_id":7}"#), Ok(given("7", "{}")));
        assert_eq!(identify(r#"{"_tombstone":"x"}"#), Ok(Identity::Tombstone("x".into())));
        assert!(identify(r#"{"_id":null}"#).unwrap_err().to_string().contains("is null"));
        assert!(identify("{}").unwrap_err().to_string().contains("no \"_id\""));
    }

    #[test]
    fn generated_ids_sort() {
        let ids: Vec<String> = (0..1000)
            .map(|_| match identify("{}", None, true) {
                Ok(Identity::Given(id, _)) => id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|id| check_document_id(id).is_ok()));
    }

    proptest! {
        #[test]
        fn derived_ids_are_valid_and_differ(texts in prop::collection::hash_set(".{1,300}", 2..20)) {
            let ids: std::collections::HashSet<_> = texts.iter().map(|text| derived_id(text)).collect();
            prop_assert_eq!(ids.len(), texts.len());
            for id in ids {
                prop_assert!(check_document_id(&id).is_ok(), "{}", id);
            }
        }
    }
}
