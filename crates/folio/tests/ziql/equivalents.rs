//! The same query in both languages gives the same result, and the same change leaves the same
//! tables: the pairs in `docs/ziql.md`, and random pairs.

use folio::{Database, Session};

use crate::generated::{Random, fill};

/// The schema for the pairs of the documentation.
const SCHEMA: &str = "
    User ( name: str unique, age: int = 0, nick: str?, best: User, friends: []User,
           posts: []Post.author, scores: []int = [] )
    Post ( title: str, likes: int = 0, at: date = 2024-01-01, author: User on delete cascade )";

const ENTITIES: &str = "
    ADD User (name = 'Ann', age = 34, nick = 'A', scores = [1, 2])
             ('Bob', 20, none, [3]) ('Cy', 50, 'C', []) ('Di', 20, none, [2, 3]);
    UPDATE User {name != 'Di'} TO (best = {name = 'Bob'}, friends = {name IN ['Ann', 'Di']});
    ADD Post (title = 'p', likes = 3, at = 2024-03-01, author = {name = 'Ann'})
             ('q', 5, 2024-01-15, {name = 'Ann'}) ('r', 1, 2024-02-01, {name = 'Bob'})
             ('s', 9, 2024-02-02, none)";

/// The whole content of the tables.
const STATE: &str = "
    GRAB User [*, best.name, friends.name, posts.title] |name|";

fn open(schema: &str) -> (tempfile::TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let mut session = database.session().unwrap();
    session.apply_schema(schema, false).unwrap();
    (folder, session)
}

fn ziql(session: &mut Session, text: &str) -> String {
    let rows = session.ziql(text, &[]);
    rows.unwrap_or_else(|error| panic!("{error}")).to_json().unwrap()
}

fn sql(session: &mut Session, text: &str) -> String {
    let answer = session.execute(text, &[]).unwrap_or_else(|error| panic!("{text}\n{error}"));
    answer.rows.map_or_else(String::new, |mut rows| rows.to_json().unwrap())
}

/// The ZiQL blocks of a page, each with the SQL block after it.
fn shown(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```ziql\n").skip(1).filter_map(|rest| {
        let (own, rest) = rest.split_once("```\n")?;
        let (twin, _) = rest.trim_start().strip_prefix("```sql\n")?.split_once("```")?;
        Some((own, twin))
    });
    blocks.collect()
}

#[test]
fn pairs_that_the_documentation_shows() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ziql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let pairs = shown(&page);
    assert!(pairs.len() > 15, "{} pairs", pairs.len());
    let (_folder, mut session) = open(SCHEMA);
    ziql(&mut session, ENTITIES);
    for (own, twin) in pairs {
        let mut states = Vec::new();
        let mut asked = |ask: &dyn Fn(&mut Session) -> String| {
            sql(&mut session, "begin");
            let answer = ask(&mut session);
            states.push(ziql(&mut session, STATE) + &ziql(&mut session, "GRAB Post"));
            sql(&mut session, "rollback");
            answer
        };
        let first = asked(&|session| ziql(session, own));
        let second = asked(&|session| sql(session, twin));
        assert_eq!(first, second, "{own}{twin}");
        assert_eq!(states[0], states[1], "{own}{twin}");
        let is_about_something = first != "[]" && first.len() > 2;
        assert!(is_about_something, "{own} answers nothing");
    }
}

/// A condition in both languages; `t` is the name of its row in SQL.
fn condition(random: &mut Random, of: &str, t: &str, depth: usize) -> (String, String) {
    match random.below(if depth == 0 { 4 } else { 9 }) {
        0 => {
            let column = if of == "User" { "age" } else { "likes" };
            let (op, number) = (random.pick(&["=", "!=", "<", ">="]), random.below(50));
            (format!("{column} {op} {number}"), format!("{t}.{column} {op} {number}"))
        }
        1 if of == "User" => {
            let (own, twin) =
                random_pair(random, &["= none", "!= none"], &["is null", "is not null"]);
            (format!("nick {own}"), format!("{t}.nick {twin}"))
        }
        1 => ("at < 2024-02-01".to_owned(), format!("{t}.at < date '2024-02-01'")),
        2 => {
            let column = if of == "User" { "nick" } else { "title" };
            (format!("{column} > 'k5'"), format!("coalesce({t}.{column} > 'k5', false)"))
        }
        3 => {
            let column = if of == "User" { "name" } else { "title" };
            (format!("{column} LIKE '%1%'"), format!("{t}.{column} like '%1%'"))
        }
        4 => {
            let (own, twin) = condition(random, of, t, depth - 1);
            (format!("NOT ({own})"), format!("not ({twin})"))
        }
        which @ (5 | 6) => {
            let word = ["AND", "OR"][which - 5];
            let (one, one_twin) = condition(random, of, t, depth - 1);
            let (other, other_twin) = condition(random, of, t, depth - 1);
            (format!("({one} {word} {other})"), format!("({one_twin} {word} {other_twin})"))
        }
        which => on_link(random, of, t, depth, which == 7),
    }
}

