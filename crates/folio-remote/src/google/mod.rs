//! Buckets of Google Cloud Storage, by its XML API.
//!
//! Who asks proves it by a token, from the variables that `gcloud` and Terraform read. Without one,
//! the file that `GOOGLE_APPLICATION_CREDENTIALS` names has the key of a service account, for which
//! tokens are asked for as they are needed. Without either, requests are those of anybody, as for a
//! public bucket.
//! With HMAC keys, the same bucket is one of S3 at the endpoint `https://storage.googleapis.com`.

mod account;
mod token;

use std::io;

use crate::bucket::{Bucket, Listing, Signer};
use crate::surroundings::Surroundings;
pub(crate) use token::Tokens;

/// Where a bucket is, and the value of the header `authorization`, if it stays.
///
/// # Errors
/// `InvalidInput` for a file that has no key of a service account.
pub(crate) fn find(name: &str, around: &Surroundings<'_>) -> io::Result<(Bucket, Option<String>)> {
    let endpoint = match around.first(&["STORAGE_EMULATOR_HOST"]) {
        Some(host) if host.contains("://") => host,
        Some(host) => format!("http://{host}"),
        None => "https://storage.googleapis.com".to_owned(),
    };
    let url = format!("{}/{name}", endpoint.trim_end_matches('/'));
    let token = around.first(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"]);
    let file = around.first(&["GOOGLE_APPLICATION_CREDENTIALS"]).filter(|_| token.is_none());
    let account = file.map(|path| account::read(&path, around)).transpose()?;
    let bucket = Bucket { url, listing: Listing::S3, signer: account.map(Signer::Google) };
    Ok((bucket, token.map(|token| format!("Bearer {token}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn a_bucket_is_where_the_environment_says() {
        let of = |variables: &[(&str, &str)]| {
            let (bucket, authorization) =
                within(variables, &[], |around| find("b", around)).unwrap();
            (bucket.url, authorization.unwrap_or_default())
        };
        assert_eq!(of(&[]), ("https://storage.googleapis.com/b".to_owned(), String::new()));
        // A token comes before the file, which is not read then.
        let set = [
            ("STORAGE_EMULATOR_HOST", "h:1"),
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", "t"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/none"),
        ];
        assert_eq!(of(&set), ("http://h:1/b".to_owned(), "Bearer t".to_owned()));
    }
}
