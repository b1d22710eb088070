//! The rules of the studio over real HTTP, with a test for each.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use folio::{Database, OpenOptions, Parameters};
use folio_studio::{Limits, Studio};
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
        Self { studio: Studio::start(database, 0, limits).unwrap(), folder }
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

    fn call(&self, action: &str, asked: &Value) -> Value {
        let path = self.path(&format!("api/{action}"));
        let (status, text) = self.request("POST", &path, &[], &asked.to_string());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn ask(&self, text: &str) -> Value {
        self.call("ask", &json!({"language": "sql", "text": text}))
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
fn only_the_token_opens() {
    let server = Server::reading();
    assert_eq!(server.request("GET", &server.path(""), &[], "").0, 200);
    let foreign = format!("/{}/", "0".repeat(32));
    for path in ["/", "/api/overview", "//", foreign.as_str(), "/studio.js"] {
        assert_eq!(server.request("GET", path, &[], "").0, 403, "{path}");
        assert_eq!(server.request("POST", path, &[], "{}").0, 403, "{path}");
    }
    assert_ne!(Server::reading().path(""), server.path(""), "each start has its own");
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
        assert!(
            head.contains("nosniff") && head.contains("no-referrer") && head.contains("no-store")
        );
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
    assert_eq!(server.ask("delete from cities where id = 1")["count"], 1);
    assert_eq!(server.ask("copy cities to 'out.csv'")["error"]["code"], "read_only");
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
    assert_eq!(server.ask(LONG)["error"]["code"], "timeout");
    let lifted = server.ask(&format!("set statement_timeout to '1h'; {LONG}"));
    assert_eq!(lifted["error"]["code"], "read_only", "the text cannot lift it");

    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let held = "select sum(a) over () from generate_series(1, 3000000) s(a)";
    assert_eq!(Server::start(false, limits).ask(held)["error"]["code"], "memory_limit");
}

#[test]
fn a_page_that_goes_away_stops_its_statement() {
    let server = Server::reading();
    let asked = json!({"language": "sql", "text": LONG}).to_string();
    let connection = server.send("POST", &server.path("api/ask"), &[], &asked);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.studio.running_count(), 1);
    drop(connection);
    server.wait_until_idle(Duration::from_secs(5));
}

#[test]
fn a_request_has_a_size() {
    let server = Server::reading();
    let path = server.path("api/ask");
    let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n", server.host());
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
