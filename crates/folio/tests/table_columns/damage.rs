//! Files of columns that are not as they were written: answers are those of the rows, a notice and the
//! check name the file, and it is made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio::Database;
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Options, RowRange, TableStore};

use super::World;

/// Reads every column, so that no damage to values stays unseen.
const ALL: &str = "select count(a), count(k), max(c), sum(n), max(t), sum(s), sum(d), count(b), \
                   max(e), max(f), count(u), max(ts), count(l) from $";

const STATEMENTS: [&str; 3] = [
    ALL,
    "select t, count(*), sum(d) from $ group by t order by t",
    "select count(*), sum(a) from $ where e >= date '2020-03-01' and s = 7",
];

/// What happens to a file, and what is said of it then.
const HARMS: [(&str, &str); 5] = [
    ("cut in half", "is damaged"),
    ("emptied", "is"),
    ("one bit", "is damaged"),
    ("removed", "is missing"),
    ("replaced by garbage", "is damaged"),
];

fn harm(path: &Path, how: &str) {
    let mut bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    match how {
        "cut in half" => bytes.truncate(bytes.len() / 2),
        "emptied" => bytes.clear(),
        "one bit" => {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
        }
        "removed" => return,
        _ => bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 % 251) as u8),
    }
    fs::write(path, bytes).unwrap();
}

impl World {
    fn database(&self) -> Database {
        Database::open(self.folder.path().join("db")).unwrap()
    }

    /// The newest part, or its note; older ones are for snapshots.
    fn newest(&self, extension: &str) -> PathBuf {
        let mut files = self.files().into_iter();
        files.rfind(|path| path.extension().is_some_and(|own| own == extension)).unwrap()
    }

    fn problems(&self) -> Vec<String> {
        let report = self.database().tables().unwrap().check().unwrap().unwrap();
        report.problems.iter().map(ToString::to_string).collect()
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.database().tables().unwrap().take_notices();
        notices.into_iter().map(|notice| notice.0).collect()
    }

    fn reads_columns(&mut self) -> bool {
        self.rows(&format!("explain {}", ALL.replace('$', "fast"))).contains("from columns c")
    }

    fn compare_some(&mut self, what: &str) {
        for text in STATEMENTS {
            let [plain, fast] = ["plain", "fast"].map(|name| self.rows(&text.replace('$', name)));
            assert_eq!(plain, fast, "{what}: {text}");
        }
    }
}

#[test]
fn files_that_are_not_as_written_are_named_and_made_again() {
    let mut world = World::new(3);
    assert_eq!(world.problems(), [""; 0]);
    for (number, (how, is)) in HARMS.iter().enumerate() {
        for (place, extension) in ["parquet", "idx"].into_iter().enumerate() {
            let path = world.newest(extension);
            let what = format!("{} {how}", path.display());
            harm(&path, how);
            world.reopen();
            world.compare_some(&what);
            assert!(!world.reads_columns(), "{what}");
            let name = path.file_name().unwrap().to_str().unwrap();
            let names = |text: &String| text.contains(name) && text.contains(is);
            let notices = world.notices();
            assert!(notices.len() == 1 && notices.iter().all(names), "{what}: {notices:?}");
            assert!(world.notices().is_empty(), "{what}: it is said once");
            let problems = world.problems();
            assert!(problems.len() == 1 && problems.iter().all(names), "{what}: {problems:?}");
            assert!(problems[0].contains("folio reindex"), "{problems:?}");
            match (number + place) % 2 {
                0 => assert_eq!(world.database().tables().unwrap().reindex().unwrap(), 1),
                _ => world.both("update $ set n = n + 1 where k = 77"),
            }
            assert!(world.reads_columns(), "{what}: made again");
            world.compare_some(&what);
            assert_eq!(world.problems(), [""; 0], "{what}: made again");
        }
    }
}

/// The check looks at the files, also where they are open and their rows are not asked for.
#[test]
fn the_check_sees_what_open_files_hide() {
    let mut world = World::new(5);
    world.compare_some("the creation");
    harm(&world.newest("parquet"), "removed");
    world.compare_some("a file that is open");
    assert!(world.reads_columns() && world.notices().is_empty());
    let problems = world.problems();
    assert!(problems.len() == 1 && problems[0].contains("is missing"), "{problems:?}");
}

#[test]
fn rows_that_differ_from_the_table_are_found() {
    let mut world = World::new(1);
    world.both("delete from $ where k between 4000 and 4500");
    world.both("update $ set n = n + 1, t = null where k % 9000 = 5");
    assert_eq!(world.problems(), [""; 0], "changes since the parts were made are no problem");
    let path = world.folder.path().join("db");
    world.session = Database::open(world.folder.path().join("other")).unwrap().session().unwrap();
    // The list of changed rows is lost.
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let store = TableStore::open(&files, &path, Options::default()).unwrap();
    let mut transaction = store.begin().unwrap();
    let table = transaction.table("fast").unwrap();
    let index = table.columns_indexes()[0].clone();
    let parts = transaction.reader().row_parts(&table, &index).unwrap();
    transaction.set_row_parts(&table, &index, &parts, &[RowRange::default()]).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
    world.reopen();
    let problems = world.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("has other rows than the table"),
        "{problems:?}"
    );
    world.database().tables().unwrap().reindex().unwrap();
    assert_eq!(world.problems(), [""; 0]);
    world.compare_some("parts that were made again");
}
