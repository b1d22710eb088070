//! What is in a folder of a bucket (ListObjectsV2), of a container (List Blobs), or of a repository
//! of the Hub (its interface for trees).
//!
//! Each answers in pages. The Hub answers JSON. Buckets and containers answer XML of a fixed shape,
//! with names that are percent-encoded on request, or escaped: no name can hold a tag, so the
//! elements are found as text.

use std::collections::BTreeMap;
use std::io;

use folio_file::RemoteError;
use serde_json::Value;

use crate::bucket::Listing;
use crate::client::Client;
use crate::encoding::{RESERVED, decode, elements, encode, unescape};
use crate::place::Place;
use crate::reading::Known;

/// Names on a page.
const PAGE_SIZE: usize = 1000;

/// Pages of a directory whose files are all known when it is opened. A collection with a file per
/// document may have any number.
const PAGE_COUNT: usize = 10;

/// The names in a folder, those of folders with a slash at their end: all, or a first page of few.
///
/// # Errors
/// As [`Client::read`].
pub(crate) fn list(client: &Client, folder: &Place, count: usize) -> io::Result<Vec<String>> {
    if let Some((url, inside)) = folder.repository_names() {
        return in_repository(client, folder, &url, inside, count);
    }
    let mut names = Vec::new();
    let page_size = count.clamp(1, PAGE_SIZE);
    read_pages(client, folder, (page_size, false), |listing, page, prefix| {
        names.extend(names_in(listing, page, prefix));
        names.len() < count
    })?;
    Ok(names)
}

/// All files below a folder of a bucket, by their paths in it, each with what is known of it; `None`
/// if there are many, or if the server does not say what proves their content.
///
/// # Errors
/// As [`Client::read`].
pub(crate) fn files_below(
    client: &Client,
    folder: &Place,
) -> io::Result<Option<BTreeMap<String, Known>>> {
    let (mut files, mut page_count, mut is_known) = (BTreeMap::new(), 0, folder.bucket.is_some());
    read_pages(client, folder, (PAGE_SIZE, true), |listing, page, prefix| {
        page_count += 1;
        match files_in(listing, page, prefix).filter(|_| page_count <= PAGE_COUNT) {
            Some(found) => files.extend(found),
            None => is_known = false,
        }
        is_known
    })?;
    Ok(is_known.then_some(files))
}

/// Reads pages of the names in a folder of a bucket, or of all below it, while `take` wants more.
fn read_pages(
    client: &Client,
    folder: &Place,
    (page_size, is_deep): (usize, bool),
    mut take: impl FnMut(Listing, &str, &str) -> bool,
) -> io::Result<()> {
    let Some(listing) = folder.bucket.as_ref().map(|bucket| bucket.listing) else { return Ok(()) };
    let path = folder.shown.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let prefix = match path.map_or("", |(_, key)| key) {
        "" => String::new(),
        key => format!("{key}/"),
    };
    let mut token = String::new();
    loop {
        let query = query(listing, (page_size, is_deep), &prefix, &token);
        let Some(url) = folder.bucket_url(&query) else { return Ok(()) };
        let page = client.page(folder, &url)?.text;
        let wants_more = take(listing, &page, &prefix);
        let next = match listing {
            Listing::S3 => "NextContinuationToken",
            Listing::Azure => "NextMarker",
        };
        token = elements(&page, next).next().map(unescape).unwrap_or_default();
        if token.is_empty() || !wants_more {
            return Ok(());
        }
    }
}

/// What is asked, its names sorted.
fn query(
    listing: Listing,
    (page_size, is_deep): (usize, bool),
    prefix: &str,
    token: &str,
) -> String {
    let (prefix, token) = (encode(prefix, RESERVED), encode(token, RESERVED));
    let after = |name: &str| match token.as_str() {
        "" => String::new(),
        token => format!("{name}={token}&"),
    };
    let delimiter = if is_deep { "" } else { "delimiter=%2F&" };
    match listing {
        Listing::S3 => format!(
            "{}{delimiter}encoding-type=url&list-type=2&max-keys={page_size}&prefix={prefix}",
            after("continuation-token")
        ),
        Listing::Azure => format!(
            "comp=list&{delimiter}{}maxresults={page_size}&prefix={prefix}&restype=container",
            after("marker")
        ),
    }
}

/// The names on a page, without the prefix.
fn names_in(listing: Listing, page: &str, prefix: &str) -> Vec<String> {
    let of = |element: &'static str, name: &'static str| {
        elements(page, element).filter_map(move |found| elements(found, name).next())
    };
    let keys = match listing {
        Listing::S3 => of("Contents", "Key").chain(of("CommonPrefixes", "Prefix")),
        Listing::Azure => of("Blob", "Name").chain(of("BlobPrefix", "Name")),
    };
    let name = |key: &str| {
        let key = key_of(listing, key)?;
        key.strip_prefix(prefix).filter(|name| !name.is_empty()).map(str::to_owned)
    };
    keys.filter_map(name).collect()
}

/// A key, as a page has it.
fn key_of(listing: Listing, text: &str) -> Option<String> {
    match listing {
        // A plus sign stands for a space in some servers' answers.
        Listing::S3 => String::from_utf8(decode(&unescape(text).replace('+', " "))).ok(),
        Listing::Azure => Some(unescape(text)),
    }
}

