//! Accepted texts, and random texts. Error messages are tested in
//! `conformance/ziql/syntax.txt`.

use std::fmt::Write;

use proptest::prelude::*;

use super::{declarations, script};

/// Stack for the parser in tests. Test threads have 2 MiB.
const STACK_SIZE: usize = 1 << 20;

/// The error message for a text; `None` if it is accepted.
fn refusal(text: &str) -> Option<String> {
    script(&text.into(), &folio_engine::Limits::default().on_stack_of(STACK_SIZE))
        .err()
        .map(|error| error.in_text(text).to_string())
}

#[test]
fn accepted() {
    for text in [
        "",
        ";;",
        "GRAB User",
        "grab User {}",
        "GRAB User [10] {age > 30 AND name != 'Bob'} |ASC name|",
        "GRAB User [10; name, best_friend [name], posts [3; title] |DESC at|] {age > 30} |name|;",
        "GRAB User [10 + 20; *, n: age + 1,] # a comment\n -- another",
        "GRAB User [$n + $m] {name = $name}",
        "GRAB User [a: best_friend [name] {age > 3} |age|]",
        "GRAB User |DESC a.b, c| {x}",
        "GRAB User {name='Bob'}.posts {likes > 3}.tags [name] {a}",
        "GRAB Order [from.name, total: SUM(price)] {x = 1} BY from.name, b |DESC total|",
        "GRAB T [n: COUNT(), m: MAX(a.b), s: -SUM(x) * 2 % 3]",
        "GRAB T {NOT a = 1 AND (b OR NOT c) OR d IN [1, 2,] OR e !IN {x} OR f ALLIN s OR g !ALLIN $p}",
        "GRAB T {IN adults AND !IN kids}",
        "GRAB T {a LIKE '%x_' AND a !LIKE $p AND a ~ '^x' AND a !~ 'y'}",
        "GRAB T {a = {b = 1} AND a != {} AND a = none}",
        "GRAB T {a = 2024-01-31 OR a < 2024/01/31-12:04:05 OR a > 2024-01-31T12:04:05.5+02:00 OR a = 12:04}",
        "GRAB T {a = 0123e567-e89b-12d3-a456-426614174000 OR b IN [0123E567-E89B-12D3-A456-426614174000]}",
        "GRAB T {a = 1_000 OR a = .5 OR a = 1e9 OR a = 3.14 OR a = -9223372036854775808}",
        r"GRAB T {a = '\'\\\n\r\t\u{1f600} é'}",
        "GRAB `GRAB` [`from`, from, count, append] {`select` = true}",
        "ADD User (name = 'Bob', age = 3, friend = {name = 'A'}, all = [1]{x}, l = [1, 2]) ('Ann', none,), (x) OR SKIP",
        "ADD User () OR UPDATE",
        "UPDATE User [10] {} TO (age += 1, a -= 2, b *= 3, c /= 4, d APPEND 1, e REMOVE [2, 3], f REMOVEAT 0, g POP, h CLEAR)",
        "UPDATE User {name='Bob'}.posts {} TO (title = name)",
        "DELETE User {}",
        "DELETE User [1] {age > $max}",
        "EXPLAIN GRAB User {}",
        "GRAB User {age > 18} => adults => GRAB Post {author IN adults} => DELETE User {}",
    ] {
        assert_eq!(refusal(text), None, "{text}");
    }
}

#[test]
fn nesting_has_an_end() {
    for (open, inside, close) in [
        ("(", "1", ")"),
        ("NOT ", "a", ""),
        ("- ", "a", ""),
        ("[", "1", "]"),
        ("a IN {", "b", "}"),
        ("1 + ", "a", ""),
        ("a = 1 * (", "a", ")"),
    ] {
        for depth in [100_000, 2_000] {
            let mut text = String::from("GRAB T {");
            let _ = write!(text, "{}{inside}{}}}", open.repeat(depth), close.repeat(depth));
            let reported = refusal(&text).unwrap_or_default();
            assert!(
                reported.starts_with("the statement nests too deep: more than 128 levels"),
                "{reported}"
            );
        }
    }
    let shapes = format!("GRAB T {}a{}", "[a ".repeat(2_000), "]".repeat(2_000));
    assert!(refusal(&shapes).is_some_and(|reported| reported.contains("nests too deep")));
    let long = format!("GRAB T {{{} a = 1}}", "a = 1 OR ".repeat(50_000));
    assert_eq!(refusal(&long), None, "a long condition is not a deep one");
}

/// Words and signs of the grammar.
const PIECES: [&str; 60] = [
    "GRAB",
    "ADD",
    "UPDATE",
    "DELETE",
    "EXPLAIN",
    "AND",
    "OR",
    "NOT",
    "IN",
    "ALLIN",
    "LIKE",
    "TO",
    "BY",
    "ASC",
    "DESC",
    "true",
    "none",
    "NOW",
    "User",
    "name",
    "age",
    "SKIP",
    "APPEND",
    "COUNT(",
    "SUM(a)",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "|",
    ";",
    ":",
    ",",
    ".",
    "=>",
    "!=",
    "<=",
    "~",
    "!",
    "+",
    "-",
    "*",
    "/",
    "%",
    "=",
    "'x'",
    "'",
    "`",
    "$a",
    "$",
    "12",
    "1.5",
    "2024-01-31",
    "12:04",
    "0123e567-e89b-12d3-a456-426614174000",
    "é",
    "?",
    "\n",
];

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = refusal(&text);
        let _ = declarations(&text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = refusal(&text);
        let _ = declarations(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(picks in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let words: Vec<&str> = picks.iter().map(|pick| PIECES[*pick]).collect();
        let text = words.join(" ");
        let _ = refusal(&text);
        let _ = declarations(&text);
    }

    #[test]
    fn mutated_statements_are_read_or_refused(at in 0usize..120, piece in 0..PIECES.len(), cut in 0usize..6) {
        let whole = "GRAB User [10 + 2; name, n: age * 2, posts [3; title] {likes > 3} |DESC at|] \
                     {age > 30 AND name IN ['a', 'b']} |ASC name| => x => DELETE User {IN x}";
        let begin = at.min(whole.len());
        let end = (begin + cut).min(whole.len());
        let text = format!("{}{}{}", &whole[..begin], PIECES[piece], &whole[end..]);
        let _ = refusal(&text);
    }
}
