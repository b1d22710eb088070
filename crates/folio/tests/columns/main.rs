//! Columns of collections: whatever happens to documents and files, every statement finds what it
//! finds without them, and EXPLAIN says that it reads them. `crash` has crashes and failing calls,
//! `behind` what is made behind the writer.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio::{Database, IndexMethod, IndexOptions, OpenOptions, Session};
use folio_file::{DiskFileSystem, FileSystem};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

mod behind;
mod crash;
#[path = "../../../../conformance/random.rs"]
mod random;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;

use random::Random;

/// Statements whose answers do not depend on an order that they do not ask for.
const STATEMENTS: [&str; 26] = [
    "select count(*) from $",
    "select count(*), sum(n), min(t), max(f) from $",
    "select kind, count(*) from $ group by kind order by 1",
    "select _id, n from $ where n = 7 order by _id",
    "select _id, n, t from $ where n > 30 and t >= 'a' order by _id",
    "select _id from $ where f = 0.0 or f < -1 order by _id",
    "select _id, f from $ where f in (0.5, 1000.5) order by _id",
    "select _id, b from $ where b and n <> 3 order by _id",
    "select _id from $ where not b and t > 'a' order by _id",
    "select count(*) from $ where not b",
    "select _id, m from $ order by _id",
    "select _id from $ where m = '1'::json order by _id",
    "select _id, o from $ order by _id limit 50",
    "select _id, o.p.q from $ where o.p.q is not null order by _id",
    "select o.s, count(*), count(distinct o.p.q) from $ group by 1 order by 1",
    "select _id, l from $ where array_contains(l, 'b') order by _id",
    "select _id, l[1] from $ where l is not null order by _id limit 40",
    "select x, count(*) from $ group by x order by x",
    "select * from $ order by _id limit 30",
    "select _id from $ where t like 'a%' order by _id desc limit 20",
    "select a._id from $ a join $ b on a.n = b.n where b._id = 'd7' order by 1",
    "select _doc from $ where n = 5 order by _id",
    "select _id from $ where n is null order by _id",
    "select _id from $ where o.s in ('u', 'v') and n between 5 and 12 order by _id",
    "select sum(length(pad)) from $",
    "select _id, z from $ where z is distinct from null order by _id",
];

struct World {
    folder: TempDir,
    database: Database,
    session: Session,
    random: Random,
    /// Documents have been written with more types.
    wide: bool,
    options: OpenOptions,
}

fn document(random: &mut Random, id: &str, wide: bool) -> Json {
    let mut document = json!({ "_id": id });
    let mut set = |name: &str, value: Json| document[name] = value;
    let text = |random: &mut Random| {
        (0..random.below(4))
            .map(|_| *random.one_of(&['a', 'b', 'ä', '"', '\n']))
            .collect::<String>()
    };
    set("kind", (*random.one_of(&["commit", "like", "follow"])).into());
    if random.below(8) > 0 {
        set("n", random.below(40).into());
    }
    if random.below(8) > 0 {
        set("t", text(random).into());
    }
    if random.below(8) > 0 {
        set("b", random.once_in(2).into());
    }
    let fractions: [&str; 6] = ["0.5", "-0.0", "0.1", "-1e3", "1000.5", "7.0"];
    if random.below(8) > 0 {
        set("f", serde_json::from_str::<Json>(fractions[random.below(6)]).unwrap());
    }
    let mixed =
        [json!(1), json!("1"), json!("a"), json!(null), json!([1]), json!(true), json!({"k": 2.5})];
    set("m", random.one_of(&mixed).clone());
    set("z", Json::Null);
    if random.below(6) > 0 {
        let mut object = json!({ "s": *random.one_of(&["u", "v", "w"]) });
        if random.once_in(2) {
            object["p"] = json!({ "q": random.below(9) });
        }
        if wide && random.once_in(3) {
            object["more"] = json!([text(random)]);
            object["p"] = json!({ "q": random.below(9), "r": 0.5 });
        }
        set("o", object);
    }
    if random.below(8) > 0 {
        let list = (0..random.below(4)).map(|_| {
            if random.once_in(9) { Json::Null } else { (*random.one_of(&["a", "b", "c"])).into() }
        });
        set("l", list.collect());
    }
    set("x", if wide && random.once_in(50) { json!(0.5) } else { random.below(9).into() });
    if wide && random.once_in(4) {
        set("late", random.below(5).into());
    }
    set("pad", "p".repeat(900 + random.below(900)).into());
    document
}

