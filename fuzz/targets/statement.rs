//! Statements: any text is answered or refused, never with the end of the process, and
//! an error changes nothing.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use folio::Session;
use folio_file::MemoryFileSystem;

use super::open;

/// How long a statement may take: a cross join of everything is legal, and endless.
const PATIENCE: Duration = Duration::from_millis(300);

fn database() -> &'static MemoryFileSystem {
    static FILES: OnceLock<MemoryFileSystem> = OnceLock::new();
    FILES.get_or_init(|| {
        let files = MemoryFileSystem::new();
        let database = open(&files).unwrap();
        let schema = "User ( name: str unique, age: int = 0, friends: []User, best: User, \
                      scores: []int = [], born: date?, at: datetime = NOW, posts: []Post.author ) \
                      Post ( title: str, likes: float = 1, author: User on delete cascade, \
                      about: []User on delete cascade )";
        database.apply_schema(schema, false).unwrap();
        for text in [
            "ADD User (name = 'Ann', age = 34, scores = [1, 2]) ('Bob', 20, [])",
            "UPDATE User {} TO (friends = {}, best = {name = 'Ann'})",
            "ADD Post (title = 'p', author = {name = 'Ann'}, about = {}) ('q', {name = 'Bob'}, none)",
        ] {
            database.ziql(text, &[]).unwrap();
        }
        let mut session = database.session().unwrap();
        session
            .execute("create table t (a int primary key, b text, c double precision)", &[])
            .unwrap();
        session.execute("insert into t values (1, 'one', 1.5), (2, null, -0.0)", &[]).unwrap();
        let docs = database.collection("docs").unwrap();
        docs.put_raw("x", r#"{"a": 1, "b": [true, null], "c": {"d": "e"}}"#).unwrap();
        database.close().unwrap();
        files
    })
}

pub(super) fn sql(bytes: &[u8]) {
    run(bytes, |session, text| {
        if let Ok(answer) = session.execute(text, &[])
            && let Some(mut rows) = answer.rows
        {
            while let Ok(Some(_)) = rows.next_batch() {}
        }
    });
}

/// Links that lead to nothing; ZiQL cannot take away what forbids them.
const DANGLING: &str = "
    select 1 from \"User.friends\" l left join \"User\" u on u.id = l.target where u.id is null
    union all select 1 from \"Post.about\" l left join \"User\" u on u.id = l.target where u.id is null
    union all select 1 from \"Post.about\" l left join \"Post\" p on p.id = l.source where p.id is null
    union all select 1 from \"Post\" p left join \"User\" u on u.id = p.author
        where p.author is not null and u.id is null";

pub(super) fn ziql(bytes: &[u8]) {
    run(bytes, |session, text| {
        if let Ok(mut rows) = session.ziql(text, &[])
            && let Ok(json) = rows.to_json()
        {
            serde_json::from_str::<serde_json::Value>(&json).unwrap();
        }
        // What was interrupted is over; this is another statement.
        session.interrupt().store(false, Ordering::Relaxed);
        if let Ok(answer) = session.execute(DANGLING, &[])
            && let Some(mut rows) = answer.rows
            && let Ok(json) = rows.to_json()
        {
            assert_eq!(json, "[]", "no link leads to nothing");
        }
    });
}

fn run(bytes: &[u8], statement: impl FnOnce(&mut Session, &str)) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let files = database().kill();
    let database = open(&files).unwrap();
    let mut session = database.session().unwrap();
    let interrupt = session.interrupt();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended
                .recv_timeout(PATIENCE)
                .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                interrupt.store(true, Ordering::Relaxed);
            }
        });
        statement(&mut session, text);
        drop(done);
    });
    drop(session);
    if let Some(report) = database.tables().unwrap().check().unwrap() {
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}
