//! Containers of Azure Blob Storage.
//!
//! The account is in the environment, as `az` has it: in a connection string, or in variables. Who
//! asks has a shared access signature there, which is the query of each request, or the key of the
//! account, which signs each request. Without either, requests are those of anybody, as for a public
//! container. Sign-on is not used: `az storage container generate-sas` makes a signature of it.

mod settings;
mod sign;

use std::io;

use folio_file::RemoteError;

use crate::bucket::{AccountKey, Bucket, Listing, Secret, Signer};
use crate::encoding::from_base64;
use crate::surroundings::Surroundings;
use settings::Settings;
pub(crate) use sign::sign;

/// The version of the interface. Without one the server answers as of 2009, and its ETags are not
/// those of HTTP.
pub(crate) const VERSION: (&str, &str) = ("x-ms-version", "2021-12-02");

/// Where a container is, and the query that proves who asks.
///
/// # Errors
/// `InvalidInput` where no account is named, and for a key that is none.
pub(crate) fn find(name: &str, around: &Surroundings<'_>) -> io::Result<(Bucket, String)> {
    let Settings { endpoint, account, signature, key } = Settings::find(around);
    let Some(endpoint) = endpoint else { return Err(no_account("az://")) };
    let url = format!("{}/{name}", endpoint.trim_end_matches('/'));
    let signer = match (&signature, key) {
        (None, Some(key)) => Some(signer(account, &key)?),
        _ => None,
    };
    let bucket = Bucket { url, listing: Listing::Azure, signer };
    Ok((bucket, signature.unwrap_or_default().trim_start_matches('?').to_owned()))
}

fn signer(account: Option<String>, key: &str) -> io::Result<Signer> {
    let Some(account) = account else { return Err(no_account("a key")) };
    let Some(key) = from_base64(key).filter(|key| !key.is_empty()) else {
        let text = "the key of the account is not in base 64; check AZURE_STORAGE_KEY, or \
                    AccountKey in AZURE_STORAGE_CONNECTION_STRING";
        return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
    };
    Ok(Signer::Azure(AccountKey { account, key: Secret(key) }))
}

fn no_account(what: &str) -> io::Error {
    let text = format!("{what} needs the name of the account; set AZURE_STORAGE_ACCOUNT");
    RemoteError::io(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    fn of(variables: &[(&str, &str)]) -> io::Result<(Bucket, String)> {
        within(variables, &[], |around| find("c", around))
    }

    #[test]
    fn a_container_is_one_of_the_account() {
        assert_eq!(of(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let account = ("AZURE_STORAGE_ACCOUNT", "a");
        let (bucket, query) = of(&[account, ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=2")]).unwrap();
        assert_eq!(bucket.url, "https://a.blob.core.windows.net/c");
        assert_eq!(query, "sv=1&sig=2");
        let (bucket, query) = of(&[account, ("AZURE_STORAGE_ENDPOINT", "http://h:1/a/")]).unwrap();
        assert_eq!((bucket.url.as_str(), query.as_str()), ("http://h:1/a/c", ""));
        assert!(bucket.signer.is_none());
    }

    #[test]
    fn a_key_signs_where_there_is_no_signature() {
        let account = ("AZURE_STORAGE_ACCOUNT", "a");
        let key = ("AZURE_STORAGE_KEY", "aGlkZGVu");
        let (bucket, query) = of(&[account, key]).unwrap();
        assert!(query.is_empty());
        let Some(Signer::Azure(found)) = &bucket.signer else { panic!("{bucket:?}") };
        assert_eq!((found.account.as_str(), found.key.0.as_slice()), ("a", &b"hidden"[..]));
        let shown = format!("{bucket:?}");
        assert!(!shown.contains("hidden") && !shown.contains(&format!("{:?}", b"hidden")));
        let (bucket, query) = of(&[account, key, ("AZURE_STORAGE_SAS_TOKEN", "sig=2")]).unwrap();
        assert!(bucket.signer.is_none() && query == "sig=2");
        for variables in [
            [account, ("AZURE_STORAGE_KEY", "hidden!")],
            [("AZURE_STORAGE_ENDPOINT", "http://h:1"), key],
        ] {
            let error = of(&variables).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }
}
