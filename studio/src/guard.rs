//! Who is answered: the pages of this studio, opened by whoever saw the address.
//!
//! Other programs and pages of the machine can reach the port too. The token in the path keeps out
//! whoever did not see it; `Host` a foreign name that resolves to this machine (DNS rebinding);
//! `Origin` and `Sec-Fetch-Site` a page of another site that makes the browser ask (CSRF).

use crate::http::{Request, Response};
use crate::shared::Shared;

/// Why a request is not answered, if it is not.
pub(crate) fn refusal(request: &Request, shared: &Shared) -> Option<Response> {
    let refused = |text| Some(Response::refused(403, text));
    let host = request.header("host").unwrap_or("");
    if !is_own_host(host, shared.port) {
        return refused("the studio answers on 127.0.0.1 and localhost only");
    }
    if request.header("origin").is_some_and(|origin| origin != format!("http://{host}")) {
        return refused("the studio answers its own pages only");
    }
    let site = request.header("sec-fetch-site").unwrap_or("none");
    // A link in a mail or a notebook opens the first page, and nothing else.
    let is_visit = request.header("sec-fetch-mode") == Some("navigate") && request.method == "GET";
    if !matches!(site, "same-origin" | "none") && !is_visit {
        return refused("the studio answers its own pages only");
    }
    if !is_equal(token(&request.path), &shared.token) {
        return refused("open the address that `folio studio` printed, with its token");
    }
    None
}

/// The first part of a path.
fn token(path: &str) -> &str {
    path.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or("")
}

fn is_own_host(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{port}"))
}

/// Takes as long wherever the first difference is.
fn is_equal(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}
