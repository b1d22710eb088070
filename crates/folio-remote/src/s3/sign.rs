//! Signatures, version 4: the headers that prove a request.
//!
//! The method, host, path, query and body of a request are signed, and the time. The header `range`
//! need not be: the signature says who may read the file, not which part of it.

use std::fmt::Write;

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign as hmac};

use crate::bucket::Keys;

/// The headers of a request of this URL, whose path is encoded, and whose query is encoded and
/// sorted.
pub(crate) fn sign(
    method: &str,
    url: &str,
    body: &[u8],
    region: &str,
    keys: &Keys,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let body_sum = hex(digest(&SHA256, body).as_ref());

    let mut headers =
        vec![("x-amz-content-sha256", body_sum.clone()), ("x-amz-date", time.clone())];
    headers.extend(keys.token.iter().map(|token| ("x-amz-security-token", token.0.clone())));
    let mut names = "host".to_owned();
    let mut lines = format!("host:{host}\n");
    for (name, value) in &headers {
        let _ = write!(names, ";{name}");
        let _ = writeln!(lines, "{name}:{value}");
    }
    let request = format!("{method}\n/{path}\n{query}\n{lines}\n{names}\n{body_sum}");
    let scope = format!("{}/{region}/s3/aws4_request", &time[..8]);
    let request_sum = hex(digest(&SHA256, request.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{request_sum}");
    let signature = hex(hmac(&signing_key(keys, &time[..8], region), text.as_bytes()).as_ref());
    let proof = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        keys.id
    );
    headers.push(("authorization", proof));
    headers
}

/// The key of a day, a region and the service.
fn signing_key(keys: &Keys, day: &str, region: &str) -> Key {
    let first = Key::new(HMAC_SHA256, format!("AWS4{}", keys.secret.0).as_bytes());
    [day, region, "s3", "aws4_request"]
        .iter()
        .fold(first, |key, part| Key::new(HMAC_SHA256, hmac(&key, part.as_bytes()).as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Secret;

    /// The example "GET Bucket (List Objects)" of the documentation of S3.
    #[test]
    fn signs_as_the_documentation_does() {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned()),
            token: None,
        };
        let url = "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J";
        let now = "2013-05-24T00:00:00Z".parse().unwrap();
        let headers = sign("GET", url, b"", "us-east-1", &keys, now);
        let proof = &headers.iter().find(|(name, _)| *name == "authorization").unwrap().1;
        let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(proof.ends_with(expected), "{proof}");
    }
}
