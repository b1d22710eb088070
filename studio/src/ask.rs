//! A statement that somebody typed, in SQL or ZiQL.

use std::time::Instant;

use folio::Parameters;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::{Failure, text};
use crate::rows::{self, Guarded};
use crate::shared::Shared;

pub(crate) fn ask(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let statement = text(asked, "text")?;
    let start = Instant::now();
    let mut guarded = Guarded::new(connection, shared)?;
    let (rows, count) = match text(asked, "language")? {
        "sql" => {
            let answer = guarded.session.sql(statement, &Parameters::default())?;
            (answer.rows, answer.count)
        }
        "ziql" => (Some(guarded.session.ziql(statement, &[])?), None),
        _ => return Err(Failure::Asked("the languages are sql and ziql")),
    };
    match rows {
        Some(mut rows) => rows::write(&mut rows, count, start, &shared.limits),
        None => Ok(json!({"count": count, "ms": rows::elapsed(start)}).to_string()),
    }
}
