//! Random changes, compared with a model of their effect: no pair of them damages anything. A
//! refused change has no effect, links refer to existing entities, both sides of a link agree, and
//! everything is there after reopening.

use folio::{Database, Session};
use serde_json::{Value as Json, json};

use crate::generated::Random;

const SCHEMA: &str = "
    User ( name: str unique, age: int = 0, best: User, boss: User on delete cascade,
           team: Team on delete restrict, friends: []User, scores: []int = [],
           fans: []User.friends, staff: []User.boss )
    Team ( name: str unique, members: []User.team )
    Club ( name: str unique, leads: []User on delete cascade, guests: []User )";

const STATE: &str = "GRAB User [name, age, best.name, boss.name, team.name, friends.name, scores, \
                     fans.name, staff.name]";
const CLUBS: &str = "GRAB Club [name, leads.name, guests.name]";
const TEAMS: &str = "GRAB Team [name, members.name]";

#[derive(Debug, Clone, Default)]
struct User {
    name: String,
    age: i64,
    best: Option<String>,
    boss: Option<String>,
    team: Option<String>,
    friends: Vec<String>,
    scores: Vec<i64>,
}

#[derive(Debug, Clone)]
struct Club {
    name: String,
    leads: Vec<String>,
    guests: Vec<String>,
}

/// The expected users, in the order they were added.
#[derive(Debug, Clone, Default)]
struct Model {
    users: Vec<User>,
    teams: Vec<String>,
    clubs: Vec<Club>,
    made: usize,
}

/// Whether a user meets the condition.
type Test<'m> = Box<dyn Fn(&User) -> bool + 'm>;

/// A change of a list; `false` if it is refused.
type ListChange = Box<dyn Fn(&mut Vec<String>) -> bool>;

/// A change: its text, and the resulting model; `None` if it is refused.
type Change = (String, Option<Model>);

impl Model {
    fn json(&self) -> [Json; 3] {
        let whose = |is_it: &dyn Fn(&User) -> bool| -> Vec<&str> {
            self.users.iter().filter(|user| is_it(user)).map(|user| &*user.name).collect()
        };
        let user = |user: &User| {
            let User { name, age, best, boss, team, friends, scores } = user;
            json!({
                "name": name, "age": age, "best.name": best, "boss.name": boss, "team.name": team,
                "friends.name": friends, "scores": scores,
                "fans.name": whose(&|other| other.friends.contains(name)),
                "staff.name": whose(&|other| other.boss.as_ref() == Some(name)),
            })
        };
        let team = |team: &String| json!({ "name": team, "members.name": whose(&|user| user.team.as_ref() == Some(team)) });
        let club = |club: &Club| json!({ "name": club.name, "leads.name": club.leads, "guests.name": club.guests });
        [
            self.users.iter().map(user).collect(),
            self.teams.iter().map(team).collect(),
            self.clubs.iter().map(club).collect(),
        ]
    }

    /// A condition on users, and the names of those who meet it.
    fn filter(&self, random: &mut Random) -> (String, Vec<String>) {
        let number = random.below(40) as i64;
        let some = match self.users.len() {
            0 => "nobody".to_owned(),
            count => self.users[random.below(count)].name.clone(),
        };
        let age_of = |name: &String| self.users.iter().find(|user| user.name == *name).unwrap().age;
        let (text, passes): (String, Test<'_>) = match random.below(7) {
            0 => (format!("age < {number}"), Box::new(move |user| user.age < number)),
            1 => (format!("age >= {number}"), Box::new(move |user| user.age >= number)),
            2 | 3 => (format!("name = '{some}'"), Box::new(move |user| user.name == some)),
            4 => (
                format!("friends IN {{age < {number}}}"),
                Box::new(move |user| user.friends.iter().any(|friend| age_of(friend) < number)),
            ),
            5 => ("best != none".to_owned(), Box::new(|user| user.best.is_some())),
            _ => (
                format!("NOT boss.age > {number}"),
                Box::new(move |user| user.boss.as_ref().is_none_or(|boss| age_of(boss) <= number)),
            ),
        };
        let names = self.users.iter().filter(|user| passes(user)).map(|user| user.name.clone());
        let names = names.collect();
        (format!("{{{text}}}"), names)
    }

