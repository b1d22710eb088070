//! Which paths are URLs.

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
