//! Columns indexes of tables: whatever happens to rows and files, every statement answers what it
//! answers without them, and EXPLAIN says that it reads them.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs;
use std::path::PathBuf;

use folio::{Database, Session};
use tempfile::TempDir;

mod crash;
mod damage;
mod progress;
#[path = "../../../../conformance/random.rs"]
mod random;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;

use random::Random;

/// Rows at first: several row groups.
const ROWS: usize = 150_000;

/// Statements whose answers do not depend on an order that they do not ask for.
const STATEMENTS: [&str; 32] = [
    "select count(*) from $ where n < 40",
    "select count(*), sum(n), min(t), max(t), sum(d), min(e), max(f) from $",
    "select t, count(*), sum(d) from $ group by t order by t",
    "select count(*), sum(n) from $ where e = date '2020-02-01'",
    "select count(*), sum(a) from $ where e >= date '2020-03-01' and e < date '2020-04-01' and s = 7",
    "select count(*), sum(d) from $ where d > 100.5 and d <= 20000",
    "select count(*), min(a) from $ where t in ('text 3', 'text 77', 'none')",
    "select s, b, count(*) from $ where b group by s, b order by s",
    "select count(*) from $ where not b",
    "select count(*), sum(n) from $ where not b and s = 7",
    "select count(*), sum(n) from $ where t is null",
    "select count(*), sum(n) from $ where n is distinct from 5",
    "select count(*), sum(n) from $ where t like 'text 1%' and n > 3",
    "select a, count(*), sum(d) from $ group by a having sum(n) > 300 order by a limit 30",
    "select a, n, t, f from $ where n = 17 order by a, n, t, d limit 40000",
    "select count(*), sum(x.n + y.n) from $ x join $ y on x.a = y.a where y.s = 3",
    "select x.a, count(*) from $ x join $ y on x.a = y.a group by x.a order by 2 desc, 1 limit 9",
    "select count(distinct a), count(distinct u) from $",
    "select a, n, t from $ where a between 1000 and 1010 order by a, n, t, d",
    "select max(ts), count(l), sum(l[1]) from $ where n > 90",
    "select count(*) from $ where a > 0 and exists (select 1 from $ y where y.a = $.a and y.n = 9)",
    // Scans that leave out rows by the keys of the other side of a join, and keep dictionaries.
    "select x.t, count(*), sum(x.d) from $ x join $ y on x.a = y.a and x.k = y.k \
     where y.n = 9 and y.s = 3 group by x.t order by x.t",
    "select x.e, count(*), sum(y.d) from $ x join (select distinct e, d from $ where n = 5 and \
     e < date '2020-01-20') y on x.e = y.e where x.b group by x.e order by x.e",
    "select count(*), sum(x.n) from $ x where x.e = date '2020-02-01' and x.n < 5 \
     and not exists (select 1 from $ y where y.a = x.a and y.k <> x.k and y.n > 7)",
    "select count(*), sum(x.d) from $ x where x.n = 3 and x.e < date '2020-02-01' \
     and x.d > (select 0.2 * sum(y.d) from $ y where y.a = x.a and y.s = x.s)",
    "select t, e, b, count(*), avg(d), sum(d), sum(d * (1 - n)) from $ where d in (0.25, 100.5) or s = 1 \
     group by t, e, b order by t, e, b limit 700",
    "select x.t, y.b, count(*) from $ x left join $ y on x.a = y.a and y.d < 900 \
     where x.n = 1 and x.s = 4 group by x.t, y.b order by x.t, y.b",
    // Decimals of 64 bits: products that fit and that do not, means and sums of one state.
    "select t, sum(d * d), avg(d * d), sum(d * d * d), avg(d) filter (where s > 3), \
     sum(d) filter (where s > 3), count(d), count(*) from $ group by t order by t",
    "select s, sum(v), avg(v), max(v), sum(v - d) from (select s, d, d * (2 - n) as v from $ where b) q \
     group by s order by s",
    "select x.s, sum(x.d * (1 - y.d)), avg(y.d) from $ x join $ y on x.k = y.k where y.n < 20 \
     group by x.s order by x.s",
    // The texts that only a filter reads are not copied.
    "select x.s, count(y.k), count(y.e) from $ x left join $ y on x.k = y.k and y.t not like '%7%' \
     where x.n < 30 group by x.s order by x.s",
    "select sum(row_number) from (select row_number() over (order by a, n, t, d) from $ where s < 2) q",
];

