//! What is asked for, by path and method.

use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::http::{Request, Response};
use crate::shared::Shared;
use crate::{ask, assets, document, facet, overview, schema, statements, upload, window};

/// Answers a request that the guard has let in; nothing if there is nobody to answer.
pub(crate) fn answer(
    request: &Request,
    connection: &Connection,
    shared: &Shared,
) -> Option<Response> {
    let Some(name) = request.path.get(shared.token.as_str().len() + 2..) else {
        // Without its last slash, the page would look for its files beside it.
        return Some(Response::moved(format!("{}/", request.path)));
    };
    match (request.method.as_str(), name.strip_prefix("api/")) {
        ("GET", None) => Some(assets::file(name).unwrap_or_else(nothing)),
        ("POST", Some("file")) => Some(upload::take(request, connection, shared)),
        ("POST", Some(action)) => match request.body(connection) {
            Ok(body) => Some(act(action, &body, connection, shared)),
            Err(refusal) => refusal,
        },
        _ => Some(nothing()),
    }
}

fn act(action: &str, body: &[u8], connection: &Connection, shared: &Shared) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(body) else {
        return Response::refused(400, "a page asks in JSON");
    };
    let answered = match action {
        "overview" => overview::overview(connection, shared),
        "names" => overview::names(shared),
        "pulse" => overview::pulse(connection, shared),
        "window" => window::window(&asked, connection, shared),
        "first" => window::first(&asked, shared),
        "order" => window::order(&asked, connection, shared),
        "facet" => facet::facet(&asked, connection, shared),
        "histogram" => facet::histogram(&asked, connection, shared),
        "fields" => schema::fields(&asked, connection, shared),
        "schema" => schema::schema(connection, shared),
        "document" => document::document(&asked, connection, shared),
        "history" => document::history(&asked, connection, shared),
        "put" => document::put(&asked, shared),
        "preview" => upload::preview(&asked, connection, shared),
        "import" => upload::import(&asked, connection, shared),
        "progress" => upload::progress(&asked, shared),
        "unload" => upload::forget(&asked, shared),
        "saved" => statements::saved(shared),
        "save" => statements::save(&asked, shared),
        "forget" => statements::forget(&asked, shared),
        "ask" => ask::ask(&asked, connection, shared),
        "stop" => {
            shared.is_ended.store(true, Ordering::Release);
            Ok("{}".to_owned())
        }
        _ => return nothing(),
    };
    Response::json(answered.unwrap_or_else(|failure: Failure| failure.to_json()))
}

fn nothing() -> Response {
    Response::refused(404, "there is nothing here")
}
