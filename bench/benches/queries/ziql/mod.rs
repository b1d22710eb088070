//! ZiQL: FolioDB and SQLite, questions in, JSON out.
//!
//! A million users unless said otherwise, in two data sets (`data.rs`), and ten links of
//! each of as many persons (`links.rs`). Every answer is
//! written as JSON; the text of a question is new to nobody. The figure that counts is
//! processor time, which other work on the machine disturbs least.
//!
//! `bench/run ziql` runs this and DuckDB's part.

mod data;
mod folio;
mod links;
mod sqlite;

use std::path::Path;

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::results::Size;
use folio_bench::suite::{Suite, Workload};

use data::{Data, DataSet};
use folio::Folio;
use sqlite::Sqlite;

/// What a system must do.
pub(crate) trait Engine {
    /// Stores all of a data set, in one transaction.
    fn load(&mut self, data: &Data) -> Result<()>;
    /// Answers a question as JSON, to nowhere.
    fn ask(&mut self, question: Question) -> Result<Answer>;
    /// A copy of all of it in another folder.
    fn copy(&mut self, directory: &Path) -> Result<Box<dyn Engine>>;
    /// Closes; answers the bytes on disk.
    fn close(self: Box<Self>) -> Result<u64>;
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    All,
    NoMatch,
    One,
    Name,
    Fifth,
    Sixth,
    Orders,
    Delete,
}

impl Question {
    /// The question in ZiQL.
    pub(crate) fn ziql(self) -> &'static str {
        match self {
            Self::All => "GRAB User {}",
            Self::NoMatch => "GRAB User {name = 'asd'}",
            Self::One => "GRAB User [1] {}",
            Self::Name => "GRAB User [name] {}",
            Self::Fifth => "GRAB User {name = 'Charlie'}",
            Self::Sixth => "GRAB User {age = 32}",
            Self::Orders => "GRAB Order [from, items, quantity, at] {}",
            Self::Delete => "DELETE User {}",
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) row_count: u64,
    /// Bytes of JSON.
    pub(crate) size: u64,
}

impl Answer {
    /// Counts the JSON so far, once it is worth it, and begins anew.
    pub(crate) fn flush(&mut self, json: &mut Vec<u8>, is_last: bool) {
        if is_last || json.len() > 1 << 16 {
            self.size += json.len() as u64;
            std::hint::black_box(&*json);
            json.clear();
        }
    }
}

/// Makes an empty database in a folder.
type Create = fn(&Path) -> Result<Box<dyn Engine>>;

const SYSTEMS: [(&str, Create); 2] = [("FolioDB", Folio::create), ("SQLite", Sqlite::create)];

/// Questions with their names.
const QUESTIONS: [(&str, Question); 7] = [
    ("all", Question::All),
    ("no match", Question::NoMatch),
    ("one", Question::One),
    ("name", Question::Name),
    ("fifth", Question::Fifth),
    ("sixth", Question::Sixth),
    ("orders", Question::Orders),
];

/// Users that a question looks at in a sample: it is asked again until it has seen so many.
const SEEN: u64 = 1_000_000;

/// How often the question for one user is asked in a sample.
const ONES: u64 = 1_000;

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for users in suite.arguments.sizes_or(&[1_000_000]) {
        for set in [DataSet::Few, DataSet::Many] {
            measure(suite, set, users)?;
        }
        links::measure(suite, users)?;
    }
    Ok(())
}

