//! Files with keys of service accounts, as Google's console and `gcloud` make them.

use std::io;
use std::path::Path;

use folio_file::RemoteError;
use serde_json::Value;

use crate::bucket::{Secret, ServiceAccount};
use crate::encoding::from_base64;
use crate::surroundings::Surroundings;

/// Reads such a file. Errors have nothing of what is in it but the kind of credentials.
///
/// # Errors
/// `InvalidInput` for another file, or none.
pub(super) fn read(path: &str, around: &Surroundings<'_>) -> io::Result<ServiceAccount> {
    let wrong = |what: &str| {
        let text = format!("GOOGLE_APPLICATION_CREDENTIALS names the file {path:?}, {what}");
        RemoteError::io(io::ErrorKind::InvalidInput, text)
    };
    let text = around
        .read(Path::new(path))
        .map_err(|error| wrong(&format!("which cannot be read: {error}")))?;
    if text.is_empty() {
        return Err(wrong("which is missing or empty"));
    }
    let value: Value = serde_json::from_str(&text).map_err(|_| wrong("which is not JSON"))?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match member("type").as_deref() {
        Some("service_account") => {}
        Some(kind @ ("authorized_user" | "external_account" | "impersonated_service_account")) => {
            return Err(wrong(&format!(
                "which has credentials of the kind {kind}; keys of service accounts are read. Set \
                 CLOUDSDK_AUTH_ACCESS_TOKEN to what `gcloud auth application-default \
                 print-access-token` prints"
            )));
        }
        _ => return Err(wrong("which has no key of a service account")),
    }
    let needed = |name: &str| member(name).ok_or_else(|| wrong(&format!("which has no {name:?}")));
    let key = key_of(&needed("private_key")?);
    Ok(ServiceAccount {
        email: needed("client_email")?,
        key_id: member("private_key_id").unwrap_or_default(),
        key: Secret(key.ok_or_else(|| wrong("whose \"private_key\" is not in PEM"))?),
        token_url: needed("token_uri")?,
    })
}

/// The key in a text of PEM.
fn key_of(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (key, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    from_base64(key).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn the_file_of_a_service_account_is_read() {
        let key = "-----BEGIN PRIVATE KEY-----\\naGlk\\nZGVu\\n-----END PRIVATE KEY-----\\n";
        let file = |kind: &str, key: &str, more: &str| {
            format!(r#"{{"type": "{kind}", "private_key": "{key}", "client_email": "a@b"{more}}}"#)
        };
        let read =
            |text: &str| within(&[], &[("/key.json", text)], |around| read("/key.json", around));
        let url = r#", "token_uri": "https://h/token""#;
        let found = read(&file("service_account", key, url)).unwrap();
        assert_eq!((found.email.as_str(), found.token_url.as_str()), ("a@b", "https://h/token"));
        assert_eq!(found.key.0, b"hidden");
        assert!(!format!("{found:?}").contains(&format!("{:?}", b"hidden")), "{found:?}");
        for (text, told) in [
            (String::new(), "missing or empty"),
            ("hidden".to_owned(), "not JSON"),
            ("[\"hidden\"]".to_owned(), "no key of a service account"),
            (file("authorized_user", "hidden", url), "print-access-token"),
            (file("service_account", "hidden", url), "not in PEM"),
            (file("service_account", key, ""), "no \"token_uri\""),
        ] {
            let error = read(&text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            let error = error.to_string();
            assert!(error.contains(told) && error.contains("/key.json"), "{error}");
            assert!(!error.contains("hidden"), "{error}");
        }
    }
}
