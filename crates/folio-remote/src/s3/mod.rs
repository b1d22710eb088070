//! Buckets of S3: where they are, and who asks.
//!
//! Keys, region and endpoint come from where every program of AWS has them: the environment, then
//! the profile in `~/.aws`. Without keys, requests are not signed, as for a public bucket.
//! Credentials of a machine, of single sign-on, or of a web identity are not looked for: export
//! them into the environment.

mod credentials;
mod sign;

use std::io;

use folio_file::RemoteError;

use crate::bucket::{Bucket, Listing, Signer};
use crate::surroundings::Surroundings;
use credentials::Settings;
pub(crate) use sign::sign;

/// Where a bucket is, and who asks.
///
/// # Errors
/// A file of settings that cannot be read; `InvalidInput` for settings that lead nowhere.
pub(crate) fn find(name: &str, around: &Surroundings<'_>) -> io::Result<Bucket> {
    let settings = Settings::find(around)?;
    let region = settings.region.unwrap_or_else(|| "us-east-1".to_owned());
    if let Some(endpoint) = settings.endpoint.as_ref().filter(|endpoint| !endpoint.contains("://"))
    {
        let text = format!(
            "the endpoint of S3 is {endpoint:?}, which is no URL; set AWS_ENDPOINT_URL to one, such \
             as https://{endpoint}"
        );
        return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
    }
    let url = match settings.endpoint {
        // Servers other than AWS's have no names of hosts for buckets.
        Some(endpoint) => format!("{}/{name}", endpoint.trim_end_matches('/')),
        // A certificate covers no dots within a name.
        None if name.contains('.') => format!("https://s3.{region}.amazonaws.com/{name}"),
        None => format!("https://{name}.s3.{region}.amazonaws.com"),
    };
    let signer = settings.keys.map(|keys| Signer::Aws(keys, region));
    Ok(Bucket { url, listing: Listing::S3, signer })
}
