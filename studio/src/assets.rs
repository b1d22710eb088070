//! The files of the pages, which the program contains. `scripts/studio build` makes them.

use crate::http::Response;

const PAGE: &[u8] = include_bytes!("../assets/index.html");
const SCRIPT: &[u8] = include_bytes!("../assets/studio.js");
const STYLE: &[u8] = include_bytes!("../assets/studio.css");

/// The file of a name.
pub(crate) fn file(name: &str) -> Option<Response> {
    let (kind, bytes) = match name {
        "" => ("text/html; charset=utf-8", PAGE),
        "studio.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "studio.css" => ("text/css; charset=utf-8", STYLE),
        _ => return None,
    };
    Some(Response::found(kind, bytes.to_vec()))
}