fn measure(suite: &mut Suite, set: DataSet, users: u64) -> Result<()> {
    let data = data::make(set, users as usize);
    loads(suite, set, &data)?;
    let mut engines = Vec::new();
    for (name, create) in SYSTEMS {
        let mut engine = create(&suite.scratch.directory()?)?;
        engine.load(&data)?;
        engines.push((name, engine));
    }
    drop(data);
    for (name, question) in QUESTIONS {
        // Nobody is called Charlie alone where every name is there once.
        let is_for_one = match question {
            Question::Fifth => Some(DataSet::Few),
            Question::Orders => Some(DataSet::Many),
            _ => None,
        };
        if is_for_one.is_some_and(|one| one != set) {
            continue;
        }
        let workload = format!("{}, {name}", set.name());
        let times = match question {
            Question::One => ONES,
            _ => (SEEN / users).max(1),
        };
        asked(suite, &mut engines, &workload, question, users, times)?;
    }
    if set == DataSet::Few {
        deletions(suite, &mut engines, users)?;
    }
    for (name, engine) in engines {
        let size = engine.close()?;
        let system = format!("{name}, {}", set.name());
        suite.size(Size {
            system,
            documents: users,
            lines_size: size,
            files_size: size,
            allocated_size: size,
        });
    }
    Ok(())
}

fn loads(suite: &mut Suite, set: DataSet, data: &Data) -> Result<()> {
    let scratch = &suite.scratch;
    let directories: Vec<_> = SYSTEMS.iter().map(|_| scratch.directory()).collect::<Result<_>>()?;
    let entrants = SYSTEMS.iter().zip(&directories).map(|(&(name, create), directory)| {
        let mut round = 0;
        Entrant::writes(name, "synchronous = normal", move || {
            round += 1;
            let directory = directory.join(round.to_string());
            std::fs::create_dir(&directory)?;
            let mut engine = create(&directory)?;
            let mut watch = Stopwatch::start();
            engine.load(data)?;
            watch.lap("load");
            engine.close()?;
            std::fs::remove_dir_all(&directory)?;
            Ok(watch.stop())
        })
    });
    let entrants = entrants.collect();
    let (name, documents) = (format!("{}, load", set.name()), data.users.len() as u64);
    suite.contest(Workload { name: &name, mode: "", documents, operations: documents }, entrants)
}

fn asked(
    suite: &mut Suite,
    engines: &mut [(&'static str, Box<dyn Engine>)],
    name: &str,
    question: Question,
    documents: u64,
    times: u64,
) -> Result<()> {
    let mut expected = None;
    for (_, engine) in engines.iter_mut() {
        let found = engine.ask(question)?.row_count;
        assert_eq!(found, *expected.get_or_insert(found), "{name}: all answer as many");
    }
    let entrants = engines.iter_mut().map(|(system, engine)| {
        Entrant::reads(*system, move || {
            let mut watch = Stopwatch::start();
            for _ in 0..times {
                engine.ask(question)?;
            }
            watch.lap("ask");
            Ok(watch.stop())
        })
    });
    let entrants = entrants.collect();
    suite.contest(Workload { name, mode: "warm", documents, operations: times }, entrants)
}

/// Deletes all users of a fresh copy each time.
fn deletions(
    suite: &mut Suite,
    engines: &mut [(&'static str, Box<dyn Engine>)],
    documents: u64,
) -> Result<()> {
    let scratch = &suite.scratch;
    let directories: Vec<_> = engines.iter().map(|_| scratch.directory()).collect::<Result<_>>()?;
    let entrants = engines.iter_mut().zip(&directories).map(|((system, engine), directory)| {
        let mut round = 0;
        Entrant::writes(*system, "synchronous = normal", move || {
            round += 1;
            let directory = directory.join(round.to_string());
            std::fs::create_dir(&directory)?;
            let mut copy = engine.copy(&directory)?;
            // The copy's pages are in memory, as those of the original are.
            copy.ask(Question::NoMatch)?;
            let mut watch = Stopwatch::start();
            copy.ask(Question::Delete)?;
            watch.lap("delete");
            copy.close()?;
            std::fs::remove_dir_all(&directory)?;
            Ok(watch.stop())
        })
    });
    let entrants = entrants.collect();
    let workload = Workload { name: "few, delete", mode: "warm", documents, operations: documents };
    suite.contest(workload, entrants)
}
