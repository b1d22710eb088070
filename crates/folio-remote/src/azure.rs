//! Containers of Azure Blob Storage.
//!
//! The account is in a variable of the environment, as `az` has it. Who asks has a shared access
//! signature there, which is the query of each request; without one, requests are those of anybody,
//! as for a public container. Keys of accounts and sign-on are not used:
//! `az storage container generate-sas` makes a signature of them.

use std::io;

use folio_file::RemoteError;

use crate::bucket::{Bucket, Listing};
use crate::surroundings::Surroundings;

/// The version of the interface. Without one the server answers as of 2009, and its ETags are not
/// those of HTTP.
pub(crate) const VERSION: (&str, &str) = ("x-ms-version", "2021-12-02");

/// Where a container is, and the query that proves who asks.
///
/// # Errors
/// `InvalidInput` where no account is named.
pub(crate) fn find(name: &str, around: &Surroundings<'_>) -> io::Result<(Bucket, String)> {
    let account = around.first(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]);
    let endpoint = around.first(&["AZURE_STORAGE_ENDPOINT"]);
    let endpoint = endpoint.or_else(|| Some(format!("https://{}.blob.core.windows.net", account?)));
    let Some(endpoint) = endpoint else {
        let text = "az:// needs the name of the account; set AZURE_STORAGE_ACCOUNT";
        return Err(RemoteError::io(io::ErrorKind::InvalidInput, text));
    };
    let url = format!("{}/{name}", endpoint.trim_end_matches('/'));
    let signature = around.first(&["AZURE_STORAGE_SAS_TOKEN"]).unwrap_or_default();
    let bucket = Bucket { url, listing: Listing::Azure, signer: None };
    Ok((bucket, signature.trim_start_matches('?').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn a_container_is_one_of_the_account() {
        let of = |variables: &[(&str, &str)]| within(variables, &[], |around| find("c", around));
        assert_eq!(of(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let account = ("AZURE_STORAGE_ACCOUNT", "a");
        let (bucket, query) = of(&[account, ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=2")]).unwrap();
        assert_eq!(bucket.url, "https://a.blob.core.windows.net/c");
        assert_eq!(query, "sv=1&sig=2");
        let (bucket, query) = of(&[account, ("AZURE_STORAGE_ENDPOINT", "http://h:1/a/")]).unwrap();
        assert_eq!((bucket.url.as_str(), query.as_str()), ("http://h:1/a/c", ""));
    }
}
