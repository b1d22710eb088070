//! Indexes on fields: whatever happened, they find what a scan finds, in the order of the keys. So do
//! the answers that are read from an index alone: keys, counts, the first and the last key.

use folio_document::{Collection, IndexDefinition, IndexMethod, KeyRange, Result};
use folio_types::{Comparison, FieldCondition, FieldTest, Literal};
use serde_json::Value;

use crate::text::{Content, reported};

/// Keys are compared one by one up to about so many: a damaged file is compared at each of its bytes.
const KEYS_COMPARED: usize = 16;

/// Creates an index on a field whose values change, a unique one, which no document breaks, one of
/// the elements of a list, and a partial one.
pub(crate) fn create(collection: &Collection) -> Result<()> {
    let plain = [("by_n", "n desc", false), ("by_id", "_id", true), ("by_l", "l[]", false)];
    for (name, field, unique) in plain {
        let definition = IndexDefinition::parse("c", Some(name), &[field], unique)?;
        collection.create_index(&definition, &mut |_, _| true)?;
    }
    let condition = |path: &str, test| FieldCondition { path: vec![path.to_owned()], test };
    let least = Literal::Text("2".to_owned());
    let conditions = vec![
        condition("n", FieldTest::Compare(Comparison::GreaterOrEqual, least)),
        condition("l", FieldTest::NotNull),
    ];
    let partial = IndexDefinition::parse("c", Some("part"), &["n"], false)?;
    collection.create_index(&IndexDefinition { conditions, ..partial }, &mut |_, _| true)
}

/// Compares every index with what a scan has found.
pub(crate) fn compare(
    collection: &Collection,
    scanned: &Content,
) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("an index fails: {error}");
    let definitions = collection.indexes().map_err(failed)?;
    let parsed = |(_, line): &(String, String)| serde_json::from_str(line).unwrap();
    let documents: Vec<Value> = match definitions.is_empty() {
        true => Vec::new(),
        false => scanned.iter().map(parsed).collect(),
    };
    for definition in definitions.iter().filter(|own| own.method == IndexMethod::Fields) {
        let mut expected: Vec<(Vec<u8>, usize)> = Vec::new();
        for (place, document) in documents.iter().enumerate() {
            expected.extend(keys_of(document, definition).into_iter().map(|key| (key, place)));
        }
        expected.sort_unstable();
        for reverse in [false, true] {
            let mut found = Content::new();
            let documents = collection.find(&definition.name, KeyRange::all(), reverse, None);
            for document in documents.map_err(failed)? {
                let document = document.map_err(failed)?;
                found.push((document.id().to_owned(), document.into_raw()));
            }
            let wanted = expected.iter().map(|(_, place)| scanned[*place].clone());
            let wanted: Content = if reverse { wanted.rev().collect() } else { wanted.collect() };
            if found != wanted {
                return Err(format!(
                    "{definition} finds {} in place of {}, reverse {reverse}",
                    reported(&found),
                    reported(&wanted)
                ));
            }
        }
        compare_ends(collection, definition, &KeyRange::all(), &expected)?;
        let Some((middle, _)) = expected.get(expected.len() / 2) else { continue };
        let above = &expected[expected.partition_point(|(key, _)| key < middle)..];
        let end = above.get(KEYS_COMPARED).map(|(key, _)| key);
        let few = &above[..above.partition_point(|(key, _)| end.is_none_or(|end| key < end))];
        let range = KeyRange { from: middle.clone(), to: end.cloned() };
        compare_ends(collection, definition, &range, few)?;
        compare_keys(collection, definition, &range, few, scanned)?;
        let range = KeyRange { from: middle.clone(), to: None };
        let found = collection.find(&definition.name, range, false, Some(3)).map_err(failed)?;
        let found: Vec<String> = found
            .map(|found| found.map(|found| found.id().to_owned()))
            .collect::<Result<_>>()
            .map_err(failed)?;
        let wanted: Vec<String> =
            above.iter().take(3).map(|(_, place)| scanned[*place].0.clone()).collect();
        if found != wanted {
            return Err(format!("{definition} finds {found:?} in place of {wanted:?}"));
        }
    }
    Ok(())
}

