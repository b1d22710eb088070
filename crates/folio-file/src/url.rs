//! Which paths are URLs, and which URLs are paths.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// Whether a path is a URL: a scheme, and `://`.
///
/// ```
/// use folio_file::is_url;
/// assert!(is_url("s3://bucket") && is_url("x+y.z-1://"));
/// assert!(!is_url("a/b://c") && !is_url("://") && !is_url("C:/x") && !is_url("1a://x"));
/// ```
#[must_use]
pub fn is_url(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next))
    })
}

/// The path of a `file:` URL (RFC 8089); `None` for another text.
///
/// ```
/// use folio_file::path_of_file_url;
/// assert!(path_of_file_url("file:///a%20b").is_some_and(|path| path.is_ok()));
/// assert!(path_of_file_url("file:a").is_some_and(|path| path.is_err()));
/// assert!(path_of_file_url("a/file:b").is_none());
/// ```
#[must_use]
pub fn path_of_file_url(text: &str) -> Option<Result<PathBuf, &'static str>> {
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Some(Err("it names another machine; name a path of this one"));
            }
            &rest[host.len()..]
        }
        None => rest,
    };
    // The root of a drive is at the beginning of a path, and not of a URL.
    let is_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    if !path.starts_with('/') {
        return Some(Err("a file: URL has an absolute path, as in file:///data/mydata"));
    }
    let path = percent_decode_str(&path[usize::from(is_drive)..]).decode_utf8();
    let path = path.map(|path| PathBuf::from(path.into_owned()));
    Some(path.map_err(|_| "its path is not UTF-8; name the path itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn file_urls_are_paths() {
        for (text, path) in [
            ("file:/p/d", "/p/d"),
            ("file:///p/d/", "/p/d/"),
            ("file://localhost/p", "/p"),
            ("FILE://LOCALHOST/p", "/p"),
            ("file:///a%20b%C3%BC", "/a b\u{fc}"),
            ("file:///100%", "/100%"),
        ] {
            assert_eq!(path_of_file_url(text), Some(Ok(PathBuf::from(path))), "{text}");
        }
        for (text, reason) in [
            ("file:p", "absolute path"),
            ("file:", "absolute path"),
            ("file://", "absolute path"),
            ("file://localhost", "absolute path"),
            ("file://host/p", "another machine"),
            ("file:///%FF", "UTF-8"),
        ] {
            let error = path_of_file_url(text).unwrap().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        for text in ["p", "./file:p", "files:/p", "C:/p", ""] {
            assert_eq!(path_of_file_url(text), None, "{text}");
        }
    }
}
