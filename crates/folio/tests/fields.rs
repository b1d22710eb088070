//! Indexes on fields: every statement finds what it finds without them, and EXPLAIN names them.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use folio::{
    Database, Document, ErrorCode, IndexOptions, OpenOptions, PackOptions, Parameters, Scan,
    Session, Value,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

#[path = "../../../conformance/random.rs"]
mod random;
#[path = "../../../conformance/seeds.rs"]
mod seeds;

use random::Random;

struct World {
    _folder: TempDir,
    database: Database,
    session: Session,
}

/// The same documents in `plain`, without indexes, and in `fast`, with several.
const INDEXES: [&str; 18] = [
    "create index on fast (n)",
    "create index on fast (t desc)",
    "create index on fast (b, n)",
    "create index on fast (f)",
    "create index on fast (m)",
    "create index on fast (t, f desc)",
    "create unique index on fast (u)",
    "create index on fast (l[])",
    "create index on fast (n, l[] desc)",
    "create index n_of_true_idx on fast (n) where b = true",
    "create index t_of_some_idx on fast (t desc) where n >= 10 and f is not null",
    "create index l_of_true_idx on fast (l[]) where b",
    "create index on fast (o.c)",
    "create index on fast (o.p.\"x y\" desc, n)",
    "create index on fast (n, o.c desc)",
    "create index on fast (o.l[])",
    "create index x_of_some_idx on fast (o.p.\"x y\") where o.c >= 'a' and o.p.\"x y\" is not null",
    "create index l_of_some_idx on fast (o.l[]) where o.c = 'a'",
];

fn world() -> World {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    database.create().unwrap();
    let session = database.session().unwrap();
    World { _folder: folder, database, session }
}

fn document(random: &mut Random, id: &str) -> Json {
    let mut document = json!({ "_id": id });
    let mut set = |name: &str, value: Json| document[name] = value;
    let text = |random: &mut Random| {
        (0..random.below(4)).map(|_| *random.one_of(&['a', 'b', 'ä', '%'])).collect::<String>()
    };
    if random.below(8) > 0 {
        set("n", random.below(40).into());
    }
    if random.below(8) > 0 {
        set("t", text(random).into());
    }
    if random.below(8) > 0 {
        set("b", random.once_in(2).into());
    }
    let fractions: [&str; 7] =
        ["0.5", "-0.0", "0.10000000000000000001", "0.1", "1e3", "1000.5", "7"];
    if random.below(8) > 0 {
        set("f", serde_json::from_str::<Json>(fractions[random.below(7)]).unwrap());
    }
    let mixed =
        [json!(1), json!("1"), json!("a"), json!(null), json!([1]), json!(true), json!(2.5)];
    set("m", random.one_of(&mixed).clone());
    set("u", id.into());
    if random.below(8) > 0 {
        let items = ["a", "b", "c", "d", "e", "f"];
        let list: Vec<Json> = (0..random.below(4))
            .map(|_| if random.once_in(9) { Json::Null } else { (*random.one_of(&items)).into() })
            .collect();
        set("l", list.into());
    }
    if random.below(8) > 0 {
        set("o", nested(random));
    }
    document
}

/// An object in which anything may be missing, null, or of another kind.
fn nested(random: &mut Random) -> Json {
    if random.once_in(20) {
        return json!(null);
    }
    let mut object = json!({});
    if random.below(8) > 0 {
        object["c"] = (*random.one_of(&["", "a", "ab", "b", "ä"])).into();
    }
    if random.below(8) > 0 {
        let x = if random.once_in(9) { Json::Null } else { random.below(40).into() };
        object["p"] = if random.once_in(9) { json!({}) } else { json!({ "x y": x }) };
    }
    if random.below(8) > 0 {
        let items = ["a", "b", "c"];
        let list = (0..random.below(3)).map(|_| (*random.one_of(&items)).into());
        object["l"] = list.collect::<Vec<Json>>().into();
    }
    object
}

