//! A store of objects with keys: where it is, how it is listed, and who asks.

use crate::s3::Keys;

/// A bucket, or a container.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) listing: Listing,
    /// What signs requests, and for which region.
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