    /// The value for a to-one link; `Err` if it is refused.
    fn one(&self, random: &mut Random) -> (String, Result<Option<String>, ()>) {
        let (filter, names) = self.filter(random);
        match random.below(4) {
            0 => ("none".to_owned(), Ok(None)),
            1 => {
                let only = if names.len() == 1 { Ok(names.first().cloned()) } else { Err(()) };
                (filter, only)
            }
            _ => {
                let first = names.first().cloned();
                (format!("[1]{filter}"), first.map(Some).ok_or(()))
            }
        }
    }

    fn add(&self, random: &mut Random) -> Change {
        let (mut after, mut text, mut is_refused) = (self.clone(), String::from("ADD User"), false);
        for number in 0..1 + random.below(3) {
            let is_taken = !self.users.is_empty() && random.below(8) == 0;
            let name = match is_taken {
                true => self.users[random.below(self.users.len())].name.clone(),
                false => format!("u{}", self.made + number),
            };
            after.made += 1;
            let (age, (best, best_name)) = (random.below(40) as i64, self.one(random));
            let ((boss, boss_name), (filter, friends)) = (self.one(random), self.filter(random));
            is_refused |= best_name.is_err() || boss_name.is_err();
            is_refused |= after.users.iter().any(|user| user.name == name);
            let team = self.teams.first().filter(|_| random.below(3) == 0).cloned();
            let in_team =
                team.as_ref().map_or("none".to_owned(), |team| format!("{{name = '{team}'}}"));
            text += &format!(
                " (name = '{name}', age = {age}, best = {best}, boss = {boss}, team = {in_team}, \
                 friends = {filter}, scores = [{age}, 1])"
            );
            after.users.push(User {
                name,
                age,
                best: best_name.unwrap_or_default(),
                boss: boss_name.unwrap_or_default(),
                team,
                friends,
                scores: vec![age, 1],
            });
        }
        (text, (!is_refused).then_some(after))
    }

    fn update(&self, random: &mut Random) -> Change {
        let (filter, whom) = self.filter(random);
        let mut after = self.clone();
        let mut whom: Vec<&mut User> =
            after.users.iter_mut().filter(|user| whom.contains(&user.name)).collect();
        let (mut items, mut is_refused) = (Vec::new(), false);
        if random.below(2) == 0 {
            let by = random.below(9) as i64 - 4;
            items.push(format!("age += {by}"));
            whom.iter_mut().for_each(|user| user.age += by);
        }
        if random.below(2) == 0 {
            let (best, name) = self.one(random);
            items.push(format!("best = {best}"));
            is_refused |= name.is_err();
            whom.iter_mut().for_each(|user| user.best = name.clone().unwrap_or_default());
        }
        let (item, change) = self.change_of_friends(random);
        items.extend(item);
        whom.iter_mut().for_each(|user| is_refused |= !change(&mut user.friends));
        if random.below(3) == 0 {
            items.push("scores APPEND age".to_owned());
            let age_before =
                |name: &str| self.users.iter().find(|user| user.name == name).unwrap().age;
            whom.iter_mut().for_each(|user| user.scores.push(age_before(&user.name)));
        }
        let text = format!("UPDATE User {filter} TO ({})", items.join(", "));
        (text, (!is_refused).then_some(after))
    }

    /// A change of friends, as text and as a change of the list: `false` if it is refused.
    fn change_of_friends(&self, random: &mut Random) -> (Option<String>, ListChange) {
        let (filter, names) = self.filter(random);
        let place = random.below(3);
        match random.below(7) {
            0 => (
                Some(format!("friends = {filter}")),
                Box::new(move |friends| {
                    friends.clone_from(&names);
                    true
                }),
            ),
            1 | 2 => (
                Some(format!("friends APPEND {filter}")),
                Box::new(move |friends| {
                    let new = names.iter().filter(|name| !friends.contains(name)).cloned();
                    let new: Vec<String> = new.collect();
                    friends.extend(new);
                    true
                }),
            ),
            3 => (
                Some(format!("friends REMOVE {filter}")),
                Box::new(move |friends| {
                    friends.retain(|name| !names.contains(name));
                    true
                }),
            ),
            4 => (
                Some(format!("friends REMOVEAT {place}")),
                Box::new(move |friends| {
                    let is_there = place < friends.len();
                    if is_there {
                        friends.remove(place);
                    }
                    is_there
                }),
            ),
            5 => (
                Some("friends POP".to_owned()),
                Box::new(|friends| {
                    friends.pop();
                    true
                }),
            ),
            _ => (None, Box::new(|_| true)),
        }
    }

