//! Crashes and failing calls while parts of tables are made, used and removed. Whatever is left of the
//! files, columns answer what the rows say, and the next commit makes what is missing.

use std::sync::Arc;

use folio::{Database, OpenOptions, Result, Session, Value};
use folio_file::{CrashPlan, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, Recording};

use crate::random::Random;
use crate::seeds::{run_seeds, seeds};

/// Rows at first; few more than a scan has to want to read columns.
const ROWS: usize = 17_000;

/// One crash in this many is tried in a run; `FOLIO_DEEP=1` tries all.
const STEP: usize = 24;

type Outcome<T> = std::result::Result<T, String>;

fn open(files: &MemoryFileSystem) -> Result<Database> {
    let file_system: Arc<dyn FileSystem> = Arc::new(files.clone());
    let options = OpenOptions {
        file_system: Some(file_system),
        write_behind: None,
        ..OpenOptions::default()
    };
    Database::open_with("/db", &options)
}

fn insert(from: usize, count: usize) -> String {
    format!(
        "insert into t select i, i % 50, 'text ' || (i % 30), i * 0.25 \
         from generate_series({from}, {from} + {count} - 1) g (i)"
    )
}

fn create_table() -> String {
    "create table t (id int primary key, n int, s text, d numeric(12, 2))".to_owned()
}

/// What happens to the table, one statement after another.
fn live(database: &Database) -> Result<()> {
    let mut session = database.session()?;
    let mut run = |text: &str| session.execute(text, &[]).map(drop);
    run(&create_table())?;
    run(&insert(0, ROWS))?;
    run("create index c on t using columns")?;
    run("update t set n = n + 1 where id % 700 = 3")?;
    run("begin")?;
    run("update t set d = d + 1 where id % 3 = 1")?;
    run("delete from t where id < 40")?;
    run("rollback")?;
    run(&insert(30_000, ROWS))?; // two parts
    run("begin")?;
    run("update t set d = d + 1, s = 'new' where id < 20000 and id % 3 > 0")?;
    run("savepoint one")?;
    run("delete from t where id % 2 = 0")?;
    run("rollback to one")?;
    run("delete from t where id between 30000 and 30100")?;
    run("commit")?; // one is made again
    database.tables()?.checkpoint()?;
    run("alter table t add column z int default 4")?;
    run("drop index c")?;
    run("create index c on t using columns (n, s)")?;
    run(&insert(20_000, 300))?;
    database.tables()?.vacuum()?;
    database.tables()?.reindex()?;
    run("update t set n = 7 where id % 900 = 1")?;
    database.close()
}

fn rows(session: &mut Session, text: &str) -> Outcome<Vec<Vec<Value>>> {
    let answer = session.execute(text, &[]).map_err(|error| format!("{text}: {error}"))?;
    let mut rows = answer.rows.ok_or("no rows")?;
    rows.collect_rows().map_err(|error| format!("{text}: {error}"))
}

/// Columns answer what the rows say. Returns whether they were read.
fn compare(session: &mut Session) -> Outcome<bool> {
    if rows(session, "show tables")?.is_empty() {
        return Ok(false);
    }
    // Scans backwards read rows.
    let mut stored = rows(session, "select id, n, s, d from t order by id desc")?;
    stored.reverse();
    let mut used = false;
    for columns in ["id, n, s, d", "id, n, s"] {
        let all = format!("select {columns} from t order by id");
        let found = rows(session, &all)?;
        let width = found.first().map_or(0, Vec::len);
        let is_same = |(found, stored): (&Vec<Value>, &Vec<Value>)| *found == stored[..width];
        if found.len() != stored.len() || !found.iter().zip(&stored).all(is_same) {
            let differs = found.iter().zip(&stored).find(|pair| !is_same(*pair));
            let (found, stored) = (found.len(), stored.len());
            return Err(format!("{all}: {found} rows in place of {stored}; first {differs:?}"));
        }
        used |= format!("{:?}", rows(session, &format!("explain {all}"))?).contains("from columns");
    }
    let some = "select count(*) from t where n < 10 and s = 'text 3'";
    let passes = |row: &&Vec<Value>| {
        matches!(row[1], Value::Integer(n) if n < 10) && row[2] == Value::Text("text 3".into())
    };
    let expected = stored.iter().filter(passes).count() as i64;
    match &rows(session, some)?[..] {
        [row] if row[..] == [Value::Integer(expected)] => Ok(used),
        found => Err(format!("{some}: {found:?} in place of {expected}")),
    }
}

