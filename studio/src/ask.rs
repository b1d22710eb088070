//! A statement in SQL or ZiQL: one that somebody typed and runs, or one that came with an address, as
//! by a reload or a link. An address runs only what reads; a change waits until somebody runs it.

use std::time::Instant;

use folio::{Answer, ErrorCode, Parameters};
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
    let is_pressed = asked.get("is_pressed").and_then(Value::as_bool).unwrap_or(false);
    if !is_pressed {
        guarded.session.refuse_changes();
    }
    let answer = match text(asked, "language")? {
        "sql" => guarded.session.sql_alone(statement, &Parameters::default()),
        "ziql" => {
            let rows = guarded.session.ziql(statement, &[]);
            rows.map(|rows| Answer { rows: Some(rows), count: None })
        }
        _ => return Err(Failure::Asked("the languages are sql and ziql")),
    };
    let Answer { rows, count } = match answer {
        Err(error)
            if !is_pressed
                && error.code() == ErrorCode::ReadOnly
                && shared.database.is_writable() =>
        {
            return Ok(
                json!({"count": null, "waits": true, "ms": rows::elapsed(start)}).to_string()
            );
        }
        answer => answer?,
    };
    match rows {
        Some(mut rows) => rows::write(&mut rows, json!({"count": count}), start, &shared.limits),
        None => Ok(json!({"count": count, "ms": rows::elapsed(start)}).to_string()),
    }
}
