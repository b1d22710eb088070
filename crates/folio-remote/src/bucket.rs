//! A store of objects with keys: where it is, how it is listed, and who asks.

use std::fmt;

/// A bucket, or a container.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) listing: Listing,
    /// Who asks, where each request has a proof of its own.
    pub(crate) signer: Option<Signer>,
}

/// The form of requests for names, and of their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// ListObjectsV2, which Google's XML API answers, too.
    S3,
    /// List Blobs.
    Azure,
}

/// What proves who asks, for each request anew.
#[derive(Debug, Clone)]
pub(crate) enum Signer {
    /// Keys of AWS, and the region of the signature.
    Aws(Keys, String),
    Azure(AccountKey),
    /// Gets tokens, of which a request has one.
    Google(ServiceAccount),
}

/// What is never shown.
#[derive(Clone)]
pub(crate) struct Secret<T>(pub(crate) T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

/// A pair of keys of AWS.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: Secret<String>,
    pub(crate) token: Option<Secret<String>>,
}

/// The key of a storage account of Azure.
#[derive(Debug, Clone)]
pub(crate) struct AccountKey {
    pub(crate) account: String,
    pub(crate) key: Secret<Vec<u8>>,
}

/// A service account of Google.
#[derive(Debug, Clone)]
pub(crate) struct ServiceAccount {
    pub(crate) email: String,
    pub(crate) key_id: String,
    /// An RSA key in PKCS #8.
    pub(crate) key: Secret<Vec<u8>>,
    /// Where a signed claim is exchanged for a token.
    pub(crate) token_url: String,
}
