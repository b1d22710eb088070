//! Lookups, ranges and writes by the values of fields.
//!
//! Both systems answer with the whole documents, and every sample compares what it has
//! read with what the other systems have.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use folio_bench::Result;
use folio_bench::child;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{Record, id};
use folio_bench::results::{Sample, Size};
use folio_bench::scratch::{size_on_disk, sync_disks};
use folio_bench::store::Tally;
use folio_bench::suite::{Suite, Workload};

use super::folio::{self, Folio};
use super::people::{email, people, rank};
use super::sqlite::{self, Sqlite};

/// Documents of a range.
const RANGE: u64 = 1_000;

/// Documents of a bulk put.
const BULK: u64 = 100_000;

/// Puts of a sample that asks after each.
const PUTS: u64 = 100;

/// Repetitions of what takes a millisecond.
const SHORT_FACTOR: usize = 5;

/// Names of the workloads; the page reads them too.
const WORKLOADS: [&str; 12] = [
    "get by id",
    "by email",
    "by email, where",
    "by email, text",
    "range",
    "range, where",
    "put, then by email",
    "put, then by path",
    "open and get",
    "first statement",
    "put_many",
    "index",
];

struct Stores {
    folio: RefCell<Folio>,
    sqlite: RefCell<Sqlite>,
    directory: PathBuf,
    /// FolioDB without indexes, closed.
    plain: PathBuf,
    documents: u64,
    /// The number of the next document to be put, in either system.
    next: [Cell<u64>; 2],
}

pub(crate) fn measure(suite: &mut Suite, documents: u64) -> Result<()> {
    let is_wanted = |name: &&str| suite.wants(name, "FolioDB", documents);
    if !WORKLOADS.iter().any(is_wanted) {
        return Ok(());
    }
    let stores = fill(suite, documents)?;
    lookups(suite, &stores)?;
    ranges(suite, &stores)?;
    let repetitions = suite.arguments.repetitions;
    suite.arguments.repetitions *= SHORT_FACTOR;
    // While both stores have the same documents.
    opens(suite, &stores)?;
    after_puts(suite, &stores)?;
    suite.arguments.repetitions = repetitions;
    bulk(suite, &stores)?;
    stores.folio.into_inner().close()?;
    std::fs::remove_dir_all(&stores.directory)?;
    std::fs::remove_dir_all(&stores.plain)?;
    Ok(())
}

/// Fills both systems, and then creates the indexes, which is measured once.
fn fill(suite: &mut Suite, documents: u64) -> Result<Stores> {
    let (directory, plain) = (suite.scratch.directory()?, suite.scratch.directory()?);
    let first = || people().take(documents as usize);
    let without = Folio::open(&plain)?;
    without.fill(first())?;
    without.close()?;
    let folio = Folio::open(&directory)?;
    folio.fill(first())?;
    let mut sqlite = Sqlite::create(&directory)?;
    sqlite.fill(first())?;
    sync_disks();
    let repetitions = std::mem::replace(&mut suite.arguments.repetitions, 1);
    let once = |create: &dyn Fn() -> Result<()>, round: &mut u32| {
        let mut watch = Stopwatch::start();
        // The round that does not count has created nothing.
        *round += 1;
        if *round > 1 {
            create()?;
        }
        watch.lap("create");
        Ok(watch.stop())
    };
    let mut rounds = [0, 0];
    let [ours, theirs] = &mut rounds;
    let entrants = vec![
        Entrant::writes("FolioDB", "synced", || once(&|| folio.index(), ours)),
        Entrant::writes("SQLite", "synced by a checkpoint", || {
            once(&|| sqlite.index().and_then(|()| sqlite.checkpoint()), theirs)
        }),
    ];
    let contest = suite.contest(workload("index", "", documents, documents), entrants);
    suite.arguments.repetitions = repetitions;
    contest?;
    sizes(suite, &directory, documents)?;
    if rounds == [0, 0] {
        folio.index()?; // the filter left it out
        sqlite.index()?;
    }
    let next = [Cell::new(documents + 1), Cell::new(documents + 1)];
    let (folio, sqlite) = (RefCell::new(folio), RefCell::new(sqlite));
    Ok(Stores { folio, sqlite, directory, plain, documents, next })
}

