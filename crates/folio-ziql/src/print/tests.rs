//! Printed syntax parses to the same syntax, and prints the same.

use proptest::prelude::*;

use crate::ast::{Script, Statement, Tuples};
use crate::parse::script;

/// Syntax without places, with tuples of literals in one form.
fn bare(mut script: Script) -> String {
    let steps = script.chains.iter_mut().flat_map(|chain| &mut chain.steps);
    for step in steps {
        let Statement::Add(add) = &mut step.statement else { continue };
        let buffer = std::mem::take(&mut add.buffer);
        for tuples in std::mem::take(&mut add.tuples) {
            match tuples {
                Tuples::Literals(range) => {
                    let tuple = |at| buffer.tuple_places().tuple(at).expect("what was read as one");
                    add.tuples.extend(range.map(tuple).map(Tuples::One));
                }
                one => add.tuples.push(one),
            }
        }
    }
    let whole = format!("{script:?}");
    let mut parts = whole.split("Span {");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.filter_map(|part| part.split_once('}')).map(|(_, rest)| rest);
    rest.fold(first, |text, rest| text + rest)
}

/// Prints a text and checks that it parses to the same syntax.
fn printed(text: &str) -> String {
    let read = |text: &str| {
        script(&text.into(), &folio_engine::Limits::default())
            .map(|(script, _)| script)
            .unwrap_or_else(|error| panic!("{}\nof {text}", error.in_text(text)))
    };
    let first = read(text);
    let printed = first.to_string();
    let again = read(&printed);
    assert_eq!(again.to_string(), printed, "of {text}");
    assert_eq!(bare(again), bare(first), "{printed}\nof {text}");
    printed
}

#[test]
fn one_form_of_many() {
    for (text, expected) in [
        ("grab  User\n{ }", "GRAB User {}"),
        ("GRAB User |ASC a, desc b| {x > 1} # why", "GRAB User {x > 1} |a, DESC b|"),
        (
            "GRAB User [ 10+2 ;name, n:(age), posts[3;title]|DESC at|{likes>3},] BY a,b",
            "GRAB User [10 + 2; name, n: age, posts [3; title] {likes > 3} |DESC at|] BY a, b",
        ),
        ("GRAB T {(a = 1) AND ((b = 2) OR c)}", "GRAB T {a = 1 AND (b = 2 OR c)}"),
        ("GRAB T {NOT ((a))}", "GRAB T {NOT a}"),
        ("GRAB T {a = ((1+2)*3-(4-5))/-(6) }", "GRAB T {a = ((1 + 2) * 3 - (4 - 5)) / -(6)}"),
        ("GRAB T [x: - -a, y: -(1), z: -1]", "GRAB T [x: -(-a), y: -(1), z: -1]"),
        ("GRAB T {a = 1e3 or b = .5}", "GRAB T {a = 1000.0 OR b = 0.5}"),
        (r"GRAB T {a = '\u{41}\'\\'}", r"GRAB T {a = 'A\'\\'}"),
        ("GRAB T {a = 2024/01/31-12:04:05}", "GRAB T {a = 2024-01-31T12:04:05}"),
        ("GRAB T {a = 2024-01-31T12:04:05+02:00}", "GRAB T {a = 2024-01-31T10:04:05}"),
        ("GRAB `GRAB` [`from`, `a b`]", "GRAB `GRAB` [from, `a b`]"),
        (
            "ADD T (a=1,b=[1]{x}),(2,(c=3)),(4,)or update",
            "ADD T (a = 1, b = [1]{x}) (2, (c = 3)) (4) OR UPDATE",
        ),
        (
            "UPDATE T[1]{}TO(a+=1,b REMOVEAT[1],c POP)",
            "UPDATE T [1] {} TO (a += 1, b REMOVEAT [1], c POP)",
        ),
        (
            "GRAB T=>x=>EXPLAIN DELETE T{IN x};;GRAB T",
            "GRAB T => x => EXPLAIN DELETE T {IN x};\nGRAB T",
        ),
        ("GRAB T{a}.b{c}.d[e]{f}", "GRAB T {a}.b {c}.d [e] {f}"),
    ] {
        assert_eq!(printed(text), expected);
    }
}

fn name() -> impl Strategy<Value = String> {
    let names = ["a", "b", "name", "_x1", "count", "from", "was", "`IN`", "`a b`", "`é`"];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("."))
}

