//! A URL, split into what is shown, what is asked, and what is secret.

use std::fmt::{self, Write};
use std::io;

use folio_file::RemoteError;

use crate::encoding::{base64, decode, encode};
use crate::s3::{Bucket, sign};

/// A file at a URL, or a directory and everything below it.
#[derive(Clone)]
pub(crate) struct Place {
    /// The URL without its secrets.
    pub(crate) shown: String,
    /// What is asked: scheme, host and encoded path.
    url: String,
    /// The query, which may be a signature.
    query: String,
    /// The value of the header `authorization`, of a name and password in the URL.
    authorization: Option<String>,
    /// Where a bucket is, and with which keys.
    pub(crate) bucket: Option<Bucket>,
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Place({})", self.shown)
    }
}

impl Place {
    /// Splits a URL. `bucket` finds out where a bucket of S3 is.
    ///
    /// # Errors
    /// `Unsupported` for another scheme, `InvalidInput` for a URL without a host.
    pub(crate) fn parse(
        text: &str,
        bucket: impl FnOnce(&str) -> io::Result<Bucket>,
    ) -> io::Result<Self> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => Self::of_http(&scheme.to_ascii_lowercase(), rest),
            "s3" => Self::of_s3(rest, bucket),
            other => Err(RemoteError::io(
                io::ErrorKind::Unsupported,
                format!(
                    "{other}:// is not read; http://, https:// and s3:// are, and local paths: \
                     copy it to one of these"
                ),
            )),
        }
    }

    fn of_http(scheme: &str, rest: &str) -> io::Result<Self> {
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, host),
        };
        if host.is_empty() {
            return Err(RemoteError::io(io::ErrorKind::InvalidInput, "the URL names no host"));
        }
        let path = path.trim_end_matches('/');
        let shown = format!("{scheme}://{host}/{path}");
        let shown = shown.trim_end_matches('/').to_owned();
        Ok(Self {
            url: encode(&shown, "%:/[]"),
            shown,
            query: query.to_owned(),
            authorization: user.map(|user| format!("Basic {}", base64(&decode(user)))),
            bucket: None,
        })
    }

    fn of_s3(rest: &str, bucket: impl FnOnce(&str) -> io::Result<Bucket>) -> io::Result<Self> {
        let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        if name.is_empty() || !is_name {
            let text = "the URL names no bucket; write s3://bucket/path";
            return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
        }
        let key = key.trim_end_matches('/');
        let bucket = bucket(name)?;
        let url = format!("{}/{}", bucket.url, encode(key, "/"));
        Ok(Self {
            shown: format!("s3://{name}/{key}").trim_end_matches('/').to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            query: String::new(),
            authorization: None,
            bucket: Some(bucket),
        })
    }

    /// What comes after this place in a path below it; `None` for a path elsewhere.
    pub(crate) fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(&self.shown)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    }

    /// The place of a path below this one.
    pub(crate) fn below(&self, rest: &str) -> Self {
        let mut below = self.clone();
        if !rest.is_empty() {
            let _ = write!(below.shown, "/{rest}");
            let _ = write!(below.url, "/{}", encode(rest, "/"));
        }
        below
    }

    /// Whether it carries anything that only the URL as it was given has.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.query.is_empty() || self.authorization.is_some()
    }

    /// What distinguishes this place from one that looks the same.
    pub(crate) fn secrets(&self) -> [&str; 2] {
        [&self.query, self.authorization.as_deref().unwrap_or_default()]
    }

    /// The URL of a request.
    pub(crate) fn request_url(&self) -> String {
        match self.query.as_str() {
            "" => self.url.clone(),
            query => format!("{}?{query}", self.url),
        }
    }

    /// The URL of a request with a query of its own, for a bucket.
    pub(crate) fn bucket_url(&self, query: &str) -> Option<String> {
        self.bucket.as_ref().map(|bucket| format!("{}/?{query}", bucket.url))
    }

    /// The headers that prove who asks.
    pub(crate) fn proof(&self, url: &str, now: jiff::Timestamp) -> Vec<(&'static str, String)> {
        if let Some(bucket) = &self.bucket {
            return match &bucket.keys {
                Some(keys) => sign(url, &bucket.region, keys, now),
                None => Vec::new(),
            };
        }
        self.authorization.iter().map(|value| ("authorization", value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> io::Result<Place> {
        let url = "http://h:1/b".to_owned();
        Place::parse(text, |_| Ok(Bucket { url, region: String::new(), keys: None }))
    }

    #[test]
    fn a_url_is_split() {
        for (text, shown, url) in [
            ("https://h/a.zds", "https://h/a.zds", "https://h/a.zds"),
            ("HTTP://h:8000/", "http://h:8000", "http://h:8000"),
            ("http://h", "http://h", "http://h"),
            ("http://[::1]:80/a/", "http://[::1]:80/a", "http://[::1]:80/a"),
            ("https://h/a%20b/ü", "https://h/a%20b/ü", "https://h/a%20b/%C3%BC"),
            ("https://u:p@h/a?k=v#f", "https://h/a", "https://h/a?k=v"),
            ("s3://b/x y/z.zds", "s3://b/x y/z.zds", "http://h:1/b/x%20y/z.zds"),
            ("s3://b", "s3://b", "http://h:1/b"),
        ] {
            let place = parse(text).unwrap();
            assert_eq!(
                (place.shown.as_str(), place.request_url().as_str()),
                (shown, url),
                "{text}"
            );
            assert!(!format!("{place:?}").contains("k=v"));
        }
        for (text, kind) in [
            ("gs://b/a", io::ErrorKind::Unsupported),
            ("http:///a", io::ErrorKind::InvalidInput),
            ("s3:///a", io::ErrorKind::InvalidInput),
        ] {
            assert_eq!(parse(text).unwrap_err().kind(), kind, "{text}");
        }
    }

    #[test]
    fn a_path_below_keeps_the_secrets_to_itself() {
        let root = parse("https://Aladdin:open%20sesame@h/db/?sig=1").unwrap();
        let rest = root.rest("https://h/db/collections/größe").unwrap();
        let below = root.below(rest);
        assert_eq!(below.shown, "https://h/db/collections/größe");
        assert_eq!(below.request_url(), "https://h/db/collections/gr%C3%B6%C3%9Fe?sig=1");
        let proof = below.proof("", jiff::Timestamp::UNIX_EPOCH);
        // The example of RFC 7617.
        assert_eq!(proof, [("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned())]);
        assert_eq!(root.rest("https://h/dbx"), None);
        assert_eq!(root.rest("https://h/db"), Some(""));
    }
}