/// A condition on the target of a link: any or all of them satisfy it.
fn on_link(random: &mut Random, of: &str, t: &str, depth: usize, any: bool) -> (String, String) {
    let inner = format!("{t}x");
    let (link, to, rows) = match (of, random.below(3)) {
        ("Post", 0) => (
            "tags",
            "Tag",
            format!(
                "\"Post.tags\" l join \"Tag\" {inner} on {inner}.id = l.target where l.source = {t}.id"
            ),
        ),
        ("Post", _) => {
            ("author", "User", format!("\"User\" {inner} where {inner}.id = {t}.author"))
        }
        (_, 0) => ("posts", "Post", format!("\"Post\" {inner} where {inner}.author = {t}.id")),
        (_, 1) => ("best", "User", format!("\"User\" {inner} where {inner}.id = {t}.best")),
        _ => (
            "fans",
            "User",
            format!(
                "\"User.friends\" l join \"User\" {inner} on {inner}.id = l.source where l.target = {t}.id"
            ),
        ),
    };
    if random.below(3) == 0 {
        let (own, twin) = after_dot(random, to, &inner);
        return (
            format!("{link}.{own}"),
            format!("exists (select 1 from {rows} and coalesce({twin}, false))"),
        );
    }
    let (own, twin) = match to {
        "Tag" => ("name > 'a'".to_owned(), format!("{inner}.name > 'a'")),
        _ => condition(random, to, &inner, depth - 1),
    };
    match any {
        true => {
            (format!("{link} IN {{{own}}}"), format!("exists (select 1 from {rows} and ({twin}))"))
        }
        false => (
            format!("{link} ALLIN {{{own}}}"),
            format!("not exists (select 1 from {rows} and not ({twin}))"),
        ),
    }
}

/// A member after a dot, with any operator.
fn after_dot(random: &mut Random, of: &str, t: &str) -> (String, String) {
    let (text, number) = match of {
        "User" => ("nick", "age"),
        "Post" => ("title", "likes"),
        _ => ("name", "name"),
    };
    match random.below(if of == "Tag" { 2 } else { 4 }) {
        0 => {
            let (own, twin) = random_pair(random, &["LIKE", "!LIKE"], &["like", "not like"]);
            (format!("{text} {own} '%1%'"), format!("{t}.{text} {twin} '%1%'"))
        }
        1 => {
            let (own, twin) = random_pair(random, &["IN", "!IN"], &["", "not"]);
            let list = "('a', 'k3', 't3')";
            (
                format!("{text} {own} ['a', 'k3', 't3']"),
                format!("{twin} coalesce({t}.{text} in {list}, false)"),
            )
        }
        2 => {
            let (op, value) = (random.pick(&["=", "!=", "<", ">="]), random.below(50));
            (format!("{number} {op} {value}"), format!("{t}.{number} {op} {value}"))
        }
        _ => {
            let (own, twin) =
                random_pair(random, &["= none", "!= none"], &["is null", "is not null"]);
            (format!("{text} {own}"), format!("{t}.{text} {twin}"))
        }
    }
}

fn random_pair<'w>(random: &mut Random, own: &[&'w str], twin: &[&'w str]) -> (&'w str, &'w str) {
    let which = random.below(own.len());
    (own[which], twin[which])
}

#[test]
fn pairs_made_at_random() {
    let rounds = if std::env::var_os("FOLIO_DEEP").is_some() { 20_000 } else { 400 };
    let (_folder, mut session) = open("");
    let mut random = Random(7);
    fill(&mut session, &mut random);
    let mut found = 0;
    for round in 0..rounds {
        let of = random.pick(&["User", "Post"]);
        let (own, twin) = condition(&mut random, of, "t", 3);
        let (name, number) = if of == "User" { ("name", "age") } else { ("title", "likes") };
        let (limit, skip) = (1 + random.below(30), random.below(3));
        let (down, nulls) = random_pair(&mut random, &["", "DESC "], &["", "desc "]);
        let own = format!(
            "GRAB {of} [{limit} + {skip}; {name}, n: {number} * 2] {{{own}}} |{down}{number}|"
        );
        let twin = format!(
            "select t.{name}, t.{number} * 2 as n from \"{of}\" t where {twin} \
             order by t.{number} {nulls}, t.id limit {limit} offset {skip}"
        );
        let (first, second) = (ziql(&mut session, &own), sql(&mut session, &twin));
        assert_eq!(first, second, "round {round}\n{own}\n{twin}");
        found += usize::from(first != "[]");
    }
    assert!(found > rounds / 3, "{found} answers of {rounds} hold anything");
}

/// A collection of documents is a struct without links, in both languages.
#[test]
fn collections_can_be_grabbed() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let people = database.collection("people").unwrap();
    for (id, age) in [("ann", 34), ("bob", 20), ("cy", 50)] {
        let document = format!(r#"{{"name":"{id}","age":{age},"tags":["x","{id}"]}}"#);
        people.put_raw(id, &document).unwrap();
    }
    let mut session = database.session().unwrap();
    for (own, twin) in [
        (
            "GRAB people [name, age] {age > 30} |DESC age|",
            "select name, age from people where age > 30 order by age desc",
        ),
        ("GRAB people [1; tags] {name = 'bob'}", "select tags from people where name = 'bob'"),
        (
            "GRAB people [n: COUNT(), s: SUM(age)]",
            "select count(*) as n, sum(age) as s from people",
        ),
    ] {
        assert_eq!(ziql(&mut session, own), sql(&mut session, twin), "{own}");
    }
    let refused = session.ziql("DELETE people {}", &[]).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("people"), "{refused}");
}