/// Definitions of the key, so that rows are in the order of a, of texts, or of their numbers.
const KEYS: [&str; 3] = [", primary key (a, k)", ", primary key (c)", ""];

struct World {
    folder: TempDir,
    session: Session,
    random: Random,
    /// The first row that was not inserted yet.
    next: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = Database::open(folder.path().join("db")).unwrap().session().unwrap();
        let mut world = Self { folder, session, random: Random::new(seed), next: 0 };
        let key = *world.random.one_of(&KEYS);
        world.both(&format!(
            "create table $ (a bigint not null, k integer not null, c text not null, n integer, \
             t text, s smallint, d numeric(15, 2), b boolean, e date, f double precision, \
             u uuid, ts timestamp, l integer[]{key})"
        ));
        world.insert(ROWS);
        world.session.execute("create index c on fast using columns", &[]).unwrap();
        world
    }

    /// Runs a statement on either table, with the same outcome.
    fn both(&mut self, text: &str) {
        let outcomes = ["plain", "fast"].map(|name| {
            let done = self.session.execute(&text.replace('$', name), &[]);
            done.map(|answer| answer.count)
                .map_err(|error| error.to_string().replace("fast", "plain"))
        });
        assert_eq!(outcomes[0], outcomes[1], "{text}");
    }

    /// Inserts rows, some of them between those that are there.
    fn insert(&mut self, count: usize) {
        let (start, end) = (self.next, self.next + count);
        self.next = end;
        let spread = if self.random.once_in(2) { "i / 4" } else { "(i * 7919) % 200000" };
        self.both(&format!(
            "insert into $ select {spread}, i, (i % 977) || '-' || i, i % 100, \
             case when i % 11 = 0 then null else 'text ' || (i % 250) end, (i % 9)::smallint, \
             case when i % 13 = 0 then null else i * 0.25 end, i % 3 = 0, \
             date '2020-01-01' + (i / 400)::int, i * 0.5, \
             ('00000000-0000-0000-0000-' || lpad((i % 5000)::text, 12, '0'))::uuid, \
             timestamp '2020-01-01 00:00:00' + interval '1 second' * (i % 3000), \
             array[(i % 4)::int, 2] \
             from generate_series({start}, {end} - 1) g (i)"
        ));
    }

    fn rows(&mut self, text: &str) -> String {
        let mut rows = match self.session.execute(text, &[]) {
            Ok(answer) => answer.rows.unwrap(),
            Err(error) => return error.to_string(),
        };
        let rows = rows.collect_rows().unwrap();
        rows.into_iter().map(|row| format!("{row:?}\n")).collect()
    }

    /// Compares all statements. Returns how many of them read columns.
    fn compare(&mut self, what: &str) -> Result<usize, String> {
        let mut used = 0;
        let first_rows: Vec<String> = (0..4).map(|_| self.first_rows()).collect();
        for text in STATEMENTS.into_iter().chain(first_rows.iter().map(String::as_str)) {
            let [plain, fast] = ["plain", "fast"].map(|name| self.rows(&text.replace('$', name)));
            if plain != fast {
                let plan = self.rows(&format!("explain {}", text.replace('$', "fast")));
                let cut = |text: &str| text.chars().take(600).collect::<String>();
                let (plain, fast) = (cut(&plain), cut(&fast));
                return Err(format!(
                    "after {what}, {text}\n{plan}\nrows:\n{plain}\ncolumns:\n{fast}"
                ));
            }
            let plan = self.rows(&format!("explain {}", text.replace('$', "fast")));
            used += usize::from(plan.contains("from columns c"));
        }
        Ok(used)
    }

    /// A statement for the first rows by some column.
    fn first_rows(&mut self) -> String {
        let random = &mut self.random;
        let columns = ["a", "k", "c", "n", "t", "s", "d", "b", "e", "f", "u", "ts"];
        let column = *random.one_of(&columns);
        let way = *random.one_of(&["", " desc", " nulls first", " desc nulls last"]);
        let filter = *random.one_of(&["", "where s < 5", "where b", "where n = 7"]);
        let (count, skipped) = (1 + random.below(4) * random.below(400), random.below(9));
        format!(
            "select k, {column}, t from $ {filter} order by {column}{way}, k limit {count} offset {skipped}"
        )
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("db/tables.columns/c")
    }

    fn files(&self) -> Vec<PathBuf> {
        let names = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten();
        let all = names(self.folder()).chain(names(self.folder().with_file_name("c.notes")));
        let mut all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }

    fn reopen(&mut self) {
        let path = self.folder.path().join("db");
        // The old handle goes first: two of one process share what is open.
        self.session = Database::open(self.folder.path().join("other")).unwrap().session().unwrap();
        self.session = Database::open(path).unwrap().session().unwrap();
    }

    /// One change of rows.
    fn change(&mut self) -> &'static str {
        let (at, share) = (self.random.below(self.next), 2 + self.random.below(400));
        match self.random.below(9) {
            0 => {
                self.both(&format!("update $ set d = d + 1, t = 'changed' where k % {share} = 0"));
                "an update"
            }
            1 => {
                self.both(&format!("delete from $ where k % {share} = 1"));
                "a deletion"
            }
            2 => {
                self.both(&format!(
                    "update $ set a = a + 1, c = 'moved ' || k where k % {share} = 2"
                ));
                "keys that move"
            }
            3 => {
                self.both(&format!("update $ set n = null where k = {at}"));
                "an update of one"
            }
            4 => {
                self.both(&format!("delete from $ where k between {at} and {at} + 30000"));
                "a deletion of a range"
            }
            5 => {
                self.insert(2000);
                "rows"
            }
            6 => {
                let key = self.next;
                self.next += 1;
                self.both(&format!(
                    "insert into $ (a, k, c, n) values ({at}, {key}, 'one {key}', 17)"
                ));
                "a row"
            }
            7 => {
                self.insert(40_000);
                "many rows"
            }
            _ => {
                self.both(&format!(
                    "update $ set s = 3 where e > date '2020-02-15' and n < {}",
                    at % 60
                ));
                "an update of many"
            }
        }
    }
}

