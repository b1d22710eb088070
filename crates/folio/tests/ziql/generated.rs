//! Random statements over a small schema. The result is always rows of strict JSON, the same with
//! and without the optimizer's rules, or an error with a position. A failure prints the statement.

use folio::{Database, Level, Session};

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((state ^ (state >> 31)) % end as u64).unwrap()
    }

    pub(crate) fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len())]
    }
}

const SCHEMA: &str = "
    User ( name: str, age: int = 0 index, nick: str?, best: User, friends: []User,
           posts: []Post.author, scores: []int = [], fans: []User.friends )
    Post ( title: str, likes: int = 0, at: date = 2024-01-01, author: User, tags: []Tag )
    Tag ( name: str unique, posts: []Post.tags )";

/// Structs with their values, links to one and links to many.
struct Struct {
    name: &'static str,
    values: &'static [&'static str],
    one: &'static [(&'static str, usize)],
    many: &'static [(&'static str, usize)],
}

const STRUCTS: [Struct; 3] = [
    Struct {
        name: "User",
        values: &["name", "age", "nick", "scores", "id"],
        one: &[("best", 0)],
        many: &[("friends", 0), ("posts", 1), ("fans", 0)],
    },
    Struct {
        name: "Post",
        values: &["title", "likes", "at"],
        one: &[("author", 0)],
        many: &[("tags", 2)],
    },
    Struct { name: "Tag", values: &["name"], one: &[], many: &[("posts", 1)] },
];

impl Random {
    fn filter(&mut self, of: usize, depth: usize) -> String {
        if self.below(6) == 0 {
            return "{}".to_owned();
        }
        format!("{{{}}}", self.condition(of, depth))
    }

    fn condition(&mut self, of: usize, depth: usize) -> String {
        let own = &STRUCTS[of];
        let links = [own.one, own.many].concat();
        match self.below(if depth == 0 { 5 } else { 11 }) {
            0 => format!("{} != none", self.value(of)),
            1 => format!("{} = none", self.value(of)),
            2 => format!(
                "{} {} {}",
                self.number(of),
                self.pick(&["=", "!=", "<", ">="]),
                self.below(60)
            ),
            3 => {
                let op = self.pick(&["LIKE", "!LIKE", "~", "!~"]);
                let part = self.pick(&["a", "n", "1"]);
                let around = if op.ends_with("LIKE") { "%" } else { "" };
                format!("{} {op} '{around}{part}{around}'", self.text(of))
            }
            4 => {
                let op = self.pick(&["IN", "!IN", "ALLIN", "!ALLIN"]);
                format!("{} {op} [1, 20, 34.0]", self.number(of))
            }
            5 => {
                format!("({} OR {})", self.condition(of, depth - 1), self.condition(of, depth - 1))
            }
            6 => format!("{} AND {}", self.condition(of, depth - 1), self.condition(of, depth - 1)),
            7 => format!("NOT ({})", self.condition(of, depth - 1)),
            _ if links.is_empty() => format!("{} = 'a'", self.text(of)),
            8 => {
                let (link, to) = links[self.below(links.len())];
                let op = self.pick(&["IN", "!IN", "ALLIN", "!ALLIN"]);
                format!("{link} {op} {}", self.filter(to, depth - 1))
            }
            9 => {
                let (link, to) = links[self.below(links.len())];
                format!("{link}.{} > {}", self.number(to), self.below(40))
            }
            _ => match own.one {
                [(link, to), ..] => {
                    let op = self.pick(&["=", "!="]);
                    format!("{link} {op} {}", self.filter(*to, depth - 1))
                }
                [] => "true".to_owned(),
            },
        }
    }

    fn value(&mut self, of: usize) -> String {
        let own = &STRUCTS[of];
        let value = self.pick(own.values);
        match own.one {
            [(link, to), ..] if self.below(3) == 0 => format!("{link}.{}", self.value(*to)),
            _ => value.to_owned(),
        }
    }

    fn number(&mut self, of: usize) -> String {
        match of {
            0 if self.below(4) == 0 => "best.age".to_owned(),
            0 => "age".to_owned(),
            1 if self.below(4) == 0 => "author.age".to_owned(),
            1 => "likes".to_owned(),
            _ => "posts.likes".to_owned(),
        }
    }

    fn text(&mut self, of: usize) -> String {
        match of {
            1 => self.pick(&["title", "author.name", "tags.name"]).to_owned(),
            0 => self.pick(&["name", "nick", "friends.name"]).to_owned(),
            _ => "name".to_owned(),
        }
    }

    fn order(&mut self, of: usize) -> String {
        let key = match of {
            1 => self.pick(&["title", "likes", "author.name", "at"]),
            0 => self.pick(&["name", "age", "nick", "best.name", "id"]),
            _ => "name",
        };
        match self.below(3) {
            0 => format!(" |{key}|"),
            1 => format!(" |DESC {key}|"),
            _ => String::new(),
        }
    }