/// Another process goes on with the files: it finds the right answers, writes, and leaves columns
/// that are whole.
fn go_on(files: &MemoryFileSystem) -> Outcome<()> {
    let failed = |error: folio::Error| format!("the next process fails: {error}");
    let database = open(files).map_err(failed)?;
    let mut session = database.session().map_err(failed)?;
    compare(&mut session)?;
    if rows(&mut session, "show tables")?.is_empty() {
        return Ok(());
    }
    session.execute("update t set n = 5 where id = 77", &[]).map_err(failed)?;
    compare(&mut session)?;
    drop(session);
    database.close().map_err(failed)?;
    let database = open(files).map_err(failed)?;
    let mut session = database.session().map_err(failed)?;
    let uses_columns = compare(&mut session)?;
    let tables = database.tables().map_err(failed)?;
    let check = || tables.check().map_err(failed)?.ok_or_else(|| "there are no tables".to_owned());
    // Damage to files that nobody reads, as of few rows, stays until somebody asks.
    let mut problems = check()?.problems;
    if !uses_columns && problems.iter().all(|problem| problem.text.contains("is damaged")) {
        tables.reindex().map_err(failed)?;
        problems = check()?.problems;
    }
    if !problems.is_empty() {
        return Err(format!("the next process leaves {problems:?}"));
    }
    let all = tables.list().map_err(failed)?;
    let is_copied = all.iter().any(|table| !table.indexes.is_empty());
    // Of few rows there need not be columns.
    let is_large = all.iter().any(|table| table.row_count > 20_000);
    match (is_copied, uses_columns) {
        (false, true) => Err("columns are read that are not defined".to_owned()),
        (true, false) if is_large => Err("columns are not read".to_owned()),
        _ => Ok(()),
    }
}

#[test]
fn no_crash_at_any_change_changes_an_answer() {
    let files = MemoryFileSystem::new();
    files.record_crash_points(Recording::Changes);
    live(&open(&files).unwrap()).unwrap();
    files.record_crash_points(Recording::Nothing);
    let points = files.crash_points();
    let is_of_columns = |path: &std::path::Path| path.to_string_lossy().contains("tables.columns");
    let of_columns = points.iter().filter(|point| is_of_columns(&point.path)).count();
    assert!(of_columns > 30, "{of_columns} changes of {} are of columns", points.len());
    let run = |seed: u64| {
        let mut random = Random::new(seed);
        let mut states = 0;
        for (number, point) in points.iter().enumerate() {
            // Those of columns are few and matter most.
            let step = if is_of_columns(&point.path) { STEP / 8 } else { STEP };
            if !(number + seed as usize).is_multiple_of(step) {
                continue;
            }
            let ends = [point.image.kill(), point.image.crash(CrashPlan::new(random.draw()))];
            for (files, end) in ends.iter().zip(["a kill", "a power cut"]) {
                go_on(files).map_err(|text| {
                    let when = if point.is_after { "after" } else { "before" };
                    format!("{end} {when} {:?} {:?}: {text}", point.operation, point.path)
                })?;
                states += 1;
            }
        }
        Ok(states)
    };
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    let states = run_seeds(seeds(if is_deep { STEP as u64 } else { 1 }), run);
    println!("{} crash states", states.unwrap_or_else(|text| panic!("{text}")));
}

fn fault(random: &mut Random) -> Fault {
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite { bytes: 700 }];
    let kind = *random.one_of(&kinds);
    let next = Fault::next(Operation::Any, kind);
    let fault = match random.below(4) {
        0 => next.after(random.below(1500) as u64),
        1 => next.on("part-").after(random.below(24) as u64),
        2 => next.on("c.notes").after(random.below(40) as u64),
        _ => next.on("tables.columns").after(random.below(60) as u64),
    };
    if random.once_in(3) { fault.sticky() } else { fault }
}

