//! The language server, as an editor meets it: frames on its standard input and output.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Sandbox;
use serde_json::{Value, json};

/// The timeout on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "User ( name: str, age: int = 0, friend: User, posts: []Post.author )
Post ( title: str, author: User )
";

/// A server, and the editor that speaks to it.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Editor {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["lsp"], arguments].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, id: 0 }
    }

    /// A server that is ready, for a database in the folder.
    fn ready(sandbox: &Sandbox) -> Self {
        let mut editor = Self::start(sandbox, &["--db", "data"]);
        let answer = editor.ask("initialize", &json!({"capabilities": {}}));
        assert_eq!(answer["result"]["capabilities"]["textDocumentSync"]["change"], 2, "{answer}");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn message(&mut self, message: &Value) {
        self.send(frame(message).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.message(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
    }

    /// Asks, and waits for the answer; what is told meanwhile is left out.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let request = self.request(method, params);
        self.message(&request);
        loop {
            let message = self.read().expect("an answer");
            if message["id"] == request["id"] {
                return message;
            }
        }
    }

    /// The next message; `None` at the end.
    fn read(&mut self) -> Option<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim().strip_prefix("Content-Length: ") {
                Some(size) => length = Some(size.parse::<usize>().unwrap()),
                None if line.trim().is_empty() => break,
                None => panic!("a header {line:?}"),
            }
        }
        let mut bytes = vec![0; length.unwrap()];
        self.output.read_exact(&mut bytes).unwrap();
        Some(serde_json::from_slice(&bytes).unwrap())
    }

    fn open(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
    }

    /// The diagnostics of a text, once they are published.
    fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        loop {
            let message = self.read().expect("diagnostics");
            if message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
            {
                return message["params"]["diagnostics"].as_array().unwrap().clone();
            }
        }
    }

    /// Waits for the end; the exit code, and what was printed as an error.
    fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the server does not end");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (status.code(), errors)
    }
}

fn frame(message: &Value) -> String {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

/// A folder with a database of structs, a table and a collection.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("schema.ziql"), SCHEMA).unwrap();
    for step in [
        "folio schema apply -q data schema.ziql",
        "folio sql -q data 'create table cities (id int primary key, name text, \"größe 😀\" int)'",
        "seq 20000 | sed 's/.*/{\"kind\": &}/' | folio import -q data -c many --generate-ids",
        "folio put -q data -c events e1 --data '{\"kind\": \"click\", \"at\": {\"day\": 1}}'",
    ] {
        let output = sandbox.run(step);
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
    }
    sandbox
}

/// A text without its marks `«…»`, and what they are around: lines and columns in UTF-16.
fn marked(text: &str) -> (String, Vec<[u64; 4]>) {
    let (mut plain, mut found, mut open) = (String::new(), Vec::new(), (0, 0));
    for character in text.chars() {
        let last = plain.rsplit('\n').next().unwrap_or_default();
        let place = (plain.matches('\n').count() as u64, last.encode_utf16().count() as u64);
        match character {
            '«' => open = place,
            '»' => found.push([open.0, open.1, place.0, place.1]),
            other => plain.push(other),
        }
    }
    (plain, found)
}

fn range(of: &Value) -> [u64; 4] {
    let number = |end: &str, part: &str| of[end][part].as_u64().unwrap();
    [
        number("start", "line"),
        number("start", "character"),
        number("end", "line"),
        number("end", "character"),
    ]
}

