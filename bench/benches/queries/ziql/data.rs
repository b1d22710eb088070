//! The data: users who order items, the same for every system and every time.
//!
//! `few` has names and emails of five values; `many` gives every user his own, and an
//! order to every tenth. The same sets as `folio bench ziql` makes.

const NAMES: [&str; 5] = ["Alice", "Bob", "Charlie", "Diana", "Edward"];
const AGES: [i64; 6] = [18, 25, 32, 47, 56, 71];
const ADDRESSES: [&str; 6] = [
    "1 Harbour Street, Bergen",
    "22 Mill Lane, York",
    "3 Rue des Lilas, Lyon",
    "48 Elm Avenue, Boston",
    "5 Gartenweg, Ulm",
    "61 Via Roma, Turin",
];

/// Names of items; categories take turns.
pub(crate) const ITEMS: [&str; 19] = [
    "Atlas", "Apple", "Kite", "Hammer", "Novel", "Bread", "Puzzle", "Saw", "Poems", "Cheese",
    "Robot", "Drill", "Diary", "Honey", "Marbles", "Pliers", "Comic", "Rice", "Yo-yo",
];

/// Names of categories.
pub(crate) const CATEGORIES: [&str; 4] = ["Book", "Food", "Toy", "Tool"];

/// Which users there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataSet {
    Few,
    Many,
}

impl DataSet {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Few => "few",
            Self::Many => "many",
        }
    }
}

/// A user.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) age: i64,
    pub(crate) address: &'static str,
}

/// An order: whose, and positions of items with how many of each.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) user: usize,
    pub(crate) items: Vec<(usize, i64)>,
}

/// All of a data set.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) users: Vec<User>,
    pub(crate) orders: Vec<Order>,
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() % values.len() as u64) as usize]
    }
}

/// Makes a data set.
pub(crate) fn make(set: DataSet, user_count: usize) -> Data {
    let mut dice = Dice(0);
    let users = (0..user_count).map(|number| {
        let (age, address, name) = (dice.of(&AGES), dice.of(&ADDRESSES), dice.of(&NAMES));
        match set {
            DataSet::Few => {
                let email = format!("{}@example.com", dice.of(&NAMES).to_lowercase());
                User { name: name.to_owned(), email, age, address }
            }
            DataSet::Many => {
                let (name, email) =
                    (format!("{name} {number}"), format!("user{number}@example.com"));
                User { name, email, age, address }
            }
        }
    });
    let users: Vec<User> = users.collect();
    let buyers = (0..user_count).step_by(10).filter(|_| set == DataSet::Many);
    let orders = buyers.map(|user| {
        let count = 1 + dice.next() as usize % 3;
        let first = dice.next() as usize % (ITEMS.len() - 2);
        let items = (0..count).map(|n| (first + n, 1 + (dice.next() % 9) as i64)).collect();
        Order { user, items }
    });
    let orders = orders.collect();
    Data { users, orders }
}