/// Runs [`live`] with a call that fails, then goes on with the handle and with another process.
fn fail(seed: u64) -> Outcome<u64> {
    let mut random = Random::new(seed);
    let fault = fault(&mut random);
    let reported = format!("{fault:?}");
    let files = MemoryFileSystem::with_seed(seed);
    let database = open(&files).map_err(|error| error.to_string())?;
    files.inject(fault);
    let lived = live(&database);
    files.clear_faults();
    let and = |text: String| format!("{reported}, {lived:?}: {text}");
    if lived.is_err() {
        let mut session = database.session().map_err(|error| and(error.to_string()))?;
        compare(&mut session).map_err(and)?;
    }
    let image = files.kill();
    drop(database);
    go_on(&image).map_err(and)?;
    Ok(1)
}

#[test]
fn any_call_for_columns_may_fail() {
    let states = run_seeds(seeds(24), fail);
    println!("{} failed calls", states.unwrap_or_else(|text| panic!("{text}")));
}

/// A table whose process ends now and then.
struct Mortal {
    files: MemoryFileSystem,
    database: Database,
    session: Session,
    random: Random,
    /// The first id that was not inserted yet.
    next: usize,
    used: u64,
}

impl Mortal {
    fn new(seed: u64) -> Result<Self> {
        let files = MemoryFileSystem::with_seed(seed);
        let database = open(&files)?;
        let mut session = database.session()?;
        session.execute(&create_table(), &[])?;
        session.execute(&insert(0, ROWS), &[])?;
        session.execute("create index c on t using columns", &[])?;
        Ok(Self { files, database, session, random: Random::new(seed), next: ROWS, used: 0 })
    }

    /// One thing that happens, of which a failing call may be a part.
    fn step(&mut self) -> Outcome<String> {
        let (at, share) = (self.random.below(self.next), 2 + self.random.below(300));
        let text = match self.random.below(14) {
            0 | 1 => return self.die(),
            2 => "begin".to_owned(),
            3 => "commit".to_owned(),
            4 => "rollback".to_owned(),
            5 => format!("update t set n = n + 1, s = 'new' where id % {share} = 1"),
            6 => format!("update t set d = d - 1 where id > {at} and id % 2 = 0"),
            7 => format!("delete from t where id between {at} and {at} + 1500"),
            8 => format!("update t set id = id + 1000000 where id between {at} and {at} + 3"),
            9 => {
                format!("insert into t values ({at}, {share}, 'again', 0.5) on conflict do nothing")
            }
            10 => {
                self.next += 17_000;
                insert(self.next - 17_000, 17_000)
            }
            11 => "drop index if exists c".to_owned(),
            _ => "create index if not exists c on t using columns".to_owned(),
        };
        if self.random.once_in(6) {
            self.files.inject(fault(&mut self.random));
        }
        let done = self.session.execute(&text, &[]).map(drop);
        self.files.clear_faults();
        Ok(format!("{text}: {done:?}"))
    }

    /// The process is killed, or the power goes; another one begins.
    fn die(&mut self) -> Outcome<String> {
        let (image, end) = match self.random.once_in(2) {
            true => (self.files.kill(), "a kill"),
            false => (self.files.crash(CrashPlan::new(self.random.draw())), "a power cut"),
        };
        let failed = |error: folio::Error| format!("after {end} it does not open: {error}");
        self.database = open(&image).map_err(failed)?;
        self.session = self.database.session().map_err(failed)?;
        self.files = image;
        Ok(end.to_owned())
    }

    fn run(&mut self) -> Outcome<()> {
        for _ in 0..16 {
            let what = self.step()?;
            let used =
                compare(&mut self.session).map_err(|text| format!("after {what}: {text}"))?;
            self.used += u64::from(used);
        }
        self.die()?;
        go_on(&self.files)
    }
}

#[test]
fn changes_faults_and_crashes_in_any_order_leave_the_answers_right() {
    let run = |seed| {
        let mut mortal = Mortal::new(seed).map_err(|error| error.to_string())?;
        mortal.run().map(|()| mortal.used)
    };
    let used = run_seeds(seeds(12), run).unwrap_or_else(|text| panic!("{text}"));
    println!("columns were read after {used} steps");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || used > 60, "{used}");
}