fn sizes(suite: &mut Suite, directory: &std::path::Path, documents: u64) -> Result<()> {
    let lines_size = people().take(documents as usize).map(|one| one.line.len() as u64 + 1).sum();
    let (files_size, allocated_size) = size_on_disk(&directory.join("data"))?;
    let system = "FolioDB".to_owned();
    suite.size(Size { system, documents, lines_size, files_size, allocated_size });
    let size = std::fs::metadata(directory.join("data.db"))?.len();
    let system = "SQLite".to_owned();
    suite.size(Size { system, documents, lines_size, files_size: size, allocated_size: size });
    Ok(())
}

fn workload<'a>(name: &'a str, mode: &'a str, documents: u64, operations: u64) -> Workload<'a> {
    Workload { name, mode, documents, operations }
}

/// Times one reading. It fails if the systems saw different documents.
fn read(
    expected: &Cell<Option<Tally>>,
    ask: impl FnOnce(&mut Tally) -> Result<()>,
) -> Result<Sample> {
    let mut seen = Tally::default();
    let mut watch = Stopwatch::start();
    ask(&mut seen)?;
    watch.lap("ask");
    match expected.replace(Some(seen)) {
        Some(known) if known != seen => Err(format!("read {seen:?}, another {known:?}").into()),
        _ => Ok(watch.stop()),
    }
}

/// The keys of one round. Every round has others, so that nobody answers from the lines that
/// it has just read.
struct Keys {
    ids: Vec<String>,
    emails: Vec<String>,
    seen: Cell<Option<Tally>>,
}

impl Keys {
    fn draw(random: &mut Random, documents: u64, count: u64) -> Self {
        let numbers: Vec<u64> = (0..count).map(|_| 1 + random.below(documents)).collect();
        let ids = numbers.iter().map(|number| id(*number)).collect();
        let emails = numbers.iter().map(|number| email(rank(*number))).collect();
        Self { ids, emails, seen: Cell::new(None) }
    }
}

type Ask<'a> = Box<dyn FnMut(&str, &mut Tally) -> Result<()> + 'a>;

/// Looks up the keys of one round after another.
fn lookup<'a>(system: &str, rounds: &'a [Keys], is_by_id: bool, mut ask: Ask<'a>) -> Entrant<'a> {
    let mut rounds = rounds.iter().cycle();
    Entrant::reads(system, move || {
        let keys = rounds.next().ok_or("there is no round")?;
        let asked = if is_by_id { &keys.ids } else { &keys.emails };
        read(&keys.seen, |tally| asked.iter().try_for_each(|key| ask(key, tally)))
    })
}

fn lookups(suite: &mut Suite, stores: &Stores) -> Result<()> {
    let (documents, count) = (stores.documents, suite.arguments.lookups);
    let Stores { folio, sqlite, .. } = stores;
    let mut random = Random(7);
    let round_count = suite.arguments.repetitions + 1;
    let mut draw = || -> Vec<Keys> {
        (0..round_count).map(|_| Keys::draw(&mut random, documents, count)).collect()
    };
    let workload = |name| workload(name, "warm", documents, count);
    let get = || -> Ask<'_> { Box::new(|key, seen| folio.borrow().get(key, seen)) };
    let theirs = || -> Ask<'_> { Box::new(|key, seen| sqlite.borrow().by_email(key, seen)) };
    let rounds = draw();
    let entrants = vec![
        lookup("FolioDB", &rounds, true, get()),
        lookup("SQLite", &rounds, true, Box::new(|key, seen| sqlite.borrow().get(key, seen))),
    ];
    suite.contest(workload("get by id"), entrants)?;
    // By id in the same turns: what a lookup by email is compared with. It reads other documents.
    let (rounds, others) = (draw(), draw());
    let ours = Box::new(|key: &str, seen: &mut Tally| folio.borrow_mut().by_email(key, seen));
    let entrants = vec![
        lookup("FolioDB", &rounds, false, ours),
        lookup("FolioDB by id", &others, true, get()),
        lookup("SQLite", &rounds, false, theirs()),
    ];
    suite.contest(workload("by email"), entrants)?;
    let rounds = draw();
    let ours = Box::new(|key: &str, seen: &mut Tally| folio.borrow().by_email_where(key, seen));
    let entrants =
        vec![lookup("FolioDB", &rounds, false, ours), lookup("SQLite", &rounds, false, theirs())];
    suite.contest(workload("by email, where"), entrants)?;
    let rounds = draw();
    let ours = Box::new(|key: &str, seen: &mut Tally| folio.borrow_mut().by_email_text(key, seen));
    let text = Box::new(|key: &str, seen: &mut Tally| sqlite.borrow().by_email_text(key, seen));
    let entrants =
        vec![lookup("FolioDB", &rounds, false, ours), lookup("SQLite", &rounds, false, text)];
    suite.contest(workload("by email, text"), entrants)
}