    fn shape(&mut self, of: usize, depth: usize) -> String {
        let own = &STRUCTS[of];
        let limit = match self.below(4) {
            0 => format!("{}; ", self.below(4)),
            1 => format!("{} + {}; ", self.below(4), self.below(3)),
            _ => String::new(),
        };
        let links = [own.one, own.many].concat();
        let mut fields = Vec::new();
        for number in 0..=self.below(4) {
            let link = (!links.is_empty()).then(|| links[self.below(links.len())]);
            fields.push(match (self.below(5), link) {
                (0, Some((link, to))) if depth > 0 => {
                    let shape = self.shape(to, depth - 1);
                    let filter =
                        if self.below(2) == 0 { self.filter(to, 1) } else { String::new() };
                    format!("f{number}: {link} {shape} {filter}{}", self.order(to))
                }
                (1, Some((link, to))) => format!("f{number}: {link}.{}", self.value(to)),
                (2, _) => format!("f{number}: {}", self.condition(of, 1)),
                (3, Some((link, to))) if depth > 0 => {
                    format!("f{number}: {link} [n: COUNT()] {}", self.filter(to, 1))
                }
                _ => format!("f{number}: {}", self.value(of)),
            });
        }
        format!("[{limit}{}]", fields.join(", "))
    }

    fn grab(&mut self) -> String {
        let of = self.below(STRUCTS.len());
        let own = &STRUCTS[of];
        match self.below(8) {
            0 => {
                let (link, to) = own.many[self.below(own.many.len())];
                let (from, shape) = (self.filter(of, 1), self.shape(to, 1));
                // Braces before a dot belong to the source.
                format!("GRAB {} {from}.{link} {shape} {}", own.name, self.filter(to, 2))
            }
            1 => {
                let filter = self.filter(of, 2);
                format!(
                    "GRAB {} [n: COUNT(), m: MAX({})] {filter}",
                    own.name,
                    self.pick(&own.values[..1])
                )
            }
            2 => {
                let (by, filter) = (self.pick(&own.values[..1]), self.filter(of, 2));
                format!("GRAB {} [{by}, n: COUNT()] {filter} BY {by}", own.name)
            }
            3 => {
                let (first, then) = (self.filter(0, 2), self.condition(1, 1));
                let order = self.order(0);
                format!(
                    "GRAB User [3] {first}{order} => some => GRAB Post [title] {{author IN some OR NOT ({then})}}"
                )
            }
            _ => {
                let (shape, filter) = (self.shape(of, 2), self.filter(of, 3));
                format!("GRAB {} {shape} {filter}{}", own.name, self.order(of))
            }
        }
    }
}

/// A database with a few dozen entities linked at random.
pub(crate) fn fill(session: &mut Session, random: &mut Random) {
    session.apply_schema(SCHEMA, false).unwrap();
    for number in 0..20 {
        let nick = if random.below(2) == 0 { "none".to_owned() } else { format!("'k{number}'") };
        let text = format!(
            "ADD User (name = '{}{number}', age = {}, nick = {nick}, scores = [{}, 2])",
            random.pick(&["ann", "bob", "cy"]),
            random.below(50),
            random.below(5)
        );
        session.ziql(&text, &[]).unwrap();
    }
    session.ziql("ADD Tag (name = 'a') ('b') ('c')", &[]).unwrap();
    for number in 0..30 {
        let author = match random.below(5) {
            0 => "none".to_owned(),
            _ => format!("[1]{{age >= {}}}", random.below(30)),
        };
        let text = format!(
            "ADD Post (title = 't{number}', likes = {}, author = {author}, tags = {{name > '{}'}})",
            random.below(40),
            random.pick(&["", "a", "b", "c"])
        );
        session.ziql(&text, &[]).unwrap();
    }
    for _ in 0..15 {
        let (whom, who) = (random.below(50), random.below(50));
        let text = format!(
            "UPDATE User {{age < {whom}}} TO (friends = {{age > {who}}}, best = [1]{{age != {who}}})"
        );
        session.ziql(&text, &[]).unwrap();
    }
}

fn answer(session: &mut Session, text: &str) -> Result<String, String> {
    let rows = session.ziql(text, &[]).map_err(|error| error.to_string());
    let json = rows.and_then(|mut rows| rows.to_json().map_err(|error| error.to_string()))?;
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
    assert!(parsed.is_ok(), "{text}\n{json}");
    Ok(json)
}

#[test]
fn rules_change_no_answer() {
    let rounds = if std::env::var_os("FOLIO_DEEP").is_some() { 40 } else { 1 };
    for seed in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("data")).unwrap();
        let (mut session, mut random) = (database.session().unwrap(), Random(seed));
        fill(&mut session, &mut random);
        let mut answered = 0;
        for _ in 0..1_500 {
            let text = random.grab();
            let full = answer(&mut session, &text);
            session.set_level(Level::None);
            let plain = answer(&mut session, &text);
            session.set_level(Level::Full);
            assert_eq!(full, plain, "seed {seed}: {text}");
            answered += usize::from(full.is_ok());
        }
        assert!(answered > 1_000, "seed {seed}: {answered} statements were answered");
    }
}
