//! The rows of the table suites: nine columns of common types.

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) age: i64,
    pub(crate) score: f64,
    pub(crate) active: bool,
    pub(crate) city: String,
    pub(crate) created: i64,
    pub(crate) note: String,
}

const CITIES: [&str; 8] =
    ["Berlin", "Bordeaux", "Kyoto", "Lagos", "Lima", "Montreal", "Oslo", "Pune"];

/// Row number `id`, the same on every run.
pub(crate) fn person(id: i64) -> Person {
    let mixed = mix(id as u64);
    Person {
        id,
        name: format!("User {}", mixed % 100_000),
        email: format!("user{id}@example.com"),
        age: 18 + (mixed >> 20) as i64 % 60,
        score: (mixed >> 30) as f64 % 1000.0 / 10.0,
        active: mixed >> 41 & 1 == 1,
        city: CITIES[(mixed >> 44) as usize % CITIES.len()].to_owned(),
        created: 1_700_000_000_000_000 + id * 1_000_000,
        note: format!("note {:x}", mixed >> 8),
    }
}

/// Spreads the bits of a number (the finisher of SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
