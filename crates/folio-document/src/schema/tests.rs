//! What schemas accept and reject, and what is inferred from a first document.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Error;

/// `""` if the document fits, else `path: reason`.
fn verdict(schema: &Schema, document: &Value) -> String {
    match schema.check("users", "u1", document) {
        Ok(()) => String::new(),
        Err(Error::Schema { path, reason, .. }) => format!("{path}: {reason}"),
        Err(other) => panic!("{other}"),
    }
}

fn check(schema: &Value, cases: &[(Value, &str)]) {
    let schema = Schema::parse(schema).unwrap();
    for (document, expected) in cases {
        assert_eq!(verdict(&schema, document), *expected, "{document}");
    }
}

#[test]
fn a_first_document_sets_fields_and_types() {
    let first = json!({"_id": "u1", "name": "Ann", "age": 30, "score": 1.5, "tags": ["a"],
        "address": {"city": "Rome"}, "note": null, "ok": true});
    let schema = Schema::infer(&first);
    let with = |path: &str, value: Value| {
        let mut document = first.clone();
        *document.pointer_mut(path).unwrap() = value;
        document
    };
    let mut extra = first.clone();
    extra["extra"] = json!(1);
    let mut short = first.clone();
    short.as_object_mut().unwrap().shift_remove("ok");

    let cases = [
        (first.clone(), ""),
        (with("/_id", json!("u2")), ""),
        (with("/age", json!(30.5)), ""),
        (with("/score", json!(2)), ""),
        (with("/age", json!(null)), ""),
        (with("/address", json!(null)), ""),
        (with("/note", json!({"any": ["thing"]})), ""),
        (with("/tags", json!([])), ""),
        (with("/age", json!("30")), "age: expected number, found \"30\""),
        (with("/ok", json!(0)), "ok: expected boolean, found 0"),
        (with("/address/city", json!(7)), "address.city: expected string, found 7"),
        (with("/tags", json!(["a", 1])), "tags.1: expected string, found 1"),
        (with("/address", json!({})), "address.city: missing, but required"),
        (extra, "extra: not one of the fields of the schema"),
        (short, "ok: missing, but required"),
    ];
    for (document, expected) in cases {
        assert_eq!(verdict(&schema, &document), expected, "{document}");
    }
}

#[test]
fn elements_of_an_array_are_laid_over_each_other() {
    let cases = [
        (json!([]), json!({"type": "array"})),
        (json!([1, 2.5, null]), json!({"type": "array", "items": {"type": "number"}})),
        (json!([null, "a"]), json!({"type": "array", "items": {"type": "string"}})),
        (json!([1, "a"]), json!({"type": "array"})),
        (json!([[1], ["a"]]), json!({"type": "array", "items": {"type": "array"}})),
        (
            json!([[], [1]]),
            json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        ),
        (
            json!([{"a": 1, "b": 1}, {"a": null, "c": "x"}]),
            json!({"type": "array", "items": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"},
                    "c": {"type": "string"}},
                "required": ["a"], "additionalProperties": false}}),
        ),
    ];
    for (list, expected) in cases {
        let schema = Schema::infer(&json!({"list": list}));
        assert_eq!(schema.to_json()["properties"]["list"], expected, "{list}");
        assert_eq!(verdict(&schema, &json!({"list": list})), "");
    }
}

#[test]
fn every_keyword_is_enforced() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a person",
        "type": "object",
        "required": ["_id", "name"],
        "properties": {
            "_id": {"const": "never looked at"},
            "name": {"type": "string", "minLength": 2, "maxLength": 4, "description": "short"},
            "age": {"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_992_u64},
            "role": {"enum": ["user", "admin", 1]},
            "kind": {"const": {"a": [1.0], "b": 2}},
            "either": {"type": ["string", "array"], "items": {"type": "boolean"}},
            "any": true,
        },
    });
    check(
        &schema,
        &[
            (json!({"_id": "x", "name": "Ann"}), ""),
            (json!({"name": "Äöüß", "other": 1}), ""),
            (json!({"name": "A"}), "name: 1 characters, at least 2 are expected"),
            (json!({"name": "Äöüße"}), "name: 5 characters, at most 4 are expected"),
            (json!({}), "name: missing, but required"),
            (json!({"name": null}), ""),
            (json!({"name": "Ann", "age": 1.5}), ""),
            (json!({"name": "Ann", "age": -1}), "age: -1 is less than the minimum 0"),
            (
                json!({"name": "Ann", "age": 9_007_199_254_740_993_u64}),
                "age: 9007199254740993 is more than the maximum 9007199254740992",
            ),
            (json!({"name": "Ann", "role": "admin"}), ""),
            (json!({"name": "Ann", "role": 1.0}), ""),
            (json!({"name": "Ann", "role": null}), ""),
            (
                json!({"name": "Ann", "role": "root"}),
                "role: expected \"user\" or \"admin\" or 1, found \"root\"",
            ),
            (json!({"name": "Ann", "kind": {"b": 2, "a": [1]}}), ""),
            (json!({"name": "Ann", "kind": {"a": [1]}}), "kind: expected object, found object"),
            (json!({"name": "Ann", "either": "x"}), ""),
            (json!({"name": "Ann", "either": [true, null]}), ""),
            (json!({"name": "Ann", "either": [true, 1]}), "either.1: expected boolean, found 1"),
            (
                json!({"name": "Ann", "either": {}}),
                "either: expected string or array, found object",
            ),
            (json!({"name": "Ann", "any": [{}]}), ""),
        ],
    );
    check(
        &json!({"additionalProperties": false, "properties": {"a": true}}),
        &[
            (json!({"_id": "x", "a": 1}), ""),
            (json!({"b": 1}), "b: not one of the fields of the schema"),
        ],
    );
}

