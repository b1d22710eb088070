//! The settings that programs of Azure read.

use crate::surroundings::Surroundings;

/// Where an account is, and what proves who asks.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) endpoint: Option<String>,
    pub(super) account: Option<String>,
    /// A shared access signature.
    pub(super) signature: Option<String>,
    /// The key of the account, in base 64.
    pub(super) key: Option<String>,
}

impl Settings {
    /// From the connection string, as for `az`, and for what it does not say from variables. A
    /// proof in the string is for its account, so those of variables are not used beside it.
    pub(super) fn find(around: &Surroundings<'_>) -> Self {
        let text = around.first(&["AZURE_STORAGE_CONNECTION_STRING"]).unwrap_or_default();
        let part = |name| part_of(&text, name);
        let account = part("AccountName")
            .or_else(|| around.first(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]));
        let endpoint = part("BlobEndpoint").or_else(|| around.first(&["AZURE_STORAGE_ENDPOINT"]));
        let endpoint = endpoint.or_else(|| {
            let protocol = part("DefaultEndpointsProtocol").unwrap_or_else(|| "https".to_owned());
            let suffix = part("EndpointSuffix").unwrap_or_else(|| "core.windows.net".to_owned());
            Some(format!("{protocol}://{}.blob.{suffix}", account.as_ref()?))
        });
        let (mut signature, mut key) = (part("SharedAccessSignature"), part("AccountKey"));
        if signature.is_none() && key.is_none() {
            signature = around.first(&["AZURE_STORAGE_SAS_TOKEN"]);
            key = around.first(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]);
        }
        Self { endpoint, account, signature, key }
    }
}

/// A part of a connection string: `Name=value;Name=value`.
fn part_of(text: &str, name: &str) -> Option<String> {
    let parts = text.split(';').filter_map(|part| part.split_once('='));
    let mut values = parts.filter(|(own, _)| own.trim().eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::within;

    #[test]
    fn a_connection_string_comes_before_variables() {
        let variables = [
            ("AZURE_STORAGE_ACCOUNT", "v"),
            ("AZURE_STORAGE_KEY", "dg=="),
            ("AZURE_STORAGE_SAS_TOKEN", "sig=v"),
        ];
        for (text, endpoint, account, signature, key) in [
            ("", "https://v.blob.core.windows.net", "v", "sig=v", "dg=="),
            (
                "DefaultEndpointsProtocol=http;AccountName=s;AccountKey=cw==;EndpointSuffix=x.cn",
                "http://s.blob.x.cn",
                "s",
                "",
                "cw==",
            ),
            ("accountname=s; BlobEndpoint=http://h:1/s/;", "http://h:1/s/", "s", "sig=v", "dg=="),
            (
                "BlobEndpoint=http://h;SharedAccessSignature=sv=1&sig=s",
                "http://h",
                "v",
                "sv=1&sig=s",
                "",
            ),
        ] {
            let all = variables.into_iter().chain([("AZURE_STORAGE_CONNECTION_STRING", text)]);
            let found = within(&all.collect::<Vec<_>>(), &[], Settings::find);
            let of = |value: Option<String>| value.unwrap_or_default();
            assert_eq!(of(found.endpoint), endpoint, "{text}");
            assert_eq!(of(found.account), account, "{text}");
            assert_eq!(
                (of(found.signature), of(found.key)),
                (signature.to_owned(), key.to_owned())
            );
        }
    }
}
