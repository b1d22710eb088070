//! Inferred types fit their documents: random documents, whole and in parts, and with every byte
//! changed.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use folio_json::{Columns, Field, Others, Tree, Type, check};
use random::Random;

const SEEDS: u64 = 400;

const SCALARS: [&str; 16] = [
    "null",
    "true",
    "0",
    "-0",
    "17",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-1e5",
    "0.25",
    "1e400",
    "123456789012345678.5",
    "\"\"",
    "\"plain é\"",
    "\"\\\"esc\\u00e9\\\\\"",
    "\"\\ud800\"",
];

const KEYS: [&str; 6] = ["a", "b", "long_key_of_many_bytes", "\\u0061", "é", "q\\\"q"];

fn value(random: &mut Random, depth: usize, out: &mut String) {
    let space = if random.once_in(8) { " " } else { "" };
    out.push_str(space);
    match random.below(if depth > 3 { 4 } else { 7 }) {
        4 => {
            out.push('[');
            for index in 0..random.below(4) {
                out.push_str(if index == 0 { "" } else { "," });
                value(random, depth + 1, out);
            }
            out.push(']');
        }
        5 | 6 => object(random, depth + 1, out),
        // Mostly of one kind, so that not everything is JSON.
        0 => out.push_str(random.one_of::<&str>(&SCALARS)),
        _ => out.push_str(random.one_of::<&str>(&SCALARS[..7])),
    }
    out.push_str(space);
}

fn object(random: &mut Random, depth: usize, out: &mut String) {
    out.push('{');
    for index in 0..random.below(5) {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str(&format!("\"{}\"", random.one_of(&KEYS)));
        out.push_str(if random.once_in(6) { " : " } else { ":" });
        value(random, depth, out);
    }
    out.push('}');
}

fn lines(random: &mut Random) -> Vec<String> {
    let count = 1 + random.below(12);
    let line = |_| {
        let mut line = String::new();
        object(random, 0, &mut line);
        line
    };
    (0..count).map(line).collect()
}

fn tree(lines: &[String]) -> Tree {
    let mut tree = Tree::default();
    lines.iter().for_each(|line| tree.observe(line.as_bytes()).unwrap());
    tree
}

#[test]
fn columns_take_all_that_their_tree_has_seen() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let lines = lines(&mut random);
        let whole = tree(&lines);
        let mut merged = Tree::default();
        for part in lines.chunks(1 + random.below(lines.len())) {
            merged.merge(&tree(part));
        }
        assert_eq!(merged.fields(), whole.fields(), "seed {seed}: {lines:#?}");
        assert_eq!(merged.document_count(), lines.len() as u64);
        let mut columns = Columns::new(&whole.fields(), Others::Refuse);
        for line in &lines {
            let pushed = columns.push(line.as_bytes());
            assert_eq!(pushed, Ok(()), "seed {seed}: {line} as {:?}", whole.fields());
        }
        let rows = columns.finish();
        assert_eq!(rows.len(), lines.len());
        assert_eq!(columns.row_count(), 0);
        // Some columns in another order have the same values.
        let mut wanted: Vec<Field> = whole.fields().into_iter().rev().collect();
        wanted.truncate(random.below(wanted.len() + 1));
        let mut some = Columns::new(&wanted, Others::Skip);
        lines.iter().for_each(|line| some.push(line.as_bytes()).unwrap());
        let found = some.finish();
        assert_eq!(found.len(), lines.len());
        for field in &wanted {
            let pair = [&rows, &found].map(|rows| rows.column_by_name(&field.name).unwrap());
            assert_eq!(pair[0], pair[1], "seed {seed}: {}", field.name);
        }
    }
}

/// Documents that the columns of a sample accept have the sample's types.
#[test]
fn a_schema_that_fits_is_the_schema() {
    let mut fitted = 0;
    for seed in 0..SEEDS * 5 {
        let mut random = Random::new(seed);
        let lines = lines(&mut random);
        let sample = 1 + random.below(lines.len());
        let fields = tree(&lines[..sample]).fields();
        let mut columns = Columns::new(&fields, Others::Refuse);
        if lines.iter().all(|line| columns.push(line.as_bytes()).is_ok()) {
            fitted += usize::from(sample < lines.len());
            assert_eq!(fields, tree(&lines).fields(), "seed {seed}, {sample} of {lines:#?}");
        }
    }
    assert!(fitted > 20, "{fitted} samples tell something");
}

/// Objects as maps have each key once, with its last value, in the order of their bytes.
#[test]
fn maps_hold_the_objects() {
    let mut entry_count = 0;
    for seed in 0..SEEDS {
        let lines = lines(&mut Random::new(seed));
        let mut fields = tree(&lines).fields();
        fields.retain(|field| matches!(field.field_type, Type::Struct(_)));
        for field in &mut fields {
            field.field_type = Type::Map(Box::new(Type::Json));
        }
        let mut columns = Columns::new(&fields, Others::Skip);
        lines.iter().for_each(|line| columns.push(line.as_bytes()).unwrap());
        let rows = columns.finish();
        for (row, line) in lines.iter().enumerate() {
            // Half of a pair of surrogates is no text there.
            let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            for field in &fields {
                let map = rows.column_by_name(&field.name).unwrap().as_map();
                let expected = line.get(&field.name).and_then(serde_json::Value::as_object);
                assert_eq!(map.is_valid(row), expected.is_some(), "seed {seed}: {line}");
                let Some(expected) = expected else { continue };
                let mut expected: Vec<_> = expected.iter().collect();
                expected.sort_by_key(|(key, _)| *key);
                let entries = map.value(row);
                let [keys, values] = [0, 1].map(|part| entries.column(part).as_string::<i32>());
                assert_eq!(entries.len(), expected.len(), "seed {seed}: {line}");
                for (at, (key, value)) in expected.into_iter().enumerate() {
                    assert_eq!(keys.value(at), key, "seed {seed}: {line}");
                    let found = if values.is_null(at) { "null" } else { values.value(at) };
                    let found: serde_json::Value = serde_json::from_str(found).unwrap();
                    assert_eq!(found, *value, "seed {seed}: {line}");
                    entry_count += 1;
                }
            }
        }
    }
    assert!(entry_count > 100, "{entry_count} entries tell something");
}

#[test]
fn other_text_never_panics() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let lines = lines(&mut random);
        let fields = tree(&lines).fields();
        let line = lines[0].as_bytes();
        for _ in 0..40 {
            let mut broken = line.to_vec();
            let at = random.below(broken.len());
            match random.below(3) {
                0 => broken.truncate(at),
                1 => broken[at] = random.draw() as u8,
                _ => broken.insert(at, *random.one_of(b"{}[]\",:\\0e-")),
            }
            let observed = Tree::default().observe(&broken);
            if let Ok(text) = std::str::from_utf8(&broken) {
                assert_eq!(observed, check(text), "seed {seed}: {text}");
            }
            for others in [Others::Refuse, Others::Skip] {
                let mut columns = Columns::new(&fields, others);
                let _ = columns.push(&broken);
                let mut texts = Columns::new(&[Field::new("a", Type::Json)], others);
                if texts.push(&broken).is_ok() {
                    assert_eq!(texts.finish().len(), 1);
                }
            }
        }
    }
}
