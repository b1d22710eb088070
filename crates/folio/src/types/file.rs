//! The types of a collection in a file beside its index, for the next process.
//!
//! ```text
//! {"folio_types":2,"size":440000000,"document_count":1000000,"blocks_sum":"…","tail_sum":"…"}
//! {"types":2,"documents":1000000,"repeated_keys":false}
//! {"path":["_id"],"string":1000000}
//! …                                     a line for each path, as `folio-json` writes them
//! {"checksum":"0123456789abcdef"}
//! ```
//!
//! The first line is the stamp of the lines that the types describe (`folio_document::Stamp`). The
//! last one has the XXH3-64 of everything before it.
//!
//! The file is derived. It is believed only if it is whole, and the data file begins with the lines
//! of its stamp. Otherwise it counts as missing. So nothing here returns an error, and a file that
//! cannot be written is no failure either: the next process reads the documents.

use folio_document::{Collection, Stamp, Version};
use folio_json::Tree;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// The format version that is written.
const FORMAT: u64 = 2;

/// The size of the last line.
const CHECKSUM_SIZE: usize = 32;

/// A larger file is not written.
const SIZE_MAX: usize = 8 << 20;

/// Types as they are kept in the file.
#[derive(Debug)]
pub(super) struct KeptTypes {
    pub(super) version: Version,
    pub(super) types: Tree,
    /// The size of the file.
    pub(super) file_size: usize,
}

/// Reads the types of a version of the collection that it is at, or has grown from.
pub(super) fn read(collection: &Collection) -> Option<KeptTypes> {
    let bytes = collection.read_types().ok()??;
    let Some((stamp, types)) = parse(&bytes) else {
        collection.forget_types();
        return None;
    };
    let version = collection.version_of(&stamp).ok()??;
    Some(KeptTypes { version, types, file_size: bytes.len() })
}

/// Writes the types of a version. Returns the size of the file; `None` if it was not written.
pub(super) fn write(collection: &Collection, version: &Version, types: &Tree) -> Option<usize> {
    let stamp = collection.stamp_of(version).ok()??;
    let bytes = to_bytes(&stamp, types)?;
    collection.replace_types(&bytes).ok()?.then_some(bytes.len())
}

/// Whether there is a file that no process has written like this. One of an earlier release is not
/// damaged.
pub(super) fn is_damaged(collection: &Collection) -> bool {
    let bytes = collection.read_types().ok().flatten();
    let is_earlier = |bytes: &[u8]| opened(bytes).is_some_and(|(format, ..)| format < FORMAT);
    bytes.is_some_and(|bytes| parse(&bytes).is_none() && !is_earlier(&bytes))
}

/// The file, for lines with this stamp.
pub(super) fn to_bytes(stamp: &Stamp, types: &Tree) -> Option<Vec<u8>> {
    let Stamp { size, document_count, blocks_sum, tail_sum } = stamp;
    let mut bytes = format!(
        "{{\"folio_types\":{FORMAT},\"size\":{size},\"document_count\":{document_count},\
         \"blocks_sum\":\"{blocks_sum:016x}\",\"tail_sum\":\"{tail_sum:016x}\"}}\n"
    )
    .into_bytes();
    bytes.extend(types.to_lines(SIZE_MAX)?);
    let checksum = checksum_line(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    Some(bytes)
}

/// The format version of a file that is whole, its first line, and those of the tree.
fn opened(bytes: &[u8]) -> Option<(u64, Value, &[u8])> {
    let (whole, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_SIZE)?)?;
    if checksum != checksum_line(whole).as_bytes() {
        return None;
    }
    let (header, lines) = whole.split_at(memchr::memchr(b'\n', whole)? + 1);
    let header: Value = serde_json::from_slice(header).ok()?;
    Some((header.get("folio_types")?.as_u64()?, header, lines))
}

fn parse(bytes: &[u8]) -> Option<(Stamp, Tree)> {
    let (FORMAT, header, lines) = opened(bytes)? else { return None };
    let number = |name| header.get(name)?.as_u64();
    let sum = |name| u64::from_str_radix(header.get(name)?.as_str()?, 16).ok();
    let stamp = Stamp {
        size: number("size")?,
        document_count: number("document_count")?,
        blocks_sum: sum("blocks_sum")?,
        tail_sum: sum("tail_sum")?,
    };
    Some((stamp, Tree::from_lines(lines).ok()?))
}

fn checksum_line(bytes: &[u8]) -> String {
    format!("{}\n", json!({"checksum": format!("{:016x}", xxh3_64(bytes))}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_are_read() {
        let mut types = Tree::default();
        types.observe(br#"{"_id":"a","o":{"n":[1]}}"#).expect("a document");
        let stamp = Stamp { size: 26, document_count: 1, blocks_sum: u64::MAX, tail_sum: 7 };
        let bytes = to_bytes(&stamp, &types).expect("it is short");
        let (read, tree) = parse(&bytes).expect("what was written");
        assert_eq!(read, stamp);
        assert_eq!(tree.fields(), types.fields());
        for at in 0..bytes.len() {
            assert!(parse(&bytes[..at]).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(parse(&damaged).is_none(), "bit {bit} of byte {at}");
            }
        }
        // Another version is not read, and known for what it is.
        let text = String::from_utf8(bytes).expect("UTF-8");
        let mut earlier = text[..text.len() - CHECKSUM_SIZE].replacen(":2,", ":1,", 1).into_bytes();
        earlier.extend_from_slice(checksum_line(&earlier).as_bytes());
        assert!(parse(&earlier).is_none());
        assert!(opened(&earlier).is_some_and(|(format, ..)| format == 1));
    }
}
