//! Counts in words.

/// `1 document`, `2 documents`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
