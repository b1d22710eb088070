//! Signatures with the key of an account, "Shared Key" as of version 2015-02-21: the headers that
//! prove a request.
//!
//! The method, the path, the query, and these headers of a request are signed, and the time. The
//! body is not, but its size is.

use std::fmt::Write;

use jiff::Timestamp;
use ring::hmac::{HMAC_SHA256, Key, sign as hmac};

use super::VERSION;
use crate::bucket::AccountKey;
use crate::encoding::{base64, decode};

/// The headers that are signed by their value alone, in this order. An absent one is empty, and so
/// is a size of 0.
const SIGNED: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

/// The headers of a request of this URL, whose path and query are encoded, beside its own.
pub(crate) fn sign(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    key: &AccountKey,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let time = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let size = body.len().to_string();
    let value = |name: &str| match name {
        "content-length" if body.is_empty() => "",
        "content-length" => &size,
        _ => headers.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value),
    };
    let mut text = format!("{method}\n");
    for name in SIGNED {
        let _ = writeln!(text, "{}", value(name));
    }
    let own = headers.iter().copied().filter(|(name, _)| name.starts_with("x-ms-"));
    let mut own: Vec<_> = own.chain([("x-ms-date", time.as_str()), VERSION]).collect();
    own.sort_unstable();
    for (name, value) in own {
        let _ = writeln!(text, "{name}:{value}");
    }
    text.push_str(&resource(&key.account, url));
    let signature = hmac(&Key::new(HMAC_SHA256, &key.key.0), text.as_bytes());
    let proof = format!("SharedKey {}:{}", key.account, base64(signature.as_ref()));
    vec![("x-ms-date", time), (VERSION.0, VERSION.1.to_owned()), ("authorization", proof)]
}

/// What is asked for: the account, the path as it is sent, and the query, decoded and sorted.
fn resource(account: &str, url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut parts: Vec<(String, Vec<u8>)> = parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (name.to_ascii_lowercase(), decode(value)))
        .collect();
    parts.sort_unstable();
    let mut text = format!("/{account}/{path}");
    for (name, value) in parts {
        let _ = write!(text, "\n{name}:{}", String::from_utf8_lossy(&value));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Secret;
    use crate::encoding::from_base64;

    type Headers<'h> = &'h [(&'h str, &'h str)];

    /// What Microsoft's library for Python (azure-storage-blob 12.31) signs, with the key that all
    /// emulators have.
    #[test]
    fn signs_as_the_library_of_the_provider_does() {
        let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeks\
                   oGMGw==";
        let key = AccountKey {
            account: "devstoreaccount1".to_owned(),
            key: Secret(from_base64(key).unwrap()),
        };
        let now = "2015-06-26T23:39:12Z".parse().unwrap();
        let part = [("range", "bytes=0-65535"), ("if-match", "\"0x8D\"")];
        let names = "box?comp=list&delimiter=%2F&maxresults=1000&prefix=gr%C3%B6%C3%9Fe%2F\
                     &restype=container";
        let blob = [("x-ms-blob-type", "BlockBlob")];
        let cases: [(&str, &str, Headers<'_>, &[u8], &str); 4] = [
            (
                "GET",
                "box/my%20data.zds",
                &part,
                b"",
                "nbAVctY5rMrirIYNf0s4dq+c0iOfI6fzS0dBX7Q0nK0=",
            ),
            ("GET", names, &[], b"", "lnZI7PY2T7RmjfN33PgOhbL7qgSxzk11l3Ym3UiikUE="),
            (
                "PUT",
                "box/a.zds?blockid=QUI%2B&comp=block",
                &[],
                b"12345",
                "l0eOxZx/njR58dE3Pi/VjRc8BWGcVDrmiXW0Tqjb+hU=",
            ),
            ("PUT", "box/a.zds", &blob, b"", "p1ss8cOVkU9S7Z+9DgDIgfG+nCFglp07fzLjxozeDqw="),
        ];
        for (method, path, headers, body, expected) in cases {
            let url = format!("http://127.0.0.1:10000/devstoreaccount1/{path}");
            let signed = sign(method, &url, headers, body, &key, now);
            let time = ("x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT".to_owned());
            assert!(signed.contains(&time), "{signed:?}");
            let proof = ("authorization", format!("SharedKey devstoreaccount1:{expected}"));
            assert!(signed.contains(&proof), "{method} {path}: {signed:?}");
        }
    }
}
