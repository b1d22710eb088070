//! Why an attempt to ask a server failed: what passes, what lasts, and what to say of it.

use std::fmt;
use std::io::{self, ErrorKind};

use folio_file::RemoteError;
use serde_json::Value;
use ureq::http::{HeaderMap, Response, StatusCode, header};

use crate::encoding::elements;

/// Where S3 says the region of a bucket that another one was asked for.
const BUCKET_REGION: header::HeaderName = header::HeaderName::from_static("x-amz-bucket-region");

/// Why an attempt failed.
pub(crate) enum Fault {
    /// It may succeed if it is repeated.
    Passing(ErrorKind, String),
    Lasting(io::Error),
}

impl Fault {
    /// The same, where a token was asked for. A server of tokens that is not there, or refuses, says
    /// nothing of the file or the bucket.
    pub(crate) fn of_tokens(self) -> Self {
        let told = |what: &dyn fmt::Display| format!("no token for the service account: {what}");
        match self {
            Self::Passing(kind, reason) => Self::Passing(kind, told(&reason)),
            Self::Lasting(error) => {
                let kind = match error.kind() {
                    ErrorKind::NotFound | ErrorKind::Other => ErrorKind::NotConnected,
                    kind => kind,
                };
                Self::Lasting(RemoteError::io(kind, told(&error)))
            }
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Lasting(error)
    }
}

/// The name of the error in an answer: a bucket may say only there that a request has failed.
pub(crate) fn error_code(text: &str) -> Option<&str> {
    let (_, error) = text.split_once("<Error>")?;
    let code = elements(error, "Code").next()?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(code)
}

/// What the status of an answer to a change means, and the name of its error.
pub(crate) fn refused_change<T>(response: &Response<T>, code: Option<&str>) -> Fault {
    let text = told(response, code);
    match (refused(response), code) {
        (Fault::Passing(kind, _), _) => Fault::Passing(kind, text),
        (Fault::Lasting(_), Some("InternalError" | "RequestTimeout" | "SlowDown")) => {
            Fault::Passing(ErrorKind::Other, text)
        }
        (Fault::Lasting(error), _) => Fault::Lasting(RemoteError::io(error.kind(), text)),
    }
}

/// What the status of an answer to a claim means, and the name of its error (RFC 6749).
pub(crate) fn refused_claim<T>(response: &Response<T>, text: &str) -> Fault {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let code = answer
        .get("error")
        .and_then(Value::as_str)
        .filter(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
    match (refused(response), code) {
        (Fault::Lasting(_), Some(code)) => {
            let status = response.status();
            let text = format!(
                "the server answered {status} ({code}); check the key that \
                 GOOGLE_APPLICATION_CREDENTIALS names, and the clock"
            );
            Fault::Lasting(RemoteError::io(ErrorKind::PermissionDenied, text))
        }
        (fault, _) => fault,
    }
}

pub(crate) fn header_of(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub(crate) fn changed() -> io::Error {
    let text = "it was changed since it was opened; open it again to read the new state";
    RemoteError::io(ErrorKind::StaleNetworkFileHandle, text)
}

pub(crate) fn no_ranges(what: &str) -> Fault {
    let text = format!(
        "the server does not send ranges of files ({what}); download the file, and open it here"
    );
    Fault::Lasting(RemoteError::io(ErrorKind::Unsupported, text))
}

/// What a server has answered, by its status and the name of its error.
fn told<T>(response: &Response<T>, code: Option<&str>) -> String {
    let (status, region) = (response.status(), header_of(response.headers(), BUCKET_REGION));
    let name = code.map_or(String::new(), |code| format!(" ({code})"));
    match region {
        Some(region) if status.is_redirection() || status == StatusCode::BAD_REQUEST => {
            format!("the bucket is in the region {region:?}; set AWS_REGION to it")
        }
        _ if status.is_redirection() => format!(
            "the server answered {status}{name}; check the region and the endpoint, as in \
             AWS_REGION and AWS_ENDPOINT_URL"
        ),
        _ => format!("the server answered {status}{name}"),
    }
}

/// What the status of an answer means.
pub(crate) fn refused<T>(response: &Response<T>) -> Fault {
    let text = told(response, None);
    let kind = match response.status().as_u16() {
        404 | 410 => ErrorKind::NotFound,
        401 | 403 => ErrorKind::PermissionDenied,
        408 | 425 | 429 | 500 | 502..=504 => return Fault::Passing(ErrorKind::Other, text),
        _ => ErrorKind::Other,
    };
    Fault::Lasting(RemoteError::io(kind, text))
}

pub(crate) fn passing_io(error: &io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(ureq::Error::Timeout(_)) => silence(),
        _ => Fault::Passing(error.kind(), format!("the connection broke ({error})")),
    }
}

fn silence() -> Fault {
    Fault::Passing(ErrorKind::TimedOut, "the server did not answer in time".to_owned())
}

/// What an error of the client means. Its text could have the URL with its secrets.
pub(crate) fn fault_of(error: ureq::Error) -> Fault {
    let lasting = |text: &str| Fault::Lasting(RemoteError::io(ErrorKind::Other, text));
    match error {
        ureq::Error::Timeout(_) => silence(),
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            lasting(&format!("the connection is not secure: {error}"))
        }
        ureq::Error::Io(error) => passing_io(&error),
        ureq::Error::HostNotFound => {
            Fault::Passing(ErrorKind::HostUnreachable, "the host is not known".to_owned())
        }
        ureq::Error::ConnectionFailed => {
            Fault::Passing(ErrorKind::ConnectionRefused, "the server does not listen".to_owned())
        }
        ureq::Error::TooManyRedirects => lasting("the server redirects in a circle"),
        ureq::Error::Protocol(_) | ureq::Error::BodyStalled => Fault::Passing(
            ErrorKind::UnexpectedEof,
            "the server answered what is not HTTP, or closed the connection".to_owned(),
        ),
        ureq::Error::Rustls(error) => lasting(&format!("the connection is not secure: {error}")),
        ureq::Error::Tls(reason) => lasting(&format!("the connection is not secure: {reason}")),
        _ => lasting("the request could not be made; check the URL"),
    }
}