fn literal() -> impl Strategy<Value = String> {
    let float = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    let text = "[ -~éß\n\r\t\u{1f600}]{0,8}";
    let words = ["true", "false", "none", "NOW", "$p", "1_000", ".5", "1e9"];
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        float.prop_map(|number| format!("{number:?}")),
        text.prop_map(|text| { format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")) }),
        prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        (1u32..=9998, 1u32..=12, 1u32..=28, 0u32..24, 0u32..60, 0u32..1_000_000).prop_map(
            |(year, month, day, hour, minute, micros)| {
                let date = format!("{year:04}-{month:02}-{day:02}");
                let time = format!("{hour:02}:{minute:02}");
                match micros % 5 {
                    0 => date,
                    1 => time,
                    2 => format!("{date}T{time}:01.{micros:06}+01:00"),
                    3 => format!("{}-{time}:02", date.replace('-', "/")),
                    _ => format!("{time}:03.{micros:06}"),
                }
            }
        ),
        any::<u128>().prop_map(|id| {
            let hex = format!("{id:032x}");
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        }),
    ]
}

/// Random values and conditions, mixed as the grammar allows.
fn expression() -> BoxedStrategy<String> {
    let leaf = prop_oneof![literal(), path(), path().prop_map(|path| format!("MAX({path})"))];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let part = inner.clone().prop_map(|inner| format!("({inner})"));
        let words = ["+", "-", "*", "/", "%", "=", "!=", "<", ">=", "AND", "OR"];
        let set = prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            inner.clone().prop_map(|inner| format!("{{{inner}}}")),
            Just("{}".to_owned()),
            name(),
            Just("$set".to_owned()),
        ];
        let sign = prop::sample::select(vec!["IN", "!IN", "ALLIN", "!ALLIN"]);
        prop_oneof![
            (part.clone(), prop::sample::select(words.to_vec()), part.clone())
                .prop_map(|(left, word, right)| format!("{left} {word} {right}")),
            prop::collection::vec(path(), 2..5).prop_map(|paths| paths.join(" - ")),
            (path(), path(), path()).prop_map(|(a, b, c)| format!("{a} = 1 OR {b} AND NOT {c}")),
            part.clone().prop_map(|part| format!("NOT {part}")),
            part.prop_map(|part| format!("- {part}")),
            (path(), sign, set).prop_map(|(path, sign, set)| format!("{path} {sign} {set}")),
            (path(), inner.clone()).prop_map(|(path, inner)| format!("{path} != {{{inner}}}")),
            path().prop_map(|path| format!("{path} !LIKE '%x'")),
            path().prop_map(|path| format!("{path} ~ $p")),
            name().prop_map(|name| format!("!IN {name}")),
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
    .boxed()
}

fn filter() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        expression().prop_map(|condition| format!("{{{condition}}}"))
    ]
}

fn order() -> impl Strategy<Value = String> {
    prop::collection::vec((any::<bool>(), path()), 0..3).prop_map(|keys| {
        let key = |(down, path): &(bool, String)| {
            format!("{}{path}", if *down { "DESC " } else { "ASC " })
        };
        let keys: Vec<String> = keys.iter().map(key).collect();
        if keys.is_empty() { String::new() } else { format!("|{}|", keys.join(",")) }
    })
}

fn shape() -> BoxedStrategy<String> {
    let limit = prop::sample::select(vec!["", "3; ", "$n + 2;", "0 + 1; "]);
    let value = (name(), expression()).prop_map(|(name, value)| format!("{name}: {value}"));
    let leaf = prop_oneof![Just("*".to_owned()), path(), value];
    let fields = leaf.prop_recursive(2, 8, 3, move |field| {
        let shape = (limit.clone(), prop::collection::vec(field, 1..3))
            .prop_map(|(limit, fields)| format!("[{limit}{}]", fields.join(", ")));
        (path(), shape, order(), filter())
            .prop_map(|(path, shape, order, filter)| format!("{path} {shape} {order} {filter}"))
    });
    prop::collection::vec(fields, 1..4)
        .prop_map(|fields| format!("[{}]", fields.join(", ")))
        .boxed()
}

fn source() -> impl Strategy<Value = String> {
    (name(), prop::collection::vec((prop::option::of(filter()), name()), 0..3)).prop_map(
        |(entity, hops)| {
            hops.iter().fold(entity, |text, (filter, link)| {
                format!("{text} {}.{link}", filter.as_deref().unwrap_or_default())
            })
        },
    )
}

fn tuple() -> impl Strategy<Value = String> {
    let words = ["=", "+=", "-=", "*=", "/=", "APPEND", "REMOVE", "REMOVEAT"];
    let entities = (prop::sample::select(vec!["", "[1]", "[$n]"]), filter());
    let given =
        prop_oneof![expression(), entities.prop_map(|(limit, filter)| limit.to_owned() + &filter)];
    let item = prop_oneof![
        (name(), prop::sample::select(words.to_vec()), expression())
            .prop_map(|(name, word, value)| format!("{name} {word} {value}")),
        (name(), given).prop_map(|(name, given)| format!("{name} = {given}")),
        name().prop_map(|name| format!("{name} POP")),
        literal(),
        expression().prop_map(|value| format!("({value})")),
    ];
    prop::collection::vec(item, 0..4).prop_map(|items| format!("({})", items.join(", ")))
}

fn statement() -> impl Strategy<Value = String> {
    let grab = (source(), prop::option::of(shape()), filter(), prop::option::of(path()), order());
    prop_oneof![
        grab.prop_map(|(source, shape, filter, by, order)| {
            let by = by.map(|by| format!("BY {by}")).unwrap_or_default();
            format!("GRAB {source} {} {filter} {by} {order}", shape.unwrap_or_default())
        }),
        (name(), prop::collection::vec(tuple(), 1..4), prop::sample::select(vec!["", "OR SKIP"]))
            .prop_map(|(name, tuples, or)| format!("ADD {name} {} {or}", tuples.join(" "))),
        (source(), filter(), tuple())
            .prop_map(|(source, filter, tuple)| format!("UPDATE {source} [2] {filter} TO {tuple}")),
        (source(), filter()).prop_map(|(source, filter)| format!("DELETE {source} {filter}")),
    ]
}

proptest! {
    #[test]
    fn statements_come_back(statements in prop::collection::vec(statement(), 1..3)) {
        printed(&statements.join(" => "));
        printed(&statements.join(" => found => "));
    }
}