/// Texts whose wrong words are marked, with a part of each message.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("sql", "select name from cities; select count(*) from events", &[]),
    ("sql", "select «nam» from cities", &["did you mean \"name\"?"]),
    ("sql", "select '😀é', «nam» from cities", &["\"nam\""]),
    ("sql", "-- 😀\nselect 1;\r\n\tselect \"größe 😀\" + «wrong»\nfrom cities", &["\"wrong\""]),
    ("sql", "select «a» from cities;\nselect 1;\nselect * from «citis»", &["\"a\"", "cities"]),
    ("sql", "«selec» 1; select «from» cities", &["", "expected an expression"]),
    ("sql", "select at.«dy» from events", &["dy"]),
    ("sql", "select name from cities where id = $1 and name = $2; select :name", &[]),
    ("sql", "select name from cities where id = $1 and name = «:name»", &["by position"]),
    (
        "sql",
        "create table fresh (a int); select a, b from fresh; select «b» from cities",
        &["\"b\""],
    ),
    ("sql", "begin; insert into cities values (1, 'x', 2); commit", &[]),
    ("ziql", "GRAB User [name, posts [title]] {age > 30 AND friend.name = $who}", &[]),
    ("ziql", "GRAB User {name = «Bob»}", &["Bob"]),
    ("ziql", "GRAB User {name = '😀'} |«nam»|", &["nam"]),
    ("ziql", "# é\nGRAB User [posts [«titel»]];\nGRAB «Usr»", &["title", "User"]),
    ("ziql", "GRAB User {age = 'a' AND «}»", &["expected"]),
    ("ziql", "User ( name: «string» )", &["string"]),
    ("ziql", "User ( name: str, age: int, friend: User )\nPost ( title: str, author: User )", &[]),
];

#[test]
fn wrong_words_are_marked_where_they_are() {
    let sandbox = prepared();
    let mut editor = Editor::ready(&sandbox);
    for (language, text, messages) in WRONG {
        let (plain, places) = marked(text);
        let uri = format!("file:///{language}");
        editor.open(&uri, language, &plain);
        let found = editor.diagnostics(&uri);
        let ranges: Vec<[u64; 4]> = found.iter().map(|own| range(&own["range"])).collect();
        assert_eq!(ranges, places, "{text}\n{found:?}");
        for (own, part) in found.iter().zip(*messages) {
            assert!(own["message"].as_str().unwrap().contains(part), "{text}\n{own}");
            assert_eq!((&own["source"], &own["severity"]), (&json!("folio"), &json!(1)));
        }
    }
}

#[test]
fn changes_are_followed_and_closed_texts_have_no_problems() {
    let sandbox = prepared();
    let mut editor = Editor::ready(&sandbox);
    let uri = "file:///a.sql";
    editor.open(uri, "sql", "select '😀', nam\nfrom cities");
    assert_eq!(editor.diagnostics(uri).len(), 1);
    let place = |line: u32, character: u32| json!({"line": line, "character": character});
    let edit = json!({"range": {"start": place(0, 13), "end": place(0, 16)}, "text": "name"});
    let change = |changes: Value| json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": changes});
    editor.tell("textDocument/didChange", &change(json!([edit])));
    assert_eq!(editor.diagnostics(uri), Vec::<Value>::new());
    editor.tell("textDocument/didChange", &change(json!([{"text": "select x from cities"}])));
    assert_eq!(editor.diagnostics(uri).len(), 1);
    editor.tell("textDocument/didClose", &json!({"textDocument": {"uri": uri}}));
    assert_eq!(editor.diagnostics(uri), Vec::<Value>::new());
}

