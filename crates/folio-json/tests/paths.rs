//! Columns of paths: a table of cases, and random documents against a reader that parses each line
//! whole.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use folio_json::{Field, Mismatch, PathColumns, PathCondition, PathField, PathTest, Tree, Type};
use folio_types::{Comparison, Value};
use random::Random;
use serde_json::Value as Json;

const SEEDS: u64 = 1_500;

fn path(names: &str) -> Vec<String> {
    names.split('.').map(str::to_owned).collect()
}

fn field(names: &str, field_type: Type) -> PathField {
    PathField { path: path(names), field_type }
}

fn compare(names: &str, op: Comparison, value: Value) -> PathCondition {
    let field_type = match value {
        Value::Integer(_) => Type::Int64,
        Value::Float(_) => Type::Float64,
        Value::Boolean(_) => Type::Boolean,
        _ => Type::Text,
    };
    PathCondition { path: path(names), field_type, test: PathTest::Compare(op, value) }
}

/// A value of a column as text; `-` is null.
fn shown(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return "-".to_owned();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        _ => format!("{:?}", array.slice(row, 1)),
    }
}

/// The rows, values separated by `|`.
fn rows(columns: &mut PathColumns) -> Vec<String> {
    let count = columns.row_count();
    let arrays = columns.finish();
    arrays.iter().for_each(|array| assert_eq!(array.len(), count));
    let row = |row| arrays.iter().map(|array| shown(array, row)).collect::<Vec<_>>().join("|");
    (0..count).map(row).collect()
}

struct Case {
    about: &'static str,
    fields: Vec<PathField>,
    conditions: Vec<PathCondition>,
    /// Each with the row it becomes, if any.
    lines: &'static [(&'static str, Option<&'static str>)],
}

