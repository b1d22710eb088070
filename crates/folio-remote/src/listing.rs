//! What is in a folder of a bucket (ListObjectsV2), or of a container (List Blobs).
//!
//! Its names are percent-encoded on request, or escaped, so no name can hold a tag.

use std::io;

use crate::bucket::Listing;
use crate::client::Client;
use crate::encoding::{decode, elements, encode, unescape};
use crate::place::Place;

/// The names in a folder, those of folders with a slash at their end: all, or a first page of few.
///
/// # Errors
/// As [`Client::read`].
pub(crate) fn list(client: &Client, folder: &Place, count: usize) -> io::Result<Vec<String>> {
    let Some(listing) = folder.bucket.as_ref().map(|bucket| bucket.listing) else {
        return Ok(Vec::new());
    };
    let path = folder.shown.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let prefix = match path.map_or("", |(_, key)| key) {
        "" => String::new(),
        key => format!("{key}/"),
    };
    let page_size = count.clamp(1, 1000);
    let mut names = Vec::new();
    let mut token = String::new();
    loop {
        let query = query(listing, page_size, &prefix, &token);
        let Some(url) = folder.bucket_url(&query) else { return Ok(names) };
        let page = client.text(folder, &url)?;
        names.extend(names_in(listing, &page, &prefix));
        let next = match listing {
            Listing::S3 => "NextContinuationToken",
            Listing::Azure => "NextMarker",
        };
        token = elements(&page, next).next().map(unescape).unwrap_or_default();
        if token.is_empty() || names.len() >= count {
            return Ok(names);
        }
    }
}

/// What is asked, its names sorted.
fn query(listing: Listing, page_size: usize, prefix: &str, token: &str) -> String {
    let (prefix, token) = (encode(prefix, ""), encode(token, ""));
    let after = |name: &str| match token.as_str() {
        "" => String::new(),
        token => format!("{name}={token}&"),
    };
    match listing {
        Listing::S3 => format!(
            "{}delimiter=%2F&encoding-type=url&list-type=2&max-keys={page_size}&prefix={prefix}",
            after("continuation-token")
        ),
        Listing::Azure => format!(
            "comp=list&delimiter=%2F&{}maxresults={page_size}&prefix={prefix}&restype=container",
            after("marker")
        ),
    }
}

/// The names on a page, without the prefix.
fn names_in(listing: Listing, page: &str, prefix: &str) -> Vec<String> {
    let of = |element: &'static str, name: &'static str| {
        elements(page, element).filter_map(move |found| elements(found, name).next())
    };
    let keys: Vec<String> = match listing {
        Listing::S3 => of("Contents", "Key")
            .chain(of("CommonPrefixes", "Prefix"))
            // A plus sign stands for a space in some servers' answers.
            .filter_map(|key| String::from_utf8(decode(&unescape(key).replace('+', " "))).ok())
            .collect(),
        Listing::Azure => {
            of("Blob", "Name").chain(of("BlobPrefix", "Name")).map(unescape).collect()
        }
    };
    let name =
        |key: String| key.strip_prefix(prefix).filter(|name| !name.is_empty()).map(str::to_owned);
    keys.into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_below_the_prefix() {
        let page = "<ListBucketResult><Prefix>a/</Prefix><Contents><Key>a/</Key></Contents>\
                    <Contents><Key>a/x%20y%26.json</Key><Size>1</Size></Contents>\
                    <CommonPrefixes><Prefix>a/gr%C3%B6%C3%9Fe/</Prefix></CommonPrefixes>\
                    </ListBucketResult>";
        assert_eq!(names_in(Listing::S3, page, "a/"), ["x y&.json", "größe/"]);
        assert_eq!(names_in(Listing::S3, "<Error><Code>x</Code>", ""), [""; 0]);
        let page = "<EnumerationResults><Blobs><Blob><Name>a/x+y%26&amp;.json</Name></Blob>\
                    <BlobPrefix><Name>a/größe/</Name></BlobPrefix></Blobs><NextMarker />\
                    </EnumerationResults>";
        assert_eq!(names_in(Listing::Azure, page, "a/"), ["x+y%26&.json", "größe/"]);
    }
}