fn change(world: &World, random: &mut Random) {
    let (plain, fast) =
        (world.database.collection("plain").unwrap(), world.database.collection("fast").unwrap());
    for _ in 0..random.below(60) {
        let id = format!("d{}", random.below(300));
        let value = document(random, &id);
        if random.once_in(5) {
            assert_eq!(plain.delete(&id).unwrap(), fast.delete(&id).unwrap());
        } else {
            assert_eq!(plain.put(&id, &value).unwrap(), fast.put(&id, &value).unwrap());
        }
    }
    if random.once_in(3) {
        let ids: Vec<String> = (0..200).map(|_| format!("d{}", random.below(300))).collect();
        let values: Vec<(&String, Json)> =
            ids.iter().map(|id| (id, document(random, id))).collect();
        for collection in [&plain, &fast] {
            collection.put_many(values.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
        }
    }
    match random.below(8) {
        0 => fast.flush().unwrap(),
        1 => drop(fast.compact(&mut |_, _| true).unwrap()),
        _ => {}
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.once_in(3) {
        let word = if random.once_in(3) { "or" } else { "and" };
        return format!(
            "({} {word} {})",
            condition(random, depth - 1),
            condition(random, depth - 1)
        );
    }
    let compared = |random: &mut Random| *random.one_of(&["=", "<", "<=", ">", ">=", "<>"]);
    let number = random.below(42);
    match random.below(20) {
        15..=19 => {
            let compared = compared(random);
            nested_condition(random, number, compared)
        }
        12 => {
            let item = random.one_of(&["a", "b", "c", "z"]);
            match random.below(4) {
                0 => format!("array_contains(l, '{item}')"),
                1 => format!("not '{item}' = any(l)"),
                2 => format!("l @> array['{item}', 'b']"),
                _ => format!("'{item}' = any(l)"),
            }
        }
        13 => format!("(n {} {number} and b)", compared(random)),
        14 => format!("(t >= 'a' and n >= {number} and f > 0.0)"),
        0 | 1 => format!("n {} {number}", compared(random)),
        2 => format!("n between {number} and {}", number + random.below(9)),
        3 => format!("n in ({number}, {}, 3)", random.below(42)),
        4 => format!("t {} '{}'", compared(random), random.one_of(&["", "a", "ab", "b", "ä"])),
        5 => format!("t like '{}'", random.one_of(&["a%", "ab%", "%b", "a_", "ä%"])),
        6 => format!("f {} {}", compared(random), random.one_of(&["0.1", "0.5", "0.0", "1000.0"])),
        7 => format!(
            "{} is {}null",
            random.one_of(&["n", "t", "f", "m"]),
            random.one_of(&["", "not "])
        ),
        8 => format!("b = {}", random.one_of(&["true", "false"])),
        9 => format!("u = 'd{}'", random.below(310)),
        10 => format!(
            "m {} '{}'::json",
            compared(random),
            random.one_of(&["1", "\"a\"", "true", "[1]"])
        ),
        _ => format!("f in (0.1, {})", random.one_of(&["0.5", "7.0"])),
    }
}

fn nested_condition(random: &mut Random, number: usize, compared: &str) -> String {
    let text = *random.one_of(&["", "a", "ab", "b", "ä"]);
    let x = "o.p.\"x y\"";
    match random.below(9) {
        0 => format!("o.c {compared} '{text}'"),
        1 => format!("o.c like '{}'", random.one_of(&["a%", "%b", "ä%"])),
        2 => format!("{x} {compared} {number}"),
        3 => format!("{x} between {number} and {}", number + 9),
        4 => format!("'{}' = any(o.l)", random.one_of(&["a", "b", "z"])),
        5 => "(o.c = 'a' and 'b' = any(o.l))".to_owned(),
        6 => format!("(o.c >= 'ab' and {x} > {number})"),
        7 => format!("(n = {number} and o.c {compared} '{text}')"),
        _ => format!("{} is {}null", random.one_of(&[x, "o.c", "o"]), random.one_of(&["", "not "])),
    }
}

fn statement(random: &mut Random) -> String {
    let filter = condition(random, 2);
    let filter = if random.once_in(4) { String::new() } else { format!(" where {filter}") };
    match random.below(8) {
        5 => format!("select count(*) from ${filter}"),
        6 | 7 => {
            // Fields of one index and nothing else: its keys may tell them.
            let low = random.below(42);
            let numbers = format!("between {low} and {}", low + random.below(9));
            match random.below(11) {
                8 => format!("select o.c from $ where o.c >= '{low}' order by o.c"),
                9 => format!("select n, o.c from $ where n {numbers} order by n, o.c desc"),
                10 => format!("select sum(o.p.\"x y\") from $ where o.p.\"x y\" {numbers}"),
                4 => format!(
                    "select n from $ where n {} {low} order by n",
                    *random.one_of(&["<", "<=", ">", ">="])
                ),
                5..=6 => ends(random),
                0 => format!("select n from $ where n {numbers} order by n"),
                1 => format!("select n, b from $ where b = true and n {numbers} order by n"),
                2 => "select f, t from $ where t = 'a' order by f".to_owned(),
                3 => "select f from $ where f between -1 and 0.5 order by f desc".to_owned(),
                _ => format!("select sum(n), count(n) from $ where n {numbers}"),
            }
        }
        0 => {
            let keys = [
                ["n", "n desc", "t", "t desc", "f", "m"],
                ["t, f desc", "b, n", "o.c", "o.c desc", "o.p.\"x y\" desc", "n, o.c desc"],
            ];
            let key = random.one_of(&keys).as_slice();
            let key = random.one_of(key);
            format!("select _id, {} from $ order by {key}, _id", key.replace(" desc", ""))
                .replace(" order", &format!("{filter} order"))
        }
        1 => {
            // Without a tie-breaker only the keys are determined.
            let key = random.one_of(&["n", "t", "f", "m", "o.c", "o.p.\"x y\""]);
            let order = random.one_of(&["", " desc"]);
            format!(
                "select {key} from ${filter} order by {key}{order} limit {}",
                1 + random.below(20)
            )
        }
        2 => format!(
            "select a._id, b._id from (select * from ${filter}) a join $ b on a.n = b.n \
             where a.u < 'd2' order by 1, 2"
        ),
        3 => format!("select count(*), sum(n), min(t), max(f) from ${filter}"),
        _ => format!("select * from ${filter} order by _id"),
    }
}

/// The least and the greatest value of a field, which an index may have at its ends.
fn ends(random: &mut Random) -> String {
    let wanted = |random: &mut Random| {
        let field = random.one_of(&["n", "n", "t", "f", "b", "u", "m", "o.c", "o.p.\"x y\""]);
        format!("{}({field})", random.one_of(&["min", "max"]))
    };
    let mut list = wanted(random);
    for _ in 0..random.below(3) {
        let next = if random.once_in(4) { "count(*)".to_owned() } else { wanted(random) };
        list = format!("{list}, {next}");
    }
    let number = random.below(42);
    let text = random.one_of(&["", "a", "ab", "ä", "z"]);
    let compared = *random.one_of(&["=", "<", "<=", ">", ">="]);
    let filter = match random.below(9) {
        0..=2 => String::new(),
        3 => format!(" where n {compared} {number}"),
        4 => format!(" where b = {} and n {compared} {number}", random.once_in(2)),
        5 => format!(" where t {compared} '{text}'"),
        6 => format!(" where b = {}", random.once_in(2)),
        7 => format!(" where n between {number} and {}", number + 9),
        _ => " where n >= 10 and f is not null".to_owned(),
    };
    format!("select {list} from ${filter}")
}

fn rows(session: &mut Session, text: &str) -> Result<String, String> {
    let answer = session.execute(text, &[]).map_err(|error| error.to_string())?;
    let mut rows = answer.rows.ok_or("no rows")?;
    let mut out = String::new();
    for row in rows.collect_rows().map_err(|error| error.to_string())? {
        out.push_str(&format!("{row:?}\n"));
    }
    Ok(out)
}

#[test]
fn statements_find_the_same_with_and_without_indexes() {
    let keys_alone = AtomicU64::new(0);
    let run = |seed: u64| -> Result<u64, String> {
        let mut world = world();
        let mut random = Random::new(seed);
        change(&world, &mut random);
        for name in ["plain", "fast"] {
            let collection = world.database.collection(name).map_err(|error| error.to_string())?;
            let all = json!({"n": 1, "t": "a", "b": true, "f": 0.5, "m": "a", "u": "first", "l": ["a"],
                    "o": {"c": "a", "p": {"x y": 1}, "l": ["a"]}});
            collection.put("first", &all).map_err(|error| error.to_string())?;
        }
        for text in INDEXES {
            world.session.execute(text, &[]).map_err(|error| format!("{text}: {error}"))?;
        }
        let (mut used, mut alone) = (0, 0);
        for _ in 0..6 {
            change(&world, &mut random);
            for _ in 0..12 {
                let text = statement(&mut random);
                let plain = rows(&mut world.session, &text.replace('$', "plain"));
                let fast = rows(&mut world.session, &text.replace('$', "fast"));
                if plain != fast && (plain.is_ok() || fast.is_ok()) {
                    return Err(format!("{text}: {plain:?} without indexes, {fast:?} with them"));
                }
                let plan = format!("explain {}", text.replace('$', "fast"));
                let plan = rows(&mut world.session, &plan)?;
                used += u64::from(plan.contains("_idx"));
                alone += u64::from(plan.contains("from the index alone"));
            }
        }
        keys_alone.fetch_add(alone, Ordering::Relaxed);
        Ok(used)
    };
    let used = seeds::run_seeds(seeds::seeds(12), run).unwrap_or_else(|text| panic!("{text}"));
    let alone = keys_alone.into_inner();
    println!("{used} statements used an index, {alone} of them nothing else");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || alone > 50, "{alone} read keys alone");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || used > 200, "{used} used an index");
}

