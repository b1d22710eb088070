//! Documents to be found by their fields.
//!
//! The records of every suite with two differences: `rank` is a number that each
//! document has for itself, and `email` is made of it. So a range of ranks has as many
//! documents as it is wide, and neither field ascends with the id.

use folio_bench::record::{Record, Records};
use serde_json::{Value, json};

/// A prime larger than any number of documents here: its multiples, reduced to the
/// number of ranks, meet each rank once.
const STEP: u64 = 2_147_483_647;

/// Ranks are spread over blocks of so many documents.
const BLOCK: u64 = 100_000;

/// The rank of the document with this number, counted from 1.
pub(crate) fn rank(number: u64) -> u64 {
    let (block, place) = ((number - 1) / BLOCK, (number - 1) % BLOCK);
    // Blocks interleave, so that what is added later falls between what is there.
    (place * STEP % BLOCK) * 100 + block
}

/// The email of the document with this rank.
pub(crate) fn email(rank: u64) -> String {
    format!("user{rank:09}@example.com")
}

/// The documents from the first on.
pub(crate) fn people() -> impl Iterator<Item = Record> {
    Records::new().zip(1..).map(|(record, number)| person(record, number))
}

fn person(mut record: Record, number: u64) -> Record {
    let rank = rank(number);
    if let Value::Object(members) = &mut record.value {
        members.insert("email".into(), json!(email(rank)));
        members.insert("rank".into(), json!(rank));
    }
    record.line = record.value.to_string();
    record
}