/// The files on a page, by their paths without the prefix; `None` if one of them has no ETag.
fn files_in(listing: Listing, page: &str, prefix: &str) -> Option<Vec<(String, Known)>> {
    let (element, [key, size, etag, modified]) = match listing {
        Listing::S3 => ("Contents", ["Key", "Size", "ETag", "LastModified"]),
        Listing::Azure => ("Blob", ["Name", "Content-Length", "Etag", "Last-Modified"]),
    };
    let file = |found: &str| {
        let of = |name| elements(found, name).next();
        let path = key_of(listing, of(key)?)?.strip_prefix(prefix)?.to_owned();
        let etag = unescape(of(etag)?);
        // Azure leaves out the quotes that the header has.
        let etag = if etag.starts_with('"') { etag } else { format!("\"{etag}\"") };
        let modified = match listing {
            Listing::S3 => of(modified)?.parse().ok()?,
            Listing::Azure => jiff::fmt::rfc2822::parse(of(modified)?).ok()?.timestamp(),
        };
        // The header has no parts of a second.
        let modified_ns = i128::from(jiff::Timestamp::as_second(modified)) * 1_000_000_000;
        Some((path, Known { size: of(size)?.parse().ok()?, etag: Some(etag), modified_ns }))
    };
    elements(page, element).map(file).collect()
}

/// The names in a folder of a repository. The next page is at the same place, by another query:
/// a mirror may name the Hub, which is not given the token.
fn in_repository(
    client: &Client,
    folder: &Place,
    url: &str,
    inside: &str,
    count: usize,
) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut query = String::new();
    loop {
        let page = match client.page(folder, &format!("{url}{query}")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            page => page?,
        };
        names.extend(names_in_tree(&page.text, inside)?);
        match page.link.as_deref().and_then(next_query) {
            Some(next) if next != query && names.len() < count => query = next,
            _ => return Ok(names),
        }
    }
}

/// The names on a page of a tree, of a folder whose path is encoded.
fn names_in_tree(page: &str, inside: &str) -> io::Result<Vec<String>> {
    let prefix = String::from_utf8_lossy(&decode(inside)).into_owned() + "/";
    let entries: Vec<Value> = serde_json::from_str(page).map_err(|error| {
        let text = format!("the server does not answer as the Hub does: {error}");
        RemoteError::io(io::ErrorKind::Other, text)
    })?;
    let name = |entry: &Value| {
        let path = format!("/{}", entry.get("path")?.as_str()?);
        let name = path.strip_prefix(&prefix).filter(|name| !name.is_empty())?;
        let is_folder = entry.get("type").is_some_and(|kind| kind == "directory");
        Some(if is_folder { format!("{name}/") } else { name.to_owned() })
    };
    Ok(entries.iter().filter_map(name).collect())
}

/// The query of the next page, with its mark.
fn next_query(link: &str) -> Option<String> {
    let mut links = link.split(", ").filter(|link| link.contains("rel=\"next\""));
    let (_, query) = links.next()?.split_once('<')?.1.split_once('>')?.0.split_once('?')?;
    Some(format!("?{query}"))
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

    #[test]
    fn files_have_the_state_that_headers_have() {
        let known =
            |size, modified_ns| Known { size, etag: Some("\"e-1\"".to_owned()), modified_ns };
        let time = 1_795_860_000_000_000_000;
        let page = "<Contents><Key>a/b/x%20y</Key><LastModified>2026-11-28T10:00:00.123Z</LastModified>\
                    <ETag>&quot;e-1&quot;</ETag><Size>7</Size></Contents>";
        assert_eq!(
            files_in(Listing::S3, page, "a/"),
            Some(vec![("b/x y".to_owned(), known(7, time))])
        );
        assert_eq!(files_in(Listing::S3, "<Contents><Key>a/b</Key></Contents>", "a/"), None);
        let page = "<Blob><Name>a/b</Name><Properties><Last-Modified>Sat, 28 Nov 2026 10:00:00 GMT\
                    </Last-Modified><Etag>e-1</Etag><Content-Length>8</Content-Length></Properties></Blob>";
        assert_eq!(
            files_in(Listing::Azure, page, "a/"),
            Some(vec![("b".to_owned(), known(8, time))])
        );
    }

    #[test]
    fn names_of_a_repository_are_those_of_a_folder() {
        let page = r#"[{"type":"directory","oid":"1","size":0,"path":"a b/größe"},
            {"type":"file","oid":"2","size":7,"lfs":{"size":7},"path":"a b/x\"y.json"},
            {"type":"file","path":"other"}]"#;
        assert_eq!(names_in_tree(page, "/a%20b").unwrap(), ["größe/", "x\"y.json"]);
        assert_eq!(names_in_tree(r#"[{"type":"file","path":"x"}]"#, "").unwrap(), ["x"]);
        assert!(names_in_tree("<html>", "").is_err());
        let link = r#"<https://hub/api?limit=1>; rel="first", <https://hub/api?cursor=A%3D&n=1>; rel="next""#;
        assert_eq!(next_query(link).as_deref(), Some("?cursor=A%3D&n=1"));
        assert_eq!(next_query(r#"<https://hub/api?limit=1>; rel="first""#), None);
    }
}
