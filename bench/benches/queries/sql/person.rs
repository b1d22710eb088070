//! The rows: the same in every system.

/// A row of the table.
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) age: i64,
    pub(crate) score: f64,
    pub(crate) active: bool,
    pub(crate) city: String,
    pub(crate) visits: i64,
    pub(crate) note: String,
}

impl Person {
    pub(crate) fn new(id: i64) -> Self {
        // A multiplicative step scatters the numbers over their range.
        let number = id.wrapping_mul(7_919) % 1_000_003;
        Self {
            id,
            name: format!("User {id}"),
            email: format!("user{id}@example.com"),
            age: 18 + number % 60,
            score: (number % 100_000) as f64 / 100.0,
            active: number % 3 == 0,
            city: format!("City {}", number % 100),
            visits: number % 5_000,
            note: "joined from the web".to_owned(),
        }
    }
}