impl World {
    /// Changes that a snapshot of before does not see, until its files are gone and after.
    fn beside_a_snapshot(&mut self) -> Result<usize, String> {
        let database = Database::open(self.folder.path().join("db")).unwrap();
        let mut older = database.session().unwrap();
        older.execute("begin transaction read only", &[]).unwrap();
        let mut compare = |world: &mut Self| {
            std::mem::swap(&mut world.session, &mut older);
            let used = world.compare("a snapshot");
            std::mem::swap(&mut world.session, &mut older);
            used
        };
        let mut used = compare(self)?;
        self.change();
        self.change();
        if self.random.once_in(2) {
            // Two new parts: at the second, the files of the snapshot go.
            for _ in 0..2 {
                self.both("update $ set n = n + 1 where k % 3 > 0");
            }
        }
        used += compare(self)?;
        older.execute("rollback", &[]).unwrap();
        Ok(used)
    }

    /// One bit of a file is another.
    fn damage(&mut self) -> &'static str {
        let files = self.files();
        if let Some(path) = files.get(self.random.below(files.len().max(1))) {
            let mut bytes = fs::read(path).unwrap();
            let at = self.random.below(bytes.len());
            bytes[at] ^= 1 << self.random.below(8);
            fs::remove_file(path).unwrap();
            fs::write(path, bytes).unwrap();
        }
        self.reopen();
        "damage"
    }

    fn lose(&mut self) -> &'static str {
        let files = self.files();
        if let Some(path) = files.get(self.random.below(files.len().max(1))) {
            fs::remove_file(path).unwrap();
        }
        self.reopen();
        "a lost file"
    }
}