    fn delete(&self, random: &mut Random) -> Change {
        let (filter, mut gone) = self.filter(random);
        let mut after = self.clone();
        // Staff is deleted with its boss, their staff too, and so on.
        while let Some(at) = after.users.iter().position(|user| {
            gone.contains(&user.name) || user.boss.as_ref().is_some_and(|boss| gone.contains(boss))
        }) {
            gone.push(after.users.remove(at).name);
        }
        let stays = |name: &String| !gone.contains(name);
        for user in &mut after.users {
            user.best = user.best.take().filter(stays);
            user.friends.retain(stays);
        }
        after.clubs.retain(|club| club.leads.iter().all(stays));
        after.clubs.iter_mut().for_each(|club| club.guests.retain(stays));
        (format!("DELETE User {filter}"), Some(after))
    }

    fn other(&self, random: &mut Random) -> Change {
        let mut after = self.clone();
        after.made += 1;
        let name = format!("n{}", self.made);
        match random.below(4) {
            0 => {
                after.teams.push(name.clone());
                (format!("ADD Team (name = '{name}')"), Some(after))
            }
            1 if !self.teams.is_empty() => {
                let team = after.teams.remove(random.below(self.teams.len()));
                let is_empty = !self.users.iter().any(|user| user.team.as_ref() == Some(&team));
                (format!("DELETE Team {{name = '{team}'}}"), is_empty.then_some(after))
            }
            2 if !self.clubs.is_empty() => {
                after.clubs.clear();
                ("DELETE Club {}".to_owned(), Some(after))
            }
            _ => {
                let ((one, leads), (two, guests)) = (self.filter(random), self.filter(random));
                let text = format!("ADD Club (name = '{name}', leads = {one}, guests = {two})");
                after.clubs.push(Club { name, leads, guests });
                (text, Some(after))
            }
        }
    }

    fn change(&self, random: &mut Random) -> Change {
        match random.below(12) {
            0..4 => self.add(random),
            4..8 => self.update(random),
            8 => self.delete(random),
            9 | 10 => self.other(random),
            _ => {
                // A statement takes effect as a whole or not at all.
                let (first, between) = self.change(random);
                let Some(between) = between else { return (first, None) };
                let (second, after) = between.change(random);
                (format!("{first} => {second}"), after)
            }
        }
    }
}

fn asked(session: &mut Session, text: &str) -> Result<Json, folio::Error> {
    let json = session.ziql(text, &[])?.to_json()?;
    Ok(serde_json::from_str(&json).expect("answers are JSON"))
}

#[test]
fn changes_leave_what_the_model_says() {
    let rounds = if std::env::var_os("FOLIO_DEEP").is_some() { 60 } else { 2 };
    for seed in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path().join("data")).unwrap();
        let mut database = open();
        let mut session = database.session().unwrap();
        session.apply_schema(SCHEMA, false).unwrap();
        let (mut model, mut random) = (Model::default(), Random(seed));
        let (mut taken, mut refused) = (0, 0);
        for step in 0..250 {
            let (text, after) = model.change(&mut random);
            let done = asked(&mut session, &text);
            let reported = format!("seed {seed}, step {step}: {text}\n{done:?}");
            assert_eq!(done.is_ok(), after.is_some(), "{reported}");
            if let Some(after) = after {
                (model, taken) = (after, taken + 1);
            } else {
                // Names are never reused.
                (model.made, refused) = (model.made + 8, refused + 1);
            }
            let found = [STATE, TEAMS, CLUBS].map(|text| asked(&mut session, text).unwrap());
            assert_eq!(found, model.json(), "{reported}");
            if step % 50 == 49 {
                let report = database.tables().unwrap().check().unwrap().expect("there are tables");
                assert!(report.problems.is_empty(), "{reported}\n{:?}", report.problems);
                drop(session);
                database.close().unwrap();
                database = open();
                session = database.session().unwrap();
            }
        }
        assert!(taken > 100 && refused > 10, "seed {seed}: {taken} taken, {refused} refused");
    }
}