#[test]
fn what_is_not_understood_is_named() {
    let cases = [
        (json!({"pattern": "x"}), "pattern"),
        (json!({"properties": {"a": {"items": {"format": "date"}}}}), "properties.a.items.format"),
        (json!({"$ref": "#/x"}), "$ref"),
        (json!({"type": "text"}), "type"),
        (json!({"type": []}), "type"),
        (json!({"type": "string"}), "type"),
        (json!({"required": "a"}), "required"),
        (json!({"required": [1]}), "required"),
        (json!({"additionalProperties": {}}), "additionalProperties"),
        (json!({"properties": {"a": {"minLength": -1}}}), "properties.a.minLength"),
        (json!({"properties": {"a": {"minimum": "1"}}}), "properties.a.minimum"),
        (json!({"properties": {"a": {"enum": []}}}), "properties.a.enum"),
        (json!({"properties": {"a": {"enum": [1], "const": 2}}}), "properties.a.const"),
        (json!({"properties": {"a": false}}), "properties.a"),
        (json!({"properties": []}), "properties"),
        (json!("string"), ""),
    ];
    for (source, expected) in cases {
        match Schema::parse(&source) {
            Err(Error::BadSchema { path, .. }) => assert_eq!(path, expected, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn depth_is_bounded_in_schemas_and_not_in_documents() {
    let mut source = json!({});
    let mut document = json!(1);
    for _ in 0..MAX_DEPTH - 2 {
        source = json!({"items": source});
        document = json!([document]);
    }
    let fits = json!({"properties": {"a": source}});
    check(&fits, &[(json!({"a": document}), "")]);
    let too_deep = json!({"properties": {"a": {"items": source}}});
    assert!(matches!(Schema::parse(&too_deep), Err(Error::BadSchema { .. })));
    assert!(Schema::parse(&json!({"properties": {"a": {"const": [[document]]}}})).is_ok());

    for _ in 0..1_000 {
        document = json!([document]);
    }
    let schema = Schema::infer(&json!({"a": document}));
    assert_eq!(verdict(&schema, &json!({"a": document})), "");
    let deep = json!({"properties": {"a": {"const": document}}});
    assert!(matches!(Schema::parse(&deep), Err(Error::BadSchema { .. })));
}

#[test]
fn the_error_says_schema_mismatch_and_where() {
    let schema = Schema::parse(&json!({"properties": {"age": {"type": "integer"}}})).unwrap();
    let error = schema.check("users", "u1", &json!({"age": "old"})).unwrap_err().to_string();
    let place = r#"Schema mismatch in collection "users", document "u1", at "age": "#;
    assert!(error.starts_with(place), "{error}");
}

/// JSON values a few levels deep.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map("[a-d]", inner, 0..4)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_document_follows_the_schema_it_sets(document in proptest::collection::hash_map("[a-d]", values(), 0..4)) {
        let document = Value::Object(document.into_iter().collect());
        let schema = Schema::infer(&document);
        prop_assert_eq!(verdict(&schema, &document), "");
        // The manifest stores the same schema.
        let text = schema.to_json().to_string();
        let stored = Schema::parse(&serde_json::from_str(&text).unwrap()).unwrap();
        prop_assert_eq!(&stored.rule, &schema.rule);
    }

    #[test]
    fn any_json_is_parsed_as_a_schema_or_refused(source in values(), document in values()) {
        if let Ok(schema) = Schema::parse(&source) {
            let _ = schema.check("users", "u1", &document);
        }
    }
}
