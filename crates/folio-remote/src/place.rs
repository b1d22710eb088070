//! A URL, split into what is shown, what is asked, and what is secret.

use std::fmt::{self, Write};
use std::io;

use folio_file::RemoteError;

use crate::bucket::{Bucket, Listing, ServiceAccount, Signer};
use crate::encoding::{IN_PATH, IN_URL, base64, decode, encode};
use crate::hugging_face::Repository;
use crate::surroundings::Surroundings;
use crate::{azure, google, hugging_face, s3};

/// The variable with whole URLs, signatures and passwords included, for processes that are given the
/// URLs without them.
const SECRET_URLS: &str = "FOLIO_SECRET_URLS";

/// A file at a URL, or a directory and everything below it.
#[derive(Clone)]
pub(crate) struct Place {
    /// The URL without its secrets.
    pub(crate) shown: String,
    /// What is asked: scheme, host and encoded path.
    url: String,
    /// The query, which may be a signature.
    query: String,
    /// The value of the header `authorization`, of a name and password in the URL, or of a token.
    authorization: Option<String>,
    /// The bucket that it is in.
    pub(crate) bucket: Option<Bucket>,
    /// The repository of the Hub that it is in.
    pub(crate) repository: Option<Repository>,
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Place({})", self.shown)
    }
}