impl World {
    fn new(seed: u64) -> Self {
        Self::with(seed, OpenOptions::default())
    }

    fn with(seed: u64, options: OpenOptions) -> Self {
        let folder = TempDir::new().unwrap();
        let database = Database::open_with(folder.path().join("data"), &options).unwrap();
        database.create().unwrap();
        let session = database.session().unwrap();
        Self { folder, database, session, random: Random::new(seed), wide: false, options }
    }

    fn meta(&self, name: &str) -> PathBuf {
        self.folder.path().join("data/collections").join(name).join("meta")
    }

    fn both(&self) -> [folio::Collection; 2] {
        ["plain", "fast"].map(|name| self.database.collection(name).unwrap())
    }

    /// The same change to both collections.
    fn put_some(&mut self, count: usize, ids: usize) {
        let values: Vec<(String, Json)> = (0..count)
            .map(|_| {
                let id = format!("d{}", self.random.below(ids));
                let value = document(&mut self.random, &id, self.wide);
                (id, value)
            })
            .collect();
        for collection in self.both() {
            collection.put_many(values.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
        }
    }

    fn change_few(&mut self) {
        let [plain, fast] = self.both();
        for _ in 0..self.random.below(60) {
            let id = format!("d{}", self.random.below(3000));
            if self.random.once_in(4) {
                assert_eq!(plain.delete(&id).unwrap(), fast.delete(&id).unwrap());
            } else {
                let value = document(&mut self.random, &id, self.wide);
                assert_eq!(plain.put(&id, &value).unwrap(), fast.put(&id, &value).unwrap());
            }
        }
    }

    /// The same edit of both files, by hand.
    fn edit(&mut self, edit: impl Fn(&mut Vec<u8>)) {
        self.database.flush().unwrap();
        for name in ["plain", "fast"] {
            let path = self.meta(name).join("data.jsonl");
            let mut bytes = fs::read(&path).unwrap();
            edit(&mut bytes);
            fs::write(&path, &bytes).unwrap();
        }
        for collection in self.both() {
            collection.refresh().unwrap();
        }
    }

    fn reopen(&mut self) {
        self.database.close().unwrap();
        let path = self.folder.path().join("data");
        self.database = Database::open_with(path, &self.options).unwrap();
        self.session = self.database.session().unwrap();
    }

    fn parts(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.meta("fast").join("columns-c")).into_iter().flatten();
        let mut names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }

    fn notes(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.meta("fast")).unwrap().map(|entry| entry.unwrap().path());
        let is_note = |path: &PathBuf| {
            path.file_name().unwrap().to_string_lossy().starts_with("folio.columns-c-")
        };
        let mut names: Vec<PathBuf> = names.filter(is_note).collect();
        names.sort();
        names
    }

    /// Damages a file of the columns while nobody has it open.
    fn damage(&mut self) {
        self.database.close().unwrap();
        let all = [self.parts(), self.notes()].concat();
        if let Some(path) = all.get(self.random.below(all.len().max(1))) {
            self.damage_file(path);
        }
        self.reopen();
    }

    fn damage_file(&mut self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self.random.below(4) {
            0 => fs::remove_file(path).unwrap(),
            1 => {
                bytes.truncate(self.random.below(bytes.len()));
                fs::write(path, &bytes).unwrap();
            }
            _ => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
                fs::write(path, &bytes).unwrap();
            }
        }
    }

    fn rows(&mut self, text: &str) -> Result<String, String> {
        let answer = self.session.execute(text, &[]).map_err(|error| error.to_string())?;
        let mut rows = answer.rows.ok_or("no rows")?;
        let rows = rows.collect_rows().map_err(|error| error.to_string())?;
        Ok(rows.iter().map(|row| format!("{row:?}\n")).collect())
    }

    /// Compares all statements; returns how many read columns.
    fn compare(&mut self, what: &str) -> Result<usize, String> {
        let mut used = 0;
        for text in STATEMENTS {
            let plain = self.rows(&text.replace('$', "plain"));
            let fast = self.rows(&text.replace('$', "fast"));
            if plain != fast {
                return Err(format!("after {what}, {text}: {plain:?}\nwith columns: {fast:?}"));
            }
            plain.map_err(|error| format!("after {what}, {text}: {error}"))?;
            let plan = self.rows(&format!("explain {}", text.replace('$', "fast")))?;
            used += usize::from(plan.contains("from columns c:"));
        }
        Ok(used)
    }
}

