//! Runs `conformance/ziql` through the library, and generated statements.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../../conformance/ziql/script.rs"]
mod script;

mod depth;
mod equivalents;
mod generated;
mod given;
mod model;
mod remembered;
mod rules;

use folio::{Database, Level, Rows, Session, Value};
use script::{Answer, Answered, Ask, Surface};
use tempfile::TempDir;

struct Library {
    session: Session,
    _folder: TempDir,
}

impl Library {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("data")).unwrap();
        Self { session: database.session().unwrap(), _folder: folder }
    }
}

impl Library {
    /// A plan without any rewriting gives the same result.
    fn check_plain_plan(&mut self, text: &str, values: &[(&str, Value)], answer: &Answered) {
        let Answered::Rows(expected, _) = answer else { return };
        self.session.set_level(Level::None);
        let plain = self.session.ziql(text, values).unwrap().to_json().unwrap();
        self.session.set_level(Level::Full);
        assert_eq!(plain, *expected, "{text}");
    }
}

impl Surface for Library {
    fn ask(&mut self, ask: &Ask) -> Answer {
        let reported = |error: folio::Error| error.to_string();
        match ask {
            Ask::Schema { text, allow_drop } => {
                self.session.apply_schema(text, *allow_drop).map(Answered::Lines).map_err(reported)
            }
            Ask::Show => {
                let text = self.session.schema().map_err(reported)?;
                Ok(Answered::Lines(text.lines().map(str::to_owned).collect()))
            }
            Ask::Ziql { text, parameters } => {
                let values = parameters.iter().map(|(name, json)| (name.as_str(), value(json)));
                let values: Vec<_> = values.collect();
                let answer = answered(self.session.ziql(text, &values).map_err(reported)?)?;
                let changes = ["ADD", "UPDATE", "DELETE", "EXPLAIN"];
                let upper = text.to_uppercase();
                if !changes.iter().any(|verb| upper.contains(verb)) {
                    self.check_plain_plan(text, &values, &answer);
                }
                Ok(answer)
            }
            Ask::Sql(text) => {
                let answer = self.session.execute(text, &[]).map_err(reported)?;
                match answer.rows {
                    Some(rows) => answered(rows),
                    None => Ok(Answered::Lines(Vec::new())),
                }
            }
        }
    }
}

fn answered(mut rows: Rows) -> Answer {
    let json = rows.to_json().map_err(|error| folio::Error::from(error).to_string())?;
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("answers are JSON");
    Ok(Answered::Rows(json, parsed.as_array().map_or(0, Vec::len)))
}

/// A value from JSON.
fn value(json: &str) -> Value {
    fn of(json: &serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match json {
            Json::Bool(value) => Value::Boolean(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Value::Integer(value),
                None => Value::Float(number.as_f64().unwrap()),
            },
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(of).collect()),
            _ => Value::Null,
        }
    }
    of(&serde_json::from_str(json).expect("a parameter is JSON"))
}

#[test]
fn conformance() {
    script::run(Library::new);
}

/// Python and Node refuse such a list before it gets here.
#[test]
fn a_list_of_several_types_is_no_parameter() {
    let mut library = Library::new();
    library.session.apply_schema("User ( age: int )", false).unwrap();
    let list = value("[1, \"a\"]");
    let refused = library.session.ziql("GRAB User {age IN $l}", &[("l", list)]);
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.starts_with("parameter `$l` is a list of mixed types"), "{error}");
    assert!(error.contains("GRAB User {age IN $l}\n"), "{error}");
}