impl Place {
    /// Splits a URL. Where a bucket is, and who asks, is found around the process.
    ///
    /// # Errors
    /// `Unsupported` for another scheme, `InvalidInput` for a URL without a host.
    pub(crate) fn parse(text: &str, around: &Surroundings<'_>) -> io::Result<Self> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        let unsigned = |bucket| (bucket, String::new(), None);
        match scheme.as_str() {
            "http" | "https" => Ok(Self::of_http(&scheme, rest)?.with_secrets_around(around)),
            "s3" => Self::of_bucket("s3", rest, |name| s3::find(name, around).map(unsigned)),
            "gs" => Self::of_bucket("gs", rest, |name| {
                let (bucket, authorization) = google::find(name, around)?;
                Ok((bucket, String::new(), authorization))
            }),
            "az" => Self::of_bucket("az", rest, |name| {
                let (bucket, query) = azure::find(name, around)?;
                Ok((bucket, query, None))
            }),
            "hf" => {
                let rest = rest.trim_end_matches('/');
                let (repository, url, authorization) = hugging_face::find(rest, around)?;
                Ok(Self {
                    shown: format!("hf://{rest}"),
                    url,
                    query: String::new(),
                    authorization,
                    bucket: None,
                    repository: Some(repository),
                })
            }
            other => Err(RemoteError::io(
                io::ErrorKind::Unsupported,
                format!(
                    "{other}:// is not read; http://, https://, s3://, gs://, az:// and hf:// \
                     are, and local paths: copy it to one of these"
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
            url: encode(&shown, IN_URL),
            shown,
            query: query.to_owned(),
            authorization: user.map(|user| format!("Basic {}", base64(&decode(user)))),
            bucket: None,
            repository: None,
        })
    }

    /// The same place with the signature or the password that the environment has for it, or for a
    /// directory that it is in, unless it has its own.
    fn with_secrets_around(self, around: &Surroundings<'_>) -> Self {
        if self.has_secrets() {
            return self;
        }
        let urls = around.first(&[SECRET_URLS]).unwrap_or_default();
        let known = urls.split_whitespace().filter_map(|url| {
            let (scheme, rest) = url.split_once("://")?;
            Self::of_http(&scheme.to_ascii_lowercase(), rest).ok()
        });
        let nearest = known
            .filter(|known| known.rest(&self.shown).is_some())
            .max_by_key(|known| known.shown.len());
        match nearest {
            Some(Self { query, authorization, .. }) => Self { query, authorization, ..self },
            None => self,
        }
    }

    /// `find` tells the bucket of a name, the query that proves who asks, or the header.
    fn of_bucket(
        scheme: &str,
        rest: &str,
        find: impl FnOnce(&str) -> io::Result<(Bucket, String, Option<String>)>,
    ) -> io::Result<Self> {
        let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        if name.is_empty() || !is_name {
            let text = format!("the URL names no bucket; write {scheme}://bucket/path");
            return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
        }
        let key = key.trim_end_matches('/');
        let (bucket, query, authorization) = find(name)?;
        let url = format!("{}/{}", bucket.url, encode(key, IN_PATH));
        Ok(Self {
            shown: format!("{scheme}://{name}/{key}").trim_end_matches('/').to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            query,
            authorization,
            bucket: Some(bucket),
            repository: None,
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
            let _ = write!(below.url, "/{}", encode(rest, IN_PATH));
        }
        below
    }

    /// Whether it carries anything that only the URL as it was given has.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.query.is_empty() || self.authorization.is_some()
    }

    /// What a request lacks that proves nothing, and what to set.
    pub(crate) fn missing_proof(&self) -> Option<String> {
        let is_signed = self.bucket.as_ref().is_some_and(|bucket| bucket.signer.is_some());
        if self.has_secrets() || is_signed {
            return None;
        }
        Some(match self.shown.split_once(':').map_or("", |(scheme, _)| scheme) {
            "s3" => "a request without keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as \
                     `aws configure export-credentials --format env` prints them"
                .to_owned(),
            "gs" => {
                "a request without a token; set GOOGLE_APPLICATION_CREDENTIALS to the key file \
                     of a service account"
                    .to_owned()
            }
            "az" => "a request without a proof; set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
                .to_owned(),
            "hf" => "a request without a token; set HF_TOKEN".to_owned(),
            _ => format!(
                "a URL without a signature or password; set {SECRET_URLS} to the whole URL where \
                 this process runs"
            ),
        })
    }

    /// What distinguishes this place from one that looks the same.
    pub(crate) fn secrets(&self) -> [&str; 2] {
        [&self.query, self.authorization.as_deref().unwrap_or_default()]
    }

    /// The URL of a request.
    pub(crate) fn request_url(&self) -> String {
        self.request_url_with("")
    }

    /// The URL of a request that has a query of its own, encoded and sorted.
    pub(crate) fn request_url_with(&self, own: &str) -> String {
        match (own, self.query.as_str()) {
            ("", "") => self.url.clone(),
            (query, "") | ("", query) => format!("{}?{query}", self.url),
            (own, proof) => format!("{}?{own}&{proof}", self.url),
        }
    }

    /// Whether the names in it can be asked for.
    pub(crate) fn has_names(&self) -> bool {
        self.bucket.is_some() || self.repository.is_some()
    }

    /// Where the Hub has the names in this folder of a repository, and the folder's encoded path,
    /// which is empty or begins with a slash.
    pub(crate) fn repository_names(&self) -> Option<(String, &str)> {
        let repository = self.repository.as_ref()?;
        Some((repository.names_url(&self.url), repository.inside(&self.url)))
    }

    /// The URL of a request for names in the bucket, with a query of its own.
    pub(crate) fn bucket_url(&self, query: &str) -> Option<String> {
        let Bucket { url, listing, .. } = self.bucket.as_ref()?;
        Some(match (listing, self.query.as_str()) {
            (Listing::S3, _) => format!("{url}/?{query}"),
            (Listing::Azure, "") => format!("{url}?{query}"),
            (Listing::Azure, proof) => format!("{url}?{query}&{proof}"),
        })
    }

    /// The account that needs a token for each request.
    pub(crate) fn service_account(&self) -> Option<&ServiceAccount> {
        match self.bucket.as_ref()?.signer.as_ref()? {
            Signer::Google(account) => Some(account),
            Signer::Aws(..) | Signer::Azure(_) => None,
        }
    }

    /// The headers that prove who asks, beside those that the request has; tokens of service
    /// accounts are not among them.
    pub(crate) fn proof(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        now: jiff::Timestamp,
    ) -> Vec<(&'static str, String)> {
        let bucket = self.bucket.as_ref();
        match bucket.and_then(|bucket| bucket.signer.as_ref()) {
            Some(Signer::Aws(keys, region)) => {
                return s3::sign(method, url, body, region, keys, now);
            }
            Some(Signer::Azure(key)) => return azure::sign(method, url, headers, body, key, now),
            Some(Signer::Google(_)) | None => {}
        }
        let own = self.authorization.iter().map(|value| ("authorization", value.clone()));
        let is_azure = bucket.is_some_and(|bucket| bucket.listing == Listing::Azure);
        let version = is_azure.then(|| (azure::VERSION.0, azure::VERSION.1.to_owned()));
        own.chain(version).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    fn parse(text: &str) -> io::Result<Place> {
        let variables = [
            ("AWS_ENDPOINT_URL", "http://h:1"),
            ("STORAGE_EMULATOR_HOST", "h:2"),
            ("AZURE_STORAGE_ENDPOINT", "http://h:3"),
            ("AZURE_STORAGE_SAS_TOKEN", "sig=k%3D"),
            ("HF_ENDPOINT", "http://h:4"),
            ("HF_TOKEN", "hidden"),
        ];
        within(&variables, &[], |around| Place::parse(text, around))
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
            ("gs://b/x y/z.zds", "gs://b/x y/z.zds", "http://h:2/b/x%20y/z.zds"),
            ("az://b/x y/", "az://b/x y", "http://h:3/b/x%20y?sig=k%3D"),
            (
                "hf://datasets/o/n/d/",
                "hf://datasets/o/n/d",
                "http://h:4/datasets/o/n/resolve/main/d",
            ),
        ] {
            let place = parse(text).unwrap();
            assert_eq!(
                (place.shown.as_str(), place.request_url().as_str()),
                (shown, url),
                "{text}"
            );
            let told = format!("{place:?}");
            assert!(!["k=v", "sig", "hidden"].iter().any(|secret| told.contains(secret)));
        }
        for (text, kind) in [
            ("ftp://b/a", io::ErrorKind::Unsupported),
            ("http:///a", io::ErrorKind::InvalidInput),
            ("s3:///a", io::ErrorKind::InvalidInput),
            ("hf://datasets/o", io::ErrorKind::InvalidInput),
        ] {
            assert_eq!(parse(text).unwrap_err().kind(), kind, "{text}");
        }
    }

    #[test]
    fn the_environment_has_the_secrets_of_urls() {
        let urls = "https://h/db?sig=1 https://h/db/collections/a?sig=2\n http://ann:key@h/x.zds";
        let asked = |text: &str| {
            let place = within(&[(SECRET_URLS, urls)], &[], |around| Place::parse(text, around));
            let place = place.unwrap();
            let told = format!("{place:?} {}", place.shown);
            assert!(!told.contains("sig") && !told.contains("key"), "{told}");
            (place.request_url(), place.has_secrets())
        };
        for (text, url, has_secrets) in [
            ("https://h/db", "https://h/db?sig=1", true),
            ("HTTPS://h/db/folio.json", "https://h/db/folio.json?sig=1", true),
            ("https://h/db/collections/a/x", "https://h/db/collections/a/x?sig=2", true),
            ("http://h/x.zds", "http://h/x.zds", true),
            // What has its own, and what is elsewhere.
            ("https://h/db?sig=3", "https://h/db?sig=3", true),
            ("https://h/dbx", "https://h/dbx", false),
            ("http://h/db", "http://h/db", false),
            ("https://other/db", "https://other/db", false),
        ] {
            assert_eq!(asked(text), (url.to_owned(), has_secrets), "{text}");
        }
    }

    #[test]
    fn a_path_below_keeps_the_secrets_to_itself() {
        let root = parse("https://Aladdin:open%20sesame@h/db/?sig=1").unwrap();
        let rest = root.rest("https://h/db/collections/größe").unwrap();
        let below = root.below(rest);
        assert_eq!(below.shown, "https://h/db/collections/größe");
        assert_eq!(below.request_url(), "https://h/db/collections/gr%C3%B6%C3%9Fe?sig=1");
        let proof = below.proof("GET", "", &[], b"", jiff::Timestamp::UNIX_EPOCH);
        // The example of RFC 7617.
        assert_eq!(proof, [("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned())]);
        assert_eq!(root.rest("https://h/dbx"), None);
        assert_eq!(root.rest("https://h/db"), Some(""));
    }
}