fn ranges(suite: &mut Suite, stores: &Stores) -> Result<()> {
    let documents = stores.documents;
    let Stores { folio, sqlite, .. } = stores;
    let all = 10_000_000; // ranks are below this
    let width = RANGE * all / documents;
    let mut random = Random(11);
    let starts: Vec<u64> = (0..20).map(|_| random.below((all - width) / 100) * 100).collect();
    let seen = Cell::new(None);
    let each = |ask: &mut dyn FnMut(u64, u64, &mut Tally) -> Result<()>| {
        read(&seen, |tally| starts.iter().try_for_each(|from| ask(*from, from + width, tally)))
    };
    let workload = |name| workload(name, "warm", documents, starts.len() as u64);
    let entrants = vec![
        Entrant::reads("FolioDB", || {
            each(&mut |from, to, seen| folio.borrow_mut().by_rank(from, to, seen))
        }),
        Entrant::reads("SQLite", || {
            each(&mut |from, to, seen| sqlite.borrow().by_rank(from, to, seen))
        }),
    ];
    suite.contest(workload("range"), entrants)?;
    let entrants = vec![
        Entrant::reads("FolioDB", || {
            each(&mut |from, to, seen| folio.borrow().by_rank_where(from, to, seen))
        }),
        Entrant::reads("SQLite", || {
            each(&mut |from, to, seen| sqlite.borrow().by_rank(from, to, seen))
        }),
    ];
    suite.contest(workload("range, where"), entrants)
}

/// A statement right after a put, again and again. The time of the puts is not counted.
fn after_puts(suite: &mut Suite, stores: &Stores) -> Result<()> {
    let documents = stores.documents;
    let Stores { folio, sqlite, next, .. } = stores;
    let more: Vec<Record> = people().skip(documents as usize).take(100_000).collect();
    let take = |system: usize| -> Vec<&Record> {
        let start = next[system].replace(next[system].get() + PUTS) - documents - 1;
        more.iter().skip(start as usize).take(PUTS as usize).collect()
    };
    for (name, is_indexed) in [("put, then by email", true), ("put, then by path", false)] {
        let entrants = vec![
            Entrant::writes("FolioDB", "written within a second", || {
                after(&take(0), &mut |record, seen, watch| {
                    let mut folio = folio.borrow_mut();
                    folio.put(&record.id, &record.value)?;
                    watch();
                    let email = record.value["email"].as_str().unwrap_or_default();
                    if is_indexed { folio.by_email(email, seen) } else { folio.by_path(seen) }
                })
            }),
            Entrant::writes("SQLite", "WAL, synchronous=NORMAL", || {
                after(&take(1), &mut |record, seen, watch| {
                    let sqlite = sqlite.borrow();
                    sqlite.put(&record.id, &record.value)?;
                    watch();
                    let email = record.value["email"].as_str().unwrap_or_default();
                    if is_indexed { sqlite.by_email(email, seen) } else { sqlite.by_path(seen) }
                })
            }),
        ];
        suite.contest(workload(name, "warm", documents, PUTS), entrants)?;
    }
    Ok(())
}

type PutAndAsk<'a> = dyn FnMut(&Record, &mut Tally, &mut dyn FnMut()) -> Result<()> + 'a;

fn after(records: &[&Record], put_and_ask: &mut PutAndAsk<'_>) -> Result<Sample> {
    let mut total = Sample::default();
    let mut seen = Tally::default();
    for record in records {
        let mut watch = None;
        put_and_ask(record, &mut seen, &mut || watch = Some(Stopwatch::start()))?;
        let mut watch = watch.ok_or("the statement was not timed")?;
        watch.lap("ask");
        let sample = watch.stop();
        total.total_ns += sample.total_ns;
        total.cpu_ns += sample.cpu_ns;
    }
    if seen.count != records.len() as u64 {
        return Err(format!("{} answers after {} puts", seen.count, records.len()).into());
    }
    total.phases.push(("ask".to_owned(), total.total_ns));
    Ok(total)
}