/// Changes the text of some lines and keeps their lengths.
fn swap_kinds(bytes: &mut [u8]) {
    let from = b"\"kind\":\"like\"";
    let finder = |bytes: &[u8], at: usize| {
        bytes[at..].windows(from.len()).position(|own| own == from).map(|found| found + at)
    };
    if let Some(at) = finder(bytes, bytes.len() / 3) {
        bytes[at..at + from.len()].copy_from_slice(b"\"kind\":\"lake\"");
    }
}

/// Removes one of the last lines, so that an older one of its id may live again.
fn remove_line(bytes: &mut Vec<u8>, back: usize) {
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    if let Some(pair) = ends.windows(2).rev().nth(back) {
        bytes.drain(pair[0] + 1..pair[1] + 1);
    }
}

fn run(seed: u64) -> Result<usize, String> {
    // With a file system of its own a database has no threads: every other seed repeats exactly.
    let file_system =
        seed.is_multiple_of(2).then(|| Arc::new(DiskFileSystem) as Arc<dyn FileSystem>);
    let mut world = World::with(seed, OpenOptions { file_system, ..OpenOptions::default() });
    world.put_some(1500, 3000);
    let options = IndexOptions {
        name: Some("c".to_owned()),
        method: IndexMethod::Columns,
        ..IndexOptions::default()
    };
    let [_, fast] = world.both();
    fast.create_index::<&str>(&[], &options, &mut |_, _| true).unwrap();
    let mut used = world.compare("creation")?;
    assert!(used >= STATEMENTS.len() - 6, "{used} statements read columns");
    for _ in 0..10 {
        let back = world.random.below(40);
        let what = match world.random.below(14) {
            0 | 1 => {
                world.put_some(900, 3000);
                "a batch"
            }
            2 | 3 => {
                world.change_few();
                "changes"
            }
            4 => {
                world.change_few();
                world.database.flush().unwrap();
                "changes and a flush"
            }
            5 => {
                world.edit(|bytes| swap_kinds(bytes));
                "an edit of the same length"
            }
            6 => {
                world.edit(|bytes| remove_line(bytes, back));
                "a line removed"
            }
            7 => {
                let line = "{\"_id\":\"hand\",\"kind\":\"like\",\"n\":7,\"pad\":\"\"}\n";
                world.edit(|bytes| drop(bytes.splice(0..0, line.bytes())));
                "a line inserted at the front"
            }
            8 => {
                world.edit(|bytes| bytes.extend_from_slice(b"{\"_id\":\"hand\",\"n\":7}"));
                "a line appended without an end"
            }
            9 => {
                for collection in world.both() {
                    collection.compact(&mut |_, _| true).unwrap();
                }
                "a compaction"
            }
            10 => {
                world.wide = true;
                world.put_some(100, 3000);
                "new types"
            }
            11 => {
                world.damage();
                "damage"
            }
            12 => {
                for name in ["plain", "fast"] {
                    world.database.collection(name).unwrap().reindex(&mut |_, _| true).unwrap();
                }
                "a new index"
            }
            _ => {
                world.reopen();
                "opening again"
            }
        };
        used += world.compare(what)?;
    }
    Ok(used)
}

#[test]
fn statements_find_the_same_with_and_without_columns() {
    let used = seeds::run_seeds(seeds::seeds(6), |seed| run(seed).map(|used| used as u64));
    let used = used.unwrap_or_else(|text| panic!("{text}"));
    println!("{used} statements read columns");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || used > 600, "{used} read columns");
}