fn plan(session: &mut Session, text: &str) -> String {
    rows(session, &format!("explain {text}")).unwrap()
}

#[test]
fn the_plan_names_the_index() {
    let mut world = world();
    let users = world.database.collection("users").unwrap();
    let documents: Vec<(String, Json)> = (0..3000)
        .map(|number| {
            let tags = json!([format!("t{}", number % 500), "all"]);
            let active = number % 2 == 0;
            let mail = format!("m{number}");
            let age = number % 90;
            (
                format!("u{number}"),
                json!({"mail": mail, "age": age, "tags": tags, "active": active}),
            )
        })
        .collect();
    users.put_many(documents.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
    let session = &mut world.session;
    session.execute("create unique index on users (mail)", &[]).unwrap();
    session.execute("create index by_age on users (age desc)", &[]).unwrap();
    session.execute("create table t (id int primary key, mail text)", &[]).unwrap();
    session.execute("insert into t values (1, 'm5'), (2, 'm77')", &[]).unwrap();
    for text in [
        "create index by_tag on users (tags[])",
        "create index by_age_and_tag on users (age, tags[])",
        "create index old on users (mail) where age >= 80",
        "create index named on users (age) where mail is not null and active = true",
        "create index by_activity on users (active, age desc)",
    ] {
        session.execute(text, &[]).unwrap();
    }
    for (text, index) in [
        ("select * from users where 't7' = any(tags)", "by_tag = 't7'"),
        ("select * from users where array_contains(tags, 't7')", "by_tag = 't7'"),
        ("select * from users where tags @> array['t7', 't8']", "by_tag = 't7'"),
        ("select * from users where tags && array['t7']", "by_tag = 't7'"),
        ("select * from users where age = 7 and 't7' = any(tags)", "by_age_and_tag"),
        ("select * from users where mail = 'm9' and age > 80", "old"),
        ("select * from users where mail = 'm9' and age in (80, 85)", "old"),
        ("select * from users where mail = 'm9' and age > 70", "users_mail_idx"),
        ("select * from users where age between 5 and 6 and active and mail like 'm%'", "named"),
        ("select * from users where age >= 80 order by mail limit 3", "old"),
        ("select t.id from t left join users u on u.mail = t.mail", "users_mail_idx"),
        (
            "select id from t where exists (select 1 from users u where u.mail = t.mail)",
            "users_mail_idx",
        ),
        (
            "select id from t where mail not in (select mail from users where mail = 'm7')",
            "users_mail_idx",
        ),
        ("select * from users where mail = 'm17'", "users_mail_idx"),
        ("select * from users where mail in ('m17', 'm1')", "users_mail_idx"),
        ("select * from users where mail like 'm12%'", "users_mail_idx"),
        ("select * from users where mail >= 'm2' and mail < 'm3'", "users_mail_idx"),
        ("select * from users order by mail limit 3", "users_mail_idx"),
        ("select * from users where age = 7", "by_age"),
        ("select * from users order by age desc limit 3", "by_age"),
        ("select t.id, u._id from t join users u on u.mail = t.mail", "users_mail_idx"),
        ("select * from users where mail is null", "users_mail_idx is null"),
        ("select * from users where age is null", "by_age is null"),
        ("select * from users where age = 7 and mail is null", "by_age"),
        ("select * from users where mail = 'm7' and age > 3", "users_mail_idx = 'm7'"),
        ("select * from users where active = true and age > 3 limit 3", "by_activity = true"),
    ] {
        let plan = plan(session, text);
        assert!(plan.contains(index), "{text}: {plan}");
    }
    for (text, index) in [
        ("GRAB users [mail] {mail = 'm9'}", "by index users_mail_idx = 'm9'"),
        (
            "GRAB users [mail] {mail > 'm2' AND mail <= 'm3'}",
            "by index users_mail_idx > 'm2', <= 'm3'",
        ),
        ("GRAB users [mail] {mail LIKE 'm12%'}", "by index users_mail_idx >= 'm12', < 'm13'"),
        ("GRAB users [mail] {mail IN ['m9', 'm10']}", "by keys of index users_mail_idx"),
        ("GRAB users [age] {age = 7}", "by index by_age = 7"),
        ("GRAB users [mail] {age = NONE}", "by index by_age is null"),
        ("GRAB users [3; mail] |ASC mail|", "by index users_mail_idx"),
        ("GRAB users [3; age] |DESC age|", "by index by_age"),
        ("GRAB users [3; mail] {mail > 'm2'} |ASC mail|", "by index users_mail_idx > 'm2'"),
    ] {
        let explained = session.ziql(&format!("EXPLAIN {text}"), &[]).unwrap().collect_rows();
        let plan = format!("{:?}", explained.unwrap());
        assert!(plan.contains(index), "{text}: {plan}");
        assert!(!text.contains("[3") || !plan.contains("sort"), "{text}: {plan}");
    }
    let joined = "select t.id, u._id from t join users u on u.mail = t.mail order by 1";
    assert_eq!(rows(session, joined).unwrap().lines().count(), 2);
    // Conditions of scans and updates are statements.
    let mut parameters = Parameters::default();
    parameters.push("m40".into(), None);
    let found = users.scan_where("mail = ?", &parameters, Scan::new());
    let found: HashSet<String> =
        found.unwrap().map(|found| found.unwrap().id().to_owned()).collect();
    assert_eq!(found, HashSet::from(["u40".to_owned()]));
    session.execute("drop index by_age", &[]).unwrap();
    assert!(!plan(session, "select * from users where age = 7").contains("by_age"));
    assert_eq!(users.indexes().unwrap().len(), 6);
}

/// The names under `meta/` of the files of indexes on fields.
fn index_files(database: &Path, collection: &str) -> Vec<String> {
    let meta = database.join("collections").join(collection).join("meta");
    let names = std::fs::read_dir(meta).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("folio.field-")).collect();
    names.sort_unstable();
    names
}

