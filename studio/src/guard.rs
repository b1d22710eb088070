//! Who is answered: the pages of this studio, opened by whoever saw the address.
//!
//! Other programs and pages of the machine can reach the port too. The token in the path keeps out
//! whoever did not see it; `Host` a foreign name that resolves to this machine (DNS rebinding), which
//! is one that the certificate is not for where there is one;
//! `Origin` and `Sec-Fetch-Site` a page of another site that makes the browser ask (CSRF).

use crate::http::{Request, Response};
use crate::listen::Names;
use crate::shared::Shared;

/// Why a request is not answered, if it is not.
pub(crate) fn refusal(request: &Request, shared: &Shared) -> Option<Response> {
    let refused = |text| Some(Response::refused(403, text));
    let host = request.header("host").unwrap_or("");
    if !shared.names.contains(host) {
        return refused(match shared.names {
            Names::Local(_) => "the studio answers on 127.0.0.1 and localhost only",
            Names::Proven(_) => "the studio answers under the names of its certificate only",
        });
    }
    let own = format!("{}://{host}", shared.names.scheme());
    if request.header("origin").is_some_and(|origin| origin != own) {
        return refused("the studio answers its own pages only");
    }
    let site = request.header("sec-fetch-site").unwrap_or("none");
    // A link in a mail or a notebook opens the first page, and nothing else.
    let is_visit = request.header("sec-fetch-mode") == Some("navigate") && request.method == "GET";
    if !matches!(site, "same-origin" | "none") && !is_visit {
        return refused("the studio answers its own pages only");
    }
    if !shared.token.is(token(&request.path)) {
        return refused("open the address that `folio studio` printed, with its token");
    }
    None
}

/// The first part of a path.
fn token(path: &str) -> &str {
    path.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or("")
}
