//! Repeated statements, whose plans the session caches.

use folio::{Database, Session, Value};

fn json(session: &mut Session, text: &str, values: &[(&str, Value)]) -> String {
    session.ziql(text, values).unwrap().to_json().unwrap()
}

const ADD: &str = "ADD User (name = $name, age = $age)";
const UPDATE: &str = "UPDATE User {name = $name} TO (age = $age)";

fn user(name: &str, age: Value) -> [(&'static str, Value); 2] {
    [("name", Value::Text(name.to_owned())), ("age", age)]
}

#[test]
fn changes_run_again_with_other_values() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let mut session = database.session().unwrap();
    session.apply_schema("User ( name: str unique, age: int? )", false).unwrap();
    for (name, age) in [("Ada", 36), ("Bob", 41), ("Eve", 29)] {
        json(&mut session, ADD, &user(name, Value::Integer(age)));
    }
    // Another type, and one that is refused, which changes nothing.
    json(&mut session, ADD, &user("Nil", Value::Null));
    let twin = session.ziql(ADD, &user("Ada", Value::Integer(1))).err().unwrap();
    assert!(twin.to_string().contains("name"), "{twin}");
    json(&mut session, ADD, &user("Zoe", Value::Integer(18)));
    for (name, age) in [("Bob", 42), ("Zoe", 19), ("nobody", 0)] {
        json(&mut session, UPDATE, &user(name, Value::Integer(age)));
    }
    let deleted = "DELETE User {name = $name}";
    json(&mut session, deleted, &user("Eve", Value::Null)[..1]);
    json(&mut session, deleted, &user("Eve", Value::Null)[..1]);
    let left = json(&mut session, "GRAB User [name, age] {} |ASC name|", &[]);
    let expected = r#"[{"name":"Ada","age":36},{"name":"Bob","age":42},{"name":"Nil","age":null},{"name":"Zoe","age":19}]"#;
    assert_eq!(left, expected);
}

#[test]
fn a_schema_changed_meanwhile_holds() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let (mut session, mut other) = (database.session().unwrap(), database.session().unwrap());
    session.apply_schema("User ( name: str, age: int )", false).unwrap();
    json(&mut session, ADD, &user("Ada", Value::Integer(36)));
    json(&mut session, UPDATE, &user("Ada", Value::Integer(37)));
    other.apply_schema("User ( name: str, age: int, rank: int = 7 )", false).unwrap();
    json(&mut session, ADD, &user("Bob", Value::Integer(41)));
    json(&mut session, UPDATE, &user("Bob", Value::Integer(42)));
    let all = json(&mut session, "GRAB User [name, age, rank] {} |ASC name|", &[]);
    let expected = r#"[{"name":"Ada","age":37,"rank":7},{"name":"Bob","age":42,"rank":7}]"#;
    assert_eq!(all, expected);
    // Without the member the statement names, it is refused as if it were new.
    other.apply_schema("User ( name: str, rank: int = 7 )", true).unwrap();
    let refused = session.ziql(ADD, &user("Eve", Value::Integer(29))).err().unwrap();
    assert!(refused.to_string().contains("age"), "{refused}");
}
