//! The rules of the studio over real HTTP, with a test for each.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use folio::{Database, OpenOptions, Parameters};
use folio_studio::{Limits, Listen, Studio};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A statement that takes minutes.
const LONG: &str =
    "select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a < b";

struct Server {
    studio: Studio,
    folder: TempDir,
}

impl Server {
    fn start(is_writable: bool, limits: Limits) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("data");
        let database = Database::open(&path).unwrap();
        let users = database.collection("users").unwrap();
        for number in 0..300 {
            users.put(&format!("u{number}"), &json!({"name": "Ann", "age": number})).unwrap();
        }
        let create = "create table cities (id int primary key, name text);
            insert into cities values (1, 'Oslo'), (2, '<script>alert(1)</script>')";
        database.sql(create, &Parameters::default()).unwrap();
        database.close().unwrap();
        let options = if is_writable { OpenOptions::default() } else { OpenOptions::read_only() };
        let database = Database::open_with(&path, &options).unwrap();
        Self { studio: Studio::start(database, Listen::local(0), limits).unwrap(), folder }
    }

    fn reading() -> Self {
        Self::start(false, Limits::default())
    }

    fn host(&self) -> String {
        self.studio.url().split('/').nth(2).unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.studio.url().split('/').nth(3).unwrap())
    }

    /// Sends a request and returns its connection.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut connection = TcpStream::connect(self.host()).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.host()));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(connection, "{text}\r\n{body}").unwrap();
        connection
    }

    /// The status and the text of the answer, with its head.
    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut text = String::new();
        self.send(method, path, headers, body).read_to_string(&mut text).unwrap();
        (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
    }

    /// The answer to a request of which no more than the head is sent.
    fn send_head(&self, method: &str, path: &str, header: &str) -> String {
        let mut connection = TcpStream::connect(self.host()).unwrap();
        let host = self.host();
        write!(connection, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{header}\r\n\r\n").unwrap();
        let mut text = String::new();
        let _ = connection.read_to_string(&mut text);
        text
    }

    fn call(&self, action: &str, asked: &Value) -> Value {
        let path = self.path(&format!("api/{action}"));
        let (status, text) = self.request("POST", &path, &[], &asked.to_string());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Runs a statement as somebody who presses Run.
    fn ask(&self, text: &str) -> Value {
        self.call("ask", &json!({"language": "sql", "text": text, "is_pressed": true}))
    }

    /// Sends what a page asks, and waits until it is being worked at.
    fn begin(&self, action: &str, asked: &Value) -> TcpStream {
        let path = self.path(&format!("api/{action}"));
        let connection = self.send("POST", &path, &[], &asked.to_string());
        thread::sleep(Duration::from_millis(300));
        connection
    }

    fn wait_until_idle(&self, least: Duration) {
        let start = Instant::now();
        while self.studio.running_count() > 0 {
            assert!(start.elapsed() < least, "the statement goes on");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_refusal_arrives_before_the_rest_of_its_request() {
    let server = Server::reading();
    let (path, headers) = (server.path("api/overview"), [("Host", "evil.example")]);
    // More than the server reads at once.
    assert_eq!(server.request("POST", &path, &headers, &"x".repeat(300 << 10)).0, 403);
}

#[test]
#[cfg(target_os = "linux")]
fn it_listens_on_one_address_of_this_machine() {
    let server = Server::reading();
    let port = server.host().split_once(':').unwrap().1.to_owned();
    assert!(TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    // Linux has all of 127.0.0.0/8: who listens everywhere listens there.
    assert!(TcpStream::connect(format!("127.0.0.2:{port}")).is_err());
}

#[test]
fn only_the_token_opens() {
    let server = Server::reading();
    assert_eq!(server.request("GET", &server.path(""), &[], "").0, 200);
    let foreign = format!("/{}/", "0".repeat(32));
    for path in ["/", "/api/overview", "//", foreign.as_str(), "/studio.js"] {
        assert_eq!(server.request("GET", path, &[], "").0, 403, "{path}");
        assert_eq!(server.request("POST", path, &[], "{}").0, 403, "{path}");
    }
    assert_ne!(Server::reading().path(""), server.path(""), "each start has its own");
    let (status, text) = server.request("GET", server.path("").trim_end_matches('/'), &[], "");
    let location = format!("\r\nLocation: {}\r\n", server.path(""));
    assert!(status == 308 && text.contains(&location), "{text}");
}

#[test]
fn a_foreign_name_of_this_machine_is_refused() {
    let server = Server::reading();
    let port = server.host().split_once(':').unwrap().1.to_owned();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", ""] {
        let answered =
            server.request("POST", &server.path("api/overview"), &[("Host", host)], "{}");
        assert_eq!(answered.0, 403, "{host}");
    }
    let local = format!("localhost:{port}");
    assert_eq!(server.request("GET", &server.path(""), &[("Host", &local)], "").0, 200);
}

#[test]
fn a_page_of_another_site_is_refused() {
    let server = Server::reading();
    let path = server.path("api/overview");
    let own = format!("http://{}", server.host());
    assert_eq!(server.request("POST", &path, &[("Origin", &own)], "{}").0, 200);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(server.request("POST", &path, &[("Origin", origin)], "{}").0, 403, "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(server.request("POST", &path, &[("Sec-Fetch-Site", site)], "{}").0, 403);
    }
    let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
    assert_eq!(server.request("GET", &server.path(""), &link, "").0, 200, "a link opens it");
    assert_eq!(server.request("POST", &path, &link, "{}").0, 403);
}

#[test]
fn every_answer_forbids_the_page_to_reach_out() {
    let server = Server::reading();
    for (path, status) in [(server.path(""), 200), (server.path("nothing"), 404), ("/".into(), 403)]
    {
        let (found, text) = server.request("GET", &path, &[], "");
        assert_eq!(found, status);
        let head = text.split_once("\r\n\r\n").unwrap().0;
        assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"));
        assert!(head.contains("frame-ancestors 'none'"), "{head}");
        for rule in [
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Cross-Origin-Resource-Policy: same-origin",
            "Cross-Origin-Opener-Policy: same-origin",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(head.contains(rule), "{rule}: {head}");
        }
        assert!(!head.to_lowercase().contains("access-control-allow"), "{head}");
    }
}

#[test]
fn nothing_is_changed_without_write() {
    let server = Server::reading();
    let file = server.folder.path().join("out.csv");
    let copy = format!("copy cities to '{}'", file.display());
    for text in
        ["delete from cities", "insert into users (_id) values ('x')", "drop table cities", &copy]
    {
        assert_eq!(server.ask(text)["error"]["code"], "read_only", "{text}");
    }
    assert!(!file.exists(), "no file is written");
    assert_eq!(server.ask("select count(*) from cities")["rows"], json!([[2]]));

    let server = Server::start(true, Limits::default());
    let open = server.ask("begin; delete from cities");
    assert!(open["error"]["message"].to_string().contains("did not end it"), "{open}");
    assert_eq!(server.ask("delete from cities where id = 1")["count"], 1);
    assert_eq!(server.ask("copy cities to 'out.csv'")["error"]["code"], "read_only");
}

#[test]
fn an_address_runs_only_what_reads() {
    let server = Server::start(true, Limits::default());
    let asked = |language: &str, text: &str| {
        server.call("ask", &json!({"language": language, "text": text}))
    };
    assert_eq!(asked("sql", "select count(*) from cities")["rows"], json!([[2]]));
    assert_eq!(asked("sql", "begin; select 1; commit")["error"], Value::Null);
    assert!(asked("sql", "explain delete from cities")["rows"].is_array());
    let measured = asked("sql", "explain analyze delete from cities");
    assert_eq!(measured["error"]["code"], "unsupported");
    for text in [
        "delete from cities",
        "/* select */ insert into users (_id) values ('x')",
        "select 1; update cities set name = 'x'",
        "begin; delete from cities; commit",
        "with gone as (select 1) delete from cities",
        "create table more (id int)",
        "create index on users (name)",
        "drop table cities",
        "copy cities to 'out.csv'",
    ] {
        let answer = asked("sql", text);
        assert_eq!((&answer["waits"], &answer["error"]), (&json!(true), &Value::Null), "{text}");
    }
    assert_eq!(asked("ziql", "DELETE cities {}")["waits"], true);
    assert_eq!(server.ask("select count(*) from cities where name <> 'x'")["rows"], json!([[2]]));
    assert_eq!(server.ask("select count(*) from users")["rows"], json!([[300]]));
    assert_eq!(server.ask("delete from cities")["count"], 2, "somebody has pressed Run");
    // Without --write there is nothing to wait for.
    let reading = Server::reading();
    let answer = reading.call("ask", &json!({"language": "sql", "text": "delete from cities"}));
    assert_eq!(answer["error"]["code"], "read_only");
}

#[test]
fn a_document_is_changed_only_as_it_was_shown() {
    let server = Server::start(true, Limits::default());
    let put = |server: &Server, was: Option<&str>, line: Option<&str>| {
        let change = json!({"collection": "users", "id": "u1", "was": was, "line": line});
        server.call("put", &change)
    };
    let was = r#"{"_id":"u1","name":"Ann","age":1}"#;
    let next = r#"{"_id":"u1","name":"Eve"}"#;
    assert_eq!(put(&server, Some(was), Some(next))["line"], next);
    let file = server.folder.path().join("data/collections/users/meta/data.jsonl");
    assert!(std::fs::read_to_string(&file).unwrap().ends_with(&format!("{next}\n")));
    assert_eq!(put(&server, Some(was), Some("{}"))["error"]["code"], "conflict", "it has changed");
    assert_eq!(put(&server, Some(next), Some("[1]"))["error"]["code"], "syntax");
    assert_eq!(put(&server, Some(next), None)["line"], Value::Null, "deleted");
    assert_eq!(put(&server, Some(next), Some(next))["error"]["code"], "conflict", "it is gone");
    assert_eq!(put(&server, None, Some(was))["line"], was, "undone");

    let reading = Server::reading();
    assert_eq!(put(&reading, Some(was), Some(next))["error"]["code"], "read_only");
    assert_eq!(put(&reading, Some(was), None)["error"]["code"], "read_only");
}

#[test]
fn statements_are_saved_by_who_may_write_and_in_their_folder() {
    let server = Server::start(true, Limits::default());
    let save = |server: &Server, name: &str| {
        let statement = json!({"name": name, "language": "sql", "text": "select 1"});
        server.call("save", &statement)
    };
    assert_eq!(save(&server, "all"), json!({}));
    let saved = json!([{"name": "all", "language": "sql", "text": "select 1"}]);
    assert_eq!(server.call("saved", &json!({}))["statements"], saved);
    for name in ["../all", "a/b", "", ".."] {
        assert_eq!(save(&server, name)["error"]["code"], "invalid_input", "{name}");
        assert_eq!(server.call("forget", &json!({"name": name}))["error"]["code"], "invalid_input");
    }
    let message = save(&server, "a b")["error"]["message"].to_string();
    assert!(message.contains("statement name"), "{message}");
    assert_eq!(server.call("forget", &json!({"name": "all"}))["was_there"], true);

    let reading = Server::reading();
    assert_eq!(save(&reading, "all")["error"]["code"], "read_only");
    assert_eq!(reading.call("forget", &json!({"name": "all"}))["error"]["code"], "read_only");
    assert!(!reading.folder.path().join("data/studio").exists());
}

#[test]
fn files_are_taken_only_where_the_database_may_change() {
    let folders = || {
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("folio-studio-")).collect::<Vec<_>>()
    };
    let send = |server: &Server, name: &str, body: &str| {
        let path = server.path("api/file");
        let (status, text) = server.request("POST", &path, &[("X-Name", name)], body);
        let body = text.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    };
    assert_eq!(send(&Server::reading(), "a.jsonl", "{}").0, 403);

    let server = Server::start(true, Limits::default());
    let lines = "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n";
    let (status, sent) = send(&server, "../../new.jsonl", lines);
    assert_eq!(status, 200);
    let folder = format!("folio-studio-{}", sent["file"].as_str().unwrap());
    assert!(folders().contains(&folder));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = std::env::temp_dir().join(&folder).metadata().unwrap().mode();
        assert_eq!(mode & 0o077, 0, "others cannot read it");
    }
    let preview = server.call("preview", &sent);
    assert_eq!(preview["rows"], json!([["a", 1], ["b", 2]]), "{preview}");
    assert_eq!(server.call("progress", &sent), json!({"done": 0, "total": 0}));
    let asked = json!({"file": sent["file"], "collection": "new"});
    assert_eq!(server.call("import", &asked)["count"], 2);
    assert!(!folders().contains(&folder), "it is removed");
    assert_eq!(server.ask("select sum(n) as n from new")["rows"], json!([[3]]));
    assert_eq!(server.call("import", &asked)["error"]["code"], "invalid_input");

    let (_, sent) = send(&server, "x.jsonl", lines);
    let folder = format!("folio-studio-{}", sent["file"].as_str().unwrap());
    drop(server);
    let start = Instant::now();
    while folders().contains(&folder) {
        assert!(start.elapsed() < Duration::from_secs(5), "the end removes it");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn rows_far_from_the_start_are_those_of_the_scan() {
    let server = Server::reading();
    let writer = Database::open(server.folder.path().join("data")).unwrap();
    let many = writer.collection("many").unwrap();
    let put = |numbers: std::ops::Range<u64>| {
        let documents: Vec<_> = numbers.map(|n| (format!("n{n}"), json!({"n": n}))).collect();
        many.put_many(documents.iter().map(|(id, document)| (&**id, document))).unwrap();
        writer.flush().unwrap();
    };
    let at = |relation: &str, offset: u64, limit: u64| -> Vec<u64> {
        let asked = json!({"relation": relation, "offset": offset, "limit": limit});
        let answer = server.call("window", &asked);
        let place = usize::from(relation == "many");
        let rows = answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        rows.iter().map(|row| row[place].as_u64().unwrap()).collect()
    };
    put(0..9_000);
    for (offset, limit) in [(0, 3), (1_999, 3), (2_000, 1), (4_499, 700), (8_998, 10), (9_000, 5)] {
        let expected: Vec<u64> = (offset..(offset + limit).min(9_000)).collect();
        assert_eq!(at("many", offset, limit), expected, "{offset}");
    }
    put(9_000..9_500);
    assert_eq!(at("many", 8_998, 4), [8_998, 8_999, 9_000, 9_001], "rows were added");
    many.delete("n2500").unwrap();
    writer.flush().unwrap();
    assert_eq!(at("many", 2_499, 3), [2_499, 2_501, 2_502], "a row was deleted");

    let text = "create table numbers (n int primary key);
        insert into numbers select * from generate_series(0, 9999) as s(n)";
    writer.sql(text, &Parameters::default()).unwrap();
    assert_eq!(at("numbers", 7_777, 3), [7_777, 7_778, 7_779]);
}

#[test]
fn a_sorted_grid_is_put_in_order_once_and_again_after_a_change() {
    let server = Server::reading();
    let writer = Database::open(server.folder.path().join("data")).unwrap();
    let many = writer.collection("many").unwrap();
    let documents: Vec<_> = (0..6_000_u64).map(|n| (format!("n{n}"), n * 7919 % 6_000)).collect();
    let documents: Vec<_> = documents.into_iter().map(|(id, n)| (id, json!({"n": n}))).collect();
    many.put_many(documents.iter().map(|(id, document)| (&**id, document))).unwrap();
    writer.flush().unwrap();
    let view = |offset: u64, limit: u64| {
        let order = json!([{"column": "n", "descending": true}]);
        json!({"relation": "many", "order": order, "offset": offset, "limit": limit})
    };
    let at = |offset: u64| -> Vec<u64> {
        let answer = server.call("window", &view(offset, 3));
        let rows = answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        rows.iter().map(|row| row[1].as_u64().unwrap()).collect()
    };
    let expected = [5_999 - 5_000, 5_999 - 5_001, 5_999 - 5_002];
    assert_eq!(at(5_000), expected, "without an order");
    assert_eq!(server.call("order", &view(0, 0))["count"], 6_000);
    assert_eq!(at(5_000), expected);
    assert_eq!(at(5_998), [1, 0], "the end");
    many.put("late", &json!({"n": 9_999})).unwrap();
    writer.flush().unwrap();
    assert_eq!(at(5_000), expected, "rows stay where they are while somebody looks");
    assert_eq!(server.call("order", &view(0, 0))["count"], 6_001);
    assert_eq!(at(5_001), expected);
    many.delete("late").unwrap();
    writer.flush().unwrap();
    assert_eq!(at(0), [5_999, 5_998, 5_997], "one is gone, so it is sorted again");

    let plain = json!({"relation": "many"});
    assert_eq!(server.call("order", &plain)["count"], 6_000);
    writer.sql("create view odd as select * from many", &Parameters::default()).unwrap();
    for view in [json!({"relation": "odd"}), json!({"relation": "odd", "order": [{"column": "n"}]})]
    {
        let answer = server.call("order", &view);
        assert_eq!((&answer["count"], &answer["error"]), (&Value::Null, &Value::Null));
    }
    let none = server.call("order", &json!({"relation": "none", "order": [{"column": "n"}]}));
    assert_eq!(none["error"]["code"], "not_found");
}

#[test]
fn what_a_file_begins_with_waits_for_no_index() {
    let server = Server::reading();
    let meta = server.folder.path().join("data/collections/users/meta");
    for entry in std::fs::read_dir(&meta).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "idx") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let first = server.call("first", &json!({"relation": "users", "limit": 2}));
    assert_eq!(first["columns"][2], json!({"name": "age", "type": "bigint"}), "{first}");
    assert_eq!(first["rows"], json!([["u0", "Ann", 0], ["u1", "Ann", 1]]));
    assert_eq!(first["count"], Value::Null);
    let window = server.call("window", &json!({"relation": "users", "limit": 2}));
    assert_eq!((&first["columns"], &first["rows"]), (&window["columns"], &window["rows"]));
    for name in ["cities", "none", "../users"] {
        let none = server.call("first", &json!({"relation": name, "limit": 2}));
        assert_eq!(none["rows"], Value::Null, "{name}: {none}");
    }
    let names = server.call("names", &json!({}));
    let found = names["relations"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|one| (one["name"].clone(), one["kind"].clone())).collect();
    let expected = [("cities", "table"), ("users", "collection")];
    assert_eq!(found, expected.map(|(name, kind)| (json!(name), json!(kind))));
}

#[test]
fn a_document_has_a_history() {
    let server = Server::start(true, Limits::default());
    let asked = json!({"collection": "users", "id": "u1"});
    let was = r#"{"_id":"u1","name":"Ann","age":1}"#;
    assert_eq!(server.call("history", &asked)["lines"], json!([]));
    for (was, line) in [(was, Some("{\"n\":1}")), (r#"{"_id":"u1","n":1}"#, None)] {
        let change = json!({"collection": "users", "id": "u1", "was": was, "line": line});
        assert_eq!(server.call("put", &change)["error"], Value::Null);
    }
    let history = server.call("history", &asked);
    let line =
        |number: u64, text: Option<&str>| json!({"number": number, "text": text, "is_cut": false});
    let expected = [line(302, None), line(301, Some(r#"{"_id":"u1","n":1}"#)), line(2, Some(was))];
    assert_eq!(history["lines"], json!(expected));
    assert_eq!(history["is_partial"], false);
    let long = json!({"t": "ö".repeat(30_000)}).to_string();
    for line in [&*long, "{}"] {
        let was = server.call("document", &asked)["line"].clone();
        let change = json!({"collection": "users", "id": "u1", "was": was, "line": line});
        assert_eq!(server.call("put", &change)["error"], Value::Null);
    }
    let newest = &server.call("history", &asked)["lines"][0];
    assert_eq!(newest["is_cut"], true);
    assert!(newest["text"].as_str().unwrap().len() <= 20_000);
}

#[test]
fn a_reading_studio_leaves_the_writer_alone() {
    let server = Server::reading();
    assert_eq!(server.ask("select count(*) from users")["rows"], json!([[300]]));
    let writer = Database::open(server.folder.path().join("data")).unwrap();
    writer.collection("users").unwrap().put("late", &json!({"age": 1})).unwrap();
    writer.flush().unwrap();
    let late = server.call("document", &json!({"collection": "users", "id": "late"}));
    assert_eq!(late["line"], r#"{"_id":"late","age":1}"#);
}

#[test]
fn rows_time_and_memory_have_limits() {
    let limits = Limits { row_count: 10, ..Limits::default() };
    let answer = Server::start(false, limits).ask("select * from users");
    assert_eq!((answer["rows"].as_array().unwrap().len(), &answer["is_cut"]), (10, &json!(true)));

    let limits = Limits { size: 1000, ..Limits::default() };
    let answer = Server::start(false, limits).ask("select * from users");
    assert!(answer["rows"].as_array().unwrap().len() < 100 && answer["is_cut"] == true);

    let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let server = Server::start(false, limits);
    // Without the limit it ends after some seconds, and the test with it.
    let long = LONG.replace("3000000", "15000");
    assert_eq!(server.ask(&long)["error"]["code"], "timeout");
    let lifted = server.ask("set statement_timeout to '1h'");
    assert_eq!(lifted["error"]["code"], "read_only", "the text cannot lift it");

    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let held = "select sum(a) over () from generate_series(1, 3000000) s(a)";
    assert_eq!(Server::start(false, limits).ask(held)["error"]["code"], "memory_limit");
}

#[test]
fn a_page_that_goes_away_stops_what_it_has_asked() {
    let server = Server::start(true, Limits::default());
    server.ask(&format!("create view slow as {LONG}"));
    server.ask("create table many (id int primary key, name text)");
    server.ask("insert into many select n, 'x' || n from generate_series(1, 200000) as s(n)");
    // A view beside a table takes so long for each of its rows that none of these ends.
    let never =
        "create view never as select m.id, (select count(*) from generate_series(1, 3000000) s(n)
        where n > m.id) as n from many m";
    server.ask(never);
    let column = json!([{"column": "n", "descending": false}]);
    for (action, asked) in [
        ("ask", json!({"language": "sql", "text": LONG})),
        ("facet", json!({"relation": "never", "path": "n", "all": true})),
        ("histogram", json!({"relation": "never", "path": "n", "all": true})),
        ("window", json!({"relation": "slow", "limit": 1})),
        ("window", json!({"relation": "never", "limit": 1, "order": column})),
    ] {
        let connection = server.begin(action, &asked);
        assert_eq!(server.studio.running_count(), 1, "{action}");
        drop(connection);
        server.wait_until_idle(Duration::from_secs(5));
    }
}

#[test]
fn what_is_no_statement_has_the_limits_of_one() {
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let server = Server::start(false, limits);
    let document = json!({"collection": "users", "id": "u1"});
    let relation = json!({"relation": "users"});
    for (action, asked) in [
        ("overview", &json!({})),
        ("pulse", &json!({})),
        ("schema", &json!({})),
        ("fields", &relation),
        ("document", &document),
    ] {
        assert_eq!(server.call(action, asked)["error"]["code"], "timeout", "{action}");
    }
    let data = server.folder.path().join("data/collections/users/meta/data.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(data).unwrap();
    file.write_all("{\"_id\":\"u1\",\"name\":\"Ann\"}\n".repeat(10_000).as_bytes()).unwrap();
    let history = server.call("history", &json!({"collection": "users", "id": "u2"}));
    assert_eq!(history["is_partial"], true, "not all dead lines were read");

    // One place, which a statement has: who goes away while waiting for it is forgotten.
    let limits = Limits { statement_count: 1, ..Limits::default() };
    let server = Server::start(false, limits);
    let running = server.begin("ask", &json!({"language": "sql", "text": LONG}));
    for (action, asked) in [
        ("overview", &json!({})),
        ("pulse", &json!({})),
        ("schema", &json!({})),
        ("fields", &relation),
        ("document", &document),
        ("history", &document),
        ("facet", &json!({"relation": "users", "path": "age"})),
        ("order", &json!({"relation": "users", "order": [{"column": "age"}]})),
    ] {
        let waiting = server.begin(action, asked);
        assert_eq!(server.studio.running_count(), 2, "{action} does not wait");
        drop(waiting);
        let end = Instant::now() + Duration::from_secs(5);
        while server.studio.running_count() > 1 {
            assert!(Instant::now() < end, "{action} waits for nobody");
            thread::sleep(Duration::from_millis(10));
        }
    }
    drop(running);
    server.wait_until_idle(Duration::from_secs(5));
    assert_eq!(server.call("document", &document)["error"], Value::Null);
}

#[test]
fn statements_and_connections_at_once_are_counted() {
    let limits = Limits { statement_count: 2, connection_count: 4, ..Limits::default() };
    let server = Server::start(false, limits);
    let long = json!({"language": "sql", "text": LONG});
    let first = server.begin("ask", &long);
    let _second = server.begin("ask", &long);
    let short = json!({"language": "sql", "text": "select 1 as n"});
    let mut third = server.begin("ask", &short);
    third.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(third.read(&mut [0]).is_err(), "a third one does not run beside them");
    drop(first);
    let mut text = String::new();
    third.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    third.read_to_string(&mut text).unwrap();
    assert!(text.contains("[1]"), "it runs once one of them ends: {text}");

    let idle: Vec<_> = (0..8).map(|_| TcpStream::connect(server.host()).unwrap()).collect();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.studio.running_count(), 4);
    drop(idle);
}

#[test]
fn a_request_has_a_size() {
    let server = Server::reading();
    let path = server.path("api/ask");
    let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n", server.host());
    let writing = Server::start(true, Limits::default());
    let large = writing.send_head("POST", &writing.path("api/file"), "Content-Length: 5000000000");
    assert!(large.starts_with("HTTP/1.1 413 "), "{large}");
    for (rest, status) in [
        ("Content-Length: 99999999\r\n\r\n".to_owned(), "413"),
        ("Transfer-Encoding: chunked\r\n\r\n".to_owned(), "411"),
        (format!("X: {}\r\n\r\n", "x".repeat(40_000)), "431"),
        ("nonsense\r\n\r\n".to_owned(), "400"),
    ] {
        let mut connection = TcpStream::connect(server.host()).unwrap();
        let mut text = String::new();
        write!(connection, "{head}{rest}").unwrap();
        // What is left unread resets the connection, after the answer.
        let _ = connection.read_to_string(&mut text);
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {text}");
    }
}

#[test]
fn a_thousand_requests_at_once() {
    let server = Server::reading();
    thread::scope(|scope| {
        let askers: Vec<_> = (0..1000)
            .map(|number| {
                let server = &server;
                scope.spawn(move || {
                    server.ask(&format!("select {number} as n"))["rows"][0][0] == number
                })
            })
            .collect();
        assert!(askers.into_iter().all(|asker| asker.join().unwrap()));
    });
    server.wait_until_idle(Duration::from_secs(5));
}

#[test]
fn pages_ask_for_what_they_show() {
    let server = Server::reading();
    let overview = server.call("overview", &json!({}));
    let found: Vec<_> = overview["relations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|relation| {
            (
                relation["name"].as_str().unwrap(),
                relation["kind"].as_str().unwrap(),
                relation["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [("cities", "table", 2), ("users", "collection", 300)]);

    let tests = json!([{"column": "age", "test": "least", "value": "290"}, {"column": "name", "test": "contains", "value": "AN"}]);
    let order = json!([{"column": "age", "descending": true}]);
    let window = server.call("window", &json!({"relation": "users", "tests": tests, "order": order, "offset": 1, "limit": 2, "count": true}));
    assert_eq!(window["count"], 10);
    assert_eq!(window["columns"][0]["name"], "_id");
    let ages: Vec<_> =
        window["rows"].as_array().unwrap().iter().map(|row| row[2].clone()).collect();
    assert_eq!(ages, [298, 297]);

    for offset in [json!(1_u64 << 63), json!(1e20)] {
        let asked = json!({"relation": "users", "offset": offset, "limit": 2});
        assert_eq!(server.call("window", &asked)["rows"], json!([]), "{offset}");
    }

    for name in ["no such", "x\" or \"1\"=\"1", "'; drop table cities; --"] {
        let tests = json!([{"column": name, "test": "is", "value": name}]);
        let refused =
            server.call("window", &json!({"relation": "users", "tests": tests, "limit": 1}));
        assert_eq!(refused["error"]["code"], "not_found", "{name}: {refused}");
    }
    for value in ["%", "_", "\\", "'"] {
        let tests = json!([{"column": "name", "test": "contains", "value": value}]);
        let window = server.call(
            "window",
            &json!({"relation": "users", "tests": tests, "limit": 1, "count": true}),
        );
        assert_eq!(window["count"], 0, "{value} is no pattern: {window}");
    }

    let facet = server.call("facet", &json!({"relation": "users", "path": "age"}));
    assert_eq!((&facet["sample"], &facet["values"][0]), (&Value::Null, &json!([0, 1])));
    let spread = server.call("histogram", &json!({"relation": "users", "path": "age"}));
    assert_eq!((&spread["bounds"][1], &spread["counts"][0]), (&json!("20"), &json!(20)));
    let spread = server.call("histogram", &json!({"relation": "users", "path": "name"}));
    assert_eq!(spread["counts"], Value::Null);
    let tests = json!([{"column": "age", "test": "less", "value": "7"}]);
    let facet = server.call("facet", &json!({"relation": "users", "path": "name", "tests": tests}));
    assert_eq!(facet["values"], json!([["Ann", 7]]));
    let fields = server.call("fields", &json!({"relation": "users"}));
    assert_eq!(
        (&fields["fields"][2]["path"], &fields["fields"][2]["type"]),
        (&json!("age"), &json!("bigint"))
    );
    assert_eq!(fields["key"], json!(["_id"]));
    let schema = server.call("schema", &json!({}));
    assert!(
        schema["relations"][0]["definition"].as_str().unwrap().contains("PRIMARY KEY"),
        "{schema}"
    );

    let wrong = server.ask("select nam from cities");
    assert_eq!(wrong["error"]["place"], json!([1, 8, 1, 11]), "{wrong}");
    assert_eq!(
        server.call("ask", &json!({"language": "ziql", "text": "GRAB cities [name]"}))["error"]["code"],
        Value::Null
    );
}

#[test]
fn the_button_ends_it() {
    let server = Server::reading();
    assert!(!server.studio.is_ended());
    server.call("stop", &json!({}));
    assert!(server.studio.is_ended());
}
