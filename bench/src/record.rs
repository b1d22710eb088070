//! The documents every suite works on.
//!
//! About 200 bytes of JSON with strings, numbers, a boolean, one to three tags
//! and a nested object, drawn from a fixed seed so that every run, on every
//! machine and in every language, sees the same bytes. `_id` stands in the
//! document itself for every system: a document store returns it, so a peer
//! that kept it only as its key would be asked for less.

use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};

/// The seed of every generated data set.
pub const SEED: u64 = 42;

/// One document, in the two forms in which systems are given it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The key, `record_00000001` and up: ascending, so that a bulk load is sorted.
    pub id: String,
    /// The document as a program holds it.
    pub value: Value,
    /// The document as one line of JSON, without a line end.
    pub line: String,
}

/// An endless source of records in ascending order of id.
#[derive(Debug, Clone)]
pub struct Records {
    random: Random,
    number: u64,
}

impl Records {
    /// The records of [`SEED`], from the first.
    #[must_use]
    pub fn new() -> Self {
        Self { random: Random(SEED), number: 0 }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::new()
    }
}

impl Iterator for Records {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        const TAGS: [&str; 8] = ["a", "b", "c", "red", "green", "blue", "new", "sale"];
        const SOURCES: [&str; 4] = ["web", "api", "mobile", "import"];
        self.number += 1;
        let number = self.number;
        let random = &mut self.random;
        let id = id(number);
        let tags: Vec<&str> =
            (0..=random.below(3)).map(|_| TAGS[random.below(8) as usize]).collect();
        let (month, day) = (1 + random.below(12), 1 + random.below(28));
        let value = json!({
            "_id": id,
            "id": id,
            "name": format!("User {number}"),
            "email": format!("user{number}@example.com"),
            "age": 18 + random.below(63),
            "score": random.below(1_000) as f64 / 10.0,
            "active": random.below(2) == 1,
            "tags": tags,
            "metadata": {
                "created": format!("2025-{month:02}-{day:02}"),
                "source": SOURCES[random.below(4) as usize],
            },
        });
        let line = value.to_string();
        Some(Record { id, value, line })
    }
}

/// Writes the first `count` records as JSON Lines.
///
/// # Errors
/// The writer's.
pub fn write_lines(out: impl Write, count: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    for record in Records::new().take(count as usize) {
        writeln!(out, "{}", record.line)?;
    }
    out.flush()
}

/// The id of the record with this number, counted from 1.
#[must_use]
pub fn id(number: u64) -> String {
    format!("record_{number:08}")
}

/// The first `count` records.
#[must_use]
pub fn records(count: u64) -> Vec<Record> {
    Records::new().take(count as usize).collect()
}

/// `count` ids drawn evenly, with repeats, from the first `documents` records.
#[must_use]
pub fn random_ids(documents: u64, count: u64) -> Vec<String> {
    let mut random = Random(SEED ^ 0x9e37);
    (0..count).map(|_| id(1 + random.below(documents))).collect()
}

/// SplitMix64 (Steele, Lea, Flood, 2014): tiny, and the same in every language.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`. The bias of the remainder is below 2^-50 here.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_same_every_time_and_about_200_bytes() {
        let first = records(1_000);
        let again = records(1_000);
        assert!(first.iter().zip(&again).all(|(a, b)| a.line == b.line));
        let size: usize = first.iter().map(|record| record.line.len()).sum();
        assert!((190..=215).contains(&(size / 1_000)), "{} bytes", size / 1_000);
        assert!(first.is_sorted_by_key(|record| record.id.clone()));
    }

    #[test]
    fn the_id_stands_first_and_the_line_parses_to_the_value() {
        for record in records(100) {
            assert!(record.line.starts_with(&format!("{{\"_id\":\"{}\"", record.id)));
            let parsed: Value = serde_json::from_str(&record.line).expect("our own JSON");
            assert_eq!(parsed, record.value);
        }
    }
}
