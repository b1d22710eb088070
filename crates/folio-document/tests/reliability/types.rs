//! The file of types: whatever happened, one that is believed is of lines that are still there.
//!
//! What types are is the facade's matter. Here the file has the lines themselves that its maker read,
//! with the stamp of them and a checksum, as the file of types has. If it is believed, each document
//! is one that its maker read, or comes with the lines that were added since.

use std::collections::HashSet;

use folio_document::{Collection, Error, Result, Scan, Stamp};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::{Content, line_text};

/// Writes the file, as is done after a flush. It is derived: that it cannot be written fails nobody.
pub(crate) fn keep(collection: &Collection) {
    let _ = try_to_keep(collection);
}

fn try_to_keep(collection: &Collection) -> Result<()> {
    let mut documents = collection.scan(Scan::new())?;
    let mut lines = Vec::new();
    while let Some(line) = documents.next_line()? {
        lines.push(String::from_utf8_lossy(line).into_owned());
    }
    let Some(version) = documents.version() else { return Ok(()) };
    let Some(stamp) = collection.stamp_of(&version)? else { return Ok(()) };
    let content = json!({
        "size": stamp.size,
        "document_count": stamp.document_count,
        "blocks_sum": stamp.blocks_sum,
        "tail_sum": stamp.tail_sum,
        "lines": lines,
    });
    let text = content.to_string();
    let bytes = format!("{text}\n{:016x}", xxh3_64(text.as_bytes()));
    collection.replace_types(bytes.as_bytes()).map(drop)
}

/// Compares the file, if it is believed, with what a scan has found.
pub(crate) fn compare(
    collection: &Collection,
    scanned: &Content,
) -> std::result::Result<(), String> {
    let failed = |error: Error| format!("reading what was added since fails: {error}");
    // A file that cannot be read counts as missing.
    let Some((stamp, mut known)) = collection.read_types().ok().flatten().and_then(|b| parse(&b))
    else {
        return Ok(());
    };
    let Some(version) = collection.version_of(&stamp).ok().flatten() else { return Ok(()) };
    let Some(mut added) = collection.scan_since(&version).map_err(failed)? else { return Ok(()) };
    while let Some(line) = added.next_line().map_err(failed)? {
        known.insert(String::from_utf8_lossy(line).into_owned());
    }
    match scanned.iter().find(|(_, line)| !known.contains(line)) {
        None => Ok(()),
        Some((_, line)) => Err(format!("the types believed are not of {}", line_text(line))),
    }
}

fn parse(bytes: &[u8]) -> Option<(Stamp, HashSet<String>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (text, sum) = text.rsplit_once('\n')?;
    if u64::from_str_radix(sum, 16).ok()? != xxh3_64(text.as_bytes()) {
        return None;
    }
    let content: Value = serde_json::from_str(text).ok()?;
    let number = |name: &str| content.get(name)?.as_u64();
    let stamp = Stamp {
        size: number("size")?,
        document_count: number("document_count")?,
        blocks_sum: number("blocks_sum")?,
        tail_sum: number("tail_sum")?,
    };
    let lines = content.get("lines")?.as_array()?.iter();
    Some((stamp, lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect()))
}
