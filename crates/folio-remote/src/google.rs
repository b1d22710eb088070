//! Buckets of Google Cloud Storage, by its XML API.
//!
//! Who asks proves it by a token, from the variables that `gcloud` and Terraform read. A token is
//! valid for an hour. Without one, requests are those of anybody, as for a public bucket. Files of
//! service accounts are not read: `gcloud auth print-access-token` makes a token of them.
//! With HMAC keys, the same bucket is one of S3 at the endpoint `https://storage.googleapis.com`.

use crate::bucket::{Bucket, Listing};
use crate::surroundings::Surroundings;

/// Where a bucket is, and the value of the header `authorization`.
pub(crate) fn find(name: &str, around: &Surroundings<'_>) -> (Bucket, Option<String>) {
    let endpoint = match around.first(&["STORAGE_EMULATOR_HOST"]) {
        Some(host) if host.contains("://") => host,
        Some(host) => format!("http://{host}"),
        None => "https://storage.googleapis.com".to_owned(),
    };
    let url = format!("{}/{name}", endpoint.trim_end_matches('/'));
    let token = around.first(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"]);
    let bucket = Bucket { url, listing: Listing::S3, signer: None };
    (bucket, token.map(|token| format!("Bearer {token}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn a_bucket_is_where_the_environment_says() {
        let of = |variables: &[(&str, &str)]| {
            let (bucket, authorization) = within(variables, &[], |around| find("b", around));
            (bucket.url, authorization.unwrap_or_default())
        };
        assert_eq!(of(&[]), ("https://storage.googleapis.com/b".to_owned(), String::new()));
        let set = [("STORAGE_EMULATOR_HOST", "h:1"), ("CLOUDSDK_AUTH_ACCESS_TOKEN", "t")];
        assert_eq!(of(&set), ("http://h:1/b".to_owned(), "Bearer t".to_owned()));
    }
}
