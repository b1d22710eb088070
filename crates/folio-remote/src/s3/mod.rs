//! Buckets of S3: where they are, and who asks.
//!
//! Keys, region and endpoint come from where every program of AWS has them: the environment, then
//! the profile in `~/.aws`. Without keys, requests are not signed, as for a public bucket.
//! Credentials of a machine, of single sign-on, or of a web identity are not looked for: export
//! them into the environment.

mod credentials;
mod sign;

use std::fmt;
use std::io;

use folio_file::FileSystem;

use credentials::Settings;
pub(crate) use sign::sign;

/// Where a bucket is.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) region: String,
    pub(crate) keys: Option<Keys>,
}

/// Who asks.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Keys(..)")
    }
}

impl Bucket {
    /// Finds out where a bucket is and who asks.
    pub(crate) fn find(name: &str, files: &dyn FileSystem) -> io::Result<Self> {
        let settings = Settings::find(files, |name| std::env::var(name).ok())?;
        Ok(Self::of(name, settings))
    }

    fn of(name: &str, settings: Settings) -> Self {
        let region = settings.region.unwrap_or_else(|| "us-east-1".to_owned());
        let url = match settings.endpoint {
            // Servers other than AWS's have no names of hosts for buckets.
            Some(endpoint) => format!("{}/{name}", endpoint.trim_end_matches('/')),
            // A certificate covers no dots within a name.
            None if name.contains('.') => format!("https://s3.{region}.amazonaws.com/{name}"),
            None => format!("https://{name}.s3.{region}.amazonaws.com"),
        };
        Self { url, region, keys: settings.keys }
    }
}
