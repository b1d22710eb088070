//! A store of objects with keys: where it is, how it is listed, and who asks.

use std::fmt;

/// A bucket, or a container.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) listing: Listing,
    /// Who asks, where requests are signed, and the region of the signature.
    pub(crate) signer: Option<(Keys, String)>,
}

/// The form of requests for names, and of their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// ListObjectsV2, which Google's XML API answers, too.
    S3,
    /// List Blobs.
    Azure,
}

/// What signs requests.
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
