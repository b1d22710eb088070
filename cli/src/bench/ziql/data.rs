//! The data sets: users who order items, generated from a seed and always the same.
//!
//! `few` has five names and emails, six ages and addresses, and no orders, as in the original
//! benchmark. Few distinct values favour a store with a dictionary, so `many` gives every user a
//! unique name and email, and an order to one in ten.

use std::fmt::Write;

use clap::ValueEnum;

use crate::bench::Dice;

/// Which users there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataSet {
    /// Five names, no orders
    Few,
    /// Every name once, an order for every tenth user
    Many,
}

impl DataSet {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Few => "few",
            Self::Many => "many",
        }
    }
}

/// The structs.
pub(super) const SCHEMA: &str = "
    User ( name: str, email: str, age: int, address: str )
    Order ( items: []Item, quantity: []int, at: datetime = NOW, from: User )
    Item ( name: str, price: float, category: Category )
    Category ( name: str )";

/// Users per statement: a text of about half a megabyte.
pub(super) const USERS_PER_STATEMENT: u64 = 5_000;

const NAMES: [&str; 5] = ["Alice", "Bob", "Charlie", "Diana", "Edward"];
const EMAILS: [&str; 5] = [
    "alice@example.com",
    "bob@example.com",
    "charlie@example.com",
    "diana@example.com",
    "edward@example.com",
];
const AGES: [u64; 6] = [18, 25, 32, 47, 56, 71];
const ADDRESSES: [&str; 6] = [
    "1 Harbour Street, Bergen",
    "22 Mill Lane, York",
    "3 Rue des Lilas, Lyon",
    "48 Elm Avenue, Boston",
    "5 Gartenweg, Ulm",
    "61 Via Roma, Turin",
];

const CATEGORIES: [&str; 4] = ["Book", "Food", "Toy", "Tool"];
/// Names of items; their categories alternate.
const ITEMS: [&str; 19] = [
    "Atlas", "Apple", "Kite", "Hammer", "Novel", "Bread", "Puzzle", "Saw", "Poems", "Cheese",
    "Robot", "Drill", "Diary", "Honey", "Marbles", "Pliers", "Comic", "Rice", "Yo-yo",
];

/// The statements that add categories and items.
pub(super) fn fill_statements() -> String {
    let mut text = String::from("ADD Category");
    let mut separator = " (name = ";
    for name in CATEGORIES {
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}'{name}')");
        separator = " (";
    }
    text.push_str("; ADD Item");
    for (index, name) in ITEMS.iter().enumerate() {
        let (category, price) = (CATEGORIES[index % CATEGORIES.len()], index as f64 + 0.5);
        let _ = match index {
            0 => write!(
                text,
                " (name = '{name}', price = {price:?}, category = {{name = '{category}'}})"
            ),
            _ => write!(text, " ('{name}', {price:?}, {{name = '{category}'}})"),
        };
    }
    text
}

/// The statement that adds users, starting at a number.
pub(super) fn users(set: DataSet, from: u64, count: u64, dice: &mut Dice) -> String {
    let mut text = String::from("ADD User");
    for number in from..from + count {
        let named = number == from;
        let _ = text.write_str(if named { " (name = '" } else { " ('" });
        let (age, address) = (dice.of(&AGES), dice.of(&ADDRESSES));
        let _ = match set {
            DataSet::Few => text.write_str(dice.of(&NAMES)),
            DataSet::Many => write!(text, "{} {number}", dice.of(&NAMES)),
        };
        let _ = text.write_str(if named { "', email = '" } else { "', '" });
        let _ = match set {
            DataSet::Few => text.write_str(dice.of(&EMAILS)),
            DataSet::Many => write!(text, "user{number}@example.com"),
        };
        let _ = match named {
            true => write!(text, "', age = {age}, address = '{address}')"),
            false => write!(text, "', {age}, '{address}')"),
        };
    }
    text
}

/// The statement that adds an order for each of these users, with one to three items.
pub(super) fn orders(users: &[String], items: &[String], dice: &mut Dice) -> String {
    let mut text = String::from("ADD Order");
    for (index, user) in users.iter().enumerate() {
        let count = 1 + dice.below(3) as usize;
        let first = dice.below(items.len() as u64 - 2) as usize;
        let own = items[first..first + count].join(", ");
        let quantities: Vec<String> = (0..count).map(|_| (1 + dice.below(9)).to_string()).collect();
        let quantities = quantities.join(", ");
        let _ = match index {
            0 => write!(text, " (items = [{own}], quantity = [{quantities}], from = {user})"),
            _ => write!(text, " ([{own}], [{quantities}], {user})"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_the_same_every_time() {
        let made = |set| users(set, 7, 2, &mut Dice::new(0));
        assert_eq!(made(DataSet::Few), made(DataSet::Few));
        let many = made(DataSet::Many);
        assert!(
            many.starts_with("ADD User (name = '") && many.contains("user8@example.com"),
            "{many}"
        );
    }
}