/// Compares the keys of a range, in both directions.
fn compare_keys(
    collection: &Collection,
    definition: &IndexDefinition,
    range: &KeyRange,
    expected: &[(Vec<u8>, usize)],
    scanned: &Content,
) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("keys of {definition} fail: {error}");
    for reverse in [false, true] {
        let found = collection.find_keys(&definition.name, range.clone(), reverse, None);
        let mut keys = found.map_err(failed)?;
        let mut count = 0;
        while let Some(key) = keys.next_key().map_err(failed)? {
            let at = if reverse { expected.len().checked_sub(count + 1) } else { Some(count) };
            let Some((wanted, place)) = at.and_then(|at| expected.get(at)) else {
                return Err(format!("{definition} has more than {count} keys, reverse {reverse}"));
            };
            if key != *wanted {
                return Err(format!("{definition}: key {count} is {key:?}, not {wanted:?}"));
            }
            // A query that needs more than the key reads the document of some.
            if count.is_multiple_of(5)
                && keys.line().map_err(failed)? != scanned[*place].1.as_bytes()
            {
                return Err(format!("{definition}: key {count} is of another document"));
            }
            count += 1;
        }
        if count != expected.len() {
            return Err(format!("{definition} has {count} keys, not {}", expected.len()));
        }
    }
    Ok(())
}

/// Compares the first and the last key of a range, as `min` and `max` read them, and the number of
/// documents, which are not read.
fn compare_ends(
    collection: &Collection,
    definition: &IndexDefinition,
    range: &KeyRange,
    expected: &[(Vec<u8>, usize)],
) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("ends of {definition} fail: {error}");
    let name = &definition.name;
    for (reverse, wanted) in [(false, expected.first()), (true, expected.last())] {
        let found = collection.find_keys(name, range.clone(), reverse, Some(1));
        let mut keys = found.map_err(failed)?;
        let key = keys.next_key().map_err(failed)?;
        if key != wanted.map(|(key, _)| &key[..]) {
            return Err(format!("{definition} begins with {key:?}, reverse {reverse}"));
        }
    }
    let mut counted = collection.find(name, range.clone(), false, None).map_err(failed)?;
    let mut sum = 0;
    while let Some(some) = counted.next_count().map_err(failed)? {
        sum += some;
    }
    if sum != expected.len() as u64 {
        return Err(format!("{definition} counts {sum}, not {}", expected.len()));
    }
    Ok(())
}

/// The keys of a document in an index on one field.
fn keys_of(document: &Value, definition: &IndexDefinition) -> Vec<Vec<u8>> {
    let value = |name: &str| document.get(name).filter(|value| !value.is_null());
    let key = |value: &Value| folio_json::order_key(&value.to_string());
    let passes = |condition: &FieldCondition| {
        value(&condition.path[0]).is_some_and(|value| match &condition.test {
            FieldTest::NotNull => true,
            _ => key(value) >= folio_json::order_key("\"2\""),
        })
    };
    if !definition.conditions.iter().all(passes) {
        return Vec::new();
    }
    let field = &definition.fields[0];
    let mut keys = match (value(&field.path[0]), field.elements) {
        (Some(Value::Array(items)), true) => {
            items.iter().filter(|item| !item.is_null()).map(key).collect()
        }
        (_, true) => Vec::new(),
        (Some(value), false) => vec![key(value)],
        (None, false) => vec![vec![0xFE]],
    };
    keys.sort_unstable();
    keys.dedup();
    if field.descending {
        keys.iter_mut().flatten().for_each(|byte| *byte = !*byte);
    }
    keys
}