fn definitions(database: &Database, collection: &str) -> Vec<String> {
    let indexes = database.collection(collection).unwrap().indexes().unwrap();
    indexes.iter().map(|index| index.definition.to_string()).collect()
}

#[test]
fn definitions_survive_copies_of_the_database() {
    let mut world = world();
    let users = world.database.collection("users").unwrap();
    let documents: Vec<(String, Json)> = (0..6000)
        .map(|number| (format!("u{number}"), json!({"mail": number, "a b": {"C": number % 9}})))
        .collect();
    users.put_many(documents.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
    for text in [
        "create unique index \"By-Mail\" on users (mail desc)",
        "create index on users (\"a b\".\"C\", \"order\" desc)",
        "create index on users (tags[]) where mail >= 10 and \"It's\".x in (1, 'it''s') and not no",
        "create index on empty (n)",
    ] {
        world.database.collection("empty").unwrap().put("x", &json!({"n": 1})).unwrap();
        world.session.execute(text, &[]).unwrap();
        world.database.collection("empty").unwrap().clear().unwrap();
    }
    let expected = [definitions(&world.database, "users"), definitions(&world.database, "empty")];
    assert_eq!((expected[0].len(), expected[1].len()), (3, 1));
    users.set_open_paths(true).unwrap();
    let root = world.database.path().to_owned();
    assert_eq!(index_files(&root, "users").len(), 3, "{:?}", index_files(&root, "users"));

    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    let on = &mut |_, _| true;
    world.database.pack(place("a.zds"), &PackOptions::default(), on).unwrap();
    world.database.pack(place("z.zds"), &PackOptions { compress: true }, on).unwrap();
    Database::unpack(place("a.zds"), place("unpacked"), on).unwrap();
    world.database.backup(place("backup"), on).unwrap();
    for format in folio::dump::FORMATS {
        let (text, name) = (place(&format!("text-{}", format.name())), format.name());
        world.database.dump(&text, format, on).unwrap();
        assert!(text.join("indexes.sql").is_file());
        let files = std::fs::read_dir(text.join("collections")).unwrap().count();
        assert_eq!(files, 2, "a dump has documents only");
        Database::restore(&text, place(name), on).unwrap();
    }
    for name in ["a.zds", "z.zds", "unpacked", "backup", "jsonl", "ion", "csv"] {
        let copy = Database::open(place(name)).unwrap();
        let found = [definitions(&copy, "users"), definitions(&copy, "empty")];
        assert_eq!(found, expected, "{name}");
        let open = ["users", "empty"].map(|name| copy.collection(name).unwrap().has_open_paths());
        assert!(matches!(open, [Ok(true), Ok(false)]), "{name}");
        let mut session = copy.session().unwrap();
        let text = "select count(*) from users where mail = 17";
        assert_eq!(rows(&mut session, text).unwrap(), "[Integer(1)]\n", "{name}");
        assert!(plan(&mut session, text).contains("By-Mail"), "{name}");
        if name.ends_with(".zds") {
            continue;
        }
        assert_eq!(index_files(&place(name), "users").len(), 3, "{name}");
        let taken = copy.collection("users").unwrap().put("new", &json!({"mail": 17}));
        assert_eq!(taken.unwrap_err().code(), ErrorCode::Conflict, "{name}");
        let empty = copy.collection("users").unwrap().check_index("users_tags_idx").unwrap();
        assert_eq!((empty.entry_count, empty.problems.len()), (0, 0), "{name}");
        for index in ["By-Mail", "users_a_b_C_order_idx"] {
            let check = copy.collection("users").unwrap().check_index(index).unwrap();
            assert_eq!((check.entry_count, check.problems.len()), (6000, 0), "{name}");
        }
        copy.close().unwrap();
    }

    let mut session = world.database.session().unwrap();
    world.database.rename_collection("users", "people").unwrap();
    assert_eq!(definitions(&world.database, "people"), expected[0]);
    assert_eq!(index_files(&root, "people").len(), 3);
    let text = session.definition("people").unwrap();
    let expected = "ALTER TABLE people SET (open = true);\n\
                    CREATE UNIQUE INDEX \"By-Mail\" ON people (mail DESC);\n";
    assert!(text.starts_with(expected), "{text}");
    world.database.drop_collection("people").unwrap();
    assert!(!root.join("collections").join("people").exists());
}

#[test]
fn damage_is_found_and_mended() {
    let world = world();
    let users = world.database.collection("users").unwrap();
    let documents: Vec<(String, Json)> =
        (0..6000).map(|number| (format!("u{number}"), json!({"n": number}))).collect();
    users.put_many(documents.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
    users.create_index(&["n"], &IndexOptions::default(), &mut |_, _| true).unwrap();
    world.database.close().unwrap();
    let root = world.database.path();
    let name = index_files(root, "users").pop().unwrap();
    let path = root.join("collections/users/meta").join(&name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&path, bytes).unwrap();

    let database = Database::open(root).unwrap();
    let users = database.collection("users").unwrap();
    let report = users.check(&mut |_, _| true).unwrap();
    assert!(report.problems[0].contains("is damaged; run `folio reindex`"), "{report:?}");
    users.reindex(&mut |_, _| true).unwrap();
    assert!(users.check(&mut |_, _| true).unwrap().is_clean());
    assert!(users.check_index("users_n_idx").unwrap().problems.is_empty());
    assert_eq!(index_files(root, "users").len(), 1);
}

/// Two documents with the same values in a unique index, by hand: a statement finds both, once each.
#[test]
fn a_unique_index_that_is_not_unique_gives_no_other_answers() {
    let mut world = world();
    let users = world.database.collection("users").unwrap();
    for (id, mail) in [("a", "x"), ("b", "y"), ("c", "z")] {
        users.put(id, &json!({ "mail": mail })).unwrap();
    }
    world.session.execute("create unique index on users (mail)", &[]).unwrap();
    users.flush().unwrap();
    let path = world.database.path().join("collections/users/meta/data.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"y\"", "\"x\"")).unwrap();
    world.session.execute("create table t (mail text)", &[]).unwrap();
    world.session.execute("insert into t values ('x'), ('z'), ('w')", &[]).unwrap();
    for (text, expected) in [
        ("select mail from t where mail in (select mail from users)", 2),
        ("select mail from t where exists (select 1 from users u where u.mail = t.mail)", 2),
        ("select t.mail from t join users u on u.mail = t.mail", 3),
        ("select t.mail from t left join users u on u.mail = t.mail", 4),
        ("select _id from users where mail = 'x'", 2),
        ("select distinct mail from users", 2),
        ("select mail from users group by mail", 2),
    ] {
        assert_eq!(rows(&mut world.session, text).unwrap().lines().count(), expected, "{text}");
    }
    for (mail, expected) in [("x", 2), ("z", 1), ("y", 0)] {
        let mut parameters = Parameters::default();
        parameters.push(Value::Text(mail.into()), None);
        for _ in 0..2 {
            let found = users.scan_where("mail = ?", &parameters, Scan::new()).unwrap();
            assert_eq!(found.count(), expected, "{mail}");
        }
    }
}

/// A lookup by a field caches the line that it reads. A later put, flushed or not, takes its place.
#[test]
fn what_a_lookup_has_cached_is_replaced_by_a_put() {
    let mut world = world();
    let users = world.database.collection("users").unwrap();
    users.put("other", &json!({ "mail": "o", "n": 0 })).unwrap();
    world.session.execute("create unique index on users (mail)", &[]).unwrap();
    let of_mail = |mail: &str| {
        let mut parameters = Parameters::default();
        parameters.push(Value::Text(mail.into()), None);
        let found = users.scan_where("mail = ?", &parameters, Scan::new()).unwrap();
        let number = |found: Document| found.field("n").unwrap().unwrap();
        found.map(|found| number(found.unwrap())).collect::<Vec<Json>>()
    };
    for n in 1..8 {
        users.put("a", &json!({ "mail": "x", "n": n })).unwrap();
        if n % 2 == 0 {
            users.flush().unwrap();
        }
        for _ in 0..2 {
            assert_eq!(of_mail("x"), [json!(n)]);
            let document = users.get("a").unwrap().unwrap();
            assert_eq!(document.field("n").unwrap().unwrap(), json!(n));
        }
    }
    users.put("a", &json!({ "mail": "y", "n": 9 })).unwrap();
    assert_eq!((of_mail("x"), of_mail("y")), (vec![], vec![json!(9)]));
    users.delete("a").unwrap();
    assert_eq!((of_mail("y"), users.exists("a").unwrap()), (vec![], false));
}

/// A condition that one document can meet is answered with its line, not with its id.
#[test]
fn one_document_is_given_as_a_scan_gives_it() {
    let mut world = world();
    let users = world.database.collection("users").unwrap();
    let long = "x".repeat(600);
    let documents = [
        ("a", json!({ "mail": "x", "n": 1 })),
        ("b", json!({ "mail": long, "n": 2 })),
        ("c", json!({ "mail": "d", "n": 3, "_doc": "a text" })),
        ("d", json!({ "mail": "y", "n": 4, "_doc": { "n": 5 } })),
    ];
    for (count, (id, document)) in (1..).zip(&documents) {
        users.put(id, document).unwrap();
        if count == 1 {
            world.session.execute("create unique index on users (mail)", &[]).unwrap();
        }
        for (id, document) in &documents[..count] {
            for (condition, value) in [("mail = ?", &document["mail"]), ("_id = ?", &json!(id))] {
                let mut parameters = Parameters::default();
                parameters.push(Value::Text(value.as_str().unwrap().into()), None);
                let ask = |scan: Scan| -> Vec<String> {
                    let found = users.scan_where(condition, &parameters, scan).unwrap();
                    found.map(|document| document.unwrap().raw().to_owned()).collect()
                };
                let about = format!("{id} of {count}, {condition}");
                let line = users.get(id).unwrap().unwrap().raw().to_owned();
                // Compiled at first, known from then on.
                (0..2).for_each(|_| assert_eq!(ask(Scan::new()), [&*line], "{about}"));
                let narrowed = format!(r#"{{"_id":"{id}","n":{}}}"#, document["n"]);
                assert_eq!(ask(Scan::new().fields(["n"])), [narrowed], "{about}");
                assert_eq!(ask(Scan::new().limit(0)), [""; 0], "{about}");
                assert_eq!(ask(Scan::new().filter(|_| false)), [""; 0], "{about}");
                let count = users.update(condition, &parameters, &json!({ "new": count })).unwrap();
                assert_eq!(count, 1, "{about}");
                assert!(users.get(id).unwrap().unwrap().raw().contains("\"new\""), "{about}");
            }
        }
    }
    let mut nobody = Parameters::default();
    nobody.push(Value::Text("nobody".into()), None);
    for condition in ["mail = ?", "_id = ?"] {
        assert_eq!(users.scan_where(condition, &nobody, Scan::new()).unwrap().count(), 0);
    }
}

/// A number has a type of its own, text takes that of the column.
#[test]
fn a_parameter_of_a_condition_needs_no_type() {
    let world = world();
    let users = world.database.collection("users").unwrap();
    users.put("a", &json!({ "n": 1, "t": "1" })).unwrap();
    for (condition, value) in [
        ("n = ?", Value::Integer(1)),
        ("n = ?", Value::Text("1".into())),
        ("t = ?", Value::Text("1".into())),
    ] {
        let mut parameters = Parameters::default();
        parameters.push(value, None);
        assert_eq!(users.scan_where(condition, &parameters, Scan::new()).unwrap().count(), 1);
    }
}

/// 24 MB of documents, which are read in several steps.
fn large() -> World {
    let world = world();
    let docs = world.database.collection("docs").unwrap();
    let text = "x".repeat(1_000);
    let mut batch = docs.batch().unwrap();
    for n in 0..24_000 {
        let document =
            json!({"n": n % 1_000, "u": n, "o": {"c": format!("c{}", n % 50)}, "text": text});
        batch.put(&format!("d{n}"), &document).unwrap();
    }
    batch.commit().unwrap();
    world
}

#[test]
fn a_build_is_cancelled_within_megabytes_and_leaves_nothing() {
    let world = large();
    let docs = world.database.collection("docs").unwrap();
    let options = IndexOptions::default();
    let mut all = Vec::new();
    for count in 1.. {
        let mut steps = Vec::new();
        let mut progress = |done, total| {
            steps.push((done, total));
            steps.len() < count
        };
        let Err(error) = docs.create_index(&["n", "o.c desc"], &options, &mut progress) else {
            break;
        };
        assert_eq!(error.code(), ErrorCode::Cancelled, "{error}");
        assert!(docs.indexes().unwrap().is_empty());
        let is_whole = steps.last().is_some_and(|(done, total)| done == total);
        all.clone_from(&steps);
        let left = index_files(world.database.path(), "docs");
        assert!(is_whole || left.is_empty(), "step {count}: {left:?}");
        // The collection takes writes, and statements have their answers.
        docs.put("more", &json!({"n": count, "u": 0, "o": {"c": ""}})).unwrap();
        let mut session = world.database.session().unwrap();
        let found = rows(&mut session, "select count(*) from docs where n = 7").unwrap();
        assert_eq!(found, format!("[Integer({})]\n", if count == 7 { 25 } else { 24 }));
    }
    let (last, rest) = all.split_last().unwrap();
    assert!(rest.len() >= 3, "a report after a few megabytes: {all:?}");
    assert_eq!(last.0, last.1);
    let threads = std::thread::available_parallelism().unwrap().get().min(8) as u64;
    let longest = all.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
    assert!(longest <= threads * (5 << 20), "{longest} bytes without a report: {all:?}");
    assert!(docs.check_index("docs_n_o_c_idx").unwrap().problems.is_empty());
}

/// A reader that had to wait for the build would wait for ever: the build waits for the reader.
#[test]
fn readers_do_not_wait_for_a_build() {
    let world = large();
    let path = world.database.path().to_owned();
    let docs = world.database.collection("docs").unwrap();
    docs.create_index(&["o.c"], &IndexOptions::default(), &mut |_, _| true).unwrap();
    let reads = |database: &Database, name: &str| {
        let docs = database.collection("docs").unwrap();
        assert_eq!(
            docs.get("d7").unwrap().unwrap().field("u").unwrap().unwrap(),
            json!(7),
            "{name}"
        );
        assert_eq!(docs.count().unwrap(), 24_000, "{name}");
        assert_eq!(docs.scan(Scan::new()).unwrap().count(), 24_000, "{name}");
        assert_eq!(docs.types().unwrap().document_count(), 24_000, "{name}");
        assert_eq!(docs.indexes().unwrap().len(), 1, "{name}");
        let mut session = database.session().unwrap();
        for (text, expected) in [
            ("select count(*) from docs where n = 7", 24),
            ("select count(*) from docs where o.c = 'c7'", 480),
            ("select count(*) from docs where u = 7", 1),
        ] {
            let found = rows(&mut session, text).unwrap();
            assert_eq!(found, format!("[Integer({expected})]\n"), "{name}: {text}");
        }
    };
    let mut beside = 0;
    let mut progress = |_, _| {
        if beside < 2 {
            let (sender, answers) = std::sync::mpsc::channel();
            let (same, path) = (world.database.clone(), path.clone());
            std::thread::spawn(move || {
                reads(&same, "the same handle");
                reads(&Database::open_with(&path, &OpenOptions::read_only()).unwrap(), "another");
                sender.send(()).unwrap();
            });
            let answered = answers.recv_timeout(std::time::Duration::from_secs(60));
            assert!(answered.is_ok(), "the readers wait, or have failed: {answered:?}");
            beside += 1;
        }
        true
    };
    docs.create_index(&["n"], &IndexOptions::default(), &mut progress).unwrap();
    assert_eq!(beside, 2);
    assert!(docs.check_index("docs_n_idx").unwrap().problems.is_empty());
}
