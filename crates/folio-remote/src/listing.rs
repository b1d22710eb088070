//! What is in a folder of a bucket (ListObjectsV2).
//!
//! The answer is XML of a fixed shape, with names percent-encoded on request. So the elements are
//! found as text, and no name can hold a tag.

use std::io;

use crate::client::Client;
use crate::encoding::{decode, encode};
use crate::place::Place;

/// The names in a folder, those of folders with a slash at their end: all, or a first page of few.
///
/// # Errors
/// As [`Client::read`].
pub(crate) fn list(client: &Client, folder: &Place, count: usize) -> io::Result<Vec<String>> {
    let key = folder.shown.strip_prefix("s3://").and_then(|rest| rest.split_once('/'));
    let prefix = match key.map_or("", |(_, key)| key) {
        "" => String::new(),
        key => format!("{key}/"),
    };
    let page_size = count.clamp(1, 1000);
    let mut names = Vec::new();
    let mut token = String::new();
    loop {
        let next = match token.as_str() {
            "" => String::new(),
            token => format!("continuation-token={}&", encode(token, "")),
        };
        let query = format!(
            "{next}delimiter=%2F&encoding-type=url&list-type=2&max-keys={page_size}&prefix={}",
            encode(&prefix, "")
        );
        let Some(url) = folder.bucket_url(&query) else { return Ok(names) };
        let page = client.text(folder, &url)?;
        names.extend(names_in(&page, &prefix));
        token = match elements(&page, "NextContinuationToken").next() {
            Some(next) if names.len() < count => unescape(next),
            _ => return Ok(names),
        };
    }
}

/// The names on a page, without the prefix.
fn names_in(page: &str, prefix: &str) -> Vec<String> {
    let files = elements(page, "Contents").filter_map(|file| elements(file, "Key").next());
    let folders =
        elements(page, "CommonPrefixes").filter_map(|folder| elements(folder, "Prefix").next());
    let name = |key: &str| {
        // A plus sign stands for a space in some servers' answers.
        let key = String::from_utf8(decode(&unescape(key).replace('+', " "))).ok()?;
        key.strip_prefix(prefix).filter(|name| !name.is_empty()).map(str::to_owned)
    };
    files.chain(folders).filter_map(name).collect()
}

/// The content of each element of a name.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (content, after) = after.split_once(&end)?;
        rest = after;
        Some(content)
    })
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
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
        assert_eq!(names_in(page, "a/"), ["x y&.json", "größe/"]);
        assert_eq!(names_in("<Error><Code>x</Code>", ""), [""; 0]);
    }
}