#[test]
fn what_others_create_is_known_and_the_writer_is_not_kept_out() {
    let sandbox = prepared();
    let mut editor = Editor::ready(&sandbox);
    editor.open("file:///a.sql", "sql", "select * from later");
    assert_eq!(editor.diagnostics("file:///a.sql").len(), 1);
    let output = sandbox.run("folio sql -q data 'create table later (a int)'");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let begun = Instant::now();
    let mut version = 1;
    loop {
        version += 1;
        let change = json!({"textDocument": {"uri": "file:///a.sql", "version": version}, "contentChanges": [{"text": "select * from later"}]});
        editor.tell("textDocument/didChange", &change);
        if editor.diagnostics("file:///a.sql").is_empty() {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the table is not seen");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn names_and_members_are_completed() {
    let sandbox = prepared();
    let mut editor = Editor::ready(&sandbox);
    for (language, text, expected) in [
        ("sql", "select 1; select * from ci|", vec!["cities"]),
        ("sql", "select '😀' from ev|", vec!["events"]),
        ("sql", "select na| from cities", vec!["name", "natural"]),
        ("sql", "select c.na| from cities c; select 1", vec!["name"]),
        ("sql", "select ki| from events", vec!["kind"]),
        ("sql", "select at.| from events", vec!["day"]),
        ("sql", "select ki| from many", vec!["kind"]),
        ("ziql", "GRAB Us|", vec!["User"]),
        ("ziql", "GRAB User [posts [ti|", vec!["title"]),
        ("ziql", "GRAB User {friend.po|}", vec!["posts"]),
        ("sql", "select 'ci|", vec![]),
    ] {
        let (before, after) = text.split_once('|').unwrap();
        let uri = format!("file:///{language}");
        editor.open(&uri, language, &format!("{before}{after}"));
        let column = before.encode_utf16().count();
        let place =
            json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": column}});
        let answer = editor.ask("textDocument/completion", &place);
        let items = answer["result"]["items"].as_array().unwrap();
        let labels: Vec<&str> = items.iter().map(|item| item["label"].as_str().unwrap()).collect();
        assert_eq!(labels, expected, "{text}");
        for item in items {
            let [_, start, _, end] = range(&item["textEdit"]["range"]);
            let replaced: Vec<u16> =
                before.encode_utf16().skip(usize::try_from(start).unwrap()).collect();
            let replaced = String::from_utf16(&replaced).unwrap();
            assert_eq!(end, column as u64, "{text}");
            assert!(item["label"].as_str().unwrap().starts_with(&replaced), "{text} {item}");
        }
    }
    editor.open("file:///h", "sql", "select * from cities");
    let place =
        json!({"textDocument": {"uri": "file:///h"}, "position": {"line": 0, "character": 16}});
    let hover = editor.ask("textDocument/hover", &place);
    let text = hover["result"]["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("cities: table, 0 rows\nid, name"), "{text}");
}

#[test]
fn each_statement_has_a_command_that_runs_it() {
    let sandbox = prepared();
    let mut editor = Editor::ready(&sandbox);
    for (language, text, expected) in [
        ("sql", "select 1;\n\n-- then\n  select ';';\n", vec![[0, 0, 0, 8], [3, 2, 3, 12]]),
        (
            "ziql",
            "GRAB User [2; name];\nADD User (name = '😀')",
            vec![[0, 0, 0, 19], [1, 0, 1, 22]],
        ),
        ("ziql", SCHEMA, vec![]),
    ] {
        editor.open("file:///l", language, text);
        let asked = json!({"textDocument": {"uri": "file:///l"}});
        let answer = editor.ask("textDocument/codeLens", &asked);
        let lenses = answer["result"].as_array().unwrap();
        let ranges: Vec<[u64; 4]> =
            lenses.iter().map(|lens| range(&lens["command"]["arguments"][1])).collect();
        assert_eq!(ranges, expected, "{text}");
        assert!(lenses.iter().all(|lens| lens["command"]["command"] == "foliodb.run"), "{answer}");
    }
}

#[test]
fn without_a_database_the_syntax_is_checked() {
    let sandbox = Sandbox::new();
    for arguments in [&[][..], &["--db", "missing"]] {
        let mut editor = Editor::start(&sandbox, arguments);
        editor.ask("initialize", &json!({}));
        editor.open("file:///a", "sql", "select nam from cities; selec 1");
        let found = editor.diagnostics("file:///a");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["code"], "syntax");
        if !arguments.is_empty() {
            let told = editor.read().unwrap();
            assert_eq!(told["method"], "window/showMessage");
            assert!(told["params"]["message"].as_str().unwrap().contains("missing"), "{told}");
        }
        assert!(!sandbox.path().join("missing").exists(), "the server only reads");
    }
    // The database of the options.
    let sandbox = prepared();
    let mut editor = Editor::start(&sandbox, &[]);
    editor.ask("initialize", &json!({"initializationOptions": {"database": "data"}}));
    editor.open("file:///a", "sql", "select nam from cities");
    assert_eq!(editor.diagnostics("file:///a").len(), 1);
}

#[test]
fn what_is_no_request_is_an_error_and_not_the_end() {
    let sandbox = prepared();
    let mut editor = Editor::start(&sandbox, &["--db", "data"]);
    let code = |editor: &mut Editor, bytes: &[u8]| {
        editor.send(bytes);
        editor.read().unwrap()["error"]["code"].as_i64().unwrap()
    };
    let text = |message: Value| frame(&message).into_bytes();
    let hover = json!({"id": 7, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///none"}}});
    assert_eq!(code(&mut editor, &text(hover.clone())), -32002);
    editor.ask("initialize", &json!({}));
    for (bytes, expected) in [
        (b"what is this\r\n\r\n".to_vec(), -32700),
        (b"Content-Length: many\r\n\r\n".to_vec(), -32700),
        (b"Content-Length: 3\r\n\r\n{\"a".to_vec(), -32700),
        ([b"Content-Length: 70000000\r\n\r\n".to_vec(), vec![b'['; 70_000_000]].concat(), -32700),
        (text(json!([1, 2])), -32600),
        (text(json!({"id": 1})), -32600),
        (text(json!({"id": 1, "method": 5})), -32600),
        (text(json!({"id": 1, "method": "textDocument/nothing"})), -32601),
        (text(json!({"id": 1, "method": "initialize"})), -32600),
        (text(hover), -32602),
    ] {
        assert_eq!(
            code(&mut editor, &bytes),
            expected,
            "{}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(60)])
        );
    }
    // Notifications that make no sense are left out.
    for params in [json!(null), json!([]), json!({"textDocument": 5, "contentChanges": [1]})] {
        for method in
            ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/other"]
        {
            editor.tell(method, &params);
        }
    }
    assert!(is_cancelled(&mut editor));
    assert_eq!(editor.ask("shutdown", &json!(null))["result"], Value::Null);
    assert_eq!(code(&mut editor, &text(json!({"id": 1, "method": "shutdown"}))), -32600);
    editor.tell("exit", &json!(null));
    assert_eq!(editor.end(), (Some(0), String::new()));
}

/// Whether a request that is cancelled before its turn has no other answer. It waits for a text to be
/// checked, unless it was read too late.
fn is_cancelled(editor: &mut Editor) -> bool {
    let text = "select 1;\n".repeat(5000);
    (0..20).any(|_| {
        let document = json!({"uri": "file:///a", "languageId": "sql", "version": 1, "text": text});
        let open = json!({"method": "textDocument/didOpen", "params": {"textDocument": document}});
        let lenses = json!({"textDocument": {"uri": "file:///a"}});
        let request = editor.request("textDocument/codeLens", &lenses);
        let cancel = json!({"method": "$/cancelRequest", "params": {"id": request["id"]}});
        editor.send(frame(&open).as_bytes());
        thread::sleep(Duration::from_millis(2));
        editor.send(format!("{}{}", frame(&request), frame(&cancel)).as_bytes());
        loop {
            let message = editor.read().unwrap();
            if message["id"] == request["id"] {
                return message["error"]["code"] == -32800;
            }
        }
    })
}

#[test]
fn the_end_of_the_input_is_the_end() {
    let sandbox = prepared();
    for is_begun in [false, true] {
        let mut editor = Editor::start(&sandbox, &["--db", "data"]);
        if is_begun {
            editor.ask("initialize", &json!({}));
            editor.open("file:///a", "sql", "select nam from cities");
            // What has arrived is still answered.
            let asked = editor
                .request("textDocument/codeLens", &json!({"textDocument": {"uri": "file:///a"}}));
            editor.message(&asked);
            editor.input.take();
            assert!(std::iter::from_fn(|| editor.read()).any(|own| own["id"] == asked["id"]));
        }
        editor.input.take();
        assert_eq!(editor.end(), (Some(0), String::new()));
    }
    let mut editor = Editor::ready(&sandbox);
    editor.tell("exit", &json!(null));
    assert_eq!(editor.end().0, Some(1), "an exit without a shutdown");
}