/// Of documents that several threads read: what a sort has reached tells the scan which rows to read.
#[test]
fn first_rows_are_the_same_with_and_without_columns() {
    let mut world = World::new(3);
    let values = (0..140_000_u64).map(|i| {
        let mut value = json!({ "at": i / 3, "few": i * 7919 % 50, "pad": i * i % 1009 });
        if i % 5 > 0 {
            value["score"] = (i * 31 % 1000 / 10).into();
            value["text"] = format!("text {}", i * 17 % 4001).into();
        }
        if i % 900 > 0 {
            value["f"] = ((i * 13 % 70_001) as f64 - 0.5).into();
        }
        value["yes"] = (i % 7 == 0).into();
        value["list"] = if i < 70_000 { json!([]) } else { json!([i % 90, 1]) };
        if i >= 70_000 {
            value["late"] = (i % 1013).into();
        }
        (format!("d{i:06}"), value)
    });
    let values: Vec<(String, Json)> = values.collect();
    for collection in world.both() {
        collection.put_many(values.iter().map(|(id, value)| (id.as_str(), value))).unwrap();
    }
    world.session.execute("create index c on fast using columns", &[]).unwrap();
    let mut read = 0;
    let cases = [
        ("", "10"),
        ("where few < 9", "700"),
        ("where score > 3", "5000"),
        ("where at < 23000", "9"),
        ("", "5 offset 80000"),
        ("", "300000"),
    ];
    for column in ["at", "few", "score", "text", "f", "yes", "late", "list", "_id"] {
        for way in ["", "desc", "nulls first", "desc nulls last"] {
            for (filter, count) in cases {
                let text = format!(
                    "select _id, {column}, pad from $ {filter} order by {column} {way}, _id limit {count}"
                );
                let answers = ["plain", "fast"].map(|name| world.rows(&text.replace('$', name)));
                assert!(answers[0].is_ok() && answers[0] == answers[1], "{text}");
                let plan = format!("explain analyze {}", text.replace('$', "fast"));
                read += usize::from(world.rows(&plan).unwrap().contains("from columns c:"));
            }
        }
    }
    assert_eq!(read, 9 * 4 * 6);
    let text = "select late, count(*) from $ group by late order by late nulls last limit 2000";
    let answers = ["plain", "fast"].map(|name| world.rows(&text.replace('$', name)));
    assert!(answers[0].is_ok() && answers[0] == answers[1]);
    // A row that fails does so whenever the sort has its first rows.
    let failing = "select at, 10 / (at - 46000) from fast order by at limit 5";
    (0..5).for_each(|_| assert!(world.rows(failing).is_err()));
    // Rows that come after the first ones are not even read, unless threads are done before the sort
    // has any: of many runs that is not so in all.
    let text = "explain analyze select pad from fast order by at desc nulls last limit 5";
    let reads_all = |plan: String| {
        let scan = plan.lines().find(|line| line.contains("scan fast")).map(str::to_owned);
        scan.unwrap().contains("(140,000 rows")
    };
    assert!((0..200).any(|_| !reads_all(world.rows(text).unwrap())));
}

#[test]
fn a_statement_creates_and_drops_columns() {
    let mut world = World::new(1);
    world.put_some(200, 3000);
    world.session.execute("create index c on fast using columns", &[]).unwrap();
    let plan = "explain select kind, count(*) from fast group by kind";
    assert!(world.rows(plan).unwrap().contains("from columns c: 1 part"));
    assert_eq!(world.parts().len(), 1);
    assert!(world.session.execute("create index c on fast (n)", &[]).is_err());
    world.session.execute("drop index c", &[]).unwrap();
    assert!(!world.rows(plan).unwrap().contains("columns"));
    assert!(!world.meta("fast").join("columns-c").exists() && world.notes().is_empty());
    // It says how far it is, and can be cancelled.
    let interrupt = world.session.interrupt();
    let cancel = move |_, total| interrupt.store(total > 0, Ordering::Relaxed);
    world.session.set_progress(Some(Arc::new(cancel)));
    let Err(error) = world.session.execute("create index c on fast using columns", &[]) else {
        panic!("it is not cancelled")
    };
    assert_eq!(error.code(), folio::ErrorCode::Cancelled, "{error}");
    assert!(!world.rows(plan).unwrap().contains("columns"));
    world.session.set_progress(None);
    // Of some fields: what is not among them is read from the lines.
    world.session.execute("create index on fast using columns (kind, o.p)", &[]).unwrap();
    assert!(world.rows(plan).unwrap().contains("from columns fast_columns_idx: 1 part"));
    for (text, is_used) in [
        ("select o.p.q from $ where kind = 'like' order by 1", true),
        ("select o.p from $ where kind = 'like' order by o.p.q", true),
        ("select n from $ where kind = 'like' order by 1", false),
        ("select o from $ order by _id", false),
    ] {
        let plan = world.rows(&format!("explain {}", text.replace('$', "fast"))).unwrap();
        assert_eq!(plan.contains("columns"), is_used, "{text}");
        let answers = ["plain", "fast"].map(|name| world.rows(&text.replace('$', name)));
        assert_eq!(answers[0], answers[1], "{text}");
    }
    for text in [
        "create unique index on fast using columns",
        "create index on fast using columns (n) where n > 5",
        "create index on fast using columns (l[])",
        "create index on fast using columns (n desc)",
    ] {
        assert!(world.session.execute(text, &[]).is_err(), "{text}");
    }
}
