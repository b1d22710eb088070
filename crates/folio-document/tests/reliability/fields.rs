//! Indexes on fields: whatever happened, they find what a scan finds, in the order of the keys.

use folio_document::{Collection, IndexDefinition, KeyRange, Result};
use serde_json::Value;

use crate::text::{Content, reported};

/// Creates one index on a field whose values change, and a unique one, which no document breaks.
pub(crate) fn create(collection: &Collection) -> Result<()> {
    for (name, field, unique) in [("by_n", "n desc", false), ("by_id", "_id", true)] {
        let definition = IndexDefinition::parse("c", Some(name), &[field], unique)?;
        collection.create_index(&definition, &mut |_, _| true)?;
    }
    Ok(())
}

/// Compares every index with what a scan has found.
pub(crate) fn compare(
    collection: &Collection,
    scanned: &Content,
) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("an index fails: {error}");
    for definition in collection.indexes().map_err(failed)? {
        let field = &definition.fields[0];
        let mut expected: Vec<(Vec<u8>, usize)> = Vec::new();
        for (place, (_, line)) in scanned.iter().enumerate() {
            expected.push((key_of(line, &field.path[0], field.descending), place));
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
        let mut half = expected.clone();
        half.drain(..expected.len() / 2);
        let Some((middle, _)) = half.first() else { continue };
        let range = KeyRange { from: middle.clone(), to: None };
        half = expected.iter().filter(|(key, _)| key >= middle).cloned().collect();
        let found = collection.find(&definition.name, range, false, Some(3)).map_err(failed)?;
        let found: Vec<String> = found
            .map(|found| found.map(|found| found.id().to_owned()))
            .collect::<Result<_>>()
            .map_err(failed)?;
        let wanted: Vec<String> =
            half.iter().take(3).map(|(_, place)| scanned[*place].0.clone()).collect();
        if found != wanted {
            return Err(format!("{definition} finds {found:?} in place of {wanted:?}"));
        }
    }
    Ok(())
}

fn key_of(line: &str, name: &str, descending: bool) -> Vec<u8> {
    let value: Value = serde_json::from_str(line).unwrap();
    let mut key = match value.get(name) {
        None | Some(Value::Null) => vec![0xFE],
        Some(value) => folio_json::order_key(&value.to_string()),
    };
    if descending {
        key.iter_mut().for_each(|byte| *byte = !*byte);
    }
    key
}