fn cases_of_fields() -> Vec<Case> {
    vec![
        Case {
            about: "values are found in any order, and missing ones are null",
            fields: vec![field("a.b", Type::Int64), field("c", Type::Text)],
            conditions: vec![],
            lines: &[
                (r#"{"a":{"b":1},"c":"x"}"#, Some("1|x")),
                (r#"{"c":"y","z":{"b":[{"a":7}]},"a":{"x":"}","b":-2,"y":[1]}}"#, Some("-2|y")),
                (r#" { "c" : "\u0079\n" , "a" : { "b" : 3 } } "#, Some("3|y\n")),
                (r#"{}"#, Some("-|-")),
                (r#"{"a":{},"c":null}"#, Some("-|-")),
                (r#"{"\u0061":{"\u0062":4}}"#, Some("4|-")),
            ],
        },
        Case {
            about: "a path through something that is not an object has no value",
            fields: vec![field("a.b.c", Type::Int64), field("d", Type::Boolean)],
            conditions: vec![],
            lines: &[
                (r#"{"a":1,"d":true}"#, Some("-|true")),
                (r#"{"a":[{"b":{"c":1}}],"d":false}"#, Some("-|false")),
                (r#"{"a":{"b":"c"}}"#, Some("-|-")),
                (r#"{"a":{"b":{"c":null}},"d":null}"#, Some("-|-")),
                (r#"{"a":null}"#, Some("-|-")),
                (r#"{"a":{"b":{"c":9}}}"#, Some("9|-")),
            ],
        },
        Case {
            about: "a path may lead to another one, and be wanted twice",
            fields: vec![
                field("geo.lat", Type::Float64),
                field("geo", Type::Json),
                field("geo.lat", Type::Json),
            ],
            conditions: vec![],
            lines: &[
                (r#"{"geo":{"lat":1.5,"lon":2},"x":1}"#, Some(r#"1.5|{"lat":1.5,"lon":2}|1.5"#)),
                (r#"{"geo":"here"}"#, Some(r#"-|"here"|-"#)),
                (r#"{"geo": {"lon":[{}, "]"]} }"#, Some(r#"-|{"lon":[{}, "]"]}|-"#)),
                (r#"{"geo":null}"#, Some("-|-|-")),
            ],
        },
        Case {
            about: "a path without names is the document",
            fields: vec![
                PathField { path: Vec::new(), field_type: Type::Json },
                field("a", Type::Int64),
            ],
            conditions: vec![],
            lines: &[
                (r#"{"a":1,"b":[{}]}"#, Some(r#"{"a":1,"b":[{}]}|1"#)),
                (" {} ", Some("{}|-")),
            ],
        },
        Case {
            about: "nested values have their types",
            fields: vec![
                field("a.l", Type::List(Box::new(Type::Int64))),
                field("a.e", Type::Empty),
                field("n", Type::Null),
            ],
            conditions: vec![],
            lines: &[(r#"{"a":{"e":{ },"m":[{}]}}"#, Some("-|{}|-"))],
        },
    ]
}

fn cases_of_conditions() -> Vec<Case> {
    use Comparison::{Equal, GreaterOrEqual, Less, NotEqual};
    let one_of = |values: &[Value]| PathTest::OneOf(values.to_vec());
    vec![
        Case {
            about: "lines that do not satisfy all conditions are not rows",
            fields: vec![field("t", Type::Int64)],
            conditions: vec![
                compare("kind", Equal, Value::from("commit")),
                compare("c.op", NotEqual, Value::from("delete")),
                compare("t", Less, Value::Integer(10)),
            ],
            lines: &[
                (r#"{"kind":"commit","t":5,"c":{"op":"create"}}"#, Some("5")),
                (r#"{"c":{"op":"create"},"t":5,"kind":"commit"}"#, Some("5")),
                (r#"{"kind":"\u0063ommit","t":6,"c":{"op":"\n"}}"#, Some("6")),
                (r#"{"kind":"commit\n","t":6,"c":{"op":"create"}}"#, None),
                (r#"{"kind":"commit","t":5,"c":{"op":"delete"}}"#, None),
                (r#"{"kind":"commit","t":10,"c":{"op":"create"}}"#, None),
                (r#"{"kind":"commit","t":null,"c":{"op":"create"}}"#, None),
                (r#"{"kind":"commit","t":1,"c":{}}"#, None),
                (r#"{"kind":"commit","t":1,"c":"create"}"#, None),
                (r#"{}"#, None),
            ],
        },
        Case {
            about: "conditions without columns count rows",
            fields: vec![],
            conditions: vec![
                PathCondition {
                    path: path("a"),
                    field_type: Type::Text,
                    test: one_of(&[Value::from("x"), Value::Null, Value::from("")]),
                },
                compare("b", GreaterOrEqual, Value::Float(0.0)),
                compare("c", Equal, Value::Boolean(true)),
            ],
            lines: &[
                (r#"{"a":"x","b":-0.0,"c":true}"#, Some("")),
                (r#"{"a":"","b":1e5,"c":true}"#, Some("")),
                (r#"{"a":"y","b":1,"c":true}"#, None),
                (r#"{"a":"x","b":-1,"c":true}"#, None),
                (r#"{"a":"x","b":1,"c":false}"#, None),
                (r#"{"a":null,"b":1,"c":true}"#, None),
            ],
        },
        Case {
            about: "nothing compares with null, and nothing is one of nothing",
            fields: vec![field("a", Type::Int64)],
            conditions: vec![PathCondition {
                path: path("a"),
                field_type: Type::Int64,
                test: PathTest::Compare(NotEqual, Value::Null),
            }],
            lines: &[(r#"{"a":1}"#, None), (r#"{"a":null}"#, None)],
        },
    ]
}

#[test]
fn cases_give_their_rows() {
    for Case { about, fields, conditions, lines } in
        cases_of_fields().into_iter().chain(cases_of_conditions())
    {
        for keys_are_distinct in [true, false] {
            let mut columns = PathColumns::new(&fields, &conditions, keys_are_distinct);
            for (line, row) in lines {
                assert_eq!(columns.push(line.as_bytes()), Ok(row.is_some()), "{about}: {line}");
            }
            let expected: Vec<_> = lines.iter().filter_map(|(_, row)| *row).collect();
            assert_eq!(rows(&mut columns), expected, "{about}");
            assert_eq!((columns.row_count(), columns.size()), (0, 0));
        }
    }
}

#[test]
fn the_last_value_of_a_repeated_key_counts() {
    let fields = [field("a.b", Type::Int64), field("a", Type::Json), field("c", Type::Int64)];
    let conditions = [compare("k", Comparison::Equal, Value::from("x"))];
    for (line, row) in [
        (r#"{"k":"x","c":1,"c":2}"#, Some("-|-|2")),
        (r#"{"k":"y","k":"x","c":"text","c":2}"#, Some("-|-|2")),
        (r#"{"k":"x","k":"y"}"#, None),
        (r#"{"k":"x","\u006b":null}"#, None),
        (r#"{"k":"x","a":{"b":1},"a":{"z":2}}"#, Some(r#"-|{"z":2}|-"#)),
        (r#"{"k":"x","a":{"b":1},"a":null,"c":1,"c":null}"#, Some("-|-|-")),
        (r#"{"k":"x","a":{"b":1,"b":5}}"#, Some(r#"5|{"b":1,"b":5}|-"#)),
    ] {
        let mut columns = PathColumns::new(&fields, &conditions, false);
        assert_eq!(columns.push(line.as_bytes()), Ok(row.is_some()), "{line}");
        assert_eq!(rows(&mut columns), row.into_iter().collect::<Vec<_>>(), "{line}");
    }
}

#[test]
fn values_that_do_not_fit_are_no_rows() {
    let fields = [field("t", Type::Text), field("a.b", Type::Int64)];
    let unsuited = compare("a.b", Comparison::Equal, Value::Uuid([0; 16]));
    assert!(!unsuited.test.suits(&Type::Int64));
    for (conditions, line) in [
        (vec![], r#"{"t":"x","a":{"b":1.5}}"#),
        (vec![], r#"{"t":1}"#),
        (vec![], r#"{"a":{"b":9223372036854775808}}"#),
        (vec![], "[]"),
        (vec![], ""),
        (vec![], r#"{"t":"x"#),
        (vec![compare("t", Comparison::Equal, Value::Integer(1))], r#"{"t":"x"}"#),
        (vec![compare("a.b", Comparison::Equal, Value::from("x"))], r#"{"a":{"b":1}}"#),
        (vec![unsuited], r#"{"t":"x","a":{"b":1}}"#),
    ] {
        for keys_are_distinct in [true, false] {
            let mut columns = PathColumns::new(&fields, &conditions, keys_are_distinct);
            if conditions.is_empty() {
                assert_eq!(columns.push(br#"{"t":"before"}"#), Ok(true));
            }
            assert_eq!(columns.push(line.as_bytes()), Err(Mismatch), "{line}");
            if conditions.is_empty() {
                assert_eq!(columns.push(br#"{"t":"after"}"#), Ok(true));
                assert_eq!(rows(&mut columns), ["before|-", "after|-"], "{line}");
            }
        }
    }
}

const KEYS: [&str; 5] = ["a", "b", "long_key_of_many_bytes", "é", "q\"\\"];

const SCALARS: [&str; 12] = [
    "null",
    "true",
    "false",
    "0",
    "17",
    "-5",
    "0.25",
    "\"\"",
    "\"plain é\"",
    "\"\\\"esc\\u00e9\\\\\"",
    "\"}]{[,:\"",
    "\"a string of more than sixty-four bytes, with \\\\ and \\\" in it, so that blocks end inside\"",
];

/// A writer of random lines.
struct Lines<'r> {
    random: &'r mut Random,
    keys_are_distinct: bool,
    has_repeated_keys: bool,
    out: String,
}

impl Lines<'_> {
    fn space(&mut self) {
        if self.random.once_in(9) {
            self.out.push_str(self.random.one_of::<&str>(&[" ", "\t", "  "]));
        }
    }

    fn value(&mut self, depth: usize) {
        self.space();
        match self.random.below(if depth > 3 { 3 } else { 8 }) {
            3 => {
                self.out.push('[');
                for index in 0..self.random.below(4) {
                    self.out.push_str(if index == 0 { "" } else { "," });
                    self.value(depth + 1);
                }
                self.out.push(']');
            }
            4..8 => self.object(depth + 1),
            _ => self.out.push_str(self.random.one_of::<&str>(&SCALARS)),
        }
        self.space();
    }

    fn object(&mut self, depth: usize) {
        self.out.push('{');
        let mut taken = Vec::new();
        for _ in 0..self.random.below(6) {
            let key = *self.random.one_of(&KEYS);
            if taken.contains(&key) {
                if self.keys_are_distinct {
                    continue;
                }
                self.has_repeated_keys = true;
            }
            self.out.push_str(if taken.is_empty() { "" } else { "," });
            taken.push(key);
            self.space();
            let is_escaped = key == "a" && self.random.once_in(5);
            let key = if is_escaped { "\"\\u0061\"".into() } else { Json::from(key).to_string() };
            self.out.push_str(&key);
            self.space();
            self.out.push(':');
            self.value(depth);
        }
        self.out.push('}');
    }
}

/// A line, and whether an object of it repeats a key.
fn line(random: &mut Random, keys_are_distinct: bool) -> (String, bool) {
    let mut lines =
        Lines { random, keys_are_distinct, has_repeated_keys: false, out: String::new() };
    lines.object(0);
    (lines.out, lines.has_repeated_keys)
}

fn any_path(random: &mut Random) -> Vec<String> {
    (0..1 + random.below(3)).map(|_| (*random.one_of(&KEYS)).to_owned()).collect()
}

/// Mostly JSON, which takes everything, so that many lines fit.
fn any_fields(random: &mut Random) -> Vec<PathField> {
    let types = [Type::Json, Type::Text, Type::Int64, Type::Float64, Type::Boolean];
    let mut fields = Vec::new();
    for _ in 0..random.below(4) {
        let place = if random.once_in(4) { random.below(types.len()) } else { 0 };
        fields.push(PathField { path: any_path(random), field_type: types[place].clone() });
    }
    fields
}

fn any_conditions(random: &mut Random) -> Vec<PathCondition> {
    use Comparison::{Equal, Greater, Less, NotDistinct, NotEqual};
    let texts = ["", "plain é", "\"escé\\", "}]{[,:"].map(Value::from);
    let families = [
        (Type::Text, texts.to_vec()),
        (Type::Int64, [0, 17, -5].map(Value::Integer).to_vec()),
        (Type::Float64, [0.25, -0.0, 17.0].map(Value::Float).to_vec()),
        (Type::Boolean, [true, false].map(Value::Boolean).to_vec()),
    ];
    let mut conditions = Vec::new();
    for _ in 0..random.below(3) {
        let (field_type, values) = random.one_of(&families).clone();
        let test = if random.once_in(3) {
            let count = random.below(values.len() + 1);
            PathTest::OneOf((0..count).map(|_| random.one_of(&values).clone()).collect())
        } else {
            let op = *random.one_of(&[Equal, NotEqual, Less, Greater, NotDistinct]);
            PathTest::Compare(op, random.one_of(&values).clone())
        };
        conditions.push(PathCondition { path: any_path(random), field_type, test });
    }
    conditions
}

/// The value of a path; `None` if it is missing or null.
fn value_at<'d>(document: &'d Json, path: &[String]) -> Option<&'d Json> {
    let found = path.iter().try_fold(document, |value, name| value.as_object()?.get(name))?;
    (!found.is_null()).then_some(found)
}

/// The value of a column; `Err` if it does not fit.
fn decoded(value: Option<&Json>, field_type: &Type) -> Result<Value, Mismatch> {
    let Some(value) = value else { return Ok(Value::Null) };
    let value = match field_type {
        Type::Json => Some(Value::Text(value.to_string())),
        Type::Text => value.as_str().map(Value::from),
        Type::Int64 => value.as_i64().map(Value::Integer),
        Type::Float64 => value.as_f64().map(Value::Float),
        _ => value.as_bool().map(Value::Boolean),
    };
    value.ok_or(Mismatch)
}

fn is_met(document: &Json, condition: &PathCondition) -> Result<bool, Mismatch> {
    let value = decoded(value_at(document, &condition.path), &condition.field_type)?;
    let order = |own: &Value| match (&value, own) {
        (Value::Text(value), Value::Text(own)) => value.cmp(own),
        (Value::Float(value), Value::Float(own)) => value.partial_cmp(own).unwrap(),
        (Value::Integer(value), Value::Integer(own)) => value.cmp(own),
        (Value::Boolean(value), Value::Boolean(own)) => value.cmp(own),
        other => panic!("values of one type: {other:?}"),
    };
    if value == Value::Null {
        return Ok(false);
    }
    Ok(match &condition.test {
        PathTest::Compare(op, own) => op.holds(order(own)),
        PathTest::OneOf(all) => all.iter().any(|own| order(own).is_eq()),
    })
}

/// The row that a line becomes, if any.
fn expected_row(
    document: &Json,
    fields: &[PathField],
    conditions: &[PathCondition],
) -> Result<Option<String>, Mismatch> {
    for condition in conditions {
        if !is_met(document, condition)? {
            return Ok(None);
        }
    }
    let mut row = Vec::new();
    for field in fields {
        row.push(match decoded(value_at(document, &field.path), &field.field_type)? {
            Value::Null => "-".to_owned(),
            Value::Boolean(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(text) => text,
            other => panic!("{other:?}"),
        });
    }
    Ok(Some(row.join("|")))
}

/// A line as a row, JSON text written as the other reader writes it.
fn actual_row(columns: &mut PathColumns, fields: &[PathField]) -> String {
    let arrays = columns.finish();
    let value = |(array, field): (&ArrayRef, &PathField)| match shown(array, 0) {
        text if field.field_type == Type::Json && !array.is_null(0) => {
            serde_json::from_str::<Json>(&text).unwrap().to_string()
        }
        text => text,
    };
    arrays.iter().zip(fields).map(value).collect::<Vec<_>>().join("|")
}

#[test]
fn random_lines_give_what_a_parser_of_whole_lines_gives() {
    let (mut row_count, mut rejected_count, mut error_count) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let has_distinct_keys = random.once_in(2);
        let (fields, conditions) = (any_fields(&mut random), any_conditions(&mut random));
        let promises = if has_distinct_keys { &[true, false][..] } else { &[false] };
        let mut all: Vec<_> = promises
            .iter()
            .map(|promise| PathColumns::new(&fields, &conditions, *promise))
            .collect();
        for _ in 0..12 {
            let (line, _) = line(&mut random, has_distinct_keys);
            let document: Json = serde_json::from_str(&line).unwrap();
            let expected = expected_row(&document, &fields, &conditions);
            // Which of several conditions decides is not defined.
            let results: Vec<_> = conditions.iter().map(|own| is_met(&document, own)).collect();
            let is_open = results.contains(&Ok(false)) && results.contains(&Err(Mismatch));
            for columns in &mut all {
                let about = || format!("seed {seed}: {line}\n{fields:?}\n{conditions:?}");
                match (columns.push(line.as_bytes()), &expected) {
                    (Ok(true), Ok(Some(row))) => {
                        row_count += 1;
                        assert_eq!(columns.row_count(), 1);
                        assert_eq!(actual_row(columns, &fields), *row, "{}", about());
                    }
                    (Ok(false), Ok(None)) => rejected_count += 1,
                    (Err(Mismatch), Err(Mismatch)) => error_count += 1,
                    (Ok(false) | Err(Mismatch), _) if is_open => {}
                    other => panic!("{other:?}: {}", about()),
                }
                assert_eq!(columns.row_count(), 0);
            }
        }
    }
    let counts = [row_count, rejected_count, error_count];
    assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
}

/// Keys far from each other, in lines as programs write them: what is between is leapt over.
#[test]
fn lines_of_one_program_give_what_a_parser_of_whole_lines_gives() {
    const STRANGERS: [&str; 8] =
        ["1", "true", r#""a,""#, r#""a,\"k5\":7,""#, r#"":""#, r#""}{][""#, r#"{"k5":8}"#, "[7]"];
    let mut row_count = 0;
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let names = ["k5", "k0", "k7.k5", "k9"].map(str::to_owned);
        let path = |name: &String| name.split('.').map(str::to_owned).collect();
        let field = |name| PathField { path: path(name), field_type: Type::Json };
        let count = 1 + random.below(4);
        let fields: Vec<_> = (0..count).map(|_| field(random.one_of(&names))).collect();
        let mut columns = PathColumns::new(&fields, &[], true);
        let usual: Vec<usize> = (0..10).map(|_| random.below(STRANGERS.len())).collect();
        for _ in 0..12 {
            let mut members = Vec::new();
            for (key, usual) in usual.iter().enumerate() {
                let other = random.below(STRANGERS.len());
                let value = STRANGERS[if random.once_in(12) { other } else { *usual }];
                if !random.once_in(12) {
                    members.push(format!("\"k{key}\":{value}"));
                }
            }
            if random.once_in(8) && !members.is_empty() {
                let place = random.below(members.len());
                members.rotate_left(place);
            }
            let line = format!("{{{}}}", members.join(","));
            let document: Json = serde_json::from_str(&line).unwrap();
            let row = expected_row(&document, &fields, &[]).unwrap().unwrap();
            assert_eq!(columns.push(line.as_bytes()), Ok(true), "seed {seed}: {line}");
            assert_eq!(actual_row(&mut columns, &fields), row, "seed {seed}: {line} {fields:?}");
            row_count += usize::from(row != "-");
        }
    }
    assert!(row_count > 1_000, "{row_count}");
}

/// The texts of a column, or of its lists, however they are stored.
fn texts(array: &ArrayRef) -> Vec<String> {
    let absent = || "-".to_owned();
    if let Some(lists) = array.as_list_opt::<i32>() {
        let shown = |own: ArrayRef| format!("{:?}", texts(&own));
        return lists.iter().map(|list| list.map_or_else(absent, shown)).collect();
    }
    let Some(codes) = array.as_dictionary_opt::<Int32Type>() else {
        return (0..array.len()).map(|row| shown(array, row)).collect();
    };
    let all = codes.values().as_string::<i32>();
    let text = |row| codes.key(row).map_or_else(absent, |code| all.value(code).to_owned());
    (0..array.len()).map(text).collect()
}

/// Short texts, and others.
const SHORT: [&str; 6] = [r#""a""#, r#""b""#, r#""""#, r#""fifteen letters""#, r#""ä""#, "null"];
const OTHERS: [&str; 4] = [r#""sixteen letters.""#, r#""\u0061""#, r#""a\"b""#, r#""]""#];

/// As dictionaries, and as plain texts from the first on that is long, or from one too many.
#[test]
fn few_texts_are_the_texts_that_they_are() {
    let list_type = || Type::List(Box::new(Type::Text));
    let fields = [field("t", Type::Text), field("l", list_type()), field("n", Type::Int64)];
    let (mut dictionary_count, mut plain_count) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let wanted = &fields[random.below(2)..][..1 + random.below(2)];
        let columns = || PathColumns::new(wanted, &[], seed % 2 == 0);
        let (mut few, mut plain) = (columns().with_few_texts(|_| true), columns());
        let mut number = 0;
        for _ in 0..3 {
            let (has_others, has_many) = (random.once_in(4), random.once_in(12));
            for _ in 0..60 {
                let mut text = || match random.below(8) {
                    0 if has_others => (*random.one_of(&OTHERS)).to_owned(),
                    1..6 if has_many => {
                        number += 1;
                        format!("\"{number}\"")
                    }
                    _ => (*random.one_of(&SHORT)).to_owned(),
                };
                let (first, items) = (text(), [text(), text(), text()]);
                let list = match random.below(9) {
                    0 => "null".to_owned(),
                    size => format!("[{}]", items[..size % 4].join(",")),
                };
                let line = match random.below(6) {
                    0 => format!(r#"{{"t":{first},"l":{list}}}"#),
                    1 => format!(r#"{{"l": {list} ,"n":1,"t":{first} }}"#),
                    2 => format!(r#"{{"l":{list}}}"#),
                    // Refused: what came before it in the line is taken back.
                    3 if random.once_in(9) => format!(r#"{{"t":{first},"l":[{first},7],"n":1}}"#),
                    _ => format!(r#"{{"n":1,"t":{first},"x":["]"],"l":{list},"z":"{{"}}"#),
                };
                let is_row = few.push(line.as_bytes());
                assert_eq!(is_row, plain.push(line.as_bytes()), "seed {seed}: {line}");
                assert_eq!(few.row_count(), plain.row_count(), "seed {seed}: {line}");
            }
            for (few, plain) in few.finish().iter().zip(plain.finish()) {
                assert_eq!(texts(few), texts(&plain), "seed {seed}");
                let items = few.as_list_opt::<i32>().map_or(few, |lists| lists.values());
                match items.data_type() {
                    DataType::Dictionary(..) => dictionary_count += 1,
                    _ => plain_count += 1,
                }
            }
        }
    }
    let counts = [dictionary_count, plain_count];
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[test]
fn a_tree_notices_repeated_keys() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let (mut tree, mut has_repeated_keys) = (Tree::default(), false);
        for _ in 0..1 + random.below(6) {
            let is_distinct = !random.once_in(6);
            let (line, repeats) = line(&mut random, is_distinct);
            tree.observe(line.as_bytes()).unwrap();
            has_repeated_keys |= repeats;
            assert_eq!(tree.keys_are_distinct(), !has_repeated_keys, "seed {seed}: {line}");
        }
    }
}

#[test]
fn other_text_never_panics() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let (line, _) = line(&mut random, false);
        let (fields, conditions) = (any_fields(&mut random), any_conditions(&mut random));
        let mut all = [true, false].map(|keys| PathColumns::new(&fields, &conditions, keys));
        for _ in 0..40 {
            let mut broken = line.clone().into_bytes();
            for _ in 0..1 + random.below(3) {
                let at = random.below(broken.len() + 1);
                match random.below(3) {
                    0 => broken.truncate(at),
                    1 if at < broken.len() => broken[at] = random.draw() as u8,
                    _ => broken.insert(at, *random.one_of(b"{}[]\",:\\0e- ")),
                }
            }
            for columns in &mut all {
                let _ = columns.push(&broken);
            }
        }
        for columns in &mut all {
            let count = columns.row_count();
            assert!(columns.finish().iter().all(|array| array.len() == count), "seed {seed}");
        }
    }
}

#[test]
fn structs_with_a_part_of_the_members_skip_the_others() {
    let of = |name: &str, field_type| Type::Struct(vec![Field::new(name, field_type)]);
    let items = Type::List(Box::new(of("y", of("z", Type::Int64))));
    let fields = [field("a", of("x", Type::Text)), field("l", items)];
    let repeated = r#"{"a":{"x":"old","x":"new"},"l":[{"y":7}]}"#;
    for keys_are_distinct in [true, false] {
        let lines = [
            r#"{"a":{"w":[{}],"x":"1","v":"}"},"l":[{"y":{"z":1,"q":{}},"p":0},null,{"p":[]},5]}"#,
            r#"{"a":"no object","l":[]}"#,
            r#"{"a":{"v":1}}"#,
            if keys_are_distinct { &repeated.replace(r#""x":"old","#, "") } else { repeated },
            r#"{"l":null,"a":{"v":[],"x":"last","w":{}}}"#,
        ];
        let mut whole = PathColumns::new(&fields, &[], keys_are_distinct);
        assert_eq!(whole.push(lines[0].as_bytes()), Err(Mismatch));
        let mut columns = whole.with_partial(|_| true);
        for line in lines {
            assert_eq!(columns.push(line.as_bytes()), Ok(true), "{line}");
        }
        let found = columns.finish();
        let (objects, items) = (found[0].as_struct(), found[1].as_list::<i32>());
        let texts = objects.column(0).as_string::<i32>();
        let texts: Vec<_> = texts.iter().map(|text| text.map(str::to_owned)).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts, [some("1"), None, None, some("new"), some("last")]);
        assert_eq!((0..5).filter(|row| objects.is_null(*row)).collect::<Vec<_>>(), [1]);
        let items = items.values().as_struct();
        let inner = items.column(0).as_struct();
        let numbers = inner.column(0).as_primitive::<Int64Type>();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [Some(1), None, None, None, None]);
        assert_eq!((0..5).filter(|row| items.is_null(*row)).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((0..5).filter(|row| inner.is_null(*row)).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