fn run(seed: u64) -> Result<usize, String> {
    let mut world = World::new(seed);
    let mut used = world.compare("the creation")?;
    for _ in 0..14 {
        let what = match world.random.below(16) {
            0 | 1 => {
                world.session.execute("begin", &[]).unwrap();
                let first = world.change();
                used += world.compare(first)?;
                world.change();
                let end = *world.random.one_of(&["rollback", "commit"]);
                world.session.execute(end, &[]).unwrap();
                end
            }
            2 => {
                used += world.beside_a_snapshot()?;
                "changes beside a snapshot"
            }
            3 => world.damage(),
            4 => world.lose(),
            5 => {
                fs::remove_dir_all(world.folder.path().join("db/tables.columns")).unwrap();
                world.reopen();
                used += world.compare("a lost folder")?;
                // The next commit makes the parts again.
                world.both("update $ set n = 1 where k = 5");
                "parts that are made again"
            }
            6 => {
                world.session.execute("drop index c", &[]).unwrap();
                world.change();
                let columns = *world.random.one_of(&["", " (n, t, d, s)"]);
                let text = format!("create index c on fast using columns{columns}");
                world.session.execute(&text, &[]).unwrap();
                "another index"
            }
            7 => {
                world.reopen();
                "opening again"
            }
            8 => {
                world.both("alter table $ rename column n to m");
                world.both("alter table $ rename column s to n");
                world.both("alter table $ rename column m to s");
                world.both("alter table $ alter column s type integer");
                world.both("alter table $ alter column n type integer");
                "columns that changed their names"
            }
            9 => {
                world.both("alter table $ add column z integer default 4");
                world.both("alter table $ drop column z");
                "columns that came and went"
            }
            10 if world.random.once_in(3) => {
                world.both("truncate table $");
                world.insert(60_000);
                "a new beginning"
            }
            _ => world.change(),
        };
        used += world.compare(what)?;
    }
    let database = Database::open(world.folder.path().join("db")).unwrap();
    let tables = database.tables().unwrap();
    let problems = tables.check().unwrap().unwrap().problems;
    // Files may have been harmed last. What is in whole files is right.
    let is_harm = |text: &str| text.contains("is missing") || text.contains("is damaged");
    assert!(problems.iter().all(|problem| is_harm(&problem.text)), "{problems:?}");
    tables.reindex().unwrap();
    assert_eq!(tables.check().unwrap().unwrap().problems, []);
    Ok(used)
}

#[test]
fn statements_answer_the_same_with_and_without_columns() {
    let used = seeds::run_seeds(seeds::seeds(3), |seed| run(seed).map(|used| used as u64));
    let used = used.unwrap_or_else(|text| panic!("{text}"));
    println!("{used} statements read columns");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || used > 200, "{used} read columns");
}

/// Row groups in which a column is null everywhere, or whose lists are empty, are not skipped by a sort
/// that has not its first rows yet.
#[test]
fn nulls_that_lie_together_are_among_the_first_rows() {
    let mut world = World::new(1);
    world.both(
        "create table t$ (id bigint primary key, a integer, l integer[], f double precision)",
    );
    world.both(
        "insert into t$ select i, case when i < 70000 then 1 end, \
         case when i < 70000 then array[]::integer[] else array[null, 1] end, \
         case when i % 2 = 0 then -('NaN'::double precision) else i end \
         from generate_series(0, 199999) g (i)",
    );
    world.session.execute("create index ct on tfast using columns", &[]).unwrap();
    for text in [
        "select a, count(*) from t$ group by a order by a limit 5",
        "select id, a from t$ where a is null order by a, id limit 5",
        "select id, a from t$ order by a, id limit 5 offset 140000",
        "select id, a from t$ order by a, id limit 300000",
        "select id, a from t$ order by a desc, id limit 5",
        "select id, a from t$ order by a desc nulls last, id limit 5",
        "select id from t$ order by l, id limit 5",
        "select id from t$ order by l desc, id limit 5",
        "select id, f from t$ order by f desc, id limit 5",
        "select id, f from t$ order by f, id limit 5",
        "select min(f), max(f), min(a), max(a) from t$",
    ] {
        let [plain, fast] = ["plain", "fast"].map(|name| world.rows(&text.replace('$', name)));
        assert_eq!(plain, fast, "{text}");
        let plan = world.rows(&format!("explain {}", text.replace('$', "fast")));
        assert!(plan.contains("from columns ct"), "{text}: {plan}");
    }
}

