//! Deeply nested texts, or long chains of links, run or are refused. They never overflow the stack
//! of any thread, and planning time is linear in the depth.

use crate::generated::{Random, fill};
use folio::Database;

/// Repeats a part.
fn times(part: &str, count: usize) -> String {
    part.repeat(count)
}

fn around(before: &str, inner: &str, after: &str, count: usize) -> String {
    format!("{}{inner}{}", times(before, count), times(after, count))
}

/// Statements of a depth.
fn statements(count: usize) -> Vec<String> {
    let condition = |condition: String| format!("GRAB User [n: COUNT()] {{{condition}}}");
    let all = |term: &str, word: &str| condition(vec![term; count].join(word));
    vec![
        condition(around("(", "true", ")", count)),
        condition(times("NOT ", count) + "true"),
        condition(format!("scores IN {}", around("[", "1", "]", count))),
        condition(format!("age = {}1", times("- ", count))),
        condition(format!("age = {}1", times("1 + ", count))),
        condition(around("best IN {", "", "}", count)),
        condition(around("friends !IN {", "", "}", count)),
        condition(around("NOT posts.author ALLIN {", "", "}", count)),
        condition(times("best.", count) + "name = 'a'"),
        condition(times("friends.", count) + "name !IN ['a']"),
        all("best IN {age = 3}", " AND "),
        all("friends IN {age = 3}", " OR "),
        format!("GRAB User{} [n: COUNT()]", times(".friends", count)),
        format!("GRAB User{} [n: COUNT()]", times(".best", count)),
        format!("GRAB User [1; {}name]", times("best.", count)),
        format!("GRAB User [1; {}name] {{age < 0}}", times("posts.author.", count / 2)),
        format!("GRAB User [1; best {}]", around("[best ", "[name]", "]", count)),
        format!("GRAB User [1; name] |{}name|", times("best.", count)),
        format!("GRAB User => u => GRAB User {{{}}}", vec!["IN u"; count].join(" AND ")),
        format!("UPDATE User {{false}} TO (name = {})", around("(", "'a'", ")", count)),
        format!("ADD Tag (name = {})", around("(", "1", ")", count)),
    ]
}

#[test]
fn nothing_is_too_deep_for_a_stack() {
    // Without optimization a call takes many times what it takes in a program.
    let size = if cfg!(debug_assertions) { 64 << 20 } else { 2 << 20 };
    let thread = std::thread::Builder::new().stack_size(size).spawn(ask_all);
    thread.unwrap().join().unwrap();
}

fn ask_all() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let mut session = database.session().unwrap();
    fill(&mut session, &mut Random(3));
    for count in [20, 60, 120, 300, 5_000] {
        for text in statements(count) {
            let shown: String = text.chars().take(60).collect();
            let answer = session.ziql(&text, &[]).and_then(|mut rows| Ok(rows.to_json()?));
            // Refused statements are refused for their depth, or for their content.
            let error = answer.err().map(|error| error.to_string());
            let is_refused = error.as_ref().is_some_and(|error| {
                error.contains("nests deeper") || error.contains("follows more than")
            });
            assert!(count < 300 || is_refused || error.is_some(), "{count}: {shown} is answered");
            let is_fine = ["best IN {", "best.best", ".friends", "IN u"];
            let is_small = count <= 60 && is_fine.iter().any(|part| shown.contains(part));
            assert!(!is_small || error.is_none(), "{count}: {shown}\n{error:?}");
        }
    }
}
