//! Links given by a condition. Those of small tables, and of few index entries, are found without
//! operators. Either way the same links are found.

use folio::{Database, Session};

/// Users of a table: few, and more than a few pages hold.
const COUNTS: [usize; 2] = [9, 3_000];

fn session(folder: &std::path::Path, count: usize) -> Session {
    let database = Database::open(folder.join(count.to_string())).unwrap();
    let mut session = database.session().unwrap();
    let schema = "User ( name: str, age: int? index, at: int, friends: []User )
                  Post ( writer: User? )";
    session.apply_schema(schema, false).unwrap();
    for index in 0..count {
        let age = if index % 3 == 0 { "none".to_owned() } else { (index % 7).to_string() };
        let text = format!("ADD User (name = 'user {index}', age = {age}, at = {index})");
        session.ziql(&text, &[]).unwrap();
    }
    session
}

/// The names that a condition finds, by a full scan and as a given link.
fn compare(session: &mut Session, limit: &str, filter: &str) {
    let all = match limit {
        "" => format!("GRAB User [name] {filter}"),
        limit => format!("GRAB User [{limit}; name] {filter}"),
    };
    let condition = match limit {
        "" => filter.to_owned(),
        limit => format!("[{limit}]{filter}"),
    };
    let expected = session.ziql(&all, &[]).unwrap().to_json().unwrap();
    session.ziql(&format!("ADD User (name = 'new', at = -1, friends = {condition})"), &[]).unwrap();
    let read = "GRAB User [friends [name]] {name = 'new'}";
    let found = session.ziql(read, &[]).unwrap().to_json().unwrap();
    assert_eq!(found, format!(r#"[{{"friends":{expected}}}]"#), "{condition}");
    session.ziql("DELETE User {name = 'new'}", &[]).unwrap();

    let count = expected.matches("name").count();
    let added = session.ziql(&format!("ADD Post (writer = {condition})"), &[]);
    match (added, count) {
        (Ok(_), count) => assert_eq!(count, 1, "{condition}"),
        (Err(error), 0) => assert!(error.to_string().contains("no `User` meets"), "{error}"),
        (Err(error), count) => {
            let reported = format!("{count} entities of `User` meet the condition");
            assert!(error.to_string().contains(&reported), "{condition}: {error}");
        }
    }
}

#[test]
fn a_condition_gives_what_it_finds_in_tables_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    for count in COUNTS {
        let mut session = session(folder.path(), count);
        let last = count - 1;
        let of_last = format!("{{name = 'user {last}'}}");
        for (limit, filter) in [
            ("", "{}"),
            ("", "{name = 'user 4'}"),
            ("", &of_last),
            ("", "{name = 'nobody'}"),
            ("", "{name != 'user 4'}"),
            ("", "{age = 4}"),
            ("", "{age = 9}"),
            ("", "{age = none}"),
            ("", "{age >= 5 AND at < 8}"),
            ("", "{age = 4 OR at = 3}"),
            ("", "{at >= 2 AND at <= 2}"),
            ("2", "{at > 1}"),
            ("1", "{age = 2}"),
            ("0", "{age = 2}"),
        ] {
            for transaction in ["", "BEGIN", "COMMIT"] {
                match transaction {
                    "" => {}
                    word => drop(session.execute(word, &[]).unwrap()),
                }
                compare(&mut session, limit, filter);
            }
        }
    }
}
