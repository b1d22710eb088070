//! What is asked for, by path and method.

use std::net::TcpStream;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::failure::Failure;
use crate::http::{Request, Response};
use crate::shared::Shared;
use crate::{ask, assets, document, overview, window};

/// Answers a request that the guard has let in.
pub(crate) fn answer(request: &Request, connection: &TcpStream, shared: &Shared) -> Response {
    let name = request.path.get(shared.token.len() + 2..).unwrap_or("");
    match (request.method.as_str(), name.strip_prefix("api/")) {
        ("GET", None) => assets::file(name).unwrap_or_else(nothing),
        ("POST", Some(action)) => act(action, request, connection, shared),
        _ => nothing(),
    }
}

fn act(action: &str, request: &Request, connection: &TcpStream, shared: &Shared) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(&request.body) else {
        return Response::refused(400, "a page asks in JSON");
    };
    let answered = match action {
        "overview" => overview::overview(shared),
        "window" => window::window(&asked, connection, shared),
        "document" => document::document(&asked, shared),
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