fn opens(suite: &mut Suite, stores: &Stores) -> Result<()> {
    let Stores { directory, plain, documents, folio, .. } = stores;
    let open = folio.replace(Folio::open(plain)?);
    open.close()?;
    let mut random = Random(13);
    let ids: Vec<String> = (0..1_000).map(|_| id(1 + random.below(*documents))).collect();
    let open = |name, run: fn(&std::path::Path, &str, &mut Tally) -> Result<Sample>, directory| {
        let mut ids = ids.iter().cycle();
        Entrant::reads(name, move || {
            let mut seen = Tally::default();
            let sample = run(directory, ids.next().ok_or("no id is left")?, &mut seen)?;
            if seen.count == 1 { Ok(sample) } else { Err("nothing was found".into()) }
        })
    };
    folio.replace(Folio::open(&suite.scratch.directory()?)?).close()?; // so that each open is one
    let entrants = vec![
        open("FolioDB", folio::open_and_get, directory),
        open("FolioDB without indexes", folio::open_and_get, plain),
        open("SQLite", sqlite::open_and_get, directory),
    ];
    // Each by itself: what another directory leaves in caches takes longer than a definition.
    for entrant in entrants {
        suite.contest(workload("open and get", "cold", *documents, 1), vec![entrant])?;
    }
    let first = |system: &'static str| {
        Entrant::reads(system, move || {
            let directory = directory.to_str().ok_or("the directory's path is not UTF-8")?;
            let printed = child::spawn(&[system, directory])?;
            let mut numbers = printed.split_whitespace().map(str::parse);
            let mut next =
                || -> Result<u64> { Ok(numbers.next().ok_or("the child printed nothing")??) };
            let (total_ns, cpu_ns) = (next()?, next()?);
            Ok(Sample {
                total_ns,
                cpu_ns,
                phases: vec![("ask".to_owned(), total_ns)],
                ..Sample::default()
            })
        })
    };
    let entrants = vec![first("FolioDB"), first("SQLite")];
    suite.contest(workload("first statement", "cold", *documents, 1), entrants)?;
    folio.replace(Folio::open(directory)?).close()
}

/// Opens a store and asks by a path that no index has, as far as the first document. The job of
/// a new process; it prints the nanoseconds, and those of the processors.
pub(crate) fn first_statement(job: &[&str]) -> Result<()> {
    let [system, directory] = *job else { return Err(format!("{job:?} is not a job").into()) };
    let (directory, mut seen) = (Path::new(directory), Tally::default());
    let sample = match system {
        "FolioDB" => folio::first_statement(directory, &mut seen)?,
        _ => sqlite::first_statement(directory, &mut seen)?,
    };
    if seen.count != 1 {
        return Err("nothing was found".into());
    }
    println!("{} {}", sample.total_ns, sample.cpu_ns);
    Ok(())
}

/// Adds documents, so that every round has more of them.
fn bulk(suite: &mut Suite, stores: &Stores) -> Result<()> {
    let Stores { documents, folio, sqlite, next, .. } = stores;
    let taken = next[0].get().max(next[1].get()) - 1;
    let chunks = || {
        let mut source = people().skip(taken as usize);
        move || -> Vec<Record> { source.by_ref().take(BULK as usize).collect() }
    };
    let mut ours = chunks();
    let mut theirs = chunks();
    let entrants = vec![
        Entrant::writes("FolioDB", "fdatasync at the batch's commit", || {
            let records = ours();
            sync_disks();
            let mut watch = Stopwatch::start();
            folio.borrow().put_many(&records)?;
            watch.lap("write");
            Ok(watch.stop())
        }),
        Entrant::writes("SQLite", "WAL, synchronous=NORMAL, then a checkpoint", || {
            let records = theirs();
            sync_disks();
            let mut watch = Stopwatch::start();
            sqlite.borrow_mut().put_many(&records)?;
            watch.lap("write");
            Ok(watch.stop())
        }),
    ];
    suite.contest(workload("put_many", "", *documents, BULK), entrants)
}

/// A generator of numbers, as small as they come (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % bound
    }
}