#[test]
fn explain_says_which_copy_a_scan_reads() {
    let mut world = World::new(1);
    let mut plan = |text: &str| world.rows(&format!("explain {text}"));
    let scan = plan("select n, count(*) from fast group by n");
    assert!(scan.contains("from columns c: "), "{scan}");
    for text in ["select * from fast limit 10", "select count(*) from plain where n = 3"] {
        let scan = plan(text);
        assert!(!scan.contains("columns"), "{scan}");
    }
    let skipped = plan("select sum(n) from fast where e = date '2000-01-01'");
    assert!(skipped.contains("3 of 3 row groups skipped"), "{skipped}");
    world.session.execute("update fast set n = 2 where k in (5, 6, 70000)", &[]).unwrap();
    let changed = world.rows("explain select sum(n) from fast");
    assert!(changed.contains("3 changed rows"), "{changed}");
    for text in [
        "create unique index x on fast using columns",
        "create index x on fast using columns where n > 5",
        "create index x on fast using columns (n desc)",
        "create index x on fast using columns (missing)",
        "create index c on fast using columns",
    ] {
        assert!(world.session.execute(text, &[]).is_err(), "{text}");
    }
    world.session.execute("create index if not exists c on fast using columns", &[]).unwrap();
    world.session.execute("drop index c", &[]).unwrap();
    let scan = world.rows("explain select n, count(*) from fast group by n");
    assert!(!scan.contains("columns"), "{scan}");
}

#[test]
fn databases_in_memory_and_dumps_have_columns() {
    let database = Database::open(":memory:").unwrap();
    let mut session = database.session().unwrap();
    session
        .execute("create table t (id int primary key, n int, \"odd / name\" text)", &[])
        .unwrap();
    let rows = "insert into t select i, i % 7, 'x' from generate_series(1, 20000) g (i)";
    session.execute(rows, &[]).unwrap();
    for (name, columns) in [("\"Odd / ../index\"", ""), ("few", " (n)")] {
        session.execute(&format!("create index {name} on t using columns{columns}"), &[]).unwrap();
    }
    let mut answer = |text: &str| {
        let mut rows = session.execute(text, &[]).unwrap().rows.unwrap();
        format!("{:?}", rows.collect_rows().unwrap())
    };
    assert!(answer("explain select sum(n) from t").contains("from columns few: 1 part"));
    let all = answer("explain select max(\"odd / name\"), sum(n) from t");
    assert!(all.contains("from columns Odd / ../index: 1 part"), "{all}");
    assert_eq!(answer("select sum(n) from t"), "[[Integer(59998)]]");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("dump");
    database.dump(&target, folio::dump::FORMATS[0], &mut |_, _| true).unwrap();
    let dump = fs::read_to_string(target.join("schema.sql")).unwrap();
    for statement in [
        "CREATE INDEX \"Odd / ../index\" ON t USING columns;",
        "CREATE INDEX few ON t USING columns (n);",
    ] {
        assert!(dump.contains(statement), "{dump}");
    }
}

/// As a process leaves them that is killed while it creates an index, or makes a part.
#[test]
fn files_without_an_index_are_removed_by_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let run = |text: &str| {
        let database = Database::open(&path).unwrap();
        database.session().unwrap().execute(text, &[]).map(drop).unwrap();
    };
    run("create table t (a int primary key); insert into t select * from generate_series(1, 9)");
    run("create index c on t using columns");
    let columns = path.join("tables.columns");
    let left = ["gone/part-000001.parquet", "gone.notes/000001.idx", "c/part-000007.parquet"];
    for name in left {
        fs::create_dir_all(columns.join(name).parent().unwrap()).unwrap();
        fs::write(columns.join(name), "half of it").unwrap();
    }
    run("select count(*) from t");
    assert!(left.iter().all(|name| columns.join(name).exists()), "who reads removes nothing");
    run("create table u (a int)");
    assert!(!left.iter().any(|name| columns.join(name).exists()));
    assert!(!columns.join("gone").exists() && columns.join("c").exists());
    let database = Database::open(&path).unwrap();
    assert!(database.tables().unwrap().check().unwrap().unwrap().problems.is_empty());
}
